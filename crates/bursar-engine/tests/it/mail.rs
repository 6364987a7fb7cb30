//! What merchants are told, by an engine with a courier: storms, poison, and clocks that are set back.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bursar_core::delivery::{Event, Outcome, Parcel, Response};
use bursar_core::ids::{EndpointId, FlowId, Seed};
use bursar_core::ledger::Admission;
use bursar_core::payin::{NewPayIn, Said};
use bursar_core::registry::{Change, EndpointChange, PAYLOAD_VERSION, Registration, Settings};
use bursar_core::request::{Batch, Body, Request};
use bursar_core::rules::Rules;
use bursar_engine::{Clock, Courier, Handle, Host, Limits};
use bursar_store::{Query, Store, turn};
use jiff::{SignedDuration, Timestamp};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::failing::Still;
use crate::poison::{Says, pays};
use crate::request::{open_merchant, rules};

/// Without jitter, so that what fails together comes back together.
pub(crate) fn calm() -> Rules {
    let mut rules = rules();
    rules.deliveries.jitter_percent = 0;
    rules
}

pub(crate) fn endpoint_id(number: u64) -> EndpointId {
    EndpointId::new(Still.now(), &Seed::from(number), 0)
}

pub(crate) fn change(merchant: &str, id: EndpointId, change: EndpointChange) -> Body {
    let (actor, merchant) = ("ops".to_owned(), merchant.to_owned());
    Body::Register(Registration { actor, change: Change::Endpoint { id, merchant, change } })
}

/// An endpoint that takes so many at once, and so many in a second.
pub(crate) fn add(merchant: &str, id: EndpointId, concurrency: u32, rate: Option<u32>) -> Body {
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

/// A customer pays, and the merchant is told once.
pub(crate) fn tell(merchant: &str, number: u32) -> Body {
    Body::TakePayIn(NewPayIn {
        key: None,
        actor: None,
        merchant: merchant.to_owned(),
        provider: "easy".to_owned(),
        reference: format!("{merchant}-{number}"),
        currency: "PKR".to_owned(),
        amount: "10.00".to_owned(),
        said: Said::Completed,
        event: format!("{merchant}-{number}"),
    })
}

/// Done before any engine runs.
pub(crate) async fn set_up(store: &mut impl Store, rules: &Rules, bodies: Vec<Body>) {
    for (number, body) in (0..).zip(bodies) {
        let admission = Admission::new(Still.now(), Seed::from(number).child(["set", "up"]));
        let request = [Request { admission, body }];
        let commit = turn(store, &Batch::new(rules, &request)).await.unwrap();
        commit.answers[0].as_ref().unwrap();
    }
}

/// Moves with the time of the test, and can be set.
#[derive(Debug, Clone)]
pub(crate) struct Wall {
    began: Instant,
    set_by: Arc<AtomicI64>,
}

impl Wall {
    pub(crate) fn new() -> Self {
        Self { began: Instant::now(), set_by: Arc::default() }
    }

    pub(crate) fn set(&self, seconds: i64) {
        self.set_by.fetch_add(seconds, Ordering::SeqCst);
    }
}

impl Clock for Wall {
    fn now(&self) -> Timestamp {
        let passed = SignedDuration::try_from(self.began.elapsed()).unwrap();
        Still.now() + passed + SignedDuration::from_secs(self.set_by.load(Ordering::SeqCst))
    }
}

/// One attempt, as the courier saw it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen {
    pub(crate) flow: FlowId,
    pub(crate) endpoint: EndpointId,
    pub(crate) at: Timestamp,
    /// How many were under way with it, to the same endpoint and in all.
    pub(crate) together: (usize, usize),
    pub(crate) lease: Duration,
}

#[derive(Debug, Default)]
struct Book {
    seen: Vec<Seen>,
    in_flight: BTreeMap<EndpointId, usize>,
}

/// Takes a while, and then the endpoint says what it says.
#[derive(Clone)]
pub(crate) struct Brings {
    book: Arc<Mutex<Book>>,
    takes: Duration,
    says: Arc<dyn Fn(&Parcel) -> u16 + Send + Sync>,
}

impl Brings {
    pub(crate) fn new(
        takes: Duration,
        says: impl Fn(&Parcel) -> u16 + Send + Sync + 'static,
    ) -> Self {
        Self { book: Arc::default(), takes, says: Arc::new(says) }
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.book.lock().unwrap().seen.clone()
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.book.lock().unwrap().in_flight.values().sum()
    }
}

impl Courier for Brings {
    fn send(
        &self,
        parcel: Parcel,
        deadline: Instant,
    ) -> Pin<Box<dyn Future<Output = Event> + Send>> {
        let Self { book, takes, says } = self.clone();
        Box::pin(async move {
            {
                let mut book = book.lock().unwrap();
                let own = book.in_flight.entry(parcel.endpoint).or_default();
                *own += 1;
                let own = *own;
                let together = (own, book.in_flight.values().sum());
                let Parcel { flow, endpoint, at, .. } = parcel;
                let lease = deadline.duration_since(Instant::now());
                book.seen.push(Seen { flow, endpoint, at, together, lease });
            }
            tokio::time::sleep(takes).await;
            *book.lock().unwrap().in_flight.get_mut(&parcel.endpoint).unwrap() -= 1;
            let status = says(&parcel);
            let outcome =
                Outcome::Answered { status, retry_after: None, response: Response::new(b"") };
            Event::Returned { attempt: parcel.attempt, took_ms: 1, outcome }
        })
    }
}

/// An engine that tells merchants things, with these limits.
pub(crate) fn start<S: Store + 'static>(
    store: S,
    rules: &Rules,
    courier: &Brings,
    clock: Arc<dyn Clock>,
    (limits, life): (Limits, u64),
) -> (JoinHandle<S>, Handle) {
    let (channels, settings) = (Arc::new(Says(pays)), (limits, Seed::from(life)));
    let (host, handle) = Host::new(store, Arc::new(rules.clone()), channels, clock, settings);
    let host = host.with_courier(Arc::new(courier.clone()));
    (tokio::task::spawn_local(host.run()), handle)
}

/// Waits for something, at most so many seconds of the test's time.
pub(crate) async fn within(seconds: u32, mut is_so: impl FnMut() -> bool) {
    for _ in 0..seconds * 4 {
        if is_so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    panic!("it never came to be");
}

/// How many deliveries of each merchant stand where.
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

/// The merchants' endpoints, and so many events for each.
pub(crate) fn told(merchant: &str, endpoints: Vec<Body>, events: u32) -> Vec<Body> {
    let events = (0..events).map(|number| tell(merchant, number));
    [open_merchant(merchant)].into_iter().chain(endpoints).chain(events).collect()
}
