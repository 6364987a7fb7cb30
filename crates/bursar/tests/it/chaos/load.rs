//! The load on the engines: a hostile provider with its own books, and clients that record every acknowledged request.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use bursar_connect::{Secret, callback};
use bursar_core::money::Money;
use serde_json::{Value, json};

use super::Plan;
use super::fault::Fault;
use super::staff::{Decision, Staff};
use crate::caller::{Answer, Caller};
use crate::process::Process;

/// The admin key.
pub(super) const KEY: &str = "kill";
/// The secret of the channel and of the provider.
pub(super) const CALLBACK_SECRET: &str = "hush-hush";
pub(super) const MERCHANTS: usize = 7;
/// The beneficiary of all payouts; only the books and the provider may contain it.
pub(super) const MSISDN: &str = "923001234567";
/// Concurrent clients.
pub(super) const CLIENTS: usize = 8;

pub(super) struct Load {
    pub(super) provider: Process,
    pub(super) staff: Staff,
    /// Addresses of the engines.
    pub(super) addresses: Vec<String>,
    /// The number of payouts; without it, until the run is over.
    pub(super) payouts: Option<usize>,
    /// Pause between two payouts of a client.
    rest: Duration,
    pub(super) started: Instant,
    pub(super) is_over: AtomicBool,
    /// A check has failed: all threads stop.
    pub(super) has_failed: AtomicBool,
    /// The number of answered payout requests, repeated ones included.
    pub(super) made: AtomicUsize,
    pub(super) acknowledged: Mutex<Acknowledged>,
    /// Requests that the books have forgotten; clients repeat them before all others.
    pub(super) forgotten: Mutex<Vec<Request>>,
    /// Held by a client from a request until its answer is recorded.
    in_flight: RwLock<()>,
    /// Injected faults, and how often.
    pub(super) happened: Mutex<BTreeMap<Fault, usize>>,
}

/// A request of a client. Its number determines merchant, key, reference and amount.
#[derive(Debug, Clone, Copy)]
pub(super) enum Request {
    Payout(usize),
    Payin(usize),
    PayinCallbacks(usize),
    /// What staff proposes and decides.
    Proposals(usize),
}

/// Acknowledged requests, which must never be lost.
#[derive(Default)]
pub(super) struct Acknowledged {
    /// In the order of their answers.
    pub(super) requests: Vec<Request>,
    /// Payouts by workflow id, which follows from merchant and key.
    pub(super) payouts: BTreeMap<String, Accepted>,
    /// Pay-ins by reference: the merchant, and the credited amount.
    pub(super) payins: BTreeMap<String, (String, i64)>,
    /// Decisions about proposals, by what was proposed.
    pub(super) decisions: BTreeMap<String, Decision>,
}

/// A payout that was accepted.
pub(super) struct Accepted {
    pub(super) id: String,
    pub(super) merchant: String,
    /// What it costs if it is paid.
    pub(super) cost: i64,
}

/// The fields of a payout that the checks use.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) id: String,
    pub(super) reference: String,
}

pub(super) type Statuses = BTreeMap<String, Vec<Seen>>;

impl Load {
    pub(super) fn new(provider: Process, addresses: Vec<String>, plan: &Plan) -> Self {
        let clients = u32::try_from(CLIENTS).unwrap();
        Self {
            provider,
            staff: Staff::new(&addresses[0]),
            addresses,
            payouts: plan.payouts,
            rest: plan.pace.map_or(Duration::ZERO, |pace| Duration::from_secs(1) * clients / pace),
            started: Instant::now(),
            is_over: AtomicBool::new(false),
            has_failed: AtomicBool::new(false),
            made: AtomicUsize::new(0),
            acknowledged: Mutex::default(),
            forgotten: Mutex::default(),
            in_flight: RwLock::default(),
            happened: Mutex::default(),
        }
    }

