//! The requests of the pay-in domain, and the records that they need.

use super::event::{NewPayIn, lookup};
use super::state::{Terms, View};
use super::step::BOOKING;
use crate::flow::Planners;
use crate::idempotency::Key;
use crate::ids::PayInId;
use crate::ledger::Admission;
use crate::ledger::rulebook::{Bound, RequestHash};
use crate::registry::RecordKey;
use crate::rejection::Rejection;
use crate::rules::Rules;
use crate::turn::check::{check_actor, check_note};
use crate::turn::{Decide, Draft, Given, Reads, asks};

#[derive(Debug, Clone)]
pub enum Request {
    NewPayIn(NewPayIn),
    CloseCase(CloseCase),
}

/// Close the case of a pay-in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloseCase {
    pub key: Key,
    pub id: PayInId,
    /// The grounds of the decision.
    pub evidence: String,
    pub expected_version: u64,
    pub actor: String,
}

impl CloseCase {
    pub(super) fn request_hash(&self) -> [u8; 32] {
        let mut hash = RequestHash::new("payin.close_case", &self.id.to_string(), None);
        hash.add("expected_version", &self.expected_version.to_string());
        hash.add("actor", &self.actor);
        hash.add("evidence", &self.evidence);
        hash.finish()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    Report(ReportReply),
    PayIn(Given<View>),
}

/// The reply to a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReportReply {
    PayIn(Given<View>),
    /// The report has other values than the pay-in: it books nothing, and the case of the pay-in has it. A rejection would
    /// change nothing, so this is a reply; its sender is answered as if it were rejected.
    Differs(Box<Rejection>),
}

asks! {
    PayIns {
        NewPayIn => Report(ReportReply),
        CloseCase => PayIn(Given<View>),
    }
}

#[derive(Debug)]
pub(crate) enum Ready<'r> {
    Take(Box<Take<'r>>),
    CloseCase(&'r CloseCase),
}

#[derive(Debug)]
pub(crate) struct Take<'r> {
    pub(super) id: PayInId,
    pub(super) new: &'r NewPayIn,
    /// The terms and the booking, or the rejection. Values that cannot be booked are kept if the reference is known.
    pub(super) terms: Result<(Terms, Bound<'r>), Rejection>,
}

impl Request {
    pub(crate) fn admit<'r>(
        &'r self,
        rules: &'r Rules,
        at: &Admission,
    ) -> Result<Ready<'r>, Rejection> {
        match self {
            Self::NewPayIn(it) => Ok(Ready::Take(Box::new(it.admit(rules, at)?))),
            Self::CloseCase(it) => {
                it.key.check()?;
                check_actor(&it.actor)?;
                check_note(&it.evidence)?;
                Ok(Ready::CloseCase(it))
            }
        }
    }
}

impl NewPayIn {
    fn admit<'r>(&'r self, rules: &'r Rules, at: &Admission) -> Result<Take<'r>, Rejection> {
        self.key.as_ref().map_or(Ok(()), Key::check)?;
        self.actor.as_deref().map_or(Ok(()), check_actor)?;
        self.check_names()?;
        let id = PayInId::new(at.now, &at.seed, 0);
        let terms = self.terms(rules).and_then(|terms| {
            let rule = rules.rulebook.rule(BOOKING)?;
            let bound = rule.bind(&id.to_string(), &terms.funds, None)?;
            Ok((terms, bound))
        });
        Ok(Take { id, new: self, terms })
    }
}

impl Take<'_> {
    fn plan(&self, reads: &mut Reads<'_>) {
        let (new, plan) = (self.new, &mut reads.plan);
        plan.attempts.insert((lookup(&new.provider), new.reference.clone()));
        plan.keys.extend(new.key.as_ref().map(Key::digest));
        if let Ok((terms, bound)) = &self.terms {
            plan.add_bound(bound);
            plan.registry.insert(RecordKey::merchant(&terms.funds.merchant));
        }
    }
}

impl Decide for Ready<'_> {
    type Reply = Reply;

    fn plan<'p>(&'p self, _: &Admission, _: &mut Planners<'p>, reads: &mut Reads<'_>) {
        match self {
            Self::Take(it) => it.plan(reads),
            Self::CloseCase(it) => {
                reads.plan.keys.insert(it.key.digest());
                reads.plan.flows.insert(it.id.into());
            }
        }
    }

    fn apply(&self, draft: &mut Draft<'_>, at: &Admission) -> Result<Reply, Rejection> {
        match self {
            Self::Take(it) => it.apply(draft, at).map(Reply::Report),
            Self::CloseCase(it) => it.apply(draft, at).map(Reply::PayIn),
        }
    }
}
