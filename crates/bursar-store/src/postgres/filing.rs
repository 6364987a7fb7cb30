//! Transactions by account: filed in slices, and found again whether they are filed or not.

use bursar_core::verify::Filed;
use tokio_postgres::{Client, GenericClient};

use super::classify;
use super::row::get;
use super::session::{Session, Statements};
use crate::StoreError;
use crate::chart_lines::damaged;

/// Nobody waits for whoever files: that one files for all.
const LOCK: &str = "SELECT pg_try_advisory_xact_lock(7002115)";
const STANDING: &str = "SELECT coalesce((SELECT max(seq) FROM slices), 0), seq FROM head";
const FILE: &str = "INSERT INTO entries (slice, account, seq, n)
    SELECT DISTINCT $2::bigint AS slice, moved.account, c.seq, t.n
    FROM commits c JOIN transactions t ON t.commit_id = c.id JOIN postings p ON p.tx = t.id,
         LATERAL (VALUES (p.source), (p.destination)) AS moved (account)
    WHERE c.seq > $1 AND c.seq <= $2 AND moved.account <> 'world'
    ORDER BY moved.account, c.seq, t.n";

/// The first $4 places from ($2, $3) on of transactions that touch any of the accounts $1. Those up to commit $5 are filed.
pub(super) const PLACES: &str = "SELECT e.seq, e.n
    FROM unnest($1::text[]) AS k (account), LATERAL (
        SELECT e.seq, e.n FROM slices s JOIN entries e ON e.slice = s.seq
        WHERE s.seq >= $2 AND e.account = k.account AND (e.seq, e.n) >= ($2, $3)
        ORDER BY s.seq, e.seq, e.n LIMIT $4) AS e
    UNION
    SELECT c.seq, t.n FROM commits c JOIN transactions t ON t.commit_id = c.id
    WHERE c.seq > $5 AND (c.seq, t.n) >= ($2, $3)
      AND EXISTS (SELECT FROM postings p WHERE p.tx = t.id AND (p.source = ANY($1) OR p.destination = ANY($1)))
    ORDER BY seq, n LIMIT $4";

/// Files everything that is not.
pub(super) async fn file(client: &mut Client, statements: &Statements) -> Result<(), StoreError> {
    let transaction = client.transaction().await.map_err(|error| classify(&error))?;
    let session = Session { client: &transaction, statements };
    let locked = session.query(LOCK, &[]).await?;
    if !locked.first().map_or(Ok(false), |row| get(row, 0))? {
        return Ok(());
    }
    let (filed, head) = standing(&session).await?;
    if head > filed {
        session.query(FILE, &[&filed, &head]).await?;
        session.write("INSERT INTO slices (seq) VALUES ($1)", &[&head], 1).await?;
    }
    transaction.commit().await.map_err(|error| classify(&error))
}

/// How far it is filed, and how many entries there are.
pub(super) async fn filed(session: &Session<'_, Client>) -> Result<Filed, StoreError> {
    let (until, _) = standing(session).await?;
    let rows = session.query("SELECT count(*) FROM entries", &[]).await?;
    let entries: i64 = rows.first().map_or(Ok(0), |row| get(row, 0))?;
    let number = |number: i64| u64::try_from(number).map_err(damaged);
    Ok(Filed { until: number(until)?, entries: number(entries)? })
}

/// The last commit that is filed, and the last one that there is.
pub(super) async fn standing(
    session: &Session<'_, impl GenericClient>,
) -> Result<(i64, i64), StoreError> {
    let rows = session.query(STANDING, &[]).await?;
    let row = rows.first().ok_or_else(|| damaged("the head is missing"))?;
    Ok((get(row, 0)?, get(row, 1)?))
}
