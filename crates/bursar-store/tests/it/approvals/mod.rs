//! Proposals on every store: what one person may not do alone is done once, in the commit of the last approval, and what is
//! not approved is not done.

mod random;

use std::collections::BTreeMap;

use bursar_core::approvals::{Approve, Propose, Reply, Turndown, View, proposal_key, stored_body};
use bursar_core::flow::{Flow, ReviewReason};
use bursar_core::four_eyes::Signature;
use bursar_core::ids::{ApprovalId, FlowId};
use bursar_core::ledger::Post;
use bursar_core::payins::{NewPayIn, ProviderStatus};
use bursar_core::payouts::Create;
use bursar_core::registry::{ApiKey, Change, Content, Kind, RecordKey, Registration, Role};
use bursar_core::rules::Rules;
use bursar_core::turn::{self, Body, Commit};
use bursar_store::{Browse, FlowFilter, FlowPage, Query, ReviewFilter, Store};
use jiff::SignedDuration;

use crate::desk::Desk;
use crate::payout_steps::new_payout;
use crate::payouts::{code, key};
use crate::stores::on_every_store;
use crate::workload::{self, event};

on_every_store! {
    what_two_people_approve_is_done_once_in_one_commit,
    what_is_not_approved_is_not_done,
    a_break_glass_is_done_at_once_and_looked_at_afterwards,
    proposals_are_listed_and_counted_until_they_are_decided,
}

const AVAILABLE: &str = "merchants:m1:available:PKR";
const LANE: &str = "approval";

/// Above 100.00 staff needs two people.
fn rules() -> Rules {
    Rules { four_eyes_above: 100, ..workload::rules() }
}

/// A payout that mia makes for the merchant. The fee is 0.50 and the VAT on it 0.05.
fn payout(name: &str, amount: &str) -> Body {
    let actor = Some("mia/1".to_owned());
    Create { key: key(name), payout: new_payout("m1", amount), actor, workflow: None }.into()
}

fn payin(reference: &str, amount: &str) -> NewPayIn {
    let text = |text: &str| text.to_owned();
    NewPayIn {
        key: None,
        actor: Some(text("mia/1")),
        merchant: text("m1"),
        provider: text("easy"),
        reference: text(reference),
        currency: text("PKR"),
        amount: text(amount),
        said: ProviderStatus::Completed,
        event: text("by-hand"),
    }
}

/// A key of the role approver.
fn issue(number: u8) -> Body {
    let change = Change::IssueKey {
        name: "key".to_owned(),
        person: format!("person {number}"),
        role: Role::Approver,
        merchant: None,
        digest: [number; 32],
        made_by: vec!["mia".to_owned()],
        is_setup: false,
    };
    Registration { actor: "mia/1".to_owned(), change }.into()
}

fn revoke(number: u8) -> Body {
    let change = Change::RevokeKey { id: ApiKey::id_of(&[number; 32]).to_string() };
    Registration { actor: "mia/1".to_owned(), change }.into()
}

fn signature(actor: &str) -> Signature {
    Signature::new(actor, !actor.starts_with("otto"))
}

fn propose(body: &Body, actor: &str, break_glass: bool) -> Propose {
    let by = signature(actor);
    let after = break_glass.then_some("break-glass");
    let key = proposal_key(body, &by.person(), after).unwrap();
    Propose { key, body: Box::new(body.clone()), by, reason: "as agreed".to_owned(), break_glass }
}

fn approve(id: ApprovalId, body: &Body, actor: &str) -> Approve {
    let (by, note, body) = (signature(actor), "seen".to_owned(), Box::new(body.clone()));
    Approve { id, expected_version: None, by, note, body }
}

fn turn_down(id: ApprovalId, actor: &str) -> Turndown {
    Turndown { id, expected_version: None, by: signature(actor), note: "no".to_owned() }
}

fn id(view: &View) -> ApprovalId {
    view.id.parse().unwrap()
}

async fn ready<S: Store + Query>(rules: &Rules, store: S) -> Desk<'_, S> {
    let mut desk = Desk::new(rules, store, 0);
    desk.fund().await;
    desk.open_merchant().await;
    desk
}

