//! Several writers on the same books, each with its own connection, engine and thread, like several processes.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use std::vec::IntoIter;

use bursar_core::idempotency::Key;
use bursar_core::ids::Seed;
use bursar_core::payouts::NewPayout;
use bursar_core::rules::Rules;
use bursar_node::failure::Failure;
use bursar_store::Store;
use tokio::runtime::Runtime;

use super::driver::{Driver, LAG};
use super::requests::{Merchants, Payouts};
use crate::baseline::Baseline;
use crate::measure::{Lane, failed};

/// Minimum turns of each writer between synchronisations, which should be rare.
const TURNS_EACH: usize = 4;
/// The caller number of the first writer; other callers have smaller numbers.
const FIRST: u64 = 100;

pub(super) struct Writers {
    payouts: Payouts,
    threads: Vec<Writer>,
    /// Queued turns, by their number of payouts.
    waiting: Vec<u32>,
}

/// A thread that ends when its order channel is closed.
struct Writer {
    orders: Sender<Order>,
    results: Receiver<Result<(), Failure>>,
}

/// The shared queue of turns.
type Turns = Arc<Mutex<IntoIter<Vec<(Key, NewPayout)>>>>;

enum Order {
    /// Take turns from the queue until it is empty.
    Ask(Turns),
    /// Settle everything in flight.
    Finish,
}

impl Writers {
    /// A connection is bound to the runtime that opened it.
    pub(super) fn new<S: Store + Send + 'static>(
        stores: Vec<(Runtime, S)>,
        rules: &Rules,
        batch: u32,
    ) -> Self {
        let count = u32::try_from(stores.len()).unwrap_or(u32::MAX);
        let lag = LAG.div_ceil(count.max(1));
        let writer = |((runtime, mut store), number): ((Runtime, S), u64)| {
            let (orders, given) = channel();
            let (done, results) = channel();
            let mut driver = Driver::new(rules, batch, Seed::from(number));
            driver.lag = lag;
            let rules = rules.clone();
            let mut work =
                move |order| runtime.block_on(carry_out(order, &mut driver, &mut store, &rules));
            thread::spawn(move || given.iter().try_for_each(|order| done.send(work(order))));
            Writer { orders, results }
        };
        let threads = stores.into_iter().zip(FIRST..).map(writer).collect();
        let payouts = Payouts::new(Merchants::Uniform, FIRST);
        Self { payouts, threads, waiting: Vec::new() }
    }

    /// Queues a turn for each of these numbers of payouts, and runs the queue once it is long enough.
    pub(super) fn run<B: Baseline>(
        &mut self,
        lane: &mut Lane,
        books: (&Runtime, &mut B),
        sizes: &[u32],
    ) -> Result<(), Failure> {
        self.waiting.extend(sizes);
        if self.waiting.len() < self.threads.len().saturating_mul(TURNS_EACH) {
            return Ok(());
        }
        self.ask(lane, books)
    }

    /// Runs all queued turns; an idle writer takes the next.
    fn ask<B: Baseline>(
        &mut self,
        lane: &mut Lane,
        books: (&Runtime, &mut B),
    ) -> Result<(), Failure> {
        let sizes = std::mem::take(&mut self.waiting);
        let turns: Vec<_> = sizes.iter().map(|size| self.payouts.next(*size)).collect();
        let turns = Arc::new(Mutex::new(turns.into_iter()));
        let orders = self.threads.iter().map(|_| Order::Ask(Arc::clone(&turns))).collect();
        lane.done = lane.done.saturating_add(sizes.iter().sum());
        self.together(lane, books, orders)
    }

    /// Runs all queued turns and settles everything in flight.
    pub(super) fn finish<B: Baseline>(
        &mut self,
        lane: &mut Lane,
        (runtime, books): (&Runtime, &mut B),
    ) -> Result<(), Failure> {
        self.ask(lane, (runtime, &mut *books))?;
        let orders = self.threads.iter().map(|_| Order::Finish).collect();
        self.together(lane, (runtime, books), orders)
    }

    /// Sends an order to all writers and waits for the last one.
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
        for (writer, order) in self.threads.iter().zip(orders) {
            writer.orders.send(order).map_err(|_| stopped())?;
        }
        for writer in &self.threads {
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
        Order::Ask(turns) => {
            while let Some(payouts) = next(&turns) {
                driver.ask(store, rules, payouts, time).await?;
            }
            Ok(())
        }
        Order::Finish => driver.finish(store, rules, time).await,
    }
}

/// A poisoned queue stays usable: a panicked writer only removed its turn.
fn next(turns: &Turns) -> Option<Vec<(Key, NewPayout)>> {
    turns.lock().unwrap_or_else(PoisonError::into_inner).next()
}
