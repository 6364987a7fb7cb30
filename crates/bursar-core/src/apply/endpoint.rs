//! Who is told: endpoints of merchants, what they have subscribed to, and a delivery for each that wants to hear of an
//! event, in the commit that makes the event.

use super::Draft;
use crate::delivery::{Delivery, Terms};
use crate::feed::FeedEvent;
use crate::flow::{Flow, FlowState, to_json};
use crate::ids::{DeliveryId, EndpointId, EventId, FlowId};
use crate::ledger::Admission;
use crate::registry::{
    Content, ENDPOINTS_MAX, Endpoint, Kind, PAYLOAD_VERSION, RecordKey, Sign, Status, Subscription,
};
use crate::rejection::Rejection;
use crate::request::{Answer, Reply};

impl Draft<'_> {
    /// A delivery for every endpoint of the merchant that wants to hear of it.
    ///
    /// Whoever saves must still find the same endpoints: who subscribes meanwhile is not told of this, and must be.
    pub(super) fn fan_out(&mut self, event: &FeedEvent, admission: &Admission) {
        let Some(record) = self.records.rely_on(Kind::Merchant, &event.merchant) else { return };
        let wants = |subscription: &&Subscription| subscription.wants(&event.kind);
        let wanted: Vec<(EndpointId, String)> = record
            .content
            .merchant()
            .into_iter()
            .flat_map(|merchant| merchant.subscriptions.iter().filter(wants))
            .map(|subscription| (subscription.endpoint, event.payload(&subscription.version)))
            .collect();
        let is_only_one = wanted.len() == 1;
        for (endpoint, body) in wanted {
            self.begin_delivery(event, (endpoint, is_only_one), body, admission);
        }
    }

    fn begin_delivery(
        &mut self,
        event: &FeedEvent,
        (endpoint, is_only_one): (EndpointId, bool),
        body: String,
        admission: &Admission,
    ) -> Flow {
        let now = admission.now;
        let terms = Terms { event: event.id, kind: event.kind.clone(), endpoint, body };
        let flow = Flow {
            id: FlowId::from(DeliveryId::of(event.id, endpoint)),
            merchant: event.merchant.clone(),
            version: 1,
            sequence: 0,
            created_at: admission.now,
            updated_at: admission.now,
            state: FlowState::Delivery(Box::new(Delivery::new(terms, admission.now))),
            parked: None,
            host: self.rules.hosting.of_delivery((event.id, endpoint), is_only_one, now),
        };
        self.told = self.told.saturating_add(1);
        self.put(flow.clone(), admission);
        flow
    }

    /// An event that says only that somebody wanted to see one.
    pub(super) fn test_endpoint(
        &mut self,
        actor: &str,
        id: EndpointId,
        admission: &Admission,
    ) -> Answer {
        let mut endpoint = self.endpoint(id).cloned().ok_or_else(|| self.no_endpoint(id))?;
        check_on(id, &endpoint)?;
        endpoint.told = endpoint.told.saturating_add(1);
        let data = to_json(&serde_json::json!({ "endpoint_id": id, "test": true }));
        let event = self.tell_of_endpoint(id, &endpoint, ("webhook.test", data), admission);
        let body = event.payload(PAYLOAD_VERSION);
        let flow = self.begin_delivery(&event, (id, true), body, admission);
        self.put_endpoint(id, endpoint, admission);
        self.note((actor, "webhook_endpoint.test"), &id.to_string(), "", admission);
        let views =
            flow.state.delivery().map(|delivery| crate::delivery::View::new(&flow, delivery));
        Ok(Reply::Replayed(views.into_iter().collect()))
    }

    pub(super) fn endpoint(&self, id: EndpointId) -> Option<&Endpoint> {
        self.records.get(Kind::Endpoint, &id.to_string())?.content.endpoint()
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

    /// What an attempt says about its endpoint. One that takes nothing for too long is switched off, and that is told.
    pub(super) fn note_health(
        &mut self,
        id: EndpointId,
        (sign, delivery): (Sign, FlowId),
        admission: &Admission,
    ) -> Result<(), Rejection> {
        let Some(mut endpoint) = self.endpoint(id).cloned() else { return Ok(()) };
        let (now, schedule) = (admission.now, &self.rules.deliveries);
        let delivery = DeliveryId::from_uuid(delivery.uuid());
        // It is switched off in its merchant's record as well: if that cannot be read, the next failure tries again.
        let can_switch = endpoint.is_enabled() && self.can_tell(&endpoint.merchant).is_ok();
        let reason = endpoint.note(sign, delivery, (now, schedule)).filter(|_| can_switch);
        if let Some(reason) = reason {
            endpoint.status = Status::Disabled { reason: reason.to_owned(), at: now };
            endpoint.told = endpoint.told.saturating_add(1);
            let data = to_json(&serde_json::json!({
                "endpoint_id": id, "url": endpoint.settings.url, "reason": reason, "status": "disabled",
            }));
            let told = ("webhook_endpoint.disabled", data);
            self.tell_of_endpoint(id, &endpoint, told, admission);
            self.subscribe(id, &endpoint, admission)?;
        }
        self.put_endpoint(id, endpoint, admission);
        Ok(())
    }

    /// An event about the endpoint itself, numbered by it.
    fn tell_of_endpoint(
        &mut self,
        id: EndpointId,
        endpoint: &Endpoint,
        (kind, data): (&str, String),
        admission: &Admission,
    ) -> FeedEvent {
        let resource = id.to_string();
        let seed = admission.seed.child([&resource, &endpoint.told.to_string()]);
        let event = FeedEvent {
            id: EventId::new(admission.now, &seed, 0),
            kind: kind.to_owned(),
            resource,
            merchant: endpoint.merchant.clone(),
            sequence: endpoint.told,
            time: admission.now,
            data,
        };
        self.events.push(event.clone());
        self.ledger.touch(admission.now);
        event
    }

    /// Keeps the merchant's subscriptions as its endpoints are.
    pub(super) fn subscribe(
        &mut self,
        id: EndpointId,
        endpoint: &Endpoint,
        admission: &Admission,
    ) -> Result<(), Rejection> {
        self.can_tell(&endpoint.merchant)?;
        // Even if nothing changes there: that holds for the merchant that was read, and for no other.
        let found = self.records.rely_on(Kind::Merchant, &endpoint.merchant);
        let Some(mut merchant) = found.and_then(|record| record.content.merchant()).cloned() else {
            return Err(Rejection::UnknownMerchant { merchant: endpoint.merchant.clone() });
        };
        let before = merchant.subscriptions.clone();
        merchant.subscriptions.retain(|subscription| subscription.endpoint != id);
        merchant.subscriptions.extend(endpoint.subscription(id));
        merchant.subscriptions.sort_by_key(|subscription| subscription.endpoint);
        if merchant.subscriptions.len() > ENDPOINTS_MAX {
            return Err(Rejection::TooManyEndpoints { most: ENDPOINTS_MAX });
        }
        if merchant.subscriptions != before {
            let key = RecordKey::merchant(&endpoint.merchant);
            self.put_record(key, Content::Merchant(merchant), admission);
        }
        Ok(())
    }

    /// Whether it is known who wants to hear of what becomes of a merchant's business. If not, nothing is told: nobody
    /// would be.
    pub(super) fn can_tell(&self, merchant: &str) -> Result<(), Rejection> {
        self.check_readable(Kind::Merchant, merchant)
    }

    /// Why an endpoint is not among the records.
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
    Err(Rejection::CalledOff { id: id.to_string(), status: endpoint.status.name() })
}
