//! The decision: what an event does to a delivery, and what it says about the endpoint.

use jiff::{SignedDuration, Timestamp};

use super::event::{Event, Outcome, Unsendable, later};
use super::schedule::Schedule;
use super::state::{Attempted, Deadlettered, Delivery, Result, State, UNSENT};
use crate::ids::Seed;
use crate::registry::{Endpoint, Sign};

/// What is decided by besides the delivery itself.
#[derive(Debug, Clone, Copy)]
pub struct Context<'c> {
    pub now: Timestamp,
    pub seed: Seed,
    pub endpoint: &'c Endpoint,
    pub schedule: &'c Schedule,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    Stays,
    /// The endpoint is left alone until then.
    Blocked {
        until: Timestamp,
    },
    /// It is sent, once this is saved.
    Sends(Delivery),
    Moves {
        delivery: Delivery,
        /// What it says about the endpoint.
        sign: Option<Sign>,
    },
}

pub fn step(delivery: &Delivery, event: &Event, context: &Context<'_>) -> Step {
    match (&delivery.state, event) {
        (State::Pending { due } | State::WaitingRetry { due }, Event::Due)
            if *due <= context.now =>
        {
            send(delivery, context)
        }
        (State::Delivering { since, lease_until }, Event::Due) if *lease_until <= context.now => {
            lose(delivery, *since, context)
        }
        (
            State::Pending { .. }
            | State::Delivering { .. }
            | State::WaitingRetry { .. }
            | State::Dlq { .. }
            | State::Cancelled { .. },
            Event::Returned { attempt, took_ms, outcome },
        ) => returned(delivery, (*attempt, *took_ms), outcome, context),
        (State::Pending { .. } | State::WaitingRetry { .. }, Event::CalledOff) => {
            moved(delivery, State::Cancelled { since: context.now })
        }
        (State::Delivered | State::Dlq { .. } | State::Cancelled { .. }, Event::Replayed) => {
            replay(delivery, context.now)
        }
        // It is not its time; what is being sent comes back and is recorded; what is over is over; and what is on its way
        // is not sent again.
        (
            State::Pending { .. } | State::WaitingRetry { .. } | State::Delivering { .. },
            Event::Due | Event::Replayed,
        )
        | (State::Delivering { .. }, Event::CalledOff)
        | (
            State::Delivered | State::Dlq { .. } | State::Cancelled { .. },
            Event::Due | Event::CalledOff,
        )
        | (State::Delivered, Event::Returned { .. }) => Step::Stays,
    }
}

fn send(delivery: &Delivery, context: &Context<'_>) -> Step {
    let now = context.now;
    if !context.endpoint.is_enabled() {
        return moved(delivery, State::Cancelled { since: now });
    }
    if let Some(breaker) = context.endpoint.health.breaker.filter(|breaker| now < breaker.until) {
        return Step::Blocked { until: breaker.until };
    }
    let lease_until = later(now, context.schedule.lease);
    Step::Sends(Delivery {
        state: State::Delivering { since: now, lease_until },
        attempts: delivery.attempts.saturating_add(1),
        ..delivery.clone()
    })
}

/// Nobody knows what became of the attempt. It counts, and the next one follows at once.
fn lose(delivery: &Delivery, since: Timestamp, context: &Context<'_>) -> Step {
    let took_ms = milliseconds(context.now.duration_since(since));
    let attempted =
        Attempted { number: delivery.attempts, at: since, took_ms, result: Result::Lost };
    let state = match context.schedule.pause(delivery.attempts_now(), None, &context.seed) {
        Some(_) => State::Pending { due: context.now },
        None => exhausted(context.now),
    };
    remembered(delivery, attempted, state, None)
}

fn returned(
    delivery: &Delivery,
    (attempt, took_ms): (u32, u64),
    outcome: &Outcome,
    context: &Context<'_>,
) -> Step {
    let now = context.now;
    let since = match delivery.state {
        State::Delivering { since, .. } if attempt == delivery.attempts => Some(since),
        State::Pending { .. }
        | State::Delivering { .. }
        | State::WaitingRetry { .. }
        | State::Delivered
        | State::Dlq { .. }
        | State::Cancelled { .. } => None,
    };
    let attempted = |result| Attempted {
        number: attempt,
        at: since.unwrap_or_else(|| before(now, took_ms)),
        took_ms,
        result,
    };
    match outcome {
        Outcome::Answered { status, response, .. } if (200..300).contains(status) => {
            // However late: it has arrived.
            let result = Result::Answered { status: *status, response: response.clone() };
            remembered(delivery, attempted(result), State::Delivered, Some(Sign::Took))
        }
        // It was given up for lost, and the next attempt is under way or was made.
        Outcome::Answered { .. } | Outcome::Failed { .. } | Outcome::Unsendable { .. }
            if since.is_none() =>
        {
            Step::Stays
        }
        Outcome::Answered { status, retry_after, response } => {
            let sign = if *status == GONE { Sign::Gone } else { Sign::Failed };
            let result = Result::Answered { status: *status, response: response.clone() };
            let state = after_failure(delivery, *retry_after, sign, context);
            remembered(delivery, attempted(result), state, Some(sign))
        }
        Outcome::Failed { class, detail } => {
            let result = Result::Failed { class: class.clone(), detail: detail.clone() };
            let state = after_failure(delivery, None, Sign::Failed, context);
            remembered(delivery, attempted(result), state, Some(Sign::Failed))
        }
        Outcome::Unsendable { what, detail } => {
            let failed = |class: &str| {
                attempted(Result::Failed { class: class.to_owned(), detail: detail.clone() })
            };
            let reason = match what {
                Unsendable::Serialisation => Deadlettered::SerialisationFailed,
                Unsendable::Signing => Deadlettered::SigningFailed,
                // Another process may have it, or this one after its next start.
                Unsendable::NoKey => {
                    let state = after_failure(delivery, None, Sign::Failed, context);
                    return remembered(delivery, failed("no_key"), state, None);
                }
                Unsendable::NoMeans => return unsent(delivery, failed(UNSENT), context),
            };
            // Our fault: it says nothing about the endpoint.
            let state = State::Dlq { reason, since: now };
            remembered(delivery, failed(reason.name()), state, None)
        }
    }
}

