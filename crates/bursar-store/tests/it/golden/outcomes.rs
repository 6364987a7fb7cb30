//! Outcomes of effects. Temporal histories contain them, so they must stay decodable as long as those are kept.

use bursar_core::flow;
use bursar_core::payouts::attempt::{Evidence, Source, Verdict};
use bursar_core::payouts::{self, Answer, Decision, ManualDecision};
use bursar_core::webhooks::delivery::{self, Response, Unsendable};
use jiff::SignedDuration;

use crate::adapter::stored::{at, json};

pub(super) fn texts() -> Vec<String> {
    let payouts = of_payouts().into_iter().map(flow::Outcome::Payout);
    let deliveries = of_deliveries().into_iter().map(flow::Outcome::Delivery);
    payouts.chain(deliveries).map(|outcome| json(&outcome)).collect()
}

fn of_payouts() -> Vec<payouts::Event> {
    use payouts::{Event, Outcome};
    let detail = || "said so".to_owned();
    let name = || Some("px-1".to_owned());
    let submitted = [
        Outcome::NotSent { detail: detail(), is_ours: false },
        Outcome::Rejected { is_retryable: true, detail: detail() },
        Outcome::Rejected { is_retryable: false, detail: detail() },
        Outcome::Accepted { provider_reference: None, reported: None },
        Outcome::Accepted { provider_reference: name(), reported: None },
        Outcome::Paid { provider_reference: None, reported: None },
        Outcome::Paid { provider_reference: name(), reported: None },
        Outcome::Duplicate,
        Outcome::Unknown { detail: detail() },
    ];
    let queried = [
        Answer::Paid { provider_reference: None, reported: None },
        Answer::Paid { provider_reference: name(), reported: None },
        Answer::NotPaid { is_retryable: true, detail: detail() },
        Answer::NotPaid { is_retryable: false, detail: detail() },
        Answer::Pending { provider_reference: None, reported: None },
        Answer::Pending { provider_reference: name(), reported: None },
        Answer::Returned { detail: detail(), reported: None },
        Answer::NotFound,
        Answer::Failed { detail: detail() },
    ];
    let rulings = [
        Decision::ConfirmPaid,
        Decision::ConfirmNotPaid,
        Decision::KeepWaiting,
        Decision::NewAttempt,
    ];
    let decided = rulings.map(|decision| {
        let (actor, evidence) = ("ops/key_1".to_owned(), detail());
        let is_approver = decision == Decision::ConfirmPaid;
        Event::Decided(ManualDecision {
            decision,
            actor,
            is_approver,
            made_by: vec![],
            evidence,
            needs_two: !is_approver,
        })
    });
    let evidence = Event::EvidenceReceived {
        attempt: 1,
        evidence: Evidence {
            digest: Some("00ff".to_owned()),
            ..Evidence::new(Source::Callback, Verdict::Returned)
        },
    };
    let submitted =
        submitted.map(|outcome| Event::Submitted { attempt: 1, r#try: 2, outcome }).into_iter();
    let queried = queried
        .map(|answer| Event::Queried { attempt: 1, lease_until: at(20), answer })
        .into_iter();
    [Event::Due]
        .into_iter()
        .chain(submitted)
        .chain(queried)
        .chain([evidence, Event::CancelAsked])
        .chain(decided)
        .collect()
}

fn of_deliveries() -> Vec<delivery::Event> {
    use delivery::{Event, Outcome};
    let detail = || "said so".to_owned();
    let answered = |status, after: Option<i64>, bytes: &[u8]| Outcome::Answered {
        status,
        retry_after: after.map(SignedDuration::from_secs),
        response: Response::new(bytes),
    };
    let unsendable = [
        Unsendable::Serialisation,
        Unsendable::Signing,
        Unsendable::NoKey,
        Unsendable::LocalResourceExhausted,
    ];
    let unsendable = unsendable.map(|what| Outcome::Unsendable { what, detail: detail() });
    let outcomes = [
        answered(200, None, b"ok"),
        answered(429, Some(90), b""),
        answered(503, Some(86_400), &[0, 255]),
        Outcome::Failed { class: "timeout".to_owned(), detail: detail() },
    ];
    let returned = outcomes.into_iter().chain(unsendable);
    let returned = returned.map(|outcome| Event::Returned { attempt: 2, took_ms: 7, outcome });
    [Event::Due].into_iter().chain(returned).chain([Event::Cancelled, Event::Replayed]).collect()
}
