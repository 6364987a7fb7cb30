//! A turn loads, decides, saves. Acting comes afterwards and elsewhere.

use std::time::Duration;

use bursar_core::apply::apply;
use bursar_core::commit::Commit;
use bursar_core::ids::CommitId;
use bursar_core::plan::{plan, plan_second};
use bursar_core::records::ReadSet;
use bursar_core::request::Batch;

use crate::{Store, StoreError, Turn as _};

/// Enough for any contention that ends; endless contention is a fault that must be seen.
const TRIES_MAX: u32 = 20;
/// Races that may be lost before anybody waits.
const AT_ONCE: u32 = 3;

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
            (StoreError::Conflict, _) if tries < TRIES_MAX => {
                store.stand_back(pause(id, tries)).await;
            }
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

/// How long to let others go first after so many tries: a race that is lost once is run again at once, but whoever
/// always comes a moment too late should come at another time. Drawn from the name of the run, and at most 32 ms.
fn pause(id: CommitId, tries: u32) -> Duration {
    let Some(doubled) = tries.checked_sub(AT_ONCE) else { return Duration::ZERO };
    let most = 1_000_u64 << doubled.min(5);
    // The end of an id is as good as dice; every try looks at another part of it.
    let dice = id.uuid().as_u128() >> (tries % 7 * 8);
    let share = u64::try_from(dice & 0xff).unwrap_or_default();
    Duration::from_micros((most * share) >> 8)
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use bursar_core::ids::{CommitId, Seed};
    use jiff::Timestamp;

    use super::{TRIES_MAX, pause};

    #[test]
    fn whoever_loses_again_and_again_comes_at_a_time_of_its_own() {
        let id = |number| CommitId::new(Timestamp::UNIX_EPOCH, &Seed::from(number), 0);
        for tries in 1..TRIES_MAX {
            let pauses: BTreeSet<Duration> =
                (0..100).map(|number| pause(id(number), tries)).collect();
            assert_eq!(pauses, (0..100).map(|number| pause(id(number), tries)).collect());
            assert!(pauses.last() < Some(&Duration::from_millis(32)), "nobody waits for long");
            let is_at_once = tries < 3;
            assert_eq!(pauses.len() == 1, is_at_once, "{tries}: {pauses:?}");
            assert!(is_at_once || pauses.len() > 50, "{tries}: {pauses:?}");
        }
    }
}
