//! What the auditor checks about webhooks: which endpoints were subscribed when an event was emitted, what is planned
//! to be sent, and what receivers really got.

use std::collections::{BTreeMap, BTreeSet};

use bursar_core::feed::FeedEvent;
use bursar_core::flow::KINDS;
use bursar_core::ids::{DeliveryId, EndpointId, FlowId};
use bursar_core::registry::Content;
use bursar_core::turn::{Commit, FlowWrite};
use bursar_core::webhooks::Endpoint;
use bursar_core::webhooks::delivery::{DeadLetterReason, State};

use super::WebhookCall;
use crate::simulate::audit::Audit;
use crate::simulate::invariant::Invariant;

#[derive(Debug, Default)]
pub(crate) struct Books {
    pub(crate) endpoints: BTreeMap<EndpointId, Known>,
    /// What was sent of each delivery since its last replay.
    rounds: BTreeMap<FlowId, u32>,
    /// Attempts that never began: once that is known, they do not count.
    unsent: BTreeSet<(FlowId, u32)>,
    /// The number of the last attempt when it became DELIVERED.
    delivered: BTreeMap<FlowId, u32>,
    /// What receivers got, by endpoint and event.
    bodies: BTreeMap<FlowId, String>,
    /// Deliveries that receivers answered with 2xx.
    taken: BTreeSet<FlowId>,
    /// How many attempts a round has.
    pub(crate) attempts_max: u32,
}

/// An endpoint as it was saved last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) merchant: String,
    pub(crate) is_on: bool,
    /// When it last changed, in microseconds of this world.
    changed_at: u64,
    event_types: BTreeSet<String>,
    concurrency: u32,
}

impl Known {
    fn new(endpoint: &Endpoint, before: Option<&Self>, now: u64) -> Self {
        let known = Self {
            merchant: endpoint.merchant.clone(),
            is_on: endpoint.is_enabled(),
            changed_at: now,
            event_types: endpoint.settings.event_types.clone(),
            concurrency: endpoint.settings.concurrency,
        };
        match before {
            Some(before) if (Self { changed_at: now, ..before.clone() }) == known => before.clone(),
            Some(_) | None => known,
        }
    }

    fn wants(&self, event: &FeedEvent) -> bool {
        let family = event.kind.split('.').next().unwrap_or_default();
        let is_wanted = |wanted: &String| match wanted.as_str() {
            "*" => KINDS.iter().any(|kind| kind.notifies() && kind.name == family),
            other => *other == event.kind || *other == format!("{family}.*"),
        };
        self.is_on && self.merchant == event.merchant && self.event_types.iter().any(is_wanted)
    }
}

impl Audit {
    /// Everything about deliveries in a commit. The turn that it ends began at this time.
    pub(crate) fn follow_webhooks(
        &mut self,
        commit: &Commit,
        calls: &[WebhookCall],
        (began, now): (u64, u64),
    ) {
        let before = self.webhooks.endpoints.clone();
        for write in &commit.records {
            let Content::Endpoint(endpoint) = &write.after.content else { continue };
            let Ok(id) = write.after.id.parse() else { continue };
            let known = Known::new(endpoint, before.get(&id), now);
            self.webhooks.endpoints.insert(id, known);
        }
        for event in &commit.events {
            self.look_at_fan_out(event, &before, commit);
        }
        for write in &commit.flows {
            self.look_at_delivery(write, &before, commit);
        }
        for call in calls {
            self.look_at_webhook_call(call, &before, began);
        }
    }

