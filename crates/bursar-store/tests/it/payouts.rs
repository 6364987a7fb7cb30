//! Payouts on every store: paid, rejected, unconfirmed, resolved by an operator, paid late, returned.

use std::sync::Arc;

use bursar_core::feed::Cursor;
use bursar_core::flow::{self, Call, ClaimDue, ClaimReply, Effect, EffectOutcome};
use bursar_core::idempotency::Key;
use bursar_core::payouts::attempt::{Evidence, Source, Verdict};
use bursar_core::payouts::{
    self, Answer, Callback, Cancel, Cancellation, Create, Decision, Event, LANE, NewPayout, Order,
    Outcome, Resolution, Resolve, View, lease_lane, submit_lane,
};
use bursar_core::rejection::Rejection;
use bursar_core::rules::Rules;
use bursar_core::turn::Given;
use bursar_store::{Memory, Query, Sqlite, Store};
use jiff::SignedDuration;

use crate::desk::{Desk, START};
use crate::payout_steps::new_payout;
use crate::scratch::Scratch;
use crate::stores::on_every_store;
use crate::workload::{block_on, rules};

const AVAILABLE: &str = "merchants:m1:available:PKR";
const HELD: &str = "holds:payout:m1:PKR";
const BANK: &str = "assets:bank:b1:PKR";

pub(crate) fn key(key: &str) -> Key {
    Key::new("m1".to_owned(), key.to_owned())
}

/// The fee is 0.50 and the VAT on it 0.05.
pub(crate) fn create(name: &str, amount: &str) -> Create {
    Create { key: key(name), payout: new_payout("m1", amount), actor: None, workflow: None }
}

pub(crate) fn view(answer: Result<Given<View>, Rejection>) -> View {
    Arc::unwrap_or_clone(answer.unwrap().view)
}

pub(crate) fn code<T: std::fmt::Debug>(answer: Result<T, Rejection>) -> &'static str {
    answer.unwrap_err().code()
}

/// The call of an effect that goes to a channel.
pub(crate) fn call(effect: &Effect) -> &payouts::Call {
    match &effect.call {
        Call::Payout(call) => call,
        other => panic!("{other:?}"),
    }
}

pub(crate) struct Payments<'r, S> {
    pub(crate) desk: Desk<'r, S>,
}

impl<S: Store + Query> Payments<'_, S> {
    /// Claims the due flows of a lane and returns their effects.
    pub(crate) async fn claim(&mut self, lane: &str) -> Vec<Effect> {
        let claim = ClaimDue::new(lane.to_owned(), 100);
        self.desk.commit(claim).await.effects
    }

    /// Creates a payout and claims its submission.
    pub(crate) async fn submit(&mut self, name: &str, amount: &str) -> (View, Effect) {
        let created = view(self.desk.ask(create(name, amount)).await);
        let mut effects = self.claim(&submit_lane("wallet")).await;
        assert_eq!(effects.len(), 1, "one is ready");
        let effect = effects.remove(0);
        assert!(matches!(call(&effect).order, Order::Submit { .. }), "{effect:?}");
        assert_eq!(call(&effect).reference, created.reference);
        (created, effect)
    }

    async fn report(&mut self, effect: &Effect, event: Event) -> &'static str {
        let outcome = flow::Outcome::Payout(event);
        self.desk.ask(EffectOutcome { flow: effect.flow, outcome }).await.unwrap().status
    }

    pub(crate) async fn submitted(&mut self, effect: &Effect, outcome: Outcome) -> &'static str {
        let Order::Submit { r#try, .. } = call(effect).order else { panic!("{effect:?}") };
        self.report(effect, Event::Submitted { attempt: effect.attempt, r#try, outcome }).await
    }

    pub(crate) async fn queried(&mut self, effect: &Effect, answer: Answer) -> &'static str {
        let Effect { attempt, lease_until, .. } = *effect;
        self.report(effect, Event::Queried { attempt, lease_until, answer }).await
    }

    async fn callback(&mut self, reference: &str, verdict: Verdict) -> &'static str {
        let callback = Callback {
            channel: "wallet".to_owned(),
            reference: reference.to_owned(),
            evidence: Evidence::new(Source::Callback, verdict),
        };
        self.desk.ask(callback).await.unwrap().status
    }

    async fn balances(&mut self) -> [i64; 3] {
        [
            self.desk.balance(AVAILABLE).await,
            self.desk.balance(HELD).await,
            self.desk.balance(BANK).await,
        ]
    }

    /// The kinds of a payout's events, in order.
    async fn event_kinds(&mut self, id: &str) -> String {
        let events = self.desk.store.events(Cursor::default(), 1_000).await.unwrap();
        let kinds = events.iter().filter(|(_, event)| event.resource == id);
        kinds.map(|(_, event)| event.kind.replace("payout.", "")).collect::<Vec<_>>().join(" ")
    }
}

pub(crate) fn paid() -> Outcome {
    Outcome::Paid { provider_reference: Some("P-1".to_owned()), reported: None }
}

