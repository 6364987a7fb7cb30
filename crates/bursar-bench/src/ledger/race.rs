//! Engine and raw alternate in slices, so that noise of the machine affects both equally; naive runs afterwards. At the end
//! the books of all three are read back and verified.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use bursar_core::ids::{CommitId, Seed};
use bursar_core::ledger::{Account, Ledger, Transaction};
use bursar_core::money::Money;
use bursar_core::numscript::Name;
use bursar_core::rules::Rules;
use bursar_core::turn::{Commit, TurnInput};
use bursar_node::failure::Failure;
use bursar_node::rulebook::load_rulebook;
use bursar_node::terminal;
use bursar_store::{Query as _, turn};

use super::payins::Payins;
use crate::baseline::Baseline;
use crate::books::{self, Decided, Head};
use crate::measure::{Lane, Work, failed, timed};

/// Naive is slow; fewer events suffice to measure its rate.
const NAIVE_SHARE: u32 = 50;
const NAIVE_MAX: u32 = 4_000;

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

pub(super) async fn run<B: Baseline>(lanes: &mut Lanes<B>, work: Work) -> Result<Figures, Failure> {
    let rules = Rules::from(load_rulebook(None)?);
    for baseline in [&mut lanes.raw, &mut lanes.naive] {
        baseline.follow_recipe().await.map_err(|error| failed(&error))?;
    }
    let mut figures = Figures::default();
    let mut payins = Payins::default();
    let mut head = Head::default();
    let mut first = Vec::new();
    let naive_count = work.count.div_ceil(NAIVE_SHARE).min(NAIVE_MAX);
    let progress = terminal::progress(u64::from(work.count), "events");
    for slice in work.slices() {
        let commits = figures
            .engine
            .measure(&mut lanes.engine, async |books, time| {
                engine(books, time, &rules, &mut payins, &slice).await
            })
            .await?;
        let commits: Vec<Decided> =
            commits.into_iter().map(|(id, commit)| head.link(id, commit)).collect();
        figures
            .raw
            .measure(&mut lanes.raw, async |books, time| raw(books, time, &commits).await)
            .await?;
        let events: u32 = slice.iter().sum();
        figures.engine.done = figures.engine.done.saturating_add(events);
        figures.raw.done = figures.raw.done.saturating_add(events);
        progress.inc(u64::from(events));
        let missing = usize::try_from(naive_count).unwrap_or_default().saturating_sub(first.len());
        let transactions =
            commits.into_iter().flat_map(|decided| decided.into_commit().transactions);
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
        books.leave_recipe().await.map_err(|error| failed(&error))?;
        verify(books, &rules, lane.done).await?;
    }
    Ok(figures)
}

/// The complete turn: from variables as text to rows on disk.
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
        let batch = TurnInput::new(rules, &requests);
        *time = time.saturating_add(started.elapsed());
        let commit = timed(time, turn(books.books(), &batch)).await?;
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

/// One commit for each event, on existing empty accounts.
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
            (Name::clone(address), Account { balance, received: 0, ..account.clone() })
        })
        .collect();
    books.open_accounts(&empty).await.map_err(|error| failed(&error))?;
    lane.done = u32::try_from(transactions.len()).unwrap_or(u32::MAX);
    let mut head = Head::default();
    let commits: Vec<Decided> = transactions
        .into_iter()
        .zip(0..)
        .map(|(transaction, number)| {
            let id = CommitId::new(transaction.inserted_at, &Seed::from(number), 0);
            head.link(id, only(transaction))
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

/// A commit with one transaction.
fn only(transaction: Transaction) -> Commit {
    Commit {
        time: Some(transaction.inserted_at),
        transactions: vec![transaction],
        ..Ledger::default().into_commit(Vec::new())
    }
}

async fn verify<B: Baseline>(lane: &mut B, rules: &Rules, events: u32) -> Result<(), Failure> {
    let report = books::verify(lane.books(), rules).await?;
    let expected = u64::from(events);
    if report.transactions == expected && report.postings == expected.saturating_mul(4) {
        return Ok(());
    }
    Err(Failure::new(format!(
        "the books of the benchmark have {} transactions and {} postings instead of {events} and four times as many. Its figures mean nothing; report this",
        report.transactions, report.postings
    )))
}
