//! Changes to deliveries: start, advance, cancel with the endpoint, replay.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::delivery::{Context, Delivery, Event, State, Step, View, WebhookCall, step};
use super::endpoint::Endpoint;
use super::fan_out::check_on;
use super::request::{DeliveriesStarted, StartDeliveries};
use crate::flow::{Call, Change, ClaimReply, Effect, Flow, Load, Pool, Progress, Slot};
use crate::ids::{DeliveryId, EndpointId, FlowId};
use crate::ledger::Admission;
use crate::registry::Kind;
use crate::rejection::Rejection;
use crate::turn::Draft;

/// A due delivery.
struct Due {
    is_retry: bool,
    endpoint: EndpointId,
    flow: FlowId,
}

impl Draft<'_> {
    /// The delivery that the round would start first.
    pub(super) fn first_delivery(&self, round: &StartDeliveries, now: Timestamp) -> Option<FlowId> {
        self.due_deliveries(round, now).first().map(|due| due.flow)
    }

    /// Starts due deliveries: first attempts before retries, up to the free slots of each endpoint. The round-robin
    /// cursor gives every endpoint its turn.
    pub(super) fn start_deliveries(
        &mut self,
        round: &StartDeliveries,
        admission: &Admission,
    ) -> DeliveriesStarted {
        let mut started = DeliveriesStarted::default();
        // An eighth of the limit is reserved for retries, so that new deliveries cannot starve them.
        let reserved = if round.with_retries { round.limit >> 3 } else { 0 };
        let first_max = round.limit.saturating_sub(reserved);
        let mut rooms: BTreeMap<EndpointId, u32> = BTreeMap::new();
        for Due { is_retry, endpoint, flow } in self.due_deliveries(round, admission.now) {
            if started.count >= round.limit {
                started.is_cut = true;
                break;
            }
            if started.blocked.contains_key(&endpoint) {
                continue;
            }
            if !is_retry && started.count >= first_max {
                started.is_cut = true;
                continue;
            }
            // The endpoint was not read because this batch created the delivery; the next batch starts it.
            let Some(found) = self.endpoint(endpoint) else {
                if let Err(rejection) = self.check_readable(Kind::Endpoint, &endpoint.to_string()) {
                    self.defer(flow, rejection, &mut started.refused, admission);
                }
                continue;
            };
            let load = round.loads.get(&endpoint).copied().unwrap_or_default();
            let share = round.share;
            let room = rooms.entry(endpoint).or_insert_with(|| room(found, load).min(share));
            let Some(remaining) = room.checked_sub(1) else {
                started.full.insert(endpoint);
                continue;
            };
            match self.advance_delivery(flow, &Event::Due, admission) {
                Ok(Progress::On) => {
                    *room = remaining;
                    started.count = started.count.saturating_add(1);
                    started.retries = started.retries.saturating_add(u32::from(is_retry));
                    started.last = Some(endpoint);
                }
                Ok(Progress::Blocked(until)) => {
                    started.blocked.insert(endpoint, until);
                }
                Err(rejection) => {
                    self.defer(flow, rejection, &mut started.refused, admission);
                }
            }
        }
        started
    }

    /// First attempts, then retries. Within each, endpoints behind the cursor first, longest overdue first.
    fn due_deliveries(&self, round: &StartDeliveries, now: Timestamp) -> Vec<Due> {
        let mut due: Vec<(bool, bool, EndpointId, Timestamp, FlowId)> = self
            .flows()
            .filter_map(|flow| {
                // Only deliveries that the engine drives; a workflow starts its own.
                let delivery = flow.state.delivery().filter(|_| flow.host.is_engine())?;
                let is_retry = match delivery.state {
                    State::Pending { .. } => delivery.is_retry(),
                    State::WaitingRetry { .. } => true,
                    State::Delivering { .. }
                    | State::Delivered
                    | State::Dlq { .. }
                    | State::Cancelled { .. } => return None,
                };
                let at = flow.due_at().filter(|at| *at <= now)?;
                let endpoint = delivery.terms.endpoint;
                let is_wanted = round.with_retries || !is_retry;
                let is_wanted = is_wanted && !round.skipped.contains(&endpoint);
                let is_before_cursor = round.after.is_some_and(|after| endpoint <= after);
                is_wanted.then_some((is_retry, is_before_cursor, endpoint, at, flow.id))
            })
            .collect();
        due.sort_unstable();
        let due = due.into_iter();
        due.map(|(is_retry, _, endpoint, _, flow)| Due { is_retry, endpoint, flow }).collect()
    }

    /// The endpoint is disabled: cancels its waiting deliveries.
    pub(super) fn cancel_deliveries(
        &mut self,
        endpoint: EndpointId,
        limit: u32,
        admission: &Admission,
    ) -> ClaimReply {
        let mut claimed = ClaimReply::default();
        if self.endpoint(endpoint).is_none_or(Endpoint::is_enabled) {
            return claimed;
        }
        let is_waiting = |flow: &&Flow| {
            let delivery = flow.state.delivery();
            delivery.is_some_and(|delivery| {
                delivery.terms.endpoint == endpoint && delivery.state.is_waiting()
            })
        };
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let waiting: Vec<FlowId> =
            self.flows().filter(is_waiting).map(|flow| flow.id).take(limit).collect();
        for id in waiting {
            if self.advance_delivery(id, &Event::Cancelled, admission).is_ok() {
                claimed.flows.push(id.to_string());
            }
        }
        claimed
    }

    /// An operator or merchant replays these. A delivery that is still in progress stays as it is.
    pub(super) fn replay_deliveries(
        &mut self,
        actor: &str,
        deliveries: &BTreeSet<DeliveryId>,
        admission: &Admission,
    ) -> Result<Vec<View>, Rejection> {
        let mut counts: BTreeMap<EndpointId, u32> = BTreeMap::new();
        for id in deliveries {
            let flow = FlowId::from(*id);
            let Some(endpoint) = self.delivery(flow).map(|delivery| delivery.terms.endpoint) else {
                return Err(self.missing(flow, id.to_string()));
            };
            let found = self.endpoint(endpoint).ok_or_else(|| self.no_endpoint(endpoint))?;
            check_on(endpoint, found)?;
            if self.delivery(flow).is_some_and(|delivery| delivery.state.is_over()) {
                let count = counts.entry(endpoint).or_default();
                *count = count.saturating_add(1);
            }
        }
        for id in deliveries {
            self.advance_delivery(FlowId::from(*id), &Event::Replayed, admission)?;
        }
        for (endpoint, count) in counts {
            let (resource, note) = match (deliveries.len(), deliveries.first()) {
                (1, Some(delivery)) => (delivery.to_string(), String::new()),
                (_, Some(_) | None) => (endpoint.to_string(), format!("{count} deliveries")),
            };
            self.note((actor, "delivery.replay"), &resource, &note, admission);
        }
        let views = deliveries.iter().filter_map(|id| {
            let flow = self.flow(FlowId::from(*id))?;
            Some(View::new(flow, flow.state.delivery()?))
        });
        Ok(views.collect())
    }

    fn delivery(&self, flow: FlowId) -> Option<&Delivery> {
        self.flow(flow)?.state.delivery()
    }

    /// Makes one step: saves the delivery, adds its effect, and records the health signal of the endpoint.
    pub(super) fn advance_delivery(
        &mut self,
        id: FlowId,
        event: &Event,
        admission: &Admission,
    ) -> Result<Progress, Rejection> {
        let Some(delivery) = self.delivery(id) else {
            return Err(self.missing(id, id.to_string()));
        };
        let endpoint_id = delivery.terms.endpoint;
        let Some(endpoint) = self.endpoint(endpoint_id) else {
            return Err(self.no_endpoint(endpoint_id));
        };
        let policy = &self.rules().deliveries;
        let seed = admission.seed.child(["delivery", &id.to_string()]);
        let context = Context { now: admission.now, seed, endpoint, schedule: policy };
        match step(delivery, event, &context) {
            Step::Stays => {}
            Step::Blocked { until } => return Ok(Progress::Blocked(until)),
            Step::Sends(delivery) => {
                let (effect, mut endpoint) =
                    (effect(id, &delivery, endpoint, admission.now), endpoint.clone());
                let breaker = endpoint.health.breaker;
                endpoint.health.breaker = breaker.map(|it| it.probing(admission.now, policy));
                if let Some(effect) = effect {
                    self.send(effect);
                }
                self.put_endpoint(endpoint_id, endpoint, admission);
                self.put_delivery(id, delivery, admission);
            }
            Step::Moves { delivery, sign } => {
                self.put_delivery(id, delivery, admission);
                if let Some(sign) = sign {
                    self.note_health(endpoint_id, (sign, id), admission)?;
                }
            }
        }
        Ok(Progress::On)
    }

    pub(super) fn put_delivery(&mut self, id: FlowId, delivery: Delivery, admission: &Admission) {
        let Some(flow) = self.flow(id) else { return };
        let change = Change { is_new_version: true, is_notified: false };
        let flow = flow.advanced(delivery, change, admission.now);
        self.put(flow, admission);
    }
}

