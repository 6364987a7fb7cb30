//! The auditor: goes along the hash chain in the background, closes days, compares the accounts with each closing, and
//! publishes the head as an anchor.
//!
//! Every process has one. They do the same work and find the same closings; a closing or an anchor that is there already
//! changes nothing.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use bursar_core::feed::BOOKS;
use bursar_core::ledger::AccountKey;
use bursar_core::ledger::closing::{Close, ClosedAccount, Closing, SinceClosing};
use bursar_core::ledger::verify::ChainEnd;
use bursar_core::numscript::Name;
use bursar_core::registry::{Anchor, Change, Content, Kind, RecordKey, Registration};
use bursar_core::turn::SavedCommit;
use bursar_store::{Browse as _, Query as _, Walk as _, page_size};
use jiff::{SignedDuration, Timestamp};

use crate::App;
use crate::problem::Problem;

/// The auditor uses about one part in so many of the time.
const SHARE: u32 = 20;
/// The pause when there is nothing to check, and after a failure.
const IDLE: Duration = Duration::from_secs(5);
const LONGEST: Duration = Duration::from_secs(30);
/// Accounts in one commit, so that payouts do not wait.
const PART: usize = 2_000;
/// A day without a later commit is closed so long after midnight: the clocks of other processes may be behind.
const GRACE: SignedDuration = SignedDuration::from_mins(1);
/// The alert of books that differ. An auditor that begins later, with the first commit, clears it.
pub(crate) const ALERT: &str = "books_differ";

/// How far the chain is checked.
#[derive(Debug, Default)]
pub(crate) struct Progress(Mutex<Checked>);

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Checked {
    pub(crate) sequence: u64,
    /// When the end of the chain, or this commit, was last checked.
    pub(crate) at: Option<Timestamp>,
    pub(crate) differences: u64,
}

impl Progress {
    pub(crate) fn get(&self) -> Checked {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, checked: Checked) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = checked;
    }
}

/// Runs until it is cancelled.
pub async fn audit(app: App) {
    let mut auditor = None;
    loop {
        let began = Instant::now();
        let step = Auditor::step(&mut auditor, &app).await;
        let pause = began.elapsed().saturating_mul(SHARE).min(LONGEST);
        match step {
            Ok(Step::More) => tokio::time::sleep(pause).await,
            Ok(Step::End) => tokio::time::sleep(pause.max(IDLE)).await,
            Err(problem) => {
                if problem.is_unreadable() {
                    let difference = "a row of a commit cannot be read".to_owned();
                    // If this fails, the next step finds it again.
                    drop(raise(&app, &[difference]).await);
                }
                // Begins again with the last closing.
                auditor = None;
                tokio::time::sleep(LONGEST).await;
            }
        }
    }
}

enum Step {
    /// There may be more commits.
    More,
    End,
}

/// The commits since the last closing.
struct Auditor {
    since: SinceClosing,
    chain: ChainEnd,
    /// Commits to read next.
    size: u32,
    /// The alert is raised since an earlier run, and this one has checked the books from their beginning.
    is_raised: bool,
    /// The closing that the accounts were last compared with.
    compared: Option<u64>,
    /// The hour of the last look for an anchor; first the one in which the process started.
    hour: i64,
}

impl Auditor {
    async fn step(auditor: &mut Option<Self>, app: &App) -> Result<Step, Problem> {
        let this = match auditor {
            Some(this) => this,
            None => auditor.insert(Self::begin(app).await?),
        };
        let (after, size) = (this.since.last.map_or(0, |(seq, ..)| seq), this.size);
        let page = app.0.readers.read(async move |store| store.history(after, size).await).await?;
        for commit in &page {
            if this.since.is_over(commit.time) {
                this.close(app).await?;
            }
            this.check(app, commit).await?;
        }
        let is_end = page.len() < usize::try_from(size).unwrap_or(usize::MAX);
        if !page.is_empty() {
            this.size = page_size(&page);
        }
        if !is_end {
            return Ok(Step::More);
        }
        let (now, sequence) = (app.0.host.now(), this.since.last.map_or(0, |(seq, ..)| seq));
        let progress = &app.0.audited;
        progress.set(Checked { sequence, at: Some(now), ..progress.get() });
        if this.since.is_over(now.saturating_sub(GRACE).unwrap_or(now)) {
            this.close(app).await?;
        }
        this.compare(app).await?;
        this.clear(app).await?;
        this.anchor(app, now).await?;
        Ok(if page.is_empty() { Step::End } else { Step::More })
    }

