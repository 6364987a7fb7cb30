//! The loop as a value. It never reads a clock and never waits, so that a simulation can drive it and stop it anywhere.

use std::collections::{BTreeMap, VecDeque};

use bursar_core::commit::Commit;
use bursar_core::effect::{Call, Effect};
use bursar_core::ids::Seed;
use bursar_core::ledger::Admission;
use bursar_core::payout::{self, submit_lane};
use bursar_core::request::{Answer, Body, Reply, Report, Request, Wake};
use bursar_core::reservation;
use bursar_core::rules::Rules;
use bursar_store::StoreError;
use jiff::{SignedDuration, Timestamp};

/// What is bounded, and by how much.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Requests that may wait; more are turned away.
    pub inbox_max: usize,
    /// Requests that are decided together.
    pub batch_max: usize,
    /// Flows that one turn wakes in a lane.
    pub wake_max: u32,
    /// How long a due flow may be overlooked.
    pub wake_every: SignedDuration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            inbox_max: 10_000,
            batch_max: 1_000,
            wake_max: 500,
            wake_every: SignedDuration::from_millis(100),
        }
    }
}

/// Who waits for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(pub u64);

#[derive(Debug)]
pub enum Input {
    Asked {
        ticket: Ticket,
        body: Body,
    },
    /// The turn was saved.
    Saved(Box<Commit>),
    /// The turn was not saved, or nobody knows.
    NotSaved(StoreError),
    /// An effect has come back.
    Returned(Returned),
    /// Nothing happened but time.
    TimePassed,
    /// Take nothing new, and come to rest.
    Stop,
}

/// What became of an effect.
#[derive(Debug)]
pub struct Returned {
    pub effect: Effect,
    pub event: payout::Event,
}

#[derive(Debug)]
pub enum Output {
    /// Decide these together and save what was decided.
    Turn(Vec<Request>),
    Answer(Ticket, Result<Answer, Unanswered>),
    /// Saved: now do it.
    Do(Effect),
}

/// Why somebody got no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unanswered {
    #[error("too much waits already: nothing was done. Try again in a moment")]
    Busy,
    #[error("Bursar is stopping: nothing was done. Try again when it is back")]
    Stopping,
    #[error("{0}")]
    NotSaved(String),
}

/// Whose request a place in a turn is.
#[derive(Debug)]
enum Place {
    Caller(Ticket),
    /// What became of an effect: it must reach the books, however often that takes.
    Report(Report),
    Wake {
        limit: u32,
    },
}

#[derive(Debug)]
pub struct Engine {
    limits: Limits,
    /// Free hands for each channel.
    free: BTreeMap<String, u32>,
    seed: Seed,
    admitted: u64,
    inbox: VecDeque<(Ticket, Body)>,
    reports: VecDeque<Report>,
    /// The turn that is under way.
    turn: Option<Vec<Place>>,
    woken_at: Option<Timestamp>,
    /// Time has passed since the last look.
    may_look: bool,
    /// There may be more to wake at once.
    is_hungry: bool,
    in_flight: usize,
    is_stopping: bool,
}

impl Engine {
    /// The seed makes this engine's requests different from those of every other one.
    pub fn new(rules: &Rules, limits: Limits, seed: Seed) -> Self {
        let channels = rules.channels.values();
        Self {
            limits,
            free: channels.map(|channel| (channel.name.clone(), channel.concurrency)).collect(),
            seed,
            admitted: 0,
            inbox: VecDeque::new(),
            reports: VecDeque::new(),
            turn: None,
            woken_at: None,
            may_look: false,
            is_hungry: true,
            in_flight: 0,
            is_stopping: false,
        }
    }

    /// At rest: nothing under way, nothing in flight, nobody waiting.
    pub fn is_idle(&self) -> bool {
        self.turn.is_none()
            && self.in_flight == 0
            && self.inbox.is_empty()
            && self.reports.is_empty()
    }

    /// Whether there is something to do at once.
    pub fn is_eager(&self) -> bool {
        let is_waited_for = !self.inbox.is_empty() || !self.reports.is_empty();
        is_waited_for || (self.is_hungry && !self.is_stopping)
    }

    /// One thing that happened, and what follows from it.
    pub fn poll(&mut self, now: Timestamp, input: Input) -> Vec<Output> {
        let mut outputs = self.enqueue(input);
        outputs.extend(self.next_turn(now).map(Output::Turn));
        outputs
    }

    /// The same, without a turn yet: for a host that has more to tell before it runs one.
    pub fn enqueue(&mut self, input: Input) -> Vec<Output> {
        let mut outputs = Vec::new();
        match input {
            Input::Asked { ticket, .. } if self.is_stopping => {
                outputs.push(Output::Answer(ticket, Err(Unanswered::Stopping)));
            }
            Input::Asked { ticket, .. } if self.inbox.len() >= self.limits.inbox_max => {
                outputs.push(Output::Answer(ticket, Err(Unanswered::Busy)));
            }
            Input::Asked { ticket, body } => self.inbox.push_back((ticket, body)),
            Input::Saved(commit) => self.saved(*commit, &mut outputs),
            Input::NotSaved(error) => self.not_saved(&error, &mut outputs),
            Input::Returned(returned) => self.returned(returned),
            Input::TimePassed => self.may_look = true,
            Input::Stop => self.is_stopping = true,
        }
        outputs
    }

