//! Known mistakes about deliveries.

use bursar_core::webhooks::delivery::{
    Context, Delivery, Event, Outcome, RetryPolicy, State, Step, step,
};
use bursar_core::webhooks::{Endpoint, Health, HealthSignal, Status};
use jiff::{SignedDuration, Timestamp};

use super::{StepFn, world};
use crate::verify::Mutation;

const MISTAKES: [(&str, &str, StepFn); 13] = [
    ("delivery-redirect-is-taken", "A redirect counts as success.", |delivery, event, context| {
        step(delivery, &as_taken(event), context)
    }),
    (
        "delivery-late-taken-ignored",
        "A late 2xx of an attempt that was given up is ignored.",
        |delivery, event, context| match event {
            Event::Returned { attempt, .. } if is_late(delivery, *attempt) => Step::Stays,
            Event::Due | Event::Returned { .. } | Event::Cancelled | Event::Replayed => {
                step(delivery, event, context)
            }
        },
    ),
    (
        "delivery-late-failure-counts",
        "A late failure of an attempt that was given up undoes a success.",
        |delivery, event, context| match (&delivery.state, event) {
            (State::Delivered, Event::Returned { outcome: Outcome::Failed { .. }, .. }) => {
                waiting(delivery, context.now, Some(HealthSignal::Failed))
            }
            (_, event) => step(delivery, event, context),
        },
    ),
    (
        "delivery-lost-is-forgotten",
        "A lost attempt is waited for for ever.",
        |delivery, event, context| match (&delivery.state, event) {
            (State::Delivering { .. }, Event::Due) => Step::Stays,
            (_, event) => step(delivery, event, context),
        },
    ),
    (
        "delivery-lost-is-not-counted",
        "A lost attempt does not count.",
        |delivery, event, context| match (&delivery.state, event) {
            (State::Delivering { lease_until, .. }, Event::Due) if *lease_until <= context.now => {
                waiting(delivery, context.now, None)
            }
            (_, event) => step(delivery, event, context),
        },
    ),
    (
        "delivery-dead-too-early",
        "The last pause of the retry policy is not used.",
        |delivery, event, context| {
            let mut schedule = context.schedule.clone();
            schedule.pauses.pop();
            step(delivery, event, &with_schedule(context, &schedule))
        },
    ),
    (
        "delivery-replay-counts-on",
        "A replay continues the retry policy where it had ended.",
        |delivery, event, context| {
            let known = Delivery { uncounted_attempts: 0, ..delivery.clone() };
            step(&known, event, context)
        },
    ),
    ("delivery-gone-ignored", "410 is a failure like any other.", |delivery, event, context| {
        step(delivery, &as_failed(event), context)
    }),
    (
        "delivery-sent-while-off",
        "Whether the endpoint is enabled is checked at the event, and not when it is sent.",
        |delivery, event, context| {
            let endpoint = Endpoint { status: Status::Enabled, ..context.endpoint.clone() };
            step(delivery, event, &Context { endpoint: &endpoint, ..*context })
        },
    ),
    ("delivery-breaker-ignored", "An open breaker is ignored.", |delivery, event, context| {
        let endpoint = Endpoint { health: Health::default(), ..context.endpoint.clone() };
        step(delivery, event, &Context { endpoint: &endpoint, ..*context })
    }),
    (
        "delivery-breaker-cancels",
        "An open breaker cancels waiting deliveries.",
        |delivery, event, context| match step(delivery, event, context) {
            Step::Blocked { .. } => {
                let state = State::Cancelled { since: context.now };
                Step::Moves { delivery: Delivery { state, ..delivery.clone() }, sign: None }
            }
            step @ (Step::Stays | Step::Sends(_) | Step::Moves { .. }) => step,
        },
    ),
    (
        "delivery-sent-twice-at-once",
        "An attempt in flight is sent again whenever it is claimed.",
        |delivery, event, context| match (&delivery.state, event) {
            (State::Delivering { .. }, Event::Due) => {
                let state = State::Pending { due: context.now };
                step(&Delivery { state, ..delivery.clone() }, event, context)
            }
            (_, event) => step(delivery, event, context),
        },
    ),
    (
        "delivery-waits-as-long-as-asked",
        "A Retry-After of a year is honoured.",
        |delivery, event, context| {
            let schedule =
                RetryPolicy { retry_after_max: SignedDuration::MAX, ..context.schedule.clone() };
            step(delivery, event, &with_schedule(context, &schedule))
        },
    ),
];

pub(super) fn mutations() -> Vec<Mutation> {
    let planted = |(name, sentence, step)| Mutation::new(name, sentence, vec![world(step)]);
    MISTAKES.into_iter().map(planted).collect()
}

fn with_schedule<'c>(context: &Context<'c>, schedule: &'c RetryPolicy) -> Context<'c> {
    Context { schedule, ..*context }
}

fn waiting(delivery: &Delivery, due: Timestamp, sign: Option<HealthSignal>) -> Step {
    let attempts =
        if sign.is_some() { delivery.attempts } else { delivery.attempts.saturating_sub(1) };
    let delivery = Delivery { state: State::WaitingRetry { due }, attempts, ..delivery.clone() };
    Step::Moves { delivery, sign }
}

fn is_late(delivery: &Delivery, attempt: u32) -> bool {
    attempt != delivery.attempts || !matches!(delivery.state, State::Delivering { .. })
}

/// The same answer with another code.
fn as_taken(event: &Event) -> Event {
    with_status(event, |status| if (300..400).contains(&status) { 200 } else { status })
}

fn as_failed(event: &Event) -> Event {
    with_status(event, |status| if status == 410 { 500 } else { status })
}

fn with_status(event: &Event, change: fn(u16) -> u16) -> Event {
    let mut event = event.clone();
    if let Event::Returned { outcome: Outcome::Answered { status, .. }, .. } = &mut event {
        *status = change(*status);
    }
    event
}
