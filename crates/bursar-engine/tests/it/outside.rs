//! Test doubles of the outside: a channel for payout calls, endpoints for webhook calls.

use bursar_core::flow::{Call, Effect, Outcome};
use bursar_core::payouts::{self, Order};
use bursar_engine::{Outside, Running};
use tokio::time::Instant;

/// The answer of a channel to a payout call.
#[derive(Debug)]
pub(crate) enum ChannelAnswer {
    Submitted(payouts::Outcome),
    Queried(payouts::Answer),
}

/// The payout call of an effect.
pub(crate) fn payout_call(effect: &Effect) -> &payouts::Call {
    match &effect.call {
        Call::Payout(call) => call,
        Call::Delivery(_) | Call::PayIn(_) => panic!("{effect:?} is no payout call"),
    }
}

/// The outcome of an effect that the channel answers so.
pub(crate) fn outcome(effect: &Effect, answer: ChannelAnswer) -> Outcome {
    let Effect { attempt, lease_until, .. } = *effect;
    let event = match (&payout_call(effect).order, answer) {
        (Order::Submit { r#try, .. }, ChannelAnswer::Submitted(outcome)) => {
            payouts::Event::Submitted { attempt, r#try: *r#try, outcome }
        }
        (Order::Query, ChannelAnswer::Queried(answer)) => {
            payouts::Event::Queried { attempt, lease_until, answer }
        }
        (order, answer) => panic!("{answer:?} is no answer to {order:?}"),
    };
    Outcome::Payout(event)
}

/// A channel that answers at once, by a function of the call.
pub(crate) fn channel(
    answers: impl Fn(&payouts::Call) -> ChannelAnswer + Send + Sync + 'static,
) -> impl Outside {
    move |effect: Effect, _: Instant| -> Running {
        let answer = answers(payout_call(&effect));
        Box::pin(std::future::ready(outcome(&effect, answer)))
    }
}

/// Pays every submission at once, and says so when it is queried.
pub(crate) fn pays(call: &payouts::Call) -> ChannelAnswer {
    let provider_reference = None;
    match call.order {
        Order::Submit { .. } => {
            ChannelAnswer::Submitted(payouts::Outcome::Paid { provider_reference })
        }
        Order::Query => ChannelAnswer::Queried(payouts::Answer::Paid { provider_reference }),
    }
}

/// Runs payout calls with the first and webhook calls with the second.
pub(crate) fn composed(channel: impl Outside, endpoints: impl Outside) -> impl Outside {
    move |effect: Effect, deadline: Instant| match &effect.call {
        Call::Payout(_) => channel.run(effect, deadline),
        Call::Delivery(_) => endpoints.run(effect, deadline),
        Call::PayIn(never) => match **never {},
    }
}
