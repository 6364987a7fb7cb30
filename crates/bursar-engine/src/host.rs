//! The shell around the engine: a store, a clock, channels, and people who wait for answers.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bursar_core::effect::{Call, Effect};
use bursar_core::ids::Seed;
use bursar_core::payout::{self, Event, Outcome};
use bursar_core::request::{Answer, Batch, Body, Request};
use bursar_core::rules::Rules;
use bursar_store::{Store, turn};
use jiff::Timestamp;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;

use crate::engine::{Engine, Input, Limits, Output, Returned, Ticket, Unanswered};

/// The outside world: does what an effect says, once, and says what became of it.
///
/// Whoever implements it checks the lease immediately before the first byte, and never sends after it.
pub trait Channels: Send + Sync + 'static {
    fn run(&self, effect: Effect) -> Pin<Box<dyn Future<Output = Event> + Send>>;
}

pub trait Clock: Send + Sync + 'static {
    fn now(&self) -> Timestamp;
}

#[derive(Debug, Clone, Copy)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

type Waiting = oneshot::Sender<Result<Answer, Unanswered>>;

/// For whoever wants something done.
#[derive(Debug, Clone)]
pub struct Handle {
    requests: mpsc::Sender<(Body, Waiting)>,
    stop: watch::Sender<bool>,
}

impl Handle {
    /// Answers once it is saved. A full inbox turns away at once.
    pub async fn ask(&self, body: Body) -> Result<Answer, Unanswered> {
        let (sender, receiver) = oneshot::channel();
        self.requests.try_send((body, sender)).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => Unanswered::Busy,
            mpsc::error::TrySendError::Closed(_) => Unanswered::Stopping,
        })?;
        // Dropped without an answer only if the host is gone; then nobody knows.
        let lost = || {
            Unanswered::NotSaved(
                "the engine stopped before it answered: whether it was saved is not known. Ask again with the same key"
                    .to_owned(),
            )
        };
        receiver.await.unwrap_or_else(|_| Err(lost()))
    }

    /// Takes nothing new, and comes to rest once everything in flight is back and saved.
    pub fn stop(&self) {
        self.stop.send_replace(true);
    }
}

pub struct Host<S> {
    store: S,
    rules: Arc<Rules>,
    channels: Arc<dyn Channels>,
    clock: Arc<dyn Clock>,
    engine: Engine,
    requests: mpsc::Receiver<(Body, Waiting)>,
    stop: watch::Receiver<bool>,
    waiting: BTreeMap<Ticket, Waiting>,
    tickets: u64,
    effects: JoinSet<Returned>,
}

impl<S> std::fmt::Debug for Host<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host").field("engine", &self.engine).finish_non_exhaustive()
    }
}

/// How often time passes, if nothing else happens.
const TICK: Duration = Duration::from_millis(50);
/// Rest after a store that was not there.
const REST: Duration = Duration::from_millis(200);

impl<S: Store> Host<S> {
    pub fn new(
        store: S,
        rules: Arc<Rules>,
        channels: Arc<dyn Channels>,
        clock: Arc<dyn Clock>,
        (limits, seed): (Limits, Seed),
    ) -> (Self, Handle) {
        let (requests, receiver) = mpsc::channel(limits.inbox_max.max(1));
        let (stop, stopped) = watch::channel(false);
        let engine = Engine::new(&rules, limits, seed);
        let host = Self {
            store,
            rules,
            channels,
            clock,
            engine,
            requests: receiver,
            stop: stopped,
            waiting: BTreeMap::new(),
            tickets: 0,
            effects: JoinSet::new(),
        };
        (host, Handle { requests, stop })
    }

    /// Runs until it is stopped and at rest. Returns the store.
    pub async fn run(mut self) -> S {
        loop {
            let is_stopping = *self.stop.borrow();
            if is_stopping {
                self.drive(Input::Stop).await;
                if self.engine.is_idle() {
                    return self.store;
                }
            }
            // Everything that is ready now becomes one turn.
            if self.engine.is_eager() {
                tokio::task::yield_now().await;
            } else if let Some(input) = self.next(is_stopping).await {
                self.take(input);
            }
            while let Some(input) = self.ready() {
                self.take(input);
            }
            self.drive(Input::TimePassed).await;
        }
    }

