//! A commit into its rows, in bulk. Hot rows come last and in order: accounts, then the head.

use std::sync::Arc;

use bursar_core::chart::GlAccount;
use bursar_core::commit::{AccountWrite, Commit, HoldWrite, chain};
use bursar_core::ids::{CommitId, TransactionId};
use bursar_core::ledger::{Hold, HoldState};
use tokio_postgres::Transaction;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::row::{get, hash};
use super::{classify, feed, flows};
use crate::StoreError;
use crate::chart_lines::{ChartLines, NewLines, time as to_time};

/// Returns the chart lines that had to be written down.
pub(super) async fn save(
    client: &Transaction<'_>,
    lines: &ChartLines,
    id: CommitId,
    commit: &Commit,
) -> Result<NewLines, StoreError> {
    transactions(client, id, commit).await?;
    postings(client, commit).await?;
    holds(client, &commit.holds).await?;
    flows::save(client, commit).await?;
    feed::save(client, id, commit).await?;
    let new_lines = accounts(client, lines, &commit.accounts).await?;
    head(client, id, commit).await?;
    Ok(new_lines)
}

async fn transactions(
    client: &Transaction<'_>,
    id: CommitId,
    commit: &Commit,
) -> Result<(), StoreError> {
    let rows = &commit.transactions;
    let ids: Vec<Uuid> = rows.iter().map(|row| row.id.uuid()).collect();
    let numbers: Vec<i64> = (0..).take(rows.len()).collect();
    let events: Vec<&str> = rows.iter().map(|row| &*row.event).collect();
    let references: Vec<&str> = rows.iter().map(|row| row.reference.as_str()).collect();
    let request_hashes: Vec<&[u8]> = rows.iter().map(|row| row.request_hash.as_slice()).collect();
    let rulebook_hashes: Vec<&[u8]> = rows.iter().map(|row| row.rulebook_hash.as_slice()).collect();
    let times: Vec<i64> = rows.iter().map(|row| row.effective_at.as_microsecond()).collect();
    let reverts: Vec<Option<Uuid>> =
        rows.iter().map(|row| row.reverts.map(TransactionId::uuid)).collect();
    let sql = "INSERT INTO transactions
                   (commit_id, id, n, event, reference, request_hash, rulebook_hash, effective_at, reverts)
               SELECT $1, k.* FROM unnest($2::uuid[], $3::bigint[], $4::text[], $5::text[], $6::bytea[], $7::bytea[],
                                          $8::bigint[], $9::uuid[]) AS k";
    let values: [&(dyn ToSql + Sync); 9] = [
        &id.uuid(),
        &ids,
        &numbers,
        &events,
        &references,
        &request_hashes,
        &rulebook_hashes,
        &times,
        &reverts,
    ];
    write(client, sql, &values, rows.len()).await
}

async fn postings(client: &Transaction<'_>, commit: &Commit) -> Result<(), StoreError> {
    let rows: Vec<_> = commit
        .transactions
        .iter()
        .flat_map(|transaction| {
            transaction
                .postings
                .iter()
                .zip(0_i64..)
                .map(|(posting, n)| (transaction.id.uuid(), n, posting))
        })
        .collect();
    let ids: Vec<Uuid> = rows.iter().map(|(id, ..)| *id).collect();
    let numbers: Vec<i64> = rows.iter().map(|(_, n, _)| *n).collect();
    let sources: Vec<&str> = rows.iter().map(|(.., posting)| &*posting.source).collect();
    let destinations: Vec<&str> = rows.iter().map(|(.., posting)| &*posting.destination).collect();
    let currencies: Vec<String> =
        rows.iter().map(|(.., posting)| posting.money.currency().to_string()).collect();
    let amounts: Vec<i64> = rows.iter().map(|(.., posting)| posting.money.minor()).collect();
    let sql = "INSERT INTO postings (tx, n, source, destination, currency, amount)
               SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::bigint[])";
    let values: [&(dyn ToSql + Sync); 6] =
        [&ids, &numbers, &sources, &destinations, &currencies, &amounts];
    write(client, sql, &values, rows.len()).await
}

