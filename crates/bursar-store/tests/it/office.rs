//! A desk whose merchant has endpoints and is told things.

use std::collections::{BTreeMap, BTreeSet};

use bursar_core::delivery::{Event, Outcome, Parcel, Response, View};
use bursar_core::ids::{DeliveryId, EndpointId, EventId, FlowId, Seed};
use bursar_core::payin::{NewPayIn, Said};
use bursar_core::registry::{
    Change, Content, EndpointChange, PAYLOAD_VERSION, RecordKey, Registration, Settings,
};
use bursar_core::rejection::Rejection;
use bursar_core::request::{Body, Deliver, Delivering, Mail, Reply, Report};
use bursar_core::rules::Rules;
use bursar_store::{Browse, Query, Store};

use crate::desk::{Desk, START};
use crate::workload::rules;

pub(crate) fn calm() -> Rules {
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

pub(crate) fn change(id: EndpointId, change: EndpointChange) -> Body {
    let (actor, merchant) = ("ops".to_owned(), "m1".to_owned());
    Body::Register(Registration { actor, change: Change::Endpoint { id, merchant, change } })
}

pub(crate) fn add(id: EndpointId, event_types: &[&str]) -> Body {
    let secret = "sealed".to_owned();
    change(id, EndpointChange::Add { settings: settings(event_types), secret })
}

pub(crate) fn deliver(limit: u32) -> Deliver {
    Deliver { limit, share: u32::MAX, with_retries: true, ..Deliver::default() }
}

pub(crate) fn answered(status: u16) -> Outcome {
    Outcome::Answered { status, retry_after: None, response: Response::new(b"ok") }
}

/// A desk whose merchant is told things.
pub(crate) struct Office<'r, S> {
    pub(crate) desk: Desk<'r, S>,
    pub(crate) payins: u32,
}

impl<S: Store + Query + Browse> Office<'_, S> {
    /// A customer pays, and the merchant is told once.
    pub(crate) async fn tell(&mut self) -> EventId {
        let payin = self.payin(Said::Completed);
        let commit = self.desk.commit(payin).await;
        assert!(commit.answers[0].is_ok(), "{:?}", commit.answers);
        commit.events[0].id
    }

    /// So many customers pay at once.
    pub(crate) async fn tell_many(&mut self, count: u32) {
        let payins = (0..count).map(|_| self.payin(Said::Completed)).collect();
        let commit = self.desk.commit_all(payins).await;
        assert!(commit.answers.iter().all(Result::is_ok), "{:?}", commit.answers);
    }

    /// Something that is said about a pay-in of its own.
    pub(crate) fn payin(&mut self, said: Said) -> Body {
        self.payins += 1;
        let name = format!("r{}", self.payins);
        Body::TakePayIn(NewPayIn {
            key: None,
            actor: None,
            merchant: "m1".to_owned(),
            provider: "easy".to_owned(),
            reference: name.clone(),
            currency: "PKR".to_owned(),
            amount: "10.00".to_owned(),
            said,
            event: name,
        })
    }

    pub(crate) async fn deliver(&mut self, deliver: Deliver) -> (Delivering, Vec<Parcel>) {
        let commit = self.desk.commit(Body::Mail(Mail::Deliver(deliver))).await;
        match &commit.answers[0] {
            Ok(Reply::Delivering(begun)) => (begun.clone(), commit.parcels),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn came_back(&mut self, parcel: &Parcel, outcome: Outcome) {
        let event = Event::Returned { attempt: parcel.attempt, took_ms: 7, outcome };
        let report = Report { flow: parcel.flow, event: event.into() };
        self.desk.ask(Body::Report(report)).await.unwrap();
    }

    pub(crate) async fn view(&mut self, flow: FlowId) -> View {
        let flow = self.desk.store.flow(flow).await.unwrap().unwrap();
        View::new(&flow, flow.state.delivery().unwrap())
    }

    pub(crate) async fn status(&mut self, flow: FlowId) -> String {
        self.view(flow).await.status
    }

    /// How many deliveries stand where.
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
        match self
            .desk
            .ask(Body::Mail(Mail::Replay { actor: "ops".to_owned(), deliveries }))
            .await?
        {
            Reply::Replayed(views) => Ok(views),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn endpoint(&mut self, id: EndpointId) -> bursar_core::registry::Endpoint {
        let record = self.desk.store.record(&RecordKey::endpoint(id)).await.unwrap().unwrap();
        match record.content {
            Content::Endpoint(endpoint) => *endpoint,
            other => panic!("{other:?}"),
        }
    }
}