    /// Begins with the last closing. Books that differed are checked from their beginning.
    async fn begin(app: &App) -> Result<Self, Problem> {
        let read = app.0.readers.read(async |store| {
            let alert = RecordKey { kind: Kind::Alert, id: ALERT.to_owned() };
            Ok((store.closings().await?, store.record(&alert).await?))
        });
        let (closings, alert) = read.await?;
        let is_raised = alert.is_some_and(|record| match record.content {
            Content::Alert(alert) => alert.is_raised,
            Content::Merchant(_)
            | Content::Beneficiary(_)
            | Content::ApiKey(_)
            | Content::Anchor(_)
            | Content::ReportedPayment(_)
            | Content::DispatchSettings(_)
            | Content::DispatchState(_)
            | Content::Endpoint(_) => false,
        });
        let last = closings.last().copied().filter(|_| !is_raised);
        let hash = last.map_or([0; 32], |closing| closing.hash);
        Ok(Self {
            since: SinceClosing::new(last),
            chain: ChainEnd::after(hash),
            size: 1,
            compared: None,
            is_raised,
            hour: hour(app.0.host.now()),
        })
    }

    /// Checks one commit, and raises an alert if the chain is broken.
    async fn check(&mut self, app: &App, commit: &SavedCommit) -> Result<(), Problem> {
        let expected = self.since.last.map_or(1, |(seq, ..)| seq.saturating_add(1));
        let mut differences = self.chain.link(commit);
        if commit.seq != expected {
            differences
                .push(format!("commit {expected} is missing: commit {} follows", commit.seq));
        }
        self.since.add(commit);
        let (sequence, at) = (commit.seq, Some(app.0.host.now()));
        app.0.audited.set(Checked { sequence, at, ..app.0.audited.get() });
        raise(app, &differences).await
    }

    /// Writes the closing as of the last commit that was checked, in parts.
    async fn close(&mut self, app: &App) -> Result<(), Problem> {
        let Some(closing) = self.since.closing() else { return Ok(()) };
        let before = self.since.before.map_or(0, |closing| closing.seq);
        let read = app.0.readers.read(async move |store| {
            Ok((store.closed_accounts(before).await?, store.closings().await?))
        });
        let (rows, closings) = read.await?;
        if !closings.iter().any(|known| known.seq == closing.seq) {
            for part in parts(&self.since, closing, rows) {
                app.ask(part).await?;
            }
            tracing::info!(commit = closing.seq, "the day is closed");
        }
        self.since = SinceClosing::new(Some(closing));
        Ok(())
    }

    /// Compares the accounts with the last closing and the postings behind it, once for each closing.
    async fn compare(&mut self, app: &App) -> Result<(), Problem> {
        let closing = self.since.before.map(|closing| closing.seq);
        if self.compared == closing {
            return Ok(());
        }
        let verify = app.0.readers.report(async |store| store.verify_since_closing().await);
        let verified = verify.await?.map(|(_, report)| report.differences);
        self.compared = closing;
        raise(app, &verified.unwrap_or_default()).await
    }

    /// Clears the alert of an earlier run if the books do not differ any more.
    async fn clear(&mut self, app: &App) -> Result<(), Problem> {
        let is_over = std::mem::take(&mut self.is_raised) && app.0.audited.get().differences == 0;
        if is_over {
            set_alert(app, false, "the whole chain was checked again").await?;
        }
        Ok(())
    }

