//! The requests of the webhooks domain, and the records that they need.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::delivery::{FIRST, RETRY, View, lane};
use crate::flow::{ClaimReply, FailureCause, Planners, Round, RoundReply};
use crate::ids::{DeliveryId, EndpointId, FlowId};
use crate::ledger::Admission;
use crate::registry::RecordKey;
use crate::rejection::Rejection;
use crate::rules::Rules;
use crate::turn::check::check_actor;
use crate::turn::{Decide, Draft, DueClaim, FairClaim, ReadSet, Reads, asks};

#[derive(Debug, Clone)]
pub enum Request {
    StartDeliveries(StartDeliveries),
    Quarantine(Quarantine),
    Cancel(Cancel),
    Replay(Replay),
    Test(Test),
}

/// Starts delivery attempts, fairly between endpoints.
pub type StartDeliveries = Round<EndpointId>;

/// The delivery attempts that have started.
pub type DeliveriesStarted = RoundReply<EndpointId>;

/// A turn that starts the first of these deliveries fails: defer that delivery without a step.
#[derive(Debug, Clone)]
pub struct Quarantine {
    pub round: StartDeliveries,
    pub cause: FailureCause,
}

/// The endpoint is disabled: cancel its waiting deliveries.
#[derive(Debug, Clone)]
pub struct Cancel {
    pub endpoint: EndpointId,
    pub limit: u32,
}

/// Send these deliveries again.
#[derive(Debug, Clone)]
pub struct Replay {
    pub actor: String,
    pub deliveries: BTreeSet<DeliveryId>,
}

/// Send a `webhook.test` event to an endpoint.
#[derive(Debug, Clone)]
pub struct Test {
    pub actor: String,
    pub endpoint: EndpointId,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    DeliveriesStarted(DeliveriesStarted),
    Claimed(ClaimReply),
    /// The replayed deliveries as they are now.
    Replayed(Vec<View>),
}

asks! {
    Webhooks {
        StartDeliveries => DeliveriesStarted(DeliveriesStarted),
        Quarantine => Claimed(ClaimReply),
        Cancel => Claimed(ClaimReply),
        Replay => Replayed(Vec<View>),
        Test => Replayed(Vec<View>),
    }
}

/// Maximum number of deliveries read for each endpoint.
const EACH: u32 = 32;

/// This domain binds nothing.
pub(crate) type Ready<'r> = &'r Request;

impl Request {
    pub(crate) fn admit(&self, _: &Rules, _: &Admission) -> Result<Ready<'_>, Rejection> {
        if let Self::Replay(Replay { actor, .. }) | Self::Test(Test { actor, .. }) = self {
            check_actor(actor)?;
        }
        Ok(self)
    }
}

impl Decide for Ready<'_> {
    type Reply = Reply;

    fn plan<'p>(&'p self, at: &Admission, _: &mut Planners<'p>, reads: &mut Reads<'_>) {
        let plan = &mut reads.plan;
        match *self {
            Request::StartDeliveries(round) | Request::Quarantine(Quarantine { round, .. }) => {
                plan.fair.extend(round.claims(at.now));
            }
            Request::Cancel(Cancel { endpoint, limit }) => {
                for family in [FIRST, RETRY] {
                    let lane = lane(family, *endpoint);
                    plan.due.push(DueClaim { lane, now: Timestamp::MAX, limit: *limit });
                }
            }
            Request::Replay(Replay { deliveries, .. }) => {
                plan.flows.extend(deliveries.iter().map(|id| FlowId::from(*id)));
            }
            Request::Test(Test { endpoint, .. }) => {
                plan.registry.insert(RecordKey::endpoint(*endpoint));
            }
        }
    }

    /// Reads the endpoints of all merchants in the batch: a delivery created in this batch may start in it.
    fn plan_second(&self, first: &ReadSet, reads: &mut Reads<'_>) {
        if matches!(self, Request::StartDeliveries(_)) {
            let merchants = first.registry.iter().filter_map(|record| record.content.merchant());
            let event_filters = merchants.flat_map(|merchant| &merchant.event_filters);
            let endpoints = event_filters.map(|it| RecordKey::endpoint(it.endpoint));
            reads.plan.registry.extend(endpoints);
        }
    }

    fn is_quarantine(&self) -> bool {
        matches!(self, Request::Quarantine(_))
    }

    fn apply(&self, draft: &mut Draft<'_>, at: &Admission) -> Result<Reply, Rejection> {
        match *self {
            Request::StartDeliveries(round) => {
                Ok(Reply::DeliveriesStarted(draft.start_deliveries(round, at)))
            }
            Request::Quarantine(Quarantine { round, cause }) => {
                let first = draft.first_delivery(round, at.now);
                Ok(Reply::Claimed(draft.quarantine(first.as_slice(), *cause, at)))
            }
            Request::Cancel(Cancel { endpoint, limit }) => {
                Ok(Reply::Claimed(draft.cancel_deliveries(*endpoint, *limit, at)))
            }
            Request::Replay(Replay { actor, deliveries }) => {
                draft.replay_deliveries(actor, deliveries, at).map(Reply::Replayed)
            }
            Request::Test(Test { actor, endpoint }) => {
                draft.test_endpoint(actor, *endpoint, at).map(Reply::Replayed)
            }
        }
    }
}

impl StartDeliveries {
    /// The claims for the deliveries that may start.
    fn claims(&self, now: Timestamp) -> impl Iterator<Item = FairClaim> {
        let retries = self.with_retries.then_some(RETRY);
        [FIRST].into_iter().chain(retries).map(move |family| {
            let lane = |endpoint: &EndpointId| lane(family, *endpoint);
            let loaded = self.loads.iter().map(|(endpoint, load)| (lane(endpoint), load.room));
            let skipped = self.skipped.iter().map(|endpoint| (lane(endpoint), 0));
            FairClaim {
                family,
                after: self.after.as_ref().map(lane),
                now,
                each: EACH.min(self.limit).min(self.share),
                rooms: loaded.chain(skipped).collect(),
                limit: self.limit,
            }
        })
    }
}

impl FairClaim {
    /// The first delivery of each endpoint that is due by then, without the skipped endpoints.
    pub fn first_deliveries(until: Timestamp, skipped: &[EndpointId]) -> [Self; 2] {
        [FIRST, RETRY].map(|family| Self {
            family,
            after: None,
            now: until,
            each: 1,
            rooms: skipped.iter().map(|endpoint| (lane(family, *endpoint), 0)).collect(),
            limit: u32::MAX,
        })
    }
}
