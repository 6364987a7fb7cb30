//! One process around the real engine: what `bursar_engine::Host` does in real time with real sockets, this does in
//! virtual time, and it can crash anywhere.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bursar_core::ids::Seed;
use bursar_core::rules::Rules;
use bursar_core::turn::{Commit, Request, TurnInput};
use bursar_engine::{Engine, Ticket, steadied};
use bursar_store::{StoreError, turn};
use jiff::{SignedDuration, Timestamp};

use super::books::Books;
use super::coverage::Cause;
use super::dice::Dice;
use super::faulty::{Faulty, Point, Side};
use super::injected_bugs::InjectedBug;
use super::payouts::{self, ChannelCall};
use super::scene::{Incarnation, MILLISECOND, Scene, time_at};
use super::webhooks;

type Store = Faulty<Books>;
type Ended = (Store, Vec<Request>, Result<Commit, StoreError>);

pub(crate) struct Process {
    pub(crate) incarnation: Incarnation,
    pub(crate) is_up: bool,
    pub(crate) engine: Engine,
    pub(crate) clock: Clock,
    pub(crate) side: Rc<RefCell<Side>>,
    pub(crate) store: Option<Store>,
    pub(crate) running: Option<Running>,
    /// Which request each ticket is for.
    pub(crate) waiting: BTreeMap<Ticket, u64>,
    pub(crate) tickets: u64,
    pub(crate) channel_calls: BTreeMap<u64, payouts::InFlight>,
    pub(crate) webhook_calls: BTreeMap<u64, webhooks::InFlight>,
    pub(crate) started: u64,
    pub(crate) tick_at: Option<u64>,
    /// How long it waits after a poll without effect.
    pub(crate) stride: u64,
    pub(crate) dice: Dice,
    /// In flight when it crashed. Only a host with an injected bug reads it.
    pub(crate) remembered: Vec<ChannelCall>,
}

/// A turn under way. None of it survives the process.
pub(crate) struct Running {
    future: Option<Pin<Box<dyn Future<Output = Ended>>>>,
    pub(crate) moment: Moment,
    pub(crate) dies_at: Option<Point>,
    /// What the requests in it may do to which flow.
    pub(crate) causes: Vec<Cause>,
    /// A hasty host has acted on it already.
    pub(crate) is_anticipated: bool,
}

/// One moment on two clocks: the steadied wall clock, and the monotonic one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    pub(crate) real: u64,
    pub(crate) time: Timestamp,
}

impl Moment {
    /// When it will be this time, reckoned from this moment.
    pub(crate) fn real_of(self, time: Timestamp) -> u64 {
        let after = u64::try_from(time.duration_since(self.time).as_micros()).unwrap_or_default();
        self.real.saturating_add(after)
    }
}

/// A wall clock that may be wrong, and what the engine makes of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    /// By how much it is wrong, in microseconds, as a rule.
    error: i64,
    /// And by how much it was set.
    set_by: i64,
    last: Moment,
}

impl Clock {
    pub(crate) fn new(now: u64, error: i64) -> Self {
        let clock = Self { error, set_by: 0, last: Moment { real: now, time: time_at(now) } };
        Self { last: Moment { real: now, time: clock.wall(now) }, ..clock }
    }

    fn wall(&self, now: u64) -> Timestamp {
        let wrong = SignedDuration::from_micros(self.error.saturating_add(self.set_by));
        time_at(now).saturating_add(wrong).unwrap_or(Timestamp::MAX)
    }

    pub(crate) fn set(&mut self, now: u64, by: i64) {
        self.now(now);
        self.set_by = by;
    }

    pub(crate) fn now(&mut self, now: u64) -> Moment {
        let passed = Duration::from_micros(now.saturating_sub(self.last.real));
        let time = steadied(self.last.time, self.wall(now), passed);
        self.last = Moment { real: now, time };
        self.last
    }
}

