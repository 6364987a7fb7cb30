//! Outcomes of calls: every outcome of a submission, every answer to a query, every outcome of a delivery.

use bursar_core::payouts::{self, Answer};
use bursar_core::turn::Body;
use bursar_core::webhooks::delivery::{self, Response, Unsendable};
use jiff::SignedDuration;

use super::world::Dice;
use crate::adapter::requests;
use crate::adapter::text::{Planned, Planning};

/// A call in flight, and the host of its flow.
#[derive(Clone, Copy)]
pub(super) struct Call {
    pub(super) planned: Planned,
    pub(super) is_of_workflow: bool,
}

pub(super) const SUBMIT_OUTCOMES: [&str; 9] = [
    "submit: not sent",
    "submit: rejected for now",
    "submit: rejected",
    "submit: accepted",
    "submit: accepted with reference",
    "submit: paid",
    "submit: paid with reference",
    "submit: duplicate",
    "submit: unknown",
];

pub(super) const QUERY_ANSWERS: [&str; 9] = [
    "query: paid",
    "query: paid with reference",
    "query: not paid for now",
    "query: not paid",
    "query: pending",
    "query: pending with reference",
    "query: returned",
    "query: not found",
    "query: failed",
];

pub(super) const DELIVERY_OUTCOMES: [&str; 11] = [
    "delivery: 200",
    "delivery: 204",
    "delivery: 302",
    "delivery: 410",
    "delivery: 429",
    "delivery: 500",
    "delivery: failed",
    "delivery: not serialised",
    "delivery: not signed",
    "delivery: no key",
    "delivery: no means",
];

/// The outcome of a call, by name and as a request. One in a hundred names a non-existent attempt, and one in twenty comes
/// from the wrong host.
pub(super) fn body(call: Call, dice: &mut Dice) -> (&'static str, Body) {
    let Planned { flow, attempt, what } = call.planned;
    let attempt = if dice.chance(1) { attempt + 1 } else { attempt };
    let is_of_workflow = call.is_of_workflow != dice.chance(5);
    let (name, event) = match what {
        Planning::Submit { r#try } => {
            let name = dice.pick(&SUBMIT_OUTCOMES);
            (name, payouts::Event::Submitted { attempt, r#try, outcome: submitted(name) })
        }
        Planning::Query { lease_until } => {
            let name = dice.pick(&QUERY_ANSWERS);
            (name, payouts::Event::Queried { attempt, lease_until, answer: queried(name) })
        }
        Planning::Deliver => {
            // Most calls succeed, and few disable the endpoint, so that histories have many deliveries.
            let name = match dice.below(100) {
                0..30 => DELIVERY_OUTCOMES[0],
                30..32 => "delivery: 410",
                _ => dice.pick(
                    &DELIVERY_OUTCOMES
                        .map(|name| if name == "delivery: 410" { "delivery: 500" } else { name }),
                ),
            };
            let event = delivery::Event::Returned { attempt, took_ms: 7, outcome: delivered(name) };
            let body = if is_of_workflow {
                requests::poll_with_delivery(flow, event)
            } else {
                requests::delivery_outcome(flow, event)
            };
            return (name, body);
        }
    };
    let body = if is_of_workflow {
        requests::poll_with_payout(flow, event)
    } else {
        requests::payout_outcome(flow, event)
    };
    (name, body)
}

fn submitted(name: &str) -> payouts::Outcome {
    use payouts::Outcome;
    let reference = || Some("px-1".to_owned());
    match name {
        "submit: not sent" => Outcome::NotSent { detail: detail(), is_ours: false },
        "submit: rejected for now" => Outcome::Rejected { is_retryable: true, detail: detail() },
        "submit: rejected" => Outcome::Rejected { is_retryable: false, detail: detail() },
        "submit: accepted" => Outcome::Accepted { provider_reference: None, reported: None },
        "submit: accepted with reference" => {
            Outcome::Accepted { provider_reference: reference(), reported: None }
        }
        "submit: paid" => Outcome::Paid { provider_reference: None, reported: None },
        "submit: paid with reference" => {
            Outcome::Paid { provider_reference: reference(), reported: None }
        }
        "submit: duplicate" => Outcome::Duplicate,
        _ => Outcome::Unknown { detail: detail() },
    }
}

fn queried(name: &str) -> Answer {
    let reference = || Some("px-1".to_owned());
    match name {
        "query: paid" => Answer::Paid { provider_reference: None, reported: None },
        "query: paid with reference" => {
            Answer::Paid { provider_reference: reference(), reported: None }
        }
        "query: not paid for now" => Answer::NotPaid { is_retryable: true, detail: detail() },
        "query: not paid" => Answer::NotPaid { is_retryable: false, detail: detail() },
        "query: pending" => Answer::Pending { provider_reference: None, reported: None },
        "query: pending with reference" => {
            Answer::Pending { provider_reference: reference(), reported: None }
        }
        "query: returned" => Answer::Returned { detail: detail(), reported: None },
        "query: not found" => Answer::NotFound,
        _ => Answer::Failed { detail: detail() },
    }
}

fn delivered(name: &str) -> delivery::Outcome {
    use delivery::Outcome;
    let answered = |status, after: Option<i64>, bytes: &[u8]| Outcome::Answered {
        status,
        retry_after: after.map(SignedDuration::from_secs),
        response: Response::new(bytes),
    };
    let unsendable = |what| Outcome::Unsendable { what, detail: detail() };
    match name {
        "delivery: 200" => answered(200, None, b"ok"),
        "delivery: 204" => answered(204, None, b""),
        "delivery: 302" => answered(302, None, &[0, 255]),
        "delivery: 410" => answered(410, None, b"gone"),
        "delivery: 429" => answered(429, Some(90), b"slow down"),
        "delivery: 500" => answered(500, None, b"oops"),
        "delivery: failed" => Outcome::Failed { class: "timeout".to_owned(), detail: detail() },
        "delivery: not serialised" => unsendable(Unsendable::Serialisation),
        "delivery: not signed" => unsendable(Unsendable::Signing),
        "delivery: no key" => unsendable(Unsendable::NoKey),
        _ => unsendable(Unsendable::LocalResourceExhausted),
    }
}

fn detail() -> String {
    "said so".to_owned()
}
