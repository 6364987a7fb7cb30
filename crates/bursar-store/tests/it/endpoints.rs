//! A test client whose merchant has webhook endpoints.

use std::collections::{BTreeMap, BTreeSet};

use bursar_core::flow::{self, Call, Effect, EffectOutcome};
use bursar_core::ids::{DeliveryId, EndpointId, EventId, FlowId, Seed};
use bursar_core::payins::{NewPayIn, ProviderStatus};
use bursar_core::registry::{Change, Content, RecordKey, Registration};
use bursar_core::rejection::Rejection;
use bursar_core::rules::Rules;
use bursar_core::turn::Ask as _;
use bursar_core::webhooks::delivery::{Event, Outcome, Response, View, WebhookCall};
use bursar_core::webhooks::{
    self, DeliveriesStarted, Endpoint, EndpointChange, PAYLOAD_VERSION, Settings, StartDeliveries,
};
use bursar_store::{Browse, Store};
use jiff::Timestamp;

use crate::desk::{Desk, START};
use crate::workload::rules;

/// Retry times without jitter.
pub(crate) fn rules_without_jitter() -> Rules {
    let mut rules = rules();
    rules.deliveries.jitter_percent = 0;
    rules
}

pub(crate) fn endpoint_id(number: u64) -> EndpointId {
    EndpointId::new(START, &Seed::from(number), 0)
}

pub(crate) fn settings(event_types: &[&str]) -> Settings {
    Settings {
        url: "https://merchant.example/hooks".to_owned(),
        event_types: event_types.iter().map(|kind| (*kind).to_owned()).collect(),
        version: PAYLOAD_VERSION.to_owned(),
        header_names: Vec::new(),
        headers: None,
        concurrency: 2,
        rate_limit: None,
    }
}

pub(crate) fn change(id: EndpointId, change: EndpointChange) -> Registration {
    let (actor, merchant) = ("ops".to_owned(), "m1".to_owned());
    Registration { actor, change: Change::Endpoint { id, merchant, change } }
}

pub(crate) fn add(id: EndpointId, event_types: &[&str]) -> Registration {
    let secret = "sealed".to_owned();
    change(id, EndpointChange::Add { settings: settings(event_types), secret })
}

pub(crate) fn deliver(limit: u32) -> StartDeliveries {
    StartDeliveries { limit, share: u32::MAX, with_retries: true, ..StartDeliveries::default() }
}

pub(crate) fn answered(status: u16) -> Outcome {
    Outcome::Answered { status, retry_after: None, response: Response::new(b"ok") }
}

/// A webhook call that was started.
#[derive(Debug, PartialEq)]
pub(crate) struct Sent {
    pub(crate) flow: FlowId,
    pub(crate) attempt: u32,
    pub(crate) lease_until: Timestamp,
    pub(crate) call: WebhookCall,
}

impl Sent {
    pub(crate) fn new(effect: Effect) -> Self {
        let Effect { flow, attempt, lease_until, call, .. } = effect;
        let Call::Delivery(call) = call else { panic!("{call:?}") };
        Self { flow, attempt, lease_until, call: *call }
    }
}

/// A client whose merchant has endpoints.
pub(crate) struct WebhookDesk<'r, S> {
    pub(crate) desk: Desk<'r, S>,
    pub(crate) payins: u32,
}

impl<S: Store + Browse> WebhookDesk<'_, S> {
    /// Completes a pay-in, which emits one event.
    pub(crate) async fn emit(&mut self) -> EventId {
        let payin = self.payin(ProviderStatus::Completed);
        let commit = self.desk.commit(payin).await;
        assert!(commit.answers[0].is_ok(), "{:?}", commit.answers);
        commit.events[0].id
    }

    /// Completes this many pay-ins in one turn.
    pub(crate) async fn emit_many(&mut self, count: u32) {
        let payins = (0..count).map(|_| self.payin(ProviderStatus::Completed).into()).collect();
        let commit = self.desk.commit_all(payins).await;
        assert!(commit.answers.iter().all(Result::is_ok), "{:?}", commit.answers);
    }

    /// A report about a new pay-in.
    pub(crate) fn payin(&mut self, status: ProviderStatus) -> NewPayIn {
        self.payins += 1;
        let name = format!("r{}", self.payins);
        NewPayIn {
            key: None,
            actor: None,
            merchant: "m1".to_owned(),
            provider: "easy".to_owned(),
            reference: name.clone(),
            currency: "PKR".to_owned(),
            amount: "10.00".to_owned(),
            said: status,
            event: name,
        }
    }

    pub(crate) async fn deliver(
        &mut self,
        round: StartDeliveries,
    ) -> (DeliveriesStarted, Vec<Sent>) {
        let mut commit = self.desk.commit(round).await;
        let reply = commit.answers.remove(0).ok().and_then(StartDeliveries::reply).unwrap();
        (reply, commit.effects.into_iter().map(Sent::new).collect())
    }

    pub(crate) async fn returned(&mut self, sent: &Sent, outcome: Outcome) {
        let event = Event::Returned { attempt: sent.attempt, took_ms: 7, outcome };
        let outcome = EffectOutcome { flow: sent.flow, outcome: flow::Outcome::Delivery(event) };
        self.desk.ask(outcome).await.unwrap();
    }

    pub(crate) async fn view(&mut self, flow: FlowId) -> View {
        let flow = self.desk.store.flow(flow).await.unwrap().unwrap();
        View::new(&flow, flow.state.delivery().unwrap())
    }

    pub(crate) async fn status(&mut self, flow: FlowId) -> String {
        self.view(flow).await.status
    }

    /// The number of deliveries by status.
    pub(crate) async fn statuses(&mut self) -> BTreeMap<&'static str, u32> {
        let mut statuses = BTreeMap::new();
        for flow in self.desk.store.flows(None, u32::MAX).await.unwrap() {
            if let Some(delivery) = flow.state.delivery() {
                *statuses.entry(delivery.state.status()).or_default() += 1;
            }
        }
        statuses
    }

    pub(crate) async fn replay(&mut self, flow: FlowId) -> Result<Vec<View>, Rejection> {
        let deliveries = BTreeSet::from([DeliveryId::from_uuid(flow.uuid())]);
        self.desk.ask(webhooks::Replay { actor: "ops".to_owned(), deliveries }).await
    }

    pub(crate) async fn endpoint(&mut self, id: EndpointId) -> Endpoint {
        let record = self.desk.store.record(&RecordKey::endpoint(id)).await.unwrap().unwrap();
        match record.content {
            Content::Endpoint(endpoint) => *endpoint,
            other => panic!("{other:?}"),
        }
    }
}
