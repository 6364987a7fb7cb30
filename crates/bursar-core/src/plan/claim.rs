//! Flows whose time has come: of one lane, or a few of each lane of a family.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::ReadPlan;
use crate::delivery;
use crate::drive::Drive;
use crate::ids::{EndpointId, FlowId};
use crate::registry::RecordKey;
use crate::request::{Deliver, Mail, Wake};

/// The flows of a lane that are due, longest overdue first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueClaim {
    pub lane: String,
    pub now: Timestamp,
    pub limit: u32,
}

/// The flows that are due in the lanes of a family, a few of each lane: none keeps the others waiting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FairClaim {
    /// What the lanes of the family begin with; it ends with a colon.
    pub family: &'static str,
    /// Begin behind this lane.
    pub after: Option<String>,
    pub now: Timestamp,
    /// How many of each lane, longest overdue first.
    pub each: u32,
    /// How many of these lanes, if it is another number; none are passed over.
    pub rooms: BTreeMap<String, u32>,
    pub limit: u32,
}

/// How many of each endpoint are looked at.
const EACH: u32 = 32;

impl FairClaim {
    /// The first delivery for each endpoint but these that is due by then.
    pub fn first_deliveries(until: Timestamp, skipped: &[EndpointId]) -> [Self; 2] {
        [delivery::FIRST, delivery::RETRY].map(|family| Self {
            family,
            after: None,
            now: until,
            each: 1,
            rooms: skipped.iter().map(|endpoint| (delivery::lane(family, *endpoint), 0)).collect(),
            limit: u32::MAX,
        })
    }

    /// How many of this lane.
    pub fn room(&self, lane: &str) -> u32 {
        self.rooms.get(lane).copied().unwrap_or(self.each)
    }

    /// The lanes of the family come behind this.
    pub fn begin(&self) -> &str {
        self.after.as_deref().unwrap_or(self.family)
    }

    /// And before this.
    pub fn end(&self) -> String {
        // A semicolon comes next after the colon.
        format!("{};", self.family.trim_end_matches(':'))
    }
}

impl ReadPlan {
    /// One claim for each lane serves all requests that ask for it.
    pub(super) fn add_wake(&mut self, wake: &Wake, now: Timestamp) {
        self.add_claim(wake, now);
        // What is woken may be sent.
        self.control = true;
    }

    pub(super) fn add_claim(&mut self, wake: &Wake, now: Timestamp) {
        match self.due.iter_mut().find(|claim| claim.lane == wake.lane) {
            Some(claim) => {
                claim.limit = claim.limit.saturating_add(wake.limit);
                claim.now = claim.now.max(now);
            }
            None => {
                self.due.push(DueClaim { lane: wake.lane.clone(), now, limit: wake.limit });
            }
        }
    }

    pub(super) fn add_drive(&mut self, drive: &Drive, now: Timestamp) {
        match drive {
            Drive::Look(look) => {
                self.flows.insert(look.flow);
                // What is looked at may be sent.
                self.control = true;
            }
            Drive::Carry { lane, limit } => {
                self.add_claim(&Wake { lane: lane.clone(), limit: *limit }, now);
            }
            Drive::Taken { flows } => self.flows.extend(flows.keys()),
            // It is only noted.
            Drive::Refused(_) => {}
        }
    }

    pub(super) fn add_mail(&mut self, mail: &Mail, now: Timestamp) {
        match mail {
            Mail::Deliver(deliver) | Mail::SetAside(deliver, _) => {
                self.add_deliveries(deliver, now);
            }
            Mail::Cancel { endpoint, limit } => {
                for family in [delivery::FIRST, delivery::RETRY] {
                    let lane = delivery::lane(family, *endpoint);
                    self.due.push(DueClaim { lane, now: Timestamp::MAX, limit: *limit });
                }
            }
            Mail::Replay { deliveries, .. } => {
                self.flows.extend(deliveries.iter().map(|id| FlowId::from(*id)));
            }
            Mail::Test { endpoint, .. } => {
                self.registry.insert(RecordKey::endpoint(*endpoint));
            }
        }
    }

    /// The deliveries that may begin.
    fn add_deliveries(&mut self, deliver: &Deliver, now: Timestamp) {
        let retries = deliver.with_retries.then_some(delivery::RETRY);
        for family in [delivery::FIRST].into_iter().chain(retries) {
            let lane = |endpoint: &EndpointId| delivery::lane(family, *endpoint);
            let busy = deliver.busy.iter().map(|(endpoint, busy)| (lane(endpoint), busy.room));
            let skipped = deliver.skipped.iter().map(|endpoint| (lane(endpoint), 0));
            self.fair.push(FairClaim {
                family,
                after: deliver.after.as_ref().map(lane),
                now,
                each: EACH.min(deliver.limit).min(deliver.share),
                rooms: busy.chain(skipped).collect(),
                limit: deliver.limit,
            });
        }
    }
}
