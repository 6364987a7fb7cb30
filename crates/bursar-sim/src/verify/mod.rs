//! Exhaustive search: everything that can happen to one flow in a small world, checked against rules.
//!
//! `explore` searches worlds breadth first and knows nothing about money. `payouts`, `payins`, `webhooks` and `approvals` are the
//! worlds around the shipped machines, one folder for each domain, and their known mistakes; `rule` lists what must
//! always hold.

mod approvals;
mod explore;
mod mutations;
mod payins;
mod payouts;
mod rule;
#[cfg(test)]
mod tests;
mod webhooks;

use std::fmt;

pub use self::explore::{Broken, Correction, Explored, Story};
use self::explore::{Model, explore};
pub use self::mutations::{Counterexample, Mutation, mutations};
pub use self::rule::Rule;

/// The worlds and the known mistakes of one domain.
struct Domain {
    /// The kind of flow that it explores.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "a test compares it with the table of kinds")
    )]
    kind: &'static str,
    worlds: fn() -> Vec<World>,
    mutations: fn() -> Vec<Mutation>,
}

/// All domains, the best known mistakes first. A new domain is a folder with one of these and a line here.
const DOMAINS: [Domain; 4] = [payouts::DOMAIN, payins::DOMAIN, webhooks::DOMAIN, approvals::DOMAIN];

/// A small world around a machine.
pub struct World {
    pub name: &'static str,
    model: Box<dyn Search>,
}

/// A model, whatever its worlds and happenings are.
trait Search {
    fn explore(&self) -> Result<Explored, Story>;
    fn rules(&self) -> Vec<Rule>;
}

impl<M: Model> Search for M {
    fn explore(&self) -> Result<Explored, Story> {
        explore(self)
    }

    fn rules(&self) -> Vec<Rule> {
        Model::rules(self)
    }
}

/// The worlds of all domains, around the shipped machines.
pub fn worlds() -> Vec<World> {
    DOMAINS.iter().flat_map(|domain| (domain.worlds)()).collect()
}

impl World {
    fn new(name: &'static str, model: impl Model + 'static) -> Self {
        Self { name, model: Box::new(model) }
    }

    /// Searches all of it, or ends with the first story that breaks a rule.
    pub fn explore(&self) -> Result<Explored, Story> {
        self.model.explore()
    }

    /// The rules that are checked in it.
    pub fn rules(&self) -> Vec<Rule> {
        self.model.rules()
    }
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World").field("name", &self.name).finish_non_exhaustive()
    }
}
