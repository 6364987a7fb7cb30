//! The steps of a test clock.

use bursar_core::ids::{FlowId, PayoutId, Seed};
use jiff::{SignedDuration, Timestamp};
use tokio::sync::oneshot;

use super::test_clock::TestClockAdvance;
use crate::handle::Advance;

fn flow(number: u64) -> FlowId {
    FlowId::from(PayoutId::new(start(), &Seed::from(number), 0))
}

fn start() -> Timestamp {
    Timestamp::from_second(1_794_700_800).unwrap()
}

fn a_day() -> (TestClockAdvance, Timestamp) {
    let by = SignedDuration::from_hours(24);
    let (waiting, _) = oneshot::channel();
    (TestClockAdvance::new(Advance { by, waiting }, start() + by), start() + by)
}

#[test]
fn a_flow_that_stays_due_does_not_stop_the_clock() {
    let (mut advance, target) = a_day();
    let (mut now, mut steps) = (start(), 0);
    while now < target {
        let next = advance.step(now, (now, Some(flow(1))));
        assert!(next >= now + SignedDuration::from_millis(1), "time does not stand still");
        now = next;
        steps += 1;
    }
    assert!(steps < 2_000, "{steps} steps");
}

#[test]
fn flows_that_are_due_together_take_a_millisecond_each() {
    let (mut advance, _) = a_day();
    let now =
        (0..1_000).fold(start(), |now, number| advance.step(now, (start(), Some(flow(number)))));
    assert_eq!(now, start() + SignedDuration::from_secs(1));
}

#[test]
fn the_clock_stops_exactly_at_the_next_due_time() {
    let (mut advance, _) = a_day();
    let at = start() + SignedDuration::from_mins(7);
    assert_eq!(advance.step(start(), (at, Some(flow(1)))), at);
    let next = at + SignedDuration::from_mins(7);
    assert_eq!(advance.step(at, (next, Some(flow(1)))), next);
}
