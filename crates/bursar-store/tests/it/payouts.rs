//! Payouts on every store: paid, refused, lost from sight, decided by hand, proven late, returned.

use std::sync::Arc;

use bursar_core::attempt::{Evidence, Source, Verdict};
use bursar_core::effect::{Call, Effect};
use bursar_core::feed::Cursor;
use bursar_core::idempotency::{FlowReply, Key};
use bursar_core::payout::{
    Answer as Said, Cancellation, Event, LANE, NewPayout, Outcome, Resolution, Ruling, View,
    schedule_lane, submit_lane,
};
use bursar_core::request::{Answer, Body, Reply, Report, Told, Wake, Woken};
use bursar_core::rules::Rules;
use bursar_store::{Memory, Postgres, Query, Sqlite, Store};
use jiff::SignedDuration;

use crate::cluster::Cluster;
use crate::desk::{Desk, START};
use crate::payout_steps::new_payout;
use crate::scratch::Scratch;
use crate::workload::{block_on, rules};

const AVAILABLE: &str = "merchants:m1:available:PKR";
const HELD: &str = "holds:payout:m1:PKR";
const BANK: &str = "assets:bank:b1:PKR";

pub(crate) fn key(key: &str) -> Key {
    Key::new("m1".to_owned(), key.to_owned())
}

/// The fee is 0.50 and the VAT on it 0.05.
pub(crate) fn create(name: &str, amount: &str) -> Body {
    Body::CreatePayout { key: key(name), payout: new_payout("m1", amount), actor: None }
}

pub(crate) fn view(answer: Answer) -> View {
    match answer.unwrap() {
        Reply::Flow { reply, .. } => match Arc::unwrap_or_clone(reply) {
            FlowReply::Payout(view) => view,
            other @ (FlowReply::Reservation(_) | FlowReply::PayIn(_) | FlowReply::Delivery(_)) => {
                panic!("{other:?}")
            }
        },
        reply => panic!("{reply:?}"),
    }
}

pub(crate) fn code(answer: Answer) -> &'static str {
    answer.unwrap_err().code()
}

pub(crate) struct Payments<'r, S> {
    pub(crate) desk: Desk<'r, S>,
}

impl<S: Store + Query> Payments<'_, S> {
    /// Whatever may be sent is planned; returns what must be done.
    pub(crate) async fn wake(&mut self, lane: &str) -> Vec<Effect> {
        let wake = Wake { lane: lane.to_owned(), limit: 100 };
        self.desk.commit(Body::Wake(wake)).await.effects
    }

    /// Creates a payout and plans its first try.
    pub(crate) async fn submit(&mut self, name: &str, amount: &str) -> (View, Effect) {
        let created = view(self.desk.ask(create(name, amount)).await);
        let mut effects = self.wake(&submit_lane("wallet")).await;
        assert_eq!(effects.len(), 1, "one is ready");
        let effect = effects.remove(0);
        assert!(matches!(effect.call, Call::Submit { .. }), "{effect:?}");
        assert_eq!(effect.reference, created.reference);
        (created, effect)
    }

    async fn report(&mut self, effect: &Effect, event: Event) -> &'static str {
        match self
            .desk
            .ask(Body::Report(Report { flow: effect.flow, event: event.into() }))
            .await
            .unwrap()
        {
            Reply::Noted { status, .. } => status,
            reply => panic!("{reply:?}"),
        }
    }

    pub(crate) async fn submitted(&mut self, effect: &Effect, outcome: Outcome) -> &'static str {
        let Call::Submit { r#try, .. } = effect.call else { panic!("{effect:?}") };
        self.report(effect, Event::Submitted { attempt: effect.attempt, r#try, outcome }).await
    }

    async fn queried(&mut self, effect: &Effect, answer: Said) -> &'static str {
        let Effect { attempt, lease_until, .. } = *effect;
        self.report(effect, Event::Queried { attempt, lease_until, answer }).await
    }

    async fn told(&mut self, reference: &str, verdict: Verdict) -> &'static str {
        let told = Told {
            channel: "wallet".to_owned(),
            reference: reference.to_owned(),
            evidence: Evidence::new(Source::Callback, verdict),
        };
        match self.desk.ask(Body::Tell(told)).await.unwrap() {
            Reply::Noted { status, .. } => status,
            reply => panic!("{reply:?}"),
        }
    }

    async fn balances(&mut self) -> [i64; 3] {
        [
            self.desk.balance(AVAILABLE).await,
            self.desk.balance(HELD).await,
            self.desk.balance(BANK).await,
        ]
    }

    /// What the merchant was told about a payout.
    async fn story(&mut self, id: &str) -> String {
        let events = self.desk.store.events(Cursor::default(), 1_000).await.unwrap();
        let kinds = events.iter().filter(|(_, event)| event.resource == id);
        kinds.map(|(_, event)| event.kind.replace("payout.", "")).collect::<Vec<_>>().join(" ")
    }
}

