//! The watcher: raises alerts for operators, and clears them when their cause is gone.

use std::collections::BTreeMap;
use std::time::Duration;

use bursar_core::flow::{FlowAlert, Kind as _, ReviewReason};
use bursar_core::freezes::Restore;
use bursar_core::payouts::Payout;
use bursar_core::registry::{Alert, Change, Content, Kind, Registration};
use bursar_core::turn::{ALERT_TALLIES, FLOW_TALLIES, Tally};
use bursar_store::{Browse as _, Overdue, Query as _, WaitingReviews};
use jiff::{SignedDuration, Timestamp};

use crate::port::{ChannelStats, DeliveryStats, HostStats};
use crate::problem::Problem;
use crate::staff::StaffWatch;
use crate::{App, auditor};

/// The thresholds of alerts.
#[derive(Debug, Clone, Copy)]
pub struct AlertLimits {
    /// The maximum age of a stuck payout.
    pub stuck_age: SignedDuration,
    /// The maximum delay of an outbox entry for the Temporal cluster.
    pub outbox_age: SignedDuration,
    /// The maximum percentage of submissions of a channel with an unknown outcome.
    pub unknown_percent: u64,
    /// How long the recheck after a restore may be open.
    pub recheck_age: SignedDuration,
    /// The minimum sample: fewer submissions are counted together with the next ones.
    pub submissions_min: u64,
}

impl Default for AlertLimits {
    fn default() -> Self {
        Self {
            stuck_age: SignedDuration::from_mins(15),
            outbox_age: SignedDuration::from_mins(2),
            unknown_percent: 20,
            recheck_age: SignedDuration::from_hours(7 * 24),
            submissions_min: 20,
        }
    }
}

const EVERY: Duration = Duration::from_secs(5);
/// Alerts whose state follows from the store alone, or that only their own task clears.
const STUCK: &str = "stuck_age";
const OUTBOX: &str = "outbox_age";
const OVERFLOW: &str = "sum_overflow";
const RESTORED: &str = "rechecking";
const RECHECK_AGE: &str = "recheck_age";
const BLOCKED: &str = "approval_blocked";
const IN_BOOKS: [&str; 7] =
    [STUCK, OUTBOX, OVERFLOW, RESTORED, RECHECK_AGE, BLOCKED, auditor::ALERT];
/// A process clears an alert that it has seen, after this time without another sight of it.
const QUIET: SignedDuration = SignedDuration::from_mins(15);
/// An alert of another process is cleared after this time: that process may be gone.
const GONE: SignedDuration = SignedDuration::from_hours(1);

/// Runs until it is cancelled.
pub async fn watch(app: App) {
    let mut watcher = Watcher::default();
    loop {
        tokio::time::sleep(EVERY).await;
        let Ok(books) = read_books(&app).await else { continue };
        let has_open = books.reviews.iter().any(|it| it.reason == ReviewReason::Approval);
        watcher.staff.look(&app, has_open).await;
        for (name, alert) in watcher.check(&app, &books) {
            if alert.is_raised {
                tracing::warn!(alert = name, detail = alert.detail, "alert raised");
            }
            let Alert { is_raised, detail } = alert;
            let change = Change::SetAlert { name, is_raised, detail };
            let registration = Registration { actor: "bursar".to_owned(), change };
            // If this fails, the next check finds it again.
            drop(app.ask(registration).await);
        }
    }
}

/// What the store shows to the watcher.
pub(crate) struct Books {
    pub(crate) tallies: BTreeMap<String, Tally>,
    /// The flows that raise an alert, by alert and channel.
    pub(crate) raised: BTreeMap<String, Tally>,
    pub(crate) reviews: Vec<WaitingReviews>,
    pub(crate) outbox: Vec<Overdue>,
    /// With the time of the last change.
    pub(crate) alerts: BTreeMap<String, (Alert, Timestamp)>,
    pub(crate) restore: Option<Restore>,
}

