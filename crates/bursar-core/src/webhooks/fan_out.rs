//! Fan-out: an event creates a delivery for each endpoint whose filter matches, in the same commit. Also the endpoint
//! records and their event filters.

use super::delivery::{Delivery, Terms, View};
use super::endpoint::{
    ENDPOINTS_MAX, Endpoint, EventFilter, HealthSignal, PAYLOAD_VERSION, Status,
};
use crate::feed::FeedEvent;
use crate::flow::{Flow, Kind as _, to_json};
use crate::ids::{DeliveryId, EndpointId, EventId, FlowId};
use crate::ledger::Admission;
use crate::registry::{Content, Kind, RecordKey};
use crate::rejection::Rejection;
use crate::turn::Draft;

/// Creates a delivery for every endpoint of the merchant whose filter matches the event.
///
/// Precondition (optimistic lock): the store rejects the commit with `Conflict` if the merchant's filters changed since
/// they were read; otherwise a new endpoint would miss this event.
pub(crate) fn fan_out(draft: &mut Draft<'_>, event: &FeedEvent, admission: &Admission) {
    let Some(record) = draft.rely_on(Kind::Merchant, &event.merchant) else { return };
    let wants = |filter: &&EventFilter| filter.wants(&event.kind);
    let wanted: Vec<(EndpointId, String)> = record
        .content
        .merchant()
        .into_iter()
        .flat_map(|merchant| merchant.event_filters.iter().filter(wants))
        .map(|filter| (filter.endpoint, event.payload(&filter.version)))
        .collect();
    let is_only_one = wanted.len() == 1;
    for (endpoint, body) in wanted {
        draft.begin_delivery(event, (endpoint, is_only_one), body, admission);
    }
}

