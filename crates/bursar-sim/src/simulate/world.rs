//! The world: one thing after the other, in the order of time and number. Nothing in it depends on anything but the seed.

use std::cell::RefCell;
use std::rc::Rc;

use bursar_core::request::{Answer, Request};
use bursar_core::rulebook::Rulebook;
use bursar_engine::{Cause, Failed, Input, Output, Ticket, Unanswered};
use bursar_store::StoreError;

use super::actors;
use super::books::{Books, Held, Place, Scratch, at_once};
use super::coverage::{Coverage, causes, count};
use super::dice::Dice;
use super::fault::Fault;
use super::faulty::{Faulty, Point, Saw, Side};
use super::invariant::Invariant;
use super::plant::Plant;
use super::process::{Clock, Polled, Process, STRIDE_MAX, STRIDE_MIN};
use super::scene::{Actor, DAY, Event, HOUR, Life, MILLISECOND, MINUTE, SECOND, Scene, Who};
use super::swarm::Settings;

pub(crate) struct World {
    pub(crate) scene: Scene,
    pub(crate) processes: Vec<Process>,
    actors: Vec<Box<dyn Actor>>,
    place: Place,
    pub(crate) coverage: Coverage,
}

/// How long a host rests after a store that was not there.
const REST: u64 = 200 * MILLISECOND;
/// How long everything may take to come to rest.
const PATIENCE: u64 = 10 * DAY;

impl World {
    pub(crate) fn new(settings: Settings, rulebook: Rulebook) -> Result<Self, String> {
        let rules = settings.rules(rulebook)?;
        let seed = settings.options.seed;
        let place = if settings.is_sqlite {
            Place::Directory(Rc::new(Scratch::new(seed)))
        } else {
            Place::Memory(Rc::new(RefCell::new(Held::default())))
        };
        let scene = Scene::new(settings, rules);
        let mut processes = Vec::new();
        for process in 0..scene.settings.processes {
            let plant = scene.settings.options.plant;
            let side = Side::new(&scene.settings.strengths, (seed, process), plant);
            let side = Rc::new(RefCell::new(side));
            let books = place.open(plant).map_err(|error| error.to_string())?;
            let store = Faulty::new(books, Rc::clone(&side));
            processes.push(Process::new(process, store, side, &scene));
        }
        let actors = actors::all(seed);
        Ok(Self { scene, processes, actors, place, coverage: Coverage::new() })
    }

    /// From the first request until everything has come to rest.
    pub(crate) fn run(&mut self) -> Result<(), StoreError> {
        self.begin();
        let end = DAY.saturating_mul(self.scene.settings.options.days);
        self.until(end)?;
        self.scene.now = self.scene.now.max(end);
        self.calm();
        let last = self.scene.now.saturating_add(PATIENCE);
        while self.scene.audit.broken.is_none() && self.scene.now < last {
            let next = self.scene.now.saturating_add(HOUR);
            self.until(next)?;
            self.scene.now = next;
            if self.is_at_rest() {
                self.scene.send_statements();
                if self.scene.asks.is_empty() {
                    break;
                }
            }
        }
        self.close()
    }

    fn begin(&mut self) {
        for (actor, me) in self.actors.iter_mut().zip(0..) {
            actor.begin(me, &mut self.scene);
        }
        for process in 0..self.processes.len() {
            let error = self.clock_error();
            if let Some(known) = self.processes.get_mut(process) {
                known.clock = Clock::new(0, error);
            }
            self.tick(process, 0);
            self.scene.after(HOUR, Event::SetClock { process, is_right: false });
        }
    }

    /// Clocks of processes agree within a second or so.
    fn clock_error(&mut self) -> i64 {
        if !self.scene.strikes(Fault::ClockSkew) {
            return 0;
        }
        let error = self.scene.post.between(0, 2 * SECOND);
        i64::try_from(error).unwrap_or_default().saturating_sub(1_000_000)
    }

    fn until(&mut self, before: u64) -> Result<(), StoreError> {
        while self.scene.audit.broken.is_none() {
            let Some(event) = self.scene.next(before) else { return Ok(()) };
            self.happen(event)?;
        }
        Ok(())
    }

