//! Rates, concurrency and windows on every store.

use bursar_core::dispatch::{AtCutOff, Blocked, CycleFilter, Rate, Settings, Window};
use bursar_core::flow::{ClaimDue, ClaimReply, Effect};
use bursar_core::payouts::{Reschedule, When, submit_lane};
use bursar_core::rules::Rules;
use bursar_core::turn::{Ask as _, Commit};
use bursar_store::{Query, Store};
use jiff::{SignedDuration, Timestamp};

use crate::desk::{Desk, START};
use crate::payouts::{Payments, create, paid, view};
use crate::stores::on_every_store;
use crate::workload::rules;

fn limited(settings: Settings) -> Rules {
    Rules { dispatch: [("payout.wallet".to_owned(), settings)].into(), ..rules() }
}

async fn payments<S: Store + Query>(rules: &Rules, store: S, count: u32) -> Payments<'_, S> {
    let mut desk = Desk::new(rules, store, 0);
    desk.fund().await;
    desk.open_merchant().await;
    for number in 0..count {
        let create = create(&format!("p{number}"), "0.01");
        desk.ask(create).await.unwrap();
    }
    Payments { desk }
}

/// Claims at a time, and returns the reply and the times at which the payouts are sent.
async fn claim_at<S: Store + Query>(
    payments: &mut Payments<'_, S>,
    at: Timestamp,
) -> (ClaimReply, Vec<Effect>) {
    // The desk advances its clock by a second with every request.
    payments.desk.now = at - SignedDuration::from_secs(1);
    let commit: Commit = payments.desk.commit(ClaimDue::new(submit_lane("wallet"), 100)).await;
    let reply = commit.answers.into_iter().next().unwrap().unwrap();
    (ClaimDue::reply(reply).unwrap(), commit.effects)
}

fn send_times(effects: &[Effect]) -> Vec<Timestamp> {
    effects.iter().map(|effect| effect.slot.as_ref().unwrap().at).collect()
}

async fn slots_are_an_interval_apart_whatever_the_turns(store: impl Store + Query) {
    let settings = Settings {
        rate_per_s: Some(Rate::from_milli(20_000)),
        burst: Some(3),
        ..Settings::default()
    };
    let rules = limited(settings);
    let mut payments = payments(&rules, store, 40).await;
    let begin = START + SignedDuration::from_mins(10);
    let mut sent = Vec::new();
    for milliseconds in [0, 10, 130, 400, 410, 600, 2_000, 2_100, 6_000] {
        let at = begin + SignedDuration::from_millis(milliseconds);
        let (reply, effects) = claim_at(&mut payments, at).await;
        assert!(reply.is_limited);
        if let Some(rest) = reply.rest {
            assert_eq!(rest.why, Blocked::Rate);
        }
        let times = send_times(&effects);
        assert!(times.iter().all(|time| at <= *time), "none is sent before its turn");
        let horizon = at + SignedDuration::from_millis(250);
        assert!(times.iter().all(|time| *time <= horizon), "{times:?}");
        for effect in &effects {
            assert_eq!(payments.submitted(effect, paid()).await, "SUCCESS");
        }
        sent.extend(times);
    }
    assert!(sent.len() > 25, "{}", sent.len());
    for (place, from) in sent.iter().enumerate() {
        for (other, until) in sent.iter().enumerate().skip(place) {
            let window = until.duration_since(*from);
            let count = i128::try_from(other - place + 1).unwrap();
            assert!((count - 3) * 50_000_000 <= window.as_nanos(), "{count} in {window:?}");
        }
    }
    let cycles = payments.desk.store.cycles(&CycleFilter::default(), 10).await.unwrap();
    assert!(cycles.iter().any(|row| row.cycle.dispatched > 0), "{cycles:?}");
    payments.desk.assert_sound().await;
}

async fn no_more_are_sent_at_once_than_may_be(store: impl Store + Query) {
    let rules = limited(Settings { max_concurrency: Some(5), ..Settings::default() });
    let mut payments = payments(&rules, store, 12).await;
    let at = |seconds| START + SignedDuration::from_mins(10) + SignedDuration::from_secs(seconds);
    let (reply, first) = claim_at(&mut payments, at(0)).await;
    assert_eq!(first.len(), 5);
    assert_eq!(reply.rest.unwrap().why, Blocked::Concurrency);
    let (_, none) = claim_at(&mut payments, at(1)).await;
    assert_eq!(none, []);
    for effect in &first[..2] {
        payments.submitted(effect, paid()).await;
    }
    let (_, second) = claim_at(&mut payments, at(5)).await;
    assert_eq!(second.len(), 2, "as many as have ended");
    payments.desk.assert_sound().await;
}

/// 16:00 to 17:00 in Karachi, which is 11:00 to 12:00 UTC. START is 2026-11-15T00:00:00Z, a Sunday.
fn afternoons(at_cut_off: AtCutOff) -> Settings {
    let window = Window {
        days: Vec::new(),
        open: "16:00".to_owned(),
        close: "17:00".to_owned(),
        zone: "Asia/Karachi".to_owned(),
    };
    Settings {
        windows: Some(vec![window]),
        holidays: Some(vec!["2026-11-16".parse().unwrap()]),
        at_cut_off: Some(at_cut_off),
        max_concurrency: Some(2),
        ..Settings::default()
    }
}