pub(crate) async fn read_books(app: &App) -> Result<Books, Problem> {
    let now = app.0.host.now();
    let read = app.0.readers.read(async move |store| {
        let tallies = store.tallies(FLOW_TALLIES).await?;
        let raised = store.tallies(ALERT_TALLIES).await?;
        let reviews = store.waiting_reviews().await?;
        let outbox = store.overdue_outbox(now).await?;
        let alerts = store.records(Kind::Alert, None, None, 500).await?.records;
        let restore = store.control().await?.restore;
        Ok((tallies, raised, reviews, outbox, alerts, restore))
    });
    let (tallies, raised, reviews, outbox, alerts, restore) = read.await?;
    let alerts = alerts.into_iter().filter_map(|record| match record.content {
        Content::Alert(alert) => Some((record.id, (alert, record.updated_at))),
        Content::Merchant(_)
        | Content::Beneficiary(_)
        | Content::ApiKey(_)
        | Content::Anchor(_)
        | Content::ReportedPayment(_)
        | Content::DispatchSettings(_)
        | Content::DispatchState(_)
        | Content::Endpoint(_) => None,
    });
    Ok(Books { tallies, raised, reviews, outbox, alerts: alerts.collect(), restore })
}

/// The memory of one process. Several processes may watch one store: each raises what it sees, and clears what it has not
/// seen for long or what the store shows to be over.
#[derive(Debug, Default)]
struct Watcher {
    before: BTreeMap<String, ChannelStats>,
    unmapped: BTreeMap<String, u64>,
    deliveries: DeliveryStats,
    /// The time of the last sight in this process.
    seen: BTreeMap<String, Timestamp>,
    staff: StaffWatch,
}

impl Watcher {
    /// The alerts to change.
    fn check(&mut self, app: &App, books: &Books) -> Vec<(String, Alert)> {
        let (limits, now) = (app.0.settings.alerts, app.0.host.now());
        let (stats, known) = (app.0.host.stats(), &books.alerts);
        let is_raised = |name: &str| known.get(name).is_some_and(|(alert, _)| alert.is_raised);
        let mut in_books = vec![
            (STUCK.to_owned(), stuck(&books.reviews, now, limits)),
            (OUTBOX.to_owned(), outbox(&books.outbox, now, limits)),
            (OVERFLOW.to_owned(), overflow(&books.tallies)),
            (RESTORED.to_owned(), restored(books.restore.as_ref())),
            (RECHECK_AGE.to_owned(), recheck_age(books.restore.as_ref(), now, limits)),
            (BLOCKED.to_owned(), self.staff.blocked()),
        ];
        in_books.extend(books.raised.iter().filter_map(|(name, tally)| of_flows(name, *tally)));
        let mut changes: Vec<(String, Alert)> = in_books;
        changes.retain(|(name, alert)| alert.is_raised != is_raised(name));
        let mut sights = self.channels(app, &stats);
        sights.extend(self.deliveries(stats.deliveries));
        sights.extend(self.staff.admin_key());
        if let Some((at, detail)) = &stats.latest_alert
            && now.duration_since(*at) < QUIET
        {
            sights.push(("engine".to_owned(), detail.clone()));
        }
        for (name, detail) in sights {
            if !is_raised(&name) {
                changes.push((name.clone(), Alert { is_raised: true, detail }));
            }
            self.seen.insert(name, now);
        }
        changes.extend(self.over(known, now));
        changes
    }

    /// Alerts of processes that are over. A process that has seen one clears it after `QUIET`; others wait for `GONE`,
    /// because another process may still see it.
    fn over(
        &mut self,
        known: &BTreeMap<String, (Alert, Timestamp)>,
        now: Timestamp,
    ) -> Vec<(String, Alert)> {
        let mut over = Vec::new();
        let is_in_books = |name: &str| {
            let of_flow = name.split_once(':').map(|(alert, _)| alert);
            IN_BOOKS.contains(&name) || of_flow.is_some_and(|alert| flow_alert(alert).is_some())
        };
        let of_processes = known.iter().filter(|(name, _)| !is_in_books(name));
        for (name, (alert, changed)) in of_processes.filter(|(_, (alert, _))| alert.is_raised) {
            let (since, patience) = match self.seen.get(name) {
                Some(seen) => (*seen.max(changed), QUIET),
                None => (*changed, GONE),
            };
            if now.duration_since(since) > patience {
                self.seen.remove(name);
                over.push((name.clone(), Alert { is_raised: false, detail: alert.detail.clone() }));
            }
        }
        over
    }

