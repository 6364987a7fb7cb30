//! Loads the records of a read plan in a constant number of statements.

use bursar_core::feed::Cursor;
use bursar_core::ids::TransactionId;
use bursar_core::ledger::{Account, AccountKey, Hold, HoldKey, Transaction};
use bursar_core::money::Money;
use bursar_core::numscript::Name;
use bursar_core::turn::{KnownReference, ReadPlan, ReadSet};
use futures_util::future::join4;
use tokio_postgres::{GenericClient, Row};
use uuid::Uuid;

use super::flows::Loaded;
use super::merchants::Merchants;
use super::row::{self, get, hash};
use super::session::Session;
use super::{control, dispatch, flows, keys, registry};
use crate::chart_lines::{ChartLines, damaged, parse, time};
use crate::{StoreError, postings};

const HEAD: &str = "SELECT time, merchants_version, seq FROM head";
/// `place` is the index of the account in the parameters.
const ACCOUNTS: &str = "SELECT k.place, a.balance, a.line, a.received
    FROM (SELECT unnest($1::text[]) AS address, unnest($2::text[]) AS currency, unnest($3::integer[]) AS place) AS k
    JOIN accounts a ON a.address = k.address AND a.currency = k.currency";
const HOLDS: &str =
    "SELECT h.gl, h.reference, h.account, h.currency, h.amount, h.epoch, h.ended_by FROM holds h
     JOIN (SELECT unnest($1::bigint[]) AS gl, unnest($2::text[]) AS reference) AS k
         ON h.gl = k.gl AND h.reference = k.reference";
const REFERENCES: &str = "SELECT event, reference, id, request_hash FROM transactions
    JOIN unnest($1::text[], $2::text[]) AS k (event, reference) USING (event, reference)";

/// The records, and the merchants version. The version is read before any merchant, so no merchant is older than it.
///
/// The statements are pipelined and run in this order. References come last: an event that another turn has posted since
/// the earlier reads must be found as posted.
pub(super) async fn load(
    session: &Session<'_, impl GenericClient>,
    lines: &mut ChartLines,
    merchants: &mut Merchants,
    plan: &ReadPlan,
) -> Result<(ReadSet, i64), StoreError> {
    // Frozen merchants are passed over. A turn that relies on the freezes depends on their version.
    let control = if plan.control { Some(control::load(session).await?) } else { None };
    // The flows come next and are locked: no later read is older than the flows.
    let Loaded { flows, unreadable, queues } = flows::load(session, plan, control.as_ref()).await?;
    session.prepare_all(&[HEAD, ACCOUNTS, HOLDS, REFERENCES]).await?;
    let (head, accounts, holds, references) = join4(
        session.query(HEAD, &[]),
        accounts(session, plan),
        holds(session, plan),
        references(session, plan),
    )
    .await;
    let (head, accounts) = (head?, accounts?);
    let head = head.first().ok_or_else(|| damaged("the head is missing"))?;
    let numbers = accounts.iter().map(|row| get(row, 2)).collect::<Result<Vec<i64>, _>>()?;
    if numbers.iter().any(|number| !lines.contains(*number)) {
        // Another process has inserted a chart line that this process has not cached.
        *lines = row::chart_lines(session.client).await?;
    }
    let transactions = transactions(session, plan).await?;
    let merchants_version = get(head, 1)?;
    merchants.at(merchants_version);
    let (registry, unreadable_records) = registry::load(session, merchants, plan).await?;
    let records = ReadSet {
        time: get::<Option<i64>>(head, 0)?.map(time).transpose()?,
        seq: u64::try_from(get::<i64>(head, 2)?).map_err(damaged)?,
        accounts: found_accounts(plan, &accounts, lines)?,
        holds: found_holds(&holds?)?,
        references: references?.iter().map(reference).collect::<Result<_, _>>()?,
        transactions,
        flows,
        queues,
        tallies: dispatch::load(session, plan).await?,
        unreadable,
        control,
        registry,
        unreadable_records,
        // Last, like references: a request that another turn has answered since the reads above must be found.
        keys: keys::load(session, plan).await?,
    };
    Ok((records, merchants_version))
}

/// The references, transactions and holds of a plan, without locks.
pub(super) async fn unlocked(
    session: &Session<'_, impl GenericClient>,
    plan: &ReadPlan,
) -> Result<ReadSet, StoreError> {
    let references = references(session, plan).await?;
    Ok(ReadSet {
        references: references.iter().map(reference).collect::<Result<_, _>>()?,
        transactions: transactions(session, plan).await?,
        holds: found_holds(&holds(session, plan).await?)?,
        ..ReadSet::default()
    })
}

fn found_holds(rows: &[Row]) -> Result<Vec<(HoldKey, Hold)>, StoreError> {
    rows.iter().map(|row| Ok((hold_key(row)?, row::hold(row, 2)?))).collect()
}

