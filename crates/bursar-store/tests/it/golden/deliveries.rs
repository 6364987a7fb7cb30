//! Deliveries: every state, and every result of an attempt.

use bursar_core::ids::{EndpointId, EventId, Seed};
use bursar_core::webhooks::delivery::{
    AttemptRecord, DeadLetterReason, Delivery, Response, Result, State, Terms,
};

use crate::adapter::stored::at;

pub(super) fn all() -> Vec<Delivery> {
    let reasons = [
        DeadLetterReason::Exhausted,
        DeadLetterReason::SerialisationFailed,
        DeadLetterReason::SigningFailed,
    ];
    let dead = reasons.map(|reason| State::Dlq { reason, since: at(9) });
    let live = [
        State::Pending { due: at(1) },
        State::Delivering { since: at(1), lease_until: at(36) },
        State::WaitingRetry { due: at(61) },
        State::Delivered,
        State::Cancelled { since: at(9) },
    ];
    let states = live.into_iter().chain(dead).map(|state| Delivery { state, ..new() });
    let tried = Delivery { attempts: 5, history: history(), ..new() };
    let replayed = Delivery { uncounted_attempts: 5, is_replayed: true, ..tried.clone() };
    states.chain([tried, replayed]).collect()
}

fn new() -> Delivery {
    let terms = Terms {
        event: EventId::new(at(0), &Seed::from(3), 0),
        kind: "payout.success".to_owned(),
        endpoint: EndpointId::new(at(0), &Seed::from(4), 0),
        body: r#"{"specversion":"1.0","data":{"amount":"15.00"}}"#.to_owned(),
    };
    Delivery::new(terms, at(1))
}

fn history() -> Vec<AttemptRecord> {
    let answered =
        |status, bytes: &[u8]| Result::Answered { status, response: Response::new(bytes) };
    let failed = |class: &str, detail: &str| Result::Failed {
        class: class.to_owned(),
        detail: detail.to_owned(),
    };
    let results = [
        answered(500, "“sorry”\n".as_bytes()),
        answered(204, &[0, 159, 255]),
        failed("connect", "connection refused"),
        failed("no_means", "too many open files"),
        Result::Lost,
    ];
    let attempted = |result, number: u32| AttemptRecord {
        number,
        at: at(i64::from(number)),
        took_ms: u64::from(number) * 17,
        result,
    };
    results.into_iter().zip(1..).map(|(result, number)| attempted(result, number)).collect()
}
