//! The store of a benchmark: created for it and removed afterwards.

use std::path::{Path, PathBuf};

use bursar_node::failure::Failure;
use bursar_store::Location;
use clap::{Args, ValueEnum};

use super::measure::failed;
use crate::baseline::{PostgresBaseline, SqliteBaseline};

#[derive(Debug, Clone, Args)]
pub(super) struct StoreArgs {
    /// The store of the books
    #[arg(long, value_enum)]
    pub(super) store: Kind,
    /// The PostgreSQL server; creates and drops databases named `bursar_bench_…`, and touches no other
    #[arg(long, value_name = "URL", required_if_eq("store", "postgres"))]
    pub(super) database_url: Option<String>,
    /// The directory for SQLite files, which are kept [default: a temporary directory that is removed]
    #[arg(long, value_name = "DIR")]
    pub(super) data: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum Kind {
    Memory,
    Sqlite,
    Postgres,
}

impl Kind {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
        }
    }
}

impl StoreArgs {
    /// The same with a subdirectory for files.
    pub(super) fn within(&self, name: &str) -> Self {
        let data = self.data.as_ref().map(|data| data.join(name));
        Self { data, ..self.clone() }
    }

    pub(super) fn url(&self) -> &str {
        self.database_url.as_deref().unwrap_or_default()
    }
}

/// A directory for SQLite files, removed at the end unless it was given as an argument.
pub(super) struct Directory {
    path: PathBuf,
    is_kept: bool,
}

impl Directory {
    pub(super) fn new(data: Option<&Path>) -> Self {
        let scratch = || std::env::temp_dir().join(format!("bursar-bench-{}", std::process::id()));
        Self { path: data.map_or_else(scratch, Path::to_owned), is_kept: data.is_some() }
    }

    /// The location of the books for a purpose.
    pub(super) fn location(&self, purpose: &str) -> Location {
        Location::Directory(self.path.join(purpose))
    }

    /// Creates empty books for each purpose.
    pub(super) fn books<const N: usize>(
        &self,
        purposes: [&str; N],
    ) -> Result<[SqliteBaseline; N], Failure> {
        let mut made = Vec::with_capacity(N);
        for purpose in purposes {
            let books = SqliteBaseline::create(&self.path.join(purpose));
            made.push(books.map_err(|error| failed(&error))?);
        }
        made.try_into().map_err(|_| Failure::new("there are as many books as purposes"))
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        if !self.is_kept {
            drop(std::fs::remove_dir_all(&self.path));
        }
    }
}

/// Creates a database with empty books for each purpose. If one fails, all are dropped.
pub(super) async fn databases<const N: usize>(
    url: &str,
    purposes: [&str; N],
) -> Result<[PostgresBaseline; N], Failure> {
    let mut made = Vec::with_capacity(N);
    for purpose in purposes {
        match PostgresBaseline::create(url, purpose).await {
            Ok(database) => made.push(database),
            Err(error) => {
                remove(made).await?;
                return Err(failed(&error));
            }
        }
    }
    made.try_into().map_err(|_| Failure::new("there are as many databases as purposes"))
}

pub(super) async fn remove(
    databases: impl IntoIterator<Item = PostgresBaseline>,
) -> Result<(), Failure> {
    for database in databases {
        database.remove().await.map_err(|error| failed(&error))?;
    }
    Ok(())
}