    /// Answers whoever waited, and lets be done what was decided.
    fn saved(&mut self, commit: Commit, outputs: &mut Vec<Output>) {
        let places = self.turn.take().unwrap_or_default();
        for (place, answer) in places.into_iter().zip(commit.answers) {
            match (place, answer) {
                (Place::Caller(ticket), answer) => {
                    // Something new may be ready at once.
                    self.is_hungry = true;
                    outputs.push(Output::Answer(ticket, Ok(answer)));
                }
                (Place::Wake { limit }, Ok(Reply::Woken(woken))) => {
                    let count = u32::try_from(woken.flows.len()).unwrap_or(u32::MAX);
                    // What is frozen is woken and does nothing: there is no hurry to wake it again.
                    self.is_hungry |= count >= limit && !commit.effects.is_empty();
                }
                (Place::Report(_) | Place::Wake { .. }, _) => self.is_hungry = true,
            }
        }
        for effect in commit.effects {
            self.in_flight = self.in_flight.saturating_add(1);
            if let (Call::Submit { .. }, Some(free)) =
                (&effect.call, self.free.get_mut(&effect.channel))
            {
                *free = free.saturating_sub(1);
            }
            outputs.push(Output::Do(effect));
        }
    }

    /// Callers are told; what channels have said is kept and told again.
    fn not_saved(&mut self, error: &StoreError, outputs: &mut Vec<Output>) {
        for place in self.turn.take().unwrap_or_default() {
            match place {
                Place::Caller(ticket) => {
                    let unanswered = Unanswered::NotSaved(error.to_string());
                    outputs.push(Output::Answer(ticket, Err(unanswered)));
                }
                Place::Report(report) => self.reports.push_back(report),
                Place::Wake { .. } => {}
            }
        }
    }

    fn returned(&mut self, returned: Returned) {
        let Returned { effect, event } = returned;
        self.in_flight = self.in_flight.saturating_sub(1);
        if let (Call::Submit { .. }, Some(free)) =
            (&effect.call, self.free.get_mut(&effect.channel))
        {
            *free = free.saturating_add(1);
        }
        self.reports.push_back(Report { flow: effect.flow, event });
    }

    /// What is ready together. What channels have said comes first: it frees money and hands.
    fn next_turn(&mut self, now: Timestamp) -> Option<Vec<Request>> {
        if self.turn.is_some() {
            return None;
        }
        let mut places = Vec::new();
        let mut requests = Vec::new();
        while let Some(report) = self.reports.pop_front() {
            requests.push(self.admit(now, Body::Report(report.clone())));
            places.push(Place::Report(report));
            if requests.len() >= self.limits.batch_max {
                break;
            }
        }
        while requests.len() < self.limits.batch_max {
            let Some((ticket, body)) = self.inbox.pop_front() else { break };
            requests.push(self.admit(now, body));
            places.push(Place::Caller(ticket));
        }
        for wake in self.wakes(now) {
            places.push(Place::Wake { limit: wake.limit });
            requests.push(self.admit(now, Body::Wake(wake)));
        }
        if requests.is_empty() {
            return None;
        }
        self.turn = Some(places);
        Some(requests)
    }

    /// The lanes to look into now: those of channels only with free hands, and nothing new when stopping.
    fn wakes(&mut self, now: Timestamp) -> Vec<Wake> {
        let next = self.woken_at.and_then(|time| time.saturating_add(self.limits.wake_every).ok());
        let is_time = self.may_look && next.is_none_or(|next| next <= now);
        if self.is_stopping || !(is_time || self.is_hungry) {
            return Vec::new();
        }
        self.woken_at = Some(now);
        self.may_look = false;
        self.is_hungry = false;
        let lanes = [payout::LANE, reservation::LANE];
        let mut wakes: Vec<Wake> = lanes
            .into_iter()
            .map(|lane| Wake { lane: lane.to_owned(), limit: self.limits.wake_max })
            .collect();
        for (channel, free) in self.free.iter().filter(|(_, free)| **free > 0) {
            let limit = self.limits.wake_max.min(*free);
            wakes.push(Wake { lane: submit_lane(channel), limit });
        }
        wakes
    }

    fn admit(&mut self, now: Timestamp, body: Body) -> Request {
        self.admitted = self.admitted.saturating_add(1);
        let seed = self.seed.child(["request", &self.admitted.to_string()]);
        Request { admission: Admission::new(now, seed), body }
    }
}
