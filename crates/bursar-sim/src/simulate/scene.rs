//! The shared state of the world: time, the event queue, the channels, the auditor, and the requests that wait for an
//! answer.

use std::collections::BTreeMap;
use std::sync::Arc;

use bursar_core::rules::Rules;
use bursar_core::turn::{Answer, Body};
use bursar_engine::Input;
use jiff::{SignedDuration, Timestamp};

use super::audit::Audit;
use super::dice::Dice;
use super::fault::Fault;
use super::payouts::channel::{ChannelEvent, Channels};
use super::swarm::Settings;
use super::trace::Trace;
use super::webhooks::Receivers;
use super::{payouts, webhooks};

pub(crate) const MILLISECOND: u64 = 1_000;
pub(crate) const SECOND: u64 = 1_000_000;
pub(crate) const MINUTE: u64 = 60 * SECOND;
pub(crate) const HOUR: u64 = 60 * MINUTE;
pub(crate) const DAY: u64 = 24 * HOUR;

/// One run of a process: events of an earlier run do not happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Incarnation {
    pub(crate) process: usize,
    pub(crate) epoch: u32,
}

#[derive(Debug)]
pub(crate) enum Event {
    /// An actor does the next item of its plan.
    Act {
        actor: usize,
        what: u64,
    },
    Deliver {
        ask: u64,
    },
    Tick(Incarnation),
    /// A paused turn goes on.
    Resume(Incarnation),
    TurnEnds(Incarnation, Box<Input>),
    ChannelCall(payouts::CallEvent),
    WebhookCall(webhooks::CallEvent),
    Channel(Box<ChannelEvent>),
    Restart {
        process: usize,
    },
    SetClock {
        process: usize,
        is_right: bool,
    },
}

/// The item of an actor that polls for ever.
pub(crate) const POLL: u64 = u64::MAX;

/// The caller that waits for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    Actor(usize),
    Channels,
}

/// A request on its way, carried again until it is answered.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    pub(crate) who: Who,
    pub(crate) tag: u64,
    pub(crate) body: Body,
    pub(crate) times: u32,
    /// After this many times without an answer the caller gives up.
    pub(crate) times_max: u32,
}

/// A caller with a plan of its own. A new actor is a file with one of these and a line in `actors`.
pub(crate) trait Actor {
    /// Plans the first things.
    fn begin(&mut self, me: usize, scene: &mut Scene);

    fn act(&mut self, what: u64, scene: &mut Scene);

    /// An answer to what was asked under this tag.
    fn answered(&mut self, tag: u64, answer: &Answer, scene: &mut Scene);
}

pub(crate) struct Scene {
    /// Microseconds since the world began, on the monotonic clock.
    pub(crate) now: u64,
    queue: BTreeMap<(u64, u64), Event>,
    planned: u64,
    pub(crate) settings: Settings,
    pub(crate) rules: Arc<Rules>,
    pub(crate) trace: Trace,
    pub(crate) audit: Audit,
    pub(crate) channels: Channels,
    pub(crate) receivers: Receivers,
    pub(crate) faults: BTreeMap<Fault, u64>,
    dice: BTreeMap<Fault, Dice>,
    pub(crate) post: Dice,
    pub(crate) asks: BTreeMap<u64, Ask>,
    asked: u64,
    /// Nothing goes wrong any more.
    pub(crate) is_calm: bool,
}

impl Scene {
    pub(crate) fn new(settings: Settings, rules: Rules) -> Self {
        let seed = settings.options.seed;
        let dice = |fault: &Fault| (*fault, Dice::new(seed, &format!("strike {}", fault.dice())));
        Self {
            now: 0,
            queue: BTreeMap::new(),
            planned: 0,
            trace: Trace::new(settings.options.is_traced),
            audit: Audit::new(&rules),
            channels: Channels::new(&rules, seed),
            receivers: Receivers::default(),
            faults: BTreeMap::new(),
            dice: Fault::ALL.iter().map(dice).collect(),
            post: Dice::new(seed, "post"),
            asks: BTreeMap::new(),
            asked: 0,
            is_calm: false,
            rules: Arc::new(rules),
            settings,
        }
    }

