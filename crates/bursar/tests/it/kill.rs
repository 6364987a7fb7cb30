//! `bursar serve` killed in the middle of everything, again and again, with a provider that misbehaves. Its books and
//! ours are compared while it runs and when it is over.
//!
//! `BURSAR_KILL_PAYOUTS` and `BURSAR_KILLS` make it longer than the short form that runs by default.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::bursar::bursar;
use crate::cluster::Cluster;
use crate::process::{Process, ask, free_port};
use crate::scratch::Scratch;

const KEY: &str = "authorization: Bearer kill";
/// Payouts that are asked for at once.
const CLIENTS: usize = 8;

fn number(name: &str, usual: usize) -> usize {
    std::env::var(name).map_or(usual, |text| text.parse().unwrap())
}

/// One place where a process serves, whether it is up or not.
struct Place {
    port: u16,
    arguments: Vec<String>,
}

impl Place {
    fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    fn start(&self) -> Process {
        let listen = self.address();
        let mut arguments = vec!["serve", "--listen", listen.as_str()];
        arguments.extend(self.arguments.iter().map(String::as_str));
        Process::start(&arguments, &[("BURSAR_ADMIN_KEY", "kill"), ("BURSAR_LOG", "error")])
    }
}

struct World {
    provider: Process,
    places: Vec<Place>,
    payouts: usize,
    made: AtomicUsize,
    is_over: AtomicBool,
}

impl World {
    /// Asks whoever is up, until somebody answers.
    fn insist(
        &self,
        first: usize,
        method: &str,
        path: &str,
        headers: &[&str],
        body: &str,
    ) -> Value {
        let mut answered = None;
        for turn in 0..6_000 {
            let place = &self.places[(first + turn) % self.places.len()];
            match ask(&place.address(), method, path, headers, body) {
                Some(answer) if answer.status < 300 => return answer.body,
                // It is down, or went down before it answered: the same key again.
                Some(answer) if [429, 503].contains(&answer.status) => answered = Some(answer),
                None => {}
                Some(answer) => {
                    answered = Some(answer);
                    break;
                }
            }
            thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(format!("{answered:?}"), "", "{method} {path}");
        Value::Null
    }

    /// Every payout that was made, by its status.
    fn statuses(&self) -> BTreeMap<String, Vec<Value>> {
        let mut found: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        let mut cursor = String::new();
        loop {
            let page = self.insist(0, "GET", &format!("/v1/payouts?limit=500{cursor}"), &[KEY], "");
            for payout in page["data"].as_array().unwrap() {
                let status = payout["status"].as_str().unwrap().to_owned();
                found.entry(status).or_default().push(payout.clone());
            }
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return found,
            }
        }
    }

    /// What the provider has paid, or may still pay, by reference.
    fn books(&self) -> BTreeMap<String, Value> {
        let books = self.provider.ask("GET", "/_books", &[], "").body;
        let payments = books["payments"].as_array().unwrap();
        let entry =
            |entry: &Value| (entry["reference"].as_str().unwrap().to_owned(), entry.clone());
        payments.iter().map(entry).collect()
    }

    fn paid(&self) -> BTreeSet<String> {
        let books = self.books();
        assert!(books.values().all(|entry| entry["times_paid"].as_u64() < Some(2)), "paid twice");
        assert!(books.values().all(|entry| entry["submissions"].as_u64() < Some(2)), "sent twice");
        let paid = books.into_iter().filter(|(_, entry)| entry["state"] == "paid");
        paid.map(|(reference, _)| reference).collect()
    }

    /// What is settled was paid; what was paid is settled or still alive.
    fn assert_sound_meanwhile(&self) {
        let settled = references(&self.statuses(), &["SUCCESS", "LATE_SUCCESS"]);
        let paid = self.paid();
        assert!(settled.is_subset(&paid), "{:?}", settled.difference(&paid));
        let later = self.statuses();
        let given_up = references(&later, &["FAILED", "CANCELLED"]);
        // An earlier attempt of a payout may have been refused, never paid.
        assert!(paid.is_disjoint(&given_up), "{:?}", paid.intersection(&given_up));
    }

