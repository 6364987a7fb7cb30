//! Reading the books.

use bursar_core::commit::SavedCommit;
use bursar_core::ledger::{Account, Hold, HoldKey, Transaction};
use bursar_core::numscript::Name;
use bursar_core::verify::End;
use rusqlite::params;

use super::load::{header, postings};
use super::row::{self, get};
use super::{Sqlite, classify};
use crate::chart_lines::{damaged, parse, time};
use crate::{Query, StoreError};

impl Query for Sqlite {
    async fn accounts(&mut self) -> Result<Vec<(Name, Account)>, StoreError> {
        let sql =
            "SELECT address, balance, currency, line FROM accounts ORDER BY address, currency";
        let mut statement =
            self.connection.prepare_cached(sql).map_err(|error| classify(&error))?;
        let mut rows = statement.query([]).map_err(|error| classify(&error))?;
        let mut accounts = Vec::new();
        while let Some(row) = rows.next().map_err(|error| classify(&error))? {
            accounts.push((get::<String>(row, 0)?.into(), row::account(row, 1, &self.lines)?));
        }
        Ok(accounts)
    }

    async fn holds(&mut self) -> Result<Vec<(HoldKey, Hold)>, StoreError> {
        let sql = "SELECT gl, reference, account, currency, amount, epoch, ended_by FROM holds ORDER BY gl, reference";
        let mut statement =
            self.connection.prepare_cached(sql).map_err(|error| classify(&error))?;
        let mut rows = statement.query([]).map_err(|error| classify(&error))?;
        let mut holds = Vec::new();
        while let Some(row) = rows.next().map_err(|error| classify(&error))? {
            let code = parse(&get::<i64>(row, 0)?.to_string(), "a GL code")?;
            holds.push((HoldKey { code, reference: get(row, 1)? }, row::hold(row, 2)?));
        }
        Ok(holds)
    }

    async fn history(&mut self, after: u64, limit: u32) -> Result<Vec<SavedCommit>, StoreError> {
        let first = i64::try_from(after).unwrap_or(i64::MAX);
        let sql = "SELECT seq, time, hash, id FROM commits WHERE seq > ?1 ORDER BY seq LIMIT ?2";
        let mut statement =
            self.connection.prepare_cached(sql).map_err(|error| classify(&error))?;
        let mut rows = statement.query(params![first, limit]).map_err(|error| classify(&error))?;
        let mut commits = Vec::new();
        while let Some(row) = rows.next().map_err(|error| classify(&error))? {
            commits.push(SavedCommit {
                seq: u64::try_from(get::<i64>(row, 0)?).map_err(damaged)?,
                time: time(get(row, 1)?)?,
                hash: get(row, 2)?,
                transactions: self.transactions(get(row, 3)?)?,
            });
        }
        Ok(commits)
    }

    async fn end(&mut self) -> Result<End, StoreError> {
        let sql = "SELECT seq, hash, time, (SELECT count(*) FROM transactions), (SELECT count(*) FROM postings) FROM head";
        let mut statement =
            self.connection.prepare_cached(sql).map_err(|error| classify(&error))?;
        let mut rows = statement.query([]).map_err(|error| classify(&error))?;
        let row = rows.next().map_err(|error| classify(&error))?;
        let row = row.ok_or_else(|| damaged("the head is missing"))?;
        let number = |column| u64::try_from(get::<i64>(row, column)?).map_err(damaged);
        Ok(End {
            seq: number(0)?,
            hash: get(row, 1)?,
            time: get::<Option<i64>>(row, 2)?.map(time).transpose()?,
            transactions: number(3)?,
            postings: number(4)?,
        })
    }

    /// Nobody else writes while this process holds the data directory.
    async fn read_at_one_moment(&mut self) -> Result<(), StoreError> {
        Ok(())
    }
}

impl Sqlite {
    /// The transactions of one commit with their postings, in order.
    fn transactions(&self, commit_id: [u8; 16]) -> Result<Vec<Transaction>, StoreError> {
        let sql = "SELECT t.id, t.event, t.reference, t.request_hash, t.rulebook_hash, t.effective_at, t.reverts, c.time
                   FROM transactions t JOIN commits c ON c.id = t.commit_id WHERE t.commit_id = ?1 ORDER BY t.n";
        let mut statement =
            self.connection.prepare_cached(sql).map_err(|error| classify(&error))?;
        let mut rows = statement.query([commit_id.as_slice()]).map_err(|error| classify(&error))?;
        let mut transactions = Vec::new();
        while let Some(row) = rows.next().map_err(|error| classify(&error))? {
            let mut transaction = header(row)?;
            transaction.postings = postings(&self.connection, transaction.id)?;
            transactions.push(transaction);
        }
        Ok(transactions)
    }
}
