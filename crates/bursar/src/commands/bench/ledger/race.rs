//! Engine and raw in turns, slice by slice, so that both meet the same moods of the machine; naive afterwards. In the end
//! the books of all three are read back and verified.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use bursar_core::commit::{Commit, SavedCommit, chain};
use bursar_core::ids::{CommitId, Seed};
use bursar_core::ledger::{Account, Transaction};
use bursar_core::money::Money;
use bursar_core::numscript::Name;
use bursar_core::request::Batch;
use bursar_core::rules::Rules;
use bursar_core::verify::Verifier;
use bursar_store::baseline::{Baseline, Rows};
use bursar_store::{Query as _, turn};

use super::failed;
use super::payins::Payins;
use crate::commands::check::load_rulebook;
use crate::failure::Failure;
use crate::terminal;

const SLICES: u32 = 10;
/// Naive is slow; its rate is known soon.
const NAIVE_SHARE: u32 = 50;
const NAIVE_MAX: u32 = 4_000;
/// Commits that are read back at once.
const PAGE: u32 = 16;

#[derive(Debug, Clone, Copy)]
pub(super) struct Work {
    pub(super) count: u32,
    pub(super) batch: u32,
}

/// Empty books for each of the three.
pub(super) struct Lanes<B> {
    pub(super) engine: B,
    pub(super) raw: B,
    pub(super) naive: B,
}

#[derive(Debug, Default)]
pub(super) struct Figures {
    pub(super) engine: Lane,
    pub(super) raw: Lane,
    pub(super) naive: Lane,
}

/// What one of the three has done, and what it cost.
#[derive(Debug, Default)]
pub(super) struct Lane {
    pub(super) events: u32,
    pub(super) time: Duration,
    pub(super) written: Option<u64>,
    pub(super) stored: Option<u64>,
}

/// A commit that was decided, with everything that raw and naive write of it.
struct Decided {
    id: CommitId,
    commit: SavedCommit,
    accounts: Vec<(Name, Account)>,
}

impl Decided {
    fn rows(&self) -> Rows<'_> {
        Rows { id: self.id, commit: &self.commit, accounts: &self.accounts }
    }
}

impl Lane {
    /// Events a second.
    pub(super) fn rate(&self) -> u128 {
        let events = u128::from(self.events).saturating_mul(1_000_000_000);
        events.checked_div(self.time.as_nanos().max(1)).unwrap_or_default()
    }

    /// Does timed work, and counts what was written meanwhile.
    async fn measure<B: Baseline, T>(
        &mut self,
        books: &mut B,
        work: impl AsyncFnOnce(&mut B, &mut Duration) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let before = books.written_bytes().await.map_err(|error| failed(&error))?;
        let done = work(books, &mut self.time).await?;
        let after = books.written_bytes().await.map_err(|error| failed(&error))?;
        if let (Some(before), Some(after)) = (before, after) {
            let written = self.written.unwrap_or_default();
            self.written = Some(written.saturating_add(after.saturating_sub(before)));
        }
        Ok(done)
    }
}

pub(super) async fn run<B: Baseline>(lanes: &mut Lanes<B>, work: Work) -> Result<Figures, Failure> {
    let rules = Rules::from(load_rulebook(None)?);
    let mut figures = Figures::default();
    let mut payins = Payins::default();
    let mut head = Head::default();
    let mut first = Vec::new();
    let naive_count = work.count.div_ceil(NAIVE_SHARE).min(NAIVE_MAX);
    let progress = terminal::progress(u64::from(work.count), "events");
    for slice in slices(work) {
        let commits = figures
            .engine
            .measure(&mut lanes.engine, async |books, time| {
                engine(books, time, &rules, &mut payins, &slice).await
            })
            .await?;
        let commits: Vec<Decided> = commits
            .into_iter()
            .map(|(id, commit)| {
                let accounts = commit.accounts.into_iter();
                let accounts = accounts.map(|write| (write.address, write.after)).collect();
                head.link(id, commit.transactions, accounts)
            })
            .collect();
        figures
            .raw
            .measure(&mut lanes.raw, async |books, time| raw(books, time, &commits).await)
            .await?;
        let events: u32 = slice.iter().sum();
        figures.engine.events = figures.engine.events.saturating_add(events);
        figures.raw.events = figures.raw.events.saturating_add(events);
        progress.inc(u64::from(events));
        let missing = usize::try_from(naive_count).unwrap_or_default().saturating_sub(first.len());
        let transactions = commits.into_iter().flat_map(|decided| decided.commit.transactions);
        first.extend(transactions.take(missing));
    }
    progress.finish_and_clear();
    let accounts = lanes.engine.books().accounts().await.map_err(|error| failed(&error))?;
    naive(&mut figures.naive, &mut lanes.naive, &accounts, first).await?;
    for (lane, books) in [
        (&mut figures.engine, &mut lanes.engine),
        (&mut figures.raw, &mut lanes.raw),
        (&mut figures.naive, &mut lanes.naive),
    ] {
        lane.stored = books.stored_bytes().await.map_err(|error| failed(&error))?;
        verify(books, &rules, lane.events).await?;
    }
    Ok(figures)
}

/// Sizes of batches, in slices.
fn slices(work: Work) -> Vec<Vec<u32>> {
    let full = work.count.checked_div(work.batch).unwrap_or_default();
    let rest = work.count.checked_rem(work.batch).unwrap_or_default();
    let mut sizes = vec![work.batch; usize::try_from(full).unwrap_or_default()];
    sizes.extend((rest > 0).then_some(rest));
    let length = sizes.len().div_ceil(usize::try_from(SLICES).unwrap_or(1)).max(1);
    sizes.chunks(length).map(<[u32]>::to_vec).collect()
}

