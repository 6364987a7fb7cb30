//! The engine as a value: inputs in, outputs out. It never reads a clock and never waits, so that a simulation can drive it
//! and stop it anywhere.

mod bisect;
mod claims;
mod failed_turn;
mod fair;
mod message;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bursar_core::dispatch::Blocked;
use bursar_core::flow::{self, Effect, EffectOutcome, Pool, Slot};
use bursar_core::ids::{EndpointId, Seed};
use bursar_core::ledger::Admission;
use bursar_core::registry::{Content, RecordWrite};
use bursar_core::rules::Rules;
use bursar_core::turn::{Answer, Ask as _, Body, Commit, Reply, Request};
use bursar_core::webhooks::{self, StartDeliveries};
use jiff::{SignedDuration, Timestamp};

use crate::stats::{Alert, ChannelStats, DeliveryStats, Stats, add};
use bisect::{Bisection, Group, Origin};
use claims::Resting;
use fair::FairScheduler;

pub use message::{Cause, EffectDone, Failed, Input, Output, Ticket, Unanswered};

/// The bounds of an engine.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Requests that may wait; more are rejected as busy.
    pub inbox_max: usize,
    /// Requests that are decided together.
    pub batch_max: usize,
    /// Flows that one turn claims in a lane.
    pub claim_max: u32,
    /// How late a due flow may be claimed.
    pub claim_every: SignedDuration,
    /// Deliveries in flight, to all endpoints together.
    pub deliveries_max: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            inbox_max: 10_000,
            batch_max: 1_000,
            claim_max: 500,
            claim_every: SignedDuration::from_millis(100),
            deliveries_max: 2_048,
        }
    }
}

/// A turn that the host runs.
#[derive(Debug)]
struct RunningTurn {
    origins: Vec<Origin>,
    admitted_at: Timestamp,
}

/// How often the outcome of an effect may make a turn fail in which it is alone.
const OUTCOME_FAILURES_MAX: u32 = 3;

#[derive(Debug)]
pub struct Engine {
    limits: Limits,
    /// Free slots by channel.
    free_slots: BTreeMap<String, u32>,
    seed: Seed,
    admitted: u64,
    inbox: VecDeque<(Ticket, Body)>,
    outcomes: VecDeque<EffectOutcome>,
    bisection: Bisection,
    turn: Option<RunningTurn>,
    claimed_at: Option<Timestamp>,
    /// How many flows were claimed in each group of queues.
    served: BTreeMap<String, u64>,
    /// Groups of queues that nothing can be claimed in for now.
    resting: BTreeMap<String, Resting>,
    /// Groups of queues that settings limit, over all processes.
    limited: BTreeSet<String>,
    /// Time has passed since the last claim.
    tick_pending: bool,
    /// There may be more due flows to claim at once.
    has_backlog: bool,
    /// Effects in flight, without webhook calls.
    in_flight: usize,
    webhooks: FairScheduler<EndpointId>,
    /// Endpoints that were disabled: their waiting deliveries are to be cancelled.
    disabled: VecDeque<EndpointId>,
    is_stopping: bool,
    stats: Stats,
}

/// Throttling key shared by all webhook lanes.
const WEBHOOKS: &str = "webhooks";

impl Engine {
    /// The seed makes this engine's requests different from those of every other one.
    pub fn new(rules: &Rules, limits: Limits, seed: Seed) -> Self {
        let channels = rules.channels.values();
        let names = rules.channels.keys().cloned();
        let stats = Stats {
            channels: names.map(|name| (name, ChannelStats::default())).collect(),
            ..Stats::default()
        };
        let is_queue = |lane: &&flow::LaneInfo| lane.scope == flow::LaneScope::Queue;
        let groups = flow::KINDS.iter().flat_map(|kind| kind.lanes).filter(is_queue);
        let groups = groups.flat_map(|lane| {
            rules.channels.keys().map(move |channel| format!("{}{channel}", lane.name))
        });
        Self {
            limits,
            served: groups.map(|group| (group, 0)).collect(),
            free_slots: channels
                .map(|channel| (channel.name.clone(), channel.concurrency))
                .collect(),
            seed,
            admitted: 0,
            inbox: VecDeque::new(),
            outcomes: VecDeque::new(),
            bisection: Bisection::default(),
            turn: None,
            claimed_at: None,
            resting: BTreeMap::new(),
            limited: BTreeSet::new(),
            tick_pending: false,
            has_backlog: true,
            in_flight: 0,
            webhooks: FairScheduler::default(),
            disabled: VecDeque::new(),
            is_stopping: false,
            stats,
        }
    }

