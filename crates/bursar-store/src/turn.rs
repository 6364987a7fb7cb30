//! A turn loads, decides, saves. Acting comes afterwards and elsewhere.

use bursar_core::apply::apply;
use bursar_core::commit::Commit;
use bursar_core::ids::CommitId;
use bursar_core::plan::{plan, plan_second};
use bursar_core::records::ReadSet;
use bursar_core::request::Batch;

use crate::{Store, StoreError, Turn as _};

/// Enough for any contention that ends; endless contention is a fault that must be seen.
const TRIES_MAX: u32 = 20;

/// Decides a batch and saves what was decided. When it returns a commit, its answers may be given.
pub async fn turn(store: &mut impl Store, batch: &Batch<'_>) -> Result<Commit, StoreError> {
    let mut lost: u64 = 0;
    let mut tries: u32 = 0;
    loop {
        // A run whose commit was lost from sight keeps its name: what arrives late under it is not what is decided now.
        let Some(id) = batch.commit_id(lost) else {
            // Every request was refused before any record was needed.
            return Ok(apply(batch, ReadSet::default()));
        };
        tries = tries.saturating_add(1);
        let (commit, error) = match attempt(store, batch, id).await {
            Ok(commit) => return Ok(commit),
            Err(failed) => failed,
        };
        match (error, commit) {
            (StoreError::Conflict, _) if tries < TRIES_MAX => {}
            (StoreError::Unknown(reason), Some(commit)) => {
                match store.has_commit(id).await {
                    Ok(true) => return Ok(commit),
                    Ok(false) if tries < TRIES_MAX => lost = lost.saturating_add(1),
                    Ok(false) => return Err(StoreError::Unavailable(reason)),
                    // Still not known: saying that nothing was saved would be a guess.
                    Err(error) => return Err(StoreError::Unknown(format!("{reason}; {error}"))),
                }
            }
            (error, _) => return Err(error),
        }
    }
}

/// One run from load to save. A failure behind the decision carries what was decided.
async fn attempt(
    store: &mut impl Store,
    batch: &Batch<'_>,
    id: CommitId,
) -> Result<Commit, (Option<Commit>, StoreError)> {
    let early = |error| (None, error);
    let mut transaction = store.begin().await.map_err(early)?;
    let first = plan(batch);
    let mut records = transaction.load(&first).await.map_err(early)?;
    let second = plan_second(batch, &first, &records);
    if !second.is_empty() {
        records.extend(transaction.load(&second).await.map_err(early)?);
    }
    let commit = apply(batch, records);
    if commit.time.is_none() {
        // Every request was refused or had been answered before.
        return Ok(commit);
    }
    match transaction.save(id, &commit).await {
        Ok(()) => Ok(commit),
        Err(error) => Err((Some(commit), error)),
    }
}
