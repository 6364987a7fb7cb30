//! The turns of a process, from the poll of the engine until the effects have started.

use bursar_core::turn::{Commit, Request};
use bursar_engine::{Cause, Failed, Input, Output};
use bursar_store::StoreError;

use super::calls::Calls;
use super::coverage::{causes, count};
use super::fault::Fault;
use super::faulty::{Point, Saw};
use super::injected_bugs::InjectedBug;
use super::process::{Polled, STRIDE_MAX, STRIDE_MIN};
use super::scene::{Event, Incarnation, MILLISECOND, SECOND};
use super::world::World;

/// How long a host waits after the store was unavailable.
const PAUSE: u64 = 200 * MILLISECOND;

impl World {
    /// The process polls at this time, if not before.
    pub(crate) fn tick(&mut self, process: usize, delay: u64) {
        let at = self.scene.now.saturating_add(delay);
        let Some(known) = self.processes.get_mut(process) else { return };
        if known.is_up && known.tick_at.is_none_or(|planned| at < planned) {
            known.tick_at = Some(at);
            let incarnation = known.incarnation;
            self.scene.at(at, Event::Tick(incarnation));
        }
    }

    pub(crate) fn ticked(&mut self, incarnation: Incarnation) -> Result<(), StoreError> {
        let now = self.scene.now;
        let is_alive = self.is_alive(incarnation);
        let Some(process) = self.processes.get_mut(incarnation.process) else { return Ok(()) };
        if !is_alive || process.tick_at != Some(now) {
            return Ok(());
        }
        process.tick_at = None;
        if process.running.is_some() {
            return Ok(());
        }
        let moment = process.clock.now(now);
        for output in process.engine.poll(moment.time, Input::TimePassed) {
            if let Output::Turn(requests) = output {
                let causes = causes(&requests, &self.scene.audit);
                process.begin_turn(requests, moment, &self.scene.rules);
                if let Some(running) = &mut process.running {
                    running.causes = causes;
                }
                self.plan_trouble(incarnation.process);
                return self.go_on(incarnation.process);
            }
        }
        self.plan_tick(incarnation.process);
        Ok(())
    }

    /// Whether this turn pauses somewhere, and whether it goes on from there.
    fn plan_trouble(&mut self, process: usize) {
        let deaths = [
            (Fault::CrashBeforeLoad, Point::BeforeLoad),
            (Fault::CrashBeforeSave, Point::BeforeSave),
            (Fault::CrashAfterSave, Point::AfterSave),
        ];
        let mut stops = Vec::new();
        for (fault, point) in deaths {
            // Only a turn that saves something gets that far, so it counts when it happens.
            if stops.is_empty() && self.scene.would_strike(fault) {
                stops.push(point);
            }
        }
        let dies_at = stops.first().copied();
        if self.scene.would_strike(Fault::StoreSlow) {
            stops.push(Point::BeforeSave);
        }
        let Some(known) = self.processes.get_mut(process) else { return };
        let mut side = known.side.borrow_mut();
        if side.bug.is_some_and(InjectedBug::is_hasty) {
            stops.push(Point::BeforeSave);
        }
        side.stops = stops;
        drop(side);
        if let Some(running) = &mut known.running {
            running.dies_at = dies_at;
        }
    }

    /// The turn goes on as far as it goes.
    pub(crate) fn go_on(&mut self, process: usize) -> Result<(), StoreError> {
        let Some(known) = self.processes.get_mut(process) else { return Ok(()) };
        let polled = known.poll_turn();
        let incarnation = known.incarnation;
        let dies_at = known.running.as_ref().and_then(|running| running.dies_at);
        self.observe_store(process);
        match polled {
            None => {}
            Some(Polled::Stands(point)) if dies_at == Some(point) => {
                self.scene.struck(match point {
                    Point::BeforeLoad => Fault::CrashBeforeLoad,
                    Point::BeforeSave => Fault::CrashBeforeSave,
                    Point::AfterSave => Fault::CrashAfterSave,
                });
                self.crash(process);
            }
            Some(Polled::Stands(_)) => {
                if self.scene.settings.strengths.contains_key(&Fault::StoreSlow) {
                    self.scene.struck(Fault::StoreSlow);
                }
                let delay = self.scene.post.between(MILLISECOND, 3 * SECOND);
                self.scene.after(delay, Event::Resume(incarnation));
            }
            Some(Polled::Ended(requests, result)) => self.ended(process, requests, *result)?,
        }
        Ok(())
    }

