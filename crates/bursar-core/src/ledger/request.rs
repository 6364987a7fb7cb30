//! The requests of the ledger domain: post an event, manually or not, or revert a transaction.

use super::closing::Close;
use super::{Admission, HoldKey, LedgerEvent, Posted, REVERT, Revert, Transaction};
use crate::flow::{Planners, is_flow_name};
use crate::four_eyes::Action;
use crate::ledger::AccountKey;
use crate::ledger::journal::WORLD;
use crate::ledger::rulebook::{Bound, Rule};
use crate::numscript::Name;
use crate::rejection::Rejection;
use crate::rules::Rules;
use crate::turn::check::check_actor;
use crate::turn::{Decide, Draft, ReadSet, Reads, asks};

#[derive(Debug, Clone)]
pub enum Request {
    Post(Post),
    Close(Close),
}

/// Post an event.
#[derive(Debug, Clone)]
pub struct Post {
    pub event: LedgerEvent,
    /// The operator who posts manually, for the audit log.
    pub actor: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    Posted(Posted),
    Closed(Closed),
}

/// A part of a closing is saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Closed;

asks! {
    Ledger {
        Post => Posted(Posted),
        Close => Closed(Closed),
    }
}

#[derive(Debug)]
pub(crate) struct Ready<'r> {
    what: What<'r>,
    actor: Option<&'r str>,
}

#[derive(Debug)]
enum What<'r> {
    Post(Box<Bound<'r>>),
    Revert(Revert),
    Close(&'r Close),
}

impl Request {
    pub(crate) fn admit<'r>(
        &'r self,
        rules: &'r Rules,
        _: &Admission,
    ) -> Result<Ready<'r>, Rejection> {
        let (event, actor) = match self {
            Self::Post(Post { event, actor }) => (event, actor),
            Self::Close(close) => return Ok(Ready { what: What::Close(close), actor: None }),
        };
        let actor = actor.as_deref();
        actor.map_or(Ok(()), check_actor)?;
        let what = if event.name == REVERT {
            What::Revert(Revert::from_event(event)?)
        } else {
            let rule = rules.rulebook.rule(&event.name)?;
            let bound = rule.bind(&event.reference, &event.variables, event.effective_at)?;
            What::Post(Box::new(bound))
        };
        Ok(Ready { what, actor })
    }
}

impl Decide for Ready<'_> {
    type Reply = Reply;

    fn plan<'p>(&'p self, _: &Admission, _: &mut Planners<'p>, reads: &mut Reads<'_>) {
        match &self.what {
            What::Post(bound) => reads.plan.add_bound(bound),
            What::Revert(revert) => {
                reads.plan.references.insert((REVERT.into(), revert.id.to_string()));
                reads.plan.transactions.insert(revert.id);
            }
            // A closing follows from postings that never change.
            What::Close(_) => {}
        }
    }

    /// The accounts and the hold of the transaction to revert.
    fn plan_second(&self, first: &ReadSet, reads: &mut Reads<'_>) {
        let What::Revert(revert) = &self.what else { return };
        for transaction in first.transactions.iter().filter(|found| found.id == revert.id) {
            reads.plan.accounts.extend(touched(transaction));
            // Read again, because a revert since the first round would also have changed these accounts.
            reads.plan.references.insert((REVERT.into(), transaction.id.to_string()));
            let rule = reads.rules.rulebook.rule(&transaction.event).ok();
            if let Some((_, code)) = rule.and_then(Rule::hold) {
                reads.plan.add_hold(HoldKey { code, reference: transaction.reference.clone() });
            }
        }
    }

    fn apply(&self, draft: &mut Draft<'_>, at: &Admission) -> Result<Reply, Rejection> {
        if let What::Close(close) = &self.what {
            draft.close(Close::clone(close), at);
            return Ok(Reply::Closed(Closed));
        }
        // What was posted before is answered again, and changes nothing.
        let (posted, event) = if self.actor.is_some() {
            draft.all_or_nothing(|draft| {
                let (posted, event) = self.post(draft, at)?;
                if let Posted::New(_) = posted {
                    draft.check_alone(Action::Post, None)?;
                }
                Ok((posted, event))
            })?
        } else {
            self.post(draft, at)?
        };
        // A manual posting is audited once.
        if let (Some(actor), Posted::New(id)) = (self.actor, posted) {
            draft.note((actor, "ledger.post"), &id.to_string(), event, at);
        }
        Ok(Reply::Posted(posted))
    }
}

impl Ready<'_> {
    /// Posts the event, and names it.
    fn post(&self, draft: &mut Draft<'_>, at: &Admission) -> Result<(Posted, &str), Rejection> {
        match &self.what {
            What::Post(bound) => {
                check_free(Some(bound.reference()))?;
                Ok((draft.post_bound(bound, at)?, bound.rule().event()))
            }
            What::Revert(revert) => {
                let original = draft.transaction(revert.id);
                check_free(original.map(|original| original.reference.as_str()))?;
                Ok((draft.revert(revert, at)?, REVERT))
            }
            What::Close(_) => Err(Rejection::NoApprovalNeeded),
        }
    }
}

/// Only a flow may book under its own name; otherwise the flow and the books would drift apart.
fn check_free(reference: Option<&str>) -> Result<(), Rejection> {
    match reference.filter(|name| is_flow_name(name)) {
        Some(name) => Err(Rejection::BelongsToFlow { name: name.to_owned() }),
        None => Ok(()),
    }
}

fn touched(transaction: &Transaction) -> impl Iterator<Item = AccountKey> {
    transaction
        .postings
        .iter()
        .flat_map(|posting| {
            [&posting.source, &posting.destination]
                .map(|address| (Name::clone(address), posting.money.currency()))
        })
        .filter(|(address, _)| &**address != WORLD)
}
