//! Everything that a provider may report about one pay-in, in every order and repeatedly, and the operator who closes its case.

mod mutations;

use bursar_core::payins::{
    Case, OtherReport, ProviderStatus, State, Step, close_case, keep_report, step,
};
use jiff::Timestamp;

use super::explore::{Broken, Correction, Model, Nexts};
use super::rule::Rule;
use super::{Domain, World as SmallWorld};

pub(super) const DOMAIN: Domain =
    Domain { kind: "payin", worlds: || vec![world(SHIPPED)], mutations: mutations::mutations };

/// The world around a machine, which is the shipped one or has a mistake.
fn world(machine: Machine) -> SmallWorld {
    SmallWorld::new("a pay-in", Around { machine })
}

type StepFn = fn(State, ProviderStatus) -> Step;
type KeepFn = fn(Option<&Case>, OtherReport) -> Option<Case>;

#[derive(Debug, Clone, Copy)]
struct Machine {
    step: StepFn,
    keep: KeepFn,
}

const SHIPPED: Machine = Machine { step, keep: keep_report };

#[derive(Debug)]
struct Around {
    machine: Machine,
}

/// What is reported otherwise: two amounts, and one of them with another status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Other {
    Less,
    More,
    MoreCompleted,
}

impl Other {
    const ALL: [Self; 3] = [Self::Less, Self::More, Self::MoreCompleted];

    /// Its place in a set.
    const fn bit(self) -> u8 {
        match self {
            Self::Less => 1,
            Self::More => 2,
            Self::MoreCompleted => 4,
        }
    }

    const fn amount(self) -> &'static str {
        match self {
            Self::Less => "90.00",
            Self::More | Self::MoreCompleted => "110.00",
        }
    }

    const fn said(self) -> ProviderStatus {
        match self {
            Self::Less | Self::More => ProviderStatus::Pending,
            Self::MoreCompleted => ProviderStatus::Completed,
        }
    }

    fn report(self) -> OtherReport {
        OtherReport {
            merchant: "m1".to_owned(),
            amount: self.amount().to_owned(),
            currency: "PKR".to_owned(),
            said: self.said(),
            event: "e1".to_owned(),
            at: Timestamp::UNIX_EPOCH,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct World {
    state: State,
    booked: u32,
    /// Whether the provider ever said that it was paid, and whether it said otherwise after that.
    was_completed: bool,
    was_denied: bool,
    case: Option<SmallCase>,
    /// What was reported otherwise, and what of it an operator had seen when the case was closed: sets of `Other`.
    others: u8,
    seen: u8,
}

/// A case without what makes no difference: the order of its reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct SmallCase {
    /// A set of `Other`.
    reports: u8,
    is_closed: bool,
}

impl SmallCase {
    fn new(case: &Case) -> Result<Self, Broken> {
        let known = |other: &Other| case.reports.iter().filter(|it| **it == other.report()).count();
        if Other::ALL.iter().any(|other| known(other) > 1) {
            return Err(Broken::new(Rule::P4, "the case has one report twice"));
        }
        let kept = Other::ALL.iter().filter(|other| known(other) == 1);
        let reports = kept.fold(0, |reports, other| reports | other.bit());
        Ok(Self { reports, is_closed: case.is_closed })
    }

    fn case(self) -> Case {
        let kept = Other::ALL.into_iter().filter(|other| self.reports & other.bit() != 0);
        Case { reports: kept.map(Other::report).collect(), is_closed: self.is_closed }
    }
}

#[derive(Debug, Clone, Copy)]
enum Happening {
    Says(ProviderStatus),
    SaysOther(Other),
    Closes,
}

impl Around {
    fn after(&self, before: &World, happening: Happening) -> Result<World, Broken> {
        let mut world = *before;
        let case = before.case.map(SmallCase::case);
        match happening {
            Happening::Says(said) => self.says(&mut world, said)?,
            Happening::SaysOther(other) => {
                world.others |= other.bit();
                if let Some(kept) = (self.machine.keep)(case.as_ref(), other.report()) {
                    world.case = Some(SmallCase::new(&kept)?);
                }
            }
            Happening::Closes => {
                if let Some(closed) = close_case(case.as_ref()) {
                    world.case = Some(SmallCase::new(&closed)?);
                }
                world.seen = world.others;
            }
        }
        check(&world)?;
        Ok(world)
    }

    fn says(&self, world: &mut World, said: ProviderStatus) -> Result<(), Broken> {
        match said {
            ProviderStatus::Pending => {}
            ProviderStatus::Completed => world.was_completed = true,
            ProviderStatus::Failed => world.was_denied |= world.was_completed,
        }
        if let Step::Moves { state, is_booked } = (self.machine.step)(world.state, said) {
            if state == world.state {
                let what = "nothing has changed, and an event is emitted";
                return Err(Broken::new(Rule::I16, what));
            }
            world.state = state;
            world.booked = world.booked.saturating_add(u32::from(is_booked));
        }
        Ok(())
    }
}

fn check(world: &World) -> Result<(), Broken> {
    let broken = |rule, what: &str| Err(Broken::new(rule, what));
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
        return broken(Rule::P3, "the provider denies what was booked, and it is not CONTRADICTED");
    }
    if world.case.map_or(0, |case| case.reports) != world.others {
        return broken(Rule::P4, "another amount was reported, and the case does not have it");
    }
    let is_open = world.case.is_some_and(|case| !case.is_closed);
    if is_open != (world.others != world.seen) {
        let what = "the case is not open exactly as long as an operator has not seen all of it";
        return broken(Rule::P4, what);
    }
    Ok(())
}

