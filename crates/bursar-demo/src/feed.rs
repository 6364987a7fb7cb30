//! Reads the event feed, as an integration of a merchant does.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bursar_node::client::{ApiRequest, Client};
use bursar_node::failure::Failure;
use indicatif::ProgressBar;
use jiff::Timestamp;
use serde_json::Value;
use tokio::time::Instant;

use super::api_clients::send;
use super::text_field;

pub(super) struct Feed<'c> {
    client: &'c Client,
    after: Option<String>,
    /// By payout.
    pub(super) histories: BTreeMap<String, PayoutHistory>,
    pub(super) events: u64,
    /// Events of merchants, for which webhooks may exist.
    pub(super) merchant_events: Vec<MerchantEvent>,
    /// Sequence numbers that were missing, repeated or out of order.
    pub(super) gaps: Vec<String>,
    progress: ProgressBar,
}

/// An event of a merchant.
#[derive(Debug)]
pub(super) struct MerchantEvent {
    pub(super) id: String,
    pub(super) kind: String,
    pub(super) merchant: String,
}

/// The state of one payout according to its events.
#[derive(Debug)]
pub(super) struct PayoutHistory {
    pub(super) status: String,
    pub(super) is_final: bool,
    sequence: u64,
    created_at: Timestamp,
    ended_at: Option<Timestamp>,
    /// The references of its attempts.
    pub(super) references: BTreeSet<String>,
}

/// Pause between two polls.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

impl PayoutHistory {
    /// Final, or stuck until an operator decides.
    pub(super) fn is_settled_or_stuck(&self) -> bool {
        self.is_final || self.status == "STUCK"
    }

    /// From creation to the final status.
    pub(super) fn latency_ms(&self) -> Option<i128> {
        let ended_at = self.ended_at?;
        Some(ended_at.duration_since(self.created_at).as_millis())
    }
}

impl<'c> Feed<'c> {
    pub(super) fn new(client: &'c Client, progress: ProgressBar) -> Self {
        let (after, histories) = (None, BTreeMap::new());
        let (merchant_events, gaps) = (Vec::new(), Vec::new());
        Self { client, after, histories, events: 0, merchant_events, gaps, progress }
    }

    /// Reads the feed until the condition holds; false on a timeout.
    pub(super) async fn until(
        &mut self,
        timeout: Duration,
        condition: impl Fn(&Self) -> bool,
    ) -> Result<bool, Failure> {
        let start = Instant::now();
        loop {
            self.catch_up().await?;
            if condition(self) {
                return Ok(true);
            }
            if start.elapsed() > timeout {
                return Ok(false);
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    pub(super) fn all(&self, count: usize, condition: impl Fn(&PayoutHistory) -> bool) -> bool {
        self.histories.len() >= count && self.histories.values().all(condition)
    }

    pub(super) fn counts(&self) -> BTreeMap<&str, u64> {
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        for history in self.histories.values() {
            let count = counts.entry(&history.status).or_default();
            *count = count.saturating_add(1);
        }
        counts
    }

    pub(super) fn finish(&self) {
        self.progress.finish_and_clear();
    }

    async fn catch_up(&mut self) -> Result<(), Failure> {
        loop {
            let request = ApiRequest::get("/v1/events").with("limit", Some(500));
            let page = send(self.client, &request.with("after", self.after.as_ref())).await?.json;
            let events = page.get("data").and_then(Value::as_array);
            for event in events.into_iter().flatten() {
                self.record(event)?;
            }
            let cursor = Some(text_field(&page, "next_cursor")?.to_owned());
            if cursor == self.after {
                break;
            }
            self.after = cursor;
        }
        self.show();
        Ok(())
    }

    fn record(&mut self, event: &Value) -> Result<(), Failure> {
        let (kind, subject) = (text_field(event, "type")?, text_field(event, "subject")?);
        self.events = self.events.saturating_add(1);
        if let Some(merchant) = event.get("merchant_id").and_then(Value::as_str) {
            self.merchant_events.push(MerchantEvent {
                id: text_field(event, "id")?.to_owned(),
                kind: kind.to_owned(),
                merchant: merchant.to_owned(),
            });
        }
        if !kind.starts_with("payout.") {
            return Ok(());
        }
        let data = event.get("data").unwrap_or(&Value::Null);
        let (event_at, created_at) = (time(event, "time")?, time(data, "created_at")?);
        let history = self.histories.entry(subject.to_owned()).or_insert_with(|| PayoutHistory {
            status: String::new(),
            is_final: false,
            sequence: 0,
            created_at,
            ended_at: None,
            references: BTreeSet::new(),
        });
        let sequence = event.get("sequence").and_then(Value::as_u64).unwrap_or_default();
        if sequence != history.sequence.saturating_add(1) {
            self.gaps.push(format!("{subject}: {} is followed by {sequence}", history.sequence));
        }
        history.sequence = sequence;
        text_field(data, "status")?.clone_into(&mut history.status);
        history.is_final = data.get("final").and_then(Value::as_bool).unwrap_or_default();
        history.ended_at = history.ended_at.or(history.is_final.then_some(event_at));
        history.references.insert(text_field(data, "reference")?.to_owned());
        Ok(())
    }

    fn show(&self) {
        let ended = self.histories.values().filter(|history| history.is_final).count();
        self.progress.set_position(u64::try_from(ended).unwrap_or_default());
        let counts: Vec<String> =
            self.counts().iter().map(|(status, count)| format!("{status} {count}")).collect();
        self.progress.set_message(counts.join(", "));
    }
}

fn time(value: &Value, name: &str) -> Result<Timestamp, Failure> {
    let text = text_field(value, name)?;
    text.parse().map_err(|error| Failure::new(format!("`{text}` is not a time: {error}")))
}
