//! Everything that can happen to one flow in a small world, held against what must never happen.
//!
//! `explore` goes through worlds breadth first and knows nothing about money; `payout`, `attempt`, `payin`,
//! `reservation` and `delivery` are the worlds around the shipped machines; `rule` says what must always hold; `mutations` plants known
//! mistakes, to see that they are found.

mod attempt;
mod delivery;
mod explore;
mod funds;
mod mutations;
mod payin;
mod payout;
mod reservation;
mod rule;
#[cfg(test)]
mod tests;

use bursar_core::attempt::Attempt;

pub use self::explore::{Broken, Correction, Explored, Story};
use self::explore::{Model as _, explore};
pub use self::mutations::{Counterexample, Mutation, mutations};
use self::payout::{PROFILES, Profile, SHIPPED};
pub use self::rule::Rule;

const ATTEMPT: &str = "evidence about an attempt";
const PAYIN: &str = "a pay-in";
const RESERVATION: &str = "a reservation";
const DELIVERY: &str = "a delivery";

/// A small world around a shipped machine.
#[derive(Debug, Clone, Copy)]
pub struct World {
    pub name: &'static str,
    kind: Kind,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Payout(Profile),
    Attempt,
    PayIn,
    Reservation,
    Delivery,
}

/// All worlds.
pub fn worlds() -> Vec<World> {
    let payouts = PROFILES.map(|profile| World { name: profile.name, kind: Kind::Payout(profile) });
    let others = [
        World { name: ATTEMPT, kind: Kind::Attempt },
        World { name: PAYIN, kind: Kind::PayIn },
        World { name: RESERVATION, kind: Kind::Reservation },
        World { name: DELIVERY, kind: Kind::Delivery },
    ];
    payouts.into_iter().chain(others).collect()
}

impl World {
    /// Goes through all of it, or ends with the first story that breaks a rule.
    pub fn explore(&self) -> Result<Explored, Story> {
        match self.kind {
            Kind::Payout(profile) => explore(&payout::Around::new(profile, SHIPPED)),
            Kind::Attempt => explore(&SHIPPED_ATTEMPT),
            Kind::PayIn => explore(&SHIPPED_PAYIN),
            Kind::Reservation => explore(&SHIPPED_RESERVATION),
            Kind::Delivery => explore(&SHIPPED_DELIVERY),
        }
    }

    /// What is checked in it.
    pub fn rules(&self) -> Vec<Rule> {
        match self.kind {
            Kind::Payout(profile) => payout::Around::new(profile, SHIPPED).rules(),
            Kind::Attempt => SHIPPED_ATTEMPT.rules(),
            Kind::PayIn => SHIPPED_PAYIN.rules(),
            Kind::Reservation => SHIPPED_RESERVATION.rules(),
            Kind::Delivery => SHIPPED_DELIVERY.rules(),
        }
    }
}

const SHIPPED_ATTEMPT: attempt::Around = attempt::Around { merge: Attempt::merge };
const SHIPPED_PAYIN: payin::Around = payin::Around { step: bursar_core::payin::step };
const SHIPPED_RESERVATION: reservation::Around =
    reservation::Around { step: bursar_core::reservation::step };
const SHIPPED_DELIVERY: delivery::Around = delivery::Around { step: bursar_core::delivery::step };
