//! The configured channels, by name.

use std::collections::BTreeMap;
use std::sync::Arc;

use bursar_core::money::Money;
use bursar_core::payouts::{self, Answer, Beneficiary, Event, Order, Outcome};
use jiff::Timestamp;
use tokio::time::Instant;

use crate::http::HttpChannel;
use crate::simulator::SimChannel;

/// A way to a channel.
#[derive(Debug)]
pub enum Connection {
    Http(HttpChannel),
    Sim(SimChannel),
}

#[derive(Debug, Clone)]
pub struct Connections(BTreeMap<String, Arc<Connection>>);

impl Connections {
    pub fn new(connections: impl IntoIterator<Item = (String, Connection)>) -> Self {
        let shared = connections.into_iter().map(|(name, connection)| (name, Arc::new(connection)));
        Self(shared.collect())
    }

    pub fn get(&self, name: &str) -> Option<&Connection> {
        self.0.get(name).map(AsRef::as_ref)
    }

    /// Runs a call of a payout, once. Not a byte is sent from `deadline` on: that is the end of the lease on the monotonic
    /// clock.
    pub async fn run(
        &self,
        call: payouts::Call,
        (attempt, lease_until): (u32, Timestamp),
        deadline: Instant,
    ) -> Event {
        let payouts::Call { channel, reference, order } = call;
        let connection = self.0.get(&channel);
        let missing = || format!("there is no connection to a channel named {channel:?}");
        match (order, connection) {
            (Order::Submit { r#try, amount, beneficiary }, Some(connection)) => {
                let sent = connection.submit(&reference, amount, &beneficiary, deadline);
                Event::Submitted { attempt, r#try, outcome: sent.await }
            }
            (Order::Submit { r#try, .. }, None) => {
                let outcome = Outcome::NotSent { detail: missing(), is_ours: true };
                Event::Submitted { attempt, r#try, outcome }
            }
            (Order::Query, Some(connection)) => {
                let answer = connection.query(&reference, deadline).await;
                Event::Queried { attempt, lease_until, answer }
            }
            (Order::Query, None) => {
                let answer = Answer::Failed { detail: missing() };
                Event::Queried { attempt, lease_until, answer }
            }
        }
    }
}

impl Connection {
    async fn submit(
        &self,
        reference: &str,
        amount: Money,
        beneficiary: &Beneficiary,
        lease: Instant,
    ) -> Outcome {
        match self {
            Self::Http(channel) => channel.submit(reference, amount, beneficiary, lease).await,
            Self::Sim(channel) => channel.submit(reference, amount, lease).await,
        }
    }

    async fn query(&self, reference: &str, lease: Instant) -> Answer {
        match self {
            Self::Http(channel) => channel.query(reference, lease).await,
            Self::Sim(channel) => channel.query(reference, lease).await,
        }
    }
}
