//! What merchants are told, followed as their systems would.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bursar_node::client::{Ask, Client};
use bursar_node::failure::Failure;
use indicatif::ProgressBar;
use jiff::Timestamp;
use serde_json::Value;
use tokio::time::Instant;

use super::crowd::tell;
use super::word;

pub(super) struct Feed<'c> {
    client: &'c Client,
    after: Option<String>,
    /// By payout.
    pub(super) stories: BTreeMap<String, Story>,
    pub(super) events: u64,
    /// Everything that merchants may have told to their own servers.
    pub(super) told: Vec<Told>,
    /// Numbers that were missing, doubled or out of order.
    pub(super) gaps: Vec<String>,
    progress: ProgressBar,
}

/// An event of a merchant.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) id: String,
    pub(super) kind: String,
    pub(super) merchant: String,
}

/// What was told about one payout.
#[derive(Debug)]
pub(super) struct Story {
    pub(super) status: String,
    pub(super) is_final: bool,
    sequence: u64,
    created_at: Timestamp,
    ended_at: Option<Timestamp>,
    /// What its attempts were known by.
    pub(super) references: BTreeSet<String>,
}

/// Between two looks.
const REST: Duration = Duration::from_millis(100);

impl Story {
    /// Nothing more happens unless a person decides.
    pub(super) fn is_at_rest(&self) -> bool {
        self.is_final || self.status == "STUCK"
    }

    /// From its making to its end.
    pub(super) fn latency_ms(&self) -> Option<i128> {
        let ended_at = self.ended_at?;
        Some(ended_at.duration_since(self.created_at).as_millis())
    }
}

impl<'c> Feed<'c> {
    pub(super) fn new(client: &'c Client, progress: ProgressBar) -> Self {
        let (after, stories) = (None, BTreeMap::new());
        let (told, gaps) = (Vec::new(), Vec::new());
        Self { client, after, stories, events: 0, told, gaps, progress }
    }

    /// Follows until this is so; false if it is not in this time.
    pub(super) async fn until(
        &mut self,
        patience: Duration,
        is_so: impl Fn(&Self) -> bool,
    ) -> Result<bool, Failure> {
        let start = Instant::now();
        loop {
            self.catch_up().await?;
            if is_so(self) {
                return Ok(true);
            }
            if start.elapsed() > patience {
                return Ok(false);
            }
            tokio::time::sleep(REST).await;
        }
    }

    pub(super) fn all(&self, count: usize, is_so: impl Fn(&Story) -> bool) -> bool {
        self.stories.len() >= count && self.stories.values().all(is_so)
    }

    pub(super) fn counts(&self) -> BTreeMap<&str, u64> {
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        for story in self.stories.values() {
            let count = counts.entry(&story.status).or_default();
            *count = count.saturating_add(1);
        }
        counts
    }

    pub(super) fn finish(&self) {
        self.progress.finish_and_clear();
    }

    async fn catch_up(&mut self) -> Result<(), Failure> {
        loop {
            let ask = Ask::get("/v1/events").with("limit", Some(500));
            let page = tell(self.client, &ask.with("after", self.after.as_ref())).await?.json;
            let events = page.get("data").and_then(Value::as_array);
            for event in events.into_iter().flatten() {
                self.hear(event)?;
            }
            let place = Some(word(&page, "next_cursor")?.to_owned());
            if place == self.after {
                break;
            }
            self.after = place;
        }
        self.show();
        Ok(())
    }

    fn hear(&mut self, event: &Value) -> Result<(), Failure> {
        let (kind, subject) = (word(event, "type")?, word(event, "subject")?);
        self.events = self.events.saturating_add(1);
        if let Some(merchant) = event.get("merchant_id").and_then(Value::as_str) {
            self.told.push(Told {
                id: word(event, "id")?.to_owned(),
                kind: kind.to_owned(),
                merchant: merchant.to_owned(),
            });
        }
        if !kind.starts_with("payout.") {
            return Ok(());
        }
        let data = event.get("data").unwrap_or(&Value::Null);
        let (told_at, created_at) = (time(event, "time")?, time(data, "created_at")?);
        let story = self.stories.entry(subject.to_owned()).or_insert_with(|| Story {
            status: String::new(),
            is_final: false,
            sequence: 0,
            created_at,
            ended_at: None,
            references: BTreeSet::new(),
        });
        let sequence = event.get("sequence").and_then(Value::as_u64).unwrap_or_default();
        if sequence != story.sequence.saturating_add(1) {
            self.gaps.push(format!("{subject}: {} is followed by {sequence}", story.sequence));
        }
        story.sequence = sequence;
        word(data, "status")?.clone_into(&mut story.status);
        story.is_final = data.get("final").and_then(Value::as_bool).unwrap_or_default();
        story.ended_at = story.ended_at.or(story.is_final.then_some(told_at));
        story.references.insert(word(data, "reference")?.to_owned());
        Ok(())
    }

    fn show(&self) {
        let ended = self.stories.values().filter(|story| story.is_final).count();
        self.progress.set_position(u64::try_from(ended).unwrap_or_default());
        let counts: Vec<String> =
            self.counts().iter().map(|(status, count)| format!("{status} {count}")).collect();
        self.progress.set_message(counts.join(", "));
    }
}

fn time(value: &Value, name: &str) -> Result<Timestamp, Failure> {
    let text = word(value, name)?;
    text.parse().map_err(|error| Failure::new(format!("`{text}` is not a time: {error}")))
}
