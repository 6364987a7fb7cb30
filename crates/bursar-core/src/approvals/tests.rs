//! The machine of an approval, and the stored form of what is proposed.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use jiff::{SignedDuration, Timestamp};

use super::preview::Preview;
use super::state::{Approval, State};
use super::step::{Event, Step, step};
use super::stored::{encode, stored_body};
use crate::four_eyes::{Action, Signature};
use crate::idempotency::Key;
use crate::ids::{PayInId, PayoutId, Seed};
use crate::ledger::{LedgerEvent, Post};
use crate::payins::{CloseCase, NewPayIn, ProviderStatus};
use crate::payouts::{AskAgain, Beneficiary, ClientMetadata, Create, NewPayout};
use crate::registry::{Change, Registration, Role};
use crate::rejection::Rejection;
use crate::turn::Body;

const START: Timestamp = Timestamp::UNIX_EPOCH;

fn approval(state: State) -> Approval {
    Approval {
        action: "ledger.post".to_owned(),
        body: String::new(),
        summary: String::new(),
        maker: Signature::new("mia/1", true),
        reason: String::new(),
        preview: Preview::default(),
        quorum: 2,
        expires_at: START + SignedDuration::from_hours(24),
        signed: vec![],
        state,
    }
}

fn states() -> [State; 8] {
    let result = || "tx_1".to_owned();
    [
        State::Proposed,
        State::BreakGlass { result: result() },
        State::Approved { result: result() },
        State::Rejected { result: None },
        State::Rejected { result: Some(result()) },
        State::Withdrawn,
        State::Expired,
        State::Stale { why: "funds are missing".to_owned() },
    ]
}

/// The status after an event, `EXECUTES` for the last signature, or the code of the rejection.
fn after(state: &State, event: &Event, now: Timestamp) -> &'static str {
    match step(&approval(state.clone()), event, now) {
        Ok(Step::To(next)) => next.state.status(),
        Ok(Step::Executes(_)) => "EXECUTES",
        Err(rejection) => rejection.code(),
    }
}

#[test]
fn every_state_answers_every_event() {
    let note = String::new;
    let approves = |actor, is_approver| Event::Approves {
        by: Signature::new(actor, is_approver),
        note: note(),
    };
    let turns_down = |actor, is_approver| Event::TurnsDown {
        by: Signature::new(actor, is_approver),
        note: note(),
    };
    let late = START + SignedDuration::from_hours(24);
    let table = [
        (approves("anna/2", true), START, ["EXECUTES", "APPROVED"]),
        (approves("otto/3", false), START, ["approver_needed", "approver_needed"]),
        (approves("MIA/4", true), START, ["second_person_needed", "second_person_needed"]),
        (approves("anna/2", true), late, ["EXPIRED", "APPROVED"]),
        (turns_down("anna/2", true), START, ["REJECTED", "REJECTED"]),
        (turns_down("otto/3", false), START, ["approver_needed", "approver_needed"]),
        (turns_down("Mia/4", true), START, ["WITHDRAWN", "second_person_needed"]),
        (turns_down("anna/2", true), late, ["EXPIRED", "REJECTED"]),
        (Event::Expires, late, ["EXPIRED", "not_proposed"]),
    ];
    for (event, now, [proposed, break_glass]) in table {
        let [one, other, over @ ..] = states();
        assert_eq!(after(&one, &event, now), proposed, "{event:?} at {now}");
        assert_eq!(after(&other, &event, now), break_glass, "{event:?} at {now}");
        for state in over {
            assert_eq!(after(&state, &event, now), "not_proposed", "{state:?}, {event:?}");
        }
    }
}

/// A break-glass stays open until as many people have looked at it as the action needs.
#[test]
fn a_break_glass_needs_as_many_people_as_its_action() {
    let done = State::BreakGlass { result: "tx_1".to_owned() };
    let mut approval = Approval { quorum: 3, ..approval(done) };
    for (actor, expected) in [("anna/5", "BREAK_GLASS"), ("ben/7", "APPROVED")] {
        let by = Signature::new(actor, true);
        let event = Event::Approves { by, note: String::new() };
        let Ok(Step::To(next)) = step(&approval, &event, START) else { panic!("{approval:?}") };
        assert_eq!(next.state.status(), expected);
        approval = next;
    }
}

