//! Everything that may happen to one delivery: attempts that are accepted, rejected, lost or answered late, processes
//! that crash, an endpoint that is disabled and enabled, its breaker, and a replay.
//!
//! The world plays the health of the endpoint: other deliveries fail or succeed, and its breaker opens, waits and
//! probes.

mod check;
mod mutations;
mod narrate;
mod small;

use bursar_core::webhooks::HealthSignal;
use bursar_core::webhooks::delivery::{
    Context, Delivery, Event, Outcome, Response, Step, Unsendable, step,
};

use super::explore::{Broken, Correction, Model, Nexts};
use super::rule::Rule;
use super::{Domain, World as SmallWorld};
pub(super) use small::{Attempt, Breaker, Power, Stage, Taken, World};
use small::{context, delivery, endpoint, schedule};

pub(super) const DOMAIN: Domain =
    Domain { kind: "delivery", worlds: || vec![world(step)], mutations: mutations::mutations };

/// The world around a machine, which is the shipped one or has a mistake.
fn world(step: StepFn) -> SmallWorld {
    SmallWorld::new("a delivery", Around { step })
}

type StepFn = for<'c> fn(&Delivery, &Event, &Context<'c>) -> Step;

#[derive(Debug)]
struct Around {
    step: StepFn,
}

/// What a receiver answers, or what is known without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Said {
    Took,
    Redirects,
    /// With a longer Retry-After than is honoured.
    Fails,
    Gone,
    Nothing,
    Unsendable,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Happening {
    TimePasses,
    Due,
    /// The receiver gets an attempt, and what it says comes back.
    Arrives(u32, Said),
    /// The receiver takes it, and its answer is lost.
    TakenUnheard(u32),
    /// The sending process crashes, before or after the receiver has it.
    Dies {
        attempt: u32,
        is_taken: bool,
    },
    Reported(u32),
    SwitchedOff,
    SwitchedOn,
    CancelAsked,
    ReplayAsked,
    OthersFail,
    OthersAreTaken,
    PauseEnds,
}

/// Attempts with an unknown end at the same time: the latest, and one that was given up.
const OPEN_MAX: usize = 2;
const REPLAYS_MAX: u8 = 1;

impl Said {
    const BY_RECEIVERS: [Self; 4] = [Self::Took, Self::Redirects, Self::Fails, Self::Gone];

    fn outcome(self) -> Outcome {
        let answered = |status, retry_after| Outcome::Answered {
            status,
            retry_after,
            response: Response::new(b""),
        };
        let detail = String::new;
        match self {
            Self::Took => answered(204, None),
            Self::Redirects => answered(302, None),
            Self::Fails => answered(500, Some(jiff::SignedDuration::from_hours(24 * 365))),
            Self::Gone => answered(410, None),
            Self::Nothing => Outcome::Failed { class: "timeout".to_owned(), detail: detail() },
            Self::Unsendable => Outcome::Unsendable { what: Unsendable::Signing, detail: detail() },
        }
    }
}

impl Around {
    /// What the machine does about it.
    fn step(&self, world: &World, event: &Event) -> Step {
        let (delivery, endpoint, schedule) = (delivery(world), endpoint(world), schedule());
        (self.step)(&delivery, event, &context(&endpoint, &schedule))
    }

    /// The event for the machine, if any.
    fn event(world: &World, happening: Happening) -> Option<Event> {
        match happening {
            Happening::Due => Some(Event::Due),
            Happening::CancelAsked => Some(Event::Cancelled),
            Happening::ReplayAsked => Some(Event::Replayed),
            Happening::Reported(attempt) => {
                let Attempt::Back(said) = world.attempt(attempt) else { return None };
                Some(Event::Returned { attempt, took_ms: 5, outcome: said.outcome() })
            }
            Happening::TimePasses
            | Happening::Arrives(..)
            | Happening::TakenUnheard(_)
            | Happening::Dies { .. }
            | Happening::SwitchedOff
            | Happening::SwitchedOn
            | Happening::OthersFail
            | Happening::OthersAreTaken
            | Happening::PauseEnds => None,
        }
    }

    fn after(&self, before: &World, happening: Happening) -> Result<World, Broken> {
        let mut world = *before;
        match happening {
            Happening::TimePasses => {
                world.is_time = true;
                // A try of the breaker has the same lease.
                if world.stage == Stage::Delivering && world.breaker == Breaker::Trying {
                    world.breaker = Breaker::Ready;
                }
            }
            Happening::Arrives(attempt, said) => {
                if said == Said::Took {
                    world.was_taken();
                }
                world.set(attempt, Attempt::Back(said));
            }
            Happening::TakenUnheard(attempt) => {
                world.was_taken();
                world.set(attempt, Attempt::Back(Said::Nothing));
            }
            Happening::Dies { attempt, is_taken } => {
                if is_taken {
                    world.was_taken();
                }
                world.set(attempt, Attempt::Over);
            }
            Happening::SwitchedOff => world.power = Power::Off,
            Happening::SwitchedOn => {
                (world.power, world.breaker) = (Power::On, Breaker::Closed);
            }
            Happening::OthersFail => world.breaker = Breaker::Open,
            Happening::OthersAreTaken => world.breaker = Breaker::Closed,
            Happening::PauseEnds => world.breaker = Breaker::Ready,
            Happening::Due
            | Happening::CancelAsked
            | Happening::ReplayAsked
            | Happening::Reported(_) => return self.stepped(before, happening),
        }
        Ok(world)
    }

