//! Flows that workflows outside drive: nobody here wakes them, every change by others is told, and a look does what is
//! due; on every store.

use std::collections::BTreeMap;

use bursar_core::commit::Commit;
use bursar_core::drive::{Carried, Drive, Driven, Job, Look, Move};
use bursar_core::effect::Effect;
use bursar_core::host::{ErrandKind, Hosting, Naming, SWEEP, Taken};
use bursar_core::idempotency::Key;
use bursar_core::ids::{FlowId, PayoutId, Seed};
use bursar_core::ledger::Admission;
use bursar_core::payout::{self, Cancellation, Event, LANE, Outcome, submit_lane};
use bursar_core::request::{Batch, Body, Busy, Mail, News, Reply, Request, Wake};
use bursar_core::rules::Rules;
use bursar_store::{Browse, Memory, Overdue, Postgres, Query, Sqlite, Store, turn};
use jiff::SignedDuration;

use crate::cluster::Cluster;
use crate::desk::Desk;
use crate::office::{add, deliver, endpoint_id};
use crate::payout_steps::new_payout;
use crate::scratch::Scratch;
use crate::workload::{block_on, rules};

fn on_temporal() -> Rules {
    Rules { hosting: Hosting::Temporal(Naming::ByMerchant), ..rules() }
}

fn look(flow: FlowId, news: Option<Event>) -> Body {
    Body::Drive(Drive::Look(Look { flow, news: news.map(News::Payout), hands: None }))
}

fn work(flow: FlowId) -> Body {
    Body::Drive(Drive::Look(Look { flow, news: None, hands: Some(Busy::default()) }))
}

fn driven(commit: &Commit) -> Driven {
    match &commit.answers[0] {
        Ok(Reply::Driven(driven)) => (**driven).clone(),
        other => panic!("{other:?}"),
    }
}

async fn carried<S: Store + Query + Browse>(desk: &mut Desk<'_, S>, lane: &str) -> Vec<Carried> {
    let carry = Drive::Carry { lane: lane.to_owned(), limit: 10 };
    match desk.ask(Body::Drive(carry)).await.unwrap() {
        Reply::Carried(carried) => carried,
        other => panic!("{other:?}"),
    }
}

async fn taken<S: Store + Query + Browse>(desk: &mut Desk<'_, S>, carried: &Carried) {
    let taken = Taken { errand: carried.errand, renamed: None };
    let flows = BTreeMap::from([(carried.flow.id, taken)]);
    desk.ask(Body::Drive(Drive::Taken { flows })).await.unwrap();
}

