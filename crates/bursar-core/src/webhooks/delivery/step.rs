//! The decision: the effect of an event on a delivery, and its signal about the endpoint's health.

use jiff::{SignedDuration, Timestamp};

use super::event::{Event, Outcome, Unsendable, later};
use super::retry_policy::RetryPolicy;
use super::state::{AttemptRecord, DeadLetterReason, Delivery, Result, State, UNSENT};
use crate::ids::Seed;
use crate::webhooks::{Endpoint, HealthSignal};

/// Inputs of the decision besides the delivery.
#[derive(Debug, Clone, Copy)]
pub struct Context<'c> {
    pub now: Timestamp,
    pub seed: Seed,
    pub endpoint: &'c Endpoint,
    pub schedule: &'c RetryPolicy,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    Stays,
    /// The breaker of the endpoint is open until then.
    Blocked {
        until: Timestamp,
    },
    /// The attempt is sent after the commit is saved.
    Sends(Delivery),
    Moves {
        delivery: Delivery,
        /// The signal about the endpoint's health.
        sign: Option<HealthSignal>,
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
        (State::Pending { .. } | State::WaitingRetry { .. }, Event::Cancelled) => {
            moved(delivery, State::Cancelled { since: context.now })
        }
        (State::Delivered | State::Dlq { .. } | State::Cancelled { .. }, Event::Replayed) => {
            replay(delivery, context.now)
        }
        // Events without effect: a timer that is not due yet; a cancellation during an attempt, whose outcome still
        // counts; timers and cancellations of a finished delivery; a replay of an unfinished one.
        (
            State::Pending { .. } | State::WaitingRetry { .. } | State::Delivering { .. },
            Event::Due | Event::Replayed,
        )
        | (State::Delivering { .. }, Event::Cancelled)
        | (
            State::Delivered | State::Dlq { .. } | State::Cancelled { .. },
            Event::Due | Event::Cancelled,
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

/// The outcome of the attempt is unknown. It counts, and the next attempt follows at once.
fn lose(delivery: &Delivery, since: Timestamp, context: &Context<'_>) -> Step {
    let took_ms = milliseconds(context.now.duration_since(since));
    let attempt_record =
        AttemptRecord { number: delivery.attempts, at: since, took_ms, result: Result::Lost };
    let state = match context.schedule.pause(delivery.attempts_now(), None, &context.seed) {
        Some(_) => State::Pending { due: context.now },
        None => exhausted(context.now),
    };
    remembered(delivery, attempt_record, state, None)
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
    let attempt_record = |result| AttemptRecord {
        number: attempt,
        at: since.unwrap_or_else(|| before(now, took_ms)),
        took_ms,
        result,
    };
    match outcome {
        Outcome::Answered { status, response, .. } if (200..300).contains(status) => {
            // A late success counts as well: the event arrived.
            let result = Result::Answered { status: *status, response: response.clone() };
            remembered(delivery, attempt_record(result), State::Delivered, Some(HealthSignal::Took))
        }
        // The attempt was already treated as lost, and the next one is in progress or finished.
        Outcome::Answered { .. } | Outcome::Failed { .. } | Outcome::Unsendable { .. }
            if since.is_none() =>
        {
            Step::Stays
        }
        Outcome::Answered { status, retry_after, response } => {
            let sign = if *status == GONE { HealthSignal::Gone } else { HealthSignal::Failed };
            let result = Result::Answered { status: *status, response: response.clone() };
            let state = after_failure(delivery, *retry_after, sign, context);
            remembered(delivery, attempt_record(result), state, Some(sign))
        }
        Outcome::Failed { class, detail } => {
            let result = Result::Failed { class: class.clone(), detail: detail.clone() };
            let state = after_failure(delivery, None, HealthSignal::Failed, context);
            remembered(delivery, attempt_record(result), state, Some(HealthSignal::Failed))
        }
        Outcome::Unsendable { what, detail } => {
            let failed = |class: &str| {
                attempt_record(Result::Failed { class: class.to_owned(), detail: detail.clone() })
            };
            let reason = match what {
                Unsendable::Serialisation => DeadLetterReason::SerialisationFailed,
                Unsendable::Signing => DeadLetterReason::SigningFailed,
                // Another process may have the key, or this one after its next start.
                Unsendable::NoKey => {
                    let state = after_failure(delivery, None, HealthSignal::Failed, context);
                    return remembered(delivery, failed("no_key"), state, None);
                }
                Unsendable::LocalResourceExhausted => {
                    return unsent(delivery, failed(UNSENT), context);
                }
            };
            // A fault on this side says nothing about the endpoint.
            let state = State::Dlq { reason, since: now };
            remembered(delivery, failed(reason.name()), state, None)
        }
    }
}

/// The attempt was not sent, so it does not count and says nothing about the endpoint.
fn unsent(delivery: &Delivery, attempt_record: AttemptRecord, context: &Context<'_>) -> Step {
    let state = if context.endpoint.is_enabled() {
        let pause = context.schedule.unsent_pause(&context.seed);
        State::WaitingRetry { due: later(context.now, pause) }
    } else {
        State::Cancelled { since: context.now }
    };
    let uncounted_attempts = delivery.uncounted_attempts.saturating_add(1);
    remembered(&Delivery { uncounted_attempts, ..delivery.clone() }, attempt_record, state, None)
}

/// The receiver wants no more events.
const GONE: u16 = 410;

fn after_failure(
    delivery: &Delivery,
    retry_after: Option<SignedDuration>,
    sign: HealthSignal,
    context: &Context<'_>,
) -> State {
    let now = context.now;
    if !context.endpoint.is_enabled() || sign == HealthSignal::Gone {
        return State::Cancelled { since: now };
    }
    match context.schedule.pause(delivery.attempts_now(), retry_after, &context.seed) {
        Some(pause) => State::WaitingRetry { due: later(now, pause) },
        None => exhausted(now),
    }
}

/// Whether this outcome of the current attempt moves the delivery to the dead letters.
pub(crate) fn is_dead_lettered_by(
    delivery: &Delivery,
    event: &Event,
    schedule: &RetryPolicy,
) -> bool {
    let Event::Returned { outcome, .. } = event else { return false };
    let is_last = schedule.is_last(delivery.attempts_now());
    match outcome {
        Outcome::Answered { status, .. } => is_last && !(200..300).contains(status),
        Outcome::Failed { .. } | Outcome::Unsendable { what: Unsendable::NoKey, .. } => is_last,
        Outcome::Unsendable { what: Unsendable::Serialisation | Unsendable::Signing, .. } => true,
        Outcome::Unsendable { what: Unsendable::LocalResourceExhausted, .. } => false,
    }
}

/// Dead-letters a delivery whose turns kept failing for hours: the fault is on this side. None for a finished delivery.
pub(crate) fn give_up(delivery: &Delivery, now: Timestamp) -> Option<Delivery> {
    let reason = DeadLetterReason::SerialisationFailed;
    let (number, at, result) = match delivery.state {
        State::Pending { .. } | State::WaitingRetry { .. } => {
            let detail = "whatever Bursar did with it failed: report the bug, then replay it";
            let (class, detail) = (reason.name().to_owned(), detail.to_owned());
            (delivery.attempts.saturating_add(1), now, Result::Failed { class, detail })
        }
        // The attempt was sent and may have arrived.
        State::Delivering { since, .. } => (delivery.attempts, since, Result::Lost),
        State::Delivered | State::Dlq { .. } | State::Cancelled { .. } => return None,
    };
    let state = State::Dlq { reason, since: now };
    let mut delivery = Delivery { state, attempts: number, ..delivery.clone() };
    delivery.remember(AttemptRecord { number, at, took_ms: 0, result });
    Some(delivery)
}

/// Restarts the retry policy from the beginning; earlier attempts stay in the history.
fn replay(delivery: &Delivery, now: Timestamp) -> Step {
    let delivery = Delivery {
        state: State::Pending { due: now },
        uncounted_attempts: delivery.attempts,
        is_replayed: true,
        ..delivery.clone()
    };
    Step::Moves { delivery, sign: None }
}

const fn exhausted(now: Timestamp) -> State {
    State::Dlq { reason: DeadLetterReason::Exhausted, since: now }
}

fn moved(delivery: &Delivery, state: State) -> Step {
    Step::Moves { delivery: Delivery { state, ..delivery.clone() }, sign: None }
}

fn remembered(
    delivery: &Delivery,
    attempt_record: AttemptRecord,
    state: State,
    sign: Option<HealthSignal>,
) -> Step {
    let mut delivery = Delivery { state, ..delivery.clone() };
    delivery.remember(attempt_record);
    Step::Moves { delivery, sign }
}

impl Delivery {
    /// Attempts that count against the retry policy.
    fn attempts_now(&self) -> u32 {
        self.attempts.saturating_sub(self.uncounted_attempts)
    }
}

fn before(now: Timestamp, milliseconds: u64) -> Timestamp {
    let back = SignedDuration::from_millis(i64::try_from(milliseconds).unwrap_or_default());
    now.saturating_sub(back).unwrap_or(now)
}

fn milliseconds(duration: SignedDuration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or_default()
}
