//! Injects faults, some of them concurrently, and repairs them.

use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use super::fault::{Dice, Fault};
use super::load::Load;
use super::processes::{Engine, Processes};
use super::restore::Restores;
use crate::caller::until;
use crate::cluster::Cluster;
use crate::process::ask;

/// Longer than the lease of a submission: its timeout and fifteen seconds.
pub(super) const LEASE: Duration = Duration::from_millis(15_500);

/// The pause between two looks at an open recheck.
const RECHECK_PAUSE: Duration = Duration::from_millis(500);

pub(super) struct FaultInjector<'b> {
    pub(super) load: &'b Load,
    pub(super) processes: Processes,
    pub(super) dice: Dice,
    /// Milliseconds between two faults.
    pub(super) pause: (u64, u64),
    /// Duration of a temporary fault, in milliseconds.
    pub(super) lasting: (u64, u64),
    pub(super) mending: Vec<Mending>,
    /// None if the fault `restore` is not injected.
    pub(super) restores: Option<Restores>,
}

/// A temporary fault with its end.
pub(super) struct Mending {
    pub(super) fault: Fault,
    until: Instant,
    /// The number of payouts when the fault began.
    made: usize,
}

impl<'b> FaultInjector<'b> {
    pub(super) fn new(load: &'b Load, processes: Processes, dice: Dice) -> Self {
        let (pause, lasting) = ((100, 1_500), (2_000, 3_000));
        Self { load, processes, dice, pause, lasting, mending: Vec::new(), restores: None }
    }

    /// Injects all of these faults in order.
    pub(super) fn run_through(&mut self, faults: &[Fault]) {
        for fault in faults {
            self.happen(*fault);
        }
    }

    /// Injects random faults until the end time. Permanent losses are injected late.
    pub(super) fn run_until(&mut self, faults: &[Fault], end: Instant) {
        let is_for_good = |fault: &Fault| *fault == Fault::Loss;
        let mut usual: Vec<Fault> =
            faults.iter().copied().filter(|fault| !is_for_good(fault)).collect();
        self.dice.shuffle(&mut usual);
        self.run_through(&usual);
        let late = end.checked_sub((end - self.load.started) / 5).unwrap();
        let mut has_lost = !faults.iter().any(is_for_good);
        while Instant::now() < end && !self.load.is_over.load(Ordering::Relaxed) {
            if !has_lost && Instant::now() >= late {
                has_lost = true;
                self.happen(Fault::Loss);
            } else if !usual.is_empty() {
                let at = self.dice.pick(usual.len());
                self.happen(usual[at]);
            }
        }
    }

    /// Repairs all active faults.
    pub(super) fn mend_all(&mut self) {
        while !self.mending.is_empty() {
            self.wait_for_mending();
        }
        self.processes.assert_all_live();
    }

    fn happen(&mut self, fault: Fault) {
        if self.load.is_over.load(Ordering::Relaxed) {
            return;
        }
        let (from, to) = self.pause;
        thread::sleep(Duration::from_millis(self.dice.between(from, to)));
        self.mend_what_is_due();
        self.copy_books_sometimes();
        // The same fault is not injected twice at once.
        while self.mending.iter().any(|mending| mending.fault == fault) {
            self.wait_for_mending();
        }
        *self.load.happened.lock().unwrap().entry(fault).or_default() += 1;
        match fault {
            Fault::Kill => self.kill(),
            Fault::Term => self.term(),
            Fault::Stop => self.stop(),
            Fault::Loss => self.lose(),
            Fault::Channel => {
                self.say(fault, "the provider stands still");
                self.load.provider.signal("-STOP");
                self.mend_later(fault, Duration::ZERO);
            }
            Fault::DiskSlow => {
                self.say(fault, "syncs and writes take long");
                self.processes.slow_disk.as_ref().unwrap().slow_down();
                self.mend_later(fault, Duration::ZERO);
            }
            Fault::DiskFull => self.fill_disk(),
            Fault::PgRestart => self.restart_database("fast"),
            Fault::PgCrash => self.restart_database("immediate"),
            Fault::PgDrop => {
                self.say(fault, "every connection is ended");
                let sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
                let cluster = self.cluster();
                cluster.run("psql", &["-q", "-d", &cluster.url(), "-c", sql]);
            }
            Fault::Restore => self.restore(),
            Fault::TemporalCrash => self.crash_temporal(),
        }
        self.processes.assert_all_live();
    }

    pub(super) fn say(&self, fault: Fault, what: &str) {
        println!(
            "{:8.1} s  {:<14}  {what}",
            self.load.started.elapsed().as_secs_f64(),
            fault.name()
        );
    }

    fn cluster(&self) -> &Cluster {
        self.processes.cluster.as_ref().unwrap()
    }

    /// A random engine that is running and not paused.
    fn victim(&mut self) -> usize {
        loop {
            let engines = self.processes.engines.iter().enumerate();
            let awake: Vec<usize> =
                engines.filter(|(_, engine)| engine.is_awake()).map(|(at, _)| at).collect();
            if !awake.is_empty() {
                return awake[self.dice.pick(awake.len())];
            }
            self.wait_for_mending();
        }
    }