    /// Every endpoint whose filter matches has a delivery, and no other has.
    fn look_at_fan_out(
        &mut self,
        event: &FeedEvent,
        before: &BTreeMap<EndpointId, Known>,
        commit: &Commit,
    ) {
        let about = self.resources.get(&event.resource).cloned().unwrap_or_default();
        let known: Vec<(EndpointId, Known)> =
            self.webhooks.endpoints.iter().map(|(id, known)| (*id, known.clone())).collect();
        for (id, after) in known.into_iter().filter(|(_, known)| known.merchant == event.merchant) {
            let flow = FlowId::from(DeliveryId::of(event.id, id));
            let found = commit.flows.iter().find(|write| write.after.id == flow);
            let was_wanted = before.get(&id).is_some_and(|before| before.wants(event));
            let is_wanted = after.wants(event);
            let is_test = event.kind == "webhook.test" && event.resource == id.to_string();
            // What changes in the same commit may come before or behind it.
            let is_right = match found {
                Some(write) => {
                    let body = write.after.state.delivery().map(|known| known.terms.body.as_str());
                    let is_own = body.is_some_and(|body| is_about(body, event));
                    is_own && write.before.is_none() && (was_wanted || is_wanted || is_test)
                }
                None => !(is_test || was_wanted && is_wanted),
            };
            self.check(Invariant::EveryEventIsDelivered, &about, is_right, || {
                let word = if found.is_some() { "has a wrong delivery" } else { "has no delivery" };
                format!("{} {word} for an endpoint of {}", event.kind, event.merchant)
            });
        }
    }

    fn look_at_delivery(
        &mut self,
        write: &FlowWrite,
        before: &BTreeMap<EndpointId, Known>,
        commit: &Commit,
    ) {
        let Some(delivery) = write.after.state.delivery() else { return };
        let known = write.before.as_ref().and_then(|flow| flow.state.delivery());
        let (id, about) = (write.after.id, self.name(write.after.id));
        let (endpoint, status) = (delivery.terms.endpoint, delivery.state.status());
        let has_event = commit.events.iter().any(|event| event.id == delivery.terms.event);
        self.check(Invariant::DeliveryHasEvent, &about, known.is_some() || has_event, || {
            "a delivery begins without an event".to_owned()
        });
        let is_same = known.is_none_or(|known| known.terms == delivery.terms);
        self.check(Invariant::SameBytes, &about, is_same, || "the body has changed".to_owned());
        let was = known.map(|known| known.state.clone());
        let is_open = !delivery.state.is_over();
        if was.as_ref().is_some_and(State::is_over) && is_open {
            let names =
                [DeliveryId::from_uuid(id.uuid()).to_string(), delivery.terms.endpoint.to_string()];
            let is_asked = commit
                .audit
                .iter()
                .any(|entry| entry.action == "delivery.replay" && names.contains(&entry.resource));
            self.check(Invariant::OverIsOver, &about, is_asked, || {
                format!("it was over and is {status}, without a replay")
            });
            self.webhooks.rounds.insert(id, 0);
            self.webhooks.delivered.remove(&id);
        }
        if was.as_ref() == Some(&delivery.state) {
            return;
        }
        let is_on = |known: Option<&Known>| known.is_some_and(|known| known.is_on);
        let tries = self.webhooks.rounds.get(&id).copied().unwrap_or_default();
        match delivery.state {
            State::Delivered => {
                let is_taken = self.webhooks.taken.contains(&id);
                self.check(Invariant::DeliveredIsAccepted, &about, is_taken, || {
                    "it is DELIVERED, and the receiver has never said 2xx".to_owned()
                });
                self.webhooks.delivered.insert(id, delivery.attempts);
            }
            State::Dlq { reason: DeadLetterReason::Exhausted, .. } => {
                let most = self.webhooks.attempts_max;
                self.check(Invariant::DeadWasTried, &about, tries == most, || {
                    format!("a dead letter after {tries} of {most} attempts")
                });
            }
            State::Cancelled { .. } => {
                let after = self.webhooks.endpoints.get(&endpoint);
                let is_off = !is_on(before.get(&endpoint)) || !is_on(after);
                self.check(Invariant::CancelledIsOff, &about, is_off, || {
                    "it is cancelled, and its endpoint is enabled".to_owned()
                });
            }
            State::WaitingRetry { .. }
                if self.webhooks.unsent.contains(&(id, delivery.attempts)) =>
            {
                self.webhooks.rounds.insert(id, tries.saturating_sub(1));
            }
            State::Pending { .. }
            | State::Delivering { .. }
            | State::WaitingRetry { .. }
            | State::Dlq { .. } => {}
        }
    }

