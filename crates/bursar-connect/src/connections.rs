//! The configured channels, by name.

use std::collections::BTreeMap;
use std::sync::Arc;

use bursar_core::money::Money;
use bursar_core::payouts::{self, Answer, Beneficiary, Event, Order, Outcome};
use jiff::Timestamp;
use tokio::time::Instant;

use crate::guard::{GUARDED, Guard};
use crate::http::HttpChannel;
use crate::simulator::SimChannel;

/// A way to a channel.
#[derive(Debug)]
pub enum Connection {
    Http(HttpChannel),
    Sim(SimChannel),
}

#[derive(Debug, Clone)]
pub struct Connections {
    channels: BTreeMap<String, Arc<Connection>>,
    guard: Guard,
}

impl Connections {
    pub fn new(connections: impl IntoIterator<Item = (String, Connection)>) -> Self {
        let guard = Guard::default();
        let shared = connections.into_iter().map(|(name, mut connection)| {
            if let Connection::Http(channel) = &mut connection {
                channel.obey(&guard);
            }
            (name, Arc::new(connection))
        });
        Self { channels: shared.collect(), guard }
    }

    pub fn get(&self, name: &str) -> Option<&Connection> {
        self.channels.get(name).map(AsRef::as_ref)
    }

    /// What every submission asks before its first byte.
    pub fn guard(&self) -> Guard {
        self.guard.clone()
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
        let connection = self.channels.get(&channel);
        let missing = || format!("there is no connection to a channel named {channel:?}");
        match (order, connection) {
            (Order::Submit { r#try, .. }, Some(_)) if !self.guard.allows() => {
                let outcome = Outcome::NotSent { detail: GUARDED.to_owned(), is_ours: true };
                Event::Submitted { attempt, r#try, outcome }
            }
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
