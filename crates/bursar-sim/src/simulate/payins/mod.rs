//! Pay-ins: providers that report them.

pub(crate) mod providers;

use bursar_core::ids::FlowId;
use bursar_core::payins::{ProviderStatus, Request};

use super::audit::Audit;
use super::kinds::Kind;

pub(crate) const KIND: Kind = Kind {
    name: "payin",
    letter: 'I',
    arrows: &[
        ("PENDING", &["COLLECTED", "FAILED"]),
        ("FAILED", &["COLLECTED"]),
        ("COLLECTED", &["CONTRADICTED"]),
        ("CONTRADICTED", &[]),
    ],
};

/// The flow that a request is about, and the event that it is for it.
pub(crate) fn causes(request: &Request, audit: &Audit) -> Option<(FlowId, &'static str)> {
    let Request::NewPayIn(payin) = request;
    let name = (format!("payin:{}", payin.provider), payin.reference.clone());
    let event = match payin.said {
        ProviderStatus::Pending => "pending",
        ProviderStatus::Completed => "completed",
        ProviderStatus::Failed => "failed",
    };
    Some((audit.flow_of(&name)?, event))
}
