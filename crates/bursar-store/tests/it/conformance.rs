//! Differential tests: every store gives the answers and the books of the memory store.

use std::collections::BTreeMap;

use bursar_core::ledger::{self, Posted};
use bursar_core::payins::{self, ReportReply};
use bursar_core::turn::{Answer, Reply};
use bursar_core::{flow, payouts};
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
        let mut store = Sqlite::open(scratch.path()).unwrap().with_index_slice(slice);
        prop_assert_eq!(&run(&mut store, &rules, &steps, &batches), &expected);
        let report = block_on(store.verify(&rules.rulebook)).unwrap();
        prop_assert_eq!(report.differences, Vec::<String>::new());
    }

    /// A batch is only an optimisation. The test removes reverts, because they name transactions of earlier batches.
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

/// Guards the properties above: a workload of rejected steps would prove nothing.
#[test]
fn the_workload_does_everything_that_can_be_done() {
    use proptest::strategy::ValueTree as _;
    use proptest::test_runner::TestRunner;

    let rules = rules();
    let mut runner = TestRunner::deterministic();
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    for _ in 0..400 {
        let steps = steps().new_tree(&mut runner).unwrap().current();
        let books = run(&mut Memory::default(), &rules, &steps, &[4]);
        let answers = books.answers.iter().flat_map(kinds);
        let transactions = books.history.iter().flat_map(|commit| &commit.transactions);
        let posted = transactions.map(|transaction| transaction.event.to_string());
        let events = books.feed.iter().map(|(_, event)| event.kind.clone());
        let audited = books.history.iter().flat_map(|commit| &commit.audit);
        let audited = audited.map(|entry| entry.action.clone());
        for name in answers.chain(posted).chain(events).chain(audited) {
            *counts.entry(name).or_default() += 1;
        }
    }
    let everything = [
        "posted",
        "posted before",
        "flow changed",
        "flow answered before",
        "claimed",
        "REVERT",
        "PAYIN_COLLECTION",
        "PAYOUT_RESERVE",
        "PAYOUT_SETTLE",
        "PAYOUT_RELEASE",
        "CHARGEBACK_HOLD",
        "CHARGEBACK_WON",
        "payout.ready",
        "payout.submitting",
        "payout.processing",
        "payout.unconfirmed",
        "payout.success",
        "payout.failed",
        "payout.cancelled",
        "payout.late_success",
        "payout.returned",
        "accepted",
        "freeze",
        "unfreeze",
        "refused: second_person_needed",
        "refused: not_cancellable",
        "refused: unknown_reference",
        "refused: missing_funds",
        "refused: reference_reused",
        "differs: reference_reused",
        "payin.close_case",
        "refused: no_open_case",
        "refused: hold_not_found",
        "refused: idempotency_mismatch",
        "refused: stale_version",
        "refused: unknown_flow",
    ];
    for name in everything {
        let count = counts.get(name).copied().unwrap_or_default();
        assert!(count >= 3, "{name} happened {count} times: {counts:#?}");
    }
}

/// The names of an answer, for counting.
fn kinds(answer: &Answer) -> Vec<String> {
    let flow = |is_replay: bool| {
        let name = if is_replay { "flow answered before" } else { "flow changed" };
        vec![name.to_owned()]
    };
    let reply = match answer {
        Ok(reply) => reply,
        Err(rejection) => return vec![format!("refused: {}", rejection.code())],
    };
    match reply {
        Reply::Ledger(ledger::Reply::Posted(Posted::New(_))) => vec!["posted".to_owned()],
        Reply::Ledger(ledger::Reply::Posted(Posted::Replayed(_))) => {
            vec!["posted before".to_owned()]
        }
        Reply::Payouts(payouts::Reply::Payout(given)) => flow(given.is_replay),
        Reply::PayIns(
            payins::Reply::PayIn(given) | payins::Reply::Report(ReportReply::PayIn(given)),
        ) => flow(given.is_replay),
        Reply::PayIns(payins::Reply::Report(ReportReply::Differs(rejection))) => {
            vec![format!("differs: {}", rejection.code())]
        }
        Reply::Payouts(payouts::Reply::Accepted(_))
        | Reply::Freezes(_)
        | Reply::Restores(_)
        | Reply::Flows(flow::Reply::Accepted(_)) => vec!["accepted".to_owned()],
        Reply::Flows(flow::Reply::Claimed(reply)) => vec!["claimed".to_owned(); reply.flows.len()],
        Reply::Registry(_) => vec!["registered".to_owned()],
        other => panic!("the workload has no such request: {other:?}"),
    }
}
