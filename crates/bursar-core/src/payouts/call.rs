//! The calls of a payout to its channel.

use super::beneficiary::Beneficiary;
use super::event::{Answer, Event, Outcome};
use super::state::Payout;
use super::step;
use crate::dispatch::SendTime;
use crate::flow::{self, Effect, Flow, Pool, Slot};
use crate::money::Money;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    pub channel: String,
    /// The reference of the attempt at the channel.
    pub reference: String,
    pub order: Order,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// Send money, once. The connector sends no byte after the lease ends.
    Submit { r#try: u32, amount: Money, beneficiary: Beneficiary },
    /// Query the status.
    Query,
}

impl Call {
    pub(super) fn effect(
        flow: &Flow,
        payout: &Payout,
        effect: step::Effect,
        (now, send_time): (jiff::Timestamp, Option<SendTime>),
    ) -> Effect {
        let channel = &payout.terms.channel;
        let (at, until) = send_time.map_or((now, None), |time| (time.at, Some(time.until)));
        let slot = || Slot { pool: Pool::Channel(channel.clone()), size: None, at, until };
        let (attempt, lease_until, slot, order) = match effect {
            step::Effect::Submit { attempt, r#try, lease_until } => {
                let amount = payout.terms.funds.amount;
                let beneficiary = payout.terms.beneficiary.clone();
                let order = Order::Submit { r#try, amount, beneficiary };
                (attempt, lease_until, Some(slot()), order)
            }
            step::Effect::Query { attempt, lease_until } => {
                (attempt, lease_until, None, Order::Query)
            }
        };
        let reference = payout.reference_of(attempt);
        let call = Self { channel: channel.clone(), reference, order };
        let call = flow::Call::Payout(Box::new(call));
        Effect { flow: flow.id, attempt, lease_until, slot, call }
    }

    /// The submission was not made in time.
    pub(super) fn missed(&self, effect: &Effect) -> Option<Event> {
        let Order::Submit { r#try, .. } = self.order else { return None };
        let detail = "its slot was missed".to_owned();
        let outcome = Outcome::NotSent { detail, is_ours: true };
        Some(Event::Submitted { attempt: effect.attempt, r#try, outcome })
    }

    pub(super) fn lost(&self, effect: &Effect, detail: &str) -> Event {
        let (attempt, detail) = (effect.attempt, detail.to_owned());
        match self.order {
            Order::Submit { r#try, .. } => {
                Event::Submitted { attempt, r#try, outcome: Outcome::Unknown { detail } }
            }
            Order::Query => {
                let (lease_until, answer) = (effect.lease_until, Answer::Failed { detail });
                Event::Queried { attempt, lease_until, answer }
            }
        }
    }
}
