//! Numbers for Prometheus, counted here or asked for when somebody looks.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::extract::State;
use axum::http::{Method, header};
use axum::response::{IntoResponse as _, Response};

use crate::App;
use crate::alerts::{self, Books};

#[derive(Debug, Default)]
pub(crate) struct Metrics(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    requests: BTreeMap<(String, String, u16), u64>,
    /// How many took at most so long, for each of `BOUNDS_MS`, and how many in all.
    latencies: BTreeMap<String, Latency>,
    unmapped_callbacks: BTreeMap<String, u64>,
}

#[derive(Debug, Default, Clone)]
struct Latency {
    at_most: [u64; BOUNDS_MS.len()],
    count: u64,
    micros: u64,
}

const BOUNDS_MS: [u128; 10] = [1, 2, 5, 10, 25, 50, 100, 250, 1_000, 5_000];

impl Metrics {
    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn request(&self, method: &Method, path: &str, status: u16, took: Duration) {
        let mut counts = self.lock();
        let key = (label(method).to_owned(), path.to_owned(), status);
        let count = counts.requests.entry(key).or_default();
        *count = count.saturating_add(1);
        let latency = counts.latencies.entry(path.to_owned()).or_default();
        for (bound, sum) in BOUNDS_MS.iter().zip(&mut latency.at_most) {
            *sum = sum.saturating_add(u64::from(took.as_millis() < *bound));
        }
        latency.count = latency.count.saturating_add(1);
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        latency.micros = latency.micros.saturating_add(micros);
    }

    pub(crate) fn unmapped_callback(&self, channel: &str) {
        let mut counts = self.lock();
        let count = counts.unmapped_callbacks.entry(channel.to_owned()).or_default();
        *count = count.saturating_add(1);
    }

    pub(crate) fn unmapped_callbacks(&self, channel: &str) -> u64 {
        self.lock().unmapped_callbacks.get(channel).copied().unwrap_or_default()
    }
}

/// Anybody may make up a method; what is counted must not grow with it.
fn label(method: &Method) -> &str {
    let known = [
        Method::GET,
        Method::HEAD,
        Method::POST,
        Method::PUT,
        Method::PATCH,
        Method::DELETE,
        Method::OPTIONS,
    ];
    if known.contains(method) { method.as_str() } else { "other" }
}

/// Lines of the Prometheus text format.
#[derive(Default)]
struct Text(String);

impl Text {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        self.0.extend(["# HELP ", name, " ", help, "\n# TYPE ", name, " ", kind, "\n"]);
    }

    fn line(&mut self, name: &str, labels: &[(&str, &str)], value: impl std::fmt::Display) {
        let labels: Vec<String> = labels
            .iter()
            .map(|(label, value)| {
                format!("{label}=\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
            })
            .collect();
        let labels =
            if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        // Writing into a string cannot fail.
        if writeln!(self.0, "{name}{labels} {value}").is_err() {
            self.0.clear();
        }
    }

    fn one(&mut self, name: &str, kind: &str, help: &str, value: impl std::fmt::Display) {
        self.head(name, kind, help);
        self.line(name, &[], value);
    }
}

pub(crate) async fn text(State(app): State<App>) -> Response {
    let mut text = Text::default();
    engine(&mut text, &app);
    http(&mut text, &app.0.metrics);
    books(&mut text, &app).await;
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text.0).into_response()
}

