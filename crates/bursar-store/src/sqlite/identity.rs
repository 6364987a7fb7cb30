//! The row of the books, and the file that they are in.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use bursar_core::freezes::Restore;
use bursar_core::ids::BooksId;
use rusqlite::{Connection, params};
use uuid::Uuid;

use super::load::one;
use super::row::get;
use super::save::write_one;
use super::{FILE, Sqlite, classify};
use crate::StoreError;
use crate::chart_lines::{damaged, time};
use crate::identity::{ClockKind, Identity, Position};

/// The file that was opened. Another file at its path, or none, means that the books were removed or exchanged.
#[derive(Debug, Clone)]
pub struct Place {
    path: PathBuf,
    /// Device and inode.
    file: (u64, u64),
}

impl Place {
    pub(super) fn new(directory: &Path, opened: &File) -> std::io::Result<Self> {
        let metadata = opened.metadata()?;
        Ok(Self { path: directory.join(FILE), file: (metadata.dev(), metadata.ino()) })
    }

    pub fn check(&self) -> Result<(), StoreError> {
        let found = fs::metadata(&self.path).map(|found| (found.dev(), found.ino()));
        match found {
            Ok(found) if found == self.file => Ok(()),
            Ok(_) => Err(StoreError::Gone(format!("another file is at {}", self.path.display()))),
            Err(error) => Err(StoreError::Gone(format!("{}: {error}", self.path.display()))),
        }
    }
}

impl Sqlite {
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Makes new books.
    pub fn make(directory: &Path, books: &Identity) -> Result<Self, StoreError> {
        let mut store = Self::open(directory)?;
        store.identify(books)?;
        Ok(store)
    }

    /// What the books are; none in a database that `init` has not finished.
    pub(crate) fn identity(&self) -> Result<Option<Identity>, StoreError> {
        load(&self.connection)
    }

    pub(crate) fn identify(&mut self, books: &Identity) -> Result<(), StoreError> {
        let (id, clock) = (books.id.uuid(), books.clock.map(ClockKind::name));
        let values = params![id.as_bytes().as_slice(), books.made_at.as_microsecond(), clock];
        let sql = "INSERT INTO books (one, id, made_at, clock) VALUES (1, ?1, ?2, ?3)";
        write_one(&self.connection, sql, values)
    }

    pub(crate) fn set_clock(&mut self, clock: ClockKind) -> Result<(), StoreError> {
        write_one(&self.connection, "UPDATE books SET clock = ?1", params![clock.name()])
    }

    /// The last commit.
    pub(crate) fn read_position(&self) -> Result<Position, StoreError> {
        position(&self.connection)
    }

    /// Why the books do not continue what a process has seen, if so.
    pub(crate) fn misses(&self, seen: Position) -> Result<Option<String>, StoreError> {
        let seq = i64::try_from(seen.seq).map_err(damaged)?;
        let sql = "SELECT hash FROM commits WHERE seq = ?1";
        let hash = one(&self.connection, sql, [seq], |row| get(row, 0))?;
        Ok(seen.is_missed(self.read_position()?.epoch, hash))
    }

    /// Writes a copy of the books as of one moment, beside the process that uses them.
    pub(crate) fn back_up(&self, directory: &Path) -> Result<(), StoreError> {
        let copy = directory.join(FILE);
        let sql = "VACUUM INTO ?1";
        let path = copy.to_str().ok_or_else(|| {
            StoreError::Unavailable(format!("the name of {} is not UTF-8", copy.display()))
        })?;
        self.connection.execute(sql, [path]).map_err(|error| classify(&error))?;
        Ok(())
    }
}

pub(super) fn position(connection: &Connection) -> Result<Position, StoreError> {
    let found = one(connection, "SELECT seq, end_hash FROM head", [], |row| {
        Ok((get::<i64>(row, 0)?, get(row, 1)?))
    })?;
    let (seq, hash) = found.ok_or_else(|| damaged("the head is missing"))?;
    let epoch = restore(connection)?.map_or(0, |restore| restore.epoch());
    Ok(Position { epoch, seq: u64::try_from(seq).map_err(damaged)?, hash })
}

fn load(connection: &Connection) -> Result<Option<Identity>, StoreError> {
    one(connection, "SELECT id, made_at, clock FROM books", [], |row| {
        let clock: Option<String> = get(row, 2)?;
        Ok(Identity {
            id: BooksId::from_uuid(Uuid::from_bytes(get(row, 0)?)),
            made_at: time(get(row, 1)?)?,
            clock: clock.as_deref().map(ClockKind::parse).transpose()?,
        })
    })
}

pub(super) fn restore(connection: &Connection) -> Result<Option<Restore>, StoreError> {
    let found = one(connection, "SELECT restore FROM books", [], |row| {
        let text: Option<String> = get(row, 0)?;
        text.map(|text| serde_json::from_str(&text).map_err(damaged)).transpose()
    })?;
    Ok(found.flatten())
}

pub(super) fn set_restore(connection: &Connection, restore: &Restore) -> Result<(), StoreError> {
    let text = serde_json::to_string(restore).map_err(damaged)?;
    write_one(connection, "UPDATE books SET restore = ?1", [text])
}
