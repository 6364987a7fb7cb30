//! Writes a commit in bulk. The contended rows come last: the head, then accounts and tallies.

use bursar_core::ids::CommitId;
use bursar_core::money::Currency;
use bursar_core::turn::{Commit, Digests, HoldWrite, chain};
use futures_util::future::{join, join3, join5};
use tokio::task::yield_now;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Row, Transaction};
use uuid::Uuid;

use super::accounts::{self, codes};
use super::copy::{self, MANY, ended_by};
use super::flows::DueRows;
use super::row::{get, hash};
use super::session::Session;
use super::{closings, control, dispatch, feed, flows, queues, registry, rows, tallies};
use crate::StoreError;
use crate::chain_row::CHAIN_VERSION;
use crate::chart_lines::{ChartLines, NewLines, damaged, time as to_time};

const OPEN_HOLDS: &str = "INSERT INTO holds (gl, reference, account, currency, amount, epoch, ended_by)
    SELECT gl, reference, account, currency, amount, epoch, ended_by
    FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::uuid[])
         AS k (gl, reference, account, currency, amount, epoch, ended_by)";
const CHANGE_HOLDS: &str = "UPDATE holds h SET epoch = k.epoch, ended_by = k.ended_by
    FROM (SELECT unnest($1::bigint[]) AS gl, unnest($2::text[]) AS reference, unnest($3::bigint[]) AS epoch,
                 unnest($4::uuid[]) AS ended_by, unnest($5::bigint[]) AS old_epoch,
                 unnest($6::uuid[]) AS old_ended_by) AS k
    WHERE h.gl = k.gl AND h.reference = k.reference AND h.epoch = k.old_epoch
      AND h.ended_by IS NOT DISTINCT FROM k.old_ended_by";
const LOCK_HEAD: &str =
    "SELECT seq, end_hash, time, switches_version, merchants_version FROM head FOR UPDATE";
const COMMIT: &str =
    "INSERT INTO commits (seq, id, time, hash, version, digests) VALUES ($1, $2, $3, $4, $5, $6)";
const HEAD: &str = "UPDATE head SET seq = $1, time = $2, end_hash = $3, switches_version = $4, merchants_version = $5";

/// Returns the chart lines that it inserted, and the end of the chain.
///
/// Statements are pipelined and run in the order in which they are written here. A later statement runs even if an
/// earlier one wrote too few rows, so the turn checks every count before it commits.
pub(super) async fn save(
    session: &Session<'_, Transaction<'_>>,
    lines: &ChartLines,
    (id, commit): (CommitId, &Commit),
    merchants_version: Option<i64>,
) -> Result<(NewLines, Option<(u64, [u8; 32])>), StoreError> {
    let (numbers, new_lines) = accounts::chart_lines(session, lines, &commit.accounts).await?;
    session.prepare_all(&rows::STATEMENTS).await?;
    session.prepare_all(&accounts::STATEMENTS).await?;
    session.prepare_all(&[OPEN_HOLDS, CHANGE_HOLDS, LOCK_HEAD, COMMIT, HEAD, tallies::ADD]).await?;
    let (known, new): (Vec<&HoldWrite>, Vec<&HoldWrite>) =
        commit.holds.iter().partition(|change| change.before.is_some());
    let (deleted, inserted) = DueRows::of(commit);
    let (changed, ended, digests) = join3(
        flows::change(session, commit, &deleted),
        change_holds(session, &known),
        digests(commit),
    )
    .await;
    changed?;
    ended?;
    let (few, many) = rows::split(&commit.transactions);
    rows::copy(session, id, many).await?;
    flows::save(session, commit, &inserted).await?;
    feed::save(session, id, commit).await?;
    control::save(session, commit).await?;
    registry::save(session, commit).await?;
    tallies::save(session, commit).await?;
    closings::save(session, commit).await?;
    let new = if new.len() < MANY {
        new
    } else {
        copy::holds(session, &new).await?;
        Vec::new()
    };
    let (written, opened, head, accounts, counted) = join5(
        rows::insert(session, id, few),
        open_holds(session, &new),
        session.query(LOCK_HEAD, &[]),
        accounts::change(session, &commit.accounts, &numbers),
        tallies::add(session, commit),
    )
    .await;
    written?;
    opened?;
    let head = head?;
    accounts?;
    counted?;
    queues::save(session, commit).await?;
    dispatch::save(session, commit).await?;
    let head = head.first().ok_or_else(|| damaged("the head is missing"))?;
    let is_same = Some(get(head, 4)?) == merchants_version;
    registry::check(session, commit, is_same).await?;
    let end = link(session, (id, commit), &digests, head).await?;
    Ok((new_lines, end))
}

