//! Mistakes that careful people have made, planted one at a time: each must be found, and is told as a story.

mod delivery;
mod payout;
mod small;

use super::explore::{Model, Story, explore};
use super::payout::{AdvanceFn, Machine, PROFILES, Profile, SHIPPED, VersionFn};
use super::{attempt, delivery as mail, payin, reservation};

/// A known mistake.
#[derive(Debug, Clone, Copy)]
pub struct Mutation {
    pub name: &'static str,
    /// The mistake, in one sentence.
    pub sentence: &'static str,
    plant: Plant,
    /// What there is to say if no machine can prevent it.
    pub residual: Option<&'static str>,
}

/// Where the mistake is made. What is shipped stays as it is.
#[derive(Debug, Clone, Copy)]
enum Plant {
    Payout(AdvanceFn),
    Version(VersionFn),
    /// Around the machine.
    World(fn(&mut Profile)),
    Attempt(attempt::MergeFn),
    PayIn(payin::StepFn),
    Reservation(reservation::StepFn),
    Delivery(mail::StepFn),
}

/// A mistake that was found.
#[derive(Debug, Clone)]
pub struct Counterexample {
    pub world: &'static str,
    pub story: Story,
}

const fn mutation(name: &'static str, sentence: &'static str, plant: Plant) -> Mutation {
    Mutation { name, sentence, plant, residual: None }
}

/// All of them, the best known first.
pub fn mutations() -> Vec<Mutation> {
    let others = small::MUTATIONS.into_iter().chain(delivery::MUTATIONS);
    payout::MUTATIONS.into_iter().chain(others).collect()
}

impl Mutation {
    /// The first world in which it breaks a rule, and how.
    pub fn find(&self) -> Option<Counterexample> {
        match self.plant {
            Plant::Payout(advance) => around(Machine { advance, ..SHIPPED }, |_| {}),
            Plant::Version(check_version) => around(Machine { check_version, ..SHIPPED }, |_| {}),
            Plant::World(change) => around(SHIPPED, change),
            Plant::Attempt(merge) => found(super::ATTEMPT, &attempt::Around { merge }),
            Plant::PayIn(step) => found(super::PAYIN, &payin::Around { step }),
            Plant::Reservation(step) => found(super::RESERVATION, &reservation::Around { step }),
            Plant::Delivery(step) => found(super::DELIVERY, &mail::Around { step }),
        }
    }
}

fn around(machine: Machine, change: fn(&mut Profile)) -> Option<Counterexample> {
    PROFILES.into_iter().find_map(|mut profile| {
        change(&mut profile);
        found(profile.name, &super::payout::Around::new(profile, machine))
    })
}

fn found<M: Model>(world: &'static str, model: &M) -> Option<Counterexample> {
    explore(model).err().map(|story| Counterexample { world, story })
}
