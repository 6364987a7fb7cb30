//! Random histories on the memory store, and a digest of all their decisions.
//!
//! Twelve seeds, each under the engine and under Temporal. `histories.txt` has one line per history: the number of commits
//! and calls, a digest of rows and calls (`books`), and a digest of the answers (`answers`). No change of the code may
//! change `books`. The answers contain the messages of rejections: a reworded message changes only `answers`.
//!
//! `BURSAR_DUMP=path` writes every digested line to a file, so that `diff` can compare two trees. `BURSAR_BLESS=1`
//! rewrites `histories.txt`.

mod outcomes;
mod payins;
mod requests;
mod world;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use bursar_core::rules::Rules;
use bursar_core::turn::{Commit, Request, TurnInput};
use bursar_store::{Memory, Query as _, Walk as _, turn};

use crate::adapter::{assert_golden, lines, sha256, stored, text};
use crate::workload::block_on;
use outcomes::{DELIVERY_OUTCOMES, QUERY_ANSWERS, SUBMIT_OUTCOMES};
use world::World;

const SEEDS: u64 = 14;
const ROUNDS: u64 = 250;
/// Fewer calls would cover too few outcomes.
const CALLS_MIN: u64 = 1_500;

/// The result of one history.
struct History {
    line: String,
    books: String,
    answers: String,
    calls: u64,
    statuses: BTreeMap<String, u64>,
    outcomes: BTreeMap<&'static str, u64>,
}

#[test]
fn random_histories_match_their_digests() {
    let mut histories = Vec::new();
    for seed in 1..=SEEDS {
        histories.extend([false, true].map(|is_temporal| run(seed, is_temporal)));
    }
    if let Some(path) = std::env::var_os("BURSAR_DUMP") {
        let texts = histories.iter().map(|it| format!("{}\n{}{}", it.line, it.books, it.answers));
        std::fs::write(path, texts.collect::<String>()).unwrap();
    }
    assert_variety(&histories);
    let found = lines(histories.iter().map(|history| &history.line));
    assert_golden("histories/histories.txt", &found);
}

/// Guards the digests: histories with little variety would not notice a change of the code.
fn assert_variety(histories: &[History]) {
    let calls: u64 = histories.iter().map(|history| history.calls).sum();
    assert!(calls > CALLS_MIN, "only {calls} calls were planned");
    let mut outcomes: BTreeMap<&str, u64> = BTreeMap::new();
    let mut statuses: BTreeMap<&str, u64> = BTreeMap::new();
    for history in histories {
        for (name, count) in &history.outcomes {
            *outcomes.entry(name).or_default() += count;
        }
        for (name, count) in &history.statuses {
            *statuses.entry(name).or_default() += count;
        }
    }
    for name in SUBMIT_OUTCOMES.iter().chain(&QUERY_ANSWERS).chain(&DELIVERY_OUTCOMES) {
        let count = outcomes.get(name).copied().unwrap_or_default();
        assert!(count >= 10, "{name} occurred {count} times: {outcomes:#?}");
    }
    for name in STATUSES {
        let count = statuses.get(name).copied().unwrap_or_default();
        assert!(count >= 10, "{name} was written {count} times: {statuses:#?}");
    }
}

/// Every status of every kind.
const STATUSES: [&str; 21] = [
    "payout SCHEDULED",
    "payout READY",
    "payout SUBMITTING",
    "payout UNCONFIRMED",
    "payout PROCESSING",
    "payout STUCK",
    "payout SUCCESS",
    "payout FAILED",
    "payout CANCELLED",
    "payout RETURNED",
    "payout LATE_SUCCESS",
    "payin PENDING",
    "payin COLLECTED",
    "payin CONTRADICTED",
    "payin FAILED",
    "delivery PENDING",
    "delivery DELIVERING",
    "delivery WAITING_RETRY",
    "delivery DELIVERED",
    "delivery DLQ",
    "delivery CANCELLED",
];

fn run(seed: u64, is_temporal: bool) -> History {
    let rules = world::rules(is_temporal);
    let mut store = Memory::default();
    let mut world = World::new(seed, is_temporal);
    let (mut books, mut answers) = (String::new(), String::new());
    let mut statuses = BTreeMap::new();
    let mut calls = 0;
    for round in 0..ROUNDS {
        let requests: Vec<Request> = world.requests(&rules, round);
        let commit = block_on(turn(&mut store, &TurnInput::new(&rules, &requests))).unwrap();
        calls += world.learn(&commit);
        let head = block_on(store.head()).unwrap();
        let head = format!("{} {}", head.seq, bursar_core::registry::hexadecimal(&head.hash));
        writeln!(books, "# {seed} {is_temporal} {round} {head}").unwrap();
        add_commit(&commit, &mut books, &mut statuses);
        for answer in &commit.answers {
            writeln!(answers, "{round} {}", text::answer(answer)).unwrap();
        }
    }
    for is_mutated in [false, true] {
        let found = differences(&mut store, &rules, is_mutated);
        assert_eq!(found > 0, is_mutated, "seed {seed}: differences");
        writeln!(books, "# verified {is_mutated} {found}").unwrap();
    }
    let commits = block_on(store.head()).unwrap().seq;
    let host = if is_temporal { "temporal" } else { "engine" };
    let digests = format!("books {} answers {}", sha256(&books), sha256(&answers));
    let line = format!("seed {seed} {host} commits {commits} calls {calls} {digests}");
    History { line, books, answers, calls, statuses, outcomes: world.outcomes }
}

fn add_commit(commit: &Commit, books: &mut String, statuses: &mut BTreeMap<String, u64>) {
    for row in text::rows(commit).into_iter().chain(text::effects(commit)) {
        writeln!(books, "{row}").unwrap();
    }
    for write in &commit.flows {
        let (kind, status) = (write.after.state.kind(), write.after.state.status());
        if write.before.as_ref().is_none_or(|before| before.state.status() != status) {
            let state = write.after.encode();
            assert_eq!(stored::again(kind, &state), state, "what is stored reads back");
        }
        let name = format!("{kind} {status}");
        *statuses.entry(name).or_default() += 1;
    }
}

/// The number of differences that verification finds. A mutation gives every flow the state of the previous flow of its
/// kind.
fn differences(store: &mut Memory, rules: &Rules, is_mutated: bool) -> u64 {
    block_on(async {
        let mut last = BTreeMap::new();
        let flows = store.flows(None, u32::MAX).await.unwrap();
        for mut flow in flows.into_iter().filter(|_| is_mutated) {
            let other = last.insert(flow.state.kind(), flow.state.clone());
            if let Some(other) = other {
                flow.state = other;
                store.overwrite_flow(flow);
            }
        }
        store.verify(&rules.rulebook).await.unwrap().difference_count
    })
}