    fn happen(&mut self, event: Event) -> Result<(), StoreError> {
        match event {
            Event::Act { actor, what } => {
                if let Some(known) = self.actors.get_mut(actor) {
                    known.act(what, &mut self.scene);
                }
            }
            Event::Deliver { ask } => self.deliver(ask),
            Event::Tick(life) => self.ticked(life)?,
            Event::Resume(life) => {
                if self.is_alive(life) {
                    self.go_on(life.process)?;
                }
            }
            Event::TurnEnds(life, input) => {
                if self.is_alive(life) {
                    self.end_turn(life.process, *input);
                }
            }
            Event::Send { life, number } => self.send(life, number),
            Event::Arrive { life, number, effect, sent_at } => {
                self.arrive(life, number, &effect, sent_at);
            }
            Event::Back { life, number, event } => self.back(life, number, *event),
            Event::Channel(news) => self.scene.channel_news(*news),
            Event::Restart { process } => self.restart(process)?,
            Event::SetClock { process, is_right } => self.set_clock(process, is_right),
        }
        Ok(())
    }

    pub(crate) fn is_alive(&self, life: Life) -> bool {
        self.processes.get(life.process).is_some_and(|known| known.is_up && known.life == life)
    }

    /// A request reaches one of the processes, if one is there.
    fn deliver(&mut self, id: u64) {
        let up: Vec<usize> = self
            .processes
            .iter()
            .filter_map(|process| process.is_up.then_some(process.life.process))
            .collect();
        let Some(ask) = self.scene.asks.get(&id) else { return };
        let body = ask.body.clone();
        let Some(process) = self.scene.post.pick(&up).copied() else {
            self.scene.ask_again(id);
            return;
        };
        let Some(known) = self.processes.get_mut(process) else { return };
        known.tickets = known.tickets.saturating_add(1);
        let ticket = Ticket(known.tickets);
        known.waiting.insert(ticket, id);
        let outputs = known.engine.enqueue(Input::Asked { ticket, body });
        for output in outputs {
            if let Output::Answer(ticket, answer) = output {
                self.answer(process, ticket, answer);
            }
        }
        let delay = self.scene.post.below(20 * MILLISECOND);
        self.tick(process, delay);
    }

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

