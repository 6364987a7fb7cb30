//! Requests about a restore of the books: begin and end recheck mode, and take what providers report about the lost time.

use jiff::Timestamp;

use crate::flow::{Accepted, Planners};
use crate::freezes::{Approval, Report, Restore, RestoreStatus};
use crate::ledger::Admission;
use crate::payouts::ReportedPayment;
use crate::registry::Content;
use crate::rejection::Rejection;
use crate::rules::Rules;
use crate::turn::check::{check_actor, check_id, check_note};
use crate::turn::{Decide, Draft, Reads, asks};

/// How many restores the books remember.
const EARLIER_MAX: usize = 50;

#[derive(Debug, Clone)]
pub enum Request {
    RestoreChange(RestoreChange),
    ReportRows(ReportRows),
}

/// Recheck mode begins, ends, or takes a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoreChange {
    pub actor: String,
    /// Whether the actor may be the approver of the two.
    pub is_approver: bool,
    pub action: RestoreAction,
}

impl RestoreChange {
    /// A process has noticed that the books are a copy.
    pub fn noticed(reason: &str) -> Self {
        let action = RestoreAction::Begin { reason: reason.chars().take(500).collect() };
        Self { actor: "bursar".to_owned(), is_approver: false, action }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RestoreAction {
    /// The books are a copy. Whatever was rechecked before is rechecked again.
    Begin { reason: String },
    /// Of one channel, or of all.
    End { channel: Option<String> },
    /// The rows of the report are saved already.
    Report { channel: String, from: Timestamp, to: Timestamp, digest: String, rows: u64 },
}

/// Rows of a report. They count when two people have loaded the report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportRows {
    pub actor: String,
    pub channel: String,
    /// Each with its reference.
    pub rows: Vec<(String, ReportedPayment)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    Accepted(Accepted),
}

asks! {
    Restores {
        RestoreChange => Accepted(Accepted),
        ReportRows => Accepted(Accepted),
    }
}

/// This domain binds nothing.
pub(crate) type Ready<'r> = &'r Request;

impl Request {
    pub(crate) fn admit(&self, rules: &Rules, at: &Admission) -> Result<Ready<'_>, Rejection> {
        let known = |channel: &String| {
            check_id(channel)?;
            if rules.channels.contains_key(channel) {
                return Ok(());
            }
            let known = rules.channels.keys().cloned().collect();
            Err(Rejection::UnknownChannel { channel: channel.clone(), known })
        };
        match self {
            Self::RestoreChange(change) => {
                check_actor(&change.actor)?;
                match &change.action {
                    RestoreAction::Begin { reason } => check_note(reason)?,
                    RestoreAction::End { channel } => channel.as_ref().map_or(Ok(()), known)?,
                    RestoreAction::Report { channel, from, to, digest, .. } => {
                        known(channel)?;
                        check_id(digest)?;
                        if from >= to || *to > at.now {
                            return Err(Rejection::BadReport { from: *from, to: *to });
                        }
                    }
                }
            }
            Self::ReportRows(rows) => {
                check_actor(&rows.actor)?;
                known(&rows.channel)?;
                rows.rows.iter().try_for_each(|(reference, _)| check_id(reference))?;
            }
        }
        Ok(self)
    }
}

impl Decide for Ready<'_> {
    type Reply = Reply;

    fn plan<'p>(&'p self, _: &Admission, _: &mut Planners<'p>, reads: &mut Reads<'_>) {
        match self {
            Request::RestoreChange(_) => reads.plan.control = true,
            Request::ReportRows(ReportRows { channel, rows, .. }) => {
                let keys =
                    rows.iter().map(|(reference, _)| ReportedPayment::key(channel, reference));
                reads.plan.registry.extend(keys);
            }
        }
    }

    fn apply(&self, draft: &mut Draft<'_>, at: &Admission) -> Result<Reply, Rejection> {
        match self {
            Request::RestoreChange(change) => change.apply(draft, at).map(Reply::Accepted),
            Request::ReportRows(rows) => Ok(Reply::Accepted(rows.apply(draft, at))),
        }
    }
}

impl RestoreChange {
    fn apply(&self, draft: &mut Draft<'_>, at: &Admission) -> Result<Accepted, Rejection> {
        let Self { actor, is_approver, action } = self;
        let by = Approval { actor: actor.clone(), is_approver: *is_approver };
        let before = draft.control().restore.clone();
        let (last_seq, last_commit) = draft.last_commit();
        let (status, audited, name, note) = match action {
            RestoreAction::Begin { reason } => {
                // A later restore has a later name, also if the clock stands still.
                let latest = before.as_ref().map_or(Timestamp::MIN, |before| before.at);
                let next = latest.saturating_add(jiff::SignedDuration::from_micros(1));
                let restore = Restore {
                    at: at.now.max(next.unwrap_or(at.now)),
                    last_commit,
                    last_seq,
                    earlier: before.iter().flat_map(earlier).collect(),
                    reason: reason.clone(),
                    actor: actor.clone(),
                    ended_at: None,
                    ended: Default::default(),
                    proposals: Default::default(),
                    reports: Default::default(),
                };
                draft.control_mut().restore = Some(restore);
                (RestoreStatus::Rechecking, "restore.begin", "books".to_owned(), reason.clone())
            }
            RestoreAction::End { channel } => {
                let restore = draft.control_mut().restore.as_mut();
                let restore = restore.ok_or(Rejection::NoRestore)?;
                let status = restore.end(channel.as_deref(), &by, at.now)?;
                let is_proposed = status == RestoreStatus::EndProposed;
                let audited = if is_proposed { "restore.end.propose" } else { "restore.end" };
                (
                    status,
                    audited,
                    channel.clone().unwrap_or_else(|| "books".to_owned()),
                    String::new(),
                )
            }
            RestoreAction::Report { channel, from, to, digest, rows } => {
                let restore = draft.control_mut().restore.as_mut().filter(|it| it.is_open());
                let restore = restore.ok_or(Rejection::NoRestore)?;
                let report = Report {
                    from: *from,
                    to: *to,
                    digest: digest.clone(),
                    rows: *rows,
                    loaded_by: by,
                    confirmed_by: None,
                };
                let status = restore.report(channel, report)?;
                let note = format!("{rows} payments from {from} to {to}, SHA-256 {digest}");
                let is_proposed = status == RestoreStatus::ReportProposed;
                let audited = if is_proposed { "restore.report.propose" } else { "restore.report" };
                (status, audited, channel.clone(), note)
            }
        };
        if draft.control().restore != before {
            draft.mark_written(at);
            draft.note((actor, audited), &name, &note, at);
        }
        Ok(Accepted { name, status: status.name() })
    }
}

/// A restore and those before it, as far as readers may have slept.
fn earlier(before: &Restore) -> impl Iterator<Item = (i64, u64)> {
    let skipped = before.earlier.len().saturating_sub(EARLIER_MAX);
    let known = before.earlier.iter().skip(skipped).copied();
    known.chain([(before.epoch(), before.last_seq)])
}

impl ReportRows {
    fn apply(&self, draft: &mut Draft<'_>, at: &Admission) -> Accepted {
        for (reference, row) in &self.rows {
            let key = ReportedPayment::key(&self.channel, reference);
            let known = draft.record(key.kind, &key.id).map(|record| &record.content);
            let content = Content::ReportedPayment(row.clone());
            if known != Some(&content) {
                draft.put_record(key, content, at);
            }
        }
        Accepted { name: self.channel.clone(), status: "SAVED" }
    }
}
