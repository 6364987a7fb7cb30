//! The loop as a value. It never reads a clock and never waits, so that a simulation can drive it and stop it anywhere.

mod apart;
mod look;
mod mail;
mod message;
#[cfg(test)]
mod tests;
mod trouble;

use std::collections::{BTreeMap, VecDeque};

use bursar_core::commit::Commit;
use bursar_core::effect::Call;
use bursar_core::ids::Seed;
use bursar_core::ledger::Admission;
use bursar_core::registry::Content;
use bursar_core::request::{Answer, Body, Deliver, Mail as MailBody, Reply, Report, Request};
use bursar_core::rules::Rules;
use jiff::{SignedDuration, Timestamp};

use crate::stats::{Alert, ChannelStats, DeliveryStats, Stats, add};
use apart::{Apart, Group, Place};
use mail::Mail;

pub use message::{CameBack, Cause, Failed, Input, Output, Returned, Ticket, Unanswered};

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
    /// Deliveries that may be under way at the same time, to all endpoints together.
    pub deliveries_max: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            inbox_max: 10_000,
            batch_max: 1_000,
            wake_max: 500,
            wake_every: SignedDuration::from_millis(100),
            deliveries_max: 2_048,
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
    mail: Mail,
    is_stopping: bool,
    stats: Stats,
}

/// All deliveries, where lanes are woken with care.
const MAIL: &str = "webhooks";

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
            mail: Mail::default(),
            is_stopping: false,
            stats,
        }
    }

    /// At rest: nothing under way, nothing in flight, nobody waiting.
    pub fn is_idle(&self) -> bool {
        self.turn.is_none()
            && self.in_flight == 0
            && self.mail.in_flight() == 0
            && self.inbox.is_empty()
            && self.reports.is_empty()
            && self.apart.is_empty()
    }

    /// Whether there is something to do at once.
    pub fn is_eager(&self) -> bool {
        let is_waited_for =
            !self.inbox.is_empty() || !self.reports.is_empty() || !self.apart.is_empty();
        is_waited_for || ((self.is_hungry || self.mail.has_off()) && !self.is_stopping)
    }

    pub fn stats(&self) -> Stats {
        let in_flight = u64::from(self.mail.in_flight());
        let deliveries = DeliveryStats { in_flight, ..self.stats.deliveries };
        let (in_flight, inbox) = (self.in_flight, self.inbox.len());
        Stats { in_flight, inbox, deliveries, ..self.stats.clone() }
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
            Input::CameBack(came_back) => {
                let CameBack { flow, endpoint, event } = came_back;
                self.stats.brought(&event);
                self.mail.came_back(endpoint);
                self.reports.push_back(Report { flow, event: event.into() });
            }
            Input::TimePassed => self.may_look = true,
            Input::TimeJumped => {
                self.is_hungry = true;
                self.mail.want_retries();
            }
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
                    if matches!(answer, Ok(Reply::Replayed(_))) {
                        self.mail.want_retries();
                    }
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
                Place::SetAside { .. } | Place::SetAsideDelivery => {
                    self.put_off(answer, turn.admitted_at);
                }
                Place::Deliver(asked) => self.delivering(&asked, answer, turn.admitted_at),
                Place::Cancel(endpoint) => {
                    if matches!(answer, Ok(Reply::Woken(woken)) if !woken.flows.is_empty()) {
                        self.mail.switched_off(endpoint);
                    }
                }
            }
        }
        for write in &commit.records {
            let Content::Endpoint(endpoint) = &write.after.content else { continue };
            let Ok(id) = write.after.id.parse() else { continue };
            if !endpoint.is_enabled() {
                self.mail.switched_off(id);
            } else if endpoint.health.breaker.is_none() {
                self.mail.is_well(id);
            }
        }
        for parcel in commit.parcels {
            self.mail.sent(parcel.endpoint, parcel.concurrency, parcel.at);
            outputs.push(Output::Send(Box::new(parcel)));
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

    fn delivering(&mut self, asked: &Deliver, answer: Answer, now: Timestamp) {
        let Ok(Reply::Delivering(mut begun)) = answer else {
            self.is_hungry = true;
            return;
        };
        for (flow, rejection) in std::mem::take(&mut begun.refused) {
            self.stats.alert(now, Alert::Refused { flow, rejection });
        }
        self.apart.went_well(MAIL, (begun.count, asked.limit), self.limits.wake_max);
        self.is_hungry |= self.mail.begun(asked, begun);
    }

    /// Those behind what was set aside go on at once.
    fn put_off(&mut self, answer: Answer, now: Timestamp) {
        self.is_hungry = true;
        let Ok(Reply::Woken(woken)) = answer else { return };
        for flow in woken.given_up {
            add(&mut self.stats.deliveries.unsendable, 1);
            self.stats.alert(now, Alert::GivenUp { flow });
        }
        for flow in woken.flows {
            add(&mut self.stats.set_aside, 1);
            self.stats.alert(now, Alert::SetAside { flow });
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
        self.reports.push_back(Report { flow: effect.flow, event: event.into() });
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
        for (lane, place, body) in self.looks(now) {
            if self.apart.care(&lane).is_some() {
                self.apart.push(vec![(place, body)]);
            } else {
                group.push((place, body));
            }
        }
        if let Some(endpoint) = self.mail.next_off().filter(|_| !self.is_stopping) {
            let body = Body::Mail(MailBody::Cancel { endpoint, limit: self.limits.wake_max });
            group.push((Place::Cancel(endpoint), body));
        }
        if group.is_empty() { self.apart.next().unwrap_or_default() } else { group }
    }

    fn admit(&mut self, now: Timestamp, body: Body) -> Request {
        self.admitted = self.admitted.saturating_add(1);
        let seed = self.seed.child(["request", &self.admitted.to_string()]);
        Request { admission: Admission::new(now, seed), body }
    }
}
