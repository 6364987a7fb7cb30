//! Flows that Temporal workflows drive, on every store. The engine does not claim them, the outbox signals every change
//! by others, and a poll runs what is due.

use std::collections::BTreeMap;

use bursar_core::flow::host::{
    AckOutbox, ClaimOutbox, ClaimedEntry, Hosting, Naming, NextAction, OutboxAck, OutboxKind, Poll,
    PollReply, SWEEP,
};
use bursar_core::flow::{self, Call, ClaimDue, Effect, Kind, Load};
use bursar_core::idempotency::Key;
use bursar_core::ids::{FlowId, PayoutId, Seed};
use bursar_core::ledger::Admission;
use bursar_core::payouts::{
    self, Cancel, Cancellation, Create, Event, LANE, Outcome, Payout, submit_lane,
};
use bursar_core::rules::Rules;
use bursar_core::turn::{Ask as _, Commit, Request, TurnInput};
use bursar_core::webhooks::delivery::Delivery;
use bursar_store::{Browse, Overdue, Query, Store, turn};
use jiff::SignedDuration;

use crate::desk::Desk;
use crate::endpoints::{add, deliver, endpoint_id};
use crate::payout_steps::new_payout;
use crate::payouts::call;
use crate::stores::on_every_store;
use crate::workload::rules;

fn on_temporal() -> Rules {
    Rules { hosting: Hosting::Temporal(Naming::ByMerchant), ..rules() }
}

fn poll(flow: FlowId, event: Option<Event>) -> Poll {
    Poll { flow, outcome: event.map(flow::Outcome::Payout), slots: None }
}

fn poll_with_slot(flow: FlowId) -> Poll {
    Poll { flow, outcome: None, slots: Some(Load::default()) }
}

fn polled(commit: &Commit) -> PollReply {
    *Poll::reply(commit.answers[0].clone().unwrap()).unwrap()
}

async fn claim_outbox<S: Store + Query>(desk: &mut Desk<'_, S>, lane: &str) -> Vec<ClaimedEntry> {
    desk.ask(ClaimOutbox { lane: lane.to_owned(), limit: 10 }).await.unwrap()
}

async fn acknowledge<S: Store + Query>(desk: &mut Desk<'_, S>, claimed: &ClaimedEntry) {
    let ack = OutboxAck { entry: claimed.entry, renamed: None };
    desk.ask(AckOutbox { flows: BTreeMap::from([(claimed.flow.id, ack)]) }).await.unwrap();
}

fn submitted(effect: &Effect, outcome: Outcome) -> Event {
    Event::Submitted { attempt: effect.attempt, r#try: 1, outcome }
}

fn start_lane<K: Kind>() -> &'static str {
    K::INFO.outbox.unwrap().lane
}

fn activity(action: NextAction) -> &'static str {
    match action {
        NextAction::Effect { activity, .. } | NextAction::Turn { activity } => activity,
        NextAction::Record => "",
    }
}

/// Creates a payout as the API does, and returns its flow.
async fn create_by_api<S: Store + Browse>(desk: &mut Desk<'_, S>, key: &str) -> FlowId {
    let key = Key::new("merchant:m1".to_owned(), key.to_owned());
    let payout = new_payout("m1", "10.00");
    let created = desk.ask(Create { key, payout, actor: None, workflow: None }).await.unwrap();
    FlowId::from(created.view.id.parse::<PayoutId>().unwrap())
}

