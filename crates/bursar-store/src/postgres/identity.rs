//! The row of the books, and the server that they are on.

use bursar_core::freezes::Restore;
use bursar_core::ids::BooksId;
use tokio_postgres::{Client, GenericClient};

use super::row::{get, hash};
use super::session::Session;
use super::{Postgres, classify};
use crate::chart_lines::{damaged, time};
use crate::identity::{ClockKind, Identity, Position};
use crate::{Query as _, StoreError};

/// The server: its system identifier, and the timeline of its write-ahead log, which a promoted replica and a restored
/// base backup begin anew.
const SERVER: &str =
    "SELECT c.system_identifier || '/' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)
    FROM pg_control_system() c";

impl Postgres {
    /// Makes new books.
    pub async fn make(url: &str, books: &Identity) -> Result<Self, StoreError> {
        let mut store = Self::open(url).await?;
        store.identify(books).await?;
        Ok(store)
    }

    /// What the books are; none in a database that `init` has not finished.
    pub(crate) async fn identity(&mut self) -> Result<Option<Identity>, StoreError> {
        load(&self.client).await
    }

    pub(crate) async fn identify(&mut self, books: &Identity) -> Result<(), StoreError> {
        let sql = "INSERT INTO books (one, id, made_at, clock) VALUES (1, $1, $2, $3)";
        let clock = books.clock.map(ClockKind::name);
        let made_at = books.made_at.as_microsecond();
        let written = self.client.execute(sql, &[&books.id.uuid(), &made_at, &clock]).await;
        written.map(drop).map_err(|error| classify(&error))
    }

    pub(crate) async fn set_clock(&mut self, clock: ClockKind) -> Result<(), StoreError> {
        let written = self.client.execute("UPDATE books SET clock = $1", &[&clock.name()]).await;
        written.map(drop).map_err(|error| classify(&error))
    }

    /// The last commit, as this process has seen it.
    pub(crate) async fn read_position(&mut self) -> Result<Position, StoreError> {
        let head = self.head().await?;
        Ok(Position { epoch: epoch(&self.client).await?, seq: head.seq, hash: head.hash })
    }

    /// The server that wrote the books last, and the server of this connection. None if it may not be read.
    async fn servers(&mut self) -> Result<Servers, StoreError> {
        let sql = "SELECT server FROM books";
        let found = self.client.query_opt(sql, &[]).await.map_err(|error| classify(&error))?;
        let before = found.map(|row| get(&row, 0)).transpose()?.flatten();
        let now = self.client.query_one(SERVER, &[]).await;
        Ok(Servers { before, now: now.ok().map(|row| get(&row, 0)).transpose()? })
    }

    async fn set_server(&mut self, server: &str) -> Result<(), StoreError> {
        let written = self.client.execute("UPDATE books SET server = $1", &[&server]).await;
        written.map(drop).map_err(|error| classify(&error))
    }

    /// From now on a new connection is compared with what this process has seen. Returns why the server is not the one that
    /// wrote the books last, if so.
    pub(crate) async fn watch(
        &mut self,
        id: BooksId,
        has_synchronous_replicas: bool,
    ) -> Result<Option<String>, StoreError> {
        self.seen.id = Some(id);
        self.seen.position = Some(self.read_position().await?);
        self.seen.has_all_on_replicas = has_synchronous_replicas && self.is_synchronous().await?;
        self.went_back().await
    }

    /// The books name the server that writes them. Returns whether it can be recognised.
    pub(crate) async fn name_server(&mut self) -> Result<bool, StoreError> {
        let Servers { before, now } = self.servers().await?;
        if let Some(now) = now.as_ref().filter(|now| before.as_ref() != Some(*now)) {
            self.set_server(now).await?;
        }
        Ok(now.is_some())
    }

    /// After a new connection: are these the books that the process has seen, on the same server?
    pub(super) async fn look_again(&mut self) -> Result<(), StoreError> {
        let Some(id) = self.seen.id else { return Ok(()) };
        let found = load(&self.client).await?;
        if found.map(|books| books.id) != Some(id) {
            let reason = format!("the database does not hold the books {id}");
            self.seen.gone = Some(reason.clone());
            return Err(StoreError::Gone(reason));
        }
        if self.seen.went_back.is_none() {
            self.seen.went_back = self.went_back().await?;
        }
        Ok(())
    }

    /// Why the books are not what this process has seen, if so.
    async fn went_back(&mut self) -> Result<Option<String>, StoreError> {
        let Servers { before, now } = self.servers().await?;
        if let (Some(before), Some(now)) = (&before, &now)
            && before != now
            && !self.seen.has_all_on_replicas
        {
            return Ok(Some(format!(
                "the database server is another one than before, or was restored (system identifier and timeline {now}, before {before})"
            )));
        }
        match self.seen.position {
            Some(seen) => self.misses(seen).await,
            None => Ok(None),
        }
    }

    /// Why the books do not continue what a process has seen, if so.
    pub(crate) async fn misses(&mut self, seen: Position) -> Result<Option<String>, StoreError> {
        let epoch = epoch(&self.client).await?;
        let hash = commit_hash(&self.client, seen.seq).await?;
        Ok(seen.is_missed(epoch, hash))
    }

    /// Whether every commit was on a replica before it was answered.
    async fn is_synchronous(&mut self) -> Result<bool, StoreError> {
        let sql = "SELECT current_setting('synchronous_standby_names') <> '' AND current_setting('synchronous_commit') NOT IN ('off', 'local')";
        let found = self.client.query_one(sql, &[]).await;
        found.and_then(|row| row.try_get(0)).map_err(|error| classify(&error))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Servers {
    before: Option<String>,
    now: Option<String>,
}

pub(super) async fn load(client: &Client) -> Result<Option<Identity>, StoreError> {
    let found = client.query_opt("SELECT id, made_at, clock FROM books", &[]).await;
    let Some(row) = found.map_err(|error| classify(&error))? else { return Ok(None) };
    let clock: Option<&str> = get(&row, 2)?;
    Ok(Some(Identity {
        id: BooksId::from_uuid(get(&row, 0)?),
        made_at: time(get(&row, 1)?)?,
        clock: clock.map(ClockKind::parse).transpose()?,
    }))
}

async fn epoch(client: &Client) -> Result<i64, StoreError> {
    let found = client.query_opt("SELECT restore FROM books", &[]).await;
    let found = found.map_err(|error| classify(&error))?;
    let text: Option<String> = found.map(|row| get(&row, 0)).transpose()?.flatten();
    let restore: Option<Restore> =
        text.map(|text| serde_json::from_str(&text)).transpose().map_err(damaged)?;
    Ok(restore.map_or(0, |restore| restore.epoch()))
}

async fn commit_hash(client: &Client, seq: u64) -> Result<Option<[u8; 32]>, StoreError> {
    let seq = i64::try_from(seq).map_err(damaged)?;
    let found = client.query_opt("SELECT hash FROM commits WHERE seq = $1", &[&seq]).await;
    found.map_err(|error| classify(&error))?.map(|row| hash(&row, 0)).transpose()
}

pub(super) async fn set_restore(
    session: &Session<'_, impl GenericClient>,
    restore: &Restore,
) -> Result<(), StoreError> {
    let text = serde_json::to_string(restore).map_err(damaged)?;
    session.write("UPDATE books SET restore = $1", &[&text], 1).await
}
