//! The shell around the engine: a store, a clock, the outside, and callers that wait for answers.

mod test_clock;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use bursar_core::flow::Effect;
use bursar_core::ids::Seed;
use bursar_core::ledger::Admission;
use bursar_core::restores::RestoreChange;
use bursar_core::rules::Rules;
use bursar_core::turn::{Answer, Body, Request, TurnInput};
use bursar_store::{Store, StoreError, turn};
use futures_util::FutureExt as _;
use jiff::Timestamp;
use tokio::runtime;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::clock::Clock;
use crate::engine::{Cause, EffectDone, Engine, Failed, Input, Limits, Output, Ticket, Unanswered};
use crate::handle::{Advance, Handle, Waiting};
use crate::outside::{Outside, run_in_time};
use crate::stats::Stats;
use test_clock::TestClockAdvance;

pub struct Host<S> {
    store: S,
    rules: Arc<Rules>,
    outside: Arc<dyn Outside>,
    /// The runtime of effects, if it is not that of the turns.
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
    test_clock: Option<TestClockAdvance>,
    /// The test clock is being advanced: effects do not wait for their slots.
    is_advancing: watch::Sender<bool>,
}

/// One moment on two clocks: the wall clock, which can be set, and the monotonic clock.
#[derive(Debug, Clone, Copy)]
struct Moment {
    instant: Instant,
    time: Timestamp,
}

impl Moment {
    /// The instant is read first: a delay between the two reads shortens a lease.
    fn now(clock: &dyn Clock) -> Self {
        let instant = Instant::now();
        Self { instant, time: clock.now() }
    }

    /// The instant of a time that was computed from this moment.
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
/// Pause after a store was unavailable.
const STORE_PAUSE: Duration = Duration::from_millis(200);

impl<S: Store> Host<S> {
    pub fn new(
        store: S,
        rules: Arc<Rules>,
        outside: Arc<dyn Outside>,
        clock: Arc<dyn Clock>,
        (limits, seed): (Limits, Seed),
    ) -> (Self, Handle) {
        let (requests, receiver) = mpsc::channel(limits.inbox_max.max(1));
        let (advances, next_advances) = mpsc::channel(1);
        let (stop, stopped) = watch::channel(false);
        let engine = Engine::new(&rules, limits, seed);
        let (stats, watched) = watch::channel(engine.stats());
        let host = Self {
            store,
            rules,
            outside,
            effects_on: None,
            clock,
            engine,
            requests: receiver,
            advances: next_advances,
            stop: stopped,
            stats,
            waiting: BTreeMap::new(),
            tickets: 0,
            effects: JoinSet::new(),
            test_clock: None,
            is_advancing: watch::Sender::new(false),
        };
        (host, Handle { requests, advances, stop, stats: watched, external: Arc::default() })
    }

    /// Effects run on another runtime, so that turns can have a thread of their own.
    #[must_use]
    pub fn with_effects_on(self, runtime: runtime::Handle) -> Self {
        Self { effects_on: Some(runtime), ..self }
    }

    /// Runs until it is stopped and idle. Returns the store.
    pub async fn run(mut self) -> S {
        loop {
            let is_stopping = *self.stop.borrow();
            if is_stopping {
                // Dropping it answers the caller that waits for a later time.
                self.test_clock = None;
                self.drive(Input::Stop).await;
                if self.engine.is_idle() {
                    return self.store;
                }
            } else {
                self.advance_test_clock().await;
            }
            // All inputs that are ready become one turn.
            if self.engine.has_work() {
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

    /// Waits for the next input, a stop, or a tick.
    async fn next(&mut self, is_stopping: bool) -> Option<Happened> {
        let now = Moment::now(&*self.clock);
        let tick = now.instant.checked_add(TICK).unwrap_or(now.instant);
        let wakes_at = self.engine.wakes_at(now.time).map(|at| now.instant_of(at));
        let tick = tokio::time::sleep_until(wakes_at.map_or(tick, |at| at.min(tick)));
        tokio::select! {
            Some((body, waiting)) = self.requests.recv() => Some(Happened::Asked(body, waiting)),
            Some(Ok(happened)) = self.effects.join_next() => Some(happened),
            _ = self.stop.changed(), if !is_stopping => None,
            () = tick => None,
        }
    }

    /// The next input, if one is ready.
    fn ready(&mut self) -> Option<Happened> {
        if let Some(Ok(happened)) = self.effects.try_join_next() {
            return Some(happened);
        }
        let (body, waiting) = self.requests.try_recv().ok()?;
        Some(Happened::Asked(body, waiting))
    }

    /// Puts an input into the engine without a turn.
    fn take(&mut self, happened: Happened) {
        let input = match happened {
            Happened::Asked(body, waiting) => {
                self.tickets = self.tickets.saturating_add(1);
                let ticket = Ticket(self.tickets);
                self.waiting.insert(ticket, waiting);
                Input::Asked { ticket, body }
            }
            Happened::EffectDone(done) => Input::EffectDone(done),
        };
        for output in self.engine.enqueue(input) {
            match output {
                Output::Answer(ticket, answer) => self.answer(ticket, answer),
                // Only turns make effects, and only `drive` runs turns.
                Output::Run(_) | Output::Turn(_) => {}
            }
        }
    }

    /// Runs at most one turn, so that inputs that arrive meanwhile are part of the next.
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
                output @ (Output::Run(_) | Output::Answer(..)) => {
                    self.carry_out(output, moment);
                }
            }
        }
        self.stats.send_replace(self.engine.stats());
    }

