//! Requests that are let in: checked as far as they can be without a look at the records.

use std::sync::Arc;

use crate::control::{Scope, Switch, Turned};
use crate::drive::Drive;
use crate::idempotency::Key;
use crate::ids::{PayInId, PayoutId, ReservationId};
use crate::ledger::{Admission, Event, REVERT, Revert};
use crate::payin::{self, NewPayIn};
use crate::payout::{self, Cancellation, NewPayout, Resolution};
use crate::registry::Registration;
use crate::rejection::Rejection;
use crate::request::{Blame, Body, Mail, Report, Request, Told, Wake};
use crate::reservation::{Booking, Decision, NewReservation, Terms};
use crate::rulebook::Bound;
use crate::rules::Rules;

/// A request whose records are known, or one that is refused whatever they say.
#[derive(Debug)]
pub(crate) enum Admitted<'r> {
    Post(Box<Post<'r>>, Admission),
    Revert(Box<TakeBack<'r>>, Admission),
    Reserve(Box<Reserve<'r>>, Admission),
    Decide(&'r Key, &'r Decision, Admission),
    CreatePayout(Box<CreatePayout<'r>>, Admission),
    CancelPayout(&'r Key, &'r Cancellation, Admission),
    ResolvePayout(&'r Key, &'r Resolution, Admission),
    Report(&'r Report, Admission),
    Tell(&'r Told, Admission),
    TakePayIn(Box<TakePayIn<'r>>, Admission),
    Switch(&'r Switch, Admission),
    Register(&'r Registration, Admission),
    Wake(&'r Wake, Admission),
    Mail(&'r Mail, Admission),
    Drive(&'r Drive, Admission),
    SetAside(&'r str, Blame, Admission),
    Refused(Rejection),
}

#[derive(Debug)]
pub(crate) struct Post<'r> {
    pub(crate) bound: Bound<'r>,
    /// Whoever posts it by hand, for the record.
    pub(crate) actor: Option<&'r str>,
}

#[derive(Debug)]
pub(crate) struct TakeBack<'r> {
    pub(crate) revert: Revert,
    pub(crate) actor: Option<&'r str>,
}

#[derive(Debug)]
pub(crate) struct Reserve<'r> {
    pub(crate) key: &'r Key,
    pub(crate) id: ReservationId,
    pub(crate) terms: Terms,
    pub(crate) bound: Bound<'r>,
}

#[derive(Debug)]
pub(crate) struct CreatePayout<'r> {
    pub(crate) key: &'r Key,
    pub(crate) id: PayoutId,
    pub(crate) request_hash: [u8; 32],
    /// What was agreed and how it is reserved, or why there is no such payout. A repeated request is answered as before
    /// even if it could not be made now.
    pub(crate) terms: Result<(Arc<payout::Terms>, Bound<'r>), Rejection>,
    pub(crate) actor: Option<&'r str>,
    /// The workflow that asks, and drives it.
    pub(crate) workflow: Option<&'r str>,
}

#[derive(Debug)]
pub(crate) struct TakePayIn<'r> {
    pub(crate) id: PayInId,
    pub(crate) payin: &'r NewPayIn,
    pub(crate) terms: payin::Terms,
    pub(crate) bound: Bound<'r>,
}

impl<'r> Admitted<'r> {
    pub(crate) fn new(rules: &'r Rules, request: &'r Request) -> Result<Self, Rejection> {
        let admission = request.admission;
        match &request.body {
            Body::Post(event) => Self::post(rules, event, None, admission),
            Body::PostByHand { actor, event } => {
                check_actor(actor)?;
                Self::post(rules, event, Some(actor), admission)
            }
            Body::Reserve { key, reservation } => {
                let reserve = Reserve::new(rules, key, reservation, &admission)?;
                Ok(Self::Reserve(Box::new(reserve), admission))
            }
            Body::Decide { key, decision } => {
                key.check()?;
                check_actor(&decision.actor)?;
                check_note(&decision.note)?;
                Ok(Self::Decide(key, decision, admission))
            }
            Body::CreatePayout { key, payout, actor } => {
                let mut create = CreatePayout::new(rules, key, payout, &admission)?;
                actor.as_deref().map_or(Ok(()), check_actor)?;
                create.actor = actor.as_deref();
                Ok(Self::CreatePayout(Box::new(create), admission))
            }
            Body::CancelPayout { key, cancellation } => {
                key.check()?;
                check_actor(&cancellation.actor)?;
                Ok(Self::CancelPayout(key, cancellation, admission))
            }
            Body::ResolvePayout { key, resolution } => {
                key.check()?;
                check_actor(&resolution.actor)?;
                check_note(&resolution.evidence)?;
                Ok(Self::ResolvePayout(key, resolution, admission))
            }
            Body::Report(report) => Ok(Self::Report(report, admission)),
            Body::Tell(told) => Ok(Self::Tell(told, admission)),
            Body::TakePayIn(payin) => {
                let take = TakePayIn::new(rules, payin, &admission)?;
                Ok(Self::TakePayIn(Box::new(take), admission))
            }
            Body::Register(registration) => {
                check_actor(&registration.actor)?;
                registration.change.check()?;
                Ok(Self::Register(registration, admission))
            }
            Body::Switch(switch) => {
                check_switch(switch)?;
                Ok(Self::Switch(switch, admission))
            }
            Body::Wake(wake) => Ok(Self::Wake(wake, admission)),
            Body::Mail(mail) => {
                if let Mail::Replay { actor, .. } | Mail::Test { actor, .. } = mail {
                    check_actor(actor)?;
                }
                Ok(Self::Mail(mail, admission))
            }
            Body::CreateDrivenPayout { key, payout, workflow } => {
                let mut create = CreatePayout::new(rules, key, payout, &admission)?;
                create.workflow = Some(workflow);
                Ok(Self::CreatePayout(Box::new(create), admission))
            }
            Body::Drive(drive) => {
                check_drive(drive)?;
                Ok(Self::Drive(drive, admission))
            }
            Body::SetAside { lane, blame } => Ok(Self::SetAside(lane, *blame, admission)),
        }
    }

    fn post(
        rules: &'r Rules,
        event: &Event,
        actor: Option<&'r str>,
        admission: Admission,
    ) -> Result<Self, Rejection> {
        if event.name == REVERT {
            let back = TakeBack { revert: Revert::from_event(event)?, actor };
            return Ok(Self::Revert(Box::new(back), admission));
        }
        let rule = rules.rulebook.rule(&event.name)?;
        let bound = rule.bind(&event.reference, &event.variables, event.effective_at)?;
        Ok(Self::Post(Box::new(Post { bound, actor }), admission))
    }

    pub(crate) fn admission(&self) -> Option<&Admission> {
        match self {
            Self::Post(_, admission)
            | Self::Revert(_, admission)
            | Self::Reserve(_, admission)
            | Self::Decide(_, _, admission)
            | Self::CreatePayout(_, admission)
            | Self::CancelPayout(_, _, admission)
            | Self::ResolvePayout(_, _, admission)
            | Self::Report(_, admission)
            | Self::Tell(_, admission)
            | Self::TakePayIn(_, admission)
            | Self::Switch(_, admission)
            | Self::Register(_, admission)
            | Self::Wake(_, admission)
            | Self::Mail(_, admission)
            | Self::Drive(_, admission)
            | Self::SetAside(_, _, admission) => Some(admission),
            Self::Refused(_) => None,
        }
    }
}

impl<'r> Reserve<'r> {
    fn new(
        rules: &'r Rules,
        key: &'r Key,
        reservation: &NewReservation,
        admission: &Admission,
    ) -> Result<Self, Rejection> {
        key.check()?;
        let terms = reservation.terms()?;
        let id = ReservationId::new(admission.now, &admission.seed, 0);
        let rule = rules.rulebook.rule(Booking::Reserve.rule())?;
        let bound = rule.bind(&id.to_string(), &terms.funds, None)?;
        Ok(Self { key, id, terms, bound })
    }
}

impl<'r> CreatePayout<'r> {
    fn new(
        rules: &'r Rules,
        key: &'r Key,
        payout: &NewPayout,
        admission: &Admission,
    ) -> Result<Self, Rejection> {
        key.check()?;
        let request_hash = payout.request_hash()?;
        let id = PayoutId::new(admission.now, &admission.seed, 0);
        let terms = payout.terms(rules).and_then(|terms| {
            let rule = rules.rulebook.rule(Booking::Reserve.rule())?;
            let bound = rule.bind(&id.to_string(), &terms.funds, None)?;
            Ok((Arc::new(terms), bound))
        });
        Ok(Self { key, id, request_hash, terms, actor: None, workflow: None })
    }
}

impl<'r> TakePayIn<'r> {
    fn new(
        rules: &'r Rules,
        payin: &'r NewPayIn,
        admission: &Admission,
    ) -> Result<Self, Rejection> {
        payin.key.as_ref().map_or(Ok(()), Key::check)?;
        payin.actor.as_deref().map_or(Ok(()), check_actor)?;
        let terms = payin.terms(rules)?;
        let id = PayInId::new(admission.now, &admission.seed, 0);
        let rule = rules.rulebook.rule(payin::BOOKING)?;
        let bound = rule.bind(&id.to_string(), &terms.funds, None)?;
        Ok(Self { id, payin, terms, bound })
    }
}

/// What a note may have, at most.
const NOTE_MAX: usize = 1_000;

/// Whatever names a record: nothing that a store could not keep.
pub(crate) fn check_id(id: &str) -> Result<(), Rejection> {
    let is_good = (1..=128).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic());
    if is_good {
        return Ok(());
    }
    let value = id.chars().filter(|letter| !letter.is_control()).take(80).collect();
    Err(Rejection::BadIdentifier { name: "id".into(), value, hyphen: true })
}

fn check_switch(switch: &Switch) -> Result<(), Rejection> {
    check_actor(&switch.actor)?;
    let (Turned::Freeze { reason } | Turned::Unfreeze { reason }) = &switch.turn;
    check_note(reason)?;
    match &switch.scope {
        Scope::Channel(id) | Scope::Merchant(id) => check_id(id),
        Scope::Global => Ok(()),
    }
}

fn check_drive(drive: &Drive) -> Result<(), Rejection> {
    match drive {
        Drive::Refused(refused) => {
            check_actor(&refused.actor)?;
            check_note(&refused.note)
        }
        Drive::Look(_) | Drive::Carry { .. } | Drive::Taken { .. } => Ok(()),
    }
}

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
