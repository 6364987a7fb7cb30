//! Whether every receiver was told of everything: the feed, the deliveries and the receivers' own notes, each held
//! against the others.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bursar_node::client::Client;
use bursar_node::failure::Failure;
use bursar_node::terminal;
use tokio::time::Instant;

use super::audit::{Finding, pages};
use super::feed::Told;
use super::receivers::{Manner, Receiver, Receivers};
use super::word;

/// What the API says about what was told to receivers.
pub(super) struct Letters {
    /// By endpoint and event.
    deliveries: BTreeMap<(String, String), Delivered>,
    /// Deliveries that stand among the dead letters.
    dead: BTreeSet<String>,
    /// More than one for an endpoint and an event.
    doubles: Vec<String>,
}

#[derive(Debug)]
struct Delivered {
    id: String,
    status: String,
}

/// Between two looks.
const REST: Duration = Duration::from_millis(200);
/// Where nothing waits any more.
const OPEN: [&str; 3] = ["PENDING", "DELIVERING", "WAITING_RETRY"];

impl Letters {
    /// Waits until everything is delivered or dead, and reads it all.
    pub(super) async fn read(house: &Client, patience: Duration) -> Result<Self, Failure> {
        let start = Instant::now();
        while is_any_open(house).await? && start.elapsed() < patience {
            tokio::time::sleep(REST).await;
        }
        let (mut deliveries, mut doubles) = (BTreeMap::new(), Vec::new());
        for row in pages(house, "/v1/deliveries").await? {
            let key = (word(&row, "endpoint_id")?.to_owned(), word(&row, "event_id")?.to_owned());
            let id = word(&row, "id")?.to_owned();
            let delivered = Delivered { id, status: word(&row, "status")?.to_owned() };
            if let Some(other) = deliveries.insert(key, delivered) {
                doubles.push(format!("{} has a twin", other.id));
            }
        }
        let dead = pages(house, "/v1/dead-letters").await?;
        let dead = dead.iter().map(|row| Ok(word(row, "id")?.to_owned()));
        Ok(Self { deliveries, dead: dead.collect::<Result<_, Failure>>()?, doubles })
    }

    pub(super) fn check(&self, receivers: &Receivers, told: &[Told]) -> Vec<Finding> {
        vec![
            self.every_event(receivers, told),
            self.delivered_or_dead(receivers),
            arrived(receivers, told),
            signed(receivers),
        ]
    }

    fn every_event(&self, receivers: &Receivers, told: &[Told]) -> Finding {
        let mut failures = self.doubles.clone();
        let mut wanted = BTreeSet::new();
        for (receiver, event) in expected(receivers, told) {
            let key = (receiver.endpoint.clone(), event.id.clone());
            if !self.deliveries.contains_key(&key) {
                failures.push(format!("{} of {} has no delivery", event.id, receiver.merchant));
            }
            wanted.insert(key);
        }
        let unwanted = self.deliveries.iter().filter(|(key, _)| !wanted.contains(*key));
        failures.extend(unwanted.map(|(_, delivered)| format!("nobody wanted {}", delivered.id)));
        let promise = "every event that a merchant has subscribed to has one delivery";
        Finding { promise, checked: wanted.len(), failures }
    }

    fn delivered_or_dead(&self, receivers: &Receivers) -> Finding {
        let mut failures = Vec::new();
        for receiver in &receivers.all {
            let status = if receiver.manner == Manner::Down { "DLQ" } else { "DELIVERED" };
            for (_, delivered) in self.of(receiver) {
                let Delivered { id, status: found } = delivered;
                if found != status || self.dead.contains(id) != (found == "DLQ") {
                    let name = receiver.manner.name();
                    failures.push(format!("{id} is {found}, and its receiver is {name}"));
                }
            }
        }
        let promise = "all are delivered, but to whom is down: those are dead letters";
        Finding { promise, checked: self.deliveries.len(), failures }
    }

    fn of(&self, receiver: &Receiver) -> impl Iterator<Item = (&str, &Delivered)> {
        let of = move |((endpoint, _), _): &(&(String, String), &Delivered)| {
            *endpoint == receiver.endpoint
        };
        self.deliveries.iter().filter(of).map(|((_, event), delivered)| (event.as_str(), delivered))
    }

    /// How each receiver fared.
    pub(super) fn table(&self, receivers: &Receivers) -> String {
        let row = |receiver: &std::sync::Arc<Receiver>| {
            let statuses = ["DELIVERED", "DLQ"].map(|status| {
                self.of(receiver).filter(|(_, delivered)| delivered.status == status).count()
            });
            let [delivered, dead] = statuses;
            let log = receiver.log();
            let verified = log.requests.saturating_sub(log.wrong.len());
            let duplicates = usize::try_from(log.duplicates()).unwrap_or(usize::MAX);
            let names = [receiver.manner.name().to_owned(), receiver.merchant.clone()];
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

/// Who must hear of what.
fn expected<'r>(
    receivers: &'r Receivers,
    told: &'r [Told],
) -> impl Iterator<Item = (&'r Receiver, &'r Told)> {
    receivers.all.iter().flat_map(move |receiver| {
        let theirs = told.iter().filter(|event| receiver.wants(event));
        theirs.map(move |event| (receiver.as_ref(), event))
    })
}

/// By the receivers' own notes.
fn arrived(receivers: &Receivers, told: &[Told]) -> Finding {
    let there = expected(receivers, told).filter(|(receiver, _)| receiver.manner != Manner::Down);
    let (mut checked, mut failures) = (0_usize, Vec::new());
    for (receiver, event) in there {
        checked = checked.saturating_add(1);
        if !receiver.log().seen.contains_key(&event.id) {
            failures.push(format!("{} never heard of {}", receiver.merchant, event.id));
        }
    }
    Finding { promise: "every receiver that is there heard of every event", checked, failures }
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

async fn is_any_open(house: &Client) -> Result<bool, Failure> {
    for status in OPEN {
        if !pages(house, &format!("/v1/deliveries?status={status}")).await?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}