/// It never began, so it does not count, and says nothing about the endpoint.
fn unsent(delivery: &Delivery, attempted: Attempted, context: &Context<'_>) -> Step {
    let state = if context.endpoint.is_enabled() {
        let pause = context.schedule.unsent_pause(&context.seed);
        State::WaitingRetry { due: later(context.now, pause) }
    } else {
        State::Cancelled { since: context.now }
    };
    let before = delivery.before.saturating_add(1);
    remembered(&Delivery { before, ..delivery.clone() }, attempted, state, None)
}

/// 410: the receiver wants no more.
const GONE: u16 = 410;

fn after_failure(
    delivery: &Delivery,
    retry_after: Option<SignedDuration>,
    sign: Sign,
    context: &Context<'_>,
) -> State {
    let now = context.now;
    if !context.endpoint.is_enabled() || sign == Sign::Gone {
        return State::Cancelled { since: now };
    }
    match context.schedule.pause(delivery.attempts_now(), retry_after, &context.seed) {
        Some(pause) => State::WaitingRetry { due: later(now, pause) },
        None => exhausted(now),
    }
}

/// Whether a delivery that is out comes to rest among the dead letters by this.
pub(crate) fn is_buried_by(delivery: &Delivery, event: &Event, schedule: &Schedule) -> bool {
    let Event::Returned { outcome, .. } = event else { return false };
    let is_last = schedule.is_last(delivery.attempts_now());
    match outcome {
        Outcome::Answered { status, .. } => is_last && !(200..300).contains(status),
        Outcome::Failed { .. } | Outcome::Unsendable { what: Unsendable::NoKey, .. } => is_last,
        Outcome::Unsendable { what: Unsendable::Serialisation | Unsendable::Signing, .. } => true,
        Outcome::Unsendable { what: Unsendable::NoMeans, .. } => false,
    }
}

/// Whatever Bursar does with it fails, for hours: our fault, and put where somebody sees it. What is over stays as it is.
pub(crate) fn give_up(delivery: &Delivery, now: Timestamp) -> Option<Delivery> {
    let reason = Deadlettered::SerialisationFailed;
    let (number, at, result) = match delivery.state {
        State::Pending { .. } | State::WaitingRetry { .. } => {
            let detail = "whatever Bursar did with it failed: report the bug, then replay it";
            let (class, detail) = (reason.name().to_owned(), detail.to_owned());
            (delivery.attempts.saturating_add(1), now, Result::Failed { class, detail })
        }
        // It was sent, and may have arrived.
        State::Delivering { since, .. } => (delivery.attempts, since, Result::Lost),
        State::Delivered | State::Dlq { .. } | State::Cancelled { .. } => return None,
    };
    let state = State::Dlq { reason, since: now };
    let mut delivery = Delivery { state, attempts: number, ..delivery.clone() };
    delivery.remember(Attempted { number, at, took_ms: 0, result });
    Some(delivery)
}

/// From the beginning of the schedule; the attempts before stay on record.
fn replay(delivery: &Delivery, now: Timestamp) -> Step {
    let delivery = Delivery {
        state: State::Pending { due: now },
        before: delivery.attempts,
        is_replayed: true,
        ..delivery.clone()
    };
    Step::Moves { delivery, sign: None }
}

const fn exhausted(now: Timestamp) -> State {
    State::Dlq { reason: Deadlettered::Exhausted, since: now }
}

fn moved(delivery: &Delivery, state: State) -> Step {
    Step::Moves { delivery: Delivery { state, ..delivery.clone() }, sign: None }
}

fn remembered(delivery: &Delivery, attempted: Attempted, state: State, sign: Option<Sign>) -> Step {
    let mut delivery = Delivery { state, ..delivery.clone() };
    delivery.remember(attempted);
    Step::Moves { delivery, sign }
}

impl Delivery {
    /// Attempts since it was last replayed.
    fn attempts_now(&self) -> u32 {
        self.attempts.saturating_sub(self.before)
    }
}

fn before(now: Timestamp, milliseconds: u64) -> Timestamp {
    let back = SignedDuration::from_millis(i64::try_from(milliseconds).unwrap_or_default());
    now.saturating_sub(back).unwrap_or(now)
}

fn milliseconds(duration: SignedDuration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or_default()
}
