//! Everything that may happen to one reservation: people ask, time passes, and processes wake it again and again.

use bursar_core::ids::{ReservationId, Seed};
use bursar_core::rejection::Rejection;
use bursar_core::reservation::{Booking, Event, Reservation, State, Step, Terms};
use jiff::Timestamp;

use super::explore::{Broken, Correction, Model, Nexts};
use super::funds::funds;
use super::rule::Rule;

pub(super) type StepFn =
    fn(ReservationId, &Reservation, Event, Timestamp) -> Result<Step, Rejection>;

#[derive(Debug)]
pub(super) struct Around {
    pub(super) step: StepFn,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct World {
    state: State,
    is_held: bool,
    is_late: bool,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Happening {
    TimePasses,
    Event(Event),
}

impl Around {
    fn step(&self, world: World, event: Event) -> Option<(State, Booking)> {
        let (now, expires_at) = (Timestamp::UNIX_EPOCH, Timestamp::MAX);
        let reservation =
            Reservation { terms: Terms { funds: funds(), expires_at }, state: world.state };
        let id = ReservationId::new(now, &Seed::from(7), 0);
        let now = if world.is_late { expires_at } else { now };
        match (self.step)(id, &reservation, event, now) {
            Ok(Step::Moves { state, booking }) => Some((state, booking)),
            Ok(Step::Stays) | Err(_) => None,
        }
    }

    fn after(&self, before: World, happening: Happening) -> Result<World, Broken> {
        let broken = |rule, what: &str| Err(Broken::new(rule, what));
        let event = match happening {
            Happening::TimePasses => return Ok(World { is_late: true, ..before }),
            Happening::Event(event) => event,
        };
        let Some((state, booking)) = self.step(before, event) else { return Ok(before) };
        let mut world = World { state, ..before };
        match booking {
            Booking::Reserve => return broken(Rule::I1, "it was reserved again"),
            Booking::Settle | Booking::Release if !world.is_held => {
                return broken(Rule::I1, "the hold had ended, and ends again");
            }
            Booking::Release if event == Event::Due && !world.is_late => {
                return broken(Rule::R1, "nobody asked, and its time has not come");
            }
            Booking::Settle | Booking::Release => world.is_held = false,
        }
        if before.state.is_final() {
            return broken(Rule::I10, "it was over, and is something else");
        }
        if world.state.is_final() == world.is_held {
            return broken(Rule::I7, "it is over and money is on hold, or neither");
        }
        if world.state == before.state {
            return broken(Rule::I16, "nothing has changed, and it is told");
        }
        Ok(world)
    }
}

impl Model for Around {
    type World = World;
    type Happening = Happening;

    fn start(&self) -> World {
        World { state: State::Held, is_held: true, is_late: false }
    }

    fn next(&self, world: &World) -> Nexts<Happening, World> {
        let events = Event::ALL.into_iter().map(Happening::Event);
        let happenings = events.chain([Happening::TimePasses]);
        happenings.map(|happening| (happening, self.after(*world, happening))).collect()
    }

    fn is_over(&self, world: &World) -> bool {
        world.state.is_final()
    }

    fn correction(&self, before: &World, after: &World) -> Option<Correction> {
        let has_changed = self.is_over(before) && before.state != after.state;
        has_changed.then(|| (before.state.status(), after.state.status()))
    }

    fn tell(&self, world: &World, happening: &Happening) -> String {
        let (happens, event) = match happening {
            Happening::TimePasses => return "Its time comes.".to_owned(),
            Happening::Event(event @ Event::SettlementAsked) => ("Somebody settles it.", *event),
            Happening::Event(event @ Event::ReleaseAsked) => ("Somebody releases it.", *event),
            Happening::Event(event @ Event::Due) => ("It is woken.", *event),
        };
        match self.step(*world, event) {
            Some((state, booking)) => {
                let books = match booking {
                    Booking::Reserve => "puts money aside",
                    Booking::Settle => "books the money out",
                    Booking::Release => "gives the money back",
                };
                format!("{happens} Bursar makes it {} and {books}.", state.status())
            }
            None => happens.to_owned(),
        }
    }

    fn rules(&self) -> Vec<Rule> {
        vec![Rule::I1, Rule::I7, Rule::I10, Rule::I16, Rule::R1, Rule::L1]
    }
}
