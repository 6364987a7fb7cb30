//! Mistakes about what merchants are told.

use bursar_core::delivery::{Context, Delivery, Event, Outcome, Schedule, State, Step, step};
use bursar_core::registry::{Endpoint, Health, Sign, Status};
use jiff::{SignedDuration, Timestamp};

use super::{Mutation, Plant, mutation};

pub(super) const MUTATIONS: [Mutation; 13] = [
    mutation(
        "delivery-redirect-is-taken",
        "A redirect is taken for success.",
        Plant::Delivery(|delivery, event, context| step(delivery, &as_taken(event), context)),
    ),
    mutation(
        "delivery-late-taken-ignored",
        "That it was taken is not heard once the attempt was given up.",
        Plant::Delivery(|delivery, event, context| match event {
            Event::Returned { attempt, .. } if is_late(delivery, *attempt) => Step::Stays,
            Event::Due | Event::Returned { .. } | Event::CalledOff | Event::Replayed => {
                step(delivery, event, context)
            }
        }),
    ),
    mutation(
        "delivery-late-failure-counts",
        "A failure of an attempt that was given up undoes that another was taken.",
        Plant::Delivery(|delivery, event, context| match (&delivery.state, event) {
            (State::Delivered, Event::Returned { outcome: Outcome::Failed { .. }, .. }) => {
                waiting(delivery, context.now, Some(Sign::Failed))
            }
            (_, event) => step(delivery, event, context),
        }),
    ),
    mutation(
        "delivery-lost-is-forgotten",
        "An attempt that does not come back is waited for for ever.",
        Plant::Delivery(|delivery, event, context| match (&delivery.state, event) {
            (State::Delivering { .. }, Event::Due) => Step::Stays,
            (_, event) => step(delivery, event, context),
        }),
    ),
    mutation(
        "delivery-lost-is-not-counted",
        "An attempt that does not come back does not count.",
        Plant::Delivery(|delivery, event, context| match (&delivery.state, event) {
            (State::Delivering { lease_until, .. }, Event::Due) if *lease_until <= context.now => {
                waiting(delivery, context.now, None)
            }
            (_, event) => step(delivery, event, context),
        }),
    ),
    mutation(
        "delivery-dead-too-early",
        "The last pause of the schedule is not used.",
        Plant::Delivery(|delivery, event, context| {
            let mut schedule = context.schedule.clone();
            schedule.pauses.pop();
            step(delivery, event, &with_schedule(context, &schedule))
        }),
    ),
    mutation(
        "delivery-replay-counts-on",
        "What is sent again goes on in its schedule where it had ended.",
        Plant::Delivery(|delivery, event, context| {
            let known = Delivery { before: 0, ..delivery.clone() };
            step(&known, event, context)
        }),
    ),
    mutation(
        "delivery-gone-ignored",
        "410 is a failure like others.",
        Plant::Delivery(|delivery, event, context| step(delivery, &as_failed(event), context)),
    ),
    mutation(
        "delivery-sent-while-off",
        "Whether the endpoint is on is looked at when it is told, and not when it is sent.",
        Plant::Delivery(|delivery, event, context| {
            let endpoint = Endpoint { status: Status::Enabled, ..context.endpoint.clone() };
            step(delivery, event, &Context { endpoint: &endpoint, ..*context })
        }),
    ),
    mutation(
        "delivery-breaker-ignored",
        "An endpoint that should be left alone is not.",
        Plant::Delivery(|delivery, event, context| {
            let endpoint = Endpoint { health: Health::default(), ..context.endpoint.clone() };
            step(delivery, event, &Context { endpoint: &endpoint, ..*context })
        }),
    ),
    mutation(
        "delivery-breaker-cancels",
        "What waits for an endpoint that is left alone is cancelled.",
        Plant::Delivery(|delivery, event, context| match step(delivery, event, context) {
            Step::Blocked { .. } => {
                let state = State::Cancelled { since: context.now };
                Step::Moves { delivery: Delivery { state, ..delivery.clone() }, sign: None }
            }
            step @ (Step::Stays | Step::Sends(_) | Step::Moves { .. }) => step,
        }),
    ),
    mutation(
        "delivery-sent-twice-at-once",
        "What is on its way is sent again whenever it is looked at.",
        Plant::Delivery(|delivery, event, context| match (&delivery.state, event) {
            (State::Delivering { .. }, Event::Due) => {
                let state = State::Pending { due: context.now };
                step(&Delivery { state, ..delivery.clone() }, event, context)
            }
            (_, event) => step(delivery, event, context),
        }),
    ),
    mutation(
        "delivery-waits-as-long-as-asked",
        "A receiver that asks for a year gets a year.",
        Plant::Delivery(|delivery, event, context| {
            let schedule =
                Schedule { retry_after_max: SignedDuration::MAX, ..context.schedule.clone() };
            step(delivery, event, &with_schedule(context, &schedule))
        }),
    ),
];

fn with_schedule<'c>(context: &Context<'c>, schedule: &'c Schedule) -> Context<'c> {
    Context { schedule, ..*context }
}

fn waiting(delivery: &Delivery, due: Timestamp, sign: Option<Sign>) -> Step {
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
