//! Chaos tests: engines under steady load with injected faults, with real processes and sockets. The provider's books and the
//! ledger are compared during the run and at its end.
//!
//! By default every fault is injected once; on Temporal, a selection. `./chaos` sets the variables for a long run:
//! `BURSAR_CHAOS_MINUTES`, `BURSAR_CHAOS_SEED`, `BURSAR_CHAOS_ONLY`.

mod disk;
mod fault;
mod fault_injector;
mod final_checks;
mod load;
mod processes;
mod restore;
mod staff;
mod temporal;

use std::sync::atomic::Ordering;
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use crate::bursar::bursar;
use crate::process::Process;
use fault::Dice;
pub(crate) use fault::Fault;
use fault_injector::FaultInjector;
use load::{CALLBACK_SECRET, CLIENTS, Load, MERCHANTS, counts};
use processes::Processes;
pub(crate) use processes::Store;
use restore::Restores;
use serde_json::json;
use temporal::EVENT_TYPES;

/// The faults and the duration of a run.
pub(crate) struct Plan {
    pub(crate) faults: Vec<Fault>,
    /// Without it every fault is injected once.
    pub(crate) minutes: Option<u64>,
    pub(crate) seed: u64,
    /// The number of payouts; without it, until all faults were injected.
    pub(crate) payouts: Option<usize>,
    /// Maximum payouts per second.
    pub(crate) pace: Option<u32>,
    /// Pause between two faults of a long run, in milliseconds.
    pub(crate) pause: (u64, u64),
    /// The number of status queries for an unknown outcome, and the pause between them in seconds.
    pub(crate) questions: (usize, &'static str),
}

/// Configuration with short timeouts, and enough status queries to outlast the hostile provider.
fn config(provider: &str, callbacks: &str, (count, seconds): (usize, &str)) -> String {
    let schedule = vec![seconds; count].join(", ");
    format!(
        "[api]\nrate_limit_per_s = 0\n[channels.mobile_wallet]\nkind = \"http\"\nurl = \"http://{provider}\"\n\
         currencies = [\"PKR\"]\ncallback_secret = \"{CALLBACK_SECRET}\"\ncallback_url = \"{callbacks}\"\nsubmit_timeout_s = 0.5\n\
         query_timeout_s = 2\nfirst_retry_s = 0.2\nlast_retry_s = 1\nrequery_schedule_s = [{schedule}]\n\
         poll_interval_s = 1\npoll_deadline_s = 600\n[providers.easy]\ncallback_secret = \"{CALLBACK_SECRET}\"\n\
         [webhooks]\nallow_hosts = [\"127.0.0.1\"]\nretry_schedule_s = [1, 1, 1, 1, 1, 1, 1, 1]\n"
    )
}

/// Range of the pause between two faults.
pub(crate) const PAUSE: (u64, u64) = (200, 8_000);

/// Prints the paths of data and logs if the test fails.
struct Evidence(String);

impl Drop for Evidence {
    fn drop(&mut self) {
        if thread::panicking() {
            println!("logs and data are kept in {}", self.0);
        }
    }
}

/// A thread that panics ends the run for all threads.
struct Ending<'w>(&'w Load);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.has_failed.store(true, Ordering::Relaxed);
            self.0.is_over.store(true, Ordering::Relaxed);
        }
    }
}

pub(crate) fn survives(store: Store, plan: &Plan) {
    let mut processes = Processes::build(store, &plan.faults);
    let _evidence = Evidence(processes.paths());
    let addresses: Vec<String> =
        processes.engines.iter().filter(|it| it.serves).map(|it| it.address.clone()).collect();
    let callbacks = format!("http://{}/v1/providers/mobile_wallet/callbacks", addresses[0]);
    let seed = plan.seed.to_string();
    let provider = ["simulate-channel", "--listen", "127.0.0.1:0", "--profile", "hostile"];
    let telling =
        ["--seed", &seed, "--callback-url", &callbacks, "--callback-secret", CALLBACK_SECRET];
    let provider = Process::start(&[&provider[..], &telling].concat(), &[]);
    processes.open(&config(&provider.address, &callbacks, plan.questions));
    let receiver = processes.temporal.is_some().then(temporal::receiver);
    let load = Load::new(provider, addresses, plan);
    for merchant in 0..MERCHANTS {
        let body = format!(r#"{{"id":"m{merchant}","name":"Shop {merchant}"}}"#);
        load.send_until_answered(0, "POST", "/v1/merchants", &[], &body);
        // Enough for the payouts of staff while books that were put back have forgotten their pay-ins.
        for part in 0..10 {
            load.collect(merchant, &format!("first{merchant}-{part}"), "1000000.00");
        }
        if let Some(receiver) = &receiver {
            let url = receiver.url("/");
            let body = json!({"merchant_id": format!("m{merchant}"), "url": url, "event_types": EVENT_TYPES});
            load.send_until_answered(0, "POST", "/v1/webhook-endpoints", &[], &body.to_string());
        }
    }
    let mut injector = FaultInjector::new(&load, processes, Dice::new(plan.seed));
    if plan.faults.contains(&Fault::Restore) {
        injector.restores = Some(Restores::new(&load));
    }
    let mut injector = thread::scope(|scope| {
        let breaking = scope.spawn(|| break_everything(injector, plan));
        let client = |number| {
            let load = &load;
            scope.spawn(move || {
                let _ending = Ending(load);
                load.client(number);
            })
        };
        let clients: Vec<_> = (0..CLIENTS).map(client).collect();
        let watcher = scope.spawn(|| watch(&load));
        let injector = breaking.join();
        if load.payouts.is_none() {
            load.is_over.store(true, Ordering::Relaxed);
        }
        let clients: Result<Vec<()>, _> = clients.into_iter().map(ScopedJoinHandle::join).collect();
        load.is_over.store(true, Ordering::Relaxed);
        watcher.join().unwrap();
        clients.unwrap();
        injector.unwrap()
    });
    final_checks::drain_and_resolve(&load, &mut injector.processes);
    final_checks::assert_books_agree(&load);
    load.assert_decisions_hold();
    if let (Some(receiver), Some(temporal)) = (&receiver, &injector.processes.temporal) {
        temporal::has_ended(&load, receiver, temporal);
    }
    finish(injector, store, plan);
}

fn break_everything<'w>(mut injector: FaultInjector<'w>, plan: &Plan) -> FaultInjector<'w> {
    let _ending = Ending(injector.load);
    match plan.minutes {
        None => injector.run_through(&plan.faults),
        Some(minutes) => {
            (injector.pause, injector.lasting) = (plan.pause, (2_000, 15_000));
            let end = injector.load.started + Duration::from_mins(minutes);
            injector.run_until(&plan.faults, end);
        }
    }
    injector.mend_all();
    injector
}

