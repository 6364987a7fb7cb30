//! The variants alternate in slices, so that noise of the machine affects all equally; naive runs afterwards. At the end the
//! books of all variants are read back and verified.

use std::time::{Duration, Instant};

use bursar_core::flow::Flow;
use bursar_core::ids::Seed;
use bursar_core::ledger::HoldState;
use bursar_core::rules::Rules;
use bursar_core::turn::{Commit, FlowWrite, HoldWrite};
use bursar_node::failure::Failure;
use bursar_node::terminal;
use bursar_store::Walk as _;
use tokio::runtime::Runtime;

use super::driver::{Commits, Driver, open};
use super::naive;
use super::requests::{Merchants, Payouts};
use super::writers::Writers;
use crate::baseline::Baseline;
use crate::books::{self, Decided, Head};
use crate::measure::{Lane, Work, failed, timed};

/// Empty books for each variant.
pub(super) struct Lanes<B: Baseline> {
    pub(super) uniform: B,
    pub(super) hot: B,
    pub(super) raw: B,
    pub(super) naive: B,
    /// Several connections to the same books, where the store supports them.
    pub(super) several: Option<(B, Writers)>,
}

#[derive(Debug, Default)]
pub(super) struct Figures {
    pub(super) uniform: Lane,
    pub(super) hot: Lane,
    pub(super) several: Option<Lane>,
    pub(super) raw: Lane,
    pub(super) naive: Lane,
}

pub(super) fn run<B: Baseline>(
    runtime: &Runtime,
    rules: &Rules,
    lanes: &mut Lanes<B>,
    work: Work,
) -> Result<Figures, Failure> {
    let mut race = Race {
        runtime,
        rules,
        head: Head::default(),
        figures: Figures {
            several: lanes.several.as_ref().map(|_| Lane::default()),
            ..Figures::default()
        },
    };
    race.open(lanes)?;
    let mut uniform = Asking::new(rules, work.batch, Merchants::Uniform, 1);
    let mut hot = Asking::new(rules, work.batch, Merchants::Hot, 2);
    uniform.driver.kept = Some(Commits::new());
    let progress = terminal::progress(u64::from(work.count), "payouts");
    for slice in work.slices() {
        race.slice(lanes, &mut uniform, &mut hot, &slice)?;
        progress.inc(slice.iter().copied().map(u64::from).sum());
    }
    race.finish(lanes, &mut uniform, &mut hot)?;
    progress.finish_and_clear();
    runtime.block_on(naive::run(&mut race.figures.naive, &mut lanes.naive, rules, work))?;
    race.verify(lanes)?;
    Ok(race.figures)
}

/// A caller that creates payouts, and its engine.
struct Asking {
    payouts: Payouts,
    driver: Driver,
}

impl Asking {
    fn new(rules: &Rules, batch: u32, merchants: Merchants, number: u64) -> Self {
        let driver = Driver::new(rules, batch, Seed::from(number));
        Self { payouts: Payouts::new(merchants, number), driver }
    }

    async fn run<B: Baseline>(
        &mut self,
        lane: &mut Lane,
        books: &mut B,
        rules: &Rules,
        sizes: &[u32],
    ) -> Result<(), Failure> {
        lane.measure(books, async |books, time| {
            for size in sizes {
                let payouts = self.payouts.next(*size);
                self.driver.ask(books.books(), rules, payouts, time).await?;
            }
            Ok(())
        })
        .await?;
        lane.done = lane.done.saturating_add(sizes.iter().sum());
        Ok(())
    }

    async fn finish<B: Baseline>(
        &mut self,
        lane: &mut Lane,
        books: &mut B,
        rules: &Rules,
    ) -> Result<(), Failure> {
        lane.measure(books, async |books, time| {
            self.driver.finish(books.books(), rules, time).await
        })
        .await
    }
}

struct Race<'r> {
    runtime: &'r Runtime,
    rules: &'r Rules,
    /// The head of raw's hash chain.
    head: Head,
    figures: Figures,
}