/// The real turn: from variables as text to rows on disk.
async fn engine<B: Baseline>(
    books: &mut B,
    time: &mut Duration,
    rules: &Rules,
    payins: &mut Payins,
    sizes: &[u32],
) -> Result<Vec<(CommitId, Commit)>, Failure> {
    let mut commits = Vec::with_capacity(sizes.len());
    for size in sizes {
        let requests = payins.next(*size);
        let started = Instant::now();
        let batch = Batch::new(rules, &requests);
        let commit = turn(books.books(), &batch).await;
        *time = time.saturating_add(started.elapsed());
        let commit = commit.map_err(|error| failed(&error))?;
        if let Some(refused) = commit.answers.iter().find_map(|answer| answer.as_ref().err()) {
            return Err(Failure::new(format!("a pay-in of the benchmark was refused: {refused}")));
        }
        let id = batch.commit_id(0).ok_or_else(|| Failure::new("a batch has no requests"))?;
        commits.push((id, commit));
    }
    Ok(commits)
}

async fn raw<B: Baseline>(
    books: &mut B,
    time: &mut Duration,
    commits: &[Decided],
) -> Result<(), Failure> {
    for decided in commits {
        timed(time, books.write(&decided.rows())).await?;
    }
    Ok(())
}

/// Each event with a commit of its own, on accounts that are there and empty.
async fn naive<B: Baseline>(
    lane: &mut Lane,
    books: &mut B,
    accounts: &[(Name, Account)],
    transactions: Vec<Transaction>,
) -> Result<(), Failure> {
    let postings = transactions.iter().flat_map(|transaction| &transaction.postings);
    let used: BTreeSet<&Name> =
        postings.flat_map(|posting| [&posting.source, &posting.destination]).collect();
    let empty: Vec<(Name, Account)> = accounts
        .iter()
        .filter(|(address, _)| used.contains(address))
        .map(|(address, account)| {
            let balance = Money::from_minor(0, account.balance.currency());
            (Name::clone(address), Account { balance, ..account.clone() })
        })
        .collect();
    books.open_accounts(&empty).await.map_err(|error| failed(&error))?;
    lane.events = u32::try_from(transactions.len()).unwrap_or(u32::MAX);
    let mut head = Head::default();
    let commits: Vec<Decided> = transactions
        .into_iter()
        .zip(0..)
        .map(|(transaction, number)| {
            let id = CommitId::new(transaction.inserted_at, &Seed::from(number), 0);
            head.link(id, vec![transaction], Vec::new())
        })
        .collect();
    lane.measure(books, async |books, time| {
        for decided in &commits {
            timed(time, books.write_naively(&decided.rows())).await?;
        }
        Ok(())
    })
    .await
}

async fn timed(
    time: &mut Duration,
    work: impl Future<Output = Result<(), bursar_store::StoreError>>,
) -> Result<(), Failure> {
    let started = Instant::now();
    let done = work.await;
    *time = time.saturating_add(started.elapsed());
    done.map_err(|error| failed(&error))
}

/// The end of a chain of commits that were decided elsewhere.
#[derive(Debug, Default)]
struct Head {
    seq: u64,
    hash: [u8; 32],
}

impl Head {
    fn link(
        &mut self,
        id: CommitId,
        transactions: Vec<Transaction>,
        accounts: Vec<(Name, Account)>,
    ) -> Decided {
        let time = transactions.last().map(|transaction| transaction.inserted_at);
        let time = time.unwrap_or_default();
        self.seq = self.seq.saturating_add(1);
        let (seq, previous) = (self.seq, self.hash);
        let (events, audit) = (Vec::new(), Vec::new());
        let mut commit = SavedCommit { seq, time, hash: previous, transactions, events, audit };
        self.hash = chain(previous, time, commit.appended());
        commit.hash = self.hash;
        Decided { id, commit, accounts }
    }
}

/// Fast and wrong would be worth nothing.
async fn verify<B: Baseline>(lane: &mut B, rules: &Rules, events: u32) -> Result<(), Failure> {
    let books = lane.books();
    let accounts = books.accounts().await.map_err(|error| failed(&error))?;
    let mut verifier = Verifier::new(&rules.rulebook, &accounts);
    let mut after = 0;
    loop {
        let page = books.history(after, PAGE).await.map_err(|error| failed(&error))?;
        let Some(last) = page.last() else { break };
        after = last.seq;
        for commit in &page {
            verifier.add(commit);
        }
    }
    let holds = books.holds().await.map_err(|error| failed(&error))?;
    let end = books.end().await.map_err(|error| failed(&error))?;
    let report = verifier.finish(&accounts, &holds, &[], &end);
    let expected = u64::from(events);
    let is_complete =
        report.transactions == expected && report.postings == expected.saturating_mul(4);
    match report.differences.first() {
        Some(difference) => Err(Failure::new(format!(
            "the books of the benchmark are wrong: {difference}. Its figures mean nothing; report this"
        ))),
        None if !is_complete => Err(Failure::new(format!(
            "the books of the benchmark have {} transactions and {} postings instead of {events} and four times as many. Its figures mean nothing; report this",
            report.transactions, report.postings
        ))),
        None => Ok(()),
    }
}
