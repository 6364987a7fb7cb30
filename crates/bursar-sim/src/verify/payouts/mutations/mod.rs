//! Known mistakes about payouts: in the machine, in what is made of evidence, and around both.

mod around;
mod evidence;
mod machine;
mod restores;

use super::attempt::{self, MergeFn};
use super::{AdvanceFn, Around, Machine, PROFILES, Profile, SHIPPED, VersionFn};
use crate::verify::{Mutation, World};

/// A mistake, and where it is made.
#[derive(Debug, Clone, Copy)]
struct Mistake {
    name: &'static str,
    sentence: &'static str,
    plant: Plant,
    residual: Option<&'static str>,
}

#[derive(Debug, Clone, Copy)]
enum Plant {
    Payout(AdvanceFn),
    Version(VersionFn),
    /// Around the machine.
    World(fn(&mut Profile)),
    Evidence(MergeFn),
}

const fn mistake(name: &'static str, sentence: &'static str, plant: Plant) -> Mistake {
    Mistake { name, sentence, plant, residual: None }
}

/// The best known first.
pub(super) fn mutations() -> Vec<Mutation> {
    let all = machine::MISTAKES.into_iter().chain(around::MISTAKES);
    let all = all.chain(restores::MISTAKES).chain(evidence::MISTAKES);
    let planted = |mistake: Mistake| {
        let Mistake { name, sentence, plant, residual } = mistake;
        Mutation::new(name, sentence, plant.worlds()).with_residual(residual)
    };
    all.map(planted).collect()
}

impl Plant {
    fn worlds(self) -> Vec<World> {
        match self {
            Self::Payout(advance) => worlds(Machine { advance, ..SHIPPED }, |_| {}),
            Self::Version(check_version) => worlds(Machine { check_version, ..SHIPPED }, |_| {}),
            Self::World(change) => worlds(SHIPPED, change),
            Self::Evidence(merge) => vec![attempt::world(merge)],
        }
    }
}

fn worlds(machine: Machine, change: fn(&mut Profile)) -> Vec<World> {
    let planted = |mut profile: Profile| {
        change(&mut profile);
        World::new(profile.name, Around::new(profile, machine))
    };
    PROFILES.map(planted).into()
}