    /// Webhooks that failed since the last check for a reason on this side: no endpoint can repair them.
    fn deliveries(&mut self, now: DeliveryStats) -> Vec<(String, String)> {
        let before = std::mem::replace(&mut self.deliveries, now);
        let mut sights = Vec::new();
        let dead = now.unsendable.saturating_sub(before.unsendable);
        if dead > 0 {
            let detail = format!(
                "{dead} webhooks cannot be signed or written, or make Bursar fail, and are dead letters: look at /v1/dead-letters, put it right (rotate the endpoint's secret, or report the bug), then replay them"
            );
            sights.push(("unsendable_webhooks".to_owned(), detail));
        }
        let late = now.unsent.saturating_sub(before.unsent);
        if late > 0 {
            let detail = format!(
                "{late} webhooks could not be sent and are tried again: this process lacks a key of BURSAR_SECRET_KEYS, or has no files or ports left (ulimit -n)"
            );
            sights.push(("unsent_webhooks".to_owned(), detail));
        }
        sights
    }

    /// Unknown outcomes and unmapped answers of the channels since the last check.
    fn channels(&mut self, app: &App, stats: &HostStats) -> Vec<(String, String)> {
        let limits = app.0.settings.alerts;
        let mut sights = Vec::new();
        for channel in app.0.rules.channels.keys() {
            let now = stats.channels.get(channel).copied().unwrap_or_default();
            let before = self.before.entry(channel.clone()).or_default();
            let submissions = now.submissions.saturating_sub(before.submissions);
            // A small sample is counted together with the next one.
            if submissions >= limits.submissions_min {
                let unknown = now.unknown.saturating_sub(before.unknown).saturating_mul(100);
                let percent = unknown.checked_div(submissions).unwrap_or_default();
                if percent > limits.unknown_percent {
                    let detail = format!(
                        "{percent} of 100 submissions to {channel} came back without an answer"
                    );
                    sights.push((format!("unknown_rate:{channel}"), detail));
                }
                *before = now;
            }
            let unmapped = now.unmapped.saturating_add(app.0.metrics.unmapped_callbacks(channel));
            let known = self.unmapped.insert(channel.clone(), unmapped).unwrap_or_default();
            if unmapped > known {
                let detail =
                    format!("{unmapped} answers of {channel} mean nothing to us: map them");
                sights.push((format!("unmapped_status:{channel}"), detail));
            }
        }
        sights
    }
}

fn stuck(reviews: &[WaitingReviews], now: Timestamp, limits: AlertLimits) -> Alert {
    let mut reviews = reviews.iter();
    let stuck = reviews.find(|it| it.kind == Payout::INFO.name && it.reason == ReviewReason::Stuck);
    let age = stuck.map_or(SignedDuration::ZERO, |stuck| now.duration_since(stuck.since));
    let count = stuck.map_or(0, |stuck| stuck.count);
    let detail = format!("{count} payouts are stuck, one of them for {} minutes", age.as_mins());
    Alert { is_raised: age > limits.stuck_age, detail }
}

/// Recheck mode is open.
fn restored(restore: Option<&Restore>) -> Alert {
    let open = restore.filter(|restore| restore.is_open());
    let detail = open.map_or_else(String::new, |restore| {
        format!(
            "the books were restored ({}), and payouts are rechecked: see `bursar restore status`, and end it when the channels are known",
            restore.reason
        )
    });
    Alert { is_raised: open.is_some(), detail }
}

fn recheck_age(restore: Option<&Restore>, now: Timestamp, limits: AlertLimits) -> Alert {
    let open = restore.filter(|restore| restore.is_open());
    let age = open.map_or(SignedDuration::ZERO, |restore| now.duration_since(restore.at));
    let hours = age.as_hours();
    let detail = format!(
        "the recheck after a restore is open for {hours} hours: end it, for each channel that is known"
    );
    Alert { is_raised: age > limits.recheck_age, detail }
}

fn flow_alert(name: &str) -> Option<FlowAlert> {
    FlowAlert::ALL.into_iter().find(|alert| alert.name() == name)
}

