//! Real processes, real sockets, real faults: engines under steady load while everything around them breaks. The
//! provider's books and ours are compared while it runs and when it is over.
//!
//! By default every fault happens once; on Temporal, the worst of them. `./chaos` sets the variables that make it long:
//! `BURSAR_CHAOS_MINUTES`, `BURSAR_CHAOS_SEED`, `BURSAR_CHAOS_ONLY`.

mod breaker;
mod disk;
mod end;
mod fault;
mod house;
mod temporal;
mod world;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use crate::bursar::bursar;
use crate::process::Process;
use breaker::Breaker;
use fault::Dice;
pub(crate) use fault::Fault;
use house::House;
pub(crate) use house::Store;
use serde_json::json;
use temporal::TOLD;
use world::{CLIENTS, MERCHANTS, World, counts};

/// What happens, and for how long.
pub(crate) struct Plan {
    pub(crate) faults: Vec<Fault>,
    /// Without it every fault happens in turn, and then it is over.
    pub(crate) minutes: Option<u64>,
    pub(crate) seed: u64,
    /// So many payouts; without it, until everything has happened.
    pub(crate) payouts: Option<usize>,
    /// How many payouts are asked for in a second, at most.
    pub(crate) pace: Option<u32>,
    /// Between two faults of a long run, in milliseconds.
    pub(crate) pause: (u64, u64),
    /// How often a channel is asked about what nobody knows, and after how many seconds each time.
    pub(crate) questions: (usize, &'static str),
}

/// Clocks as short as they can be, and questions enough to outlive the provider's mood.
fn config(provider: &str, callbacks: &str, (count, seconds): (usize, &str)) -> String {
    let schedule = vec![seconds; count].join(", ");
    format!(
        "[api]\nrate_limit_per_s = 0\n[channels.mobile_wallet]\nkind = \"http\"\nurl = \"http://{provider}\"\n\
         currencies = [\"PKR\"]\ncallback_secret = \"s\"\ncallback_url = \"{callbacks}\"\nsubmit_timeout_s = 0.5\n\
         query_timeout_s = 2\nfirst_retry_s = 0.2\nlast_retry_s = 1\nrequery_schedule_s = [{schedule}]\n\
         poll_interval_s = 1\npoll_deadline_s = 600\n[providers.easy]\ncallback_secret = \"s\"\n\
         [webhooks]\nallow_hosts = [\"127.0.0.1\"]\nretry_schedule_s = [1, 1, 1, 1, 1, 1, 1, 1]\n"
    )
}

/// Time enough to go on before the next thing breaks, now and then.
pub(crate) const PAUSE: (u64, u64) = (200, 8_000);

/// Says where to look, if it comes to that.
struct Evidence(String);

impl Drop for Evidence {
    fn drop(&mut self) {
        if thread::panicking() {
            println!("logs and data are kept in {}", self.0);
        }
    }
}

/// Whoever fails ends the run for everybody.
struct Ending<'w>(&'w World);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.has_failed.store(true, Ordering::Relaxed);
            self.0.is_over.store(true, Ordering::Relaxed);
        }
    }
}