    /// Carries out an output of a turn that was admitted at this moment.
    fn carry_out(&mut self, output: Output, admitted: Moment) {
        match output {
            Output::Run(effect) => {
                self.start(effect, admitted);
            }
            Output::Answer(ticket, answer) => self.answer(ticket, answer),
            // Only `poll` makes turns, and `drive` runs them.
            Output::Turn(_) => {}
        }
    }

    async fn turn(&mut self, requests: Vec<Request>) -> Input {
        let rules = Arc::clone(&self.rules);
        let store = &mut self.store;
        let turn = async { turn(store, &TurnInput::new(&rules, &requests)).await };
        let error = match AssertUnwindSafe(turn).catch_unwind().await {
            Ok(Ok(commit)) => return Input::Saved(Box::new(commit)),
            Ok(Err(StoreError::Conflict)) => {
                return Input::Failed(Failed { requests, cause: Cause::Conflict });
            }
            Ok(Err(StoreError::WentBack(reason))) => self.begin_recheck(&requests, reason).await,
            Ok(Err(error)) => error,
            Err(_) => match self.was_saved(&requests).await {
                Ok(false) => return Input::Failed(Failed { requests, cause: Cause::Panicked }),
                Ok(true) => StoreError::Unknown("the turn failed behind its commit".to_owned()),
                Err(error) => StoreError::Unknown(format!("the turn failed; {error}")),
            },
        };
        tokio::time::sleep(STORE_PAUSE).await;
        Input::NotSaved(error)
    }

    /// The books were put back: recheck mode begins before any other turn. Returns the error for the turn that found it.
    async fn begin_recheck(&mut self, requests: &[Request], reason: String) -> StoreError {
        let seed = Seed::join(requests.iter().map(|request| &request.admission.seed));
        let admission = Admission::new(self.clock.now(), seed.child(["restore", &reason]));
        let body = RestoreChange::noticed(&reason).into();
        let requests = [Request { admission, body }];
        self.store.trust_again();
        let (rules, store) = (Arc::clone(&self.rules), &mut self.store);
        match turn(store, &TurnInput::new(&rules, &requests)).await {
            Ok(commit) if commit.answers.iter().all(Result::is_ok) => StoreError::WentBack(reason),
            Ok(_) => {
                self.store.distrust(&reason);
                StoreError::WentBack(reason)
            }
            Err(error) => {
                self.store.distrust(&reason);
                error
            }
        }
    }

    /// A turn that panicked is rolled back, unless it panicked after the commit: the host looks the commit up before it
    /// answers that nothing was done.
    async fn was_saved(&mut self, requests: &[Request]) -> Result<bool, StoreError> {
        let rules = Arc::clone(&self.rules);
        let id = AssertUnwindSafe(async { TurnInput::new(&rules, requests).commit_id(0) });
        match id.catch_unwind().await {
            Ok(Some(id)) => self.store.has_commit(id).await,
            // It failed before there was a commit.
            Ok(None) | Err(_) => Ok(false),
        }
    }

    /// Runs an effect concurrently: in its slot, if it has one of its own, and before its lease ends.
    fn start(&mut self, effect: Effect, admitted: Moment) {
        let (outside, runtime) = (Arc::clone(&self.outside), self.runtime());
        let deadline = admitted.instant_of(effect.lease_until);
        let slot = effect.slot.as_ref().and_then(|slot| Some((slot.at, slot.until?)));
        let slot = slot.map(|(at, until)| (admitted.instant_of(at), admitted.instant_of(until)));
        let mut is_advancing = self.is_advancing.subscribe();
        self.effects.spawn(async move {
            if let Some((at, until)) = slot {
                tokio::select! {
                    () = tokio::time::sleep_until(at) => {}
                    _ = is_advancing.wait_for(|it| *it) => {}
                }
                let missed = if until < Instant::now() { effect.missed() } else { None };
                if let Some(outcome) = missed {
                    return Happened::EffectDone(EffectDone { effect, outcome });
                }
            }
            let outcome = run_in_time(outside, effect.clone(), deadline, &runtime).await;
            Happened::EffectDone(EffectDone { effect, outcome })
        });
    }

    fn runtime(&self) -> runtime::Handle {
        self.effects_on.clone().unwrap_or_else(runtime::Handle::current)
    }

    fn answer(&mut self, ticket: Ticket, answer: Result<Answer, Unanswered>) {
        if let Some(waiting) = self.waiting.remove(&ticket) {
            // The caller may be gone; the turn stays saved.
            drop(waiting.send(answer));
        }
    }
}

enum Happened {
    Asked(Body, Waiting),
    EffectDone(EffectDone),
}