/// New holds are inserted; known ones must still be as they were read.
async fn holds(client: &Transaction<'_>, changes: &[HoldWrite]) -> Result<(), StoreError> {
    let (known, new): (Vec<&HoldWrite>, Vec<&HoldWrite>) =
        changes.iter().partition(|change| change.before.is_some());
    let codes = |changes: &[&HoldWrite]| -> Vec<String> {
        changes.iter().map(|change| change.key.code.to_string()).collect()
    };
    let references = |changes: &[&HoldWrite]| -> Vec<String> {
        changes.iter().map(|change| change.key.reference.clone()).collect()
    };
    let epochs: Vec<i64> = new.iter().map(|change| i64::from(change.after.epoch)).collect();
    let ended: Vec<Option<Uuid>> = new.iter().map(|change| ended_by(&change.after)).collect();
    let accounts: Vec<&str> = new.iter().map(|change| &*change.after.account).collect();
    let currencies: Vec<String> =
        new.iter().map(|change| change.after.money.currency().to_string()).collect();
    let amounts: Vec<i64> = new.iter().map(|change| change.after.money.minor()).collect();
    let sql = "INSERT INTO holds (gl, reference, account, currency, amount, epoch, ended_by)
               SELECT gl::bigint, reference, account, currency, amount, epoch, ended_by
               FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::uuid[])
                    AS k (gl, reference, account, currency, amount, epoch, ended_by)";
    let values: [&(dyn ToSql + Sync); 7] =
        [&codes(&new), &references(&new), &accounts, &currencies, &amounts, &epochs, &ended];
    write(client, sql, &values, new.len()).await?;

    let epochs: Vec<i64> = known.iter().map(|change| i64::from(change.after.epoch)).collect();
    let ended: Vec<Option<Uuid>> = known.iter().map(|change| ended_by(&change.after)).collect();
    let before =
        |change: &&HoldWrite| change.before.as_ref().map_or(0, |hold| i64::from(hold.epoch));
    let old_epochs: Vec<i64> = known.iter().map(before).collect();
    let old_ended: Vec<Option<Uuid>> =
        known.iter().map(|change| change.before.as_ref().and_then(ended_by)).collect();
    let sql = "UPDATE holds h SET epoch = k.epoch, ended_by = k.ended_by
               FROM unnest($1::text[], $2::text[], $3::bigint[], $4::uuid[], $5::bigint[], $6::uuid[])
                    AS k (gl, reference, epoch, ended_by, old_epoch, old_ended_by)
               WHERE h.gl = k.gl::bigint AND h.reference = k.reference AND h.epoch = k.old_epoch
                 AND h.ended_by IS NOT DISTINCT FROM k.old_ended_by";
    let values: [&(dyn ToSql + Sync); 6] =
        [&codes(&known), &references(&known), &epochs, &ended, &old_epochs, &old_ended];
    write(client, sql, &values, known.len()).await
}

/// Net changes, locked in one order for everybody, each on top of an opening balance that must be enough.
async fn accounts(
    client: &Transaction<'_>,
    lines: &ChartLines,
    changes: &[AccountWrite],
) -> Result<NewLines, StoreError> {
    let mut new_lines = NewLines::new();
    let mut numbers: Vec<i64> = Vec::with_capacity(changes.len());
    for change in changes {
        numbers.push(match lines.number(&change.after.metadata) {
            Some(number) => number,
            None => chart_line(client, &change.after.metadata, &mut new_lines).await?,
        });
    }
    let addresses: Vec<&str> = changes.iter().map(|change| &*change.address).collect();
    let currencies: Vec<String> =
        changes.iter().map(|change| change.after.balance.currency().to_string()).collect();
    let deltas: Vec<i64> = changes.iter().map(|change| change.delta).collect();
    let least: Vec<Option<i64>> = changes.iter().map(|change| change.least_opening).collect();
    // Rows come first, empty if they are new, so that every one can be locked in the same order.
    let sql = "INSERT INTO accounts (address, currency, balance, version, line)
               SELECT address, currency, 0, 0, line FROM unnest($1::text[], $2::text[], $3::bigint[])
                    AS k (address, currency, line)
               ORDER BY address, currency ON CONFLICT DO NOTHING";
    let values: [&(dyn ToSql + Sync); 3] = [&addresses, &currencies, &numbers];
    client.execute(sql, &values).await.map_err(|error| classify(&error))?;
    let sql = "SELECT 1 FROM accounts JOIN unnest($1::text[], $2::text[]) AS k (address, currency)
                    USING (address, currency)
               ORDER BY address, currency FOR NO KEY UPDATE OF accounts";
    let values: [&(dyn ToSql + Sync); 2] = [&addresses, &currencies];
    client.execute(sql, &values).await.map_err(|error| classify(&error))?;
    let sql = "UPDATE accounts a SET balance = a.balance + k.delta, version = a.version + 1
               FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[])
                    AS k (address, currency, delta, least)
               WHERE a.address = k.address AND a.currency = k.currency
                 AND (k.least IS NULL OR a.balance >= k.least)";
    let values: [&(dyn ToSql + Sync); 4] = [&addresses, &currencies, &deltas, &least];
    write(client, sql, &values, changes.len()).await?;
    Ok(new_lines)
}

