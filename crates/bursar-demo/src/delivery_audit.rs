//! Audit of webhooks: compares the event feed, the deliveries and the logs of the receivers.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bursar_node::client::Client;
use bursar_node::failure::Failure;
use bursar_node::terminal;
use tokio::time::Instant;

use super::audit::{Finding, pages};
use super::feed::MerchantEvent;
use super::receivers::{Behaviour, Receiver, Receivers};
use super::text_field;

/// The deliveries according to the API.
pub(super) struct DeliveryAudit {
    /// By endpoint and event.
    deliveries: BTreeMap<(String, String), Delivered>,
    /// The ids of dead letters.
    dead: BTreeSet<String>,
    /// Further deliveries for the same endpoint and event.
    doubles: Vec<String>,
}

#[derive(Debug)]
struct Delivered {
    id: String,
    status: String,
}

/// Pause between two polls.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// Statuses of a delivery that is not finished.
const OPEN: [&str; 3] = ["PENDING", "DELIVERING", "WAITING_RETRY"];

impl DeliveryAudit {
    /// Waits until every delivery is delivered or dead-lettered, and reads them all.
    pub(super) async fn read(admin: &Client, timeout: Duration) -> Result<Self, Failure> {
        let start = Instant::now();
        while is_any_open(admin).await? && start.elapsed() < timeout {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        let (mut deliveries, mut doubles) = (BTreeMap::new(), Vec::new());
        for row in pages(admin, "/v1/deliveries").await? {
            let key = (
                text_field(&row, "endpoint_id")?.to_owned(),
                text_field(&row, "event_id")?.to_owned(),
            );
            let id = text_field(&row, "id")?.to_owned();
            let delivered = Delivered { id, status: text_field(&row, "status")?.to_owned() };
            if let Some(other) = deliveries.insert(key, delivered) {
                doubles.push(format!("{} has a duplicate", other.id));
            }
        }
        let dead = pages(admin, "/v1/dead-letters").await?;
        let dead = dead.iter().map(|row| Ok(text_field(row, "id")?.to_owned()));
        Ok(Self { deliveries, dead: dead.collect::<Result<_, Failure>>()?, doubles })
    }

    pub(super) fn check(&self, receivers: &Receivers, events: &[MerchantEvent]) -> Vec<Finding> {
        vec![
            self.every_event(receivers, events),
            self.delivered_or_dead(receivers),
            arrived(receivers, events),
            signed(receivers),
        ]
    }

    fn every_event(&self, receivers: &Receivers, events: &[MerchantEvent]) -> Finding {
        let mut failures = self.doubles.clone();
        let mut wanted = BTreeSet::new();
        for (receiver, event) in expected(receivers, events) {
            let key = (receiver.endpoint.clone(), event.id.clone());
            if !self.deliveries.contains_key(&key) {
                failures.push(format!("{} of {} has no delivery", event.id, receiver.merchant));
            }
            wanted.insert(key);
        }
        let unwanted = self.deliveries.iter().filter(|(key, _)| !wanted.contains(*key));
        failures.extend(
            unwanted.map(|(_, delivered)| format!("{} was not subscribed to", delivered.id)),
        );
        let promise = "every event that a merchant has subscribed to has one delivery";
        Finding { promise, checked: wanted.len(), failures }
    }

    fn delivered_or_dead(&self, receivers: &Receivers) -> Finding {
        let mut failures = Vec::new();
        for receiver in &receivers.all {
            let status = if receiver.behaviour == Behaviour::Down { "DLQ" } else { "DELIVERED" };
            for (_, delivered) in self.of(receiver) {
                let Delivered { id, status: found } = delivered;
                if found != status || self.dead.contains(id) != (found == "DLQ") {
                    let name = receiver.behaviour.name();
                    failures.push(format!("{id} is {found}, and its receiver is {name}"));
                }
            }
        }
        let promise =
            "every delivery is delivered; those to a receiver that is down are dead letters";
        Finding { promise, checked: self.deliveries.len(), failures }
    }

    fn of(&self, receiver: &Receiver) -> impl Iterator<Item = (&str, &Delivered)> {
        let of = move |((endpoint, _), _): &(&(String, String), &Delivered)| {
            *endpoint == receiver.endpoint
        };
        self.deliveries.iter().filter(of).map(|((_, event), delivered)| (event.as_str(), delivered))
    }

    /// Results by receiver.
    pub(super) fn table(&self, receivers: &Receivers) -> String {
        let row = |receiver: &std::sync::Arc<Receiver>| {
            let statuses = ["DELIVERED", "DLQ"].map(|status| {
                self.of(receiver).filter(|(_, delivered)| delivered.status == status).count()
            });
            let [delivered, dead] = statuses;
            let log = receiver.log();
            let verified = log.requests.saturating_sub(log.wrong.len());
            let duplicates = usize::try_from(log.duplicates()).unwrap_or(usize::MAX);
            let names = [receiver.behaviour.name().to_owned(), receiver.merchant.clone()];
            let counts = [delivered, dead, log.requests, duplicates, verified];
            names.into_iter().chain(counts.map(|count| count.to_string())).collect()
        };
        let rows = receivers.all.iter().map(row).collect();
        let header = [
            "receiver",
            "merchant",
            "DELIVERED",
            "DLQ",
            "requests",
            "duplicates",
            "signatures verified",
        ];
        terminal::table(&header, 2, rows).to_string()
    }
}

/// Every event with each receiver that is subscribed to it.
fn expected<'r>(
    receivers: &'r Receivers,
    events: &'r [MerchantEvent],
) -> impl Iterator<Item = (&'r Receiver, &'r MerchantEvent)> {
    receivers.all.iter().flat_map(move |receiver| {
        let theirs = events.iter().filter(|event| receiver.wants(event));
        theirs.map(move |event| (receiver.as_ref(), event))
    })
}

/// Checks the logs of the receivers.
fn arrived(receivers: &Receivers, events: &[MerchantEvent]) -> Finding {
    let there =
        expected(receivers, events).filter(|(receiver, _)| receiver.behaviour != Behaviour::Down);
    let (mut checked, mut failures) = (0_usize, Vec::new());
    for (receiver, event) in there {
        checked = checked.saturating_add(1);
        if !receiver.log().seen.contains_key(&event.id) {
            failures.push(format!("{} never received {}", receiver.merchant, event.id));
        }
    }
    Finding { promise: "every reachable receiver got every event", checked, failures }
}

fn signed(receivers: &Receivers) -> Finding {
    let (mut checked, mut failures) = (0_usize, Vec::new());
    for receiver in &receivers.all {
        let log = receiver.log();
        checked = checked.saturating_add(log.requests);
        failures.extend(log.wrong.iter().map(|why| format!("{}: {why}", receiver.merchant)));
    }
    Finding { promise: "receivers verified every signature", checked, failures }
}

async fn is_any_open(admin: &Client) -> Result<bool, Failure> {
    for status in OPEN {
        if !pages(admin, &format!("/v1/deliveries?status={status}")).await?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}