/// The alert of the flows under a tally, such as `alert/amount_differs/wallet`.
fn of_flows(name: &str, tally: Tally) -> Option<(String, Alert)> {
    let (alert, channel) = name.strip_prefix(ALERT_TALLIES)?.split_once('/')?;
    let count = tally.count;
    let detail = match flow_alert(alert)? {
        FlowAlert::AmountDiffers => format!(
            "{channel} reports another amount than the books have, for {count} payouts or pay-ins: look at them with `bursar review`, and ask the provider what was paid"
        ),
        FlowAlert::BreakGlass => format!(
            "one admin alone has done {channel} {count} times, and no other person has approved it yet: look at /v1/approvals, and approve or reject it"
        ),
        FlowAlert::NotSent => format!(
            "{count} payouts could not be sent to {channel} because this machine has no files, ports, memory or time left; none is given up, and they are tried again: look at ulimit -n and at the load"
        ),
        FlowAlert::Restored => format!(
            "the books were restored, and {channel} cannot prove what became of {count} payouts, so that they wait: load its report, or end the recheck of the channel (`bursar restore status`)"
        ),
        FlowAlert::AmountMissing => format!(
            "{channel} reports {count} payouts as paid without an amount, so that they wait: ask the provider, or set reports_amount of the channel"
        ),
    };
    Some((format!("{alert}:{channel}"), Alert { is_raised: count > 0, detail }))
}

/// A sum that does not fit stays at the largest integer and is not shown any more; no commit is refused for it.
fn overflow(tallies: &BTreeMap<String, Tally>) -> Alert {
    let full: Vec<&str> = tallies
        .iter()
        .filter(|(_, tally)| tally.sum().is_none())
        .map(|(name, _)| name.as_str())
        .collect();
    let detail = format!("the sums of these tallies do not fit any more: {}", full.join(", "));
    Alert { is_raised: !full.is_empty(), detail }
}

/// Outbox entries that are not sent yet wait in the store; none is lost.
fn outbox(entries: &[Overdue], now: Timestamp, limits: AlertLimits) -> Alert {
    let since = entries.iter().map(|entry| entry.since).min().unwrap_or(now);
    let count: u64 = entries.iter().map(|entry| entry.count).fold(0, u64::saturating_add);
    let age = now.duration_since(since);
    let detail = format!(
        "{count} flows wait for the Temporal cluster to be told, one of them for {} seconds: look whether it answers, and whether a process with --engine temporal runs",
        age.as_secs()
    );
    Alert { is_raised: age > limits.outbox_age, detail }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use bursar_core::registry::Alert;
    use jiff::{SignedDuration, Timestamp};

    use super::{DeliveryStats, Watcher};

    #[test]
    fn another_process_clears_an_alert_later_than_the_one_that_sees_it() {
        let at = |minute| Timestamp::UNIX_EPOCH + SignedDuration::from_mins(minute);
        let known = |changed| {
            let alert = Alert { is_raised: true, detail: "look".to_owned() };
            BTreeMap::from([("engine".to_owned(), (alert, at(changed)))])
        };
        let (mut sees, mut sees_not) = (Watcher::default(), Watcher::default());
        // It was raised, cleared, and raised again after hours.
        sees.seen.insert("engine".to_owned(), at(600));
        assert_eq!(sees_not.over(&known(0), at(61)).len(), 1, "the process that raised it is gone");
        assert!(sees_not.over(&known(600), at(601)).is_empty());
        assert!(sees_not.over(&known(600), at(640)).is_empty());
        assert!(sees.over(&known(600), at(614)).is_empty());
        assert_eq!(
            sees.over(&known(600), at(616)).len(),
            1,
            "the process that has seen it clears it"
        );
        assert!(sees.over(&known(617), at(640)).is_empty(), "now it belongs to another process");
    }

    #[test]
    fn unsendable_and_unsent_webhooks_are_reported_once() {
        let mut watcher = Watcher::default();
        let mut report = |unsendable, unsent| {
            let stats = DeliveryStats { unsendable, unsent, ..DeliveryStats::default() };
            let seen = watcher.deliveries(stats).into_iter();
            seen.map(|(name, detail)| (name, detail.split(' ').next().map(str::to_owned))).collect()
        };
        let seen = |name: &str, count: &str| (name.to_owned(), Some(count.to_owned()));
        let nothing: [(String, Option<String>); 0] = [];
        let found: [Vec<_>; 4] = [report(0, 0), report(2, 0), report(2, 7), report(2, 7)];
        let expected = [
            nothing.to_vec(),
            vec![seen("unsendable_webhooks", "2")],
            vec![seen("unsent_webhooks", "7")],
            nothing.to_vec(),
        ];
        assert_eq!(found, expected);
    }
}
