//! Actors: the callers of this world. Those of one domain live in its folder; a new actor is a file and a line in
//! `all`.

mod admins;
mod invalid_requests;

use super::approvals::approvers::Approvers;
use super::approvals::makers::Makers;
use super::payins::case_closers::CaseClosers;
use super::payins::providers::Providers;
use super::payouts::merchants::Merchants;
use super::payouts::operators::Operators;
use super::scene::Actor;
use super::webhooks::endpoint_admins::EndpointAdmins;
use admins::Admins;
use invalid_requests::InvalidRequests;

/// The merchants; the last one is closed now and then.
pub(crate) const MERCHANTS: [&str; 4] = ["m1", "m2", "m3", "m4"];

pub(crate) fn all(seed: u64) -> Vec<Box<dyn Actor>> {
    vec![
        Box::new(Admins::new(seed)),
        Box::new(Providers::new(seed)),
        Box::new(Merchants::new(seed)),
        Box::new(Operators::new(seed)),
        Box::new(InvalidRequests::new(seed)),
        Box::new(EndpointAdmins::new(seed)),
        Box::new(CaseClosers::new(seed)),
        Box::new(Makers::new(seed)),
        Box::new(Approvers::new(seed)),
    ]
}