pub(crate) fn survives(store: Store, plan: &Plan) {
    let mut house = House::build(store, &plan.faults);
    let _evidence = Evidence(house.paths());
    let addresses: Vec<String> =
        house.engines.iter().filter(|it| it.serves).map(|it| it.address.clone()).collect();
    let callbacks = format!("http://{}/v1/providers/mobile_wallet/callbacks", addresses[0]);
    let seed = plan.seed.to_string();
    let provider = ["simulate-channel", "--listen", "127.0.0.1:0", "--profile", "hostile"];
    let telling = ["--seed", &seed, "--callback-url", &callbacks, "--callback-secret", "s"];
    let provider = Process::start(&[&provider[..], &telling].concat(), &[]);
    house.open(&config(&provider.address, &callbacks, plan.questions));
    let receiver = house.temporal.is_some().then(temporal::receiver);
    let clients = u32::try_from(CLIENTS).unwrap();
    let world = World {
        provider,
        addresses,
        payouts: plan.payouts,
        rest: plan.pace.map_or(Duration::ZERO, |pace| Duration::from_secs(1) * clients / pace),
        started: Instant::now(),
        is_over: AtomicBool::new(false),
        has_failed: AtomicBool::new(false),
        made: AtomicUsize::new(0),
        promised: Mutex::default(),
        happened: Mutex::default(),
    };
    for merchant in 0..MERCHANTS {
        let body = format!(r#"{{"id":"m{merchant}","name":"Shop {merchant}"}}"#);
        world.insist(0, "POST", "/v1/merchants", &[], &body);
        world.collect(merchant, &format!("first{merchant}"), "1000000.00");
        if let Some(receiver) = &receiver {
            let url = receiver.url("/");
            let body =
                json!({"merchant_id": format!("m{merchant}"), "url": url, "event_types": TOLD});
            world.insist(0, "POST", "/v1/webhook-endpoints", &[], &body.to_string());
        }
    }
    let breaker = Breaker::new(&world, house, Dice::new(plan.seed));
    let mut breaker = thread::scope(|scope| {
        let breaking = scope.spawn(|| break_everything(breaker, plan));
        let client = |number| {
            let world = &world;
            scope.spawn(move || {
                let _ending = Ending(world);
                world.client(number);
            })
        };
        let clients: Vec<_> = (0..CLIENTS).map(client).collect();
        let watcher = scope.spawn(|| watch(&world));
        let breaker = breaking.join();
        if world.payouts.is_none() {
            world.is_over.store(true, Ordering::Relaxed);
        }
        let clients: Result<Vec<()>, _> = clients.into_iter().map(ScopedJoinHandle::join).collect();
        world.is_over.store(true, Ordering::Relaxed);
        watcher.join().unwrap();
        clients.unwrap();
        breaker.unwrap()
    });
    end::comes_to_rest(&world, &mut breaker.house);
    end::agrees_in_the_end(&world);
    if let (Some(receiver), Some(temporal)) = (&receiver, &breaker.house.temporal) {
        temporal::has_ended(&world, receiver, temporal);
    }
    finish(breaker, store, plan);
}

fn break_everything<'w>(mut breaker: Breaker<'w>, plan: &Plan) -> Breaker<'w> {
    let _ending = Ending(breaker.world);
    match plan.minutes {
        None => breaker.run_through(&plan.faults),
        Some(minutes) => {
            (breaker.pause, breaker.lasting) = (plan.pause, (2_000, 15_000));
            let end = breaker.world.started + Duration::from_mins(minutes);
            breaker.run_until(&plan.faults, end);
        }
    }
    breaker.mend_all();
    breaker
}

/// Looks at both books again and again, and says once a minute how it stands.
fn watch(world: &World) {
    let _ending = Ending(world);
    let mut told = Instant::now();
    while !world.is_over.load(Ordering::Relaxed) {
        let begun = Instant::now();
        let statuses = world.assert_sound_meanwhile();
        if told.elapsed() >= Duration::from_mins(1) {
            told = Instant::now();
            let made = world.made.load(Ordering::Relaxed);
            let elapsed = world.started.elapsed().as_secs_f64();
            let (counts, faults) = (counts(&statuses), world.faults());
            println!("{elapsed:8.1} s  so far          {made} payouts: {counts}; faults: {faults}");
        }
        // Looking takes longer the more there is: it must not become the load.
        let until = Instant::now() + Duration::from_millis(300).max(begun.elapsed() * 3);
        while Instant::now() < until && !world.is_over.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(100));
        }
    }
}

/// What is on the disk is what it should be, when nobody serves any more.
fn finish(breaker: Breaker<'_>, store: Store, plan: &Plan) {
    let Breaker { world, mut house, .. } = breaker;
    house.engines.clear();
    let verify = [vec!["ledger".to_owned(), "verify".to_owned()], house.place.clone()].concat();
    let verify: Vec<&str> = verify.iter().map(String::as_str).collect();
    assert!(bursar(&verify).ok().contains("ok: every balance"));
    let seconds = world.started.elapsed().as_secs();
    println!(
        "{store:?}: {}:{:02} minutes, {} payouts, {} pay-ins, faults: {}; seed {}. Nothing lost, nothing doubled",
        seconds.div_euclid(60),
        seconds.rem_euclid(60),
        world.made.load(Ordering::Relaxed),
        world.promised.lock().unwrap().payins,
        world.faults(),
        plan.seed,
    );
}

/// The short form, unless the variables make it long.
fn plan(store: Store) -> Plan {
    let variable = |name: &str| std::env::var(name).ok();
    let number = |name: &str| variable(name).map(|text| text.parse().expect("a number"));
    let minutes: Option<u64> = number("BURSAR_CHAOS_MINUTES");
    let seed = number("BURSAR_CHAOS_SEED").unwrap_or(1);
    let only = variable("BURSAR_CHAOS_ONLY");
    // A job whose worker is gone is waited for by the minute: the short form has what nothing else tries.
    let is_short = store == Store::Temporal && minutes.is_none();
    let few = is_short.then_some("stop,kill,term,channel,pg-crash,temporal-crash");
    let faults = Fault::chosen(store, only.as_deref().or(few));
    let (pace, pause, many) = match store {
        Store::Sqlite | Store::Postgres => (20, PAUSE, (30, "2")),
        // A Temporal server on one file is not fast, and takes its time to come back.
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
