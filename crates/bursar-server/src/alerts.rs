//! Whoever watches: raises an alert when somebody must look, and clears it when it is over.

use std::collections::BTreeMap;
use std::time::Duration;

use bursar_core::registry::{Alert, Change, Content, Kind, Registration};
use bursar_core::request::Body;
use bursar_store::{Browse as _, Live};
use jiff::{SignedDuration, Timestamp};

use crate::App;
use crate::port::{ChannelNumbers, Numbers};

/// When somebody must look.
#[derive(Debug, Clone, Copy)]
pub struct AlertLimits {
    /// A payout that is stuck for longer.
    pub stuck_age: SignedDuration,
    /// More unknown outcomes than this in a hundred submissions of a channel, between two looks.
    pub unknown_percent: u64,
    /// Fewer submissions prove nothing.
    pub submissions_min: u64,
}

impl Default for AlertLimits {
    fn default() -> Self {
        Self { stuck_age: SignedDuration::from_mins(15), unknown_percent: 20, submissions_min: 20 }
    }
}

const EVERY: Duration = Duration::from_secs(5);

/// Looks now and then, for ever.
pub async fn watch(app: App) {
    let mut before = app.0.submit.numbers();
    let mut raised = BTreeMap::new();
    loop {
        tokio::time::sleep(EVERY).await;
        let read = app.0.readers.read(async |store| {
            Ok((store.live().await?, store.records(Kind::Alert, None, None, 500).await?))
        });
        let Ok((live, known)) = read.await else { continue };
        let numbers = app.0.submit.numbers();
        for record in known {
            if let Content::Alert(alert) = record.content {
                raised.insert(record.id, alert);
            }
        }
        let wanted = alerts(&app, &live, &before, &numbers);
        before = numbers;
        for (name, alert) in wanted {
            let is_known = raised.get(&name);
            let is_news =
                is_known.map_or(alert.is_raised, |known| known.is_raised != alert.is_raised);
            if !is_news {
                continue;
            }
            if alert.is_raised {
                tracing::warn!(alert = name, detail = alert.detail, "somebody must look");
            }
            let Alert { is_raised, detail } = alert.clone();
            let change = Change::SetAlert { name: name.clone(), is_raised, detail };
            let body = Body::Register(Registration { actor: "bursar".to_owned(), change });
            if app.0.submit.ask(body).await.is_ok_and(|answer| answer.is_ok()) {
                raised.insert(name, alert);
            }
        }
    }
}

/// Every alert as it should be now.
fn alerts(app: &App, live: &[Live], before: &Numbers, now: &Numbers) -> Vec<(String, Alert)> {
    let limits = app.0.settings.alerts;
    let time = app.0.submit.now();
    let mut alerts = vec![("stuck_age".to_owned(), stuck(live, time, limits))];
    if let Some((at, detail)) = &now.latest_alert {
        let is_raised = time.duration_since(*at) < limits.stuck_age;
        alerts.push(("engine".to_owned(), Alert { is_raised, detail: detail.clone() }));
    }
    for channel in app.0.rules.channels.keys() {
        let of = |numbers: &Numbers| numbers.channels.get(channel).copied().unwrap_or_default();
        let (before, now) = (of(before), of(now));
        alerts.extend(
            unknown(before, now, limits).map(|alert| (format!("unknown_rate:{channel}"), alert)),
        );
        let callbacks = app.0.metrics.unmapped_callbacks(channel);
        let unmapped = now.unmapped.saturating_add(callbacks);
        let detail = format!("{unmapped} answers of {channel} mean nothing to us: map them");
        let alert = Alert { is_raised: unmapped > 0, detail };
        alerts.push((format!("unmapped_status:{channel}"), alert));
    }
    alerts
}

fn stuck(live: &[Live], now: Timestamp, limits: AlertLimits) -> Alert {
    let stuck = live.iter().find(|live| live.kind == "payout" && live.status == "STUCK");
    let age = stuck.map_or(SignedDuration::ZERO, |live| now.duration_since(live.oldest));
    let count = stuck.map_or(0, |live| live.count);
    let detail = format!("{count} payouts are stuck, one of them for {} minutes", age.as_mins());
    Alert { is_raised: age > limits.stuck_age, detail }
}

/// Too few submissions say nothing: whatever was raised stays as it is.
fn unknown(before: ChannelNumbers, now: ChannelNumbers, limits: AlertLimits) -> Option<Alert> {
    let submissions = now.submissions.saturating_sub(before.submissions);
    let unknown = now.unknown.saturating_sub(before.unknown);
    if submissions < limits.submissions_min {
        return None;
    }
    let percent = unknown.saturating_mul(100).checked_div(submissions)?;
    let detail = format!("{percent} of 100 submissions came back without an answer");
    Some(Alert { is_raised: percent > limits.unknown_percent, detail })
}
