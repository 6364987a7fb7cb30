//! How time goes forward, by hand.

use bursar_core::ids::{FlowId, PayoutId, Seed};
use jiff::{SignedDuration, Timestamp};
use tokio::sync::oneshot;

use super::walk::Walk;
use crate::handle::Advance;

fn flow(number: u64) -> FlowId {
    FlowId::from(PayoutId::new(start(), &Seed::from(number), 0))
}

fn start() -> Timestamp {
    Timestamp::from_second(1_794_700_800).unwrap()
}

fn a_day() -> (Walk, Timestamp) {
    let by = SignedDuration::from_hours(24);
    let (waiting, _) = oneshot::channel();
    (Walk::new(Advance { by, waiting }, start() + by), start() + by)
}

#[test]
fn a_flow_that_is_always_due_does_not_hold_up_time() {
    let (mut walk, target) = a_day();
    let (mut now, mut steps) = (start(), 0);
    while now < target {
        let next = walk.step(now, (now, Some(flow(1))));
        assert!(next >= now + SignedDuration::from_millis(1), "time does not stand still");
        now = next;
        steps += 1;
    }
    assert!(steps < 2_000, "{steps} steps");
}

#[test]
fn many_that_are_due_together_hardly_take_time() {
    let (mut walk, _) = a_day();
    let now = (0..1_000).fold(start(), |now, number| walk.step(now, (start(), Some(flow(number)))));
    assert_eq!(now, start() + SignedDuration::from_secs(1));
}

#[test]
fn time_goes_exactly_to_what_is_due_next() {
    let (mut walk, _) = a_day();
    let at = start() + SignedDuration::from_mins(7);
    assert_eq!(walk.step(start(), (at, Some(flow(1)))), at);
    let next = at + SignedDuration::from_mins(7);
    assert_eq!(walk.step(at, (next, Some(flow(1)))), next);
}
