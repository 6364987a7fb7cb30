//! A channel with its own books. Its behaviour follows from the reference alone, so that a test can be repeated.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use bursar_core::flow::Effect;
use bursar_core::payouts::{Answer, Order, Outcome};
use bursar_engine::{Outside, Running};
use tokio::time::Instant;

use crate::outside::{ChannelAnswer, outcome, payout_call};

/// The entry for a reference in the books of the channel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Payment {
    pub(crate) times_paid: u32,
    pub(crate) submissions: u32,
    is_pending: bool,
    queries: u32,
}

#[derive(Debug, Default, Clone)]
pub(crate) struct HostileChannel(Arc<Mutex<BTreeMap<String, Payment>>>);

impl HostileChannel {
    pub(crate) fn books(&self) -> BTreeMap<String, Payment> {
        self.0.lock().unwrap().clone()
    }

    /// One of ten behaviours, by a hash of the reference.
    fn behaviour(reference: &str) -> u32 {
        reference
            .bytes()
            .fold(7, |sum: u32, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte)))
            % 10
    }

    fn submit(&self, reference: &str, r#try: u32) -> Outcome {
        let mut books = self.0.lock().unwrap();
        let detail = |text: &str| text.to_owned();
        let behaviour = Self::behaviour(reference);
        if behaviour == 0 && r#try == 1 {
            return Outcome::NotSent { detail: detail("connection refused"), is_ours: false };
        }
        let payment = books.entry(reference.to_owned()).or_default();
        payment.submissions += 1;
        match behaviour {
            1 => Outcome::Rejected { is_retryable: false, detail: detail("account closed") },
            2 => Outcome::Rejected { is_retryable: true, detail: detail("busy") },
            // Not executed, and the answer does not say so.
            3 => Outcome::Unknown { detail: detail("503") },
            // Paid, and the answer does not say so.
            4 | 5 => {
                payment.times_paid += 1;
                Outcome::Unknown { detail: detail("timeout") }
            }
            6 | 7 => {
                payment.is_pending = true;
                Outcome::Accepted { provider_reference: None, reported: None }
            }
            _ => {
                payment.times_paid += 1;
                Outcome::Paid { provider_reference: None, reported: None }
            }
        }
    }

    fn query(&self, reference: &str) -> Answer {
        let mut books = self.0.lock().unwrap();
        let Some(payment) = books.get_mut(reference) else { return Answer::NotFound };
        payment.queries += 1;
        if payment.queries.is_multiple_of(3) {
            return Answer::Failed { detail: "502".to_owned() };
        }
        if payment.is_pending && payment.queries > 1 {
            payment.is_pending = false;
            payment.times_paid += 1;
        }
        match (payment.times_paid, payment.is_pending) {
            (0, true) => Answer::Pending { provider_reference: None, reported: None },
            (0, false) => {
                Answer::NotPaid { is_retryable: false, detail: "not executed".to_owned() }
            }
            (_, _) => Answer::Paid { provider_reference: None, reported: None },
        }
    }
}

impl Outside for HostileChannel {
    fn run(&self, effect: Effect, _: Instant) -> Running {
        let channel = self.clone();
        Box::pin(async move {
            // The engine may be killed at either yield, before or after the money has left.
            tokio::task::yield_now().await;
            let call = payout_call(&effect);
            let answer = match call.order {
                Order::Submit { r#try, .. } => {
                    ChannelAnswer::Submitted(channel.submit(&call.reference, r#try))
                }
                Order::Query => ChannelAnswer::Queried(channel.query(&call.reference)),
            };
            tokio::task::yield_now().await;
            outcome(&effect, answer)
        })
    }
}