    /// A call is planned.
    fn look_at_webhook_call(
        &mut self,
        call: &WebhookCall,
        before: &BTreeMap<EndpointId, Known>,
        began: u64,
    ) {
        let about = self.name(call.effect.flow);
        let after = self.webhooks.endpoints.get(&call.call.endpoint);
        // The turn has read what was saved before it began.
        let is_on = [before.get(&call.call.endpoint), after].into_iter().flatten();
        let is_on = is_on.into_iter().any(|known| known.is_on || known.changed_at >= began);
        self.check(Invariant::DisabledIsNotCalled, &about, is_on, || {
            "planned to be sent, and the endpoint is disabled".to_owned()
        });
        let is_known = self.webhooks.delivered.contains_key(&call.effect.flow);
        self.check(Invariant::DeliveredIsNotResent, &about, !is_known, || {
            "planned to be sent, and it is known to be taken".to_owned()
        });
        let tries = self.webhooks.rounds.entry(call.effect.flow).or_default();
        *tries = tries.saturating_add(1);
        let (tries, most) = (*tries, self.webhooks.attempts_max);
        self.check(Invariant::TriedWithinSchedule, &about, tries <= most, || {
            format!("attempt {tries} of a schedule that has {most}")
        });
    }

    /// A process has no files or ports left to send it with.
    pub(crate) fn unsent(&mut self, call: &WebhookCall) {
        self.webhooks.unsent.insert((call.effect.flow, call.effect.attempt));
    }

    /// A process sends to an endpoint, and this many are on their way.
    pub(crate) fn under_way(&mut self, endpoint: EndpointId, count: usize) {
        let most = self.webhooks.endpoints.get(&endpoint).map_or(0, |known| known.concurrency);
        let is_right = u32::try_from(count).is_ok_and(|count| count <= most);
        self.check(Invariant::WebhooksWithinConcurrency, "", is_right, || {
            format!("{count} are on their way to an endpoint that takes {most} at once")
        });
    }

    /// A receiver got a call.
    pub(crate) fn received(&mut self, call: &WebhookCall, is_taken: bool) {
        let about = self.name(call.effect.flow);
        let delivery = self.flows.get(&call.effect.flow).and_then(|flow| flow.state.delivery());
        let is_saved = delivery.is_some_and(|delivery| delivery.attempts >= call.effect.attempt);
        let is_own = delivery.is_none_or(|delivery| {
            delivery.terms.body == call.call.body && delivery.terms.endpoint == call.call.endpoint
        });
        self.check(Invariant::WebhookIsSaved, &about, is_saved, || {
            format!("a receiver got attempt {}, which the books do not know", call.effect.attempt)
        });
        let first =
            self.webhooks.bodies.entry(call.effect.flow).or_insert_with(|| call.call.body.clone());
        let is_same = is_own && *first == call.call.body;
        self.check(Invariant::SameBytes, &about, is_same, || {
            "a receiver got other bytes than were saved".to_owned()
        });
        let last = self.webhooks.delivered.get(&call.effect.flow).copied();
        let is_news = last.is_none_or(|last| call.effect.attempt <= last);
        self.check(Invariant::DeliveredIsNotResent, &about, is_news, || {
            format!("a receiver got attempt {} of what is known to be taken", call.effect.attempt)
        });
        if is_taken {
            self.webhooks.taken.insert(call.effect.flow);
        }
    }
}

/// Whether these bytes are the message of the event.
fn is_about(body: &str, event: &FeedEvent) -> bool {
    let data = format!(",\"data\":{}}}", event.data);
    let (id, kind) = (format!("\"{}\"", event.id), format!("\"{}\"", event.kind));
    body.ends_with(&data) && body.contains(&id) && body.contains(&kind)
}