async fn proposed<S: Store + Query>(desk: &mut Desk<'_, S>, body: &Body) -> View {
    let given = desk.ask(propose(body, "mia/1", false)).await.unwrap();
    assert!(!given.is_replay);
    View::clone(&given.view)
}

/// The approval as the store has it, with the request that it keeps.
async fn saved<S: Store + Query>(desk: &mut Desk<'_, S>, id: ApprovalId) -> (Flow, Body) {
    let flow = desk.store.flow(FlowId::from(id)).await.unwrap().unwrap();
    let body = stored_body(&flow.state.approval().unwrap().body).unwrap();
    (flow, body)
}

fn decided(commit: &Commit) -> &View {
    match &commit.answers[0] {
        Ok(turn::Reply::Approvals(Reply::Decided(decided))) => &decided.view,
        other => panic!("{other:?}"),
    }
}

fn is_empty(commit: &Commit) -> bool {
    commit.time.is_none() && commit.flows.is_empty() && commit.audit.is_empty()
}

async fn what_two_people_approve_is_done_once_in_one_commit(store: impl Store + Browse) {
    let rules = rules();
    let mut desk = ready(&rules, store).await;
    let body = payout("large", "150");
    assert_eq!(desk.rejected(body.clone()).await.code(), "approval_needed");
    let commit = desk.commit(propose(&body, "mia/1", false)).await;
    assert_eq!((commit.transactions.len(), commit.flows.len()), (0, 1));
    let again = desk.ask(propose(&body, "mia/1", false)).await.unwrap();
    assert!(again.is_replay && again.view.status == "PROPOSED", "{again:?}");
    assert!(!again.view.would.postings.is_empty(), "{again:?}");
    assert!(is_empty(&desk.commit(propose(&body, "mia/1", false)).await));

    let id = id(&again.view);
    let (_, kept) = saved(&mut desk, id).await;
    assert_eq!(format!("{kept:?}"), format!("{body:?}"));
    for (actor, body, expected) in [
        ("mia/1", &kept, "second_person_needed"),
        ("MIA/2", &kept, "second_person_needed"),
        ("otto/3", &kept, "approver_needed"),
        ("anna/4", &payout("large", "151"), "other_request"),
        ("anna/4", &payin("r1", "150").into(), "other_request"),
    ] {
        let commit = desk.commit(approve(id, body, actor)).await;
        assert!(is_empty(&commit), "{commit:?}");
        assert_eq!(commit.answers[0].as_ref().unwrap_err().code(), expected);
    }
    let stale = Approve { expected_version: Some(7), ..approve(id, &kept, "anna/4") };
    assert_eq!(code(desk.ask(stale).await), "stale_version");
    assert_eq!(desk.balance(AVAILABLE).await, 25_000);

    let commit = desk.commit(approve(id, &kept, "anna/4")).await;
    let view = decided(&commit);
    assert_eq!((view.status.as_str(), view.signed.len()), ("APPROVED", 1));
    assert_eq!((commit.transactions.len(), commit.flows.len()), (1, 2));
    let audit: Vec<&str> = commit.audit.iter().map(|entry| entry.action.as_str()).collect();
    assert_eq!(audit, ["payout.create", "approval.approve"]);
    assert_eq!(desk.balance(AVAILABLE).await, 25_000 - 15_000 - 55);

    let view = view.clone();
    for (body, expected) in [
        (Body::from(approve(id, &kept, "ben/5")), "not_proposed"),
        (turn_down(id, "ben/5").into(), "not_proposed"),
        (turn_down(id, "mia/1").into(), "not_proposed"),
        (propose(&body, "ben/5", false).into(), "done_already"),
    ] {
        assert_eq!(desk.rejected(body).await.code(), expected);
    }
    let Body::Payouts(bursar_core::payouts::Request::Create(create)) = body else { panic!() };
    let done = desk.ask(*create).await.unwrap();
    assert!(done.is_replay, "the request is answered with what was done");
    assert_eq!(Some(&done.view.id), view.result.as_ref());
    assert_eq!(desk.balance(AVAILABLE).await, 25_000 - 15_000 - 55);
    desk.assert_sound().await;
}