async fn a_workflow_drives_a_payout(store: impl Store + Browse) {
    let rules = on_temporal();
    let mut desk = Desk::new(&rules, store, 1);
    desk.open_merchant().await;
    desk.fund().await;
    let flow = create_by_api(&mut desk, "k1").await;

    assert_eq!(
        desk.store.live_channels().await.unwrap(),
        ["wallet"],
        "a live payout needs its channel"
    );
    // The engine does not claim the flow. The relay claims its outbox entry, and claims it again without an acknowledgement.
    for lane in [submit_lane("wallet"), LANE.to_owned()] {
        let claimed = desk.commit(ClaimDue::new(lane, 10)).await;
        assert!(claimed.effects.is_empty() && claimed.flows.is_empty());
    }
    let lane = start_lane::<Payout>();
    let entries = claim_outbox(&mut desk, lane).await;
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0].workflow, "disbursement-m1-k1");
    assert!(claim_outbox(&mut desk, lane).await.is_empty(), "the entry is not available yet");
    desk.now += SignedDuration::from_secs(60);
    let again = claim_outbox(&mut desk, lane).await;
    assert_eq!(again.len(), 1, "the entry is claimed again");
    acknowledge(&mut desk, &again[0]).await;
    desk.now += SignedDuration::from_secs(30);
    assert!(claim_outbox(&mut desk, lane).await.is_empty());

    // A poll without a slot starts no effect. With a slot the effect is saved before it runs, and only the workflow gets it.
    let idle = polled(&desk.commit(poll(flow, None)).await);
    let next = idle.next.unwrap();
    assert_eq!((idle.effect, activity(next.action)), (None, "SubmitToChannel"));
    assert!(next.at <= desk.now);
    let commit = desk.commit(poll_with_slot(flow)).await;
    assert!(commit.effects.is_empty(), "the engine must not run it as well");
    let effect = polled(&commit).effect.unwrap();
    assert_eq!(
        polled(&desk.commit(poll_with_slot(flow)).await).effect,
        None,
        "the effect has a lease"
    );

    // The poll records the outcome; the payout settles once.
    let event = submitted(&effect, Outcome::Paid { provider_reference: None, reported: None });
    let settled = polled(&desk.commit(poll(flow, Some(event.clone()))).await);
    assert_eq!((settled.flow.state.status(), settled.next), ("SUCCESS", None));
    let again = desk.commit(poll(flow, Some(event))).await;
    assert!(again.transactions.is_empty(), "a repeated outcome posts nothing");
    for lane in [lane, OutboxKind::Wake.lane(), SWEEP] {
        desk.now += SignedDuration::from_hours(1);
        assert!(claim_outbox(&mut desk, lane).await.is_empty(), "{lane} is empty");
    }
    desk.assert_sound().await;
}

async fn the_outbox_signals_changes_and_sweeps_stalled_workflows(store: impl Store + Browse) {
    let rules = on_temporal();
    let mut desk = Desk::new(&rules, store, 1);
    desk.open_merchant().await;
    desk.fund().await;
    let flow = create_by_api(&mut desk, "k1").await;
    let since = desk.now;
    desk.now += SignedDuration::from_secs(30);
    let lane = start_lane::<Payout>().to_owned();
    let waiting = desk.store.overdue_outbox(desk.now).await.unwrap();
    assert_eq!(waiting, [Overdue { lane, count: 1, since }]);
    let started = claim_outbox(&mut desk, start_lane::<Payout>()).await;
    acknowledge(&mut desk, &started[0]).await;
    assert_eq!(desk.store.overdue_outbox(desk.now).await.unwrap(), [], "the entry is acknowledged");
    // The workflow has not polled within its grace period.
    assert!(claim_outbox(&mut desk, SWEEP).await.is_empty());
    desk.now += SignedDuration::from_mins(2);
    let swept = claim_outbox(&mut desk, SWEEP).await;
    assert_eq!((swept.len(), swept[0].entry.kind), (1, OutboxKind::Wake));
    acknowledge(&mut desk, &swept[0]).await;
    assert!(claim_outbox(&mut desk, SWEEP).await.is_empty(), "the entry is not available yet");

    // An operator cancels the payout: the outbox signals the workflow, unless it has polled meanwhile.
    let id = PayoutId::from_uuid(flow.uuid());
    let key = Key::new("house".to_owned(), "c1".to_owned());
    let actor = "ops".to_owned();
    let cancellation = Cancellation { id, expected_version: None, actor };
    desk.ask(Cancel { key, cancellation }).await.unwrap();
    // A late acknowledgement of the earlier entry does not acknowledge this one.
    acknowledge(&mut desk, &swept[0]).await;
    let claimed = claim_outbox(&mut desk, OutboxKind::Wake.lane()).await;
    assert_eq!((claimed.len(), claimed[0].flow.is_live()), (1, false));
    let reply = polled(&desk.commit(poll(flow, None)).await);
    assert_eq!((reply.flow.state.status(), reply.next), ("CANCELLED", None));
    desk.now += SignedDuration::from_hours(1);
    assert!(claim_outbox(&mut desk, OutboxKind::Wake.lane()).await.is_empty());
    desk.assert_sound().await;
}

