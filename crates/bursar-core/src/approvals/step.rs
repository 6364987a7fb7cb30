//! The machine of an approval: who may decide, and what becomes of it. It knows nothing of the request.

use jiff::Timestamp;

use super::state::{Approval, Signed, State};
use crate::four_eyes::{Signature, check_second};
use crate::rejection::Rejection;

/// What happens to an approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    Approves {
        by: Signature,
        note: String,
    },
    /// Another person, or the maker, who withdraws it.
    TurnsDown {
        by: Signature,
        note: String,
    },
    Expires,
}

/// What an event leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// The approval after the event.
    To(Approval),
    /// The last signature: the request is carried out in the same commit, or the approval is stale.
    Executes(Approval),
}

/// Every state answers every event.
pub fn step(approval: &Approval, event: &Event, now: Timestamp) -> Result<Step, Rejection> {
    let to = |state: State| Step::To(Approval { state, ..approval.clone() });
    let over = || Rejection::NotProposed { status: approval.state.status() };
    match (&approval.state, event) {
        (State::Proposed, Event::Expires) => Ok(to(State::Expired)),
        (State::Proposed, Event::Approves { .. } | Event::TurnsDown { .. })
            if approval.expires_at <= now =>
        {
            Ok(to(State::Expired))
        }
        (State::Proposed, Event::Approves { by, note }) => {
            let approval = sign(approval, by, note, now)?;
            if is_complete(&approval) {
                Ok(Step::Executes(approval))
            } else {
                Ok(Step::To(approval))
            }
        }
        (State::Proposed, Event::TurnsDown { by, note }) => {
            let is_maker = by.person() == approval.maker.person();
            let is_known = |name: &String| approval.maker.made_by.contains(name);
            if let Some(other) = by.made_by.iter().find(|name| is_maker && !is_known(name)) {
                // Another person made a key in the name of the maker.
                let (actor, other) = (by.actor.clone(), other.clone());
                return Err(Rejection::CreatorInvolved { actor, other });
            }
            if !is_maker && !by.is_approver {
                return Err(Rejection::ApproverNeeded { actor: by.actor.clone() });
            }
            let state = if is_maker { State::Withdrawn } else { State::Rejected { result: None } };
            Ok(Step::To(Approval { state, ..signed(approval, by, note, now) }))
        }
        (State::BreakGlass { result }, Event::Approves { by, note }) => {
            let approval = sign(approval, by, note, now)?;
            if !is_complete(&approval) {
                return Ok(Step::To(approval));
            }
            let state = State::Approved { result: result.clone() };
            Ok(Step::To(Approval { state, ..approval }))
        }
        (State::BreakGlass { result }, Event::TurnsDown { by, note }) => {
            let approval = sign(approval, by, note, now)?;
            let state = State::Rejected { result: Some(result.clone()) };
            Ok(Step::To(Approval { state, ..approval }))
        }
        // A break-glass stays open: what was done must be looked at, however late.
        (State::BreakGlass { .. }, Event::Expires)
        | (
            State::Approved { .. }
            | State::Rejected { .. }
            | State::Withdrawn
            | State::Expired
            | State::Stale { .. },
            Event::Approves { .. } | Event::TurnsDown { .. } | Event::Expires,
        ) => Err(over()),
    }
}

/// Whether as many people as it needs have signed, with the maker.
fn is_complete(approval: &Approval) -> bool {
    let people = approval.signed.len().saturating_add(1);
    people >= usize::try_from(approval.quorum).unwrap_or(usize::MAX)
}

/// Adds the signature of an approver who is another person than the maker and every earlier approver.
fn sign(
    approval: &Approval,
    by: &Signature,
    note: &str,
    now: Timestamp,
) -> Result<Approval, Rejection> {
    approval.check_signer(by)?;
    Ok(signed(approval, by, note, now))
}

impl Approval {
    /// Whether this person may sign next.
    pub fn check_signer(&self, by: &Signature) -> Result<(), Rejection> {
        if !by.is_approver {
            return Err(Rejection::ApproverNeeded { actor: by.actor.clone() });
        }
        let earlier = self.signed.iter().map(|signed| &signed.by);
        let mut earlier = earlier.chain([&self.maker]);
        earlier.try_for_each(|first| check_second(first, by))
    }
}

fn signed(approval: &Approval, by: &Signature, note: &str, at: Timestamp) -> Approval {
    let mut approval = approval.clone();
    approval.signed.push(Signed { by: by.clone(), note: note.to_owned(), at });
    approval
}