pub(crate) fn paid() -> Outcome {
    Outcome::Paid { provider_reference: Some("P-1".to_owned()) }
}

fn unknown() -> Outcome {
    Outcome::Unknown { detail: "timeout".to_owned() }
}

/// The merchant has 250.00 to begin with.
async fn lives(mut desk: Desk<'_, impl Store + Query>) {
    assert_eq!(code(desk.ask(create("a", "10")).await), "unknown_merchant");
    desk.open_merchant().await;
    assert_eq!(code(desk.ask(create("a", "10")).await), "missing_funds");
    desk.fund().await;
    let mut payments = Payments { desk };
    straight(&mut payments).await;
    not_sent_and_refused(&mut payments).await;
    lost_from_sight(&mut payments).await;
    late_and_returned(&mut payments).await;
    cancelled(&mut payments).await;
    payments.desk.assert_sound().await;
}

/// Paid at once; accepted and paid by callback, told twice.
async fn straight<S: Store + Query>(payments: &mut Payments<'_, S>) {
    let (first, effect) = payments.submit("a", "10").await;
    assert_eq!(
        (first.status.as_str(), first.fee.as_str(), first.vat.as_str()),
        ("READY", "0.50", "0.05")
    );
    assert_eq!(payments.balances().await, [25_000 - 1_055, 1_055, 0]);
    assert_eq!(payments.submitted(&effect, paid()).await, "SUCCESS");
    assert_eq!(payments.balances().await, [25_000 - 1_055, 0, -1_000]);
    assert_eq!(payments.story(&first.id).await, "ready submitting success");
    let again = view(payments.desk.ask(create("a", "10")).await);
    assert_eq!(again, first, "the same key, the same reply, whatever happened since");
    assert_eq!(code(payments.desk.ask(create("a", "11")).await), "idempotency_mismatch");

    let (second, effect) = payments.submit("b", "20").await;
    // The callback is faster than the answer to the submission.
    assert_eq!(payments.told(&second.reference, Verdict::Accepted).await, "PROCESSING");
    let accepted = Outcome::Accepted { provider_reference: None };
    assert_eq!(payments.submitted(&effect, accepted).await, "PROCESSING");
    assert_eq!(payments.told(&second.reference, Verdict::Paid).await, "SUCCESS");
    assert_eq!(payments.told(&second.reference, Verdict::Paid).await, "SUCCESS");
    assert_eq!(payments.told(&second.reference, Verdict::Accepted).await, "SUCCESS");
    assert_eq!(payments.balances().await, [25_000 - 1_055 - 2_055, 0, -3_000]);
    assert_eq!(payments.story(&second.id).await, "ready submitting processing success");
}

/// Tried again under the same reference while nothing was sent; under a new one after a refusal that may pass.
async fn not_sent_and_refused<S: Store + Query>(payments: &mut Payments<'_, S>) {
    let before = payments.balances().await;
    let (payout, effect) = payments.submit("c", "10").await;
    let not_sent = Outcome::NotSent { detail: "connection refused".to_owned() };
    assert_eq!(payments.submitted(&effect, not_sent).await, "READY");
    payments.desk.now += SignedDuration::from_secs(60);
    let effects = payments.wake(&submit_lane("wallet")).await;
    assert_eq!((effects[0].reference.as_str(), effects[0].attempt), (payout.reference.as_str(), 1));
    let busy = Outcome::Rejected { is_retryable: true, detail: "busy".to_owned() };
    assert_eq!(payments.submitted(&effects[0], busy).await, "READY");
    payments.desk.now += SignedDuration::from_secs(60);
    let effects = payments.wake(&submit_lane("wallet")).await;
    assert_eq!(effects[0].attempt, 2);
    assert_ne!(effects[0].reference, payout.reference, "another attempt has another reference");
    let refused = Outcome::Rejected { is_retryable: false, detail: "account closed".to_owned() };
    assert_eq!(payments.submitted(&effects[0], refused).await, "FAILED");
    assert_eq!(payments.balances().await, before, "the merchant has the money back");
    let story = payments.story(&payout.id).await;
    assert_eq!(story, "ready submitting ready submitting ready submitting failed");
}

