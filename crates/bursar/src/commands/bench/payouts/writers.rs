//! Several writers on the same books: each with its own connection, engine and thread, as several processes would be.

use std::sync::mpsc::{Receiver, Sender, channel};
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

pub(super) struct Writers {
    writers: Vec<Writer>,
    /// Payouts that each of them makes in one turn.
    batch: u32,
}

/// A thread that lasts until nobody has orders for it any more.
struct Writer {
    payouts: Payouts,
    orders: Sender<Order>,
    results: Receiver<Result<(), Failure>>,
}

enum Order {
    /// A turn for each of these.
    Ask(Vec<Vec<(Key, NewPayout)>>),
    /// Whatever is in flight comes back.
    Finish,
}

impl Writers {
    /// A connection lives in the runtime that it was made in.
    pub(super) fn new<S: Store + Send + 'static>(
        stores: Vec<(Runtime, S)>,
        rules: &Rules,
        batch: u32,
    ) -> Self {
        let writer = |((runtime, mut store), number): ((Runtime, S), u64)| {
            let (orders, given) = channel();
            let (done, results) = channel();
            let mut driver = Driver::new(rules, batch, Seed::from(number));
            let rules = rules.clone();
            let mut work =
                move |order| runtime.block_on(carry_out(order, &mut driver, &mut store, &rules));
            thread::spawn(move || given.iter().try_for_each(|order| done.send(work(order))));
            Writer { payouts: Payouts::new(Merchants::Uniform, number), orders, results }
        };
        Self { writers: stores.into_iter().zip(100..).map(writer).collect(), batch }
    }

    /// As many payouts as this, divided among all.
    pub(super) fn run<B: Baseline>(
        &mut self,
        lane: &mut Lane,
        books: (&Runtime, &mut B),
        count: u32,
    ) -> Result<(), Failure> {
        let writers = u32::try_from(self.writers.len()).unwrap_or(u32::MAX).max(1);
        let share = count.div_ceil(writers);
        let sizes: Vec<u32> = Work { count: share, batch: self.batch }.slices().concat();
        let mut orders = Vec::new();
        for writer in &mut self.writers {
            let asked = sizes.iter().map(|size| writer.payouts.next(*size)).collect();
            orders.push(Order::Ask(asked));
        }
        lane.done = lane.done.saturating_add(share.saturating_mul(writers));
        self.together(lane, books, orders)
    }

    /// Whatever is in flight comes back.
    pub(super) fn finish<B: Baseline>(
        &mut self,
        lane: &mut Lane,
        books: (&Runtime, &mut B),
    ) -> Result<(), Failure> {
        let orders = self.writers.iter().map(|_| Order::Finish).collect();
        self.together(lane, books, orders)
    }

    /// All at once; it is over when the last one is done.
    fn together<B: Baseline>(
        &mut self,
        lane: &mut Lane,
        (runtime, books): (&Runtime, &mut B),
        orders: Vec<Order>,
    ) -> Result<(), Failure> {
        let written =
            |books: &mut B| runtime.block_on(books.written_bytes()).map_err(|error| failed(&error));
        let stopped = || Failure::new("a writer of the benchmark stopped in the middle");
        let before = written(books)?;
        let started = Instant::now();
        for (writer, order) in self.writers.iter().zip(orders) {
            writer.orders.send(order).map_err(|_| stopped())?;
        }
        for writer in &self.writers {
            writer.results.recv().map_err(|_| stopped())??;
        }
        lane.time = lane.time.saturating_add(started.elapsed());
        let after = written(books)?;
        lane.add_written(before, after);
        Ok(())
    }
}

async fn carry_out(
    order: Order,
    driver: &mut Driver,
    store: &mut impl Store,
    rules: &Rules,
) -> Result<(), Failure> {
    let time = &mut Duration::default();
    match order {
        Order::Ask(asked) => {
            for payouts in asked {
                driver.ask(store, rules, payouts, time).await?;
            }
            Ok(())
        }
        Order::Finish => driver.finish(store, rules, time).await,
    }
}
