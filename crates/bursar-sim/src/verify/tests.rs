//! The shipped machines are clean in every world, and every known mistake is found.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::{Correction, DOMAINS, Explored, Rule, mutations, worlds};

#[test]
fn nothing_that_can_happen_loses_or_doubles_money() {
    let mut states = 0;
    let mut lines = String::new();
    let mut corrections: BTreeSet<Correction> = BTreeSet::new();
    for world in worlds() {
        let explored = world.explore().unwrap_or_else(|story| panic!("{}\n{story}", world.name));
        // A world that lost its variety would be clean as well.
        let least = match world.name {
            "a pay-in" => 100,
            "a proposal for two people"
            | "a proposal for three people"
            | "a break-glass"
            | "a break-glass for three people" => 10,
            _ => 3_000,
        };
        assert!(explored.states >= least, "{}: {explored:?}", world.name);
        assert!(explored.edges > explored.states, "{}: {explored:?}", world.name);
        states += explored.states;
        let Explored { states, edges, depth, corrections: found } = explored;
        corrections.extend(found);
        writeln!(lines, "{}: {states} states, {edges} edges, depth {depth}", world.name).unwrap();
    }
    assert_explored(&lines);
    assert!(states > 250_000, "{states}");
    let known = [
        ("CANCELLED", "DELIVERED"),
        ("CANCELLED", "LATE_SUCCESS"),
        ("CANCELLED", "PENDING"),
        ("CANCELLED", "RETURNED"),
        ("COLLECTED", "CONTRADICTED"),
        ("DELIVERED", "PENDING"),
        ("DLQ", "DELIVERED"),
        ("DLQ", "PENDING"),
        ("FAILED", "COLLECTED"),
        ("FAILED", "LATE_SUCCESS"),
        ("FAILED", "RETURNED"),
        ("LATE_SUCCESS", "RETURNED"),
        ("SUCCESS", "RETURNED"),
    ];
    assert_eq!(corrections, BTreeSet::from(known), "these ways out of an end, and no others");
}

/// Golden file of the size of each world, one line each. `BURSAR_BLESS=1` writes the file anew.
fn assert_explored(found: &str) {
    if std::env::var_os("BURSAR_BLESS").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/verify/explored.txt");
        std::fs::write(path, found).unwrap();
        return;
    }
    assert_eq!(found, include_str!("explored.txt"));
}

#[test]
fn every_known_mistake_is_found() {
    let mut stories = Vec::new();
    let mut broken = BTreeSet::new();
    for mutation in mutations() {
        let found = mutation.find().unwrap_or_else(|| panic!("{} is not found", mutation.name));
        broken.insert(found.story.broken.rule);
        let head = format!("{}: {}\n({})", mutation.name, mutation.sentence, found.world);
        stories.push(format!("{head}\n{}", found.story));
    }
    insta::assert_snapshot!(stories.join("\n\n"));
    // I3 breaks only after another rule, and W1 is about the worlds themselves.
    let unbroken: Vec<&Rule> = Rule::ALL.iter().filter(|rule| !broken.contains(rule)).collect();
    assert_eq!(unbroken, [&Rule::I3, &Rule::W1], "every rule catches something");
}

#[test]
fn every_rule_is_checked_somewhere() {
    let checked: BTreeSet<Rule> = worlds().iter().flat_map(super::World::rules).collect();
    assert_eq!(checked, Rule::ALL.iter().copied().collect());
}

#[test]
fn every_kind_of_flow_is_explored() {
    let explored: BTreeSet<&str> = DOMAINS.iter().map(|domain| domain.kind).collect();
    assert_eq!(explored, bursar_core::flow::KINDS.iter().map(|kind| kind.name).collect());
}
