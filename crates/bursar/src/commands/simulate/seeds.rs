//! Runs seeds on all cores, reports them in order, and sums their results.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};

use bursar_core::ledger::rulebook::Rulebook;
use bursar_node::failure::Failure;
use bursar_node::terminal;
use bursar_sim::simulate::{Coverage, Fault, Options, Outcome, run};

/// Totals of all seeds.
#[derive(Debug, Default)]
pub(super) struct Sum {
    pub(super) seeds: u64,
    pub(super) micros: u64,
    pub(super) steps: u64,
    pub(super) commits: u64,
    pub(super) payouts: u64,
    pub(super) faults: BTreeMap<Fault, u64>,
    pub(super) checks: u64,
    pub(super) coverage: Coverage,
    pub(super) broken: Vec<u64>,
}

impl Sum {
    pub(super) fn add(&mut self, outcome: &Outcome) {
        self.seeds = self.seeds.saturating_add(1);
        self.micros = self.micros.saturating_add(outcome.lasted);
        self.steps = self.steps.saturating_add(outcome.steps);
        self.commits = self.commits.saturating_add(outcome.commits);
        self.payouts = self.payouts.saturating_add(outcome.payouts);
        self.checks =
            outcome.checks.values().fold(self.checks, |sum, count| sum.saturating_add(*count));
        for (fault, count) in &outcome.faults {
            let sum = self.faults.entry(*fault).or_default();
            *sum = sum.saturating_add(*count);
        }
        for (name, count) in &outcome.coverage {
            let sum = self.coverage.entry(name.clone()).or_default();
            *sum = sum.saturating_add(*count);
        }
        self.broken.extend(outcome.broken.is_some().then_some(outcome.options.seed));
    }

    pub(super) fn days(&self) -> u64 {
        self.micros.checked_div(86_400_000_000).unwrap_or_default()
    }

    pub(super) fn line(&self) -> String {
        let faults: u64 = self.faults.values().sum();
        let Self { seeds, steps, commits, payouts, checks, .. } = self;
        let (days, verdict) = (self.days(), self.verdict());
        format!(
            "{seeds} seeds, {days} days, {payouts} payouts, {commits} commits, {steps} steps, {faults} faults, {checks} checks: {verdict}"
        )
    }

    pub(super) fn verdict(&self) -> String {
        match self.broken.len() {
            0 => "every invariant held".to_owned(),
            count => format!("{count} seeds broke an invariant"),
        }
    }
}

/// A seed and its outcome.
type SeedOutcome = (u64, Result<Outcome, String>);

/// Runs every seed and reports each in order, until `report` returns true.
pub(super) fn run_all(
    range: &Range<u64>,
    options: &Options,
    rulebook: &Rulebook,
    mut report: impl FnMut(&Outcome) -> Result<bool, Failure>,
) -> Result<Sum, Failure> {
    let mut sum = Sum::default();
    let bar = terminal::progress(range.end.saturating_sub(range.start), "seeds");
    let next = AtomicU64::new(range.start);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let (sender, receiver) = mpsc::sync_channel(threads.saturating_mul(2));
    let reported = std::thread::scope(|scope| {
        for _ in 0..threads {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || work(&sender, next, range, options, rulebook));
        }
        drop(sender);
        in_order(receiver, range.start, |outcome| {
            sum.add(outcome);
            bar.inc(1);
            let is_enough = report(outcome)?;
            if is_enough {
                next.store(range.end, Ordering::Relaxed);
            }
            Ok(is_enough)
        })
    });
    bar.finish_and_clear();
    reported.map(|()| sum)
}

fn work(
    sender: &SyncSender<SeedOutcome>,
    next: &AtomicU64,
    range: &Range<u64>,
    options: &Options,
    rulebook: &Rulebook,
) {
    loop {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        if !range.contains(&seed) {
            return;
        }
        let outcome = run(&Options { seed, ..options.clone() }, rulebook);
        if sender.send((seed, outcome)).is_err() {
            return;
        }
    }
}

/// Reorders outcomes by seed: a seed that ends early waits for the seeds before it.
fn in_order(
    receiver: Receiver<SeedOutcome>,
    first: u64,
    mut report: impl FnMut(&Outcome) -> Result<bool, Failure>,
) -> Result<(), Failure> {
    let (mut early, mut wanted) = (BTreeMap::new(), first);
    for (seed, outcome) in receiver {
        early.insert(seed, outcome);
        while let Some(outcome) = early.remove(&wanted) {
            wanted = wanted.saturating_add(1);
            if report(&outcome.map_err(Failure::new)?)? {
                return Ok(());
            }
        }
    }
    Ok(())
}
