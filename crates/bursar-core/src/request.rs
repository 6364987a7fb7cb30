//! Everything that may enter, and the batch that one turn decides.

use crate::attempt::Evidence;
use crate::control::{Switch, Turned};
use crate::idempotency::{FlowReply, Key};
use crate::ids::{CommitId, FlowId, PayInId, PayoutId, ReservationId, Seed, TransactionId};
use crate::ledger::{Admission, Event, Posted, REVERT, Revert};
use crate::payin::{self, NewPayIn};
use crate::payout::{self, Cancellation, NewPayout, Resolution};
use crate::registry::{Record, Registration};
use crate::rejection::Rejection;
use crate::reservation::{Booking, Decision, NewReservation, Terms};
use crate::rulebook::Bound;
use crate::rules::Rules;

/// Something that Bursar is asked to do, with the time and the seed it was admitted with.
#[derive(Debug, Clone)]
pub struct Request {
    pub admission: Admission,
    pub body: Body,
}

#[derive(Debug, Clone)]
pub enum Body {
    /// Something happened that the ledger must know.
    Post(Event),
    /// Put a merchant's money aside.
    Reserve {
        key: Key,
        reservation: NewReservation,
    },
    /// Settle or release what was put aside.
    Decide {
        key: Key,
        decision: Decision,
    },
    /// Pay somebody.
    CreatePayout {
        key: Key,
        payout: NewPayout,
    },
    CancelPayout {
        key: Key,
        cancellation: Cancellation,
    },
    /// Decide about a payout that is stuck.
    ResolvePayout {
        key: Key,
        resolution: Resolution,
    },
    /// An effect has come back.
    Report(Report),
    /// A channel says something about a reference.
    Tell(Told),
    /// A provider says something about a pay-in.
    TakePayIn(NewPayIn),
    /// Freeze or unfreeze.
    Switch(Switch),
    /// Make or change a merchant, a beneficiary or a key.
    Register(Registration),
    /// Time has passed: flows may be due.
    Wake(Wake),
    /// Waking the first due flow of this lane makes turns fail: it is not stepped, only put off.
    SetAside {
        lane: String,
    },
}

/// What became of an effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    pub flow: FlowId,
    pub event: payout::Event,
}

/// What a channel says, by the reference that it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    pub channel: String,
    pub reference: String,
    pub evidence: Evidence,
}

/// Which flows to wake, at most how many.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wake {
    pub lane: String,
    pub limit: u32,
}

/// What a request is answered with.
pub type Answer = Result<Reply, Rejection>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    Posted(Posted),
    Flow {
        reply: Box<FlowReply>,
        /// It had been answered before; nothing was done again.
        is_replay: bool,
    },
    Woken(Woken),
    /// It was taken note of; this is where the flow stands now.
    Noted {
        name: String,
        status: &'static str,
    },
    Registered {
        record: Box<Record>,
        /// It was made by this request.
        is_new: bool,
    },
}

/// The flows whose time had come, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Woken {
    pub flows: Vec<String>,
    /// What they must do was refused, and they were set aside for a while. Somebody must look at these.
    pub refused: Vec<(String, Rejection)>,
}

/// Requests that are decided together. Where batches are cut changes no answer.
#[derive(Debug)]
pub struct Batch<'r> {
    rules: &'r Rules,
    requests: Vec<Admitted<'r>>,
}

