//! The simulation itself: a seed repeats its run, on every store, and injected bugs are found.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use bursar_core::ledger::rulebook::Rulebook;
use bursar_core::registry::hexadecimal;

use super::expected::{UNEXPECTED, is_listed};
use super::kinds::KINDS;
use super::swarm::Settings;
use super::world::World;
use super::{Fault, InjectedBug, Invariant, Options, Outcome, StoreChoice, run, shrink};

fn rulebook() -> &'static Rulebook {
    static RULEBOOK: LazyLock<Rulebook> = LazyLock::new(|| Rulebook::bundled().unwrap());
    &RULEBOOK
}

fn simulate(options: &Options) -> Outcome {
    run(options, rulebook()).unwrap()
}

fn traced(seed: u64, store: StoreChoice) -> Outcome {
    simulate(&Options { store, processes: Some(1), is_traced: true, ..Options::new(seed) })
}

fn text(outcome: &Outcome) -> String {
    let lines: Vec<String> = outcome.trace.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

#[test]
fn a_seed_repeats_its_run() {
    for (seed, store) in
        [(3, StoreChoice::Memory), (4, StoreChoice::Sqlite), (5, StoreChoice::Mixed)]
    {
        let options = Options { store, is_traced: true, ..Options::new(seed) };
        let (first, second) = (simulate(&options), simulate(&options));
        assert!(first.steps > 100, "seed {seed} does something");
        assert_eq!(text(&first), text(&second), "seed {seed}");
        assert_eq!(first.digest, second.digest);
    }
}

#[test]
fn memory_and_sqlite_give_the_same_trace() {
    for seed in 0..4 {
        let (memory, file) = (traced(seed, StoreChoice::Memory), traced(seed, StoreChoice::Sqlite));
        assert!(file.is_sqlite && !memory.is_sqlite);
        assert_eq!(text(&memory), text(&file), "seed {seed}");
        assert_eq!(memory.broken, None);
    }
}

#[test]
fn a_process_that_crashes_just_before_the_calm_restarts_once() {
    let options = Options { days: 0, processes: Some(1), is_traced: true, ..Options::new(1) };
    let mut world = World::new(Settings::new(&options), rulebook().clone()).unwrap();
    world.crash(0);
    world.run().unwrap();
    assert_eq!(world.scene.audit.broken, None);
    let starts = world.scene.trace.lines.iter().filter(|line| line.text == "p0 starts");
    assert_eq!(starts.count(), 1);
}

#[test]
fn keeping_the_trace_does_not_change_the_run() {
    let kept = simulate(&Options { is_traced: true, ..Options::new(9) });
    let dropped = simulate(&Options::new(9));
    assert_eq!(kept.digest, dropped.digest);
    assert!(dropped.trace.is_empty());
}

/// Golden file of the first seeds. The chain and the number of commits follow from what is stored; the trace contains
/// texts of the simulator too, and changes with them. `BURSAR_BLESS=1` writes the file anew.
#[test]
fn the_first_seeds_match_the_golden_file() {
    let line = |seed| {
        let Outcome { commits, chain, steps, digest, broken, .. } = simulate(&Options::new(seed));
        assert_eq!(broken, None, "seed {seed}");
        let chain = hexadecimal(&chain);
        format!("seed {seed} commits {commits} chain {chain} lines {steps} trace {digest:016x}\n")
    };
    let found: String = (0..20).map(line).collect();
    if std::env::var_os("BURSAR_BLESS").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/simulate/traces.txt");
        std::fs::write(path, &found).unwrap();
        return;
    }
    for (found, expected) in found.lines().zip(include_str!("traces.txt").lines()) {
        assert_eq!(found, expected);
    }
    assert_eq!(found.lines().count(), include_str!("traces.txt").lines().count());
}

#[test]
fn without_faults_no_fault_strikes() {
    let outcome = simulate(&Options { faults: BTreeSet::new(), ..Options::new(1) });
    assert!(outcome.faults.is_empty(), "{:?}", outcome.faults);
    assert_eq!(outcome.broken, None);
}

/// Every invariant is checked in some seed; those that only a failure checks are named.
#[test]
fn every_invariant_is_checked() {
    let mut unseen: BTreeSet<Invariant> = Invariant::ALL.iter().copied().collect();
    for seed in 0..15 {
        for invariant in simulate(&Options::new(seed)).checks.keys() {
            unseen.remove(invariant);
        }
    }
    assert_eq!(unseen, [Invariant::BooksReadable, Invariant::NoPanic].into());
}

fn first_seed_that_finds(bug: InjectedBug) -> Option<Outcome> {
    let outcome = |seed| simulate(&Options { injected_bug: Some(bug), ..Options::new(seed) });
    (0..bug.within()).map(outcome).find(|outcome| outcome.broken.is_some())
}

#[test]
fn mistakes_of_stores_are_found() {
    for bug in InjectedBug::ALL.iter().filter(|bug| bug.name().starts_with("store")) {
        assert!(first_seed_that_finds(*bug).is_some(), "{}", bug.name());
    }
}

#[test]
fn mistakes_of_hosts_are_found() {
    for bug in InjectedBug::ALL.iter().filter(|bug| bug.name().starts_with("host")) {
        assert!(first_seed_that_finds(*bug).is_some(), "{}", bug.name());
    }
}

#[test]
fn a_shrunk_failure_still_fails() {
    let found = first_seed_that_finds(InjectedBug::HostResendsOnRestart).unwrap();
    let broken = found.broken.unwrap();
    let small = shrink(&found.options, &broken, rulebook()).unwrap();
    assert_eq!(small.broken.unwrap().invariant, broken.invariant);
    assert!(small.options.payouts < found.options.payouts);
    let (few, all) = (small.options.faults.len(), found.options.faults.len());
    assert!(few * 2 < all, "{:?}", small.options.faults);
    assert!(small.trace.iter().any(|line| line.about.starts_with('P')));
}

/// A new rejection is expected in this world, or listed with a reason.
#[test]
fn every_rejection_is_expected_or_has_a_reason() {
    let source = include_str!("../../../bursar-core/src/rejection.rs");
    let codes = source.split("(\"").skip(1).filter_map(|rest| rest.split_once("\", Class::"));
    let codes: Vec<&str> = codes.map(|(code, _)| code).collect();
    assert!(codes.len() > 40);
    for code in &codes {
        assert!(is_listed(code), "{code} is on neither list of expected.rs");
    }
    assert!(UNEXPECTED.iter().all(|(code, reason)| codes.contains(code) && !reason.is_empty()));
}

#[test]
fn names_parse_back() {
    assert!(Fault::ALL.iter().all(|fault| Fault::named(fault.name()) == Some(*fault)));
    assert!(InjectedBug::ALL.iter().all(|bug| InjectedBug::named(bug.name()) == Some(*bug)));
    assert_eq!((Fault::named("nothing"), InjectedBug::named("nothing")), (None, None));
}

/// A new kind of flow has a line in `kinds`.
#[test]
fn every_kind_of_flow_is_known() {
    let known: BTreeSet<&str> = KINDS.iter().map(|kind| kind.name).collect();
    assert_eq!(known, bursar_core::flow::KINDS.iter().map(|kind| kind.name).collect());
}