async fn chart_line(
    client: &Transaction<'_>,
    account: &Arc<GlAccount>,
    new_lines: &mut NewLines,
) -> Result<i64, StoreError> {
    if let Some((number, _)) = new_lines.iter().find(|(_, known)| known == account) {
        return Ok(*number);
    }
    let pattern = account.pattern.as_ref().map(ToString::to_string).unwrap_or_default();
    let code = account.code.to_string();
    let sql = "INSERT INTO chart_lines (gl, name, class, address, liquidity, view)
               VALUES ($1::text::bigint, $2, $3, $4, $5, $6)
               ON CONFLICT (gl, name, class, address, liquidity, view) DO UPDATE SET gl = excluded.gl RETURNING line";
    let values: [&(dyn ToSql + Sync); 6] =
        [&code, &account.name, &account.class.name(), &pattern, &account.liquidity, &account.view];
    let row = client.query_one(sql, &values).await.map_err(|error| classify(&error))?;
    let number = get(&row, 0)?;
    new_lines.push((number, Arc::clone(account)));
    Ok(number)
}

/// The next link of the chain. Whoever holds the head is the only one who commits.
async fn head(client: &Transaction<'_>, id: CommitId, commit: &Commit) -> Result<(), StoreError> {
    let Some(decided) = commit.time else { return Ok(()) };
    let sql = "SELECT seq, hash, time FROM head FOR UPDATE";
    let row = client.query_one(sql, &[]).await.map_err(|error| classify(&error))?;
    let seq = get::<i64>(&row, 0)?.saturating_add(1);
    let last = get::<Option<i64>>(&row, 2)?.map(to_time).transpose()?;
    // Another process may have committed since this one looked at the clock.
    let time = last.map_or(decided, |last| last.max(decided));
    let hash = chain(hash(&row, 1)?, time, commit.appended());
    let time = time.as_microsecond();
    let values: [&(dyn ToSql + Sync); 4] = [&seq, &id.uuid(), &time, &hash.as_slice()];
    write(client, "INSERT INTO commits (seq, id, time, hash) VALUES ($1, $2, $3, $4)", &values, 1)
        .await?;
    let values: [&(dyn ToSql + Sync); 3] = [&seq, &time, &hash.as_slice()];
    write(client, "UPDATE head SET seq = $1, time = $2, hash = $3", &values, 1).await
}

fn ended_by(hold: &Hold) -> Option<Uuid> {
    match hold.state {
        HoldState::Open => None,
        HoldState::Ended { by } => Some(by.uuid()),
    }
}

/// Writes exactly as many rows as there are, or somebody else was faster.
pub(super) async fn write(
    client: &Transaction<'_>,
    sql: &str,
    values: &[&(dyn ToSql + Sync)],
    rows: usize,
) -> Result<(), StoreError> {
    if rows == 0 {
        return Ok(());
    }
    let count = client.execute(sql, values).await.map_err(|error| classify(&error))?;
    if usize::try_from(count) == Ok(rows) { Ok(()) } else { Err(StoreError::Conflict) }
}
