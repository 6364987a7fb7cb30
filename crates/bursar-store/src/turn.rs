//! A turn loads, decides and saves. The engine runs the effects of the commit afterwards.

use std::time::Duration;

use bursar_core::ids::CommitId;
use bursar_core::turn::{Commit, ReadSet, TurnInput, apply, plan, plan_second};

use crate::{Store, StoreError, Turn as _};

/// Enough for temporary contention. Permanent contention is a fault, which the caller must see.
const TRIES_MAX: u32 = 20;
/// Tries before the turn backs off between them.
const AT_ONCE: u32 = 3;

/// Decides a batch and saves the commit. The caller may send the answers once this returns a commit.
pub async fn turn(store: &mut impl Store, batch: &TurnInput<'_>) -> Result<Commit, StoreError> {
    let mut lost: u64 = 0;
    let mut tries: u32 = 0;
    loop {
        // A run with an unknown outcome keeps its id: its commit may still arrive, and must not be taken for the commit
        // of a later run.
        let Some(id) = batch.commit_id(lost) else {
            // Every request is rejected without reading a record.
            return Ok(apply(batch, ReadSet::default()));
        };
        tries = tries.saturating_add(1);
        let (commit, error) = match attempt(store, batch, id).await {
            Ok(commit) => {
                store.saved();
                return Ok(commit);
            }
            Err(failed) => failed,
        };
        match (error, commit) {
            (StoreError::Conflict, _) if tries < TRIES_MAX => {
                store.back_off(pause(id, tries)).await;
            }
            (StoreError::Unknown(reason), Some(commit)) => {
                match store.has_commit(id).await {
                    Ok(true) => return Ok(commit),
                    Ok(false) if tries < TRIES_MAX => lost = lost.saturating_add(1),
                    Ok(false) => return Err(StoreError::Unavailable(reason)),
                    // The outcome stays unknown: the commit may have been saved.
                    Err(error) => return Err(StoreError::Unknown(format!("{reason}; {error}"))),
                }
            }
            (error, _) => return Err(error),
        }
    }
}

/// The backoff before the next try. The first retries follow at once; later ones wait for a jittered time below 32 ms, so
/// that turns that keep losing the same race separate. The jitter derives from the commit id.
fn pause(id: CommitId, tries: u32) -> Duration {
    let Some(doubled) = tries.checked_sub(AT_ONCE) else { return Duration::ZERO };
    let most = 1_000_u64 << doubled.min(5);
    // The last bytes of an id are random. Each try uses another byte.
    let random = id.uuid().as_u128() >> (tries % 7 * 8);
    let share = u64::try_from(random & 0xff).unwrap_or_default();
    Duration::from_micros((most * share) >> 8)
}

/// One run from load to save. A failure after the decision carries the commit.
async fn attempt(
    store: &mut impl Store,
    batch: &TurnInput<'_>,
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
        // Every request is rejected or replayed: there is nothing to save.
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
    fn repeated_conflicts_back_off_with_jitter() {
        let id = |number| CommitId::new(Timestamp::UNIX_EPOCH, &Seed::from(number), 0);
        for tries in 1..TRIES_MAX {
            let pauses: BTreeSet<Duration> =
                (0..100).map(|number| pause(id(number), tries)).collect();
            assert_eq!(pauses, (0..100).map(|number| pause(id(number), tries)).collect());
            assert!(pauses.last() < Some(&Duration::from_millis(32)), "the backoff is bounded");
            let is_at_once = tries < 3;
            assert_eq!(pauses.len() == 1, is_at_once, "{tries}: {pauses:?}");
            assert!(is_at_once || pauses.len() > 50, "{tries}: {pauses:?}");
        }
    }
}