/// Computed while the server runs the statements that were sent before.
async fn digests(commit: &Commit) -> Digests {
    yield_now().await;
    commit.appended().digests()
}

async fn open_holds(
    session: &Session<'_, Transaction<'_>>,
    new: &[&HoldWrite],
) -> Result<(), StoreError> {
    let epochs: Vec<i64> = new.iter().map(|change| i64::from(change.after.epoch)).collect();
    let ended: Vec<Option<Uuid>> = new.iter().map(|change| ended_by(&change.after)).collect();
    let accounts: Vec<&str> = new.iter().map(|change| &*change.after.account).collect();
    let currencies: Vec<Currency> =
        new.iter().map(|change| change.after.money.currency()).collect();
    let amounts: Vec<i64> = new.iter().map(|change| change.after.money.minor()).collect();
    let (gl, references) = keys(new);
    let values: [&(dyn ToSql + Sync); 7] =
        [&gl, &references, &accounts, &codes(&currencies), &amounts, &epochs, &ended];
    session.write(OPEN_HOLDS, &values, new.len()).await
}

/// Precondition (optimistic lock): each hold is as the turn read it.
async fn change_holds(
    session: &Session<'_, Transaction<'_>>,
    known: &[&HoldWrite],
) -> Result<(), StoreError> {
    let epochs: Vec<i64> = known.iter().map(|change| i64::from(change.after.epoch)).collect();
    let ended: Vec<Option<Uuid>> = known.iter().map(|change| ended_by(&change.after)).collect();
    let before =
        |change: &&HoldWrite| change.before.as_ref().map_or(0, |hold| i64::from(hold.epoch));
    let old_epochs: Vec<i64> = known.iter().map(before).collect();
    let old_ended: Vec<Option<Uuid>> =
        known.iter().map(|change| change.before.as_ref().and_then(ended_by)).collect();
    let (gl, references) = keys(known);
    let values: [&(dyn ToSql + Sync); 6] =
        [&gl, &references, &epochs, &ended, &old_epochs, &old_ended];
    session.write(CHANGE_HOLDS, &values, known.len()).await
}

fn keys<'c>(changes: &[&'c HoldWrite]) -> (Vec<i64>, Vec<&'c str>) {
    let key = |change: &&'c HoldWrite| {
        (i64::from(change.key.code.number()), change.key.reference.as_str())
    };
    changes.iter().map(key).unzip()
}

/// Appends the commit to the hash chain, and returns its end. The turn holds the lock of the head, so no other turn commits meanwhile.
async fn link(
    session: &Session<'_, Transaction<'_>>,
    (id, commit): (CommitId, &Commit),
    digests: &Digests,
    row: &Row,
) -> Result<Option<(u64, [u8; 32])>, StoreError> {
    let Some(decided) = commit.time else { return Ok(None) };
    let seq = get::<i64>(row, 0)?.saturating_add(1);
    let last = get::<Option<i64>>(row, 2)?.map(to_time).transpose()?;
    // Another process may have committed since this one read the clock.
    let time = last.map_or(decided, |last| last.max(decided));
    let hash = chain(hash(row, 1)?, time, digests);
    let switches_version = control::next_version(commit, get(row, 3)?)?;
    let merchants_version = registry::next_merchants_version(commit, get(row, 4)?);
    let end = (u64::try_from(seq).map_err(damaged)?, hash);
    let (uuid, time, hash) = (id.uuid(), time.as_microsecond(), hash.as_slice());
    let digests = digests.to_bytes();
    let digests = digests.as_slice();
    let commit: [&(dyn ToSql + Sync); 6] = [&seq, &uuid, &time, &hash, &CHAIN_VERSION, &digests];
    let head: [&(dyn ToSql + Sync); 5] =
        [&seq, &time, &hash, &switches_version, &merchants_version];
    let (linked, moved) =
        join(session.write(COMMIT, &commit, 1), session.write(HEAD, &head, 1)).await;
    linked?;
    moved?;
    Ok(Some(end))
}