    fn kill(&mut self) {
        let victim = self.victim();
        self.say(Fault::Kill, &self.processes.engines[victim].name);
        let engine = &mut self.processes.engines[victim];
        engine.take().kill();
        engine.start();
    }

    fn term(&mut self) {
        let victim = self.victim();
        self.say(Fault::Term, &self.processes.engines[victim].name);
        let engine = &mut self.processes.engines[victim];
        let ended = engine.take().stop("-TERM");
        assert!(ended.success(), "told to stop, {} ended with {ended}", engine.name);
        engine.start();
    }

    fn stop(&mut self) {
        let victim = self.victim();
        let engine = &mut self.processes.engines[victim];
        engine.process().signal("-STOP");
        engine.is_stopped = true;
        self.say(Fault::Stop, &self.processes.engines[victim].name);
        self.mend_later(Fault::Stop, LEASE);
    }

    fn lose(&mut self) {
        while self.mending.iter().any(|mending| mending.fault == Fault::Stop) {
            self.wait_for_mending();
        }
        // The first engine receives the provider's callbacks; another one is lost.
        let engine = self.processes.engines.last_mut().unwrap();
        engine.take().kill();
        self.say(Fault::Loss, &self.processes.engines[self.processes.engines.len() - 1].name);
    }

    fn restart_database(&mut self, mode: &str) {
        let fault = if mode == "fast" { Fault::PgRestart } else { Fault::PgCrash };
        self.say(fault, mode);
        self.cluster().stop_server(mode).unwrap();
        thread::sleep(Duration::from_millis(self.dice.between(10, 1_500)));
        self.cluster().start_server();
    }

    fn crash_temporal(&mut self) {
        self.say(Fault::TemporalCrash, "and back, on the same file");
        let temporal = self.processes.temporal.as_mut().unwrap();
        temporal.crash();
        thread::sleep(Duration::from_millis(self.dice.between(10, 3_000)));
        temporal.start_server();
    }

    /// An engine that cannot save answers 503 and resumes when space is freed; one that is killed meanwhile restarts.
    fn fill_disk(&mut self) {
        let (victim, is_killed) = (self.victim(), self.dice.pick(3) == 0);
        let address = self.processes.engines[victim].address.clone();
        let status = || ask(&address, "GET", "/readyz", &[], "").map(|answer| answer.status);
        let is_ready = || status().filter(|status| *status == 200);
        // An engine that was just paused may not be ready.
        until("it is ready", is_ready);
        self.say(Fault::DiskFull, if is_killed { "and a kill" } else { "not a byte is left" });
        self.processes.fill_disk();
        until("an engine that cannot save says so", || status().filter(|status| *status == 503));
        let metrics = ask(&address, "GET", "/metrics", &[], "").unwrap().body;
        let metrics = metrics.as_str().unwrap();
        assert!(!metrics.contains("bursar_turns_not_saved_total 0\n"), "it counts: {metrics}");
        let engine = &mut self.processes.engines[victim];
        if is_killed {
            engine.take().kill();
            // It may refuse to start, with a message.
            engine.process = engine.try_start();
        }
        self.processes.free_disk();
        let engine = &mut self.processes.engines[victim];
        if engine.process.is_none() {
            engine.start();
        }
        until("it is ready again by itself", is_ready);
    }

    pub(super) fn mend_later(&mut self, fault: Fault, at_least: Duration) {
        let (from, to) = self.lasting;
        let lasts = at_least + Duration::from_millis(self.dice.between(from, to));
        let made = self.load.made.load(Ordering::Relaxed);
        self.mending.push(Mending { fault, until: Instant::now() + lasts, made });
    }

    pub(super) fn mend_what_is_due(&mut self) {
        let now = Instant::now();
        let (due, later) =
            std::mem::take(&mut self.mending).into_iter().partition(|mending| mending.until <= now);
        self.mending = later;
        let mut due: Vec<Mending> = due;
        // Engines and the provider are resumed first: the recheck needs them.
        due.sort_by_key(|mending| mending.fault == Fault::Restore);
        for Mending { fault, made, .. } in due {
            if fault == Fault::Channel {
                self.load.provider.signal("-CONT");
            } else if fault == Fault::DiskSlow {
                self.processes.slow_disk.as_ref().unwrap().recover();
            } else if fault == Fault::Restore {
                if !self.try_end_recheck() {
                    let until = Instant::now() + RECHECK_PAUSE;
                    self.mending.push(Mending { fault, until, made });
                }
            } else {
                self.wake(made);
            }
        }
    }

    /// Resumes a paused engine. Other engines must have made progress meanwhile.
    fn wake(&mut self, made_before: usize) {
        let made = self.load.made.load(Ordering::Relaxed);
        let mut serving = self.processes.engines.iter().filter(|engine| engine.serves);
        let is_alone = !serving.any(Engine::is_awake);
        assert!(is_alone || made > made_before, "all stood still while one of the engines did");
        for engine in self.processes.engines.iter_mut().filter(|engine| engine.is_stopped) {
            engine.process().signal("-CONT");
            engine.is_stopped = false;
        }
    }

    fn wait_for_mending(&mut self) {
        let Some(first) = self.mending.iter().map(|mending| mending.until).min() else { return };
        thread::sleep(first.saturating_duration_since(Instant::now()));
        self.mend_what_is_due();
    }
}
