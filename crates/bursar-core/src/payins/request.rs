//! The requests of the pay-in domain, and the records that they need.

use super::event::{NewPayIn, lookup};
use super::state::{Terms, View};
use super::step::BOOKING;
use crate::flow::Planners;
use crate::idempotency::Key;
use crate::ids::PayInId;
use crate::ledger::Admission;
use crate::ledger::rulebook::Bound;
use crate::registry::RecordKey;
use crate::rejection::Rejection;
use crate::rules::Rules;
use crate::turn::check::check_actor;
use crate::turn::{Decide, Draft, Given, Reads, asks};

#[derive(Debug, Clone)]
pub enum Request {
    NewPayIn(NewPayIn),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    PayIn(Given<View>),
}

asks! {
    PayIns {
        NewPayIn => PayIn(Given<View>),
    }
}

#[derive(Debug)]
pub(crate) enum Ready<'r> {
    Take(Box<Take<'r>>),
}

#[derive(Debug)]
pub(crate) struct Take<'r> {
    pub(super) id: PayInId,
    pub(super) new: &'r NewPayIn,
    pub(super) terms: Terms,
    pub(super) bound: Bound<'r>,
}

impl Request {
    pub(crate) fn admit<'r>(
        &'r self,
        rules: &'r Rules,
        at: &Admission,
    ) -> Result<Ready<'r>, Rejection> {
        let Self::NewPayIn(new) = self;
        new.key.as_ref().map_or(Ok(()), Key::check)?;
        new.actor.as_deref().map_or(Ok(()), check_actor)?;
        let terms = new.terms(rules)?;
        let id = PayInId::new(at.now, &at.seed, 0);
        let rule = rules.rulebook.rule(BOOKING)?;
        let bound = rule.bind(&id.to_string(), &terms.funds, None)?;
        Ok(Ready::Take(Box::new(Take { id, new, terms, bound })))
    }
}

impl Decide for Ready<'_> {
    type Reply = Reply;

    fn plan<'p>(&'p self, _: &Admission, _: &mut Planners<'p>, reads: &mut Reads<'_>) {
        let (Self::Take(take), plan) = (self, &mut reads.plan);
        plan.keys.extend(take.new.key.as_ref().map(Key::digest));
        plan.add_bound(&take.bound);
        plan.registry.insert(RecordKey::merchant(&take.terms.funds.merchant));
        plan.attempts.insert((lookup(&take.terms.provider), take.terms.reference.clone()));
    }

    fn apply(&self, draft: &mut Draft<'_>, at: &Admission) -> Result<Reply, Rejection> {
        let Self::Take(take) = self;
        take.apply(draft, at).map(Reply::PayIn)
    }
}