/// Compares both books periodically, and prints the progress once a minute.
fn watch(load: &Load) {
    let _ending = Ending(load);
    let mut told = Instant::now();
    while !load.is_over.load(Ordering::Relaxed) {
        let begun = Instant::now();
        let statuses = load.assert_sound_meanwhile();
        if told.elapsed() >= Duration::from_mins(1) {
            told = Instant::now();
            let made = load.acknowledged.lock().unwrap().payouts.len();
            let elapsed = load.started.elapsed().as_secs_f64();
            let (counts, faults) = (counts(&statuses), load.faults());
            println!("{elapsed:8.1} s  so far          {made} payouts: {counts}; faults: {faults}");
        }
        // A check takes longer with more payouts: the pause grows with it.
        let until = Instant::now() + Duration::from_millis(300).max(begun.elapsed() * 3);
        while Instant::now() < until && !load.is_over.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(100));
        }
    }
}

/// Verifies the books on disk after all engines have stopped.
fn finish(injector: FaultInjector<'_>, store: Store, plan: &Plan) {
    let FaultInjector { load, mut processes, .. } = injector;
    processes.engines.clear();
    let verify = [vec!["ledger".to_owned(), "verify".to_owned()], processes.place.clone()].concat();
    let verify: Vec<&str> = verify.iter().map(String::as_str).collect();
    assert!(bursar(&verify).ok().contains("ok: every balance"));
    let seconds = load.started.elapsed().as_secs();
    let acknowledged = load.acknowledged.lock().unwrap();
    println!(
        "{store:?}: {}:{:02} minutes, {} payouts, {} pay-ins, faults: {}; seed {}. Nothing lost, nothing doubled",
        seconds.div_euclid(60),
        seconds.rem_euclid(60),
        acknowledged.payouts.len(),
        acknowledged.payins.len(),
        load.faults(),
        plan.seed,
    );
}

/// The short run, unless the variables extend it.
fn plan(store: Store) -> Plan {
    let variable = |name: &str| std::env::var(name).ok();
    let number = |name: &str| variable(name).map(|text| text.parse().expect("a number"));
    let minutes: Option<u64> = number("BURSAR_CHAOS_MINUTES");
    let seed = number("BURSAR_CHAOS_SEED").unwrap_or(1);
    let only = variable("BURSAR_CHAOS_ONLY");
    // Activities of a lost worker time out after minutes: the short run has only the faults that no other test covers.
    let is_short = store == Store::Temporal && minutes.is_none();
    let few = is_short.then_some("stop,kill,term,channel,pg-crash,temporal-crash");
    let faults = Fault::chosen(store, only.as_deref().or(few));
    let (pace, pause, many) = match store {
        Store::Sqlite | Store::Postgres => (20, PAUSE, (30, "2")),
        // A Temporal server on one file is slow, also to restart.
        Store::Temporal => (2, (2_000, 15_000), (8, "5")),
    };
    let questions = if minutes.is_some() { many } else { (10, "1") };
    Plan { faults, minutes, seed, payouts: None, pace: Some(pace), pause, questions }
}

#[test]
fn one_process_on_sqlite_outlives_every_fault() {
    survives(Store::Sqlite, &plan(Store::Sqlite));
}

#[test]
fn two_processes_on_postgres_outlive_every_fault() {
    survives(Store::Postgres, &plan(Store::Postgres));
}

#[cfg(feature = "temporal")]
#[test]
fn a_server_and_two_workers_on_temporal_outlive_faults() {
    survives(Store::Temporal, &plan(Store::Temporal));
}
