//! Deliveries: begun for whoever has room, moved on by what came of them, cancelled with their endpoint, sent again.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::Draft;
use super::endpoint::check_on;
use crate::delivery::{Context, Delivery, Event, Parcel, State, Step, View, step};
use crate::flow::{Flow, FlowState};
use crate::ids::{DeliveryId, EndpointId, FlowId};
use crate::ledger::Admission;
use crate::registry::{Endpoint, Kind};
use crate::rejection::Rejection;
use crate::request::{Answer, Busy, Deliver, Delivering, Mail, Reply, Woken};

/// What a step came to.
pub(super) enum Went {
    On,
    /// The endpoint is left alone until then.
    Blocked(Timestamp),
}

/// A delivery whose time has come.
struct Due {
    is_retry: bool,
    endpoint: EndpointId,
    flow: FlowId,
}

impl Draft<'_> {
    pub(super) fn mail(&mut self, mail: &Mail, admission: &Admission) -> Answer {
        match mail {
            Mail::Deliver(deliver) => Ok(self.deliver(deliver, admission)),
            Mail::SetAside(deliver, blame) => {
                let due = self.due_deliveries(deliver, admission.now).into_iter();
                let first: Vec<FlowId> = due.map(|due| due.flow).take(1).collect();
                Ok(self.set_aside(&first, *blame, admission))
            }
            Mail::Cancel { endpoint, limit } => {
                Ok(self.cancel_deliveries(*endpoint, *limit, admission))
            }
            Mail::Replay { actor, deliveries } => {
                self.replay_deliveries(actor, deliveries, admission)
            }
            Mail::Test { actor, endpoint } => self.test_endpoint(actor, *endpoint, admission),
        }
    }

    /// Begins what is due: first attempts before retries, as many for each endpoint as it takes, nobody for ever last.
    fn deliver(&mut self, deliver: &Deliver, admission: &Admission) -> Reply {
        let mut begun = Delivering::default();
        // However much is new, some of the hands are for what was tried before.
        let kept = if deliver.with_retries { deliver.limit >> 3 } else { 0 };
        let first_max = deliver.limit.saturating_sub(kept);
        let mut rooms: BTreeMap<EndpointId, u32> = BTreeMap::new();
        for Due { is_retry, endpoint, flow } in self.due_deliveries(deliver, admission.now) {
            if begun.count >= deliver.limit {
                begun.is_cut = true;
                break;
            }
            if begun.blocked.contains_key(&endpoint) {
                continue;
            }
            if !is_retry && begun.count >= first_max {
                begun.is_cut = true;
                continue;
            }
            // What is not known here was told in this very batch, and is sent with the next.
            let Some(found) = self.endpoint(endpoint) else {
                if let Err(rejection) = self.check_readable(Kind::Endpoint, &endpoint.to_string()) {
                    self.put_off(flow, rejection, &mut begun.refused, admission);
                }
                continue;
            };
            let busy = deliver.busy.get(&endpoint).copied().unwrap_or_default();
            let share = deliver.share;
            let room = rooms.entry(endpoint).or_insert_with(|| room(found, busy).min(share));
            let Some(less) = room.checked_sub(1) else {
                begun.full.insert(endpoint);
                continue;
            };
            match self.advance_delivery(flow, &Event::Due, admission) {
                Ok(Went::On) => {
                    *room = less;
                    begun.count = begun.count.saturating_add(1);
                    begun.retries = begun.retries.saturating_add(u32::from(is_retry));
                    begun.last = Some(endpoint);
                }
                Ok(Went::Blocked(until)) => {
                    begun.blocked.insert(endpoint, until);
                }
                Err(rejection) => {
                    self.put_off(flow, rejection, &mut begun.refused, admission);
                }
            }
        }
        Reply::Delivering(begun)
    }

    /// First attempts, then retries; those of endpoints behind the given one first, longest overdue first.
    fn due_deliveries(&self, deliver: &Deliver, now: Timestamp) -> Vec<Due> {
        let mut due: Vec<(bool, bool, EndpointId, Timestamp, FlowId)> = self
            .flows()
            .filter_map(|flow| {
                // Whoever drives it sends it.
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
                let is_wanted = deliver.with_retries || !is_retry;
                let is_wanted = is_wanted && !deliver.skipped.contains(&endpoint);
                let had_a_turn = deliver.after.is_some_and(|after| endpoint <= after);
                is_wanted.then_some((is_retry, had_a_turn, endpoint, at, flow.id))
            })
            .collect();
        due.sort_unstable();
        let due = due.into_iter();
        due.map(|(is_retry, _, endpoint, _, flow)| Due { is_retry, endpoint, flow }).collect()
    }

    /// The endpoint is off: whatever waits for it is not sent.
    fn cancel_deliveries(
        &mut self,
        endpoint: EndpointId,
        limit: u32,
        admission: &Admission,
    ) -> Reply {
        let mut woken = Woken::default();
        if self.endpoint(endpoint).is_none_or(Endpoint::is_enabled) {
            return Reply::Woken(woken);
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
            if self.advance_delivery(id, &Event::CalledOff, admission).is_ok() {
                woken.flows.push(id.to_string());
            }
        }
        Reply::Woken(woken)
    }

    /// Somebody wants these again. What is on its way already is left as it is.
    fn replay_deliveries(
        &mut self,
        actor: &str,
        deliveries: &BTreeSet<DeliveryId>,
        admission: &Admission,
    ) -> Answer {
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
        Ok(Reply::Replayed(views.collect()))
    }

    fn delivery(&self, flow: FlowId) -> Option<&Delivery> {
        self.flow(flow)?.state.delivery()
    }

    /// One step: kept, sent if it must be, and what it says about the endpoint noted.
    pub(super) fn advance_delivery(
        &mut self,
        id: FlowId,
        event: &Event,
        admission: &Admission,
    ) -> Result<Went, Rejection> {
        let Some(delivery) = self.delivery(id) else {
            return Err(self.missing(id, id.to_string()));
        };
        let endpoint_id = delivery.terms.endpoint;
        let Some(endpoint) = self.endpoint(endpoint_id) else {
            return Err(self.no_endpoint(endpoint_id));
        };
        let schedule = &self.rules.deliveries;
        let seed = admission.seed.child(["delivery", &id.to_string()]);
        let context = Context { now: admission.now, seed, endpoint, schedule };
        match step(delivery, event, &context) {
            Step::Stays => {}
            Step::Blocked { until } => return Ok(Went::Blocked(until)),
            Step::Sends(delivery) => {
                let (parcel, mut endpoint) =
                    (parcel(id, &delivery, endpoint, admission.now), endpoint.clone());
                let breaker = endpoint.health.breaker;
                endpoint.health.breaker = breaker.map(|it| it.probing(admission.now, schedule));
                self.parcels.extend(parcel);
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
        Ok(Went::On)
    }

    pub(super) fn put_delivery(&mut self, id: FlowId, delivery: Delivery, admission: &Admission) {
        let Some(flow) = self.flow(id) else { return };
        let flow = Flow {
            id,
            merchant: flow.merchant.clone(),
            version: flow.version.saturating_add(1),
            sequence: flow.sequence,
            created_at: flow.created_at,
            updated_at: admission.now,
            state: FlowState::Delivery(Box::new(delivery)),
            parked: None,
            host: flow.host.clone(),
        };
        self.put(flow, admission);
    }
}

/// How many more may begin.
pub(super) fn room(endpoint: &Endpoint, busy: Busy) -> u32 {
    let room = endpoint.settings.concurrency.saturating_sub(busy.in_flight);
    let rate = endpoint.settings.rate_limit.map(|rate| rate.saturating_sub(busy.begun));
    rate.map_or(room, |rate| rate.min(room))
}

fn parcel(flow: FlowId, delivery: &Delivery, endpoint: &Endpoint, at: Timestamp) -> Option<Parcel> {
    let State::Delivering { lease_until, .. } = delivery.state else { return None };
    let secrets = endpoint.live_secrets(at).map(|secret| secret.sealed.clone());
    Some(Parcel {
        flow,
        endpoint: delivery.terms.endpoint,
        concurrency: endpoint.settings.concurrency,
        attempt: delivery.attempts,
        at,
        lease_until,
        url: endpoint.settings.url.clone(),
        headers: endpoint.settings.headers.clone(),
        secrets: secrets.collect(),
        event: delivery.terms.event,
        kind: delivery.terms.kind.clone(),
        body: delivery.terms.body.clone(),
    })
}
