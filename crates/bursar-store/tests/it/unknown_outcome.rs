//! Commits with an unknown outcome: the turn looks the commit up, and then answers, runs again, or reports it unknown.

use bursar_core::ids::CommitId;
use bursar_core::ledger::{self, Posted};
use bursar_core::turn::{Commit, ReadPlan, ReadSet, Reply, TurnInput};
use bursar_store::{Memory, MemoryTurn, Query as _, Store, StoreError, Turn, turn};

use crate::workload::{block_on, payin, rules};

/// A memory store whose first commit has no acknowledgement.
struct Flaky {
    memory: Memory,
    fault: Option<Fault>,
    /// The ids of all attempted commits.
    ids: Vec<CommitId>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    SavedUnanswered,
    LostUnanswered,
    SavedAndUnreachable,
}

struct FlakyTurn<'s> {
    turn: MemoryTurn<'s>,
    fault: Option<Fault>,
    ids: &'s mut Vec<CommitId>,
}

impl Store for Flaky {
    type Turn<'s> = FlakyTurn<'s>;

    async fn begin(&mut self) -> Result<FlakyTurn<'_>, StoreError> {
        let fault = if self.fault == Some(Fault::SavedAndUnreachable) {
            self.fault
        } else {
            self.fault.take()
        };
        Ok(FlakyTurn { turn: self.memory.begin().await?, fault, ids: &mut self.ids })
    }

    async fn has_commit(&mut self, id: CommitId) -> Result<bool, StoreError> {
        if self.fault == Some(Fault::SavedAndUnreachable) {
            return Err(StoreError::Unavailable("no connection".to_owned()));
        }
        self.memory.has_commit(id).await
    }
}

impl Turn for FlakyTurn<'_> {
    async fn load(&mut self, plan: &ReadPlan) -> Result<ReadSet, StoreError> {
        self.turn.load(plan).await
    }

    async fn save(self, id: CommitId, commit: &Commit) -> Result<(), StoreError> {
        self.ids.push(id);
        match self.fault {
            None => self.turn.save(id, commit).await,
            Some(Fault::LostUnanswered) => Err(StoreError::Unknown("cut off".to_owned())),
            Some(Fault::SavedUnanswered | Fault::SavedAndUnreachable) => {
                self.turn.save(id, commit).await?;
                Err(StoreError::Unknown("cut off".to_owned()))
            }
        }
    }
}

/// The result of the turn, and the number of transactions afterwards.
fn post_with(fault: Fault) -> (Result<Commit, StoreError>, u64) {
    let rules = rules();
    let mut store = Flaky { memory: Memory::default(), fault: Some(fault), ids: Vec::new() };
    block_on(async {
        let result = turn(&mut store, &TurnInput::new(&rules, &[payin(0, 0)])).await;
        // A commit of unknown outcome may arrive late, and must not be taken for the commit of a later run.
        let ids: std::collections::BTreeSet<_> = store.ids.iter().collect();
        assert_eq!(ids.len(), store.ids.len(), "every run has its own id");
        (result, store.memory.end().await.unwrap().transactions)
    })
}

#[test]
fn a_saved_commit_without_acknowledgement_is_found() {
    let (result, count) = post_with(Fault::SavedUnanswered);
    assert!(matches!(
        result.unwrap().answers.as_slice(),
        [Ok(Reply::Ledger(ledger::Reply::Posted(Posted::New(_))))]
    ));
    assert_eq!(count, 1);
}

#[test]
fn a_lost_commit_without_acknowledgement_is_run_again() {
    let (result, count) = post_with(Fault::LostUnanswered);
    assert!(matches!(
        result.unwrap().answers.as_slice(),
        [Ok(Reply::Ledger(ledger::Reply::Posted(Posted::New(_))))]
    ));
    assert_eq!(count, 1);
}

#[test]
fn a_commit_that_cannot_be_looked_up_stays_unknown() {
    let (result, count) = post_with(Fault::SavedAndUnreachable);
    assert!(matches!(result, Err(StoreError::Unknown(_))), "the commit may have been saved");
    assert_eq!(count, 1);
}

#[test]
fn a_commit_id_depends_on_all_requests() {
    let rules = rules();
    let id = |numbers: &[u32]| {
        let requests: Vec<_> = numbers.iter().map(|number| payin(0, *number)).collect();
        TurnInput::new(&rules, &requests).commit_id(0).unwrap()
    };
    assert_eq!(id(&[1, 2]), id(&[1, 2]));
    assert_ne!(id(&[1, 2]), id(&[1, 3]));
    assert_ne!(id(&[1, 2]), id(&[1]));
}