/// A request whose records are known, or one that is refused whatever they say.
#[derive(Debug)]
pub(crate) enum Admitted<'r> {
    Post(Box<Bound<'r>>, Admission),
    Revert(Revert, Admission),
    Reserve(Box<Reserve<'r>>, Admission),
    Decide(Box<Decide>, Admission),
    CreatePayout(Box<CreatePayout<'r>>, Admission),
    CancelPayout(Box<Cancel>, Admission),
    ResolvePayout(Box<Resolve>, Admission),
    Report(Box<Report>, Admission),
    Tell(Box<Told>, Admission),
    TakePayIn(Box<TakePayIn<'r>>, Admission),
    Switch(Box<Switch>, Admission),
    Register(Box<Registration>, Admission),
    Wake(Wake, Admission),
    SetAside(String, Admission),
    Refused(Rejection),
}

#[derive(Debug)]
pub(crate) struct Reserve<'r> {
    pub(crate) key: Key,
    pub(crate) id: ReservationId,
    pub(crate) terms: Terms,
    pub(crate) bound: Bound<'r>,
}

#[derive(Debug)]
pub(crate) struct CreatePayout<'r> {
    pub(crate) key: Key,
    pub(crate) id: PayoutId,
    pub(crate) request_hash: [u8; 32],
    /// What was agreed and how it is reserved, or why there is no such payout. A repeated request is answered as before
    /// even if it could not be made now.
    pub(crate) terms: Result<(payout::Terms, Bound<'r>), Rejection>,
}

#[derive(Debug)]
pub(crate) struct TakePayIn<'r> {
    pub(crate) id: PayInId,
    pub(crate) payin: NewPayIn,
    pub(crate) terms: payin::Terms,
    pub(crate) bound: Bound<'r>,
}

#[derive(Debug)]
pub(crate) struct Cancel {
    pub(crate) key: Key,
    pub(crate) cancellation: Cancellation,
}

#[derive(Debug)]
pub(crate) struct Resolve {
    pub(crate) key: Key,
    pub(crate) resolution: Resolution,
}

#[derive(Debug)]
pub(crate) struct Decide {
    pub(crate) key: Key,
    pub(crate) decision: Decision,
}

impl<'r> Batch<'r> {
    pub fn new(rules: &'r Rules, requests: &[Request]) -> Self {
        let admit =
            |request: &Request| Admitted::new(rules, request).unwrap_or_else(Admitted::Refused);
        Self { rules, requests: requests.iter().map(admit).collect() }
    }

    /// Names one run of the turn that decides exactly these requests, so that a commit of unknown outcome can be looked
    /// up. None if every request is refused without a look at the records.
    pub fn commit_id(&self, run: u64) -> Option<CommitId> {
        let admissions = || self.requests.iter().filter_map(Admitted::admission);
        let first = admissions().next()?;
        let seed = Seed::join(admissions().map(|admission| &admission.seed));
        Some(CommitId::new(first.now, &seed, run))
    }

    pub(crate) fn rules(&self) -> &'r Rules {
        self.rules
    }

    pub(crate) fn requests(&self) -> &[Admitted<'r>] {
        &self.requests
    }

    /// The transactions that the batch asks to take back.
    pub(crate) fn reverted(&self) -> impl Iterator<Item = TransactionId> {
        self.requests.iter().filter_map(|request| match request {
            Admitted::Revert(revert, _) => Some(revert.id),
            Admitted::Post(..)
            | Admitted::Reserve(..)
            | Admitted::Decide(..)
            | Admitted::CreatePayout(..)
            | Admitted::CancelPayout(..)
            | Admitted::ResolvePayout(..)
            | Admitted::Report(..)
            | Admitted::Tell(..)
            | Admitted::TakePayIn(..)
            | Admitted::Switch(..)
            | Admitted::Register(..)
            | Admitted::Wake(..)
            | Admitted::SetAside(..)
            | Admitted::Refused(_) => None,
        })
    }

    /// Whether nothing is stepped: then whatever makes a step fail is not even looked at.
    pub(crate) fn only_sets_aside(&self) -> bool {
        self.requests.iter().all(|request| matches!(request, Admitted::SetAside(..)))
    }
}