    /// Sends a request to one engine after the other until one answers. A write has a short timeout and is retried with
    /// the same key; a read has a long one.
    pub(super) fn send_until_answered(
        &self,
        first: usize,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Value {
        let answer = self.ask_until_answered(KEY, first, (method, path), headers, body);
        assert!(answer.status < 300, "{method} {path}: {answer:?}");
        answer.json()
    }

    /// The same under any key, with whatever the answer is.
    pub(super) fn ask_until_answered(
        &self,
        key: &str,
        first: usize,
        (method, path): (&str, &str),
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        let patience = Duration::from_secs(if method == "GET" { 300 } else { 3 });
        let started = Instant::now();
        let mut answered = None;
        let mut turn = first;
        loop {
            let address = &self.addresses[turn % self.addresses.len()];
            let caller = Caller::new(address, Some(key)).within(patience);
            let answer = caller.try_ask(method, path, headers, body.as_bytes());
            match answer {
                // The engine is down or went down before it answered: retry with the same key.
                Some(answer) if [429, 503].contains(&answer.status) => answered = Some(answer),
                None => {}
                Some(answer) => return answer,
            }
            assert!(!self.has_failed.load(Ordering::Relaxed), "given up, because another failed");
            assert!(
                started.elapsed() < Duration::from_mins(3),
                "no engine answers {method} {path} {headers:?}; the last answer was {answered:?}"
            );
            thread::sleep(Duration::from_millis(20));
            turn += 1;
        }
    }

    pub(super) fn get(&self, path: &str) -> Value {
        self.send_until_answered(0, "GET", path, &[], "")
    }

    /// All payouts by status.
    pub(super) fn statuses(&self) -> Statuses {
        let mut found = Statuses::new();
        let mut cursor = String::new();
        loop {
            let page = self.get(&format!("/v1/payouts?limit=500{cursor}"));
            for payout in page["data"].as_array().unwrap() {
                let text = |name: &str| payout[name].as_str().unwrap().to_owned();
                let seen = Seen { id: text("id"), reference: text("reference") };
                found.entry(text("status")).or_default().push(seen);
            }
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return found,
            }
        }
    }

    /// Calls the provider, with retries: it may be paused, and is slow afterwards.
    pub(super) fn call_provider(&self, method: &str, path: &str, body: &str) -> Value {
        let caller = Caller::new(&self.provider.address, None).within(Duration::from_mins(1));
        let mut answers =
            (0..10).filter_map(|_| caller.try_ask(method, path, &[], body.as_bytes()));
        let answer = answers.next().expect("the provider answers within ten minutes");
        answer.json()
    }

    /// The provider's books by reference.
    pub(super) fn books(&self) -> BTreeMap<String, Value> {
        let mut books = self.call_provider("GET", "/_books", "");
        let payments = std::mem::take(books["payments"].as_array_mut().unwrap());
        let named = |entry: Value| (entry["reference"].as_str().unwrap().to_owned(), entry);
        payments.into_iter().map(named).collect()
    }

    /// Paid references; each must be paid once.
    pub(super) fn paid(&self) -> BTreeSet<String> {
        let books = self.books();
        let more_than_once = |what: &str| {
            let entries = books.values();
            let more = entries.filter(|entry| entry[what].as_u64() > Some(1));
            more.map(ToString::to_string).collect::<Vec<String>>()
        };
        assert_eq!(more_than_once("times_paid"), [""; 0], "paid twice");
        assert_eq!(more_than_once("submissions"), [""; 0], "sent twice");
        let paid = books.into_iter().filter(|(_, entry)| entry["state"] == "paid");
        paid.map(|(reference, _)| reference).collect()
    }

    /// Every settled payout was paid; every paid payout is settled or in progress.
    pub(super) fn assert_sound_meanwhile(&self) -> Statuses {
        let settled = references(&self.statuses(), &["SUCCESS", "LATE_SUCCESS"]);
        let paid = self.paid();
        assert!(settled.is_subset(&paid), "settled, not paid: {:?}", settled.difference(&paid));
        let later = self.statuses();
        let given_up = references(&later, &["FAILED", "CANCELLED"]);
        // An earlier attempt of a payout may have been rejected, never paid.
        let both: Vec<&String> = paid.intersection(&given_up).collect();
        assert!(both.is_empty(), "paid, and given up: {both:?}");
        later
    }

    pub(super) fn faults(&self) -> String {
        let happened = self.happened.lock().unwrap();
        let counts = happened.iter().map(|(fault, times)| format!("{} {times}", fault.name()));
        counts.collect::<Vec<String>>().join(", ")
    }

    /// One client, until the number of payouts is reached or the run is over.
    pub(super) fn client(&self, number: usize) {
        let mut payout = number;
        let is_over = || self.is_over.load(Ordering::Relaxed);
        while self.payouts.map_or_else(|| !is_over(), |payouts| payout < payouts) {
            while self.repeat_forgotten() {}
            self.send(Request::Payout(payout));
            match payout % 10 {
                3 => self.send(Request::Payin(payout)),
                5 => self.send(Request::Proposals(payout)),
                7 => self.send(Request::PayinCallbacks(payout)),
                _ => {}
            }
            payout += CLIENTS;
            thread::sleep(self.rest);
        }
    }