fn submitted(effect: &Effect, outcome: Outcome) -> Event {
    Event::Submitted { attempt: effect.attempt, r#try: 1, outcome }
}

fn job(driven: &Driven) -> Effect {
    match &driven.job {
        Some(Job::Call(effect)) => effect.clone(),
        other => panic!("{other:?}"),
    }
}

/// A payout as the API makes it, and its flow.
async fn paid_by_api<S: Store + Query + Browse>(desk: &mut Desk<'_, S>, key: &str) -> FlowId {
    let key = Key::new("merchant:m1".to_owned(), key.to_owned());
    let body = Body::CreatePayout { key, payout: new_payout("m1", "10.00"), actor: None };
    match desk.ask(body).await.unwrap() {
        Reply::Flow { reply, .. } => match &*reply {
            bursar_core::idempotency::FlowReply::Payout(view) => {
                FlowId::from(view.id.parse::<PayoutId>().unwrap())
            }
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

async fn a_workflow_drives_a_payout(store: impl Store + Query + Browse) {
    let rules = on_temporal();
    let mut desk = Desk::new(&rules, store, 1);
    desk.open_merchant().await;
    desk.fund().await;
    let flow = paid_by_api(&mut desk, "k1").await;

    assert_eq!(desk.store.live_channels().await.unwrap(), ["wallet"], "it needs its channel");
    // The engine leaves it alone; the relay finds it, again if nobody has taken it.
    for lane in [submit_lane("wallet"), LANE.to_owned()] {
        let woken = desk.commit(Body::Wake(Wake { lane, limit: 10 })).await;
        assert!(woken.effects.is_empty() && woken.flows.is_empty());
    }
    let lane = ErrandKind::StartPayout.lane();
    let errands = carried(&mut desk, lane).await;
    assert_eq!(errands.len(), 1);
    assert_eq!(errands[0].workflow, "disbursement-m1-k1");
    assert!(carried(&mut desk, lane).await.is_empty(), "not at once again");
    desk.now += SignedDuration::from_secs(60);
    let again = carried(&mut desk, lane).await;
    assert_eq!(again.len(), 1, "told again");
    taken(&mut desk, &again[0]).await;
    desk.now += SignedDuration::from_secs(30);
    assert!(carried(&mut desk, lane).await.is_empty());

    // A look begins no job; the job is saved before it is done, and is nobody else's.
    let looked = driven(&desk.commit(look(flow, None)).await);
    let next = looked.next.unwrap();
    assert_eq!((looked.job, next.r#move), (None, Move::Submit));
    assert!(next.at <= desk.now);
    let commit = desk.commit(work(flow)).await;
    assert!(commit.effects.is_empty(), "the engine must not do it as well");
    let effect = job(&driven(&commit));
    assert_eq!(driven(&desk.commit(work(flow)).await).job, None, "it is out, until its lease ends");

    // What came of it is taken note of; the money is settled once.
    let news = submitted(&effect, Outcome::Paid { provider_reference: None });
    let settled = driven(&desk.commit(look(flow, Some(news.clone()))).await);
    assert_eq!((settled.flow.state.status(), settled.next), ("SUCCESS", None));
    let again = desk.commit(look(flow, Some(news))).await;
    assert!(again.transactions.is_empty(), "told twice, settled once");
    for lane in [lane, ErrandKind::Wake.lane(), SWEEP] {
        desk.now += SignedDuration::from_hours(1);
        assert!(carried(&mut desk, lane).await.is_empty(), "nothing is left in {lane}");
    }
    desk.assert_sound().await;
}

async fn what_others_change_is_told_and_what_stands_still_is_told_again(
    store: impl Store + Query + Browse,
) {
    let rules = on_temporal();
    let mut desk = Desk::new(&rules, store, 1);
    desk.open_merchant().await;
    desk.fund().await;
    let flow = paid_by_api(&mut desk, "k1").await;
    let since = desk.now;
    desk.now += SignedDuration::from_secs(30);
    let lane = ErrandKind::StartPayout.lane().to_owned();
    let waiting = desk.store.overdue_errands(desk.now).await.unwrap();
    assert_eq!(waiting, [Overdue { lane, count: 1, since }]);
    let started = carried(&mut desk, ErrandKind::StartPayout.lane()).await;
    taken(&mut desk, &started[0]).await;
    assert_eq!(desk.store.overdue_errands(desk.now).await.unwrap(), [], "the cluster knows");
    // Its workflow should have moved long ago.
    assert!(carried(&mut desk, SWEEP).await.is_empty());
    desk.now += SignedDuration::from_mins(2);
    let swept = carried(&mut desk, SWEEP).await;
    assert_eq!((swept.len(), swept[0].errand.kind), (1, ErrandKind::Wake));
    taken(&mut desk, &swept[0]).await;
    assert!(carried(&mut desk, SWEEP).await.is_empty(), "not at once again");

    // Somebody cancels it: the workflow is told, unless it has looked meanwhile.
    let id = PayoutId::from_uuid(flow.uuid());
    let key = Key::new("house".to_owned(), "c1".to_owned());
    let actor = "ops".to_owned();
    let cancellation = Cancellation { id, expected_version: None, actor };
    desk.ask(Body::CancelPayout { key, cancellation }).await.unwrap();
    // Whoever is told late that the errand before was taken takes nothing from this one.
    taken(&mut desk, &swept[0]).await;
    let woken = carried(&mut desk, ErrandKind::Wake.lane()).await;
    assert_eq!((woken.len(), woken[0].flow.is_live()), (1, false));
    let looked = driven(&desk.commit(look(flow, None)).await);
    assert_eq!((looked.flow.state.status(), looked.next), ("CANCELLED", None));
    desk.now += SignedDuration::from_hours(1);
    assert!(carried(&mut desk, ErrandKind::Wake.lane()).await.is_empty());
    desk.assert_sound().await;
}

async fn a_job_that_is_lost_is_asked_for_and_never_done_again(store: impl Store + Query + Browse) {
    let rules = on_temporal();
    let mut desk = Desk::new(&rules, store, 1);
    desk.open_merchant().await;
    desk.fund().await;
    let key = Key::new("merchant:m1".to_owned(), "k1".to_owned());
    let (payout, workflow) = (new_payout("m1", "10.00"), "somebody's".to_owned());
    let create = Body::CreateDrivenPayout { key, payout, workflow };
    let Reply::Flow { reply, .. } = desk.ask(create).await.unwrap() else { panic!("no payout") };
    let bursar_core::idempotency::FlowReply::Payout(view) = &*reply else { panic!("{reply:?}") };
    let flow = FlowId::from(view.id.parse::<PayoutId>().unwrap());
    let lane = ErrandKind::StartPayout.lane();
    assert!(carried(&mut desk, lane).await.is_empty(), "its workflow is there");
    let effect = job(&driven(&desk.commit(work(flow)).await));
    desk.now = effect.lease_until + SignedDuration::from_secs(1);
    let lost = driven(&desk.commit(look(flow, None)).await);
    assert_eq!(lost.flow.state.status(), "UNCONFIRMED");
    let next = lost.next.unwrap();
    assert_eq!(next.r#move, Move::Ask);
    desk.now = next.at;
    let asked = job(&driven(&desk.commit(work(flow)).await));
    assert_eq!(asked.reference, effect.reference);
    let (attempt, lease_until) = (asked.attempt, asked.lease_until);
    let answer = payout::Answer::Paid { provider_reference: None };
    let news = Event::Queried { attempt, lease_until, answer };
    assert_eq!(driven(&desk.commit(look(flow, Some(news))).await).flow.state.status(), "SUCCESS");
    desk.assert_sound().await;
}

/// The engine of the same process is told to send in the very batch that makes a delivery.
async fn a_delivery_of_a_workflow_is_not_sent_by_the_engine(store: impl Store + Query + Browse) {
    let rules = on_temporal();
    let mut desk = Desk::new(&rules, store, 1);
    desk.open_merchant().await;
    desk.fund().await;
    desk.ask(add(endpoint_id(1), &["*"])).await.unwrap();
    let key = Key::new("merchant:m1".to_owned(), "k1".to_owned());
    let create = Body::CreatePayout { key, payout: new_payout("m1", "10.00"), actor: None };
    let send = Body::Mail(Mail::Deliver(deliver(10)));
    desk.now += SignedDuration::from_secs(1);
    let request = |(number, body)| {
        let admission = Admission::new(desk.now, Seed::from(number));
        Request { admission, body }
    };
    let requests = [(77, create), (78, send)].map(request);
    let commit = turn(&mut desk.store, &Batch::new(&rules, &requests)).await.unwrap();
    assert_eq!(commit.flows.len(), 2, "a payout, and a delivery about it");
    assert!(commit.parcels.is_empty(), "its workflow sends it");
    let errands = carried(&mut desk, ErrandKind::StartDelivery.lane()).await;
    assert_eq!(errands.len(), 1);
    let work = work(errands[0].flow.id);
    assert!(matches!(driven(&desk.commit(work).await).job, Some(Job::Send(_))));
    desk.assert_sound().await;
}

#[test]
fn driven_in_memory() {
    block_on(a_workflow_drives_a_payout(Memory::default()));
    block_on(what_others_change_is_told_and_what_stands_still_is_told_again(Memory::default()));
    block_on(a_job_that_is_lost_is_asked_for_and_never_done_again(Memory::default()));
    block_on(a_delivery_of_a_workflow_is_not_sent_by_the_engine(Memory::default()));
}

#[test]
fn driven_in_sqlite() {
    let open = |scratch: &Scratch| Sqlite::open(scratch.path()).unwrap();
    let [first, second, third, fourth] = [(); 4].map(|()| Scratch::new());
    block_on(a_workflow_drives_a_payout(open(&first)));
    block_on(what_others_change_is_told_and_what_stands_still_is_told_again(open(&second)));
    block_on(a_job_that_is_lost_is_asked_for_and_never_done_again(open(&third)));
    block_on(a_delivery_of_a_workflow_is_not_sent_by_the_engine(open(&fourth)));
}

#[test]
fn driven_in_postgres() {
    let cluster = Cluster::start();
    block_on(async {
        let open = async |name: &str| Postgres::open(&cluster.new_database(name)).await.unwrap();
        a_workflow_drives_a_payout(open("a").await).await;
        what_others_change_is_told_and_what_stands_still_is_told_again(open("b").await).await;
        a_job_that_is_lost_is_asked_for_and_never_done_again(open("c").await).await;
        a_delivery_of_a_workflow_is_not_sent_by_the_engine(open("d").await).await;
    });
}