fn bodies() -> Vec<(Action, Body)> {
    let text = |text: &str| text.to_owned();
    let key = || Key::new(text("merchant:m1"), text("k1"));
    let beneficiary = Beneficiary {
        name: text("Amina Khan"),
        account: None,
        msisdn: Some(text("923001234567")),
        bank: None,
    };
    let payout = NewPayout {
        merchant: text("m1"),
        channel: text("wallet"),
        currency: text("PKR"),
        amount: text("1500.00"),
        beneficiary,
        beneficiary_id: Some(text("ben_1")),
        scheduled_at: Some(START),
        remarks: ClientMetadata { trace_id: Some(text("t")), ..ClientMetadata::default() },
    };
    let actor = Some(text("mia/1"));
    let payin = NewPayIn {
        key: Some(key()),
        actor: actor.clone(),
        merchant: text("m1"),
        provider: text("easypay"),
        reference: text("r1"),
        currency: text("PKR"),
        amount: text("50000000.00"),
        said: ProviderStatus::Completed,
        event: text("r1"),
    };
    let close = CloseCase {
        key: key(),
        id: PayInId::new(START, &Seed::from(1), 0),
        evidence: text("a typing error"),
        expected_version: 2,
        actor: text("mia/1"),
    };
    let event = LedgerEvent {
        name: text("ADJUSTMENT_CREDIT"),
        reference: text("a1"),
        variables: BTreeMap::from([(text("amount"), text("1.00"))]),
        effective_at: Some(START),
    };
    let issue = |name: &str, role, merchant, digest| Change::IssueKey {
        name: text(name),
        person: name.to_lowercase(),
        role,
        merchant,
        digest: [digest; 32],
        made_by: vec![text("mia")],
        is_setup: false,
    };
    let of_merchant = issue("till", Role::Merchant, Some(text("m1")), 8);
    let issue = issue("Anna", Role::Approver, None, 7);
    let revoke = Change::RevokeKey { id: text("key_1") };
    let register = |change| Registration { actor: text("mia/1"), change };
    let create = Create { key: key(), payout, actor: actor.clone(), workflow: None };
    vec![
        (Action::CreatePayout, create.into()),
        (Action::RecordPayIn, payin.into()),
        (Action::CloseCase, close.into()),
        (Action::Post, Post { event, actor }.into()),
        (Action::IssueKey, register(issue).into()),
        (Action::IssueMerchantKey, register(of_merchant).into()),
        (Action::RevokeKey, register(revoke).into()),
    ]
}

/// The texts are fixed: proposals of this version must be readable in every later one.
#[test]
fn what_is_proposed_is_stored_and_read_back() {
    let mut stored = String::new();
    for (action, body) in bodies() {
        let proposable = encode(&body).unwrap();
        assert_eq!(proposable.action, action);
        assert!(!proposable.summary.contains("Amina") && !proposable.summary.contains("92300"));
        let read = stored_body(&proposable.text).unwrap();
        assert_eq!(format!("{read:?}"), format!("{body:?}"), "nothing is lost");
        assert_eq!(encode(&read).unwrap().text, proposable.text);
        writeln!(stored, "{}\n{}", proposable.summary, proposable.text).unwrap();
    }
    insta::assert_snapshot!(stored);
    assert_eq!(bodies().len(), Action::ALL.len(), "every action can be proposed");
    for unreadable in ["", "{}", r#"{"v2":{}}"#, r#"{"v1":{"key.revoke":{"id":"key_1"}}}"#] {
        assert!(stored_body(unreadable).is_err(), "{unreadable}");
    }
}

#[test]
fn what_needs_no_approval_is_not_proposed() {
    let ask = Body::from(AskAgain { id: PayoutId::new(START, &Seed::from(1), 0) });
    assert_eq!(encode(&ask).err(), Some(Rejection::NoApprovalNeeded));
}
