//! `bursar backup`: a copy of the books in a data directory, as of one moment.

use std::fs;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use bursar_node::failure::Failure;
use bursar_node::terminal;
use bursar_store::{AnyStore, Location};
use clap::Args;
use tokio::runtime::Builder;

use super::ledger::StoreArguments;

/// Copy the books of a data directory as of one moment, beside the server that uses them
///
/// The copy is a data directory: it is restored by putting it in the place of the books, running `bursar restore begin`,
/// and starting the server. The keys of webhook secrets are copied too; keep the copy as safe as the books. PostgreSQL is
/// backed up with its own tools (docs/operations/backup.md).
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The directory to make for the copy
    directory: PathBuf,
    #[command(flatten)]
    store: StoreArguments,
}

/// Beside the books: the keys that encrypt endpoint secrets.
const KEYS: &str = "secret-keys";

impl Arguments {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let location = self.store.location()?;
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let store = runtime.block_on(location.reader())?;
        let Location::Directory(books) = &location else {
            return Ok(store.back_up(&self.directory)?);
        };
        let failed = |error: std::io::Error| {
            Failure::new(format!(
                "cannot write {}: {error}. The books are as they were; remove what is there, and try again",
                self.directory.display()
            ))
        };
        // An existing directory may hold books or another copy.
        fs::DirBuilder::new()
            .recursive(false)
            .mode(0o700)
            .create(&self.directory)
            .map_err(failed)?;
        store.back_up(&self.directory)?;
        if books.join(KEYS).exists() {
            fs::copy(books.join(KEYS), self.directory.join(KEYS)).map_err(failed)?;
        }
        sync(&self.directory).map_err(failed)?;
        let copy = Location::Directory(self.directory.clone());
        let mut copied = runtime.block_on(copy.reader())?;
        let position = runtime.block_on(AnyStore::position(&mut copied))?;
        terminal::say(&format!(
            "copied the books up to commit {} to {}",
            position.seq,
            self.directory.display()
        ))
    }
}

/// Every file of the copy is on disk, for its owner alone.
fn sync(directory: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
        fs::File::open(path)?.sync_all()?;
    }
    fs::File::open(directory)?.sync_all()
}