/// What came of polling a turn.
pub(crate) enum Polled {
    Stands(Point),
    Ended(Vec<Request>, Box<Result<Commit, StoreError>>),
}

impl Process {
    pub(crate) fn new(
        process: usize,
        store: Store,
        side: Rc<RefCell<Side>>,
        scene: &Scene,
    ) -> Self {
        let incarnation = Incarnation { process, epoch: 1 };
        Self {
            incarnation,
            is_up: true,
            engine: engine(incarnation, scene),
            clock: Clock::new(0, 0),
            side,
            store: Some(store),
            running: None,
            waiting: BTreeMap::new(),
            tickets: 0,
            channel_calls: BTreeMap::new(),
            webhook_calls: BTreeMap::new(),
            started: 0,
            tick_at: None,
            stride: STRIDE_MIN,
            dice: Dice::new(scene.settings.options.seed, &format!("process {process}")),
            remembered: Vec::new(),
        }
    }

    /// It is gone, with everything that it had not saved.
    pub(crate) fn die(&mut self) -> (Vec<u64>, Vec<payouts::InFlight>) {
        self.is_up = false;
        self.running = None;
        self.store = None;
        self.tick_at = None;
        self.webhook_calls.clear();
        let calls: Vec<_> = std::mem::take(&mut self.channel_calls).into_values().collect();
        if self.side.borrow().bug == Some(InjectedBug::HostResendsOnRestart) {
            self.remembered = calls.iter().map(|in_flight| in_flight.call.clone()).collect();
        }
        let mut side = self.side.borrow_mut();
        side.stops.clear();
        side.stands = None;
        (std::mem::take(&mut self.waiting).into_values().collect(), calls)
    }

    pub(crate) fn start(&mut self, store: Store, clock: Clock, scene: &Scene) {
        self.incarnation.epoch = self.incarnation.epoch.saturating_add(1);
        self.is_up = true;
        self.engine = engine(self.incarnation, scene);
        self.clock = clock;
        self.store = Some(store);
        self.tickets = 0;
        self.stride = STRIDE_MIN;
    }

    /// The same `turn` that the host runs, on this process's store.
    pub(crate) fn begin_turn(
        &mut self,
        requests: Vec<Request>,
        moment: Moment,
        rules: &Arc<Rules>,
    ) {
        let Some(mut store) = self.store.take() else { return };
        let rules = Arc::clone(rules);
        let future = async move {
            let result = {
                let batch = TurnInput::new(&rules, &requests);
                turn(&mut store, &batch).await
            };
            (store, requests, result)
        };
        let (future, causes): (Pin<Box<dyn Future<Output = Ended>>>, _) =
            (Box::pin(future), Vec::new());
        self.running = Some(Running {
            future: Some(future),
            moment,
            dies_at: None,
            causes,
            is_anticipated: false,
        });
    }

    /// As far as the turn goes.
    pub(crate) fn poll_turn(&mut self) -> Option<Polled> {
        let running = self.running.as_mut()?;
        let future = running.future.as_mut()?;
        match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Pending => {
                let point = self.side.borrow_mut().stands.take();
                Some(Polled::Stands(point.unwrap_or(Point::BeforeLoad)))
            }
            Poll::Ready((store, requests, result)) => {
                self.store = Some(store);
                running.future = None;
                Some(Polled::Ended(requests, Box::new(result)))
            }
        }
    }
}

/// How often a host polls, at most, and at least while a flow is due.
pub(crate) const STRIDE_MIN: u64 = 50 * MILLISECOND;
pub(crate) const STRIDE_MAX: u64 = 60_000 * MILLISECOND;

fn engine(incarnation: Incarnation, scene: &Scene) -> Engine {
    let name = format!("{} {}", incarnation.process, incarnation.epoch);
    let seed = Seed::from(scene.settings.options.seed).child(["process", &name]);
    Engine::new(&scene.rules, scene.settings.limits, seed)
}
