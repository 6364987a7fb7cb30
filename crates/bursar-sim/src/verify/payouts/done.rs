//! How the machine reacts to a happening. It is a function of values, so its result is cached: one call for every
//! payout and happening, however many worlds they are part of.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use bursar_core::payouts::{Booking, Effect};

use super::Around;
use super::small::Small;
use super::world::{Happening, World};

/// A step without its details.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(super) struct Done {
    pub(super) payout: Small,
    pub(super) bookings: Vec<Booking>,
    pub(super) effect: Option<Effect>,
    pub(super) is_notified: bool,
    pub(super) is_new_version: bool,
    /// Whether more than one attempt may be paid, as far as the machine knows.
    pub(super) has_two_live: bool,
    /// Whether two attempts go by the same reference.
    pub(super) has_one_reference: bool,
}

/// By payout, happening, and whether it is frozen or rechecked; nothing where the machine refuses or nothing changes.
pub(super) type Memory = RefCell<HashMap<(Small, Happening, bool, bool), Option<Rc<Done>>>>;

impl Around {
    pub(super) fn done(&self, world: &World, happening: Happening) -> Option<Rc<Done>> {
        let key = (world.payout, happening, world.is_frozen, world.restored().is_some());
        if let Some(known) = self.memory.borrow().get(&key) {
            return known.clone();
        }
        let done = self.ask(world, happening).map(Rc::new);
        self.memory.borrow_mut().insert(key, done.clone());
        done
    }

    fn ask(&self, world: &World, happening: Happening) -> Option<Done> {
        let (event, now) = self.event(happening)?;
        let payout = world.payout.payout(&self.template);
        let advance = (self.machine.advance)(&payout, &event, &self.context(world, now));
        let advance = advance.ok().flatten()?;
        let attempts = &advance.step.payout.attempts;
        let mut payout = Small::of(&advance.step.payout);
        if !self.profile.not_found_is_final {
            payout.stage.forget_not_found();
        }
        Some(Done {
            payout,
            bookings: advance.step.bookings,
            effect: advance.step.effect,
            is_notified: advance.is_notified,
            is_new_version: advance.is_new_version,
            has_two_live: attempts.iter().filter(|attempt| attempt.is_live()).count() > 1,
            has_one_reference: attempts.iter().enumerate().any(|(index, attempt)| {
                attempts.iter().take(index).any(|other| other.reference == attempt.reference)
            }),
        })
    }
}
