//! The switches that people throw: what is frozen is not sent, whoever asks.
//!
//! One person may freeze; two must agree to lift it. A turn that plans to send something relies on the version of these
//! records, and is not saved if they have changed since it looked.

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::rejection::Rejection;

/// How much is frozen.
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
    /// Who wants it lifted; a second person must want the same, and one of the two must be an approver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifted_by: Option<Lifter>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lifter {
    pub actor: String,
    pub is_approver: bool,
}

/// All switches, and how often they were changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Control {
    pub version: u64,
    pub freezes: BTreeMap<Scope, Freeze>,
}

/// Somebody throws a switch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Switch {
    pub scope: Scope,
    pub actor: String,
    /// Whether they may be the one of two who approves.
    pub is_approver: bool,
    pub turn: Turned,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Turned {
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

    /// Throws a switch and says how it stands; nothing happens if it stands so already.
    pub(crate) fn throw(&mut self, switch: &Switch, now: Timestamp) -> Result<Standing, Rejection> {
        let Switch { scope, actor, is_approver, turn } = switch;
        match (turn, self.freezes.get_mut(scope)) {
            (Turned::Freeze { .. }, Some(freeze)) => {
                // Frozen again: whoever wanted it lifted must think again.
                freeze.lifted_by = None;
                Ok(Standing::Frozen)
            }
            (Turned::Freeze { reason }, None) => {
                let freeze = Freeze {
                    reason: reason.clone(),
                    actor: actor.clone(),
                    since: now,
                    lifted_by: None,
                };
                self.freezes.insert(scope.clone(), freeze);
                Ok(Standing::Frozen)
            }
            (Turned::Unfreeze { .. }, None) => Ok(Standing::Open),
            (Turned::Unfreeze { .. }, Some(freeze)) => match &freeze.lifted_by {
                None => {
                    let (actor, is_approver) = (actor.clone(), *is_approver);
                    freeze.lifted_by = Some(Lifter { actor, is_approver });
                    Ok(Standing::Proposed)
                }
                Some(first) if is_same_person(&first.actor, actor) => {
                    Err(Rejection::SecondPersonNeeded { actor: actor.clone() })
                }
                Some(first) if !first.is_approver && !is_approver => {
                    Err(Rejection::ApproverNeeded { actor: actor.clone() })
                }
                Some(_) => {
                    self.freezes.remove(scope);
                    Ok(Standing::Open)
                }
            },
        }
    }
}

/// An actor is a name and, behind a slash, the key that was used: two keys of one name are one person.
pub(crate) fn is_same_person(one: &str, other: &str) -> bool {
    let name = |actor: &str| actor.rsplit_once('/').map_or(actor, |(name, _)| name).to_owned();
    name(one) == name(other)
}

/// How a switch stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    Frozen,
    /// Still frozen; one of two wants it lifted.
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

/// What a commit does to the switches, or that it relied on them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlWrite {
    /// The version that was read; whoever saves must still find it.
    pub version: u64,
    /// All freezes as they are afterwards, if they have changed.
    pub freezes: Option<BTreeMap<Scope, Freeze>>,
}
