//! Typed replies over a mixed batch, sizes, and the stored form of outcomes.

use jiff::Timestamp;

use super::request::Ready;
use super::{Answer, Ask, Body, Given, Reply, Request, TurnInput};
use crate::flow::{ClaimDue, ClaimReply, Listed as _, Outcome};
use crate::ids::Seed;
use crate::ledger::Admission;
use crate::ledger::rulebook::Rulebook;
use crate::payouts::{self, Payout};
use crate::registry::{Change, Registered, Registration};
use crate::rejection::Rejection;
use crate::rules::Rules;
use crate::turn::{ReadSet, apply, plan};

/// A host: submits any request and returns its typed reply.
struct Host(Rules);

#[derive(Debug, PartialEq)]
enum Problem {
    Rejected(Rejection),
    /// The reply belongs to another request.
    Unexpected,
}

impl Host {
    /// Like the port: one object-safe method over the enums.
    fn submit(&self, body: Body) -> Answer {
        let admission = Admission::new(Timestamp::UNIX_EPOCH, Seed::from(1));
        let requests = [Request { admission, body }];
        let batch = TurnInput::new(&self.0, &requests);
        assert!(!plan(&batch).is_empty());
        apply(&batch, ReadSet::default()).answers.remove(0)
    }

    /// Like handlers: generic, beside the port.
    fn ask<A: Ask>(&self, ask: A) -> Result<A::Reply, Problem> {
        let reply = self.submit(ask.into()).map_err(Problem::Rejected)?;
        A::reply(reply).ok_or(Problem::Unexpected)
    }
}

#[test]
fn a_caller_gets_the_typed_reply_of_its_request() {
    let host = Host(Rules::from(Rulebook::bundled().unwrap()));
    // The call site of a handler names no reply of another domain.
    let change = Change::OpenMerchant { id: "m1".to_owned(), name: "Shop".to_owned() };
    let Registered { record, is_new } =
        host.ask(Registration { actor: "ops".to_owned(), change }).unwrap();
    assert_eq!((record.id.as_str(), is_new), ("m1", true));
    let claimed: ClaimReply = host.ask(ClaimDue::new("payout".to_owned(), 1)).unwrap();
    assert_eq!(claimed, ClaimReply::default());
    let key = crate::idempotency::Key::new("m1".to_owned(), "k".to_owned());
    let cancellation = payouts::Cancellation {
        id: crate::ids::PayoutId::new(Timestamp::UNIX_EPOCH, &Seed::from(7), 0),
        expected_version: None,
        actor: "m1".to_owned(),
    };
    let asked: Result<Given<payouts::View>, Problem> =
        host.ask(payouts::Cancel { key, cancellation });
    assert!(matches!(asked, Err(Problem::Rejected(Rejection::UnknownFlow { .. }))), "{asked:?}");
}

#[test]
fn the_reply_of_another_request_is_none() {
    let claimed = || Reply::Flows(crate::flow::Reply::Claimed(ClaimReply::default()));
    assert!(<ClaimDue as Ask>::reply(claimed()).is_some());
    assert!(<payouts::Create as Ask>::reply(claimed()).is_none());
}

#[test]
fn requests_stay_small() {
    let sizes = [size_of::<Body>(), size_of::<Ready<'_>>(), size_of::<Reply>()];
    assert_eq!(sizes, [240, 64, 120]);
}

#[test]
fn outcomes_are_stored_as_before() {
    let due = serde_json::to_string(&Payout::into_outcome(payouts::Event::Due)).unwrap();
    assert_eq!(due, r#"{"payout":"due"}"#);
    let none = serde_json::from_str::<Outcome>(r#"{"payin":"due"}"#).unwrap_err();
    assert!(none.to_string().contains("there are no variants"), "{none}");
}

#[test]
fn admitted_is_small() {
    assert_eq!(size_of::<super::Admitted<'_>>(), 112);
}
