//! The decision: a batch and the records it asked for in, a commit out. Later requests see what earlier ones did.

use crate::commit::Commit;
use crate::ledger::Ledger;
use crate::records::ReadSet;
use crate::request::{Admitted, Batch};

/// Decides a batch. Nothing is read and nothing is written: the commit says what must be saved.
pub fn apply(batch: &Batch<'_>, records: ReadSet) -> Commit {
    let mut ledger = Ledger::new(records);
    let answers = batch
        .requests()
        .iter()
        .map(|request| match request {
            Admitted::Post(bound, admission) => ledger.post_bound(bound, admission),
            Admitted::Revert(revert, admission) => {
                ledger.revert(batch.rulebook(), revert, admission)
            }
            Admitted::Refused(rejection) => Err(rejection.clone()),
        })
        .collect();
    ledger.into_commit(answers)
}
