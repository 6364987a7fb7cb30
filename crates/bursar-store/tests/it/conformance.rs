//! What every store must do, and that it does what the memory store does.

use std::collections::BTreeMap;

use bursar_core::ledger::Posted;
use bursar_core::request::{Answer, Reply};
use bursar_store::{Memory, Sqlite, Walk as _};
use proptest::prelude::*;

use crate::scratch::Scratch;
use crate::workload::{Books, block_on, rules, run, steps};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn sqlite_answers_as_memory_does(
        steps in steps(),
        batches in prop::collection::vec(1..20_usize, 1..5),
        slice in 1..30_usize,
    ) {
        let rules = rules();
        let scratch = Scratch::new();
        let expected = run(&mut Memory::default(), &rules, &steps, &batches);
        let mut store = Sqlite::open(scratch.path()).unwrap().filing_every(slice);
        prop_assert_eq!(&run(&mut store, &rules, &steps, &batches), &expected);
        let report = block_on(store.verify(&rules.rulebook)).unwrap();
        prop_assert_eq!(report.differences, Vec::<String>::new());
    }

    /// A batch is an optimisation and nothing else. (Reverts name transactions of earlier batches, so they are cut with them.)
    #[test]
    fn where_batches_are_cut_changes_no_answer(steps in steps(), batches in prop::collection::vec(1..20_usize, 1..5)) {
        let rules = rules();
        let steps: Vec<_> = steps.into_iter().filter(|step| !step.is_revert()).collect();
        let one_by_one = run(&mut Memory::default(), &rules, &steps, &[1]);
        let cut = run(&mut Memory::default(), &rules, &steps, &batches);
        prop_assert_eq!(&cut.answers, &one_by_one.answers);
        prop_assert_eq!(&cut.effects, &one_by_one.effects);
        prop_assert_eq!(&cut.accounts, &one_by_one.accounts);
        prop_assert_eq!(&cut.holds, &one_by_one.holds);
        prop_assert_eq!(&cut.flows, &one_by_one.flows);
        prop_assert_eq!(&cut.due, &one_by_one.due);
        prop_assert_eq!(&cut.control.freezes, &one_by_one.control.freezes);
        let events = |books: &Books| books.feed.iter().map(|(_, event)| event.clone()).collect::<Vec<_>>();
        prop_assert_eq!(events(&cut), events(&one_by_one));
    }
}

/// Guards the properties above: steps that are all refused would prove nothing.
#[test]
fn the_workload_does_everything_that_can_be_done() {
    use proptest::strategy::ValueTree as _;
    use proptest::test_runner::TestRunner;

    let rules = rules();
    let mut runner = TestRunner::deterministic();
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    for _ in 0..200 {
        let steps = steps().new_tree(&mut runner).unwrap().current();
        let books = run(&mut Memory::default(), &rules, &steps, &[4]);
        let answers = books.answers.iter().flat_map(kinds);
        let transactions = books.history.iter().flat_map(|commit| &commit.transactions);
        let posted = transactions.map(|transaction| transaction.event.to_string());
        let told = books.feed.iter().map(|(_, event)| event.kind.clone());
        let audited = books.history.iter().flat_map(|commit| &commit.audit);
        let audited = audited.map(|entry| entry.action.clone());
        for name in answers.chain(posted).chain(told).chain(audited) {
            *counts.entry(name).or_default() += 1;
        }
    }
    let everything = [
        "posted",
        "posted before",
        "flow changed",
        "flow answered before",
        "woken",
        "REVERT",
        "PAYIN_COLLECTION",
        "PAYOUT_RESERVE",
        "PAYOUT_SETTLE",
        "PAYOUT_RELEASE",
        "CHARGEBACK_HOLD",
        "CHARGEBACK_WON",
        "reservation.held",
        "reservation.settled",
        "reservation.released",
        "reservation.expired",
        "reservation.settle",
        "reservation.release",
        "payout.ready",
        "payout.submitting",
        "payout.processing",
        "payout.unconfirmed",
        "payout.success",
        "payout.failed",
        "payout.cancelled",
        "payout.late_success",
        "payout.returned",
        "noted",
        "freeze",
        "unfreeze",
        "refused: second_person_needed",
        "refused: not_cancellable",
        "refused: unknown_reference",
        "refused: missing_funds",
        "refused: reference_reused",
        "refused: hold_not_found",
        "refused: idempotency_mismatch",
        "refused: flow_ended",
        "refused: stale_version",
        "refused: unknown_flow",
        "refused: expires_in_the_past",
    ];
    for name in everything {
        let count = counts.get(name).copied().unwrap_or_default();
        assert!(count >= 3, "{name} happened {count} times: {counts:#?}");
    }
}

/// What was answered, in words.
fn kinds(answer: &Answer) -> Vec<String> {
    match answer {
        Ok(Reply::Posted(Posted::New(_))) => vec!["posted".to_owned()],
        Ok(Reply::Posted(Posted::Replayed(_))) => vec!["posted before".to_owned()],
        Ok(Reply::Flow { is_replay: false, .. }) => vec!["flow changed".to_owned()],
        Ok(Reply::Flow { is_replay: true, .. }) => vec!["flow answered before".to_owned()],
        Ok(Reply::Noted { .. }) => vec!["noted".to_owned()],
        Ok(Reply::Registered { .. }) => vec!["registered".to_owned()],
        Ok(Reply::Woken(woken)) => vec!["woken".to_owned(); woken.flows.len()],
        Ok(Reply::Delivering(begun)) => vec![format!("{} begun", begun.count)],
        Ok(Reply::Driven(driven)) => vec![format!("driven to {}", driven.flow.state.status())],
        Ok(Reply::Carried(carried)) => vec![format!("{} carried", carried.len())],
        Ok(Reply::Replayed(again)) => vec![format!("{} again", again.len())],
        Err(rejection) => vec![format!("refused: {}", rejection.code())],
    }
}
