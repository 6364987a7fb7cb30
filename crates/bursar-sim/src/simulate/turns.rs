//! The turns of a process, from the moment at which it looks until everything that follows is under way.

use bursar_core::commit::Commit;
use bursar_core::request::Request;
use bursar_engine::{Cause, Failed, Input, Output};
use bursar_store::StoreError;

use super::coverage::{causes, count};
use super::fault::Fault;
use super::faulty::{Point, Saw};
use super::plant::Plant;
use super::process::{Polled, STRIDE_MAX, STRIDE_MIN};
use super::scene::{Event, Life, MILLISECOND, SECOND};
use super::world::World;

/// How long a host rests after a store that was not there.
const REST: u64 = 200 * MILLISECOND;

impl World {
    /// The process looks at this time, if not before.
    pub(crate) fn tick(&mut self, process: usize, delay: u64) {
        let at = self.scene.now.saturating_add(delay);
        let Some(known) = self.processes.get_mut(process) else { return };
        if known.is_up && known.tick_at.is_none_or(|planned| at < planned) {
            known.tick_at = Some(at);
            let life = known.life;
            self.scene.at(at, Event::Tick(life));
        }
    }

    pub(crate) fn ticked(&mut self, life: Life) -> Result<(), StoreError> {
        let now = self.scene.now;
        let is_alive = self.is_alive(life);
        let Some(process) = self.processes.get_mut(life.process) else { return Ok(()) };
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
                self.plan_trouble(life.process);
                return self.go_on(life.process);
            }
        }
        self.plan_tick(life.process);
        Ok(())
    }

    /// Whether this turn stands still somewhere, and whether it goes on from there.
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
        if side.plant.is_some_and(Plant::is_hasty) {
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
        let life = known.life;
        let dies_at = known.running.as_ref().and_then(|running| running.dies_at);
        self.look_at_store(process);
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
                self.scene.after(delay, Event::Resume(life));
            }
            Some(Polled::Ended(requests, result)) => self.ended(process, requests, *result)?,
        }
        Ok(())
    }

    /// What the store of a process has done meanwhile, to the auditor first.
    fn look_at_store(&mut self, process: usize) {
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
                    self.tell(process, &commit);
                    for other in 0..self.processes.len() {
                        self.plan_tick(other);
                    }
                }
            }
        }
    }

    /// The trace of a commit: what became of which flow, what is to be done.
    fn tell(&mut self, process: usize, commit: &Commit) {
        for write in &commit.flows {
            let about = self.scene.audit.name(write.after.id);
            let before = write.before.as_ref().map_or("new", |flow| flow.state.status());
            let (after, version) = (write.after.state.status(), write.after.version);
            self.scene.say(&about, format!("p{process} saves {before} -> {after} v{version}"));
        }
        for effect in &commit.effects {
            let about = self.scene.audit.name(effect.flow);
            let (call, number) = (super::effects::word(&effect.call), effect.attempt);
            self.scene.say(&about, format!("p{process} plans {call}, attempt {number}"));
        }
        for parcel in &commit.parcels {
            let about = self.scene.audit.name(parcel.flow);
            self.scene.say(&about, format!("p{process} plans to mail, attempt {}", parcel.attempt));
        }
        let (postings, audit) = (commit.transactions.len(), commit.audit.len());
        if postings > 0 || audit > 0 {
            self.scene.say("", format!("p{process} saves {postings} postings, {audit} deeds"));
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
            Err(error @ (StoreError::Unavailable(_) | StoreError::Unknown(_))) => {
                let Some(known) = self.processes.get(process) else { return Ok(()) };
                let ends = Event::TurnEnds(known.life, Box::new(Input::NotSaved(error)));
                self.scene.after(REST, ends);
                return Ok(());
            }
        };
        self.end_turn(process, input);
        Ok(())
    }

    /// Answers first, then what is to be done.
    pub(crate) fn end_turn(&mut self, process: usize, input: Input) {
        let Some(known) = self.processes.get_mut(process) else { return };
        let Some(running) = known.running.take() else { return };
        let has_saved = matches!(&input, Input::Saved(commit) if commit.time.is_some());
        known.stride =
            if has_saved { STRIDE_MIN } else { known.stride.saturating_mul(2).min(STRIDE_MAX) };
        let outputs = known.engine.enqueue(input);
        let (mut effects, mut parcels) = (Vec::new(), Vec::new());
        for output in outputs {
            match output {
                Output::Answer(ticket, answer) => self.answer(process, ticket, answer),
                Output::Do(effect) => effects.push(effect),
                Output::Send(parcel) => parcels.push(*parcel),
                Output::Turn(_) => {}
            }
        }
        if !effects.is_empty() && self.scene.strikes(Fault::CrashAfterAnswers) {
            self.crash(process);
            return;
        }
        let is_sent = running.is_anticipated
            && self.scene.settings.options.plant == Some(Plant::HostSendsBeforeSave);
        for effect in effects {
            let deadline = running.moment.real_of(effect.lease_until);
            if !is_sent {
                self.start_effect(process, effect, deadline);
            }
        }
        let is_mailed = running.is_anticipated
            && self.scene.settings.options.plant == Some(Plant::HostMailsBeforeSave);
        for parcel in parcels {
            let deadline = running.moment.real_of(parcel.lease_until);
            if !is_mailed {
                self.start_parcel(process, parcel, deadline);
            }
        }
        self.plan_tick(process);
    }

    /// When this process must look again: at once, or when something is due.
    fn plan_tick(&mut self, process: usize) {
        let now = self.scene.now;
        let Some(known) = self.processes.get_mut(process) else { return };
        if !known.is_up || known.running.is_some() {
            return;
        }
        if known.engine.is_eager() {
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