    /// Publishes the head once an hour, if something was appended since the last time.
    async fn anchor(&mut self, app: &App, now: Timestamp) -> Result<(), Problem> {
        let hour = hour(now);
        if self.hour == hour {
            return Ok(());
        }
        let read = app.0.readers.read(async |store| {
            let record = store.record(&RecordKey::anchor()).await?;
            let known = record.and_then(|record| match record.content {
                Content::Anchor(anchor) => Some((anchor, record.updated_at)),
                Content::Merchant(_)
                | Content::Beneficiary(_)
                | Content::ApiKey(_)
                | Content::Alert(_)
                | Content::ReportedPayment(_)
                | Content::DispatchSettings(_)
                | Content::DispatchState(_)
                | Content::Endpoint(_) => None,
            });
            let mut after = known.as_ref().map_or(0, |(Anchor { sequence, .. }, _)| *sequence);
            let head = store.head().await?;
            loop {
                let page = store.history(after, 16).await?;
                let Some(last) = page.last() else { return Ok((known, head, false)) };
                if page.iter().any(appends) {
                    return Ok((known, head, true));
                }
                after = last.seq;
            }
        });
        let (known, head, is_new) = read.await?;
        let is_due = known.is_none_or(|(_, at)| self::hour(at) < hour);
        if is_new && is_due {
            let change = Change::SetAnchor { sequence: head.seq, hash: head.hash };
            app.ask(Registration { actor: "bursar".to_owned(), change }).await?;
        }
        self.hour = hour;
        Ok(())
    }
}

/// Counts differences, and raises an alert for the first.
async fn raise(app: &App, differences: &[String]) -> Result<(), Problem> {
    let Some(first) = differences.first() else { return Ok(()) };
    for difference in differences {
        tracing::error!(difference, "the books were changed");
    }
    let checked = app.0.audited.get();
    let found = u64::try_from(differences.len()).unwrap_or(u64::MAX);
    let differences = checked.differences.saturating_add(found);
    app.0.audited.set(Checked { differences, ..checked });
    let detail =
        format!("{first}. Stop posting, run `bursar ledger verify`, and restore from a backup");
    set_alert(app, true, &detail).await
}

async fn set_alert(app: &App, is_raised: bool, detail: &str) -> Result<(), Problem> {
    let (name, detail) = (ALERT.to_owned(), detail.to_owned());
    let change = Change::SetAlert { name, is_raised, detail };
    app.ask(Registration { actor: "bursar".to_owned(), change }).await?;
    Ok(())
}

/// Counts hours.
fn hour(time: Timestamp) -> i64 {
    time.as_second().div_euclid(3_600)
}

/// Whether a commit appends anything but anchors.
fn appends(commit: &SavedCommit) -> bool {
    let is_anchor = commit.events.iter().all(|event| event.resource == BOOKS);
    !commit.transactions.is_empty() || !commit.audit.is_empty() || !is_anchor
}

/// The parts of a closing; the last one has the closing itself.
fn parts(since: &SinceClosing, closing: Closing, before: Vec<ClosedAccount>) -> Vec<Close> {
    let key = |row: &ClosedAccount| (Name::clone(&row.address), row.currency);
    let before: BTreeMap<AccountKey, ClosedAccount> =
        before.into_iter().map(|row| (key(&row), row)).collect();
    let rows: Vec<ClosedAccount> =
        since.moved.iter().map(|(key, moved)| moved.close(key, before.get(key))).collect();
    let mut parts: Vec<Close> = rows
        .chunks(PART)
        .map(|rows| Close { seq: closing.seq, accounts: rows.to_vec(), closing: None })
        .collect();
    if let Some(last) = parts.last_mut() {
        last.closing = Some(closing);
    }
    parts
}
