//! The shell around the engine: a store, a clock, channels, and people who wait for answers.

#[cfg(test)]
mod tests;
mod walk;

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use bursar_core::delivery::Parcel;
use bursar_core::effect::Effect;
use bursar_core::ids::Seed;
use bursar_core::request::{Answer, Batch, Body, Request};
use bursar_core::rules::Rules;
use bursar_store::{Store, StoreError, turn};
use futures_util::FutureExt as _;
use jiff::Timestamp;
use tokio::runtime;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::channels::{Channels, run_in_time};
use crate::clock::Clock;
use crate::courier::{Courier, Nobody, send_in_time};
use crate::engine::{
    CameBack, Cause, Engine, Failed, Input, Limits, Output, Returned, Ticket, Unanswered,
};
use crate::handle::{Advance, Handle, Waiting};
use crate::stats::Stats;
use walk::Walk;

pub struct Host<S> {
    store: S,
    rules: Arc<Rules>,
    channels: Arc<dyn Channels>,
    courier: Arc<dyn Courier>,
    /// Where effects run, if not beside the turns.
    effects_on: Option<runtime::Handle>,
    clock: Arc<dyn Clock>,
    engine: Engine,
    requests: mpsc::Receiver<(Body, Waiting)>,
    advances: mpsc::Receiver<Advance>,
    stop: watch::Receiver<bool>,
    stats: watch::Sender<Stats>,
    waiting: BTreeMap<Ticket, Waiting>,
    tickets: u64,
    effects: JoinSet<Happened>,
    walk: Option<Walk>,
}

/// One moment on two clocks: the one that people set, and the one that nobody can.
#[derive(Debug, Clone, Copy)]
struct Moment {
    instant: Instant,
    time: Timestamp,
}

impl Moment {
    /// The instant is read first, so that whatever comes between shortens a lease.
    fn now(clock: &dyn Clock) -> Self {
        let instant = Instant::now();
        Self { instant, time: clock.now() }
    }