    pub(crate) fn at(&mut self, at: u64, event: Event) {
        self.planned = self.planned.saturating_add(1);
        self.queue.insert((at.max(self.now), self.planned), event);
    }

    pub(crate) fn after(&mut self, delay: u64, event: Event) {
        self.at(self.now.saturating_add(delay), event);
    }

    /// The next thing that happens, if it is before this.
    pub(crate) fn next(&mut self, before: u64) -> Option<Event> {
        let (at, _) = *self.queue.keys().next()?;
        if at >= before {
            return None;
        }
        self.now = at;
        self.queue.pop_first().map(|(_, event)| event)
    }

    pub(crate) fn say(&mut self, about: &str, text: String) {
        self.trace.add(self.now, about, text);
    }

    /// Whether this goes wrong now. Counted if it does.
    pub(crate) fn strikes(&mut self, fault: Fault) -> bool {
        let strikes = self.would_strike(fault);
        if strikes {
            self.struck(fault);
        }
        strikes
    }

    /// The same, for what may come to nothing and is counted when it happens.
    pub(crate) fn would_strike(&mut self, fault: Fault) -> bool {
        let strength = self.settings.strengths.get(&fault).copied().unwrap_or_default();
        if self.is_calm || strength == 0 {
            return false;
        }
        self.dice.get_mut(&fault).is_some_and(|dice| dice.chance(strength))
    }

    /// Whether an actor still has an item on its plan, other than polling.
    pub(crate) fn has_plans(&self) -> bool {
        self.queue.values().any(|event| match event {
            Event::Channel(_) => true,
            Event::Act { what, .. } => *what != POLL,
            Event::Deliver { .. }
            | Event::Tick(_)
            | Event::Resume(_)
            | Event::TurnEnds(..)
            | Event::ChannelCall(_)
            | Event::WebhookCall(_)
            | Event::Restart { .. }
            | Event::SetClock { .. } => false,
        })
    }

    pub(crate) fn struck(&mut self, fault: Fault) {
        let count = self.faults.entry(fault).or_default();
        *count = count.saturating_add(1);
        self.say("", format!("fault {}", fault.name()));
    }

    /// Asks until there is an answer.
    pub(crate) fn ask(&mut self, me: usize, tag: u64, body: Body) {
        let ask = Ask { who: Who::Actor(me), tag, body, times: 0, times_max: u32::MAX };
        self.post(ask);
    }

    pub(crate) fn post(&mut self, ask: Ask) {
        self.asked = self.asked.saturating_add(1);
        self.asks.insert(self.asked, ask);
        let delay = self.post.between(MILLISECOND, 40 * MILLISECOND);
        self.after(delay, Event::Deliver { ask: self.asked });
    }

    /// No answer: once more, later, unless the caller gives up.
    pub(crate) fn ask_again(&mut self, id: u64) {
        let Some(ask) = self.asks.get_mut(&id) else { return };
        ask.times = ask.times.saturating_add(1);
        if ask.times >= ask.times_max {
            self.asks.remove(&id);
            return;
        }
        let longest = SECOND.saturating_mul(1_u64.checked_shl(ask.times.min(6)).unwrap_or(64));
        let delay = self.post.between(100 * MILLISECOND, longest);
        self.after(delay, Event::Deliver { ask: id });
    }
}

/// Some moment of a year to come.
const START: i64 = 1_794_700_800;

pub(crate) fn time_at(now: u64) -> Timestamp {
    let start = Timestamp::from_second(START).unwrap_or(Timestamp::UNIX_EPOCH);
    let passed = SignedDuration::from_micros(i64::try_from(now).unwrap_or(i64::MAX));
    start.saturating_add(passed).unwrap_or(Timestamp::MAX)
}

pub(crate) fn micros(duration: SignedDuration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or_default()
}