    fn ticked(&mut self, life: Life) -> Result<(), StoreError> {
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
    fn go_on(&mut self, process: usize) -> Result<(), StoreError> {
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
                    self.scene.audit.saw(&commit, &self.scene.channels);
                    self.tell(process, &commit);
                    for other in 0..self.processes.len() {
                        self.plan_tick(other);
                    }
                }
            }
        }
    }

    /// The trace of a commit: what became of which flow, what is to be done.
    fn tell(&mut self, process: usize, commit: &bursar_core::commit::Commit) {
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
        let (postings, audit) = (commit.transactions.len(), commit.audit.len());
        if postings > 0 || audit > 0 {
            self.scene.say("", format!("p{process} saves {postings} postings, {audit} deeds"));
        }
    }

    fn ended(
        &mut self,
        process: usize,
        requests: Vec<Request>,
        result: Result<bursar_core::commit::Commit, StoreError>,
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
    fn end_turn(&mut self, process: usize, input: Input) {
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
                Output::Do(effect) => effects.push(effect),
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

    fn answer(&mut self, process: usize, ticket: Ticket, answer: Result<Answer, Unanswered>) {
        let Some(known) = self.processes.get_mut(process) else { return };
        let Some(id) = known.waiting.remove(&ticket) else { return };
        self.answered(id, answer);
    }

    /// Somebody is answered, or not.
    pub(crate) fn answered(&mut self, id: u64, answer: Result<Answer, Unanswered>) {
        let Some(ask) = self.scene.asks.get(&id) else { return };
        let (who, tag) = (ask.who, ask.tag);
        let answer = match answer {
            Ok(answer) => answer,
            Err(unanswered) => {
                if unanswered == Unanswered::Busy {
                    self.scene.struck(Fault::InboxFull);
                }
                self.scene.ask_again(id);
                return;
            }
        };
        let Some(ask) = self.scene.asks.remove(&id) else { return };
        self.scene.audit.answered(&ask.body, &answer);
        if let Err(rejection) = &answer {
            let count = self.coverage.entry(format!("refused {}", rejection.code())).or_default();
            *count = count.saturating_add(1);
        }
        match who {
            Who::Channels => self.scene.callback_answered(tag),
            Who::Actor(actor) => {
                if let Some(known) = self.actors.get_mut(actor) {
                    known.answered(tag, &answer, &mut self.scene);
                }
            }
        }
    }

    /// The process dies here.
    pub(crate) fn crash(&mut self, process: usize) {
        let Some(known) = self.processes.get_mut(process) else { return };
        let (unanswered, effects) = known.die();
        for in_flight in effects.iter().filter(|in_flight| !in_flight.is_sent) {
            self.arm(&in_flight.effect, false);
        }
        self.scene.say("", format!("p{process} dies"));
        for ask in unanswered {
            self.scene.ask_again(ask);
        }
        let others = self.processes.iter().filter(|other| other.is_up).count();
        if others > 0 && self.scene.strikes(Fault::ProcessLost) {
            return;
        }
        let delay = self.scene.post.between(50 * MILLISECOND, 2 * MINUTE);
        self.scene.after(delay, Event::Restart { process });
    }

    fn restart(&mut self, process: usize) -> Result<(), StoreError> {
        let mut books = self.place.open(self.scene.settings.options.plant)?;
        self.look_again(&mut books)?;
        let clock = Clock::new(self.scene.now, self.clock_error());
        self.scene.say("", format!("p{process} starts"));
        let Some(known) = self.processes.get_mut(process) else { return Ok(()) };
        let store = Faulty::new(books, Rc::clone(&known.side));
        known.start(store, clock, &self.scene);
        let remembered = std::mem::take(&mut known.remembered);
        for effect in remembered {
            let deadline = self.scene.now.saturating_add(MINUTE);
            self.start_effect(process, effect, deadline);
        }
        self.tick(process, MILLISECOND);
        Ok(())
    }

    fn look_again(&mut self, books: &mut Books) -> Result<(), StoreError> {
        let audit = &mut self.scene.audit;
        match books {
            Books::Shared(held, _) => at_once(audit.look_again(&mut held.borrow_mut().memory)),
            Books::File(sqlite) => at_once(audit.look_again(&mut **sqlite)),
        }
    }

    /// Somebody sets a wall clock, and sets it right again before the engine has followed it far.
    fn set_clock(&mut self, process: usize, is_right: bool) {
        let now = self.scene.now;
        if is_right {
            if let Some(known) = self.processes.get_mut(process) {
                known.clock.set(now, 0);
            }
            return;
        }
        if !self.scene.is_calm {
            self.scene.after(HOUR, Event::SetClock { process, is_right: false });
        }
        if self.scene.strikes(Fault::ClockJump) {
            let by = self.scene.post.between(0, 4 * HOUR);
            let by = i64::try_from(by).unwrap_or_default().saturating_sub(7_200_000_000);
            if let Some(known) = self.processes.get_mut(process) {
                known.clock.set(now, by);
            }
            let delay = self.scene.post.between(SECOND, 20 * SECOND);
            self.scene.after(delay, Event::SetClock { process, is_right: true });
        }
    }

    /// From here on nothing goes wrong, and everything comes to its end.
    fn calm(&mut self) {
        self.scene.say("", "everything heals".to_owned());
        self.scene.is_calm = true;
        for process in 0..self.processes.len() {
            let Some(known) = self.processes.get(process) else { return };
            known.side.borrow_mut().calm();
            let is_up = known.is_up;
            if !is_up {
                self.scene.after(MINUTE, Event::Restart { process });
            }
        }
    }

    fn is_at_rest(&self) -> bool {
        let is_idle = |process: &Process| process.engine.is_idle() && process.running.is_none();
        self.scene.asks.is_empty()
            && self.scene.audit.due.is_empty()
            && self.processes.iter().all(is_idle)
            && !self.scene.has_plans()
    }

    fn close(&mut self) -> Result<(), StoreError> {
        if self.scene.audit.broken.is_some() {
            return Ok(());
        }
        let left = self.scene.asks.len();
        self.scene.audit.check(Invariant::EverybodyAnswered, "", left == 0, || {
            format!("{left} who asked were not answered")
        });
        let store = self.processes.iter_mut().find_map(|process| process.store.as_mut());
        let Some(store) = store else { return Ok(()) };
        let (audit, channels) = (&mut self.scene.audit, &self.scene.channels);
        let rulebook = &self.scene.rules.rulebook;
        match &mut store.inner {
            Books::Shared(held, _) => {
                at_once(audit.close(&mut held.borrow_mut().memory, rulebook, channels))
            }
            Books::File(sqlite) => at_once(audit.close(&mut **sqlite, rulebook, channels)),
        }
    }

    pub(crate) fn dice_of(&mut self, process: usize) -> Option<&mut Dice> {
        self.processes.get_mut(process).map(|known| &mut known.dice)
    }
}
