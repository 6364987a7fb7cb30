//! Everything that a provider may report about one pay-in, in every order and repeatedly.

mod mutations;

use bursar_core::payins::{ProviderStatus, State, Step, step};

use super::explore::{Broken, Correction, Model, Nexts};
use super::rule::Rule;
use super::{Domain, World as SmallWorld};

pub(super) const DOMAIN: Domain =
    Domain { kind: "payin", worlds: || vec![world(step)], mutations: mutations::mutations };

/// The world around a machine, which is the shipped one or has a mistake.
fn world(step: StepFn) -> SmallWorld {
    SmallWorld::new("a pay-in", Around { step })
}

type StepFn = fn(State, ProviderStatus) -> Step;

#[derive(Debug)]
struct Around {
    step: StepFn,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct World {
    state: State,
    booked: u32,
    /// Whether the provider ever said that it was paid, and whether it said otherwise after that.
    was_completed: bool,
    was_denied: bool,
}

impl Around {
    fn after(&self, before: World, said: ProviderStatus) -> Result<World, Broken> {
        let broken = |rule, what: &str| Err(Broken::new(rule, what));
        let mut world = before;
        match said {
            ProviderStatus::Pending => {}
            ProviderStatus::Completed => world.was_completed = true,
            ProviderStatus::Failed => world.was_denied |= world.was_completed,
        }
        if let Step::Moves { state, is_booked } = (self.step)(before.state, said) {
            world.state = state;
            world.booked = world.booked.saturating_add(u32::from(is_booked));
            if state == before.state {
                return broken(Rule::I16, "nothing has changed, and an event is emitted");
            }
        }
        if world.booked > 1 {
            return broken(Rule::P1, "it was booked again");
        }
        if (world.booked == 1) != world.was_completed {
            return broken(Rule::P2, "what was said and what was booked differ");
        }
        if world.state.is_booked() != (world.booked == 1) {
            return broken(Rule::P3, "its status does not say whether it was booked");
        }
        if world.was_denied && world.state != State::Contradicted {
            return broken(
                Rule::P3,
                "the provider denies what was booked, and it is not CONTRADICTED",
            );
        }
        Ok(world)
    }
}

impl Model for Around {
    type World = World;
    type Happening = ProviderStatus;

    /// The first word finds it as if it were pending.
    fn start(&self) -> World {
        World { state: State::Pending, booked: 0, was_completed: false, was_denied: false }
    }

    fn next(&self, world: &World) -> Nexts<ProviderStatus, World> {
        ProviderStatus::ALL.into_iter().map(|said| (said, self.after(*world, said))).collect()
    }

    fn is_over(&self, world: &World) -> bool {
        match world.state {
            State::Pending => false,
            State::Collected | State::Contradicted | State::Failed => true,
        }
    }

    fn correction(&self, before: &World, after: &World) -> Option<Correction> {
        let has_changed = self.is_over(before) && before.state != after.state;
        has_changed.then(|| (before.state.status(), after.state.status()))
    }

    fn narrate(&self, world: &World, happening: &ProviderStatus) -> String {
        let says = match happening {
            ProviderStatus::Pending => "is on its way",
            ProviderStatus::Completed => "was paid",
            ProviderStatus::Failed => "has failed",
        };
        match (self.step)(world.state, *happening) {
            Step::Stays => format!("The provider says: it {says}."),
            Step::Moves { state, is_booked } => {
                let books = if is_booked { " and credits the merchant" } else { "" };
                format!("The provider says: it {says}. Bursar makes it {}{books}.", state.status())
            }
        }
    }

    fn rules(&self) -> Vec<Rule> {
        vec![Rule::I16, Rule::P1, Rule::P2, Rule::P3, Rule::L1]
    }
}