    /// The instant of a time that was reckoned from this moment.
    fn instant_of(self, time: Timestamp) -> Instant {
        let after = Duration::try_from(time.duration_since(self.time)).unwrap_or_default();
        self.instant.checked_add(after).unwrap_or(self.instant)
    }
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
        let (advances, walks) = mpsc::channel(1);
        let (stop, stopped) = watch::channel(false);
        let engine = Engine::new(&rules, limits, seed);
        let (stats, watched) = watch::channel(engine.stats());
        let host = Self {
            store,
            rules,
            channels,
            courier: Arc::new(Nobody),
            effects_on: None,
            clock,
            engine,
            requests: receiver,
            advances: walks,
            stop: stopped,
            stats,
            waiting: BTreeMap::new(),
            tickets: 0,
            effects: JoinSet::new(),
            walk: None,
        };
        (host, Handle { requests, advances, stop, stats: watched, beside: Arc::default() })
    }

    /// Effects run on another runtime, so that turns can have a thread of their own.
    #[must_use]
    pub fn with_effects_on(self, runtime: runtime::Handle) -> Self {
        Self { effects_on: Some(runtime), ..self }
    }

    /// Somebody brings what merchants are told.
    #[must_use]
    pub fn with_courier(self, courier: Arc<dyn Courier>) -> Self {
        Self { courier, ..self }
    }

    /// Runs until it is stopped and at rest. Returns the store.
    pub async fn run(mut self) -> S {
        loop {
            let is_stopping = *self.stop.borrow();
            if is_stopping {
                // Whoever waits for a later time is told by this being dropped.
                self.walk = None;
                self.drive(Input::Stop).await;
                if self.engine.is_idle() {
                    return self.store;
                }
            } else {
                self.walk().await;
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
            Some(Ok(happened)) = self.effects.join_next() => Some(happened),
            _ = self.stop.changed(), if !is_stopping => None,
            () = tick => None,
        }
    }

    /// What has happened already.
    fn ready(&mut self) -> Option<Happened> {
        if let Some(Ok(happened)) = self.effects.try_join_next() {
            return Some(happened);
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
            Happened::CameBack(came_back) => Input::CameBack(came_back),
        };
        for output in self.engine.enqueue(input) {
            match output {
                Output::Answer(ticket, answer) => self.answer(ticket, answer),
                // Only turns make effects, and only `drive` runs turns.
                Output::Do(_) | Output::Send(_) | Output::Turn(_) => {}
            }
        }
    }

    /// Lets the engine go on: at most one turn, so that whatever has happened meanwhile is part of the next.
    async fn drive(&mut self, input: Input) {
        let moment = Moment::now(&*self.clock);
        for output in self.engine.poll(moment.time, input) {
            match output {
                Output::Turn(requests) => {
                    let ended = self.turn(requests).await;
                    for output in self.engine.enqueue(ended) {
                        self.carry_out(output, moment);
                    }
                }
                output @ (Output::Do(_) | Output::Send(_) | Output::Answer(..)) => {
                    self.carry_out(output, moment);
                }
            }
        }
        self.stats.send_replace(self.engine.stats());
    }

    /// What follows from a turn that was admitted at this moment.
    fn carry_out(&mut self, output: Output, admitted: Moment) {
        match output {
            Output::Do(effect) => {
                let deadline = admitted.instant_of(effect.lease_until);
                self.start(effect, deadline);
            }
            Output::Send(parcel) => {
                let deadline = admitted.instant_of(parcel.lease_until);
                self.send(*parcel, deadline);
            }
            Output::Answer(ticket, answer) => self.answer(ticket, answer),
            // Only `poll` makes turns, and `drive` runs them.
            Output::Turn(_) => {}
        }
    }

    async fn turn(&mut self, requests: Vec<Request>) -> Input {
        let rules = Arc::clone(&self.rules);
        let store = &mut self.store;
        let turn = async { turn(store, &Batch::new(&rules, &requests)).await };
        let error = match AssertUnwindSafe(turn).catch_unwind().await {
            Ok(Ok(commit)) => return Input::Saved(Box::new(commit)),
            Ok(Err(StoreError::Conflict)) => {
                return Input::Failed(Failed { requests, cause: Cause::Conflict });
            }
            Ok(Err(error)) => error,
            Err(_) => match self.was_saved(&requests).await {
                Ok(false) => return Input::Failed(Failed { requests, cause: Cause::Panicked }),
                Ok(true) => StoreError::Unknown("the turn failed behind its commit".to_owned()),
                Err(error) => StoreError::Unknown(format!("the turn failed; {error}")),
            },
        };
        tokio::time::sleep(REST).await;
        Input::NotSaved(error)
    }

    /// What a turn that panicked had begun is rolled back, unless the panic came behind the commit: nobody is told that
    /// nothing was done before the books were asked.
    async fn was_saved(&mut self, requests: &[Request]) -> Result<bool, StoreError> {
        let rules = Arc::clone(&self.rules);
        let id = AssertUnwindSafe(async { Batch::new(&rules, requests).commit_id(0) });
        match id.catch_unwind().await {
            Ok(Some(id)) => self.store.has_commit(id).await,
            // It failed before there was anything to save.
            Ok(None) | Err(_) => Ok(false),
        }
    }

    /// Runs an effect beside everything else.
    fn start(&mut self, effect: Effect, deadline: Instant) {
        let (channels, runtime) = (Arc::clone(&self.channels), self.runtime());
        self.effects.spawn(async move {
            let event = run_in_time(channels, effect.clone(), deadline, &runtime).await;
            Happened::Returned(Returned { effect, event })
        });
    }

    /// The same for what merchants are told.
    fn send(&mut self, parcel: Parcel, deadline: Instant) {
        let (courier, runtime) = (Arc::clone(&self.courier), self.runtime());
        let (flow, endpoint) = (parcel.flow, parcel.endpoint);
        self.effects.spawn(async move {
            let event = send_in_time(courier, parcel, deadline, &runtime).await;
            Happened::CameBack(CameBack { flow, endpoint, event })
        });
    }

    /// Where effects run.
    fn runtime(&self) -> runtime::Handle {
        self.effects_on.clone().unwrap_or_else(runtime::Handle::current)
    }

    fn answer(&mut self, ticket: Ticket, answer: Result<Answer, Unanswered>) {
        if let Some(waiting) = self.waiting.remove(&ticket) {
            // Whoever asked may have gone; what was saved stays saved.
            drop(waiting.send(answer));
        }
    }
}

enum Happened {
    Asked(Body, Waiting),
    Returned(Returned),
    CameBack(CameBack),
}