    fn client(&self, number: usize) {
        for payout in (number..self.payouts).step_by(CLIENTS) {
            let key = format!("idempotency-key: p{payout}");
            let body = format!(
                r#"{{"merchant_id":"m{}","beneficiary":{{"name":"A","msisdn":"923001234567"}},"amount":"10.00","currency":"PKR","channel":"mobile_wallet"}}"#,
                payout % 7
            );
            self.insist(payout, "POST", "/v1/payouts", &[KEY, &key], &body);
            self.made.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Kills one after the other, each at another moment, and starts it again.
    fn killer(&self, mut up: Vec<Process>, kills: usize) -> Vec<Process> {
        let mut dice: u64 = 88_172_645_463_325_252;
        for kill in 0..kills {
            dice ^= dice << 13;
            dice ^= dice >> 7;
            dice ^= dice << 17;
            thread::sleep(Duration::from_millis(100 + dice % 1_400));
            let victim = kill % up.len();
            up.remove(victim).kill();
            up.insert(victim, self.places[victim].start());
        }
        up
    }
}

fn references(statuses: &BTreeMap<String, Vec<Value>>, wanted: &[&str]) -> BTreeSet<String> {
    let payouts = wanted.iter().filter_map(|status| statuses.get(*status)).flatten();
    payouts.map(|payout| payout["reference"].as_str().unwrap().to_owned()).collect()
}

/// Clocks as short as they can be, and questions enough to outlive the provider's mood.
fn config(provider: &str, callbacks: &str, kills: usize) -> String {
    let schedule = vec!["1"; 15 + 3 * kills].join(", ");
    format!(
        "[api]\nrate_limit_per_s = 0\n[channels.mobile_wallet]\nkind = \"http\"\nurl = \"http://{provider}\"\n\
         currencies = [\"PKR\"]\ncallback_secret = \"s\"\ncallback_url = \"{callbacks}\"\nsubmit_timeout_s = 2\n\
         query_timeout_s = 2\nfirst_retry_s = 0.2\nlast_retry_s = 1\nrequery_schedule_s = [{schedule}]\n\
         poll_interval_s = 1\npoll_deadline_s = 600\n"
    )
}

/// `place` makes the arguments that say where the books are.
fn survives(place: &[&str], engines: usize) {
    let payouts = number("BURSAR_KILL_PAYOUTS", 300);
    let kills = number("BURSAR_KILLS", 6);
    let scratch = Scratch::new();
    let ports: Vec<u16> = (0..engines).map(|_| free_port()).collect();
    let callbacks = format!("http://127.0.0.1:{}/v1/providers/mobile_wallet/callbacks", ports[0]);
    let provider = Process::start(
        &[
            "simulate-channel",
            "--listen",
            "127.0.0.1:0",
            "--seed",
            "11",
            "--profile",
            "hostile",
            "--callback-url",
            &callbacks,
            "--callback-secret",
            "s",
        ],
        &[],
    );
    let file = scratch.path().join("bursar.toml");
    std::fs::write(&file, config(&provider.address, &callbacks, kills)).unwrap();
    let place: Vec<String> = place.iter().map(|text| (*text).to_owned()).collect();
    let arguments =
        [place.clone(), vec!["--config".to_owned(), file.display().to_string()]].concat();
    let places =
        ports.into_iter().map(|port| Place { port, arguments: arguments.clone() }).collect();
    let (made, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let world = World { provider, places, payouts, made, is_over };
    let up: Vec<Process> = world.places.iter().map(Place::start).collect();
    for merchant in 0..7 {
        let body = format!(r#"{{"id":"m{merchant}","name":"Shop {merchant}"}}"#);
        world.insist(0, "POST", "/v1/merchants", &[KEY], &body);
        let body = format!(
            r#"{{"merchant_id":"m{merchant}","provider":"easy","reference":"r{merchant}","amount":"1000000.00","currency":"PKR"}}"#
        );
        world.insist(0, "POST", "/v1/payins", &[KEY], &body);
    }

    let up = thread::scope(|scope| {
        let killer = scope.spawn(|| world.killer(up, kills));
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| {
                scope.spawn({
                    let world = &world;
                    move || world.client(number)
                })
            })
            .collect();
        let watcher = scope.spawn(|| {
            while !world.is_over.load(Ordering::Relaxed) {
                world.assert_sound_meanwhile();
                thread::sleep(Duration::from_millis(300));
            }
        });
        let up = killer.join().unwrap();
        for client in clients {
            client.join().unwrap();
        }
        world.is_over.store(true, Ordering::Relaxed);
        watcher.join().unwrap();
        up
    });
    comes_to_rest(&world);
    agrees_in_the_end(&world);
    drop(up);
    let verify = [vec!["ledger".to_owned(), "verify".to_owned()], place].concat();
    let verify: Vec<&str> = verify.iter().map(String::as_str).collect();
    assert!(bursar(&verify).ok().contains("ok: every balance"));
}

/// The provider heals, every question is answered, and a person looks into its books for what nobody could answer.
fn comes_to_rest(world: &World) {
    world.provider.ask("POST", "/_profile", &[], r#"{"profile":"calm"}"#);
    let started = Instant::now();
    let live = ["SCHEDULED", "READY", "SUBMITTING", "UNCONFIRMED", "PROCESSING"];
    let stuck = loop {
        let mut statuses = world.statuses();
        let counts: Vec<(String, usize)> =
            statuses.iter().map(|(status, payouts)| (status.clone(), payouts.len())).collect();
        if references(&statuses, &live).is_empty() {
            break statuses.remove("STUCK").unwrap_or_default();
        }
        assert!(
            started.elapsed() < Duration::from_secs(400),
            "it does not come to rest: {counts:?}"
        );
        thread::sleep(Duration::from_millis(500));
    };
    let books = world.books();
    for payout in stuck {
        let (id, reference) =
            (payout["id"].as_str().unwrap(), payout["reference"].as_str().unwrap());
        // Killed between saving and sending: the provider never saw it, and only a person can rule that.
        assert!(!books.contains_key(reference), "{payout} is stuck without a cause");
        let body = format!(
            r#"{{"decision":"confirm_not_paid","evidence":"not in the provider's books","expected_version":{}}}"#,
            payout["version"]
        );
        let key = format!("idempotency-key: resolve-{id}");
        world.insist(0, "POST", &format!("/v1/payouts/{id}/resolve"), &[KEY, &key], &body);
    }
}

/// The provider's books and ours are the same to the last payment.
fn agrees_in_the_end(world: &World) {
    let statuses = world.statuses();
    let counts: BTreeMap<&String, usize> =
        statuses.iter().map(|(status, payouts)| (status, payouts.len())).collect();
    println!("{counts:?}");
    let total: usize = counts.values().sum();
    assert_eq!(total, world.payouts, "every key has one payout: {counts:?}");
    assert_eq!(world.made.load(Ordering::Relaxed), world.payouts);
    let settled = references(&statuses, &["SUCCESS", "LATE_SUCCESS"]);
    assert_eq!(settled, world.paid(), "books = settled: {counts:?}");
    assert!(
        counts.values().sum::<usize>() > counts[&"SUCCESS".to_owned()],
        "some fail: {counts:?}"
    );
    let trial = world.insist(0, "GET", "/v1/ledger/trial-balance", &[KEY], "");
    assert_eq!(trial["is_balanced"], true);
    let verified = world.insist(0, "GET", "/v1/ledger/verify", &[KEY], "");
    assert_eq!(verified["ok"], true, "{verified}");
}

#[test]
fn one_process_on_sqlite_that_is_killed_again_and_again_loses_and_doubles_nothing() {
    let scratch = Scratch::new();
    survives(&["--data", &scratch.path().join("books").display().to_string()], 1);
}

#[test]
fn two_processes_on_postgres_that_are_killed_again_and_again_lose_and_double_nothing() {
    let cluster = Cluster::start();
    survives(&["--database-url", &cluster.url()], 2);
}
