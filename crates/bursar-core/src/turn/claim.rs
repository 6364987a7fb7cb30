//! Claims of due flows: from one lane, from the queues of a channel, or a few from each lane of a family.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::read_plan::ReadPlan;
use crate::dispatch::{QueueClaim, is_group};
use crate::flow::ClaimDue;

/// The due flows of a lane, longest overdue first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueClaim {
    pub lane: String,
    pub now: Timestamp,
    pub limit: u32,
}

/// The due flows of the lanes of a family, a few from each lane, so that no lane delays another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FairClaim {
    /// Prefix of the lanes of the family, with its final colon.
    pub family: &'static str,
    /// Start behind this lane: the round-robin cursor.
    pub after: Option<String>,
    pub now: Timestamp,
    /// Limit for each lane, longest overdue first.
    pub each: u32,
    /// Limits of particular lanes that differ from `each`; a lane with limit 0 is skipped.
    pub rooms: BTreeMap<String, u32>,
    pub limit: u32,
}

impl FairClaim {
    pub fn room(&self, lane: &str) -> u32 {
        self.rooms.get(lane).copied().unwrap_or(self.each)
    }

    /// Exclusive lower bound of the lane names.
    pub fn begin(&self) -> &str {
        self.after.as_deref().unwrap_or(self.family)
    }

    /// Exclusive upper bound of the lane names.
    pub fn end(&self) -> String {
        // `;` is the next character after `:`.
        format!("{};", self.family.trim_end_matches(':'))
    }
}

impl ReadPlan {
    /// One claim for each lane or group serves all requests that name it.
    pub(crate) fn add_due_claim(&mut self, request: &ClaimDue, now: Timestamp) {
        self.add_claim(request, now);
        // A claimed flow may send money, which depends on the freezes.
        self.control = true;
    }

    pub(crate) fn add_claim(&mut self, request: &ClaimDue, now: Timestamp) {
        let ClaimDue { lane, limit, served } = request;
        if is_group(lane) {
            if let Some(claim) = self.queues.iter_mut().find(|claim| claim.group == *lane) {
                claim.limit = claim.limit.saturating_add(*limit);
                claim.now = claim.now.max(now);
            } else {
                let (group, limit, served) = (lane.clone(), *limit, *served);
                self.queues.push(QueueClaim { group, now, limit, served });
            }
            return;
        }
        match self.due.iter_mut().find(|claim| claim.lane == request.lane) {
            Some(claim) => {
                claim.limit = claim.limit.saturating_add(request.limit);
                claim.now = claim.now.max(now);
            }
            None => {
                self.due.push(DueClaim { lane: request.lane.clone(), now, limit: request.limit });
            }
        }
    }
}
