//! Crashes and restarts of processes, and their clocks.

use std::rc::Rc;

use bursar_store::StoreError;

use super::books::{Books, poll_once};
use super::fault::Fault;
use super::faulty::Faulty;
use super::process::Clock;
use super::scene::{Event, HOUR, MILLISECOND, MINUTE, SECOND};
use super::world::World;

impl World {
    /// Clocks of processes agree within a second or so.
    pub(crate) fn clock_error(&mut self) -> i64 {
        if !self.scene.strikes(Fault::ClockSkew) {
            return 0;
        }
        let error = self.scene.post.between(0, 2 * SECOND);
        i64::try_from(error).unwrap_or_default().saturating_sub(1_000_000)
    }

    /// The process crashes here.
    pub(crate) fn crash(&mut self, process: usize) {
        let Some(known) = self.processes.get_mut(process) else { return };
        let (unanswered, calls) = known.die();
        for in_flight in calls.iter().filter(|in_flight| !in_flight.is_sent) {
            self.arm(&in_flight.call, false);
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

    /// It starts again, unless it has been started already.
    pub(crate) fn restart(&mut self, process: usize) -> Result<(), StoreError> {
        if self.processes.get(process).is_none_or(|known| known.is_up) {
            return Ok(());
        }
        let mut books = self.location.open(self.scene.settings.options.injected_bug)?;
        self.look_again(&mut books)?;
        let clock = Clock::new(self.scene.now, self.clock_error());
        self.scene.say("", format!("p{process} starts"));
        let Some(known) = self.processes.get_mut(process) else { return Ok(()) };
        let store = Faulty::new(books, Rc::clone(&known.side));
        known.start(store, clock, &self.scene);
        let remembered = std::mem::take(&mut known.remembered);
        for call in remembered {
            let deadline = self.scene.now.saturating_add(MINUTE);
            self.start_channel_call(process, call, deadline);
        }
        self.tick(process, MILLISECOND);
        Ok(())
    }

    fn look_again(&mut self, books: &mut Books) -> Result<(), StoreError> {
        let audit = &mut self.scene.audit;
        match books {
            Books::Shared(held, _) => poll_once(audit.look_again(&mut held.borrow_mut().memory)),
            Books::File(sqlite) => poll_once(audit.look_again(&mut **sqlite)),
        }
    }

    /// A wall clock is set, and set right again before the engine has followed it far.
    pub(crate) fn set_clock(&mut self, process: usize, is_right: bool) {
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
}
