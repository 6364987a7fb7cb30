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
    let Call::Payout(call) = &effect.call else { panic!("{effect:?} is no payout call") };
    call
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
            ChannelAnswer::Submitted(payouts::Outcome::Paid { provider_reference, reported: None })
        }
        Order::Query => {
            ChannelAnswer::Queried(payouts::Answer::Paid { provider_reference, reported: None })
        }
    }
}

/// Runs webhook calls with the second and all others with the first.
pub(crate) fn composed(channel: impl Outside, endpoints: impl Outside) -> impl Outside {
    move |effect: Effect, deadline: Instant| {
        let is_webhook = matches!(effect.call, Call::Delivery(_));
        if is_webhook { endpoints.run(effect, deadline) } else { channel.run(effect, deadline) }
    }
}
