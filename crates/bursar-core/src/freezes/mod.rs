//! Freezes: an operator stops all sending, or that of a channel or a merchant.
//!
//! One operator may freeze; two must agree to lift a freeze. A turn that sends money depends on the version of the
//! freezes: the store rejects its commit with `Conflict` if they changed since they were read.

mod restore;

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::flow::{Accepted, Planners};
use crate::four_eyes::{Signature, completes};
use crate::ledger::Admission;
use crate::rejection::Rejection;
use crate::rules::Rules;
use crate::turn::check::{check_actor, check_id, check_note};
use crate::turn::{Decide, Draft, Reads, asks};

pub(crate) use restore::RestoreStatus;
pub use restore::{Report, Restore};

/// The extent of a freeze.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    Global,
    Channel(String),
    Merchant(String),
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Global => f.write_str("global"),
            Self::Channel(name) => write!(f, "channel:{name}"),
            Self::Merchant(id) => write!(f, "merchant:{id}"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Freeze {
    pub reason: String,
    pub actor: String,
    pub since: Timestamp,
    /// The first of two operators who want it lifted. The second must be another person, and one of the two must be an
    /// approver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifted_by: Option<Signature>,
}

/// All that holds payouts back, with a version that counts changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Control {
    pub version: u64,
    pub freezes: BTreeMap<Scope, Freeze>,
    /// The last restore of the books, open or ended.
    pub restore: Option<Restore>,
}

/// An operator freezes or unfreezes a scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FreezeChange {
    pub scope: Scope,
    pub by: Signature,
    pub action: FreezeAction,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FreezeAction {
    Freeze { reason: String },
    Unfreeze { reason: String },
}

impl Control {
    /// Whether nothing may be sent through this channel for this merchant.
    pub fn is_frozen(&self, channel: &str, merchant: &str) -> bool {
        if self.freezes.is_empty() {
            return false;
        }
        let scopes = [
            Scope::Global,
            Scope::Channel(channel.to_owned()),
            Scope::Merchant(merchant.to_owned()),
        ];
        scopes.iter().any(|scope| self.freezes.contains_key(scope))
    }

    /// Whether payouts that wait to be sent through this channel have nothing to do, of whichever merchant. After a restore
    /// the channel is asked about them, frozen or not.
    pub(crate) fn is_channel_at_rest(&self, channel: &str) -> bool {
        let is_rechecked = || self.restore.as_ref().is_some_and(|it| it.is_open_for(channel));
        let mut scopes = self.freezes.keys();
        let is_frozen = scopes.any(|scope| match scope {
            Scope::Global => true,
            Scope::Channel(frozen) => frozen == channel,
            Scope::Merchant(_) => false,
        });
        is_frozen && !is_rechecked()
    }

    /// The merchants whose payouts through this channel have nothing to do.
    pub fn merchants_at_rest(&self, channel: &str) -> Vec<&str> {
        if self.restore.as_ref().is_some_and(|it| it.is_open_for(channel)) {
            return Vec::new();
        }
        let mut merchants = Vec::new();
        for scope in self.freezes.keys() {
            match scope {
                Scope::Merchant(id) => merchants.push(id.as_str()),
                Scope::Global | Scope::Channel(_) => {}
            }
        }
        merchants
    }

    /// Applies a change and returns the resulting status. A change that is already in force does nothing.
    pub(crate) fn apply(
        &mut self,
        change: &FreezeChange,
        now: Timestamp,
    ) -> Result<Standing, Rejection> {
        let FreezeChange { scope, by, action } = change;
        match (action, self.freezes.get_mut(scope)) {
            (FreezeAction::Freeze { .. }, Some(freeze)) => {
                // A new freeze request revokes the pending proposal to lift it.
                freeze.lifted_by = None;
                Ok(Standing::Frozen)
            }
            (FreezeAction::Freeze { reason }, None) => {
                let freeze = Freeze {
                    reason: reason.clone(),
                    actor: by.actor.clone(),
                    since: now,
                    lifted_by: None,
                };
                self.freezes.insert(scope.clone(), freeze);
                Ok(Standing::Frozen)
            }
            (FreezeAction::Unfreeze { .. }, None) => Ok(Standing::Open),
            (FreezeAction::Unfreeze { .. }, Some(freeze)) => match &freeze.lifted_by {
                Some(first) if completes(first, by)? => {
                    self.freezes.remove(scope);
                    Ok(Standing::Open)
                }
                Some(_) | None => {
                    freeze.lifted_by = Some(by.clone());
                    Ok(Standing::Proposed)
                }
            },
        }
    }
}

/// The status of a scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    Frozen,
    /// Still frozen; one of two operators has proposed to lift it.
    Proposed,
    Open,
}

impl Standing {
    pub(crate) const fn status(self) -> &'static str {
        match self {
            Self::Frozen => "FROZEN",
            Self::Proposed => "UNFREEZE_PROPOSED",
            Self::Open => "OPEN",
        }
    }
}

/// A change of what holds payouts back by a commit, or its dependence on that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlWrite {
    /// Precondition (optimistic lock): the store rejects the commit with `Conflict` unless it still finds this version.
    pub version: u64,
    /// All of it after the change, with the next version, if there is one.
    pub after: Option<Control>,
}

#[derive(Debug, Clone)]
pub enum Request {
    FreezeChange(FreezeChange),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    Accepted(Accepted),
}

asks! {
    Freezes {
        FreezeChange => Accepted(Accepted),
    }
}

/// This domain binds nothing.
pub(crate) type Ready<'r> = &'r Request;

impl Request {
    pub(crate) fn admit(&self, _: &Rules, _: &Admission) -> Result<Ready<'_>, Rejection> {
        let Self::FreezeChange(change) = self;
        check_actor(&change.by.actor)?;
        let (FreezeAction::Freeze { reason } | FreezeAction::Unfreeze { reason }) = &change.action;
        check_note(reason)?;
        match &change.scope {
            Scope::Channel(id) | Scope::Merchant(id) => check_id(id)?,
            Scope::Global => {}
        }
        Ok(self)
    }
}

impl Decide for Ready<'_> {
    type Reply = Reply;

    fn plan<'p>(&'p self, _: &Admission, _: &mut Planners<'p>, reads: &mut Reads<'_>) {
        reads.plan.control = true;
    }

    fn apply(&self, draft: &mut Draft<'_>, at: &Admission) -> Result<Reply, Rejection> {
        let Request::FreezeChange(change) = self;
        let before = draft.control().clone();
        let standing = draft.control_mut().apply(change, at.now)?;
        let name = change.scope.to_string();
        if *draft.control() != before {
            let (action, note) = match &change.action {
                FreezeAction::Freeze { reason } => ("freeze", reason.as_str()),
                FreezeAction::Unfreeze { reason } if standing == Standing::Proposed => {
                    ("unfreeze.propose", reason.as_str())
                }
                FreezeAction::Unfreeze { reason } => ("unfreeze", reason.as_str()),
            };
            draft.mark_written(at);
            draft.note((&change.by.actor, action), &name, note, at);
        }
        Ok(Reply::Accepted(Accepted { name, status: standing.status() }))
    }
}