fn engine(text: &mut Text, app: &App) {
    let numbers = app.0.submit.numbers();
    let counters = [
        ("bursar_turns_total", "Turns that were decided.", numbers.turns),
        ("bursar_engine_requests_total", "Requests that were decided.", numbers.requests),
        ("bursar_turns_not_saved_total", "Turns that were not saved.", numbers.not_saved),
        ("bursar_turn_panics_total", "Turns that failed on a bug.", numbers.panics),
        (
            "bursar_flows_quarantined_total",
            "Flows that were set aside because they made turns fail.",
            numbers.quarantined,
        ),
        (
            "bursar_reports_dropped_total",
            "Outcomes that could not be taken; their flows ask again.",
            numbers.dropped_reports,
        ),
    ];
    for (name, help, value) in counters {
        text.one(name, "counter", help, value);
    }
    text.one("bursar_effects_in_flight", "gauge", "Channel calls under way.", numbers.in_flight);
    text.one("bursar_inbox", "gauge", "Requests that wait.", numbers.inbox);
    let lag = numbers.last_turn.map(|last| app.0.submit.now().duration_since(last).as_millis());
    if let Some(lag) = lag {
        text.one("bursar_engine_lag_milliseconds", "gauge", "Since a turn was last finished.", lag);
    }
    let deliveries = numbers.deliveries;
    text.head("bursar_delivery_attempts_total", "counter", "Attempts to tell merchants something.");
    let results = [
        ("taken", deliveries.taken),
        ("failed", deliveries.failed),
        ("unsendable", deliveries.unsendable),
        ("unsent", deliveries.unsent),
    ];
    for (result, count) in results {
        text.line("bursar_delivery_attempts_total", &[("result", result)], count);
    }
    let help = "How long attempts to tell merchants something took, in all.";
    text.one("bursar_delivery_milliseconds_total", "counter", help, deliveries.milliseconds);
    let help = "Attempts to tell merchants something that are under way.";
    text.one("bursar_deliveries_in_flight", "gauge", help, deliveries.in_flight);
    text.head("bursar_submissions_total", "counter", "Submissions by channel.");
    for (channel, numbers) in &numbers.channels {
        text.line("bursar_submissions_total", &[("channel", channel)], numbers.submissions);
    }
    text.head(
        "bursar_submissions_unknown_total",
        "counter",
        "Submissions whose outcome nobody knew.",
    );
    for (channel, numbers) in &numbers.channels {
        text.line("bursar_submissions_unknown_total", &[("channel", channel)], numbers.unknown);
    }
    text.head("bursar_unmapped_total", "counter", "Answers and callbacks that mean nothing to us.");
    for (channel, numbers) in &numbers.channels {
        let unmapped = numbers.unmapped.saturating_add(app.0.metrics.unmapped_callbacks(channel));
        text.line("bursar_unmapped_total", &[("channel", channel)], unmapped);
    }
}

fn http(text: &mut Text, metrics: &Metrics) {
    let counts = metrics.lock();
    text.head("bursar_http_requests_total", "counter", "Requests over HTTP.");
    for ((method, path, status), count) in &counts.requests {
        let labels = [("method", method.as_str()), ("path", path), ("status", &status.to_string())];
        text.line("bursar_http_requests_total", &labels, count);
    }
    let name = "bursar_http_request_milliseconds";
    text.head(name, "histogram", "How long requests took.");
    for (path, latency) in &counts.latencies {
        for (bound, count) in BOUNDS_MS.iter().zip(latency.at_most) {
            let labels = [("path", path.as_str()), ("le", &bound.to_string())];
            text.line(&format!("{name}_bucket"), &labels, count);
        }
        text.line(&format!("{name}_bucket"), &[("path", path), ("le", "+Inf")], latency.count);
        let millis = latency.micros.checked_div(1_000).unwrap_or_default();
        text.line(&format!("{name}_sum"), &[("path", path)], millis);
        text.line(&format!("{name}_count"), &[("path", path)], latency.count);
    }
}

async fn books(text: &mut Text, app: &App) {
    let Ok(Books { live, errands, alerts }) = alerts::look(app).await else {
        return text.one("bursar_books_readable", "gauge", "Whether the books can be read.", 0);
    };
    text.one("bursar_books_readable", "gauge", "Whether the books can be read.", 1);
    text.head("bursar_flows_live", "gauge", "Flows that wait for something, by status.");
    for live in &live {
        text.line(
            "bursar_flows_live",
            &[("kind", &live.kind), ("status", &live.status)],
            live.count,
        );
    }
    text.head(
        "bursar_flows_oldest_seconds",
        "gauge",
        "For how long the oldest of them has not changed.",
    );
    let now = app.0.submit.now();
    for live in &live {
        let labels = [("kind", live.kind.as_str()), ("status", live.status.as_str())];
        text.line(
            "bursar_flows_oldest_seconds",
            &labels,
            now.duration_since(live.oldest).as_secs(),
        );
    }
    let [name, oldest] = ["bursar_outbox_overdue", "bursar_outbox_oldest_seconds"];
    text.head(name, "gauge", "Flows that wait for the Temporal cluster to be told, by lane.");
    for errand in &errands {
        text.line(name, &[("lane", &errand.lane)], errand.count);
    }
    text.head(oldest, "gauge", "For how long the next try of the first of them is overdue.");
    for errand in &errands {
        let age = now.duration_since(errand.since).as_secs();
        text.line(oldest, &[("lane", &errand.lane)], age);
    }
    text.head("bursar_alert", "gauge", "1 while somebody must look.");
    for (name, (alert, _)) in &alerts {
        text.line("bursar_alert", &[("name", name)], u8::from(alert.is_raised));
    }
}
