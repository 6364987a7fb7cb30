//! What every store must do, and that it does what the memory store does.

use bursar_core::rulebook::Rulebook;
use bursar_core::verify::Verifier;
use bursar_store::{Memory, Sqlite};
use proptest::prelude::*;

use crate::scratch::Scratch;
use crate::workload::{Books, run, steps};

fn verify(rulebook: &Rulebook, books: &Books) -> Vec<String> {
    let mut verifier = Verifier::new(rulebook, &books.accounts);
    for commit in &books.history {
        verifier.add(commit);
    }
    verifier.finish(&books.accounts, &books.holds, &books.end).differences
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn sqlite_answers_as_memory_does(steps in steps(), batches in prop::collection::vec(1..20_usize, 1..5)) {
        let rulebook = Rulebook::bundled().unwrap();
        let scratch = Scratch::new();
        let expected = run(&mut Memory::default(), &rulebook, &steps, &batches);
        let found = run(&mut Sqlite::open(scratch.path()).unwrap(), &rulebook, &steps, &batches);
        prop_assert_eq!(&found, &expected);
        prop_assert_eq!(verify(&rulebook, &found), Vec::<String>::new());
    }

    /// A batch is an optimisation and nothing else. (Reverts name transactions of earlier batches, so they are cut with them.)
    #[test]
    fn where_batches_are_cut_changes_no_answer(steps in steps(), batches in prop::collection::vec(1..20_usize, 1..5)) {
        let rulebook = Rulebook::bundled().unwrap();
        let steps: Vec<_> = steps.into_iter().filter(|step| !step.is_revert()).collect();
        let one_by_one = run(&mut Memory::default(), &rulebook, &steps, &[1]);
        let cut = run(&mut Memory::default(), &rulebook, &steps, &batches);
        prop_assert_eq!(&cut.answers, &one_by_one.answers);
        prop_assert_eq!(&cut.accounts, &one_by_one.accounts);
        prop_assert_eq!(&cut.holds, &one_by_one.holds);
    }
}

/// Guards the properties above: steps that are all refused would prove nothing.
#[test]
fn the_workload_posts_repeats_refuses_and_takes_back() {
    use bursar_core::ledger::Posted;
    use proptest::strategy::ValueTree as _;
    use proptest::test_runner::TestRunner;

    let rulebook = Rulebook::bundled().unwrap();
    let mut runner = TestRunner::deterministic();
    let (mut posted, mut repeated, mut refused, mut taken_back) = (0, 0, 0, 0);
    for _ in 0..50 {
        let steps = steps().new_tree(&mut runner).unwrap().current();
        let books = run(&mut Memory::default(), &rulebook, &steps, &[4]);
        for answer in &books.answers {
            match answer {
                Ok(Posted::New(_)) => posted += 1,
                Ok(Posted::Replayed(_)) => repeated += 1,
                Err(_) => refused += 1,
            }
        }
        taken_back += books
            .history
            .iter()
            .flat_map(|commit| &commit.transactions)
            .filter(|transaction| transaction.reverts.is_some())
            .count();
    }
    assert!(
        posted > 300 && repeated > 30 && refused > 300 && taken_back > 30,
        "{posted} {repeated} {refused} {taken_back}"
    );
}
