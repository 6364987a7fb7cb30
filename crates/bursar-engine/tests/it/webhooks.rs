//! Webhook endpoints as test doubles, a settable wall clock, and an engine that delivers to the endpoints.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bursar_core::flow::{self, Call, Effect};
use bursar_core::ids::{EndpointId, FlowId, Seed};
use bursar_core::ledger::Admission;
use bursar_core::payins::{NewPayIn, ProviderStatus};
use bursar_core::registry::{Change, Registration};
use bursar_core::rules::Rules;
use bursar_core::turn::{Body, Request, TurnInput};
use bursar_core::webhooks::delivery::{Event, Outcome, Response, WebhookCall};
use bursar_core::webhooks::{EndpointChange, PAYLOAD_VERSION, Settings};
use bursar_engine::{Clock, Handle, Host, Limits, Outside, Running};
use bursar_store::{Query, Store, turn};
use jiff::{SignedDuration, Timestamp};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::failing::Still;
use crate::outside::{channel, composed, pays};
use crate::request::{open_merchant, rules};

/// Without jitter, so that deliveries that fail together are due together.
pub(crate) fn rules_without_jitter() -> Rules {
    let mut rules = rules();
    rules.deliveries.jitter_percent = 0;
    rules
}

pub(crate) fn endpoint_id(number: u64) -> EndpointId {
    EndpointId::new(Still.now(), &Seed::from(number), 0)
}

pub(crate) fn change(merchant: &str, id: EndpointId, change: EndpointChange) -> Body {
    let (actor, merchant) = ("ops".to_owned(), merchant.to_owned());
    Registration { actor, change: Change::Endpoint { id, merchant, change } }.into()
}

/// Adds an endpoint with these limits on concurrency and on starts per second.
pub(crate) fn add_endpoint(
    merchant: &str,
    id: EndpointId,
    concurrency: u32,
    rate: Option<u32>,
) -> Body {
    let settings = Settings {
        url: "https://merchant.example/hooks".to_owned(),
        event_types: ["*".to_owned()].into(),
        version: PAYLOAD_VERSION.to_owned(),
        header_names: Vec::new(),
        headers: None,
        concurrency,
        rate_limit: rate,
    };
    change(merchant, id, EndpointChange::Add { settings, secret: "sealed".to_owned() })
}

/// A completed pay-in: one event for the merchant's endpoints.
pub(crate) fn pay_in(merchant: &str, number: u32) -> Body {
    let pay_in = NewPayIn {
        key: None,
        actor: None,
        merchant: merchant.to_owned(),
        provider: "easy".to_owned(),
        reference: format!("{merchant}-{number}"),
        currency: "PKR".to_owned(),
        amount: "10.00".to_owned(),
        said: ProviderStatus::Completed,
        event: format!("{merchant}-{number}"),
    };
    pay_in.into()
}

/// Runs these requests before any engine starts.
pub(crate) async fn set_up(store: &mut impl Store, rules: &Rules, bodies: Vec<Body>) {
    for (number, body) in (0..).zip(bodies) {
        let admission = Admission::new(Still.now(), Seed::from(number).child(["set", "up"]));
        let request = [Request { admission, body }];
        let commit = turn(store, &TurnInput::new(rules, &request)).await.unwrap();
        commit.answers[0].as_ref().unwrap();
    }
}

/// Moves with the time of the test, and can be set.
#[derive(Debug, Clone)]
pub(crate) struct WallClock {
    started: Instant,
    set_by: Arc<AtomicI64>,
}

impl WallClock {
    pub(crate) fn new() -> Self {
        Self { started: Instant::now(), set_by: Arc::default() }
    }

    pub(crate) fn set_by(&self, seconds: i64) {
        self.set_by.fetch_add(seconds, Ordering::SeqCst);
    }
}

impl Clock for WallClock {
    fn now(&self) -> Timestamp {
        let passed = SignedDuration::try_from(self.started.elapsed()).unwrap();
        Still.now() + passed + SignedDuration::from_secs(self.set_by.load(Ordering::SeqCst))
    }
}

