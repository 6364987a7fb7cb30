//! The witness: outside the books, a file says how far this machine has seen them.
//!
//! Books that are put back to an earlier state do not know it. The witness does: it names a commit that they do not have any
//! more. It is written before callers are answered, at most once a second, and at a clean end: commits of the last second before a
//! pause or a crash may be missing.

use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bursar_core::ids::BooksId;
use bursar_core::registry::hexadecimal;
use bursar_store::{Location, Position};
use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// The time between two writes.
const PAUSE: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub struct Witness {
    path: PathBuf,
    books: BooksId,
    location: String,
    /// The last try to write it.
    tried_at: Option<Instant>,
    written: Option<Position>,
}

/// What the file says.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Testimony {
    books: BooksId,
    location: String,
    epoch: i64,
    sequence: u64,
    /// In hexadecimal.
    hash: String,
}

/// The directory of witnesses: the configured one, or the state directory of the user. None if there is neither.
pub fn directory(configured: &Path) -> Option<PathBuf> {
    if !configured.as_os_str().is_empty() {
        return Some(configured.to_owned());
    }
    let variable =
        |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = variable("XDG_STATE_HOME");
    let state = state.or_else(|| Some(variable("HOME")?.join(".local/state")))?;
    Some(state.join("bursar"))
}

/// The books that a witness of this machine knows at a location.
pub fn known_at(directory: &Path, location: &Location) -> Result<Option<BooksId>, Failure> {
    let name = name_of(location);
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Failure::reading(directory, &error)),
    };
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "witness")
            && let Some(known) = read(&path)?.filter(|known| known.location == name)
        {
            return Ok(Some(known.books));
        }
    }
    Ok(None)
}

/// The books that a witness knows are given up for good.
pub fn forget(directory: &Path, books: BooksId) -> Result<(), Failure> {
    let path = path(directory, books);
    fs::remove_file(&path).map_err(|error| {
        Failure::new(format!("cannot remove {}: {error}. Nothing was made", path.display()))
    })
}

impl Witness {
    pub fn new(directory: &Path, books: BooksId, location: &Location) -> Result<Self, Failure> {
        fs::create_dir_all(directory).map_err(|error| {
            Failure::new(format!(
                "cannot make {}, where the witness of the books is kept: {error}. Nothing was started; set [store] witness to a directory outside the books",
                directory.display()
            ))
        })?;
        let (path, location) = (path(directory, books), name_of(location));
        Ok(Self { path, books, location, tried_at: None, written: None })
    }

    /// The last commit that this machine has seen.
    pub fn seen(&self) -> Result<Option<Position>, Failure> {
        let Some(known) = read(&self.path)? else { return Ok(None) };
        let Testimony { epoch, sequence: seq, hash, .. } = known;
        let hash = bytes(&hash).ok_or_else(|| unreadable(&self.path))?;
        Ok(Some(Position { epoch, seq, hash }))
    }

    /// A commit was saved. The file is written at most once a second.
    pub fn saw(&mut self, position: Position) {
        let is_due = self.tried_at.is_none_or(|at| at.elapsed() >= PAUSE);
        if is_due && let Err(error) = self.write(position) {
            // The books are more important than their witness.
            tracing::error!(%error, file = %self.path.display(), "the witness of the books cannot be written");
        }
    }

    /// Writes the file now.
    pub fn write(&mut self, position: Position) -> std::io::Result<()> {
        self.tried_at = Some(Instant::now());
        // Another process on this machine may have seen more.
        let seen = self.seen().ok().flatten().map(|seen| (seen.epoch, seen.seq));
        if self.written == Some(position) || seen > Some((position.epoch, position.seq)) {
            return Ok(());
        }
        let Position { epoch, seq: sequence, hash } = position;
        let hash = hexadecimal(&hash);
        let (books, location) = (self.books, self.location.clone());
        let text = serde_json::to_string(&Testimony { books, location, epoch, sequence, hash })?;
        // Written beside it and renamed: a reader finds the old one or the new one.
        let unfinished = self.path.with_extension(format!("{}.unfinished", std::process::id()));
        let mut file = File::create(&unfinished)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&unfinished, &self.path)?;
        File::open(self.path.parent().unwrap_or(Path::new(".")))?.sync_all()?;
        self.written = Some(position);
        Ok(())
    }
}

fn path(directory: &Path, books: BooksId) -> PathBuf {
    directory.join(format!("{books}.witness"))
}

/// One name for one place, from wherever the process is started.
fn name_of(location: &Location) -> String {
    match location {
        Location::Directory(path) => {
            let whole = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            let known = fs::canonicalize(&whole).unwrap_or(whole);
            Location::Directory(known).to_string()
        }
        Location::Database(_) => location.to_string(),
    }
}

fn read(path: &Path) -> Result<Option<Testimony>, Failure> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Failure::reading(path, &error)),
    };
    serde_json::from_str(&text).map(Some).map_err(|_| unreadable(path))
}

fn unreadable(path: &Path) -> Failure {
    Failure::new(format!(
        "{} cannot be read, so it is not known whether the books are a copy: nothing was started. If they were restored, run `bursar restore begin`; then remove the file",
        path.display()
    ))
}

fn bytes(hexadecimal: &str) -> Option<[u8; 32]> {
    let byte = |index: usize| {
        let digits = hexadecimal.get(index.checked_mul(2)?..)?.get(..2)?;
        u8::from_str_radix(digits, 16).ok()
    };
    let bytes: Option<Vec<u8>> = (0..32).map(byte).collect();
    bytes?.try_into().ok()
}
