//! Reads of the books.

use std::collections::BTreeMap;

use bursar_core::dispatch::{CycleFilter, CycleRow, Queue, QueueKey};
use bursar_core::feed::{Cursor, FeedEvent};
use bursar_core::flow::{Flow, Review};
use bursar_core::freezes::Control;
use bursar_core::ids::{FlowId, TransactionId};
use bursar_core::ledger::closing::{ClosedAccount, Closing};
use bursar_core::ledger::verify::{End, Head, IndexedEntries, LabelDigest};
use bursar_core::ledger::{Account, Transaction};
use bursar_core::numscript::Name;
use bursar_core::turn::{SavedCommit, Tally};
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::load::{TRANSACTIONS, cursor, transaction};
use super::row::{self, get, hash};
use super::{Postgres, classify, closings, control, dispatch, feed, flows, queues, tallies};
use crate::chain_row;
use crate::chart_lines::{damaged, time};
use crate::{Query, StoreError};

impl Query for Postgres {
    async fn accounts(&mut self) -> Result<Vec<(Name, Account)>, StoreError> {
        self.reconnect().await?;
        self.lines = row::chart_lines(&self.client).await?;
        let sql = "SELECT address, balance, currency, line, received FROM accounts
                   ORDER BY address, currency";
        let rows = self.session().query(sql, &[]).await?;
        let account = |row| Ok((get::<String>(row, 0)?.into(), row::account(row, 1, &self.lines)?));
        rows.iter().map(account).collect()
    }

    async fn flow(&mut self, id: FlowId) -> Result<Option<Flow>, StoreError> {
        self.reconnect().await?;
        flows::find(&self.session(), id).await
    }

    async fn flows(&mut self, after: Option<FlowId>, limit: u32) -> Result<Vec<Flow>, StoreError> {
        self.reconnect().await?;
        flows::page(&self.session(), after, limit).await
    }

    async fn all_reviews(&mut self) -> Result<Vec<Review>, StoreError> {
        self.reconnect().await?;
        tallies::all_reviews(&self.session()).await
    }

    async fn cycles(
        &mut self,
        filter: &CycleFilter,
        limit: u32,
    ) -> Result<Vec<CycleRow>, StoreError> {
        self.reconnect().await?;
        dispatch::cycles(&self.session(), filter, limit).await
    }

    async fn tallies(&mut self, prefix: &str) -> Result<BTreeMap<String, Tally>, StoreError> {
        self.reconnect().await?;
        tallies::list(&self.session(), prefix).await
    }

    async fn queues(&mut self) -> Result<Vec<(QueueKey, Queue)>, StoreError> {
        self.reconnect().await?;
        queues::list(&self.session()).await
    }

    async fn closings(&mut self) -> Result<Vec<Closing>, StoreError> {
        self.reconnect().await?;
        closings::list(&self.session()).await
    }

    async fn closed_accounts(&mut self, seq: u64) -> Result<Vec<ClosedAccount>, StoreError> {
        self.reconnect().await?;
        closings::accounts(&self.session(), seq).await
    }

    async fn closed_rows(
        &mut self,
        commits: (u64, u64),
    ) -> Result<Vec<(u64, ClosedAccount)>, StoreError> {
        self.reconnect().await?;
        closings::rows(&self.session(), commits).await
    }

    async fn labels(&mut self) -> Result<LabelDigest, StoreError> {
        self.reconnect().await?;
        tallies::labels(&self.session()).await
    }

    async fn events(
        &mut self,
        after: Cursor,
        limit: u32,
    ) -> Result<Vec<(Cursor, FeedEvent)>, StoreError> {
        self.reconnect().await?;
        feed::page(&self.session(), after, limit).await
    }

    async fn control(&mut self) -> Result<Control, StoreError> {
        self.reconnect().await?;
        control::load(&self.session()).await
    }

    async fn history(&mut self, after: u64, limit: u32) -> Result<Vec<SavedCommit>, StoreError> {
        self.reconnect().await?;
        let (after, limit) = (i64::try_from(after).unwrap_or(i64::MAX), i64::from(limit));
        let sql = "SELECT seq, time, hash, id, version, digests, archived FROM commits
                   WHERE seq > $1 ORDER BY seq LIMIT $2";
        let rows = self.session().query(sql, &[&after, &limit]).await?;
        let ids = rows.iter().map(|row| get(row, 3)).collect::<Result<Vec<Uuid>, _>>()?;
        let sql = format!("{TRANSACTIONS} WHERE t.commit_id = ANY($1) ORDER BY c.seq, t.n");
        let mut by_commit: BTreeMap<Uuid, Vec<Transaction>> = BTreeMap::new();
        for row in &self.session().query(&sql, &[&ids]).await? {
            by_commit.entry(get(row, 8)?).or_default().push(transaction(row)?);
        }
        let mut events = feed::events(&self.session(), &ids).await?;
        let mut audit = feed::audit(&self.session(), &ids).await?;
        rows.iter()
            .map(|row| {
                let (seq, id): (i64, Uuid) = (get(row, 0)?, get(row, 3)?);
                Ok(SavedCommit {
                    seq: u64::try_from(seq).map_err(damaged)?,
                    time: time(get(row, 1)?)?,
                    hash: hash(row, 2)?,
                    link: chain_row::link(get(row, 4)?, get(row, 5)?, get(row, 6)?),
                    transactions: by_commit.remove(&id).unwrap_or_default(),
                    events: events.remove(&id).unwrap_or_default(),
                    audit: audit.remove(&id).unwrap_or_default(),
                })
            })
            .collect()
    }

