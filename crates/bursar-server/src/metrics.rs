//! Prometheus metrics: counted here, or read from the host and the store at scrape time.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::extract::State;
use axum::http::{Method, header};
use axum::response::{IntoResponse as _, Response};

use bursar_core::flow::ReviewReason;
use bursar_core::turn::{FlowTally, Tally};
use bursar_store::waiting;

use crate::App;
use crate::access::{Access, AccessRow};
use crate::alerts::{self, Books};
use crate::auditor::Checked;
use crate::http::ConnectionCounts;

pub(crate) const ACCESS: &[AccessRow] = &[("GET", "/metrics", Access::Open)];

#[derive(Debug, Default)]
pub(crate) struct Metrics {
    counts: Mutex<Counts>,
    connections: ConnectionCounts,
}

#[derive(Debug, Default)]
struct Counts {
    requests: BTreeMap<(String, String, u16), u64>,
    /// Histogram buckets by `BOUNDS_MS`, and the total.
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
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) const fn connections(&self) -> &ConnectionCounts {
        &self.connections
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

/// A caller can send any method name; the number of labels must stay bounded.
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
    let stats = app.0.host.stats();
    let counters = [
        ("bursar_turns_total", "Turns that were decided.", stats.turns),
        ("bursar_engine_requests_total", "Requests that were decided.", stats.requests),
        ("bursar_turns_not_saved_total", "Turns that were not saved.", stats.not_saved),
        ("bursar_turn_panics_total", "Turns that failed on a bug.", stats.panics),
        (
            "bursar_flows_quarantined_total",
            "Flows that were quarantined because they made turns fail.",
            stats.quarantined,
        ),
        (
            "bursar_reports_dropped_total",
            "Effect outcomes that could not be queued; their flows query again.",
            stats.dropped_reports,
        ),
    ];
    for (name, help, value) in counters {
        text.one(name, "counter", help, value);
    }
    text.one("bursar_effects_in_flight", "gauge", "Channel calls in flight.", stats.in_flight);
    text.one("bursar_inbox", "gauge", "Requests that wait for a turn.", stats.inbox);
    let lag = stats.last_turn.map(|last| app.0.host.now().duration_since(last).as_millis());
    if let Some(lag) = lag {
        text.one(
            "bursar_engine_lag_milliseconds",
            "gauge",
            "Time since the last finished turn.",
            lag,
        );
    }
    let deliveries = stats.deliveries;
    text.head("bursar_delivery_attempts_total", "counter", "Webhook delivery attempts by result.");
    let results = [
        ("taken", deliveries.taken),
        ("failed", deliveries.failed),
        ("unsendable", deliveries.unsendable),
        ("unsent", deliveries.unsent),
    ];
    for (result, count) in results {
        text.line("bursar_delivery_attempts_total", &[("result", result)], count);
    }
    let help = "Total duration of webhook delivery attempts.";
    text.one("bursar_delivery_milliseconds_total", "counter", help, deliveries.milliseconds);
    let help = "Webhook delivery attempts in flight.";
    text.one("bursar_deliveries_in_flight", "gauge", help, deliveries.in_flight);
    text.head("bursar_submissions_total", "counter", "Submissions by channel.");
    for (channel, counts) in &stats.channels {
        text.line("bursar_submissions_total", &[("channel", channel)], counts.submissions);
    }
    text.head(
        "bursar_submissions_unknown_total",
        "counter",
        "Submissions whose outcome was unknown at first.",
    );
    for (channel, counts) in &stats.channels {
        text.line("bursar_submissions_unknown_total", &[("channel", channel)], counts.unknown);
    }
    text.head("bursar_unmapped_total", "counter", "Answers and callbacks without a mapping.");
    for (channel, counts) in &stats.channels {
        let unmapped = counts.unmapped.saturating_add(app.0.metrics.unmapped_callbacks(channel));
        text.line("bursar_unmapped_total", &[("channel", channel)], unmapped);
    }
}

fn connections(text: &mut Text, counts: &ConnectionCounts) {
    let open = counts.open.load(Ordering::Relaxed);
    text.one("bursar_http_connections", "gauge", "Open connections.", open);
    let name = "bursar_http_connections_closed_total";
    text.head(name, "counter", "Connections that the server closed, by reason.");
    let reasons =
        [("evicted", &counts.evicted), ("timeout", &counts.expired), ("refused", &counts.refused)];
    for (reason, count) in reasons {
        text.line(name, &[("reason", reason)], count.load(Ordering::Relaxed));
    }
}

