//! The data of an approval: what is proposed, by whom, and who signed.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::preview::Preview;
use crate::flow::Flow;
use crate::four_eyes::Signature;
use crate::ids::ApprovalId;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approval {
    /// The name of the action.
    pub action: String,
    /// The request, in the form of `stored.rs`.
    pub body: String,
    /// What the request is about, in words, without personal data.
    pub summary: String,
    pub maker: Signature,
    pub reason: String,
    pub preview: Preview,
    /// How many people it needs, with the maker.
    pub quorum: u32,
    pub expires_at: Timestamp,
    /// The approvals so far, and the person who turned it down.
    pub signed: Vec<Signed>,
    pub state: State,
}

/// A signature and its time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signed {
    pub by: Signature,
    pub note: String,
    pub at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Proposed,
    /// Done, under this name; approved before, or after a break-glass.
    Approved {
        result: String,
    },
    /// Done by one admin; it must be approved afterwards.
    BreakGlass {
        result: String,
    },
    /// After a break-glass `result` is what was done nevertheless.
    Rejected {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<String>,
    },
    Withdrawn,
    Expired,
    Stale {
        why: String,
    },
}

impl State {
    pub const fn status(&self) -> &'static str {
        match self {
            Self::Proposed => "PROPOSED",
            Self::Approved { .. } => "APPROVED",
            Self::BreakGlass { .. } => "BREAK_GLASS",
            Self::Rejected { .. } => "REJECTED",
            Self::Withdrawn => "WITHDRAWN",
            Self::Expired => "EXPIRED",
            Self::Stale { .. } => "STALE",
        }
    }

    pub const fn event(&self) -> &'static str {
        match self {
            Self::Proposed => "approval.proposed",
            Self::Approved { .. } => "approval.approved",
            Self::BreakGlass { .. } => "approval.break_glass",
            Self::Rejected { .. } => "approval.rejected",
            Self::Withdrawn => "approval.withdrawn",
            Self::Expired => "approval.expired",
            Self::Stale { .. } => "approval.stale",
        }
    }

    /// Whether a person must still decide.
    pub const fn is_open(&self) -> bool {
        match self {
            Self::Proposed | Self::BreakGlass { .. } => true,
            Self::Approved { .. }
            | Self::Rejected { .. }
            | Self::Withdrawn
            | Self::Expired
            | Self::Stale { .. } => false,
        }
    }

    /// The name of what was done.
    pub fn result(&self) -> Option<&str> {
        match self {
            Self::Approved { result } | Self::BreakGlass { result } => Some(result),
            Self::Rejected { result } => result.as_deref(),
            Self::Proposed | Self::Withdrawn | Self::Expired | Self::Stale { .. } => None,
        }
    }

    fn reason(&self) -> Option<&str> {
        match self {
            Self::Stale { why } => Some(why),
            Self::Proposed
            | Self::Approved { .. }
            | Self::BreakGlass { .. }
            | Self::Rejected { .. }
            | Self::Withdrawn
            | Self::Expired => None,
        }
    }
}

/// The public view of an approval, without the request: it may have personal data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    pub id: String,
    pub status: String,
    pub version: u64,
    pub action: String,
    pub summary: String,
    /// The actor who proposed it.
    pub maker: String,
    pub note: String,
    pub quorum: u32,
    pub signed: Vec<SignedView>,
    pub would: Preview,
    /// What was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// Why nothing is done any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub expires_at: Timestamp,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedView {
    pub actor: String,
    pub note: String,
    pub at: Timestamp,
}

impl View {
    pub(super) fn new(flow: &Flow, approval: &Approval) -> Self {
        let signed = approval.signed.iter().map(|signed| SignedView {
            actor: signed.by.actor.clone(),
            note: signed.note.clone(),
            at: signed.at,
        });
        Self {
            id: ApprovalId::from_uuid(flow.id.uuid()).to_string(),
            status: approval.state.status().to_owned(),
            version: flow.version,
            action: approval.action.clone(),
            summary: approval.summary.clone(),
            maker: approval.maker.actor.clone(),
            note: approval.reason.clone(),
            quorum: approval.quorum,
            signed: signed.collect(),
            would: approval.preview.clone(),
            result: approval.state.result().map(str::to_owned),
            reason: approval.state.reason().map(str::to_owned),
            expires_at: approval.expires_at,
            created_at: flow.created_at,
            updated_at: flow.updated_at,
        }
    }
}
