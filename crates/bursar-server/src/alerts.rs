//! Whoever watches: raises an alert when somebody must look, and clears it when it is over.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use bursar_core::registry::{Alert, Change, Content, Kind, Registration};
use bursar_core::request::Body;
use bursar_store::{Browse as _, Live, Overdue};
use jiff::{SignedDuration, Timestamp};

use crate::App;
use crate::port::{ChannelNumbers, DeliveryNumbers, Numbers};
use crate::problem::Problem;

/// When somebody must look.
#[derive(Debug, Clone, Copy)]
pub struct AlertLimits {
    /// A payout that is stuck for longer.
    pub stuck_age: SignedDuration,
    /// A Temporal cluster should have been told something for longer, and nobody has tried.
    pub outbox_age: SignedDuration,
    /// More unknown outcomes than this in a hundred submissions of a channel.
    pub unknown_percent: u64,
    /// Fewer submissions prove nothing: they are counted together with the next ones.
    pub submissions_min: u64,
}

impl Default for AlertLimits {
    fn default() -> Self {
        Self {
            stuck_age: SignedDuration::from_mins(15),
            outbox_age: SignedDuration::from_mins(2),
            unknown_percent: 20,
            submissions_min: 20,
        }
    }
}

const EVERY: Duration = Duration::from_secs(5);
/// However many flows there are, looking takes at most one part in so many of the time.
const SHARE: u32 = 20;
/// But nobody is left unwatched for longer.
const LONGEST: Duration = Duration::from_mins(1);
/// Alerts that the books themselves show to be on or over.
const STUCK: &str = "stuck_age";
const OUTBOX: &str = "outbox_age";
/// What a process has seen for itself is over when it has not seen it again for so long.
const QUIET: SignedDuration = SignedDuration::from_mins(15);
/// What another process has raised is over for all when nobody has raised it again for so long: it may be gone.
const GONE: SignedDuration = SignedDuration::from_hours(1);

/// Looks now and then, for ever.
pub async fn watch(app: App) {
    let mut watcher = Watcher::default();
    let mut pause = EVERY;
    loop {
        tokio::time::sleep(pause).await;
        let began = Instant::now();
        pause = EVERY;
        let Ok(books) = look(&app).await else { continue };
        pause = began.elapsed().saturating_mul(SHARE).clamp(EVERY, LONGEST);
        for (name, alert) in watcher.look(&app, &books) {
            if alert.is_raised {
                tracing::warn!(alert = name, detail = alert.detail, "somebody must look");
            }
            let Alert { is_raised, detail } = alert;
            let change = Change::SetAlert { name, is_raised, detail };
            let body = Body::Register(Registration { actor: "bursar".to_owned(), change });
            // Not taken now, it is found again with the next look.
            drop(app.0.submit.ask(body).await);
        }
    }
}

/// What the books say about how it goes.
pub(crate) struct Books {
    pub(crate) live: Vec<Live>,
    pub(crate) errands: Vec<Overdue>,
    /// With when each was last raised or cleared.
    pub(crate) alerts: BTreeMap<String, (Alert, Timestamp)>,
}

pub(crate) async fn look(app: &App) -> Result<Books, Problem> {
    let now = app.0.submit.now();
    let read = app.0.readers.read(async move |store| {
        let live = store.live().await?;
        let errands = store.overdue_errands(now).await?;
        let alerts = store.records(Kind::Alert, None, None, 500).await?.records;
        Ok((live, errands, alerts))
    });
    let (live, errands, alerts) = read.await?;
    let alerts = alerts.into_iter().filter_map(|record| match record.content {
        Content::Alert(alert) => Some((record.id, (alert, record.updated_at))),
        Content::Merchant(_)
        | Content::Beneficiary(_)
        | Content::ApiKey(_)
        | Content::Endpoint(_) => None,
    });
    Ok(Books { live, errands, alerts: alerts.collect() })
}

/// What one process has seen. Several may watch one database: each raises what it sees, and clears what was quiet for
/// long or what the books themselves show to be over.
#[derive(Debug, Default)]
struct Watcher {
    before: BTreeMap<String, ChannelNumbers>,
    unmapped: BTreeMap<String, u64>,
    deliveries: DeliveryNumbers,
    /// When each was last seen here.
    seen: BTreeMap<String, Timestamp>,
}

