//! Opening the books of a process: made by `init`, under one clock, and compared with what this machine has seen.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bursar_core::ids::{BooksId, CommitId};
use bursar_core::ledger::Admission;
use bursar_core::restores::RestoreChange;
use bursar_core::rules::Rules;
use bursar_core::turn::{Request, TurnInput};
use bursar_store::{AnyStore, AnyTurn, ClockKind, Identity, Location, Store, StoreError, turn};
use jiff::Timestamp;

use crate::failure::Failure;
use crate::node::fresh_seed;
use crate::witness::{self, Witness};

/// How a process opens its books.
#[derive(Debug, Clone)]
pub struct BooksOptions {
    pub clock: ClockKind,
    /// The directory of witnesses. Books of a demo and under a test clock need none.
    pub witness: Option<PathBuf>,
    /// Replicas have every commit before it is answered, if the server agrees.
    pub has_synchronous_replicas: bool,
}

impl BooksOptions {
    /// Books that no channel outside knows: of benchmarks and demos.
    pub const fn unwatched(clock: ClockKind) -> Self {
        Self { clock, witness: None, has_synchronous_replicas: false }
    }
}

/// Makes new books.
pub async fn make(location: &Location, clock: Option<ClockKind>) -> Result<Identity, Failure> {
    let (now, seed) = (Timestamp::now(), fresh_seed()?);
    let made_at = Timestamp::from_microsecond(now.as_microsecond()).unwrap_or(now);
    let books = Identity { id: BooksId::new(now, &seed, 0), made_at, clock };
    location.init(&books).await?;
    Ok(books)
}

/// The same, where another process may make them at this moment.
pub async fn make_unless_there(location: &Location, clock: ClockKind) -> Result<(), Failure> {
    match make(location, Some(clock)).await {
        Ok(_) => Ok(()),
        Err(failure) => location.open().await.map(drop).map_err(|_| failure),
    }
}

/// Whether new books may be made: there are none, and this machine knows of none that are gone.
pub fn check_absent(location: &Location, witness: Option<&Path>) -> Result<(), Failure> {
    let Some(directory) = witness else { return Ok(()) };
    match witness::known_at(directory, location)? {
        None => Ok(()),
        Some(books) => Err(Failure::new(format!(
            "this machine knows the books {books} in {location}, and they are gone: nothing was made, because empty books would pay again what was paid. Put a backup back and run `bursar restore begin` (docs/operations/backup.md), or give the old books up for good with `bursar init --abandon {books}`"
        ))),
    }
}

/// A store that tells the witness what it has saved.
#[derive(Debug)]
pub struct Watched {
    pub(crate) store: AnyStore,
    witness: Option<Witness>,
}

/// Opens existing books. Books that are a copy begin to be rechecked before anything else.
pub(crate) async fn open(
    location: &Location,
    rules: Arc<Rules>,
    options: &BooksOptions,
) -> Result<(Watched, Arc<Rules>), Failure> {
    let mut store = location.open().await?;
    if store.is_overheard() {
        tracing::warn!(
            "the connection to the database goes to another machine in clear text: its statements and rows can be read and changed on the way. Add sslmode=verify-full and sslrootcert to the URL (docs/operations/postgres.md)"
        );
    }
    let missing = || Failure::new(format!("there are no books in {location}. Nothing was started"));
    let books = store.identity().await?.ok_or_else(missing)?;
    let rules = Arc::new(Rules { books: books.id, ..(*rules).clone() });
    check_clock(&mut store, &books, options.clock).await?;
    let mut why = store.watch(&books, options.has_synchronous_replicas).await?;
    let directory = options.witness.as_ref().filter(|_| options.clock == ClockKind::Real);
    let mut witness =
        directory.map(|directory| Witness::new(directory, books.id, location)).transpose()?;
    match witness.as_ref().map(Witness::seen).transpose()?.flatten() {
        Some(seen) => why = why.or(store.misses(seen).await?),
        None if options.clock == ClockKind::Real && store.position().await?.seq > 0 => {
            tracing::warn!(
                "this machine has not seen these books before: if they are a copy, stop, and run `bursar restore begin` before the first start"
            );
        }
        None => {}
    }
    if let Some(reason) = &why {
        tracing::error!(reason, "the books were put back to an earlier state: recheck mode begins");
        begin_recheck(&mut store, &rules, RestoreChange::noticed(reason)).await?;
    }
    if !store.name_server().await? {
        tracing::warn!(
            "this database user may not read the timeline of the server (pg_control_system, pg_current_wal_lsn): after a failover, run `bursar restore begin`"
        );
    }
    let position = store.position().await?;
    if let Some(witness) = &mut witness {
        witness.write(position)?;
    }
    Ok((Watched { store, witness }, rules))
}

/// Begins recheck mode in a turn of its own.
pub async fn begin_recheck(
    store: &mut AnyStore,
    rules: &Rules,
    change: RestoreChange,
) -> Result<(), Failure> {
    let admission = Admission::new(Timestamp::now(), fresh_seed()?);
    let requests = [Request { admission, body: change.into() }];
    let commit = turn(store, &TurnInput::new(rules, &requests)).await?;
    match commit.answers.into_iter().next() {
        Some(Ok(_)) => Ok(()),
        Some(Err(rejection)) => Err(Failure::new(rejection.to_string())),
        None => Err(Failure::new("recheck mode was not answered. Nothing was started")),
    }
}

/// Books of a test clock hold no real money, and its times are no times.
async fn check_clock(
    store: &mut AnyStore,
    books: &Identity,
    clock: ClockKind,
) -> Result<(), Failure> {
    let is_used = store.position().await?.seq > 0;
    // Books from before, and those that only commands have written, have the clock of the machine.
    match books.clock.or(is_used.then_some(ClockKind::Real)) {
        Some(_) if books.clock == Some(clock) => Ok(()),
        Some(known) if is_used && known != clock => Err(Failure::new(format!(
            "these books were made under a {} clock, and this process has a {} one: nothing was started. {}",
            known.name(),
            clock.name(),
            match clock {
                ClockKind::Real => "Add --test-clock, or make other books with `bursar init`",
                ClockKind::Test =>
                    "A test clock needs books of its own: make them with `bursar init`",
            }
        ))),
        Some(_) | None => Ok(store.set_clock(clock).await?),
    }
}

impl Drop for Watched {
    /// What was saved in the last second.
    fn drop(&mut self) {
        if let (Some(witness), Some(position)) = (&mut self.witness, self.store.last_saved()) {
            drop(witness.write(position));
        }
    }
}

impl Store for Watched {
    type Turn<'s> = AnyTurn<'s>;

    async fn begin(&mut self) -> Result<AnyTurn<'_>, StoreError> {
        self.store.begin().await
    }

    async fn has_commit(&mut self, id: CommitId) -> Result<bool, StoreError> {
        self.store.has_commit(id).await
    }

    fn saved(&mut self) {
        self.store.saved();
        if let (Some(witness), Some(position)) = (&mut self.witness, self.store.last_saved()) {
            witness.saw(position);
        }
    }

    fn trust_again(&mut self) {
        self.store.trust_again();
    }

    fn distrust(&mut self, reason: &str) {
        self.store.distrust(reason);
    }

    async fn back_off(&mut self, pause: Duration) {
        self.store.back_off(pause).await;
    }
}
