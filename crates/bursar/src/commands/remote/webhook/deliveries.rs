//! `bursar webhook deliveries`, `delivery` and `dead-letters`.

use bursar_node::client::ApiRequest;
use bursar_node::failure::Failure;
use bursar_node::report::{Column, table_of, text};
use clap::Args;
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::super::{Filter, GetArgs, ListArgs, Resource, Server, fields, rows};

#[derive(Debug, Args)]
pub(crate) struct DeliveryFilter {
    /// Only deliveries of this event (evt_…)
    #[arg(long, value_name = "ID")]
    event: Option<String>,
    /// Only deliveries with this status, such as DELIVERED or DLQ
    #[arg(long)]
    status: Option<String>,
    #[command(flatten)]
    rest: DeadLetterFilter,
}

#[derive(Debug, Args)]
pub(crate) struct DeadLetterFilter {
    /// Only deliveries to this endpoint
    #[arg(long, value_name = "ID")]
    endpoint: Option<String>,
    /// Only deliveries of this merchant
    #[arg(long, value_name = "ID")]
    merchant: Option<String>,
    /// Only deliveries of events at or after this time
    #[arg(long, value_name = "TIME")]
    since: Option<Timestamp>,
}

impl Filter for DeliveryFilter {
    fn narrow(&self, request: ApiRequest) -> ApiRequest {
        let request =
            request.with("event_id", self.event.as_ref()).with("status", self.status.as_ref());
        self.rest.narrow(request)
    }
}

impl Filter for DeadLetterFilter {
    fn narrow(&self, request: ApiRequest) -> ApiRequest {
        request
            .with("endpoint_id", self.endpoint.as_ref())
            .with("merchant_id", self.merchant.as_ref())
            .with("since", self.since)
    }
}

pub(super) const DELIVERIES: Resource = Resource {
    path: "/v1/deliveries",
    columns: &[
        Column::text("id", "id"),
        Column::text("event_type", "event"),
        Column::text("event_id", "event id"),
        Column::text("endpoint_id", "endpoint"),
        Column::text("merchant_id", "merchant"),
        Column::text("status", "status"),
        Column::text("next_attempt_at", "next attempt"),
        Column::text("last_error", "last error"),
        Column::number("attempts", "attempts"),
    ],
};

const DEAD_LETTERS: &[Column] = &[
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
    Column::text("response", "response"),
    Column::number("number", "attempt"),
    Column::number("milliseconds", "ms"),
];

/// Characters of a response body that a table shows.
const RESPONSE_MAX: usize = 60;

pub(super) fn get(server: &Server, delivery: &GetArgs) -> Result<(), Failure> {
    server.print_response(&ApiRequest::get(DELIVERIES.path_of(delivery)), shown)
}

pub(super) fn dead_letters(
    server: &Server,
    arguments: &ListArgs<DeadLetterFilter>,
) -> Result<(), Failure> {
    server.print_response(&arguments.request("/v1/dead-letters", None), |response| {
        match rows(response, "data") {
            [] if response.get("next_cursor").is_none_or(Value::is_null) => {
                "there are no dead letters".to_owned()
            }
            dead => table_of(DEAD_LETTERS, dead),
        }
    })
}

/// Lays out a delivery, and its attempts if the response has them.
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
    let body = hex.or_else(|| attempt.get("response").map(text)).unwrap_or_default();
    if let Some(response) = attempt.get_mut("response") {
        let mut short: String = body.chars().take(RESPONSE_MAX).collect();
        if short.len() < body.len() {
            short.push('…');
        }
        *response = short.into();
    }
    attempt
}