    /// The machine steps, and the world is as the machine makes it.
    fn stepped(&self, before: &World, happening: Happening) -> Result<World, Broken> {
        let Some(event) = Self::event(before, happening) else { return Ok(*before) };
        let step = self.step(before, &event);
        let mut world = *before;
        let said = match (happening, &event) {
            (Happening::Reported(attempt), Event::Returned { .. }) => {
                world.set(attempt, Attempt::Over);
                let Attempt::Back(said) = before.attempt(attempt) else { return Ok(world) };
                if said == Said::Took {
                    world.taken = Taken::Known;
                }
                Some((said, before.stage == Stage::Delivering && attempt == before.attempts))
            }
            _ => None,
        };
        if said == Some((Said::Gone, true)) {
            let is_heeded = matches!(&step, Step::Moves { sign: Some(HealthSignal::Gone), .. });
            world.power = if is_heeded { Power::Gone } else { Power::Unheeded };
        }
        match &step {
            Step::Stays | Step::Blocked { .. } => {}
            Step::Sends(delivery) => {
                world.take(delivery)?;
                world.set(world.attempts, Attempt::Out);
                world.sent = world.sent.saturating_add(1);
                if world.breaker == Breaker::Ready {
                    world.breaker = Breaker::Trying;
                }
            }
            Step::Moves { delivery, sign } => {
                world.take(delivery)?;
                world.breaker = match (sign, world.breaker) {
                    (Some(HealthSignal::Took), _) => Breaker::Closed,
                    (Some(HealthSignal::Failed), Breaker::Trying) => Breaker::Open,
                    (Some(HealthSignal::Failed | HealthSignal::Gone) | None, breaker) => breaker,
                };
                if happening == Happening::ReplayAsked {
                    world.taken =
                        if world.taken == Taken::Never { Taken::Never } else { Taken::Once };
                    world.sent = 0;
                    world.replays = world.replays.saturating_add(1);
                }
            }
        }
        check::check(before, &world, (&step, said))?;
        Ok(world)
    }

    fn happenings(world: &World) -> Vec<Happening> {
        let mut all = Vec::new();
        let open = world.open();
        if open.len() < OPEN_MAX {
            all.push(Happening::Due);
        }
        for attempt in open {
            all.push(Happening::Dies { attempt, is_taken: false });
            if world.attempt(attempt) != Attempt::Out {
                all.push(Happening::Reported(attempt));
                continue;
            }
            let says = Said::BY_RECEIVERS.into_iter().chain([Said::Nothing, Said::Unsendable]);
            all.extend(says.map(|said| Happening::Arrives(attempt, said)));
            all.push(Happening::TakenUnheard(attempt));
            all.push(Happening::Dies { attempt, is_taken: true });
        }
        let is_on = world.power == Power::On;
        all.push(if is_on { Happening::SwitchedOff } else { Happening::SwitchedOn });
        if !is_on {
            all.push(Happening::CancelAsked);
        }
        if is_on && world.replays < REPLAYS_MAX {
            all.push(Happening::ReplayAsked);
        }
        if !world.is_time {
            all.push(Happening::TimePasses);
        }
        match world.breaker {
            Breaker::Closed => all.push(Happening::OthersFail),
            Breaker::Open => all.extend([Happening::PauseEnds, Happening::OthersAreTaken]),
            Breaker::Ready | Breaker::Trying => all.push(Happening::OthersAreTaken),
        }
        all
    }
}

impl Model for Around {
    type World = World;
    type Happening = Happening;

    fn start(&self) -> World {
        World::new()
    }

    fn next(&self, world: &World) -> Nexts<Happening, World> {
        let all = Self::happenings(world).into_iter();
        all.map(|happening| (happening, self.after(world, happening))).collect()
    }

    fn is_over(&self, world: &World) -> bool {
        world.stage.is_over()
    }

    fn correction(&self, before: &World, after: &World) -> Option<Correction> {
        let has_changed = before.stage.is_over() && before.stage != after.stage;
        has_changed.then(|| (before.stage.status(), after.stage.status()))
    }

    fn narrate(&self, world: &World, happening: &Happening) -> String {
        narrate::narrate(self, world, *happening)
    }

    fn rules(&self) -> Vec<Rule> {
        let own = [Rule::D1, Rule::D2, Rule::D3, Rule::D4, Rule::D5, Rule::D6, Rule::D7, Rule::D8];
        own.into_iter().chain([Rule::L1]).collect()
    }
}