fn unknown() -> Outcome {
    Outcome::Unknown { detail: "timeout".to_owned() }
}

/// The merchant starts with 250.00.
async fn payouts_reach_every_final_status(store: impl Store + Query) {
    let rules = rules();
    let mut desk = Desk::new(&rules, store, 0);
    assert_eq!(code(desk.ask(create("a", "10")).await), "unknown_merchant");
    desk.open_merchant().await;
    assert_eq!(code(desk.ask(create("a", "10")).await), "missing_funds");
    desk.fund().await;
    let mut payments = Payments { desk };
    paid_directly_and_by_callback(&mut payments).await;
    retried_and_rejected(&mut payments).await;
    unconfirmed_and_resolved(&mut payments).await;
    expired_and_returned(&mut payments).await;
    cancelled(&mut payments).await;
    payments.desk.assert_sound().await;
}

/// One payout is paid by the response; another is accepted, and paid by a repeated callback.
async fn paid_directly_and_by_callback<S: Store + Query>(payments: &mut Payments<'_, S>) {
    let (first, effect) = payments.submit("a", "10").await;
    assert_eq!(
        (first.status.as_str(), first.fee.as_str(), first.vat.as_str()),
        ("READY", "0.50", "0.05")
    );
    assert_eq!(payments.balances().await, [25_000 - 1_055, 1_055, 0]);
    assert_eq!(payments.submitted(&effect, paid()).await, "SUCCESS");
    assert_eq!(payments.balances().await, [25_000 - 1_055, 0, -1_000]);
    assert_eq!(payments.event_kinds(&first.id).await, "ready submitting success");
    let again = view(payments.desk.ask(create("a", "10")).await);
    assert_eq!(again, first, "the same key has the same reply, whatever the status is now");
    assert_eq!(code(payments.desk.ask(create("a", "11")).await), "idempotency_mismatch");

    let (second, effect) = payments.submit("b", "20").await;
    // The callback arrives before the response to the submission.
    assert_eq!(payments.callback(&second.reference, Verdict::Accepted).await, "PROCESSING");
    let accepted = Outcome::Accepted { provider_reference: None, reported: None };
    assert_eq!(payments.submitted(&effect, accepted).await, "PROCESSING");
    assert_eq!(payments.callback(&second.reference, Verdict::Paid).await, "SUCCESS");
    assert_eq!(payments.callback(&second.reference, Verdict::Paid).await, "SUCCESS");
    assert_eq!(payments.callback(&second.reference, Verdict::Accepted).await, "SUCCESS");
    assert_eq!(payments.balances().await, [25_000 - 1_055 - 2_055, 0, -3_000]);
    assert_eq!(payments.event_kinds(&second.id).await, "ready submitting processing success");
}

/// A submission that was not sent is retried under the same reference; a retryable rejection needs a new one.
async fn retried_and_rejected<S: Store + Query>(payments: &mut Payments<'_, S>) {
    let before = payments.balances().await;
    let (payout, effect) = payments.submit("c", "10").await;
    let not_sent = Outcome::NotSent { detail: "connection refused".to_owned(), is_ours: false };
    assert_eq!(payments.submitted(&effect, not_sent).await, "READY");
    payments.desk.now += SignedDuration::from_secs(60);
    let effects = payments.claim(&submit_lane("wallet")).await;
    assert_eq!(
        (call(&effects[0]).reference.as_str(), effects[0].attempt),
        (payout.reference.as_str(), 1)
    );
    let busy = Outcome::Rejected { is_retryable: true, detail: "busy".to_owned() };
    assert_eq!(payments.submitted(&effects[0], busy).await, "READY");
    payments.desk.now += SignedDuration::from_secs(60);
    let effects = payments.claim(&submit_lane("wallet")).await;
    assert_eq!(effects[0].attempt, 2);
    assert_ne!(
        call(&effects[0]).reference,
        payout.reference,
        "another attempt has another reference"
    );
    let refused = Outcome::Rejected { is_retryable: false, detail: "account closed".to_owned() };
    assert_eq!(payments.submitted(&effects[0], refused).await, "FAILED");
    assert_eq!(payments.balances().await, before, "the hold is released");
    let kinds = payments.event_kinds(&payout.id).await;
    assert_eq!(kinds, "ready submitting ready submitting ready submitting failed");
}

