//! `bursar webhook deliveries`, `delivery` and `dead-letters`: what was told to whom, and what became of it.

use bursar_connect::escape;
use bursar_node::client::Ask;
use bursar_node::failure::Failure;
use bursar_node::report::{Column, table_of, text};
use clap::Args;
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::super::{Page, Server, fields, list, rows};

#[derive(Debug, Args)]
pub(super) struct List {
    /// Of this event only, such as evt_…
    #[arg(long, value_name = "ID")]
    event: Option<String>,
    /// Such as DELIVERED or DLQ
    #[arg(long)]
    status: Option<String>,
    #[command(flatten)]
    of: Of,
    #[command(flatten)]
    page: Page,
}

#[derive(Debug, Args)]
pub(super) struct DeadLetters {
    #[command(flatten)]
    of: Of,
    #[command(flatten)]
    page: Page,
}

#[derive(Debug, Args)]
struct Of {
    /// To this endpoint only
    #[arg(long, value_name = "ID")]
    endpoint: Option<String>,
    /// Of this merchant only
    #[arg(long, value_name = "ID")]
    merchant: Option<String>,
    /// Of events at this time or later
    #[arg(long, value_name = "TIME")]
    since: Option<Timestamp>,
}

#[derive(Debug, Args)]
pub(super) struct Named {
    /// The delivery, such as dlv_…
    #[arg(value_name = "ID")]
    id: String,
}

pub(super) const COLUMNS: &[Column] = &[
    Column::text("id", "id"),
    Column::text("event_type", "event"),
    Column::text("event_id", "event id"),
    Column::text("endpoint_id", "endpoint"),
    Column::text("merchant_id", "merchant"),
    Column::text("status", "status"),
    Column::text("next_attempt_at", "next attempt"),
    Column::text("last_error", "last error"),
    Column::number("attempts", "attempts"),
];

const DEAD: &[Column] = &[
    Column::text("id", "id"),
    Column::text("event_type", "event"),
    Column::text("event_id", "event id"),
    Column::text("endpoint_id", "endpoint"),
    Column::text("merchant_id", "merchant"),
    Column::text("updated_at", "since"),
    Column::text("reason", "reason"),
    Column::text("last_error", "last error"),
    Column::number("attempts", "attempts"),
];

const ATTEMPTS: &[Column] = &[
    Column::text("at", "time"),
    Column::text("http_status", "answer"),
    Column::text("error", "error"),
    Column::text("response", "said"),
    Column::number("number", "attempt"),
    Column::number("milliseconds", "ms"),
];

/// What a receiver said may be long; a table shows its beginning.
const SAID_MAX: usize = 60;

impl List {
    pub(super) fn run(self, server: &Server) -> Result<(), Failure> {
        let ask = Ask::get("/v1/deliveries")
            .with("event_id", self.event.as_ref())
            .with("status", self.status.as_ref());
        server.tell(&self.page.of(self.of.narrow(ask)), list(COLUMNS))
    }
}

impl DeadLetters {
    pub(super) fn run(self, server: &Server) -> Result<(), Failure> {
        let ask = self.of.narrow(Ask::get("/v1/dead-letters"));
        server.tell(&self.page.of(ask), |answer| match rows(answer, "data") {
            [] if answer.get("next_cursor").is_none_or(Value::is_null) => {
                "there are no dead letters".to_owned()
            }
            dead => table_of(DEAD, dead),
        })
    }
}

impl Of {
    fn narrow(&self, ask: Ask) -> Ask {
        ask.with("endpoint_id", self.endpoint.as_ref())
            .with("merchant_id", self.merchant.as_ref())
            .with("since", self.since)
    }
}

impl Named {
    pub(super) fn run(self, server: &Server) -> Result<(), Failure> {
        server.tell(&Ask::get(format!("/v1/deliveries/{}", escape(&self.id))), shown)
    }
}

/// A delivery, and its attempts if they were told.
pub(super) fn shown(delivery: &Value) -> String {
    let about: Map<String, Value> = delivery
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(name, _)| *name != "history")
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let about = fields(&Value::Object(about));
    let attempts: Vec<Value> = rows(delivery, "history").iter().map(shortened).collect();
    if attempts.is_empty() {
        return about;
    }
    format!("{about}\nAttempts\n{}", table_of(ATTEMPTS, &attempts))
}

fn shortened(attempt: &Value) -> Value {
    let mut attempt = attempt.clone();
    let hex = attempt.get("response_hex").map(|hex| format!("hex {}", text(hex)));
    let said = hex.or_else(|| attempt.get("response").map(text)).unwrap_or_default();
    if let Some(place) = attempt.get_mut("response") {
        let mut short: String = said.chars().take(SAID_MAX).collect();
        if short.len() < said.len() {
            short.push('…');
        }
        *place = short.into();
    }
    attempt
}