/// How many more deliveries may start for this endpoint.
pub(super) fn room(endpoint: &Endpoint, load: Load) -> u32 {
    let room = endpoint.settings.concurrency.saturating_sub(load.in_flight);
    let rate = endpoint.settings.rate_limit.map(|rate| rate.saturating_sub(load.started));
    rate.map_or(room, |rate| rate.min(room))
}

fn effect(flow: FlowId, delivery: &Delivery, endpoint: &Endpoint, at: Timestamp) -> Option<Effect> {
    let State::Delivering { lease_until, .. } = delivery.state else { return None };
    let secrets = endpoint.live_secrets(at).map(|secret| secret.sealed.clone());
    let to = delivery.terms.endpoint;
    let message = WebhookCall {
        endpoint: to,
        at,
        url: endpoint.settings.url.clone(),
        headers: endpoint.settings.headers.clone(),
        secrets: secrets.collect(),
        event: delivery.terms.event,
        kind: delivery.terms.kind.clone(),
        body: delivery.terms.body.clone(),
    };
    let size = Some(endpoint.settings.concurrency);
    let slot = Some(Slot { pool: Pool::Endpoint(to), size, at, until: None });
    let call = Call::Delivery(Box::new(message));
    Some(Effect { flow, attempt: delivery.attempts, lease_until, slot, call })
}
