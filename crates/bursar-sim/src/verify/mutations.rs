//! Known mistakes, planted one at a time: each must be found, with a counterexample in sentences.

use super::explore::Story;
use super::{DOMAINS, World};

/// A known mistake.
#[derive(Debug)]
pub struct Mutation {
    pub name: &'static str,
    /// The mistake, in one sentence.
    pub sentence: &'static str,
    /// What remains to be done if no machine can prevent it.
    pub residual: Option<&'static str>,
    /// The worlds with the mistake planted. The shipped machines stay as they are.
    worlds: Vec<World>,
}

/// A mistake that was found.
#[derive(Debug, Clone)]
pub struct Counterexample {
    pub world: &'static str,
    pub story: Story,
}

/// The mistakes of all domains.
pub fn mutations() -> Vec<Mutation> {
    DOMAINS.iter().flat_map(|domain| (domain.mutations)()).collect()
}

impl Mutation {
    pub(super) fn new(name: &'static str, sentence: &'static str, worlds: Vec<World>) -> Self {
        Self { name, sentence, residual: None, worlds }
    }

    pub(super) fn with_residual(self, residual: Option<&'static str>) -> Self {
        Self { residual, ..self }
    }

    /// The first world in which it breaks a rule, and how.
    pub fn find(&self) -> Option<Counterexample> {
        let found = |world: &World| {
            let story = world.explore().err()?;
            Some(Counterexample { world: world.name, story })
        };
        self.worlds.iter().find_map(found)
    }
}