    /// Waits until every request that a client has begun is answered and recorded.
    pub(super) fn await_answers(&self) {
        drop(self.in_flight.write().unwrap());
    }

    /// Repeats one forgotten request, if there is one.
    fn repeat_forgotten(&self) -> bool {
        let _in_flight = self.in_flight.read().unwrap();
        let request = self.forgotten.lock().unwrap().pop();
        request.map(|request| self.send_and_record(request)).is_some()
    }

    fn send(&self, request: Request) {
        let _in_flight = self.in_flight.read().unwrap();
        self.send_and_record(request);
    }

    fn send_and_record(&self, request: Request) {
        match request {
            Request::Payout(number) => self.pay_out(number),
            Request::Payin(number) => {
                self.collect(number % MERCHANTS, &format!("r{number}"), "50.00");
            }
            Request::PayinCallbacks(number) => self.send_payin_callbacks(number),
            Request::Proposals(number) => self.propose(number),
        }
        self.acknowledged.lock().unwrap().requests.push(request);
    }

    fn pay_out(&self, payout: usize) {
        let merchant = format!("m{}", payout % MERCHANTS);
        let key = format!("p{payout}");
        let body = json!({
            "merchant_id": merchant, "amount": "10.00", "currency": "PKR", "channel": "mobile_wallet",
            "beneficiary": {"name": "A", "msisdn": MSISDN},
        });
        let answer = self.send_until_answered(
            payout,
            "POST",
            "/v1/payouts",
            &[("idempotency-key", &key)],
            &body.to_string(),
        );
        self.paid_out(&merchant, &key, &answer);
    }

    /// Records a payout that was accepted under this key.
    pub(super) fn paid_out(&self, merchant: &str, key: &str, answer: &Value) {
        let cost = ["amount", "fee", "vat"].map(|part| minor(&answer[part])).iter().sum();
        let id = answer["id"].as_str().unwrap().to_owned();
        let workflow = format!("disbursement-{merchant}-{key}");
        let accepted = Accepted { id, merchant: merchant.to_owned(), cost };
        self.acknowledged.lock().unwrap().payouts.insert(workflow, accepted);
        self.made.fetch_add(1, Ordering::Relaxed);
    }

    /// Records a pay-in.
    pub(super) fn collect(&self, merchant: usize, reference: &str, amount: &str) {
        let body = json!({
            "merchant_id": format!("m{merchant}"), "provider": "easy", "reference": reference,
            "amount": amount, "currency": "PKR",
        });
        let answer = self.send_until_answered(0, "POST", "/v1/payins", &[], &body.to_string());
        self.collected(reference, &answer);
    }

    /// Sends the callbacks of a pay-in: pending once, completed twice.
    fn send_payin_callbacks(&self, number: usize) {
        let reference = format!("c{number}");
        let mut answer = Value::Null;
        for (event, status) in ["pending", "completed", "completed"].iter().enumerate() {
            let body = json!({
                "event_id": format!("{number}-{}", event.min(1)), "merchant_id": format!("m{}", number % MERCHANTS),
                "reference": reference, "amount": "70.00", "currency": "PKR", "status": status,
            });
            let body = body.to_string();
            let signature = callback::sign(&Secret::new(CALLBACK_SECRET), body.as_bytes());
            let header = (callback::SIGNATURE_HEADER, signature.as_str());
            answer = self.send_until_answered(
                number,
                "POST",
                "/v1/providers/easy/callbacks",
                &[header],
                &body,
            );
        }
        self.collected(&reference, &answer);
    }

    pub(super) fn collected(&self, reference: &str, payin: &Value) {
        let merchant = payin["merchant_id"].as_str().unwrap().to_owned();
        let mut acknowledged = self.acknowledged.lock().unwrap();
        acknowledged.payins.insert(reference.to_owned(), (merchant, minor(&payin["net"])));
    }
}

pub(super) fn references(statuses: &Statuses, wanted: &[&str]) -> BTreeSet<String> {
    let payouts = wanted.iter().filter_map(|status| statuses.get(*status)).flatten();
    payouts.map(|payout| payout.reference.clone()).collect()
}

pub(super) fn counts(statuses: &Statuses) -> String {
    let counts = statuses.iter().map(|(status, payouts)| format!("{} {status}", payouts.len()));
    counts.collect::<Vec<String>>().join(", ")
}

/// Minor units of a decimal.
pub(super) fn minor(amount: &Value) -> i64 {
    Money::parse(amount.as_str().unwrap(), "PKR".parse().unwrap()).unwrap().minor()
}