const OPEN: SignedDuration = SignedDuration::from_hours(11);
const DAY: SignedDuration = SignedDuration::from_hours(24);

async fn nothing_is_sent_outside_the_window(store: impl Store + Query) {
    let rules = limited(afternoons(AtCutOff::Hold));
    let mut payments = payments(&rules, store, 3).await;
    let (reply, effects) =
        claim_at(&mut payments, START + OPEN - SignedDuration::from_secs(1)).await;
    assert_eq!(effects, []);
    let rest = reply.rest.unwrap();
    assert_eq!((rest.why, rest.until), (Blocked::Closed, Some(START + OPEN)));
    let (_, effects) = claim_at(&mut payments, START + OPEN).await;
    assert_eq!(effects.len(), 2);
    let closed = START + OPEN + SignedDuration::from_hours(1);
    for effect in &effects {
        payments.submitted(effect, paid()).await;
    }
    let (reply, effects) = claim_at(&mut payments, closed).await;
    assert_eq!(effects, [], "the third is held");
    // The next day is a holiday.
    assert_eq!(reply.rest.unwrap().until, Some(START + OPEN + DAY * 2));
    let (_, effects) = claim_at(&mut payments, START + OPEN + DAY).await;
    assert_eq!(effects, []);
    let (_, effects) = claim_at(&mut payments, START + OPEN + DAY * 2).await;
    assert_eq!(effects.len(), 1);
    payments.desk.assert_sound().await;
}

async fn what_missed_its_cut_off_expires_and_its_money_is_released(store: impl Store + Query) {
    let rules = limited(afternoons(AtCutOff::Expire));
    let mut payments = payments(&rules, store, 3).await;
    let (_, sent) = claim_at(&mut payments, START + OPEN).await;
    assert_eq!(sent.len(), 2);
    let held = payments.desk.balance(HELD).await;
    let (reply, effects) =
        claim_at(&mut payments, START + OPEN + SignedDuration::from_hours(1)).await;
    assert_eq!((reply.flows.len(), effects), (1, Vec::new()));
    assert_eq!(payments.desk.balance(HELD).await, held - 56);
    let flows = payments.desk.store.flows(None, 10).await.unwrap();
    let mut statuses: Vec<&str> = flows.iter().map(|flow| flow.state.status()).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, ["EXPIRED", "SUBMITTING", "SUBMITTING"]);
    // One that comes after the cut-off waits for the next window.
    let late = create("late", "0.01");
    payments.desk.ask(late).await.unwrap();
    let (reply, effects) =
        claim_at(&mut payments, START + OPEN + SignedDuration::from_hours(2)).await;
    assert_eq!((reply.flows.len(), effects), (0, Vec::new()));
    payments.desk.assert_sound().await;
}

async fn what_missed_its_cut_off_is_sent_anyway(store: impl Store + Query) {
    let rules = limited(afternoons(AtCutOff::SendAnyway));
    let mut payments = payments(&rules, store, 3).await;
    let (_, sent) = claim_at(&mut payments, START + OPEN).await;
    assert_eq!(sent.len(), 2);
    for effect in &sent {
        payments.submitted(effect, paid()).await;
    }
    let closed = START + OPEN + SignedDuration::from_hours(1);
    let (_, sent) = claim_at(&mut payments, closed).await;
    assert_eq!(sent.len(), 1);
    payments.submitted(&sent[0], paid()).await;
    payments.desk.ask(create("late", "0.01")).await.unwrap();
    let (reply, sent) = claim_at(&mut payments, closed + SignedDuration::from_secs(10)).await;
    assert_eq!((reply.rest.unwrap().why, sent), (Blocked::Closed, Vec::new()));
    payments.desk.assert_sound().await;
}

/// Behind the last microsecond that the stores can keep, and between two of them.
async fn a_payout_is_moved_to_any_time(store: impl Store + Query) {
    let rules = rules();
    let mut payments = payments(&rules, store, 0).await;
    let at = START + SignedDuration::from_hours(1);
    let mut ids = Vec::new();
    for key in ["a", "b", "c"] {
        let mut create = create(key, "0.01");
        create.payout.scheduled_at = Some(at);
        ids.push(view(payments.desk.ask(create).await).id.parse().unwrap());
    }
    let between = at + SignedDuration::from_nanos(500);
    for (id, time, version) in [(ids[0], between, 1), (ids[2], Timestamp::MAX, 2)] {
        let when = When::At(time);
        let (actor, reason) = ("ops".to_owned(), String::new());
        let moved = Reschedule { id, when, expected_version: Some(1), actor, reason };
        let moved = view(payments.desk.ask(moved).await);
        assert_eq!((moved.version, moved.status.as_str()), (version, "SCHEDULED"));
    }
    payments.desk.assert_sound().await;
    let (_, effects) = claim_at(&mut payments, at + SignedDuration::from_secs(1)).await;
    assert_eq!(effects.len(), 2);
    payments.desk.assert_sound().await;
}

const HELD: &str = "holds:payout:m1:PKR";

on_every_store!(
    slots_are_an_interval_apart_whatever_the_turns,
    no_more_are_sent_at_once_than_may_be,
    nothing_is_sent_outside_the_window,
    what_missed_its_cut_off_expires_and_its_money_is_released,
    what_missed_its_cut_off_is_sent_anyway,
    a_payout_is_moved_to_any_time,
);