    /// Drained: no turn, no effect in flight, no caller waiting.
    pub fn is_idle(&self) -> bool {
        self.turn.is_none()
            && self.in_flight == 0
            && self.webhooks.in_flight() == 0
            && self.inbox.is_empty()
            && self.outcomes.is_empty()
            && self.bisection.is_empty()
    }

    /// Whether the next turn need not wait for an input.
    pub fn has_work(&self) -> bool {
        let has_requests =
            !self.inbox.is_empty() || !self.outcomes.is_empty() || !self.bisection.is_empty();
        has_requests || ((self.has_backlog || !self.disabled.is_empty()) && !self.is_stopping)
    }

    pub fn stats(&self) -> Stats {
        let in_flight = u64::from(self.webhooks.in_flight());
        let deliveries = DeliveryStats { in_flight, ..self.stats.deliveries };
        let (in_flight, inbox) = (self.in_flight, self.inbox.len());
        Stats { in_flight, inbox, deliveries, ..self.stats.clone() }
    }

    /// Takes one input and returns the outputs.
    pub fn poll(&mut self, now: Timestamp, input: Input) -> Vec<Output> {
        let mut outputs = self.enqueue(input);
        outputs.extend(self.next_turn(now).map(Output::Turn));
        outputs
    }

    /// The same without a turn: for a host that has more inputs before it runs one.
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
            Input::EffectDone(done) => self.effect_done(done),
            Input::TimePassed => self.tick_pending = true,
            Input::TimeJumped => {
                self.has_backlog = true;
                self.webhooks.want_retries();
            }
            Input::Stop => self.is_stopping = true,
        }
        outputs
    }

    /// Answers the callers, and hands out the effects of the turn.
    fn saved(&mut self, commit: Commit, outputs: &mut Vec<Output>) {
        let Some(turn) = self.turn.take() else { return };
        add(&mut self.stats.turns, 1);
        add(&mut self.stats.requests, u64::try_from(turn.origins.len()).unwrap_or(u64::MAX));
        self.stats.last_turn_at = Some(turn.admitted_at);
        if commit.time.is_some() {
            self.stats.not_saved_at = None;
            self.stats.not_saved_because = None;
        }
        // Webhook calls say nothing about the lanes of channels.
        let has_effects = commit.effects.iter().any(|effect| endpoint(effect).is_none());
        for (origin, answer) in turn.origins.into_iter().zip(commit.answers) {
            match origin {
                Origin::Caller(ticket) => {
                    // The request may have made a flow that is due at once.
                    self.has_backlog = true;
                    match &answer {
                        Ok(Reply::Webhooks(webhooks::Reply::Replayed(_))) => {
                            self.webhooks.want_retries();
                        }
                        Ok(Reply::Freezes(_)) => self.resting.clear(),
                        Ok(_) | Err(_) => {}
                    }
                    outputs.push(Output::Answer(ticket, Ok(answer)));
                }
                Origin::Outcome { outcome, .. } => {
                    self.has_backlog = true;
                    self.resting.retain(|_, rest| rest.why != Blocked::Concurrency);
                    if let Err(rejection) = answer {
                        let flow = outcome.flow.to_string();
                        let alert = Alert::OutcomeRejected { flow, rejection };
                        self.stats.alert(turn.admitted_at, alert);
                    }
                }
                Origin::Claim { lane, limit } => {
                    self.claimed(&lane, (answer, limit), has_effects, turn.admitted_at);
                }
                Origin::Quarantine { .. } => {
                    let reply = answer.ok().and_then(flow::Quarantine::reply);
                    self.quarantined(reply, turn.admitted_at);
                }
                Origin::QuarantineDelivery => {
                    let reply = answer.ok().and_then(webhooks::Quarantine::reply);
                    self.quarantined(reply, turn.admitted_at);
                }
                Origin::StartDeliveries(round) => {
                    self.deliveries_started(&round, answer, turn.admitted_at);
                }
                Origin::CancelDeliveries(endpoint) => {
                    let reply = answer.ok().and_then(webhooks::Cancel::reply);
                    if reply.is_some_and(|reply| !reply.flows.is_empty()) {
                        self.disabled.push_back(endpoint);
                    }
                }
            }
        }
        let is_settings = |write: &RecordWrite| write.after.content.dispatch_settings().is_some();
        if commit.records.iter().any(is_settings) {
            self.resting.clear();
        }
        for write in &commit.records {
            let Content::Endpoint(endpoint) = &write.after.content else { continue };
            let Ok(id) = write.after.id.parse() else { continue };
            if !endpoint.is_enabled() {
                self.disabled.push_back(id);
            } else if endpoint.health.breaker.is_none() {
                self.webhooks.unblock(id);
            }
        }
        for effect in commit.effects {
            self.start(&effect);
            outputs.push(Output::Run(effect));
        }
    }

    fn deliveries_started(&mut self, round: &StartDeliveries, answer: Answer, now: Timestamp) {
        let Some(mut reply) = answer.ok().and_then(StartDeliveries::reply) else {
            self.has_backlog = true;
            return;
        };
        for (flow, rejection) in std::mem::take(&mut reply.refused) {
            self.stats.alert(now, Alert::Refused { flow, rejection });
        }
        self.bisection.ramp_up(WEBHOOKS, (reply.count, round.limit), self.limits.claim_max);
        self.has_backlog |= self.webhooks.on_started(round, reply);
    }

    /// The flows behind a quarantined one go on at once.
    fn quarantined(&mut self, reply: Option<flow::ClaimReply>, now: Timestamp) {
        self.has_backlog = true;
        let Some(reply) = reply else { return };
        for flow in reply.dead_lettered {
            add(&mut self.stats.deliveries.unsendable, 1);
            self.stats.alert(now, Alert::DeadLettered { flow });
        }
        for flow in reply.flows {
            add(&mut self.stats.quarantined, 1);
            self.stats.alert(now, Alert::Quarantined { flow });
        }
    }

    /// Takes the slot of an effect.
    fn start(&mut self, effect: &Effect) {
        if let Some((endpoint, slot)) = endpoint(effect) {
            self.webhooks.start(endpoint, slot.size.unwrap_or(1), slot.at);
            return;
        }
        self.in_flight = self.in_flight.saturating_add(1);
        if let Some(free) = self.free_slot(effect) {
            *free = free.saturating_sub(1);
        }
    }

    /// Frees the slot, and keeps the outcome for the next turn.
    fn effect_done(&mut self, done: EffectDone) {
        let EffectDone { effect, outcome } = done;
        self.stats.count(&effect, &outcome);
        if let Some((endpoint, _)) = endpoint(&effect) {
            self.webhooks.done(endpoint);
        } else {
            self.in_flight = self.in_flight.saturating_sub(1);
            if let Some(free) = self.free_slot(&effect) {
                *free = free.saturating_add(1);
            }
        }
        self.outcomes.push_back(EffectOutcome { flow: effect.flow, outcome });
    }

    fn free_slot(&mut self, effect: &Effect) -> Option<&mut u32> {
        match &effect.slot.as_ref()?.pool {
            Pool::Channel(channel) => self.free_slots.get_mut(channel),
            Pool::Endpoint(_) => None,
        }
    }

    /// The requests that are ready together.
    fn next_turn(&mut self, now: Timestamp) -> Option<Vec<Request>> {
        if self.turn.is_some() {
            return None;
        }
        let group = self.bisection.next().unwrap_or_else(|| self.next_group(now));
        if group.is_empty() {
            return None;
        }
        let (origins, requests) =
            group.into_iter().map(|(origin, body)| (origin, self.admit(now, body))).unzip();
        self.turn = Some(RunningTurn { origins, admitted_at: now });
        Some(requests)
    }

    /// Outcomes of effects come first: they free money and slots.
    fn next_group(&mut self, now: Timestamp) -> Group {
        let mut group = Group::new();
        while group.len() < self.limits.batch_max {
            let Some(outcome) = self.outcomes.pop_front() else { break };
            let body = outcome.clone().into();
            group.push((Origin::Outcome { outcome, failures: 0 }, body));
        }
        while group.len() < self.limits.batch_max {
            let Some((ticket, body)) = self.inbox.pop_front() else { break };
            group.push((Origin::Caller(ticket), body));
        }
        for (lane, origin, body) in self.due_claims(now) {
            if self.bisection.throttle(&lane).is_some() {
                self.bisection.push(vec![(origin, body)]);
            } else {
                group.push((origin, body));
            }
        }
        if let Some(endpoint) = self.disabled.pop_front().filter(|_| !self.is_stopping) {
            let cancel = webhooks::Cancel { endpoint, limit: self.limits.claim_max };
            group.push((Origin::CancelDeliveries(endpoint), cancel.into()));
        }
        if group.is_empty() { self.bisection.next().unwrap_or_default() } else { group }
    }

    fn admit(&mut self, now: Timestamp, body: Body) -> Request {
        self.admitted = self.admitted.saturating_add(1);
        let seed = self.seed.child(["request", &self.admitted.to_string()]);
        Request { admission: Admission::new(now, seed), body }
    }
}

/// The endpoint of a webhook call, and its slot.
fn endpoint(effect: &Effect) -> Option<(EndpointId, &Slot)> {
    let slot = effect.slot.as_ref()?;
    match slot.pool {
        Pool::Endpoint(endpoint) => Some((endpoint, slot)),
        Pool::Channel(_) => None,
    }
}