impl<'r> Admitted<'r> {
    fn new(rules: &'r Rules, request: &Request) -> Result<Self, Rejection> {
        let rulebook = &rules.rulebook;
        let admission = request.admission;
        match &request.body {
            Body::Post(event) if event.name == REVERT => {
                Ok(Self::Revert(Revert::from_event(event)?, admission))
            }
            Body::Post(event) => {
                let rule = rulebook.rule(&event.name)?;
                let bound = rule.bind(&event.reference, &event.variables, event.effective_at)?;
                Ok(Self::Post(Box::new(bound), admission))
            }
            Body::Reserve { key, reservation } => {
                key.check()?;
                let terms = reservation.terms()?;
                let id = ReservationId::new(admission.now, &admission.seed, 0);
                let rule = rulebook.rule(Booking::Reserve.rule())?;
                let bound = rule.bind(&id.to_string(), &terms.funds.variables(rule), None)?;
                let reserve = Reserve { key: key.clone(), id, terms, bound };
                Ok(Self::Reserve(Box::new(reserve), admission))
            }
            Body::Decide { key, decision } => {
                key.check()?;
                check_actor(&decision.actor)?;
                check_note(&decision.note)?;
                let decide = Decide { key: key.clone(), decision: decision.clone() };
                Ok(Self::Decide(Box::new(decide), admission))
            }
            Body::CreatePayout { key, payout } => {
                key.check()?;
                let request_hash = payout.request_hash()?;
                let id = PayoutId::new(admission.now, &admission.seed, 0);
                let terms = payout.terms(rules).and_then(|terms| {
                    let rule = rulebook.rule(Booking::Reserve.rule())?;
                    let bound = rule.bind(&id.to_string(), &terms.funds.variables(rule), None)?;
                    Ok((terms, bound))
                });
                let create = CreatePayout { key: key.clone(), id, request_hash, terms };
                Ok(Self::CreatePayout(Box::new(create), admission))
            }
            Body::CancelPayout { key, cancellation } => {
                key.check()?;
                check_actor(&cancellation.actor)?;
                let cancel = Cancel { key: key.clone(), cancellation: cancellation.clone() };
                Ok(Self::CancelPayout(Box::new(cancel), admission))
            }
            Body::ResolvePayout { key, resolution } => {
                key.check()?;
                check_actor(&resolution.actor)?;
                check_note(&resolution.evidence)?;
                let resolve = Resolve { key: key.clone(), resolution: resolution.clone() };
                Ok(Self::ResolvePayout(Box::new(resolve), admission))
            }
            Body::Report(report) => Ok(Self::Report(Box::new(report.clone()), admission)),
            Body::Tell(told) => Ok(Self::Tell(Box::new(told.clone()), admission)),
            Body::TakePayIn(payin) => {
                payin.key.as_ref().map_or(Ok(()), Key::check)?;
                let terms = payin.terms(rules)?;
                let id = PayInId::new(admission.now, &admission.seed, 0);
                let rule = rulebook.rule(payin::BOOKING)?;
                let variables = terms.funds.variables(rule);
                let bound = rule.bind(&terms.booking_reference(), &variables, None)?;
                let take = TakePayIn { id, payin: payin.clone(), terms, bound };
                Ok(Self::TakePayIn(Box::new(take), admission))
            }
            Body::Register(registration) => {
                check_actor(&registration.actor)?;
                registration.change.check()?;
                Ok(Self::Register(Box::new(registration.clone()), admission))
            }
            Body::Switch(switch) => {
                check_actor(&switch.actor)?;
                if let Turned::Freeze { reason } = &switch.turn {
                    check_note(reason)?;
                }
                Ok(Self::Switch(Box::new(switch.clone()), admission))
            }
            Body::Wake(wake) => Ok(Self::Wake(wake.clone(), admission)),
            Body::SetAside { lane } => Ok(Self::SetAside(lane.clone(), admission)),
        }
    }

    fn admission(&self) -> Option<&Admission> {
        match self {
            Self::Post(_, admission)
            | Self::Revert(_, admission)
            | Self::Reserve(_, admission)
            | Self::Decide(_, admission)
            | Self::CreatePayout(_, admission)
            | Self::CancelPayout(_, admission)
            | Self::ResolvePayout(_, admission)
            | Self::Report(_, admission)
            | Self::Tell(_, admission)
            | Self::TakePayIn(_, admission)
            | Self::Switch(_, admission)
            | Self::Register(_, admission)
            | Self::Wake(_, admission)
            | Self::SetAside(_, admission) => Some(admission),
            Self::Refused(_) => None,
        }
    }
}

/// What a note may have, at most.
const NOTE_MAX: usize = 1_000;

fn check_actor(actor: &str) -> Result<(), Rejection> {
    let length = actor.chars().take(65).count();
    let is_named = (1..=64).contains(&length) && actor.trim() == actor;
    if is_named && !actor.contains(char::is_control) { Ok(()) } else { Err(Rejection::BadActor) }
}

fn check_note(note: &str) -> Result<(), Rejection> {
    if note.chars().count() > NOTE_MAX || note.contains('\0') {
        return Err(Rejection::BadNote { most: NOTE_MAX });
    }
    Ok(())
}