/// Nobody knows: asked ten times, then a person decides; later the truth comes out.
async fn lost_from_sight<S: Store + Query>(payments: &mut Payments<'_, S>) {
    let before = payments.balances().await;
    let (payout, effect) = payments.submit("d", "10").await;
    assert_eq!(payments.submitted(&effect, unknown()).await, "UNCONFIRMED");
    for asked in 1..=10 {
        payments.desk.now += SignedDuration::from_secs(400);
        let effects = payments.wake(LANE).await;
        assert_eq!(effects.len(), 1, "question {asked}");
        assert_eq!(effects[0].call, Call::Query);
        let status = payments.queried(&effects[0], Said::NotFound).await;
        assert_eq!(status, if asked < 10 { "UNCONFIRMED" } else { "STUCK" }, "question {asked}");
    }
    assert_eq!(payments.balances().await[1], 1_055, "nothing is released on a guess");
    let id: bursar_core::ids::PayoutId = payout.id.parse().unwrap();
    let version = payments.desk.store.flow(id.into()).await.unwrap().unwrap().version;
    let resolve = |name: &str, expected_version| Body::ResolvePayout {
        key: key(name),
        resolution: Resolution {
            id,
            ruling: Ruling::ConfirmNotPaid,
            evidence: "the channel says so on the phone".to_owned(),
            expected_version,
            actor: "ops".to_owned(),
            is_approver: false,
        },
    };
    assert_eq!(code(payments.desk.ask(resolve("r0", version - 1)).await), "stale_version");
    let failed = view(payments.desk.ask(resolve("r1", version)).await);
    assert_eq!(
        (failed.status.as_str(), failed.reason.as_deref()),
        ("FAILED", Some("confirmed_not_paid"))
    );
    assert_eq!(payments.balances().await, before);
    assert_eq!(code(payments.desk.ask(resolve("r2", failed.version)).await), "not_stuck");
    // They were wrong.
    assert_eq!(payments.told(&payout.reference, Verdict::Paid).await, "LATE_SUCCESS");
    let [available, held, bank] = before;
    assert_eq!(payments.balances().await, [available - 1_055, held, bank - 1_000]);
    let story = payments.story(&payout.id).await;
    assert_eq!(story, "ready submitting unconfirmed stuck failed late_success");
}

/// Whoever sent it never came back; the bank gives it back in the end.
async fn late_and_returned<S: Store + Query>(payments: &mut Payments<'_, S>) {
    let before = payments.balances().await;
    let (payout, effect) = payments.submit("e", "10").await;
    payments.desk.now = effect.lease_until;
    assert_eq!(payments.wake(LANE).await, [], "it is not sent again");
    payments.desk.now += SignedDuration::from_secs(10);
    let effects = payments.wake(LANE).await;
    let answer = Said::Paid { provider_reference: None };
    assert_eq!(payments.queried(&effects[0], answer).await, "SUCCESS");
    assert_eq!(payments.told(&payout.reference, Verdict::Returned).await, "RETURNED");
    let [available, held, bank] = before;
    // The fee is kept.
    assert_eq!(payments.balances().await, [available - 55, held, bank]);
    assert_eq!(payments.told(&payout.reference, Verdict::Returned).await, "RETURNED");
    assert_eq!(payments.balances().await, [available - 55, held, bank]);
}

async fn cancelled<S: Store + Query>(payments: &mut Payments<'_, S>) {
    let before = payments.balances().await;
    let cancel = |name: &str, id: &str| Body::CancelPayout {
        key: key(name),
        cancellation: Cancellation {
            id: id.parse().unwrap(),
            expected_version: None,
            actor: "m1".to_owned(),
        },
    };
    let waiting = view(payments.desk.ask(create("f", "10")).await);
    let over = view(payments.desk.ask(cancel("x", &waiting.id)).await);
    assert_eq!(over.status, "CANCELLED");
    assert_eq!(view(payments.desk.ask(cancel("x", &waiting.id)).await), over);
    assert_eq!(payments.wake(&submit_lane("wallet")).await, [], "nothing is sent any more");
    assert_eq!(payments.balances().await, before);
    let (sent, effect) = payments.submit("g", "10").await;
    assert_eq!(code(payments.desk.ask(cancel("y", &sent.id)).await), "not_cancellable");
    assert_eq!(payments.submitted(&effect, paid()).await, "SUCCESS");
}