async fn a_lost_submission_is_queried_and_never_repeated(store: impl Store + Browse) {
    let rules = on_temporal();
    let mut desk = Desk::new(&rules, store, 1);
    desk.open_merchant().await;
    desk.fund().await;
    let key = Key::new("merchant:m1".to_owned(), "k1".to_owned());
    let (payout, workflow) = (new_payout("m1", "10.00"), "own-workflow".to_owned());
    let create = Create { key, payout, actor: None, workflow: Some(workflow) };
    let created = desk.ask(create).await.unwrap();
    let flow = FlowId::from(created.view.id.parse::<PayoutId>().unwrap());
    let lane = start_lane::<Payout>();
    assert!(claim_outbox(&mut desk, lane).await.is_empty(), "its workflow exists");
    let effect = polled(&desk.commit(poll_with_slot(flow)).await).effect.unwrap();
    desk.now = effect.lease_until + SignedDuration::from_secs(1);
    let lost = polled(&desk.commit(poll(flow, None)).await);
    assert_eq!(lost.flow.state.status(), "UNCONFIRMED");
    let next = lost.next.unwrap();
    assert_eq!(activity(next.action), "PollChannelStatus");
    desk.now = next.at;
    let asked = polled(&desk.commit(poll_with_slot(flow)).await).effect.unwrap();
    assert_eq!(call(&asked).reference, call(&effect).reference);
    let (attempt, lease_until) = (asked.attempt, asked.lease_until);
    let answer = payouts::Answer::Paid { provider_reference: None, reported: None };
    let event = Event::Queried { attempt, lease_until, answer };
    assert_eq!(polled(&desk.commit(poll(flow, Some(event))).await).flow.state.status(), "SUCCESS");
    desk.assert_sound().await;
}

/// One batch creates a delivery and asks the engine to start deliveries.
async fn the_engine_does_not_send_deliveries_of_workflows(store: impl Store + Browse) {
    let rules = on_temporal();
    let mut desk = Desk::new(&rules, store, 1);
    desk.open_merchant().await;
    desk.fund().await;
    desk.ask(add(endpoint_id(1), &["*"])).await.unwrap();
    let key = Key::new("merchant:m1".to_owned(), "k1".to_owned());
    let create =
        Create { key, payout: new_payout("m1", "10.00"), actor: None, workflow: None }.into();
    let send = deliver(10).into();
    desk.now += SignedDuration::from_secs(1);
    let request = |(number, body)| {
        let admission = Admission::new(desk.now, Seed::from(number));
        Request { admission, body }
    };
    let requests = [(77, create), (78, send)].map(request);
    let commit = turn(&mut desk.store, &TurnInput::new(&rules, &requests)).await.unwrap();
    assert_eq!(commit.flows.len(), 2, "a payout, and a delivery of its event");
    assert!(commit.effects.is_empty(), "the workflow sends it");
    let entries = claim_outbox(&mut desk, start_lane::<Delivery>()).await;
    assert_eq!(entries.len(), 1);
    let poll = poll_with_slot(entries[0].flow.id);
    let effect = polled(&desk.commit(poll).await).effect.unwrap();
    assert!(matches!(effect.call, Call::Delivery(_)));
    desk.assert_sound().await;
}

on_every_store! {
    a_workflow_drives_a_payout,
    the_outbox_signals_changes_and_sweeps_stalled_workflows,
    a_lost_submission_is_queried_and_never_repeated,
    the_engine_does_not_send_deliveries_of_workflows,
}