fn http(text: &mut Text, metrics: &Metrics) {
    connections(text, &metrics.connections);
    let counts = metrics.lock();
    text.head("bursar_http_requests_total", "counter", "HTTP requests.");
    for ((method, path, status), count) in &counts.requests {
        let labels = [("method", method.as_str()), ("path", path), ("status", &status.to_string())];
        text.line("bursar_http_requests_total", &labels, count);
    }
    let name = "bursar_http_request_milliseconds";
    text.head(name, "histogram", "Duration of HTTP requests.");
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

/// Counts of flows, kept by the commits: nothing is counted here.
fn flows(text: &mut Text, tallies: &BTreeMap<String, Tally>) {
    text.head("bursar_flows_live", "gauge", "Flows that wait in a lane, by kind and status.");
    for live in waiting(tallies) {
        let labels = [("kind", live.kind.as_str()), ("status", live.status.as_str())];
        text.line("bursar_flows_live", &labels, live.count);
    }
    let found = || tallies.iter().filter_map(|(name, tally)| FlowTally::parse(name, *tally));
    let labels = |found: &FlowTally<'_>| {
        let FlowTally { kind, status, currency, channel, .. } = *found;
        [("kind", kind), ("status", status), ("currency", currency), ("channel", channel)]
            .map(|(name, value)| (name, value.to_owned()))
    };
    let mut write = |name: &str, kind: &str, help: &str, value: fn(Tally) -> i64| {
        text.head(name, kind, help);
        for found in found() {
            let labels = labels(&found);
            let labels = labels.each_ref().map(|(name, value)| (*name, value.as_str()));
            text.line(name, &labels, value(found.tally));
        }
    };
    let help = "Flows by kind, status, currency and channel.";
    write("bursar_flows", "gauge", help, |tally| tally.count);
    let help = "How often a flow came into this status.";
    write("bursar_flows_entered_total", "counter", help, |tally| tally.entered);
}

async fn books(text: &mut Text, app: &App) {
    let Ok(Books { tallies, reviews, outbox, alerts, .. }) = alerts::read_books(app).await else {
        return text.one("bursar_books_readable", "gauge", "1 if the store can be read.", 0);
    };
    text.one("bursar_books_readable", "gauge", "1 if the store can be read.", 1);
    flows(text, &tallies);
    let now = app.0.host.now();
    let Checked { sequence, at, differences } = app.0.audited.get();
    let help = "The last commit whose link in the hash chain this process has checked.";
    text.one("bursar_chain_verified_sequence", "gauge", help, sequence);
    let help = "Differences that the check has found.";
    text.one("bursar_chain_differences_total", "counter", help, differences);
    if let Some(at) = at {
        let help = "Time since this process last checked a commit, or the end of the chain.";
        text.one(
            "bursar_chain_verified_age_seconds",
            "gauge",
            help,
            now.duration_since(at).as_secs(),
        );
    }
    let name = "bursar_flows_oldest_seconds";
    text.head(name, "gauge", "Time for which the longest stuck flow is stuck.");
    for waiting in reviews.iter().filter(|waiting| waiting.reason == ReviewReason::Stuck) {
        let age = now.duration_since(waiting.since).as_secs();
        text.line(name, &[("kind", waiting.kind), ("status", "STUCK")], age);
    }
    let [name, oldest] = ["bursar_reviews", "bursar_reviews_oldest_seconds"];
    text.head(name, "gauge", "Flows that wait for a person, by kind and reason.");
    for waiting in &reviews {
        text.line(
            name,
            &[("kind", waiting.kind), ("reason", waiting.reason.name())],
            waiting.count,
        );
    }
    text.head(oldest, "gauge", "Time for which the longest waiting of these flows waits.");
    for waiting in &reviews {
        let age = now.duration_since(waiting.since).as_secs();
        text.line(oldest, &[("kind", waiting.kind), ("reason", waiting.reason.name())], age);
    }
    let [name, oldest] = ["bursar_outbox_overdue", "bursar_outbox_oldest_seconds"];
    text.head(name, "gauge", "Overdue outbox entries for the Temporal cluster, by lane.");
    for entry in &outbox {
        text.line(name, &[("lane", &entry.lane)], entry.count);
    }
    text.head(oldest, "gauge", "Delay of the oldest overdue outbox entry.");
    for entry in &outbox {
        let age = now.duration_since(entry.since).as_secs();
        text.line(oldest, &[("lane", &entry.lane)], age);
    }
    text.head("bursar_alert", "gauge", "1 while the alert is raised.");
    for (name, (alert, _)) in &alerts {
        text.line("bursar_alert", &[("name", name)], u8::from(alert.is_raised));
    }
}
