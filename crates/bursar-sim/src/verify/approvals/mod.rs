//! Everything that people may do with one proposal: those who propose, approve, turn down, and those who look like two and are
//! one.

mod mutations;

use bursar_core::approvals::{Approval, Event, Preview, Signed, State, Step, step};
use bursar_core::four_eyes::Signature;
use bursar_core::rejection::Rejection;
use jiff::{SignedDuration, Timestamp};

use super::explore::{Broken, Correction, Model, Nexts};
use super::rule::Rule;
use super::{Domain, World as SmallWorld};

pub(super) const DOMAIN: Domain =
    Domain { kind: "approval", worlds: || worlds(step), mutations: mutations::mutations };

type StepFn = fn(&Approval, &Event, Timestamp) -> Result<Step, Rejection>;

/// Proposals of two and of three people, and one that was done by one admin alone.
fn worlds(step: StepFn) -> Vec<SmallWorld> {
    let proposal = |quorum| Around { step, quorum, is_break_glass: false };
    let break_glass = |quorum| Around { step, quorum, is_break_glass: true };
    vec![
        SmallWorld::new("a proposal for two people", proposal(2)),
        SmallWorld::new("a proposal for three people", proposal(3)),
        SmallWorld::new("a break-glass", break_glass(2)),
        SmallWorld::new("a break-glass for three people", break_glass(3)),
    ]
}

#[derive(Debug)]
struct Around {
    step: StepFn,
    quorum: u32,
    is_break_glass: bool,
}

/// Those who may try to decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Person {
    Maker,
    /// The maker with another key, in capitals.
    MakerAgain,
    /// A key that the maker made alone.
    Minted,
    Operator,
    Approver,
    /// The approver with another key.
    ApproverAgain,
    Second,
}

impl Person {
    const ALL: [Self; 7] = [
        Self::Maker,
        Self::MakerAgain,
        Self::Minted,
        Self::Operator,
        Self::Approver,
        Self::ApproverAgain,
        Self::Second,
    ];

    fn signature(self) -> Signature {
        let (actor, is_approver) = match self {
            Self::Maker => ("mia/1", true),
            Self::MakerAgain => ("MIA/2", true),
            Self::Minted => ("puppet/3", true),
            Self::Operator => ("otto/4", false),
            Self::Approver => ("anna/5", true),
            Self::ApproverAgain => ("Anna/6", true),
            Self::Second => ("ben/7", true),
        };
        let made_by = if self == Self::Minted { vec!["mia".to_owned()] } else { Vec::new() };
        Signature { made_by, ..Signature::new(actor, is_approver) }
    }

    /// The place of the key in a set.
    fn key(self) -> u8 {
        let place = Self::ALL.iter().position(|it| *it == self);
        place.and_then(|place| u32::try_from(place).ok()).map_or(0, |place| 1 << place)
    }

    /// The place of the human being behind the key in a set; none for the maker, and for who may not approve.
    const fn bit(self) -> u8 {
        match self {
            Self::Maker | Self::MakerAgain | Self::Minted | Self::Operator => 0,
            Self::Approver | Self::ApproverAgain => 1,
            Self::Second => 2,
        }
    }
}

/// A state without its texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum SmallState {
    Proposed,
    Approved,
    BreakGlass,
    Rejected { was_done: bool },
    Withdrawn,
    Expired,
    Stale,
}

impl SmallState {
    const fn new(state: &State) -> Self {
        match state {
            State::Proposed => Self::Proposed,
            State::Approved { .. } => Self::Approved,
            State::BreakGlass { .. } => Self::BreakGlass,
            State::Rejected { result } => Self::Rejected { was_done: result.is_some() },
            State::Withdrawn => Self::Withdrawn,
            State::Expired => Self::Expired,
            State::Stale { .. } => Self::Stale,
        }
    }