impl Draft<'_> {
    fn begin_delivery(
        &mut self,
        event: &FeedEvent,
        (endpoint, is_only_one): (EndpointId, bool),
        body: String,
        admission: &Admission,
    ) -> Flow {
        let now = admission.now;
        let terms = Terms { event: event.id, kind: event.kind.clone(), endpoint, body };
        let id = FlowId::from(DeliveryId::of(event.id, endpoint));
        let workflow_id = |_| {
            if is_only_one {
                format!("webhook-{}", event.id)
            } else {
                format!("webhook-{}-{endpoint}", event.id)
            }
        };
        let host = self.rules().hosting.start(&Delivery::INFO, workflow_id, now);
        let flow = Flow::new(id, &event.merchant, Delivery::new(terms, now), host, now);
        self.count_delivery();
        self.put(flow.clone(), admission);
        flow
    }

    /// Sends a `webhook.test` event to the endpoint.
    pub(super) fn test_endpoint(
        &mut self,
        actor: &str,
        id: EndpointId,
        admission: &Admission,
    ) -> Result<Vec<View>, Rejection> {
        let mut endpoint = self.endpoint(id).cloned().ok_or_else(|| self.no_endpoint(id))?;
        check_on(id, &endpoint)?;
        endpoint.event_sequence = endpoint.event_sequence.saturating_add(1);
        let data = to_json(&serde_json::json!({ "endpoint_id": id, "test": true }));
        let event = self.emit_for_endpoint(id, &endpoint, ("webhook.test", data), admission);
        let body = event.payload(PAYLOAD_VERSION);
        let flow = self.begin_delivery(&event, (id, true), body, admission);
        self.put_endpoint(id, endpoint, admission);
        self.note((actor, "webhook_endpoint.test"), &id.to_string(), "", admission);
        Ok(flow.state.delivery().into_iter().map(|delivery| delivery.view(&flow)).collect())
    }

    pub(crate) fn endpoint(&self, id: EndpointId) -> Option<&Endpoint> {
        self.record(Kind::Endpoint, &id.to_string())?.content.endpoint()
    }

    pub(super) fn put_endpoint(
        &mut self,
        id: EndpointId,
        endpoint: Endpoint,
        admission: &Admission,
    ) {
        if self.endpoint(id) != Some(&endpoint) {
            let content = Content::Endpoint(Box::new(endpoint));
            self.put_record(RecordKey::endpoint(id), content, admission);
        }
    }

    /// Records the health signal of an attempt. An endpoint without a success for too long is disabled, with an event.
    pub(super) fn note_health(
        &mut self,
        id: EndpointId,
        (sign, delivery): (HealthSignal, FlowId),
        admission: &Admission,
    ) -> Result<(), Rejection> {
        let Some(mut endpoint) = self.endpoint(id).cloned() else { return Ok(()) };
        let (now, schedule) = (admission.now, &self.rules().deliveries);
        let delivery = DeliveryId::from_uuid(delivery.uuid());
        // Disabling also updates the merchant record. If that record is unreadable, the next failure tries again.
        let can_disable = endpoint.is_enabled() && self.can_tell(&endpoint.merchant).is_ok();
        let reason = endpoint.note(sign, delivery, (now, schedule)).filter(|_| can_disable);
        if let Some(reason) = reason {
            endpoint.status = Status::Disabled { reason: reason.to_owned(), at: now };
            endpoint.event_sequence = endpoint.event_sequence.saturating_add(1);
            let data = to_json(&serde_json::json!({
                "endpoint_id": id, "url": endpoint.settings.url, "reason": reason, "status": "disabled",
            }));
            let event = ("webhook_endpoint.disabled", data);
            self.emit_for_endpoint(id, &endpoint, event, admission);
            self.update_event_filter(id, &endpoint, admission)?;
        }
        self.put_endpoint(id, endpoint, admission);
        Ok(())
    }

    /// Emits an event about the endpoint itself, with the sequence of the endpoint.
    fn emit_for_endpoint(
        &mut self,
        id: EndpointId,
        endpoint: &Endpoint,
        (kind, data): (&str, String),
        admission: &Admission,
    ) -> FeedEvent {
        let resource = id.to_string();
        let seed = admission.seed.child([&resource, &endpoint.event_sequence.to_string()]);
        let event = FeedEvent {
            id: EventId::new(admission.now, &seed, 0),
            kind: kind.to_owned(),
            resource,
            merchant: endpoint.merchant.clone(),
            sequence: endpoint.event_sequence,
            time: admission.now,
            data,
        };
        self.publish(event.clone());
        self.mark_written(admission);
        event
    }

    /// Updates the merchant's `event_filters` to match the endpoint.
    pub(crate) fn update_event_filter(
        &mut self,
        id: EndpointId,
        endpoint: &Endpoint,
        admission: &Admission,
    ) -> Result<(), Rejection> {
        self.can_tell(&endpoint.merchant)?;
        // A precondition even if the filters stay the same, because that is known only for the version that was read.
        let found = self.rely_on(Kind::Merchant, &endpoint.merchant);
        let Some(mut merchant) = found.and_then(|record| record.content.merchant()).cloned() else {
            return Err(Rejection::UnknownMerchant { merchant: endpoint.merchant.clone() });
        };
        let before = merchant.event_filters.clone();
        merchant.event_filters.retain(|filter| filter.endpoint != id);
        merchant.event_filters.extend(endpoint.filter(id));
        merchant.event_filters.sort_by_key(|filter| filter.endpoint);
        if merchant.event_filters.len() > ENDPOINTS_MAX {
            return Err(Rejection::TooManyEndpoints { most: ENDPOINTS_MAX });
        }
        if merchant.event_filters != before {
            let key = RecordKey::merchant(&endpoint.merchant);
            self.put_record(key, Content::Merchant(merchant), admission);
        }
        Ok(())
    }

    /// Fails if the merchant record is unreadable: its endpoints are unknown, so an event emitted now would reach none
    /// of them.
    pub(crate) fn can_tell(&self, merchant: &str) -> Result<(), Rejection> {
        self.check_readable(Kind::Merchant, merchant)
    }

    /// The rejection for an endpoint that was not read: it does not exist, or it cannot be decoded.
    pub(super) fn no_endpoint(&self, id: EndpointId) -> Rejection {
        let unreadable = self.check_readable(Kind::Endpoint, &id.to_string()).err();
        let unknown = || Rejection::UnknownRecord { kind: Kind::Endpoint, id: id.to_string() };
        unreadable.unwrap_or_else(unknown)
    }
}

pub(super) fn check_on(id: EndpointId, endpoint: &Endpoint) -> Result<(), Rejection> {
    if endpoint.is_enabled() {
        return Ok(());
    }
    Err(Rejection::EndpointDisabled { id: id.to_string(), status: endpoint.status.name() })
}