async fn what_is_not_approved_is_not_done(store: impl Store + Browse) {
    let rules = rules();
    let mut desk = ready(&rules, store).await;
    let names = ["rejected", "withdrawn", "stale", "expired", "late"];
    let bodies = names.map(|name| payout(name, "200"));
    let mut ids = Vec::new();
    for body in &bodies {
        ids.push(id(&proposed(&mut desk, body).await));
    }
    assert_eq!(code(desk.ask(turn_down(ids[0], "otto/3")).await), "approver_needed");
    let commit = desk.commit(turn_down(ids[0], "anna/4")).await;
    assert_eq!(decided(&commit).status, "REJECTED");
    let commit = desk.commit(turn_down(ids[1], "Mia/2")).await;
    assert_eq!(decided(&commit).status, "WITHDRAWN");

    // The merchant pays out its own money meanwhile.
    let own =
        Create { key: key("own"), payout: new_payout("m1", "100"), actor: None, workflow: None };
    desk.ask(own).await.unwrap();
    let commit = desk.commit(approve(ids[2], &bodies[2], "anna/4")).await;
    let view = decided(&commit);
    assert_eq!((view.status.as_str(), view.result.as_ref()), ("STALE", None));
    assert!(view.reason.is_some(), "{view:?}");
    assert_eq!((commit.transactions.len(), commit.flows.len()), (0, 1));

    desk.now += SignedDuration::from_hours(23);
    assert!(desk.claim(LANE, 1).await.flows.is_empty(), "a day has not passed");
    desk.now += SignedDuration::from_hours(1);
    let claimed = desk.claim(LANE, 1).await;
    assert_eq!(claimed.flows.len(), 1, "{claimed:?}");
    let commit = desk.commit(approve(ids[4], &bodies[4], "anna/4")).await;
    assert_eq!(decided(&commit).status, "EXPIRED");
    assert!(desk.claim(LANE, 10).await.flows.is_empty(), "no proposal is left");

    let expected = ["REJECTED", "WITHDRAWN", "STALE", "EXPIRED", "EXPIRED"];
    for ((id, body), status) in ids.iter().zip(&bodies).zip(expected) {
        let (flow, _) = saved(&mut desk, *id).await;
        assert_eq!(flow.state.status(), status);
        assert_eq!(desk.rejected(body.clone()).await.code(), "approval_needed");
        assert_eq!(desk.rejected(approve(*id, body, "ben/5")).await.code(), "not_proposed");
    }
    assert_eq!(desk.balance(AVAILABLE).await, 25_000 - 10_000 - 55);
    desk.assert_sound().await;
}

async fn is_revoked(desk: &mut Desk<'_, impl Store + Browse>, number: u8) -> bool {
    let key = RecordKey { kind: Kind::ApiKey, id: ApiKey::id_of(&[number; 32]).to_string() };
    let record = desk.store.record(&key).await.unwrap().unwrap();
    match &record.content {
        Content::ApiKey(key) => {
            assert!(key.made_by.is_empty(), "two people made it: {key:?}");
            key.revoked_at.is_some()
        }
        other => panic!("{other:?}"),
    }
}

/// How many alerts about a break-glass are raised.
async fn raised(desk: &mut Desk<'_, impl Store + Browse>) -> i64 {
    let tallies = desk.store.tallies("alert/break_glass").await.unwrap();
    tallies.values().map(|tally| tally.count).sum()
}