    fn state(self) -> State {
        let result = "done".to_owned();
        match self {
            Self::Proposed => State::Proposed,
            Self::Approved => State::Approved { result },
            Self::BreakGlass => State::BreakGlass { result },
            Self::Rejected { was_done } => State::Rejected { result: was_done.then_some(result) },
            Self::Withdrawn => State::Withdrawn,
            Self::Expired => State::Expired,
            Self::Stale => State::Stale { why: String::new() },
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct World {
    state: SmallState,
    /// Who signed: a set of places in `Person::ALL`.
    signed: u8,
    /// The human beings who have approved: a set.
    approved_by: u8,
    done: u32,
    is_late: bool,
}

#[derive(Debug, Clone, Copy)]
enum Happening {
    Approves(Person),
    TurnsDown(Person),
    /// A day passes.
    Waits,
    Expires,
}

const START: Timestamp = Timestamp::UNIX_EPOCH;
const DAY: SignedDuration = SignedDuration::from_hours(24);

impl Around {
    fn approval(&self, world: World) -> Approval {
        let signed = Person::ALL.iter().filter(|person| world.signed & person.key() != 0);
        let signed =
            signed.map(|person| Signed { by: person.signature(), note: String::new(), at: START });
        Approval {
            action: "ledger.post".to_owned(),
            body: String::new(),
            summary: String::new(),
            maker: Person::Maker.signature(),
            reason: String::new(),
            preview: Preview::default(),
            quorum: self.quorum,
            expires_at: START.saturating_add(DAY).unwrap_or(Timestamp::MAX),
            signed: signed.collect(),
            state: world.state.state(),
        }
    }

    fn after(&self, before: World, happening: Happening) -> Result<World, Broken> {
        let mut world = before;
        let late = START.saturating_add(DAY).unwrap_or(Timestamp::MAX);
        let (note, now) = (String::new(), if before.is_late { late } else { START });
        let (event, person) = match happening {
            Happening::Waits => {
                world.is_late = true;
                return Ok(world);
            }
            Happening::Expires if !before.is_late => return Ok(world),
            Happening::Expires => (Event::Expires, None),
            Happening::Approves(person) => {
                (Event::Approves { by: person.signature(), note }, Some(person))
            }
            Happening::TurnsDown(person) => {
                (Event::TurnsDown { by: person.signature(), note }, Some(person))
            }
        };
        let approval = self.approval(before);
        let Ok(next) = (self.step)(&approval, &event, now) else { return Ok(world) };
        let (next, is_done) = match next {
            Step::To(next) => (next, false),
            Step::Executes(next) => {
                (Approval { state: State::Approved { result: "tx".to_owned() }, ..next }, true)
            }
        };
        if next.signed.len() > approval.signed.len() {
            world.signed |= person.map_or(0, Person::key);
        }
        if let Happening::Approves(person) = happening {
            world.approved_by |= person.bit();
        }
        world.state = SmallState::new(&next.state);
        world.done = world.done.saturating_add(u32::from(is_done));
        self.check(before, world)?;
        Ok(world)
    }

    fn check(&self, before: World, world: World) -> Result<(), Broken> {
        let broken = |rule, what: &str| Err(Broken::new(rule, what));
        let people = world.approved_by.count_ones().saturating_add(1);
        let is_approved = world.state == SmallState::Approved;
        if is_approved && people < self.quorum {
            return broken(Rule::A1, "it was approved by fewer people than it needs");
        }
        if world.done > 1 || (world.done == 1 && self.is_break_glass) {
            return broken(Rule::A2, "it was done again");
        }
        if is_approved && !self.is_break_glass && world.done != 1 {
            return broken(Rule::A2, "it is APPROVED, and was not done");
        }
        if world.done == 1 && !is_approved {
            return broken(Rule::A2, "it was done, and is not APPROVED");
        }
        let is_over = self.is_over(&before);
        if is_over && before.state != world.state {
            return broken(Rule::A2, "it was over, and is decided again");
        }
        if before.is_late && before.state == SmallState::Proposed && is_approved {
            return broken(Rule::A3, "it was approved after a day");
        }
        if self.is_break_glass && world.state.state().result().is_none() {
            return broken(Rule::A2, "it was done, and the approval does not say so any more");
        }
        Ok(())
    }
}

impl Model for Around {
    type World = World;
    type Happening = Happening;

    fn start(&self) -> World {
        let is_done = self.is_break_glass;
        let state = if is_done { SmallState::BreakGlass } else { SmallState::Proposed };
        World { state, signed: 0, approved_by: 0, done: 0, is_late: false }
    }

    fn next(&self, world: &World) -> Nexts<Happening, World> {
        let approves = Person::ALL.map(Happening::Approves).into_iter();
        let turns_down = Person::ALL.map(Happening::TurnsDown);
        let happenings = approves.chain(turns_down).chain([Happening::Waits, Happening::Expires]);
        happenings.map(|happening| (happening, self.after(*world, happening))).collect()
    }

    fn is_over(&self, world: &World) -> bool {
        !world.state.state().is_open()
    }

    fn correction(&self, _: &World, _: &World) -> Option<Correction> {
        None
    }

    fn narrate(&self, _: &World, happening: &Happening) -> String {
        match happening {
            Happening::Approves(person) => format!("{} approves.", person.signature().actor),
            Happening::TurnsDown(person) => {
                format!("{} turns it down.", person.signature().actor)
            }
            Happening::Waits => "A day passes.".to_owned(),
            Happening::Expires => "The proposal is due.".to_owned(),
        }
    }

    fn rules(&self) -> Vec<Rule> {
        vec![Rule::A1, Rule::A2, Rule::A3, Rule::L1]
    }
}
