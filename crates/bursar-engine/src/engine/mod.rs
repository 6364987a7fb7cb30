//! The loop as a value. It never reads a clock and never waits, so that a simulation can drive it and stop it anywhere.

mod apart;
mod message;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};

use bursar_core::commit::Commit;
use bursar_core::effect::Call;
use bursar_core::ids::Seed;
use bursar_core::ledger::Admission;
use bursar_core::payout::{self, submit_lane};
use bursar_core::plan::DueClaim;
use bursar_core::request::{Answer, Body, Reply, Report, Request, Wake};
use bursar_core::reservation;
use bursar_core::rules::Rules;
use bursar_store::StoreError;
use jiff::{SignedDuration, Timestamp};

use crate::stats::{Alert, ChannelStats, Stats, add};
use apart::{Apart, Group, Place};

pub use message::{Cause, Failed, Input, Output, Returned, Ticket, Unanswered};

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

/// A turn that is under way.
#[derive(Debug)]
struct UnderWay {
    places: Vec<Place>,
    admitted_at: Timestamp,
}

/// How often what a channel has said may make a turn fail in which it is alone.
const REPORT_FAILURES_MAX: u32 = 3;

#[derive(Debug)]
pub struct Engine {
    limits: Limits,
    /// Free hands for each channel.
    free: BTreeMap<String, u32>,
    seed: Seed,
    admitted: u64,
    inbox: VecDeque<(Ticket, Body)>,
    reports: VecDeque<Report>,
    /// What is left of turns that failed.
    apart: Apart,
    turn: Option<UnderWay>,
    woken_at: Option<Timestamp>,
    /// Time has passed since the last look.
    may_look: bool,
    /// There may be more to wake at once.
    is_hungry: bool,
    in_flight: usize,
    is_stopping: bool,
    stats: Stats,
}

impl Engine {
    /// The seed makes this engine's requests different from those of every other one.
    pub fn new(rules: &Rules, limits: Limits, seed: Seed) -> Self {
        let channels = rules.channels.values();
        let names = rules.channels.keys().cloned();
        let stats = Stats {
            channels: names.map(|name| (name, ChannelStats::default())).collect(),
            ..Stats::default()
        };
        Self {
            limits,
            free: channels.map(|channel| (channel.name.clone(), channel.concurrency)).collect(),
            seed,
            admitted: 0,
            inbox: VecDeque::new(),
            reports: VecDeque::new(),
            apart: Apart::default(),
            turn: None,
            woken_at: None,
            may_look: false,
            is_hungry: true,
            in_flight: 0,
            is_stopping: false,
            stats,
        }
    }

    /// At rest: nothing under way, nothing in flight, nobody waiting.
    pub fn is_idle(&self) -> bool {
        self.turn.is_none()
            && self.in_flight == 0
            && self.inbox.is_empty()
            && self.reports.is_empty()
            && self.apart.is_empty()
    }

    /// Whether there is something to do at once.
    pub fn is_eager(&self) -> bool {
        let is_waited_for =
            !self.inbox.is_empty() || !self.reports.is_empty() || !self.apart.is_empty();
        is_waited_for || (self.is_hungry && !self.is_stopping)
    }

