//! Effects as a commit would plan them, and what came of them in a word.

use std::time::Duration;

use bursar_connect::{Connection, Connections, HttpChannel, HttpSettings};
use bursar_core::money::{Currency, Money};
use bursar_core::payouts::{Answer, Beneficiary, Call, Event, Order, Outcome};
use jiff::Timestamp;
use tokio::time::Instant;

pub(crate) fn beneficiary() -> Beneficiary {
    let msisdn = Some("+923001234567".to_owned());
    Beneficiary { name: "Asma".to_owned(), account: None, msisdn, bank: None }
}

fn call(reference: &str, order: Order) -> Call {
    Call { channel: "wallet".to_owned(), reference: reference.to_owned(), order }
}

fn submission(reference: &str) -> Call {
    let currency: Currency = "PKR".parse().unwrap();
    let amount = Money::from_minor(150_000, currency);
    call(reference, Order::Submit { r#try: 1, amount, beneficiary: beneficiary() })
}

fn lease_until() -> Timestamp {
    "2026-11-16T12:00:00Z".parse().unwrap()
}

/// A lease that does not end during a test.
pub(crate) fn later() -> Instant {
    Instant::now() + Duration::from_hours(1)
}

pub(crate) async fn submit(connections: &Connections, reference: &str, lease: Instant) -> Outcome {
    let event = connections.run(submission(reference), (1, lease_until()), lease).await;
    let Event::Submitted { attempt: 1, r#try: 1, outcome } = event else {
        panic!("not the answer to a submission: {event:?}")
    };
    outcome
}

pub(crate) async fn query(connections: &Connections, reference: &str, lease: Instant) -> Answer {
    let event = connections.run(call(reference, Order::Query), (1, lease_until()), lease).await;
    let Event::Queried { attempt: 1, lease_until: found, answer } = event else {
        panic!("not the answer to a question: {event:?}")
    };
    assert_eq!(found, lease_until(), "the lease tells which question");
    answer
}

pub(crate) fn only(connection: Connection) -> Connections {
    Connections::new([("wallet".to_owned(), connection)])
}

pub(crate) fn http(settings: HttpSettings) -> Connections {
    only(Connection::Http(HttpChannel::new(settings).unwrap()))
}

/// A submission's outcome in a word.
pub(crate) fn class(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::NotSent { .. } => "not sent",
        Outcome::Rejected { is_retryable: true, .. } => "rejected for now",
        Outcome::Rejected { is_retryable: false, .. } => "rejected",
        Outcome::Accepted { .. } => "accepted",
        Outcome::Paid { .. } => "paid",
        Outcome::Duplicate => "duplicate",
        Outcome::Unknown { detail } if detail.starts_with("unmapped ") => "unmapped",
        Outcome::Unknown { .. } => "unknown",
    }
}

/// The answer to a question in a word.
pub(crate) fn word(answer: &Answer) -> &'static str {
    match answer {
        Answer::Paid { .. } => "paid",
        Answer::NotPaid { is_retryable: true, .. } => "not paid for now",
        Answer::NotPaid { is_retryable: false, .. } => "not paid",
        Answer::Pending { .. } => "pending",
        Answer::Returned { .. } => "returned",
        Answer::NotFound => "not found",
        Answer::Failed { detail } if detail.starts_with("unmapped ") => "unmapped",
        Answer::Failed { .. } => "failed",
    }
}