async fn a_break_glass_is_done_at_once_and_looked_at_afterwards(store: impl Store + Browse) {
    let rules = rules();
    let mut desk = ready(&rules, store).await;
    let glass = propose(&payout("large", "150"), "mia/1", true);
    assert_eq!(desk.rejected(glass).await.code(), "no_break_glass");
    assert_eq!(desk.rejected(issue(1)).await.code(), "approval_needed");
    let made = proposed(&mut desk, &issue(1)).await;
    desk.accepted(approve(id(&made), &issue(1), "anna/4")).await;
    assert!(!is_revoked(&mut desk, 1).await);

    let waiting = proposed(&mut desk, &revoke(1)).await;
    let commit = desk.commit(propose(&revoke(1), "mia/1", true)).await;
    assert_eq!(commit.flows.len(), 1);
    assert!(is_revoked(&mut desk, 1).await, "in the commit of the proposal");
    let given = desk.ask(propose(&revoke(1), "mia/1", true)).await.unwrap();
    assert!(given.is_replay && given.view.status == "BREAK_GLASS", "{given:?}");
    assert_eq!(raised(&mut desk).await, 1);

    // What is done already is not approved once more.
    let commit = desk.commit(approve(id(&waiting), &revoke(1), "anna/4")).await;
    assert_eq!(decided(&commit).status, "STALE");
    assert_eq!(desk.rejected(propose(&revoke(1), "ben/5", false)).await.code(), "done_already");

    let glass = id(&given.view);
    desk.now += SignedDuration::from_hours(48);
    assert!(desk.claim(LANE, 10).await.flows.is_empty(), "it does not expire");
    for actor in ["mia/1", "MIA/2"] {
        let refused = desk.rejected(approve(glass, &revoke(1), actor)).await;
        assert_eq!(refused.code(), "second_person_needed");
    }
    let commit = desk.commit(approve(glass, &revoke(1), "anna/4")).await;
    assert_eq!(decided(&commit).status, "APPROVED");
    assert_eq!((commit.records.len(), raised(&mut desk).await), (0, 0));
    desk.assert_sound().await;
}

async fn proposals_are_listed_and_counted_until_they_are_decided(store: impl Store + Browse) {
    let rules = rules();
    let mut desk = ready(&rules, store).await;
    let credit =
        Post { event: event(&rules, "ADJUSTMENT_CREDIT", "a1"), actor: Some("mia/1".to_owned()) };
    let bodies = [payout("a", "110"), payin("r1", "120").into(), credit.into()];
    let mut ids = Vec::new();
    for body in &bodies {
        ids.push(id(&proposed(&mut desk, body).await));
    }
    let filter = ReviewFilter { of: Some(("approval", ReviewReason::Approval)), merchant: None };
    let names = |ids: &[ApprovalId]| ids.iter().map(ToString::to_string).collect::<Vec<_>>();
    let reviews = desk.store.reviews(&filter, None, 10).await.unwrap();
    let found: Vec<_> =
        reviews.iter().filter_map(|(_, flow)| Some(flow.as_ref()?.name())).collect();
    assert_eq!(found, names(&ids), "the longest waiting is first");

    desk.accepted(approve(ids[1], &bodies[1], "anna/4")).await;
    desk.accepted(turn_down(ids[2], "anna/4")).await;
    let reviews = desk.store.reviews(&filter, None, 10).await.unwrap();
    assert_eq!(reviews.len(), 1);
    for (status, expected) in
        [("PROPOSED", &ids[..1]), ("APPROVED", &ids[1..2]), ("REJECTED", &ids[2..])]
    {
        let status = Some(status.to_owned());
        let filter = FlowFilter { kind: "approval", status, ..FlowFilter::default() };
        let FlowPage { flows, .. } = desk.store.list_flows_desc(&filter, None, 10).await.unwrap();
        assert_eq!(flows.iter().map(Flow::name).collect::<Vec<_>>(), names(expected));
    }
    assert_eq!(desk.store.live().await.unwrap().len(), 1, "a proposal waits");
    let channels = desk.store.live_channels().await.unwrap();
    assert_eq!(channels, [""; 0], "a server starts without a channel of the name of an action");
    let waiting = desk.store.waiting_reviews().await.unwrap();
    let waiting: Vec<_> = waiting.iter().map(|it| (it.kind, it.reason, it.count)).collect();
    assert_eq!(waiting, [("approval", ReviewReason::Approval, 1)]);
    let tallies = desk.store.tallies("flow/approval/").await.unwrap();
    let counts: BTreeMap<&str, (i64, i64)> =
        tallies.iter().map(|(name, it)| (name.as_str(), (it.count, it.entered))).collect();
    let expected = [
        ("flow/approval/APPROVED//payin.record", (1, 1)),
        ("flow/approval/PROPOSED//ledger.post", (0, 1)),
        ("flow/approval/PROPOSED//payin.record", (0, 1)),
        ("flow/approval/PROPOSED//payout.create", (1, 1)),
        ("flow/approval/REJECTED//ledger.post", (1, 1)),
    ];
    assert_eq!(counts, expected.into());
    assert_eq!(desk.balance(AVAILABLE).await, 25_000 + 12_000);
    desk.assert_sound().await;
}
