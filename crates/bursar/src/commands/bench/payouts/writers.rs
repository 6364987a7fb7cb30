//! Several writers on the same books: each with its own connection, engine and thread, as several processes would be.

use std::thread;
use std::time::{Duration, Instant};

use bursar_core::idempotency::Key;
use bursar_core::ids::Seed;
use bursar_core::payout::NewPayout;
use bursar_core::rules::Rules;
use bursar_store::Store;
use bursar_store::baseline::Baseline;
use tokio::runtime::Runtime;

use super::driver::Driver;
use super::requests::{Merchants, Payouts};
use crate::commands::bench::measure::{Lane, Work, failed};
use crate::failure::Failure;

pub(super) struct Writers<S> {
    writers: Vec<Writer<S>>,
    /// Payouts that each of them makes in one turn.
    batch: u32,
}

struct Writer<S> {
    /// A connection lives in the runtime that it was made in.
    runtime: Runtime,
    store: S,
    payouts: Payouts,
    driver: Driver,
}

impl<S: Store + Send> Writers<S> {
    pub(super) fn new(stores: Vec<(Runtime, S)>, rules: &Rules, batch: u32) -> Self {
        let writer = |((runtime, store), number)| {
            let driver = Driver::new(rules, batch, Seed::from(number));
            Writer { runtime, store, payouts: Payouts::new(Merchants::Uniform, number), driver }
        };
        Self { writers: stores.into_iter().zip(100..).map(writer).collect(), batch }
    }

    /// As many payouts as this, divided among all.
    pub(super) fn run<B: Baseline>(
        &mut self,
        lane: &mut Lane,
        books: (&Runtime, &mut B),
        rules: &Rules,
        count: u32,
    ) -> Result<(), Failure> {
        let writers = u32::try_from(self.writers.len()).unwrap_or(u32::MAX).max(1);
        let share = count.div_ceil(writers);
        let work = Work { count: share, batch: self.batch };
        let sizes: Vec<u32> = work.slices().concat();
        let mut asked: Vec<Vec<Vec<(Key, NewPayout)>>> = Vec::new();
        for writer in &mut self.writers {
            asked.push(sizes.iter().map(|size| writer.payouts.next(*size)).collect());
        }
        lane.done = lane.done.saturating_add(share.saturating_mul(writers));
        self.together(lane, books, asked, |writer, asked| {
            writer.runtime.block_on(async {
                for payouts in asked {
                    let time = &mut Duration::default();
                    writer.driver.ask(&mut writer.store, rules, payouts, time).await?;
                }
                Ok(())
            })
        })
    }

    /// Whatever is in flight comes back.
    pub(super) fn finish<B: Baseline>(
        &mut self,
        lane: &mut Lane,
        books: (&Runtime, &mut B),
        rules: &Rules,
    ) -> Result<(), Failure> {
        let nothing = vec![(); self.writers.len()];
        self.together(lane, books, nothing, |writer, ()| {
            let time = &mut Duration::default();
            writer.runtime.block_on(writer.driver.finish(&mut writer.store, rules, time))
        })
    }

    /// All at once; it is over when the last one is done.
    fn together<B: Baseline, T: Send>(
        &mut self,
        lane: &mut Lane,
        (runtime, books): (&Runtime, &mut B),
        given: Vec<T>,
        work: impl Fn(&mut Writer<S>, T) -> Result<(), Failure> + Sync,
    ) -> Result<(), Failure> {
        let written =
            |books: &mut B| runtime.block_on(books.written_bytes()).map_err(|error| failed(&error));
        let before = written(books)?;
        let started = Instant::now();
        let work = &work;
        thread::scope(|scope| {
            let threads: Vec<_> = self
                .writers
                .iter_mut()
                .zip(given)
                .map(|(writer, given)| scope.spawn(move || work(writer, given)))
                .collect();
            let stopped = || Failure::new("a writer of the benchmark stopped in the middle");
            threads
                .into_iter()
                .try_for_each(|thread| thread.join().unwrap_or_else(|_| Err(stopped())))
        })?;
        lane.time = lane.time.saturating_add(started.elapsed());
        let after = written(books)?;
        lane.add_written(before, after);
        Ok(())
    }
}
