//! Webhooks: endpoints and their receivers, the calls to them, and what the auditor checks.

mod audit;
mod calls;
mod coverage;
pub(crate) mod endpoint_admins;
mod receiver;

use bursar_core::flow::Outcome;

use super::kinds::Kind;

pub(crate) use audit::Books;
pub(crate) use calls::{CallEvent, InFlight, WebhookCall};
pub(crate) use coverage::count_delivery;
pub(crate) use receiver::Receivers;

pub(crate) const KIND: Kind = Kind {
    name: "delivery",
    letter: 'D',
    arrows: &[
        ("PENDING", &["DELIVERING", "CANCELLED", "DELIVERED"]),
        ("DELIVERING", &["DELIVERED", "WAITING_RETRY", "PENDING", "DLQ", "CANCELLED"]),
        ("WAITING_RETRY", &["DELIVERING", "CANCELLED", "DELIVERED"]),
        ("DLQ", &["PENDING", "DELIVERED"]),
        ("CANCELLED", &["PENDING", "DELIVERED"]),
        ("DELIVERED", &["PENDING"]),
    ],
    causes: |body, _| coverage::causes(body),
    outcome: |outcome, flow| {
        let Outcome::Delivery(event) = outcome else { return None };
        Some(coverage::outcome_name(event, flow))
    },
    // Deliveries are created by events and cost nothing; requests about them have no key.
    key: |_| None,
    order: |_| None,
    shown: |_| None,
};