    /// Waits for the next thing to happen.
    async fn next(&mut self, is_stopping: bool) -> Option<Happened> {
        let tick = tokio::time::sleep(TICK);
        tokio::select! {
            Some((body, waiting)) = self.requests.recv() => Some(Happened::Asked(body, waiting)),
            Some(Ok(returned)) = self.effects.join_next() => Some(Happened::Returned(returned)),
            _ = self.stop.changed(), if !is_stopping => None,
            () = tick => None,
        }
    }

    /// What has happened already.
    fn ready(&mut self) -> Option<Happened> {
        if let Some(Ok(returned)) = self.effects.try_join_next() {
            return Some(Happened::Returned(returned));
        }
        let (body, waiting) = self.requests.try_recv().ok()?;
        Some(Happened::Asked(body, waiting))
    }

    /// Into the inbox; the turn comes when everything that is ready is in.
    fn take(&mut self, happened: Happened) {
        let input = match happened {
            Happened::Asked(body, waiting) => {
                self.tickets = self.tickets.saturating_add(1);
                let ticket = Ticket(self.tickets);
                self.waiting.insert(ticket, waiting);
                Input::Asked { ticket, body }
            }
            Happened::Returned(returned) => Input::Returned(returned),
        };
        for output in self.engine.enqueue(input) {
            self.carry_out(output);
        }
    }

    /// Lets the engine go on: at most one turn, so that whatever has happened meanwhile is part of the next.
    async fn drive(&mut self, input: Input) {
        for output in self.engine.poll(self.clock.now(), input) {
            match output {
                Output::Turn(requests) => {
                    let saved = self.turn(&requests).await;
                    for output in self.engine.enqueue(saved) {
                        self.carry_out(output);
                    }
                }
                output @ (Output::Do(_) | Output::Answer(..)) => self.carry_out(output),
            }
        }
    }

    fn carry_out(&mut self, output: Output) {
        match output {
            Output::Do(effect) => self.start(effect),
            Output::Answer(ticket, answer) => self.answer(ticket, answer),
            // Only `poll` makes turns, and `drive` runs them.
            Output::Turn(_) => {}
        }
    }

    async fn turn(&mut self, requests: &[Request]) -> Input {
        let rules = Arc::clone(&self.rules);
        match turn(&mut self.store, &Batch::new(&rules, requests)).await {
            Ok(commit) => Input::Saved(Box::new(commit)),
            Err(error) => {
                tokio::time::sleep(REST).await;
                Input::NotSaved(error)
            }
        }
    }

    /// Runs an effect beside everything else. A channel that panics has said nothing.
    fn start(&mut self, effect: Effect) {
        let running = tokio::spawn(self.channels.run(effect.clone()));
        self.effects.spawn(async move {
            let event = running.await.unwrap_or_else(|_| lost(&effect));
            Returned { effect, event }
        });
    }

    fn answer(&mut self, ticket: Ticket, answer: Result<Answer, Unanswered>) {
        if let Some(waiting) = self.waiting.remove(&ticket) {
            // Whoever asked may have gone; what was saved stays saved.
            drop(waiting.send(answer));
        }
    }
}

/// Nobody knows what became of it.
fn lost(effect: &Effect) -> Event {
    let detail = "the connector failed".to_owned();
    let Effect { attempt, lease_until, .. } = *effect;
    match effect.call {
        Call::Submit { r#try, .. } => {
            Event::Submitted { attempt, r#try, outcome: Outcome::Unknown { detail } }
        }
        Call::Query => {
            Event::Queried { attempt, lease_until, answer: payout::Answer::Failed { detail } }
        }
    }
}

enum Happened {
    Asked(Body, Waiting),
    Returned(Returned),
}
