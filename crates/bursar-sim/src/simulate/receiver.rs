//! Receivers of merchants: whoever listens at an endpoint, well or badly. What they got and said is told to the auditor.

use std::collections::{BTreeMap, BTreeSet};

use bursar_core::delivery::{Outcome, Response};
use bursar_core::ids::{EndpointId, EventId};
use jiff::SignedDuration;

use super::dice::Dice;
use super::scene::{DAY, HOUR, MILLISECOND, SECOND};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Nature {
    Healthy,
    /// Takes its time, at times longer than anybody waits.
    Slow,
    Flaky,
    /// Fails until then.
    Ill {
        until: u64,
    },
    /// Nobody is there, and nobody will be.
    Down,
    /// Says 500 first and 200 to the same later, or takes it and hangs up.
    Lying,
    /// Asks to be left alone for a while.
    Busy,
    /// Wants no more, and says so once.
    Gone,
    /// Takes everything, and answers with bytes that mean nothing.
    Garbage,
}

#[derive(Debug)]
struct Receiver {
    nature: Nature,
    dice: Dice,
    seen: BTreeSet<EventId>,
    has_said_gone: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Receivers {
    all: BTreeMap<EndpointId, Receiver>,
}

/// What a receiver does: after how long, and what it says, if it says anything.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) delay: u64,
    pub(crate) outcome: Option<Outcome>,
    pub(crate) is_taken: bool,
}

impl Receivers {
    pub(crate) fn open(&mut self, endpoint: EndpointId, mut dice: Dice) {
        let until = dice.between(HOUR, 3 * DAY);
        let natures = [
            (8, Nature::Healthy),
            (3, Nature::Slow),
            (4, Nature::Flaky),
            (3, Nature::Ill { until }),
            (2, Nature::Down),
            (3, Nature::Lying),
            (2, Nature::Busy),
            (2, Nature::Gone),
            (2, Nature::Garbage),
        ];
        let nature = dice.weigh(&natures).unwrap_or(Nature::Healthy);
        let receiver = Receiver { nature, dice, seen: BTreeSet::new(), has_said_gone: false };
        self.all.insert(endpoint, receiver);
    }

    /// Somebody brings an event.
    pub(crate) fn get(
        &mut self,
        (endpoint, event): (EndpointId, EventId),
        now: u64,
        is_calm: bool,
    ) -> Said {
        match self.all.get_mut(&endpoint) {
            Some(receiver) => receiver.get(event, now, is_calm),
            None => answers(404, None, b"nobody"),
        }
    }
}

impl Receiver {
    fn get(&mut self, event: EventId, now: u64, is_calm: bool) -> Said {
        let is_first = self.seen.insert(event);
        let dice = &mut self.dice;
        let is_healed = is_calm && self.nature != Nature::Down;
        let nature = if is_healed { Nature::Healthy } else { self.nature };
        let said = match nature {
            Nature::Healthy => answers(204, None, b""),
            Nature::Slow => {
                let delay = if dice.chance(300) { dice.between(20, 60) } else { dice.below(10) };
                return Said { delay: delay.saturating_mul(SECOND), ..answers(200, None, b"ok") };
            }
            Nature::Flaky if dice.chance(400) => answers(503, None, b"<html>sorry</html>"),
            Nature::Ill { until } if now < until => match dice.below(3) {
                0 => answers(302, None, b"elsewhere"),
                1 => silent(false),
                _ => answers(500, None, b"oops"),
            },
            Nature::Down => silent(false),
            Nature::Lying if is_first && dice.chance(500) => answers(500, None, b"oops"),
            Nature::Lying if dice.chance(300) => silent(true),
            Nature::Flaky | Nature::Ill { .. } | Nature::Lying => answers(200, None, b"ok"),
            Nature::Busy if dice.chance(400) => {
                let hours = i64::try_from(dice.between(0, 100)).unwrap_or_default();
                answers(429, Some(SignedDuration::from_hours(hours)), b"later")
            }
            Nature::Busy => answers(202, None, b""),
            Nature::Gone if !self.has_said_gone && dice.chance(300) => {
                self.has_said_gone = true;
                answers(410, None, b"gone")
            }
            Nature::Gone => answers(200, None, b""),
            Nature::Garbage => answers(200, None, b"\0\xff\xfe{\"a\":\0"),
        };
        Said { delay: self.dice.between(MILLISECOND, 400 * MILLISECOND), ..said }
    }
}

fn answers(status: u16, retry_after: Option<SignedDuration>, bytes: &[u8]) -> Said {
    let outcome = Outcome::Answered { status, retry_after, response: Response::new(bytes) };
    let is_taken = (200..300).contains(&status);
    Said { delay: 0, outcome: Some(outcome), is_taken }
}

/// It may have it; it says nothing.
fn silent(hangs_up: bool) -> Said {
    let word = if hangs_up { "reset" } else { "refused" };
    let outcome = Outcome::Failed { class: "connect".to_owned(), detail: word.to_owned() };
    Said { delay: 0, outcome: Some(outcome), is_taken: false }
}