impl Watcher {
    /// The alerts that must change.
    fn look(&mut self, app: &App, books: &Books) -> Vec<(String, Alert)> {
        let (limits, now) = (app.0.settings.alerts, app.0.submit.now());
        let (numbers, known) = (app.0.submit.numbers(), &books.alerts);
        let is_raised = |name: &str| known.get(name).is_some_and(|(alert, _)| alert.is_raised);
        let in_books = [
            (STUCK, stuck(&books.live, now, limits)),
            (OUTBOX, outbox(&books.errands, now, limits)),
        ];
        let mut changes = Vec::new();
        for (name, alert) in in_books {
            if alert.is_raised != is_raised(name) {
                changes.push((name.to_owned(), alert));
            }
        }
        let mut sights = self.channels(app, &numbers);
        sights.extend(self.deliveries(numbers.deliveries));
        if let Some((at, detail)) = &numbers.latest_alert
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

    /// What processes have raised and nobody has seen for long. Whoever has seen it clears it; whoever has not waits longer,
    /// for another process may still see it.
    fn over(
        &mut self,
        known: &BTreeMap<String, (Alert, Timestamp)>,
        now: Timestamp,
    ) -> Vec<(String, Alert)> {
        let mut over = Vec::new();
        let of_processes = known.iter().filter(|(name, _)| ![STUCK, OUTBOX].contains(&&***name));
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

    /// What could not be told since the last look, and is our fault: no receiver can put it right.
    fn deliveries(&mut self, now: DeliveryNumbers) -> Vec<(String, String)> {
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

    /// What the channels of this process have shown since the last look.
    fn channels(&mut self, app: &App, numbers: &Numbers) -> Vec<(String, String)> {
        let limits = app.0.settings.alerts;
        let mut sights = Vec::new();
        for channel in app.0.rules.channels.keys() {
            let now = numbers.channels.get(channel).copied().unwrap_or_default();
            let before = self.before.entry(channel.clone()).or_default();
            let submissions = now.submissions.saturating_sub(before.submissions);
            // Few prove nothing: they are counted together with the next ones.
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

fn stuck(live: &[Live], now: Timestamp, limits: AlertLimits) -> Alert {
    let stuck = live.iter().find(|live| live.kind == "payout" && live.status == "STUCK");
    let age = stuck.map_or(SignedDuration::ZERO, |live| now.duration_since(live.oldest));
    let count = stuck.map_or(0, |live| live.count);
    let detail = format!("{count} payouts are stuck, one of them for {} minutes", age.as_mins());
    Alert { is_raised: age > limits.stuck_age, detail }
}

/// What the cluster is not told waits in the books, and nothing is lost.
fn outbox(errands: &[Overdue], now: Timestamp, limits: AlertLimits) -> Alert {
    let since = errands.iter().map(|errand| errand.since).min().unwrap_or(now);
    let count: u64 = errands.iter().map(|errand| errand.count).fold(0, u64::saturating_add);
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

    use super::{DeliveryNumbers, Watcher};

    #[test]
    fn what_one_process_sees_is_not_cleared_at_once_by_those_that_do_not() {
        let at = |minute| Timestamp::UNIX_EPOCH + SignedDuration::from_mins(minute);
        let known = |changed| {
            let alert = Alert { is_raised: true, detail: "look".to_owned() };
            BTreeMap::from([("engine".to_owned(), (alert, at(changed)))])
        };
        let (mut sees, mut sees_not) = (Watcher::default(), Watcher::default());
        // It was raised, cleared, and raised again after hours.
        sees.seen.insert("engine".to_owned(), at(600));
        assert_eq!(sees_not.over(&known(0), at(61)).len(), 1, "whoever raised it is gone");
        assert!(sees_not.over(&known(600), at(601)).is_empty());
        assert!(sees_not.over(&known(600), at(640)).is_empty());
        assert!(sees.over(&known(600), at(614)).is_empty());
        assert_eq!(sees.over(&known(600), at(616)).len(), 1, "whoever has seen it clears it");
        assert!(sees.over(&known(617), at(640)).is_empty(), "now it is somebody else's");
    }

    #[test]
    fn what_cannot_be_told_by_our_fault_is_seen_once() {
        let mut watcher = Watcher::default();
        let mut look = |unsendable, unsent| {
            let numbers = DeliveryNumbers { unsendable, unsent, ..DeliveryNumbers::default() };
            let seen = watcher.deliveries(numbers).into_iter();
            seen.map(|(name, detail)| (name, detail.split(' ').next().map(str::to_owned))).collect()
        };
        let seen = |name: &str, count: &str| (name.to_owned(), Some(count.to_owned()));
        let nothing: [(String, Option<String>); 0] = [];
        let found: [Vec<_>; 4] = [look(0, 0), look(2, 0), look(2, 7), look(2, 7)];
        let expected = [
            nothing.to_vec(),
            vec![seen("unsendable_webhooks", "2")],
            vec![seen("unsent_webhooks", "7")],
            nothing.to_vec(),
        ];
        assert_eq!(found, expected);
    }
}
