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
use rusqlite::params;

use super::load::{HEADERS, all, header, one, postings, transaction};
use super::row::{self, get};
use super::{
    Sqlite, account_index, classify, closings, control, dispatch, feed, flows, queues, tallies,
};
use crate::chain_row;
use crate::chart_lines::{damaged, time};
use crate::{Query, StoreError};

impl Query for Sqlite {
    async fn accounts(&mut self) -> Result<Vec<(Name, Account)>, StoreError> {
        let sql = "SELECT address, balance, currency, line, received FROM accounts ORDER BY address, currency";
        self.lines = row::chart_lines(&self.connection)?;
        all(&self.connection, sql, [], |row| {
            Ok((get::<String>(row, 0)?.into(), row::account(row, 1, &self.lines)?))
        })
    }

    async fn flow(&mut self, id: FlowId) -> Result<Option<Flow>, StoreError> {
        flows::find(&self.connection, id)
    }

    async fn flows(&mut self, after: Option<FlowId>, limit: u32) -> Result<Vec<Flow>, StoreError> {
        flows::page(&self.connection, after, limit)
    }

    async fn all_reviews(&mut self) -> Result<Vec<Review>, StoreError> {
        tallies::all_reviews(&self.connection)
    }

    async fn queues(&mut self) -> Result<Vec<(QueueKey, Queue)>, StoreError> {
        queues::list(&self.connection)
    }

    async fn cycles(
        &mut self,
        filter: &CycleFilter,
        limit: u32,
    ) -> Result<Vec<CycleRow>, StoreError> {
        dispatch::cycles(&self.connection, filter, limit)
    }

    async fn tallies(&mut self, prefix: &str) -> Result<BTreeMap<String, Tally>, StoreError> {
        tallies::list(&self.connection, prefix)
    }

    async fn closings(&mut self) -> Result<Vec<Closing>, StoreError> {
        closings::list(&self.connection)
    }

    async fn closed_accounts(&mut self, seq: u64) -> Result<Vec<ClosedAccount>, StoreError> {
        closings::accounts(&self.connection, seq)
    }

    async fn closed_rows(
        &mut self,
        commits: (u64, u64),
    ) -> Result<Vec<(u64, ClosedAccount)>, StoreError> {
        closings::rows(&self.connection, commits)
    }

    async fn labels(&mut self) -> Result<LabelDigest, StoreError> {
        tallies::labels(&self.connection)
    }

    async fn events(
        &mut self,
        after: Cursor,
        limit: u32,
    ) -> Result<Vec<(Cursor, FeedEvent)>, StoreError> {
        feed::page(&self.connection, after, limit)
    }

    async fn control(&mut self) -> Result<Control, StoreError> {
        control::load(&self.connection)
    }

    async fn history(&mut self, after: u64, limit: u32) -> Result<Vec<SavedCommit>, StoreError> {
        let first = i64::try_from(after).unwrap_or(i64::MAX);
        let sql = "SELECT seq, time, hash, id, version, digests, archived FROM commits WHERE seq > ?1 ORDER BY seq LIMIT ?2";
        all(&self.connection, sql, params![first, limit], |row| {
            let (seq, id): (i64, [u8; 16]) = (get(row, 0)?, get(row, 3)?);
            let digests: Option<Vec<u8>> = get(row, 5)?;
            Ok(SavedCommit {
                seq: u64::try_from(seq).map_err(damaged)?,
                time: time(get(row, 1)?)?,
                hash: get(row, 2)?,
                link: chain_row::link(get(row, 4)?, digests.as_deref(), get(row, 6)?),
                transactions: self.transactions(id)?,
                events: feed::events(&self.connection, id)?,
                audit: feed::audit(&self.connection, id)?,
            })
        })
    }

    async fn transactions_of(
        &mut self,
        addresses: &[Name],
        after: Cursor,
        limit: u32,
    ) -> Result<Vec<(Cursor, Transaction)>, StoreError> {
        let sql = format!("{HEADERS} WHERE c.seq = ?1 AND t.n = ?2");
        let positions = account_index::positions(&self.connection, addresses, after, limit)?;
        let found = positions.into_iter().map(|(seq, n)| {
            let found = one(&self.connection, &sql, params![seq, n], header)?;
            let mut transaction = found.ok_or_else(|| damaged("an entry has no transaction"))?;
            transaction.postings = postings(&self.connection, transaction.id)?;
            let commit = u64::try_from(seq).map_err(damaged)?;
            let rows = u64::try_from(n).map_err(damaged)?.saturating_add(1);
            Ok((Cursor { commit, rows }, transaction))
        });
        found.collect()
    }

    async fn head(&mut self) -> Result<Head, StoreError> {
        let head = one(&self.connection, "SELECT seq, end_hash, time FROM head", [], |row| {
            Ok(Head {
                seq: u64::try_from(get::<i64>(row, 0)?).map_err(damaged)?,
                hash: get(row, 1)?,
                time: get::<Option<i64>>(row, 2)?.map(time).transpose()?,
            })
        })?;
        head.ok_or_else(|| damaged("the head is missing"))
    }

    async fn transaction(&mut self, id: TransactionId) -> Result<Option<Transaction>, StoreError> {
        transaction(&self.connection, id)
    }

    async fn end(&mut self) -> Result<End, StoreError> {
        let head = self.head().await?;
        let sql = "SELECT (SELECT count(*) FROM transactions), (SELECT count(*) FROM postings),
                          (SELECT count(*) FROM events), (SELECT count(*) FROM audit), (SELECT count(*) FROM due)";
        let end = one(&self.connection, sql, [], |row| {
            let number = |column| u64::try_from(get::<i64>(row, column)?).map_err(damaged);
            let (transactions, postings) = (number(0)?, number(1)?);
            let (events, audit) = (number(2)?, number(3)?);
            Ok(End { head, transactions, postings, events, audit, due: number(4)? })
        })?;
        end.ok_or_else(|| damaged("the counts are missing"))
    }

    async fn indexed_entries(&mut self) -> Result<IndexedEntries, StoreError> {
        account_index::indexed_entries(&self.connection)
    }

    /// A process that holds the lock of the data directory is the only writer, and needs no snapshot.
    async fn read_at_one_moment(&mut self) -> Result<(), StoreError> {
        if self.lock.is_some() {
            return Ok(());
        }
        // The first read of a transaction takes the snapshot.
        self.connection
            .execute_batch("BEGIN; SELECT seq FROM head")
            .map_err(|error| classify(&error))
    }
}

impl Sqlite {
    /// The transactions of one commit with their postings, in order.
    fn transactions(&self, commit_id: [u8; 16]) -> Result<Vec<Transaction>, StoreError> {
        let sql = format!("{HEADERS} WHERE t.commit_id = ?1 ORDER BY t.n");
        all(&self.connection, &sql, [commit_id.as_slice()], |row| {
            let mut transaction = header(row)?;
            transaction.postings = postings(&self.connection, transaction.id)?;
            Ok(transaction)
        })
    }
}