    async fn transactions_of(
        &mut self,
        addresses: &[Name],
        after: Cursor,
        limit: u32,
    ) -> Result<Vec<(Cursor, Transaction)>, StoreError> {
        self.reconnect().await?;
        let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        // The order of evaluation: the index entries of the accounts, their positions, the transactions.
        let sql = format!(
            "WITH indexed AS MATERIALIZED (SELECT commit_id, places FROM entries WHERE account = ANY($1))
             {TRANSACTIONS}
             JOIN (SELECT DISTINCT c.seq, p.place, indexed.commit_id
                   FROM indexed JOIN commits c ON c.id = indexed.commit_id
                        CROSS JOIN LATERAL unnest(indexed.places) AS p (place)
                   WHERE c.seq > $2 OR (c.seq = $2 AND p.place >= $3::bigint)
                   ORDER BY c.seq, p.place LIMIT $4) p
               ON t.commit_id = p.commit_id AND t.n = p.place
             ORDER BY c.seq, t.n"
        );
        let addresses: Vec<&str> = addresses.iter().map(|address| &**address).collect();
        let values: [&(dyn ToSql + Sync); 4] =
            [&addresses, &number(after.commit), &number(after.rows), &i64::from(limit)];
        let found = |row| Ok((cursor(row)?, transaction(row)?));
        self.session().query(&sql, &values).await?.iter().map(found).collect()
    }

    async fn head(&mut self) -> Result<Head, StoreError> {
        self.reconnect().await?;
        let rows = self.session().query("SELECT seq, end_hash, time FROM head", &[]).await?;
        let row = rows.first().ok_or_else(|| damaged("the head is missing"))?;
        Ok(Head {
            seq: u64::try_from(get::<i64>(row, 0)?).map_err(damaged)?,
            hash: hash(row, 1)?,
            time: get::<Option<i64>>(row, 2)?.map(time).transpose()?,
        })
    }

    async fn transaction(&mut self, id: TransactionId) -> Result<Option<Transaction>, StoreError> {
        self.reconnect().await?;
        let sql = format!("{TRANSACTIONS} WHERE t.id = $1");
        self.session().query(&sql, &[&id.uuid()]).await?.first().map(transaction).transpose()
    }

    async fn end(&mut self) -> Result<End, StoreError> {
        let head = self.head().await?;
        let sql = "SELECT (SELECT count(*) FROM transactions),
                          (SELECT coalesce(sum(json_array_length(postings::json)), 0)::bigint FROM transactions),
                          (SELECT count(*) FROM events), (SELECT count(*) FROM audit), (SELECT count(*) FROM due)";
        let rows = self.session().query(sql, &[]).await?;
        let row = rows.first().ok_or_else(|| damaged("the counts are missing"))?;
        let number = |column| u64::try_from(get::<i64>(row, column)?).map_err(damaged);
        let (transactions, postings) = (number(0)?, number(1)?);
        let (events, audit) = (number(2)?, number(3)?);
        Ok(End { head, transactions, postings, events, audit, due: number(4)? })
    }

    /// Every commit writes its own entries.
    async fn indexed_entries(&mut self) -> Result<IndexedEntries, StoreError> {
        self.reconnect().await?;
        let head = self.session().query("SELECT seq FROM head", &[]).await?;
        let last = head.first().ok_or_else(|| damaged("the head is missing"))?;
        let mut entries =
            IndexedEntries::until(u64::try_from(get::<i64>(last, 0)?).map_err(damaged)?);
        let sql = "SELECT e.account, e.commit_id, coalesce(c.seq, 0), e.places
                   FROM entries e LEFT JOIN commits c ON c.id = e.commit_id
                   WHERE (e.account, e.commit_id) > ($1, $2) ORDER BY e.account, e.commit_id LIMIT 1000";
        let mut last = (String::new(), Uuid::nil());
        loop {
            let rows = self.session().query(sql, &[&last.0, &last.1]).await?;
            for row in &rows {
                let commit = u64::try_from(get::<i64>(row, 2)?).map_err(damaged)?;
                for position in get::<Vec<i32>>(row, 3)? {
                    entries.add(get(row, 0)?, commit, u64::try_from(position).map_err(damaged)?);
                }
            }
            let Some(row) = rows.last() else { return Ok(entries) };
            last = (get(row, 0)?, get(row, 1)?);
        }
    }

    async fn read_at_one_moment(&mut self) -> Result<(), StoreError> {
        self.reconnect().await?;
        // A report holds no lock that a turn waits for, so it needs no timeout. The timeout of its own locks stays.
        let sql = "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY;
             SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL statement_timeout = 0";
        self.client.batch_execute(sql).await.map_err(|error| classify(&error))?;
        self.is_of_one_moment = true;
        Ok(())
    }
}