impl Race<'_> {
    /// Funds every merchant, outside the measurement.
    fn open<B: Baseline>(&mut self, lanes: &mut Lanes<B>) -> Result<(), Failure> {
        let (rules, head) = (self.rules, &mut self.head);
        self.runtime.block_on(async {
            for baseline in [&mut lanes.raw, &mut lanes.naive] {
                baseline.follow_recipe().await.map_err(|error| failed(&error))?;
            }
            let (id, commit) = open(lanes.uniform.books(), rules, Merchants::Uniform).await?;
            let opened = head.link(id, commit);
            timed(&mut Duration::default(), lanes.raw.write(&opened.rows())).await?;
            open(lanes.hot.books(), rules, Merchants::Hot).await?;
            if let Some((books, _)) = &mut lanes.several {
                open(books.books(), rules, Merchants::Uniform).await?;
            }
            Ok(())
        })
    }

    fn slice<B: Baseline>(
        &mut self,
        lanes: &mut Lanes<B>,
        uniform: &mut Asking,
        hot: &mut Asking,
        sizes: &[u32],
    ) -> Result<(), Failure> {
        let rules = self.rules;
        for size in sizes {
            // Raw follows at once, so that recorded commits do not pile up.
            let (lane, books) = (&mut self.figures.uniform, &mut lanes.uniform);
            self.runtime.block_on(uniform.run(lane, books, rules, &[*size]))?;
            self.raw(lanes, uniform)?;
        }
        let figures = &mut self.figures;
        figures.raw.done = figures.raw.done.saturating_add(sizes.iter().sum());
        self.runtime.block_on(hot.run(&mut figures.hot, &mut lanes.hot, rules, sizes))?;
        if let (Some(lane), Some((books, writers))) = (&mut figures.several, &mut lanes.several) {
            writers.run(lane, (self.runtime, books), sizes)?;
        }
        Ok(())
    }

    /// Settles everything in flight.
    fn finish<B: Baseline>(
        &mut self,
        lanes: &mut Lanes<B>,
        uniform: &mut Asking,
        hot: &mut Asking,
    ) -> Result<(), Failure> {
        let (rules, figures) = (self.rules, &mut self.figures);
        self.runtime.block_on(async {
            uniform.finish(&mut figures.uniform, &mut lanes.uniform, rules).await?;
            hot.finish(&mut figures.hot, &mut lanes.hot, rules).await
        })?;
        if let (Some(lane), Some((books, writers))) = (&mut figures.several, &mut lanes.several) {
            writers.finish(lane, (self.runtime, books))?;
        }
        self.raw(lanes, uniform)
    }

    /// The final rows of the engine's latest commits, with the timers of the recipe.
    fn raw<B: Baseline>(
        &mut self,
        lanes: &mut Lanes<B>,
        uniform: &mut Asking,
    ) -> Result<(), Failure> {
        let kept = uniform.driver.kept.replace(Commits::new()).unwrap_or_default();
        let head = &mut self.head;
        let decided: Vec<Decided> =
            kept.into_iter().map(|(id, commit)| head.link(id, in_the_end(commit))).collect();
        let lane = &mut self.figures.raw;
        self.runtime.block_on(lane.measure(&mut lanes.raw, async |books, time| {
            for decided in &decided {
                timed(time, books.write(&decided.rows())).await?;
            }
            Ok(())
        }))?;
        // Counted for the engine, which would release the commits itself.
        let started = Instant::now();
        drop(decided);
        let lane = &mut self.figures.uniform;
        lane.time = lane.time.saturating_add(started.elapsed());
        Ok(())
    }

    fn verify<B: Baseline>(&mut self, lanes: &mut Lanes<B>) -> Result<(), Failure> {
        let Figures { uniform, hot, several, raw, naive } = &mut self.figures;
        let mut all = vec![
            (uniform, &mut lanes.uniform, Merchants::Uniform),
            (hot, &mut lanes.hot, Merchants::Hot),
            (raw, &mut lanes.raw, Merchants::Uniform),
            (naive, &mut lanes.naive, Merchants::Uniform),
        ];
        if let (Some(lane), Some((books, _))) = (several, &mut lanes.several) {
            all.push((lane, books, Merchants::Uniform));
        }
        for (lane, books, merchants) in all {
            self.runtime.block_on(async {
                lane.stored = books.stored_bytes().await.map_err(|error| failed(&error))?;
                books.leave_recipe().await.map_err(|error| failed(&error))?;
                verify(books, self.rules, lane.done, merchants).await
            })?;
        }
        Ok(())
    }
}

/// Only final rows: finished flows and ended holds. They are all new.
fn in_the_end(commit: Commit) -> Commit {
    let is_over = |flow: &Flow| flow.due().is_none();
    let has_ended = |write: &HoldWrite| matches!(write.after.state, HoldState::Ended { .. });
    let flows = commit.flows.into_iter().filter(|write| is_over(&write.after));
    // All payouts were made under a key.
    let is_keyed = |write: &FlowWrite| write.after.state.keyed_reference().is_some();
    let flows = flows.map(|write| FlowWrite { before: None, is_keyed: is_keyed(&write), ..write });
    let holds = commit.holds.into_iter().filter(has_ended);
    Commit {
        flows: flows.collect(),
        holds: holds.map(|write| HoldWrite { before: None, ..write }).collect(),
        ..commit
    }
}

/// Checks that every payout was created, submitted and paid, and nothing else happened.
pub(crate) async fn verify<B: Baseline>(
    books: &mut B,
    rules: &Rules,
    payouts: u32,
    merchants: Merchants,
) -> Result<(), Failure> {
    let report = books::verify(books.books(), rules).await?;
    let due = books.books().due().await.map_err(|error| failed(&error))?;
    let (payouts, openings) = (u64::from(payouts), merchants.count());
    let expected = [
        payouts,
        payouts.saturating_mul(3),
        payouts.saturating_mul(2).saturating_add(openings),
        payouts.saturating_mul(5).saturating_add(openings.saturating_mul(2)),
        payouts,
        0,
    ];
    let live = u64::try_from(due.len()).unwrap_or(u64::MAX);
    let found =
        [report.flows, report.events, report.transactions, report.postings, report.holds, live];
    if found == expected {
        return Ok(());
    }
    Err(Failure::new(format!(
        "the books of the benchmark have {found:?} instead of {expected:?} payouts, events, transactions, postings, holds and payouts that are not over. Its figures mean nothing; report this"
    )))
}
