//! Where the books of a benchmark are kept: made for it, and gone afterwards.

use std::path::{Path, PathBuf};

use bursar_node::failure::Failure;
use bursar_store::Location;
use clap::{Args, ValueEnum};

use super::measure::failed;
use crate::baseline::{PostgresBaseline, SqliteBaseline};

#[derive(Debug, Clone, Args)]
pub(super) struct Place {
    /// Where the books are kept
    #[arg(long, value_enum)]
    pub(super) store: Kind,
    /// The PostgreSQL server; databases named `bursar_bench_…` are made on it and dropped, no other is touched
    #[arg(long, value_name = "URL", required_if_eq("store", "postgres"))]
    pub(super) database_url: Option<String>,
    /// Where the SQLite files are made and left [default: a temporary directory that is removed]
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

impl Place {
    /// The same with files in a folder of their own.
    pub(super) fn within(&self, name: &str) -> Self {
        let data = self.data.as_ref().map(|data| data.join(name));
        Self { data, ..self.clone() }
    }

    pub(super) fn url(&self) -> &str {
        self.database_url.as_deref().unwrap_or_default()
    }
}

/// A directory for SQLite files. If nobody has named one, it goes when the benchmark is over.
pub(super) struct Directory {
    path: PathBuf,
    is_kept: bool,
}

impl Directory {
    pub(super) fn new(data: Option<&Path>) -> Self {
        let scratch = || std::env::temp_dir().join(format!("bursar-bench-{}", std::process::id()));
        Self { path: data.map_or_else(scratch, Path::to_owned), is_kept: data.is_some() }
    }

    /// Where books for a purpose may be made.
    pub(super) fn location(&self, purpose: &str) -> Location {
        Location::Directory(self.path.join(purpose))
    }

    /// Empty books for each purpose.
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

/// A database with empty books for each purpose. If one cannot be made, none is left behind.
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