    /// What the store of a process has done meanwhile; the auditor sees it first.
    fn observe_store(&mut self, process: usize) {
        let Some(known) = self.processes.get_mut(process) else { return };
        let saw = std::mem::take(&mut known.side.borrow_mut().saw);
        let no_causes = Vec::new();
        for seen in saw {
            match seen {
                Saw::Struck(fault) => self.scene.struck(fault),
                Saw::Decided(commit) => self.anticipate(process, &commit),
                Saw::Saved(commit) => {
                    let Some(known) = self.processes.get(process) else { return };
                    let causes = known.running.as_ref().map_or(&no_causes, |turn| &turn.causes);
                    count(&mut self.coverage, &commit, causes);
                    let began = known.running.as_ref().map_or(0, |turn| turn.moment.real);
                    let times = (began, self.scene.now);
                    self.scene.audit.saw(&commit, &self.scene.channels, times);
                    self.trace_commit(process, &commit);
                    for other in 0..self.processes.len() {
                        self.plan_tick(other);
                    }
                }
            }
        }
    }

    /// The trace of a commit: the flows that changed, the calls that are planned.
    fn trace_commit(&mut self, process: usize, commit: &Commit) {
        for write in &commit.flows {
            let about = self.scene.audit.name(write.after.id);
            let before = write.before.as_ref().map_or("new", |flow| flow.state.status());
            let (after, version) = (write.after.state.status(), write.after.version);
            self.scene.say(&about, format!("p{process} saves {before} -> {after} v{version}"));
        }
        let calls = Calls::new(commit.effects.iter().cloned());
        for call in &calls.channels {
            let about = self.scene.audit.name(call.effect.flow);
            let (word, number) = (call.word(), call.effect.attempt);
            self.scene.say(&about, format!("p{process} plans {word}, attempt {number}"));
        }
        for call in &calls.webhooks {
            let about = self.scene.audit.name(call.effect.flow);
            let number = call.effect.attempt;
            self.scene.say(&about, format!("p{process} plans a webhook call, attempt {number}"));
        }
        let (postings, audit) = (commit.transactions.len(), commit.audit.len());
        if postings > 0 || audit > 0 {
            self.scene
                .say("", format!("p{process} saves {postings} postings, {audit} audit entries"));
        }
    }

    fn ended(
        &mut self,
        process: usize,
        requests: Vec<Request>,
        result: Result<Commit, StoreError>,
    ) -> Result<(), StoreError> {
        let input = match result {
            Ok(commit) => Input::Saved(Box::new(commit)),
            Err(StoreError::Conflict) => Input::Failed(Failed { requests, cause: Cause::Conflict }),
            Err(StoreError::Corrupt(reason)) => return Err(StoreError::Corrupt(reason)),
            Err(
                error @ (StoreError::Unavailable(_)
                | StoreError::Unknown(_)
                | StoreError::Missing(_)
                | StoreError::Gone(_)
                | StoreError::WentBack(_)),
            ) => {
                let Some(known) = self.processes.get(process) else { return Ok(()) };
                let ends = Event::TurnEnds(known.incarnation, Box::new(Input::NotSaved(error)));
                self.scene.after(PAUSE, ends);
                return Ok(());
            }
        };
        self.end_turn(process, input);
        Ok(())
    }

    /// Answers first, then the effects.
    pub(crate) fn end_turn(&mut self, process: usize, input: Input) {
        let Some(known) = self.processes.get_mut(process) else { return };
        let Some(running) = known.running.take() else { return };
        let has_saved = matches!(&input, Input::Saved(commit) if commit.time.is_some());
        known.stride =
            if has_saved { STRIDE_MIN } else { known.stride.saturating_mul(2).min(STRIDE_MAX) };
        let outputs = known.engine.enqueue(input);
        let mut effects = Vec::new();
        for output in outputs {
            match output {
                Output::Answer(ticket, answer) => self.answer(process, ticket, answer),
                Output::Run(effect) => effects.push(effect),
                Output::Turn(_) => {}
            }
        }
        let calls = Calls::new(effects);
        if !calls.channels.is_empty() && self.scene.strikes(Fault::CrashAfterAnswers) {
            self.crash(process);
            return;
        }
        let bug = self.scene.settings.options.injected_bug.filter(|_| running.is_anticipated);
        for call in calls.channels {
            let deadline = running.moment.real_of(call.effect.lease_until);
            if bug != Some(InjectedBug::HostSendsBeforeSave) {
                self.start_channel_call(process, call, deadline);
            }
        }
        for call in calls.webhooks {
            let deadline = running.moment.real_of(call.effect.lease_until);
            if bug != Some(InjectedBug::HostNotifiesBeforeSave) {
                self.start_webhook_call(process, call, deadline);
            }
        }
        self.plan_tick(process);
    }

    /// When this process must poll again: at once, or when a flow is due.
    fn plan_tick(&mut self, process: usize) {
        let now = self.scene.now;
        let Some(known) = self.processes.get_mut(process) else { return };
        if !known.is_up || known.running.is_some() {
            return;
        }
        if known.engine.has_work() {
            self.tick(process, MILLISECOND);
            return;
        }
        let Some((due, _)) = self.scene.audit.due.first().copied() else { return };
        let moment = known.clock.now(now);
        let wait = moment.real_of(due).saturating_sub(now);
        let delay = wait.max(known.stride).saturating_add(known.dice.below(50 * MILLISECOND));
        self.tick(process, delay);
    }
}
