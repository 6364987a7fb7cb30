//! Requests about a restore of the books: begin and end recheck mode, and take what providers report about the lost time.

use jiff::Timestamp;

use crate::feed::BOOKS;
use crate::flow::{Accepted, Planners};
use crate::four_eyes::Signature;
use crate::freezes::{Report, Restore, RestoreStatus};
use crate::ledger::Admission;
use crate::payouts::ReportedPayment;
use crate::registry::Content;
use crate::rejection::Rejection;
use crate::rules::Rules;
use crate::turn::check::{check_actor, check_id, check_note};
use crate::turn::{Decide, Draft, Reads, asks};

#[derive(Debug, Clone)]
pub enum Request {
    RestoreChange(RestoreChange),
    ReportRows(ReportRows),
}

/// Recheck mode begins, ends, or takes a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoreChange {
    pub by: Signature,
    pub action: RestoreAction,
}

impl RestoreChange {
    /// A process has noticed that the books are a copy.
    pub fn noticed(reason: &str) -> Self {
        let action = RestoreAction::Begin { reason: reason.chars().take(500).collect() };
        Self { by: Signature::new("bursar", false), action }
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
    /// The digest of the report.
    pub report: String,
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
                check_actor(&change.by.actor)?;
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
                check_id(&rows.report)?;
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
            Request::ReportRows(ReportRows { channel, report, rows, .. }) => {
                let key =
                    |(reference, _): &(String, _)| ReportedPayment::key(channel, report, reference);
                let keys = rows.iter().map(key);
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
        let Self { by, action } = self;
        let (before, last_commit) = (draft.control().restore.clone(), draft.last_commit());
        let restore = &mut draft.control_mut().restore;
        let books = || BOOKS.to_owned();
        let (status, name, note) = match action {
            RestoreAction::Begin { reason } => {
                *restore = Some(Restore::begin(
                    restore.as_ref(),
                    at.now,
                    last_commit,
                    (&by.actor, reason),
                ));
                (RestoreStatus::Rechecking, books(), reason.clone())
            }
            RestoreAction::End { channel } => {
                let restore = restore.as_mut().ok_or(Rejection::NoRestore)?;
                let status = restore.end(channel.as_deref(), by, at.now)?;
                (status, channel.clone().unwrap_or_else(books), String::new())
            }
            RestoreAction::Report { channel, from, to, digest, rows } => {
                let restore = restore.as_mut().filter(|it| it.is_open_for(channel));
                let restore = restore.ok_or(Rejection::NoRestore)?;
                let report = Report {
                    from: *from,
                    to: *to,
                    digest: digest.clone(),
                    rows: *rows,
                    loaded_by: by.clone(),
                    confirmed_by: None,
                };
                let note = format!("{rows} payments from {from} to {to}, SHA-256 {digest}");
                (restore.report(channel, report)?, channel.clone(), note)
            }
        };
        if draft.control().restore != before {
            draft.mark_written(at);
            draft.note((&by.actor, status.action()), &name, &note, at);
        }
        Ok(Accepted { name, status: status.name() })
    }
}

impl ReportRows {
    fn apply(&self, draft: &mut Draft<'_>, at: &Admission) -> Accepted {
        for (reference, row) in &self.rows {
            let key = ReportedPayment::key(&self.channel, &self.report, reference);
            let known = draft.record(key.kind, &key.id).map(|record| &record.content);
            let content = Content::ReportedPayment(row.clone());
            if known != Some(&content) {
                draft.put_record(key, content, at);
            }
        }
        Accepted { name: self.channel.clone(), status: "SAVED" }
    }
}
