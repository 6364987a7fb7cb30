//! The receivers behind endpoints, healthy or not. The auditor sees what they got and answered.

use std::collections::{BTreeMap, BTreeSet};

use bursar_core::ids::{EndpointId, EventId};
use bursar_core::webhooks::delivery::{Outcome, Response};
use jiff::SignedDuration;

use crate::simulate::dice::Dice;
use crate::simulate::scene::{DAY, HOUR, MILLISECOND, SECOND};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Health {
    Healthy,
    /// Slow, at times longer than the sender waits.
    Slow,
    Flaky,
    /// Fails until then.
    Ill {
        until: u64,
    },
    /// Down for good.
    Down,
    /// Answers 500 first and 200 to the same call later, or accepts it and hangs up.
    Lying,
    /// Answers 429 with a pause.
    Busy,
    /// Answers 410 once.
    Gone,
    /// Accepts everything, and answers with bytes that are no text.
    Garbage,
}

#[derive(Debug)]
struct Receiver {
    health: Health,
    dice: Dice,
    seen: BTreeSet<EventId>,
    has_said_gone: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Receivers {
    all: BTreeMap<EndpointId, Receiver>,
}

/// The answer of a receiver, if any, and its delay.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) delay: u64,
    pub(crate) outcome: Option<Outcome>,
    pub(crate) is_taken: bool,
}

impl Receivers {
    pub(crate) fn open(&mut self, endpoint: EndpointId, mut dice: Dice) {
        let until = dice.between(HOUR, 3 * DAY);
        let healths = [
            (8, Health::Healthy),
            (3, Health::Slow),
            (4, Health::Flaky),
            (3, Health::Ill { until }),
            (2, Health::Down),
            (3, Health::Lying),
            (2, Health::Busy),
            (2, Health::Gone),
            (2, Health::Garbage),
        ];
        let health = dice.weigh(&healths).unwrap_or(Health::Healthy);
        let receiver = Receiver { health, dice, seen: BTreeSet::new(), has_said_gone: false };
        self.all.insert(endpoint, receiver);
    }

    /// A call arrives.
    pub(crate) fn get(
        &mut self,
        (endpoint, event): (EndpointId, EventId),
        now: u64,
        is_calm: bool,
    ) -> Said {
        match self.all.get_mut(&endpoint) {
            Some(receiver) => receiver.get(event, now, is_calm),
            None => answers(404, None, b"unknown"),
        }
    }
}

impl Receiver {
    fn get(&mut self, event: EventId, now: u64, is_calm: bool) -> Said {
        let is_first = self.seen.insert(event);
        let dice = &mut self.dice;
        let is_healed = is_calm && self.health != Health::Down;
        let health = if is_healed { Health::Healthy } else { self.health };
        let said = match health {
            Health::Healthy => answers(204, None, b""),
            Health::Slow => {
                let delay = if dice.chance(300) { dice.between(20, 60) } else { dice.below(10) };
                return Said { delay: delay.saturating_mul(SECOND), ..answers(200, None, b"ok") };
            }
            Health::Flaky if dice.chance(400) => answers(503, None, b"<html>sorry</html>"),
            Health::Ill { until } if now < until => match dice.below(3) {
                0 => answers(302, None, b"elsewhere"),
                1 => silent(false),
                _ => answers(500, None, b"oops"),
            },
            Health::Down => silent(false),
            Health::Lying if is_first && dice.chance(500) => answers(500, None, b"oops"),
            Health::Lying if dice.chance(300) => silent(true),
            Health::Flaky | Health::Ill { .. } | Health::Lying => answers(200, None, b"ok"),
            Health::Busy if dice.chance(400) => {
                let hours = i64::try_from(dice.between(0, 100)).unwrap_or_default();
                answers(429, Some(SignedDuration::from_hours(hours)), b"later")
            }
            Health::Busy => answers(202, None, b""),
            Health::Gone if !self.has_said_gone && dice.chance(300) => {
                self.has_said_gone = true;
                answers(410, None, b"gone")
            }
            Health::Gone => answers(200, None, b""),
            Health::Garbage => answers(200, None, b"\0\xff\xfe{\"a\":\0"),
        };
        Said { delay: self.dice.between(MILLISECOND, 400 * MILLISECOND), ..said }
    }
}

fn answers(status: u16, retry_after: Option<SignedDuration>, bytes: &[u8]) -> Said {
    let outcome = Outcome::Answered { status, retry_after, response: Response::new(bytes) };
    let is_taken = (200..300).contains(&status);
    Said { delay: 0, outcome: Some(outcome), is_taken }
}

/// No answer; the receiver may have accepted it.
fn silent(hangs_up: bool) -> Said {
    let word = if hangs_up { "reset" } else { "refused" };
    let outcome = Outcome::Failed { class: "connect".to_owned(), detail: word.to_owned() };
    Said { delay: 0, outcome: Some(outcome), is_taken: false }
}