/// A delivery attempt that has reached the endpoints.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attempt {
    pub(crate) flow: FlowId,
    pub(crate) endpoint: EndpointId,
    pub(crate) at: Timestamp,
    /// How many were in flight with it, to the same endpoint and in all.
    pub(crate) in_flight: (usize, usize),
    pub(crate) lease: Duration,
}

#[derive(Debug, Default)]
struct Log {
    attempts: Vec<Attempt>,
    in_flight: BTreeMap<EndpointId, usize>,
}

type Status = dyn Fn(&Effect, &WebhookCall) -> u16 + Send + Sync;

/// Endpoints that answer after a while, with the status that a function of the effect and its call returns.
#[derive(Clone)]
pub(crate) struct Endpoints {
    log: Arc<Mutex<Log>>,
    answer_after: Duration,
    status: Arc<Status>,
}

impl Endpoints {
    pub(crate) fn new(
        answer_after: Duration,
        status: impl Fn(&Effect, &WebhookCall) -> u16 + Send + Sync + 'static,
    ) -> Self {
        Self { log: Arc::default(), answer_after, status: Arc::new(status) }
    }

    pub(crate) fn attempts(&self) -> Vec<Attempt> {
        self.log.lock().unwrap().attempts.clone()
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.log.lock().unwrap().in_flight.values().sum()
    }
}

impl Outside for Endpoints {
    fn run(&self, effect: Effect, deadline: Instant) -> Running {
        let Self { log, answer_after, status } = self.clone();
        Box::pin(async move {
            let Call::Delivery(call) = &effect.call else { panic!("{effect:?} is no webhook") };
            let WebhookCall { endpoint, at, .. } = **call;
            {
                let mut log = log.lock().unwrap();
                let own = log.in_flight.entry(endpoint).or_default();
                *own += 1;
                let own = *own;
                let in_flight = (own, log.in_flight.values().sum());
                let lease = deadline.duration_since(Instant::now());
                log.attempts.push(Attempt { flow: effect.flow, endpoint, at, in_flight, lease });
            }
            tokio::time::sleep(answer_after).await;
            *log.lock().unwrap().in_flight.get_mut(&endpoint).unwrap() -= 1;
            let status = status(&effect, call);
            let response = Response::new(b"");
            let outcome = Outcome::Answered { status, retry_after: None, response };
            let attempt = effect.attempt;
            flow::Outcome::Delivery(Event::Returned { attempt, took_ms: 1, outcome })
        })
    }
}

/// An engine that delivers to these endpoints, with a seed of its own.
pub(crate) fn start<S: Store + 'static>(
    store: S,
    rules: &Rules,
    endpoints: &Endpoints,
    clock: Arc<dyn Clock>,
    (limits, seed): (Limits, u64),
) -> (JoinHandle<S>, Handle) {
    let outside = Arc::new(composed(channel(pays), endpoints.clone()));
    let settings = (limits, Seed::from(seed));
    let (host, handle) = Host::new(store, Arc::new(rules.clone()), outside, clock, settings);
    (tokio::task::spawn_local(host.run()), handle)
}

/// Waits until a condition holds, at most so many seconds of the test's time.
pub(crate) async fn within(seconds: u32, mut condition: impl FnMut() -> bool) {
    for _ in 0..seconds * 4 {
        if condition() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    panic!("the condition did not hold within {seconds} s");
}

/// How many deliveries each merchant has in each status.
pub(crate) async fn statuses(books: &mut impl Query) -> BTreeMap<(String, &'static str), u32> {
    let mut statuses = BTreeMap::new();
    for flow in books.flows(None, u32::MAX).await.unwrap() {
        if let Some(delivery) = flow.state.delivery() {
            let key = (flow.merchant.clone(), delivery.state.status());
            *statuses.entry(key).or_default() += 1;
        }
    }
    statuses
}

/// Opens a merchant with these endpoints and makes so many events for them.
pub(crate) fn merchant_with_events(merchant: &str, endpoints: Vec<Body>, events: u32) -> Vec<Body> {
    let events = (0..events).map(|number| pay_in(merchant, number));
    [open_merchant(merchant)].into_iter().chain(endpoints).chain(events).collect()
}