async fn accounts(
    session: &Session<'_, impl GenericClient>,
    plan: &ReadPlan,
) -> Result<Vec<Row>, StoreError> {
    if plan.accounts.is_empty() {
        return Ok(Vec::new());
    }
    let (addresses, currencies): (Vec<&str>, Vec<&str>) =
        plan.accounts.iter().map(|(address, currency)| (&**address, currency.code())).unzip();
    let indexes: Vec<i32> = (0..).take(addresses.len()).collect();
    session.query(ACCOUNTS, &[&addresses, &currencies, &indexes]).await
}

fn found_accounts(
    plan: &ReadPlan,
    rows: &[Row],
    lines: &ChartLines,
) -> Result<Vec<(Name, Account)>, StoreError> {
    let asked: Vec<&AccountKey> = plan.accounts.iter().collect();
    let account = |row| {
        let index = usize::try_from(get::<i32>(row, 0)?).map_err(damaged)?;
        let (address, currency) = asked
            .get(index)
            .ok_or_else(|| damaged("an account was found that was not asked for"))?;
        let balance = Money::from_minor(get(row, 1)?, *currency);
        let (metadata, received) = (lines.get(get(row, 2)?)?, get(row, 3)?);
        let account = Account { balance, received, metadata };
        Ok((Name::clone(address), account))
    };
    rows.iter().map(account).collect()
}

async fn holds(
    session: &Session<'_, impl GenericClient>,
    plan: &ReadPlan,
) -> Result<Vec<Row>, StoreError> {
    if plan.holds.is_empty() {
        return Ok(Vec::new());
    }
    let codes: Vec<i64> = plan.holds.iter().map(|key| i64::from(key.code.number())).collect();
    let references: Vec<&str> = plan.holds.iter().map(|key| key.reference.as_str()).collect();
    session.query(HOLDS, &[&codes, &references]).await
}

async fn references(
    session: &Session<'_, impl GenericClient>,
    plan: &ReadPlan,
) -> Result<Vec<Row>, StoreError> {
    if plan.references.is_empty() {
        return Ok(Vec::new());
    }
    let (events, references): (Vec<&str>, Vec<&str>) =
        plan.references.iter().map(|(event, reference)| (&**event, reference.as_str())).unzip();
    session.query(REFERENCES, &[&events, &references]).await
}

/// Transactions are immutable, so this read needs no order relative to the others.
async fn transactions(
    session: &Session<'_, impl GenericClient>,
    plan: &ReadPlan,
) -> Result<Vec<Transaction>, StoreError> {
    if plan.transactions.is_empty() {
        return Ok(Vec::new());
    }
    let ids: Vec<Uuid> = plan.transactions.iter().map(|id| id.uuid()).collect();
    let sql = format!("{TRANSACTIONS} WHERE t.id = ANY($1)");
    session.query(&sql, &[&ids]).await?.iter().map(transaction).collect()
}

/// The columns that `transaction` reads.
pub(super) const TRANSACTIONS: &str =
    "SELECT t.id, t.event, t.reference, t.request_hash, t.rulebook_hash, t.effective_at, t.reverts, c.time, t.commit_id, c.seq, t.n, t.postings
     FROM transactions t JOIN commits c ON c.id = t.commit_id";

pub(super) fn transaction(row: &Row) -> Result<Transaction, StoreError> {
    let reverts: Option<Uuid> = get(row, 6)?;
    let id = TransactionId::from_uuid(get(row, 0)?);
    Ok(Transaction {
        id,
        event: get::<String>(row, 1)?.into(),
        reference: get(row, 2)?,
        request_hash: hash(row, 3)?,
        rulebook_hash: hash(row, 4)?,
        effective_at: time(get(row, 5)?)?,
        inserted_at: time(get(row, 7)?)?,
        reverts: reverts.map(TransactionId::from_uuid),
        postings: postings::decode(id, get(row, 11)?)?,
    })
}

/// The position of a transaction.
pub(super) fn cursor(row: &Row) -> Result<Cursor, StoreError> {
    let commit = u64::try_from(get::<i64>(row, 9)?).map_err(damaged)?;
    let n = u64::try_from(get::<i64>(row, 10)?).map_err(damaged)?;
    Ok(Cursor { commit, rows: n.saturating_add(1) })
}

/// `event, reference, id, request_hash`.
fn reference(row: &Row) -> Result<KnownReference, StoreError> {
    Ok(KnownReference {
        event: get::<&str>(row, 0)?.into(),
        reference: get(row, 1)?,
        id: TransactionId::from_uuid(get(row, 2)?),
        request_hash: hash(row, 3)?,
    })
}

/// `gl, reference`.
pub(super) fn hold_key(row: &Row) -> Result<HoldKey, StoreError> {
    Ok(HoldKey {
        code: parse(&get::<i64>(row, 0)?.to_string(), "a GL code")?,
        reference: get(row, 1)?,
    })
}