    pub fn stats(&self) -> Stats {
        Stats { in_flight: self.in_flight, inbox: self.inbox.len(), ..self.stats.clone() }
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
            Input::Failed(failed) => self.failed(failed, &mut outputs),
            Input::Returned(returned) => self.returned(returned),
            Input::TimePassed => self.may_look = true,
            Input::TimeJumped => self.is_hungry = true,
            Input::Stop => self.is_stopping = true,
        }
        outputs
    }

    /// Answers whoever waited, and lets be done what was decided.
    fn saved(&mut self, commit: Commit, outputs: &mut Vec<Output>) {
        let Some(turn) = self.turn.take() else { return };
        add(&mut self.stats.turns, 1);
        add(&mut self.stats.requests, u64::try_from(turn.places.len()).unwrap_or(u64::MAX));
        self.stats.last_turn_at = Some(turn.admitted_at);
        if commit.time.is_some() {
            self.stats.not_saved_at = None;
        }
        let has_effects = !commit.effects.is_empty();
        for (place, answer) in turn.places.into_iter().zip(commit.answers) {
            match place {
                Place::Caller(ticket) => {
                    // Something new may be ready at once.
                    self.is_hungry = true;
                    outputs.push(Output::Answer(ticket, Ok(answer)));
                }
                Place::Report { report, .. } => {
                    self.is_hungry = true;
                    if let Err(rejection) = answer {
                        let flow = report.flow.to_string();
                        self.stats.alert(turn.admitted_at, Alert::NotTaken { flow, rejection });
                    }
                }
                Place::Wake { lane, limit } => {
                    self.woken(&lane, (answer, limit), has_effects, turn.admitted_at);
                }
                Place::SetAside { .. } => self.put_off(answer, turn.admitted_at),
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

    fn woken(
        &mut self,
        lane: &str,
        (answer, limit): (Answer, u32),
        has_effects: bool,
        now: Timestamp,
    ) {
        let Ok(Reply::Woken(woken)) = answer else {
            self.is_hungry = true;
            return;
        };
        let count = woken.flows.len().saturating_add(woken.refused.len());
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        // What is frozen is woken and does nothing: there is no hurry to wake it again.
        let is_careful = self.apart.care(lane).is_some();
        self.is_hungry |= count >= limit && (has_effects || is_careful);
        self.apart.went_well(lane, (count, limit), self.limits.wake_max);
        for (flow, rejection) in woken.refused {
            self.stats.alert(now, Alert::Refused { flow, rejection });
        }
    }

    /// Those behind what was set aside go on at once.
    fn put_off(&mut self, answer: Answer, now: Timestamp) {
        self.is_hungry = true;
        let Ok(Reply::Woken(woken)) = answer else { return };
        for flow in woken.flows {
            add(&mut self.stats.set_aside, 1);
            self.stats.alert(now, Alert::SetAside { flow });
        }
    }

    /// Callers are told; what channels have said is kept and told again.
    fn not_saved(&mut self, error: &StoreError, outputs: &mut Vec<Output>) {
        let Some(turn) = self.turn.take() else { return };
        add(&mut self.stats.not_saved, 1);
        self.stats.not_saved_at = Some(turn.admitted_at);
        for place in turn.places {
            match place {
                Place::Caller(ticket) => {
                    let unanswered = Unanswered::NotSaved(error.to_string());
                    outputs.push(Output::Answer(ticket, Err(unanswered)));
                }
                Place::Report { report, .. } => self.reports.push_back(report),
                Place::Wake { .. } | Place::SetAside { .. } => {}
            }
        }
    }

    /// Halved and run again, until whatever makes turns fail is alone; everybody else goes on.
    fn failed(&mut self, failed: Failed, outputs: &mut Vec<Output>) {
        let Some(turn) = self.turn.take() else { return };
        match failed.cause {
            Cause::Panicked => add(&mut self.stats.panics, 1),
            Cause::Conflict => add(&mut self.stats.conflicts, 1),
        }
        let bodies = failed.requests.into_iter().map(|request| request.body);
        let mut group: Group = turn.places.into_iter().zip(bodies).collect();
        if group.len() > 1 {
            self.apart.halve(group);
            return;
        }
        let Some((place, body)) = group.pop() else { return };
        match place {
            Place::Caller(ticket) => {
                outputs.push(Output::Answer(ticket, Err(Unanswered::Failed)));
            }
            Place::Report { report, failures } => {
                let failures = failures.saturating_add(1);
                if failures < REPORT_FAILURES_MAX {
                    self.apart.push(vec![(Place::Report { report, failures }, body)]);
                } else {
                    // Nothing is lost: when its lease ends, the flow asks the channel.
                    add(&mut self.stats.dropped_reports, 1);
                    let alert = Alert::DroppedReport { flow: report.flow };
                    self.stats.alert(turn.admitted_at, alert);
                }
            }
            Place::Wake { lane, limit } => {
                self.is_hungry = true;
                if limit <= 1 {
                    let body = Body::SetAside { lane: lane.clone() };
                    self.apart.push_front(vec![(Place::SetAside { lane: lane.clone() }, body)]);
                }
                self.apart.take_care(lane);
            }
            Place::SetAside { lane } => {
                self.apart.rest(lane.clone(), turn.admitted_at);
                self.stats.alert(turn.admitted_at, Alert::LaneRests { lane });
            }
        }
    }

    fn returned(&mut self, returned: Returned) {
        let Returned { effect, event } = returned;
        self.stats.heard(&effect.channel, &event);
        self.in_flight = self.in_flight.saturating_sub(1);
        if let (Call::Submit { .. }, Some(free)) =
            (&effect.call, self.free.get_mut(&effect.channel))
        {
            *free = free.saturating_add(1);
        }
        self.reports.push_back(Report { flow: effect.flow, event });
    }

    /// What is ready together.
    fn next_turn(&mut self, now: Timestamp) -> Option<Vec<Request>> {
        if self.turn.is_some() {
            return None;
        }
        let group = self.apart.next().unwrap_or_else(|| self.next_group(now));
        if group.is_empty() {
            return None;
        }
        let (places, requests) =
            group.into_iter().map(|(place, body)| (place, self.admit(now, body))).unzip();
        self.turn = Some(UnderWay { places, admitted_at: now });
        Some(requests)
    }

    /// What channels have said comes first: it frees money and hands.
    fn next_group(&mut self, now: Timestamp) -> Group {
        let mut group = Group::new();
        while group.len() < self.limits.batch_max {
            let Some(report) = self.reports.pop_front() else { break };
            let body = Body::Report(report.clone());
            group.push((Place::Report { report, failures: 0 }, body));
        }
        while group.len() < self.limits.batch_max {
            let Some((ticket, body)) = self.inbox.pop_front() else { break };
            group.push((Place::Caller(ticket), body));
        }
        for wake in self.wakes(now) {
            let is_careful = self.apart.care(&wake.lane).is_some();
            let place = Place::Wake { lane: wake.lane.clone(), limit: wake.limit };
            if is_careful {
                self.apart.push(vec![(place, Body::Wake(wake))]);
            } else {
                group.push((place, Body::Wake(wake)));
            }
        }
        if group.is_empty() { self.apart.next().unwrap_or_default() } else { group }
    }

    /// The lanes to look into now: those of channels only with free hands, and nothing new when stopping.
    fn wakes(&mut self, now: Timestamp) -> Vec<Wake> {
        // Whoever sets the clock back does not stop us from looking.
        let since = self.woken_at.map(|time| now.duration_since(time));
        let is_long =
            |since: SignedDuration| since.is_negative() || since >= self.limits.wake_every;
        let is_time = self.may_look && since.is_none_or(is_long);
        if self.is_stopping || !(is_time || self.is_hungry) {
            return Vec::new();
        }
        self.woken_at = Some(now);
        self.may_look = false;
        self.is_hungry = false;
        let wake = |(lane, free): (String, u32)| {
            let limit = self.limits.wake_max.min(free).min(self.apart.care(&lane).unwrap_or(free));
            (limit > 0).then_some(Wake { lane, limit })
        };
        self.lanes(now).filter_map(wake).collect()
    }

    /// Where flows wait, and how many of them may be woken. A lane that rests is none of them.
    fn lanes(&self, now: Timestamp) -> impl Iterator<Item = (String, u32)> {
        let own = [payout::LANE, reservation::LANE].map(|lane| (lane.to_owned(), u32::MAX));
        let submit = self.free.iter().map(|(channel, free)| (submit_lane(channel), *free));
        own.into_iter().chain(submit).filter(move |(lane, _)| !self.apart.is_resting(lane, now))
    }

    /// The first flow of each lane that is due by then.
    pub(crate) fn first_due(&self, now: Timestamp, until: Timestamp) -> Vec<DueClaim> {
        let claim = |(lane, _)| DueClaim { lane, now: until, limit: 1 };
        self.lanes(now).map(claim).collect()
    }

    fn admit(&mut self, now: Timestamp, body: Body) -> Request {
        self.admitted = self.admitted.saturating_add(1);
        let seed = self.seed.child(["request", &self.admitted.to_string()]);
        Request { admission: Admission::new(now, seed), body }
    }
}