#[test]
fn payouts_live_in_memory() {
    let rules = rules();
    block_on(lives(Desk::new(&rules, Memory::default(), 0)));
}

#[test]
fn payouts_live_in_sqlite() {
    let (rules, scratch) = (rules(), Scratch::new());
    block_on(lives(Desk::new(&rules, Sqlite::open(scratch.path()).unwrap(), 0)));
}

#[test]
fn payouts_live_in_postgres() {
    let (rules, cluster) = (rules(), Cluster::start());
    block_on(async {
        lives(Desk::new(&rules, Postgres::open(&cluster.url()).await.unwrap(), 0)).await;
    });
}

type Change = fn(&mut NewPayout);

/// A flow that cannot go on is set aside, so that those behind it are not kept waiting, and goes on when it can.
#[test]
fn a_flow_that_cannot_go_on_makes_way() {
    let (rules, scratch) = (rules(), Scratch::new());
    let broken = Rules { channels: std::collections::BTreeMap::new(), ..rules.clone() };
    block_on(async {
        let mut desk = Desk::new(&rules, Sqlite::open(scratch.path()).unwrap(), 0);
        desk.fund().await;
        desk.open_merchant().await;
        let payout = view(desk.ask(create("a", "10")).await);
        desk.rules = &broken;
        let lane = submit_lane("wallet");
        let woken = desk.wake(&lane, 10).await;
        assert_eq!((woken.flows.len(), woken.refused.len()), (0, 1));
        assert_eq!(woken.refused[0].1.code(), "unknown_channel");
        assert_eq!(desk.wake(&lane, 10).await, Woken::default(), "it waits");
        desk.assert_sound().await;
        desk.rules = &rules;
        assert_eq!(desk.wake(&lane, 10).await, Woken::default(), "it still waits");
        desk.now += SignedDuration::from_mins(1);
        assert_eq!(desk.wake(&lane, 10).await.flows, [payout.id]);
        desk.assert_sound().await;
    });
}

/// What cannot be paid is refused, and nothing is reserved for it.
#[test]
fn what_cannot_be_paid_is_refused() {
    let rules = rules();
    block_on(async {
        let mut desk = Desk::new(&rules, Memory::default(), 0);
        desk.fund().await;
        desk.open_merchant().await;
        let with = |change: fn(&mut NewPayout)| {
            let Body::CreatePayout { key, mut payout, .. } = create("a", "10") else {
                panic!("it is a payout")
            };
            change(&mut payout);
            Body::CreatePayout { key, payout, actor: None }
        };
        let table: [(Change, &str); 8] = [
            (|payout| payout.channel = "pigeon".to_owned(), "unknown_channel"),
            (|payout| payout.currency = "BDT".to_owned(), "currency_of_channel"),
            (|payout| payout.currency = "RUPEES".to_owned(), "bad_currency"),
            (|payout| payout.amount = "1.001".to_owned(), "bad_amount"),
            (|payout| payout.amount = "0".to_owned(), "nothing_to_pay"),
            (|payout| payout.amount = "-5".to_owned(), "nothing_to_pay"),
            (|payout| payout.merchant = "m-1".to_owned(), "bad_identifier"),
            (|payout| payout.beneficiary.msisdn = None, "bad_beneficiary"),
        ];
        for (change, expected) in table {
            assert_eq!(code(desk.ask(with(change)).await), expected);
        }
        assert_eq!(desk.balance(HELD).await, 0);
        let later = START + SignedDuration::from_hours(5);
        let Body::CreatePayout { key, mut payout, .. } = create("b", "10") else {
            panic!("a payout")
        };
        payout.scheduled_at = Some(later);
        let scheduled = view(desk.ask(Body::CreatePayout { key, payout, actor: None }).await);
        assert_eq!(scheduled.status, "SCHEDULED");
        let lane = schedule_lane("wallet");
        assert!(desk.wake(&lane, 10).await.flows.is_empty());
        desk.now = later;
        assert_eq!(desk.wake(&lane, 10).await.flows, [scheduled.id]);
        desk.assert_sound().await;
    });
}
