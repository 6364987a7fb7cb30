//! The simulation itself: the same seed does the same, on every store, and planted mistakes are found.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use bursar_core::registry::hexadecimal;
use bursar_core::rulebook::Rulebook;

use super::expected::{UNEXPECTED, is_listed};
use super::swarm::Settings;
use super::world::World;
use super::{Fault, Invariant, Options, Outcome, Plant, StoreChoice, run, shrink};

fn rulebook() -> &'static Rulebook {
    static RULEBOOK: LazyLock<Rulebook> = LazyLock::new(|| Rulebook::bundled().unwrap());
    &RULEBOOK
}

fn live(options: &Options) -> Outcome {
    run(options, rulebook()).unwrap()
}

fn traced(seed: u64, store: StoreChoice) -> Outcome {
    live(&Options { store, processes: Some(1), is_traced: true, ..Options::new(seed) })
}

fn text(outcome: &Outcome) -> String {
    let lines: Vec<String> = outcome.trace.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

#[test]
fn the_same_seed_does_the_same_again() {
    for (seed, store) in
        [(3, StoreChoice::Memory), (4, StoreChoice::Sqlite), (5, StoreChoice::Mixed)]
    {
        let options = Options { store, is_traced: true, ..Options::new(seed) };
        let (first, second) = (live(&options), live(&options));
        assert!(first.steps > 100, "seed {seed} lives");
        assert_eq!(text(&first), text(&second), "seed {seed}");
        assert_eq!(first.digest, second.digest);
    }
}

#[test]
fn a_seed_does_the_same_in_memory_and_in_a_file() {
    for seed in 0..4 {
        let (memory, file) = (traced(seed, StoreChoice::Memory), traced(seed, StoreChoice::Sqlite));
        assert!(file.is_sqlite && !memory.is_sqlite);
        assert_eq!(text(&memory), text(&file), "seed {seed}");
        assert_eq!(memory.broken, None);
    }
}

#[test]
fn a_process_that_dies_just_before_everything_heals_is_started_once() {
    let options = Options { days: 0, processes: Some(1), is_traced: true, ..Options::new(1) };
    let mut world = World::new(Settings::new(&options), rulebook().clone()).unwrap();
    world.crash(0);
    world.run().unwrap();
    assert_eq!(world.scene.audit.broken, None);
    let starts = world.scene.trace.lines.iter().filter(|line| line.text == "p0 starts");
    assert_eq!(starts.count(), 1);
}

#[test]
fn whether_the_trace_is_kept_changes_nothing() {
    let kept = live(&Options { is_traced: true, ..Options::new(9) });
    let dropped = live(&Options::new(9));
    assert_eq!(kept.digest, dropped.digest);
    assert!(dropped.trace.is_empty());
}

/// The first seeds of `bursar simulate`, as they have always been. The chain and the number of commits follow from what
/// is stored; the trace contains words of the simulator too, and changes when these are renamed. `BURSAR_BLESS=1`
/// writes the file anew.
#[test]
fn the_first_seeds_do_what_they_have_always_done() {
    let line = |seed| {
        let Outcome { commits, chain, steps, digest, broken, .. } = live(&Options::new(seed));
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
fn a_world_without_faults_has_none() {
    let outcome = live(&Options { faults: BTreeSet::new(), ..Options::new(1) });
    assert!(outcome.faults.is_empty(), "{:?}", outcome.faults);
    assert_eq!(outcome.broken, None);
}

/// Every invariant is looked at somewhere; those that only a failure looks at are named.
#[test]
fn every_invariant_is_looked_at() {
    let mut unseen: BTreeSet<Invariant> = Invariant::ALL.iter().copied().collect();
    for seed in 0..15 {
        for invariant in live(&Options::new(seed)).checks.keys() {
            unseen.remove(invariant);
        }
    }
    assert_eq!(unseen, [Invariant::BooksReadable, Invariant::NoPanic].into());
}

fn first_seed_that_finds(plant: Plant) -> Option<Outcome> {
    let lives = |seed| live(&Options { plant: Some(plant), ..Options::new(seed) });
    (0..plant.within()).map(lives).find(|outcome| outcome.broken.is_some())
}

#[test]
fn mistakes_of_stores_are_found() {
    for plant in Plant::ALL.iter().filter(|plant| plant.name().starts_with("store")) {
        assert!(first_seed_that_finds(*plant).is_some(), "{}", plant.name());
    }
}

#[test]
fn mistakes_of_hosts_are_found() {
    for plant in Plant::ALL.iter().filter(|plant| plant.name().starts_with("host")) {
        assert!(first_seed_that_finds(*plant).is_some(), "{}", plant.name());
    }
}

#[test]
fn a_failure_is_made_small_and_still_fails() {
    let found = first_seed_that_finds(Plant::HostResendsOnRestart).unwrap();
    let broken = found.broken.unwrap();
    let small = shrink(&found.options, &broken, rulebook()).unwrap();
    assert_eq!(small.broken.unwrap().invariant, broken.invariant);
    assert!(small.options.payouts < found.options.payouts);
    assert!(small.options.faults.len() < 5, "{:?}", small.options.faults);
    assert!(small.trace.iter().any(|line| line.about.starts_with('P')));
}

/// Whoever adds a refusal says whether this world can meet it.
#[test]
fn every_refusal_is_expected_or_has_a_reason_not_to_be() {
    let source = include_str!("../../../bursar-core/src/rejection.rs");
    let codes = source.split("=> \"").skip(1).filter_map(|rest| rest.split_once('"'));
    let codes: Vec<&str> = codes.map(|(code, _)| code).collect();
    assert!(codes.len() > 40);
    for code in &codes {
        assert!(is_listed(code), "{code} is on neither list of expected.rs");
    }
    assert!(UNEXPECTED.iter().all(|(code, reason)| codes.contains(code) && !reason.is_empty()));
}

#[test]
fn names_are_found_again() {
    assert!(Fault::ALL.iter().all(|fault| Fault::named(fault.name()) == Some(*fault)));
    assert!(Plant::ALL.iter().all(|plant| Plant::named(plant.name()) == Some(*plant)));
    assert_eq!((Fault::named("nothing"), Plant::named("nothing")), (None, None));
}
