//! A channel with its own books. Its behaviour follows from the reference alone, so that a test can be repeated.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use bursar_core::effect::{Call, Effect};
use bursar_core::payout::{Answer, Event, Outcome};
use bursar_engine::Channels;
use tokio::time::Instant;

/// What the channel really did, by reference.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Payment {
    pub(crate) times_paid: u32,
    pub(crate) submissions: u32,
    is_pending: bool,
    queries: u32,
}

#[derive(Debug, Default, Clone)]
pub(crate) struct Hostile(Arc<Mutex<BTreeMap<String, Payment>>>);

impl Hostile {
    pub(crate) fn books(&self) -> BTreeMap<String, Payment> {
        self.0.lock().unwrap().clone()
    }

    /// One of a few moods, by the first digits of what the reference hashes to.
    fn mood(reference: &str) -> u32 {
        reference
            .bytes()
            .fold(7, |sum: u32, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte)))
            % 10
    }

    fn submit(&self, reference: &str, r#try: u32) -> Outcome {
        let mut books = self.0.lock().unwrap();
        let detail = |text: &str| text.to_owned();
        let mood = Self::mood(reference);
        if mood == 0 && r#try == 1 {
            return Outcome::NotSent { detail: detail("connection refused") };
        }
        let payment = books.entry(reference.to_owned()).or_default();
        payment.submissions += 1;
        match mood {
            1 => Outcome::Rejected { is_retryable: false, detail: detail("account closed") },
            2 => Outcome::Rejected { is_retryable: true, detail: detail("busy") },
            // Nothing was done, and nobody says so.
            3 => Outcome::Unknown { detail: detail("503") },
            // Paid, and nobody says so.
            4 | 5 => {
                payment.times_paid += 1;
                Outcome::Unknown { detail: detail("timeout") }
            }
            6 | 7 => {
                payment.is_pending = true;
                Outcome::Accepted { provider_reference: None }
            }
            _ => {
                payment.times_paid += 1;
                Outcome::Paid { provider_reference: None }
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
            (0, true) => Answer::Pending { provider_reference: None },
            (0, false) => {
                Answer::NotPaid { is_retryable: false, detail: "not executed".to_owned() }
            }
            (_, _) => Answer::Paid { provider_reference: None },
        }
    }
}

impl Channels for Hostile {
    fn run(
        &self,
        effect: Effect,
        _deadline: Instant,
    ) -> Pin<Box<dyn Future<Output = Event> + Send>> {
        let channel = self.clone();
        Box::pin(async move {
            // Somebody may be stopped here, before or after the money has left.
            tokio::task::yield_now().await;
            let Effect { attempt, lease_until, .. } = effect;
            let event = match effect.call {
                Call::Submit { r#try, .. } => {
                    let outcome = channel.submit(&effect.reference, r#try);
                    Event::Submitted { attempt, r#try, outcome }
                }
                Call::Query => {
                    let answer = channel.query(&effect.reference);
                    Event::Queried { attempt, lease_until, answer }
                }
            };
            tokio::task::yield_now().await;
            event
        })
    }
}
