//! Connections and bulk statements of the stores, for the baselines of `bursar-bench`. They write rows without a decision
//! and without a check, so the test `only_benchmarks_write_rows_in_bulk` forbids this module to all other crates.

pub use crate::chart_lines::{ChartLines, NewLines};

pub mod memory {
    //! Books in memory.

    use std::collections::BTreeMap;

    use bursar_core::idempotency::KnownKey;
    use bursar_core::ids::CommitId;
    use bursar_core::ledger::{Account, AccountKey};
    use bursar_core::turn::{FlowWrite, HoldWrite, SavedCommit};

    use crate::Memory;

    pub fn accounts(books: &mut Memory) -> &mut BTreeMap<AccountKey, Account> {
        &mut books.accounts
    }

    /// Replaces holds, flows and idempotency keys.
    pub fn put(books: &mut Memory, holds: &[HoldWrite], flows: &[FlowWrite], keys: &[KnownKey]) {
        books.put(holds, flows, keys);
    }

    /// Counts all flows again.
    pub fn recount(books: &mut Memory) {
        books.recount();
    }

    /// Appends a commit.
    pub fn push(books: &mut Memory, id: CommitId, commit: SavedCommit) {
        books.push(id, commit);
    }
}

pub mod sqlite {
    //! Books in a SQLite file.

    use rusqlite::Connection;

    pub use crate::sqlite::classify;
    pub use crate::sqlite::feed::save as insert_events;
    pub use crate::sqlite::flows::{insert as insert_flows, insert_attempts, insert_keys};
    pub use crate::sqlite::rows::insert as insert_transactions;
    pub use crate::sqlite::save::{chart_line, holds as save_holds};

    use super::ChartLines;
    use crate::Sqlite;

    /// The connection, and the cached chart lines.
    pub fn connection(books: &mut Sqlite) -> (&mut Connection, &mut ChartLines) {
        (&mut books.connection, &mut books.lines)
    }
}

pub mod postgres {
    //! Books in a PostgreSQL database.

    use tokio_postgres::Client;

    pub use crate::postgres::accounts::{chart_line, codes};
    pub use crate::postgres::classify;
    pub use crate::postgres::copy::{
        Copy, Field, attempts as copy_attempts, due as copy_due, events as copy_events,
        flows as copy_flows, holds as copy_holds, keys as copy_keys,
    };
    pub use crate::postgres::database::{Database, parse};
    pub use crate::postgres::rows::{header, in_order};
    pub use crate::postgres::session::{Session, Statements};

    use super::ChartLines;
    use crate::postgres::connect::Use;
    use crate::{Postgres, StoreError};

    /// Migrates tables with one row per posting to the tables of the engine.
    pub const PACKED: &str = include_str!("../migrations/postgres/V8__postings_packed.sql");

    #[derive(Debug)]
    pub struct Connection<'b> {
        pub client: &'b mut Client,
        pub statements: &'b Statements,
        /// The cached chart lines.
        pub lines: &'b mut ChartLines,
    }

    pub fn connection(books: &mut Postgres) -> Connection<'_> {
        let Postgres { client, statements, lines, .. } = books;
        Connection { client, statements, lines }
    }

    /// A connection to any database of a server.
    pub async fn connect(server: &Database) -> Result<Client, StoreError> {
        Ok(crate::postgres::connect::connect(server, Use::Turns).await?.client)
    }

    /// Connects to the books and brings the schema up to date.
    pub async fn open(database: Database) -> Result<Postgres, StoreError> {
        Postgres::open_at(database).await
    }
}