/// The outcome is unknown: ten queries, then an operator decides; later evidence contradicts the decision.
async fn unconfirmed_and_resolved<S: Store + Query>(payments: &mut Payments<'_, S>) {
    let before = payments.balances().await;
    let (payout, effect) = payments.submit("d", "10").await;
    assert_eq!(payments.submitted(&effect, unknown()).await, "UNCONFIRMED");
    for query in 1..=10 {
        payments.desk.now += SignedDuration::from_secs(400);
        let effects = payments.claim(LANE).await;
        assert_eq!(effects.len(), 1, "query {query}");
        assert_eq!(call(&effects[0]).order, Order::Query);
        let status = payments.queried(&effects[0], Answer::NotFound).await;
        assert_eq!(status, if query < 10 { "UNCONFIRMED" } else { "STUCK" }, "query {query}");
    }
    assert_eq!(payments.balances().await[1], 1_055, "an unknown outcome releases no hold");
    let id: bursar_core::ids::PayoutId = payout.id.parse().unwrap();
    let version = payments.desk.store.flow(id.into()).await.unwrap().unwrap().version;
    let resolve = |name: &str, expected_version| Resolve {
        key: key(name),
        resolution: Resolution {
            id,
            decision: Decision::ConfirmNotPaid,
            evidence: "the channel says so on the phone".to_owned(),
            expected_version,
            actor: "ops".to_owned(),
            is_approver: false,
            made_by: vec![],
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
    // The decision was wrong.
    assert_eq!(payments.callback(&payout.reference, Verdict::Paid).await, "LATE_SUCCESS");
    let [available, held, bank] = before;
    assert_eq!(payments.balances().await, [available - 1_055, held, bank - 1_000]);
    let kinds = payments.event_kinds(&payout.id).await;
    assert_eq!(kinds, "ready submitting unconfirmed stuck failed late_success");
}

/// The submission has no outcome when its lease expires; a query finds it paid; the bank returns it later.
async fn expired_and_returned<S: Store + Query>(payments: &mut Payments<'_, S>) {
    let before = payments.balances().await;
    let (payout, effect) = payments.submit("e", "10").await;
    payments.desk.now = effect.lease_until;
    assert_eq!(
        payments.claim(&lease_lane("wallet")).await,
        [],
        "an expired submission is not repeated"
    );
    payments.desk.now += SignedDuration::from_secs(10);
    let effects = payments.claim(LANE).await;
    let answer = Answer::Paid { provider_reference: None, reported: None };
    assert_eq!(payments.queried(&effects[0], answer).await, "SUCCESS");
    assert_eq!(payments.callback(&payout.reference, Verdict::Returned).await, "RETURNED");
    let [available, held, bank] = before;
    // The fee is not refunded.
    assert_eq!(payments.balances().await, [available - 55, held, bank]);
    assert_eq!(payments.callback(&payout.reference, Verdict::Returned).await, "RETURNED");
    assert_eq!(payments.balances().await, [available - 55, held, bank]);
}

async fn cancelled<S: Store + Query>(payments: &mut Payments<'_, S>) {
    let before = payments.balances().await;
    let cancel = |name: &str, id: &str| Cancel {
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
    assert_eq!(
        payments.claim(&submit_lane("wallet")).await,
        [],
        "a cancelled payout is not submitted"
    );
    assert_eq!(payments.balances().await, before);
    let (sent, effect) = payments.submit("g", "10").await;
    assert_eq!(code(payments.desk.ask(cancel("y", &sent.id)).await), "not_cancellable");
    assert_eq!(payments.submitted(&effect, paid()).await, "SUCCESS");
}

on_every_store! { payouts_reach_every_final_status, }

type Change = fn(&mut NewPayout);

/// A flow whose step is rejected is deferred, so that it does not block its lane, and proceeds later.
#[test]
fn a_rejected_flow_is_deferred() {
    let (rules, scratch) = (rules(), Scratch::new());
    let broken = Rules { channels: std::collections::BTreeMap::new(), ..rules.clone() };
    block_on(async {
        let mut desk = Desk::new(&rules, Sqlite::open(scratch.path()).unwrap(), 0);
        desk.fund().await;
        desk.open_merchant().await;
        let payout = view(desk.ask(create("a", "10")).await);
        desk.rules = &broken;
        let lane = submit_lane("wallet");
        let claimed = desk.claim(&lane, 10).await;
        assert_eq!((claimed.flows.len(), claimed.refused.len()), (0, 1));
        assert_eq!(claimed.refused[0].1.code(), "unknown_channel");
        assert_eq!(desk.claim(&lane, 10).await, ClaimReply::default(), "the flow is deferred");
        desk.assert_sound().await;
        desk.rules = &rules;
        assert_eq!(desk.claim(&lane, 10).await, ClaimReply::default(), "the deferral lasts");
        desk.now += SignedDuration::from_mins(1);
        assert_eq!(desk.claim(&lane, 10).await.flows, [payout.id]);
        desk.assert_sound().await;
    });
}

/// A rejected payout has no hold.
#[test]
fn invalid_payouts_are_rejected() {
    let rules = rules();
    block_on(async {
        let mut desk = Desk::new(&rules, Memory::default(), 0);
        desk.fund().await;
        desk.open_merchant().await;
        let with = |change: fn(&mut NewPayout)| {
            let mut create = create("a", "10");
            change(&mut create.payout);
            create
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
        let mut create = create("b", "10");
        create.payout.scheduled_at = Some(later);
        let scheduled = view(desk.ask(create).await);
        assert_eq!(scheduled.status, "SCHEDULED");
        let lane = submit_lane("wallet");
        assert!(desk.claim(&lane, 10).await.flows.is_empty());
        desk.now = later;
        assert_eq!(desk.claim(&lane, 10).await.flows, [scheduled.id]);
        desk.assert_sound().await;
    });
}