impl Model for Around {
    type World = World;
    type Happening = Happening;

    /// The first word finds it as if it were pending.
    fn start(&self) -> World {
        World {
            state: State::Pending,
            booked: 0,
            was_completed: false,
            was_denied: false,
            case: None,
            others: 0,
            seen: 0,
        }
    }

    fn next(&self, world: &World) -> Nexts<Happening, World> {
        let says = ProviderStatus::ALL.map(Happening::Says).into_iter();
        let happenings = says.chain(Other::ALL.map(Happening::SaysOther));
        let happenings = happenings.chain([Happening::Closes]);
        happenings.map(|happening| (happening, self.after(world, happening))).collect()
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

    fn narrate(&self, world: &World, happening: &Happening) -> String {
        let said = match happening {
            Happening::Says(said) => *said,
            Happening::SaysOther(other) => {
                let (amount, says) = (other.amount(), says(other.said()));
                let case = world.case.map(SmallCase::case);
                let kept = match (self.machine.keep)(case.as_ref(), other.report()) {
                    Some(case) if !case.is_closed => "Bursar keeps it, and the case is open",
                    Some(_) => "Bursar keeps it, and the case is closed",
                    None => "Bursar does nothing",
                };
                return format!("The provider says: {amount} instead of 100.00 {says}. {kept}.");
            }
            Happening::Closes => return "An operator closes the case, if it is open.".to_owned(),
        };
        let says = says(said);
        match (self.machine.step)(world.state, said) {
            Step::Stays => format!("The provider says: it {says}."),
            Step::Moves { state, is_booked } => {
                let books = if is_booked { " and credits the merchant" } else { "" };
                format!("The provider says: it {says}. Bursar makes it {}{books}.", state.status())
            }
        }
    }

    fn rules(&self) -> Vec<Rule> {
        vec![Rule::I16, Rule::P1, Rule::P2, Rule::P3, Rule::P4, Rule::L1]
    }
}

const fn says(status: ProviderStatus) -> &'static str {
    match status {
        ProviderStatus::Pending => "is on its way",
        ProviderStatus::Completed => "was paid",
        ProviderStatus::Failed => "has failed",
    }
}
