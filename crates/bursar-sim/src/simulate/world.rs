//! The event loop of the world: events in the order of time and number. Everything follows from the seed.

use std::cell::RefCell;
use std::rc::Rc;

use bursar_core::ledger::rulebook::Rulebook;
use bursar_core::ledger::verify::Head;
use bursar_core::turn::Answer;
use bursar_engine::{Input, Output, Ticket, Unanswered};
use bursar_store::{Query as _, StoreError};

use super::actors;
use super::books::{Books, Held, Location, Scratch, poll_once};
use super::coverage::Coverage;
use super::dice::Dice;
use super::fault::Fault;
use super::faulty::{Faulty, Side};
use super::invariant::Invariant;
use super::payins::refusal;
use super::process::{Clock, Process};
use super::scene::{Actor, DAY, Event, HOUR, Incarnation, MILLISECOND, MINUTE, Scene, Who};
use super::swarm::Settings;

pub(crate) struct World {
    pub(crate) scene: Scene,
    pub(crate) processes: Vec<Process>,
    actors: Vec<Box<dyn Actor>>,
    pub(crate) location: Location,
    pub(crate) coverage: Coverage,
}

/// How long the world may take to come to rest.
const PATIENCE: u64 = 10 * DAY;

impl World {
    pub(crate) fn new(settings: Settings, rulebook: Rulebook) -> Result<Self, String> {
        let rules = settings.rules(rulebook)?;
        let seed = settings.options.seed;
        let location = if settings.is_sqlite {
            Location::Directory(Rc::new(Scratch::new(seed)))
        } else {
            Location::Memory(Rc::new(RefCell::new(Held::default())))
        };
        let scene = Scene::new(settings, rules);
        let mut processes = Vec::new();
        for process in 0..scene.settings.processes {
            let bug = scene.settings.options.injected_bug;
            let side = Side::new(&scene.settings.strengths, (seed, process), bug);
            let side = Rc::new(RefCell::new(side));
            let books = location.open(bug).map_err(|error| error.to_string())?;
            let store = Faulty::new(books, Rc::clone(&side));
            processes.push(Process::new(process, store, side, &scene));
        }
        let actors = actors::all(seed);
        Ok(Self { scene, processes, actors, location, coverage: Coverage::new() })
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
            Event::Tick(incarnation) => self.ticked(incarnation)?,
            Event::Resume(incarnation) => {
                if self.is_alive(incarnation) {
                    self.go_on(incarnation.process)?;
                }
            }
            Event::TurnEnds(incarnation, input) => {
                if self.is_alive(incarnation) {
                    self.end_turn(incarnation.process, *input);
                }
            }
            Event::ChannelCall(event) => self.channel_call(event),
            Event::WebhookCall(event) => self.webhook_call(event),
            Event::Channel(event) => self.scene.channel_event(*event),
            Event::Restart { process } => self.restart(process)?,
            Event::SetClock { process, is_right } => self.set_clock(process, is_right),
        }
        Ok(())
    }

    pub(crate) fn is_alive(&self, incarnation: Incarnation) -> bool {
        self.processes
            .get(incarnation.process)
            .is_some_and(|known| known.is_up && known.incarnation == incarnation)
    }

    /// A request reaches one of the processes, if one is there.
    fn deliver(&mut self, id: u64) {
        let up: Vec<usize> = self
            .processes
            .iter()
            .filter_map(|process| process.is_up.then_some(process.incarnation.process))
            .collect();
        let Some(ask) = self.scene.asks.get(&id) else { return };
        let body = ask.body.clone();
        if let Some(rejection) = self.drops(&body) {
            self.answered(id, Ok(Err(rejection)));
            return;
        }
        let body = self.renamed(body);
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

    pub(crate) fn answer(
        &mut self,
        process: usize,
        ticket: Ticket,
        answer: Result<Answer, Unanswered>,
    ) {
        let Some(known) = self.processes.get_mut(process) else { return };
        let Some(id) = known.waiting.remove(&ticket) else { return };
        self.answered(id, answer);
    }

    /// A caller gets its answer, or none.
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
        self.repeats(&ask.body, &answer);
        if let Some(rejection) = refusal(&answer) {
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
        self.scene.audit.check(Invariant::EveryCallerAnswered, "", left == 0, || {
            format!("{left} callers were not answered")
        });
        let busy = self.processes.iter().filter(|known| known.is_up && !known.engine.is_idle());
        let busy = busy.count();
        self.scene.audit.check(Invariant::NoProcessWaits, "", busy == 0, || {
            format!("{busy} processes still wait for something")
        });
        let store = self.processes.iter_mut().find_map(|process| process.store.as_mut());
        let Some(store) = store else { return Ok(()) };
        let (audit, channels) = (&mut self.scene.audit, &self.scene.channels);
        let rulebook = &self.scene.rules.rulebook;
        match &mut store.inner {
            Books::Shared(held, _) => {
                poll_once(audit.close(&mut held.borrow_mut().memory, rulebook, channels))
            }
            Books::File(sqlite) => poll_once(audit.close(&mut **sqlite, rulebook, channels)),
        }
    }

    /// The end of the chain, as the books name it; the beginning if no process has them open.
    pub(crate) fn head(&mut self) -> Result<Head, StoreError> {
        let store = self.processes.iter_mut().find_map(|process| process.store.as_mut());
        match store.map(|store| &mut store.inner) {
            Some(Books::Shared(held, _)) => poll_once(held.borrow_mut().memory.head()),
            Some(Books::File(sqlite)) => poll_once(sqlite.head()),
            None => Ok(Head::default()),
        }
    }

    pub(crate) fn dice_of(&mut self, process: usize) -> Option<&mut Dice> {
        self.processes.get_mut(process).map(|known| &mut known.dice)
    }
}
