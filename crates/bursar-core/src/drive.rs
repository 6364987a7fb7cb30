//! For a host outside, whose workflows drive flows: what it asks, what it is answered, and what to do next. It decides
//! nothing: the same steps are made as when the embedded engine wakes a flow.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::delivery::{self, Parcel};
use crate::effect::Effect;
use crate::flow::{Flow, FlowState};
use crate::host::{Errand, Taken};
use crate::ids::{FlowId, Seed};
use crate::payout::{self, Booking};
use crate::rejection::Rejection;
use crate::request::{Busy, News};
use crate::rules::Rules;

#[derive(Debug, Clone)]
pub enum Drive {
    /// The workflow of a flow looks at it.
    Look(Look),
    /// The relay takes what waits for the cluster in this lane.
    Carry { lane: String, limit: u32 },
    /// The cluster has taken these.
    Taken { flows: BTreeMap<FlowId, Taken> },
    /// What somebody wanted through the cluster was refused: that goes on the record.
    Refused(Refused),
}

#[derive(Debug, Clone)]
pub struct Refused {
    pub actor: String,
    pub action: String,
    pub resource: String,
    pub note: String,
}

#[derive(Debug, Clone)]
pub struct Look {
    pub flow: FlowId,
    /// What came of a job, if one was done.
    pub news: Option<News>,
    /// Whether a job may begin, and how much is on its way to the endpoint.
    pub hands: Option<Busy>,
}

/// Where a flow stands once its workflow has looked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Driven {
    pub flow: Flow,
    /// What is to be done now, before its lease ends or not at all.
    pub job: Option<Job>,
    /// None if nothing will happen by itself.
    pub next: Option<Next>,
    /// Somebody is to be told of what has happened.
    pub tells: bool,
    /// It was not begun, because the endpoint takes no more at the moment.
    pub is_full: bool,
    /// Why what must be done was not done. Somebody must look.
    pub refused: Option<Rejection>,
}

impl Driven {
    /// Somebody else drives it.
    pub(crate) const fn watched(flow: Flow, next: Option<Next>) -> Self {
        Self { flow, job: None, next, tells: false, is_full: false, refused: None }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Job {
    Call(Effect),
    Send(Box<Parcel>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Next {
    pub at: Timestamp,
    pub r#move: Move,
}

/// What the next look at a flow comes to, as far as anybody can tell before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Move {
    Submit,
    Ask,
    Settle,
    Release,
    Stick,
    Deliver,
    Bury,
    /// Something is taken note of, or nothing happens.
    Note,
}

/// Something that the relay is to tell the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Carried {
    pub flow: Flow,
    pub workflow: String,
    pub errand: Errand,
}

impl Move {
    /// Whether the world is touched: then it is a job.
    pub const fn is_job(self) -> bool {
        match self {
            Self::Submit | Self::Ask | Self::Deliver => true,
            Self::Settle | Self::Release | Self::Stick | Self::Bury | Self::Note => false,
        }
    }

    const fn of_step(step: &payout::Step) -> Self {
        match step.effect {
            Some(payout::Effect::Submit { .. }) => return Self::Submit,
            Some(payout::Effect::Query { .. }) => return Self::Ask,
            None => {}
        }
        match step.bookings.as_slice() {
            [] | [Booking::Reserve, ..] => {}
            [Booking::Settle | Booking::TakeBackRelease | Booking::Return, ..] => {
                return Self::Settle;
            }
            [Booking::Release, ..] => return Self::Release,
        }
        match step.payout.state {
            payout::State::Stuck { wait: payout::Wait::Until(_), .. } => Self::Stick,
            payout::State::Scheduled { .. }
            | payout::State::Ready { .. }
            | payout::State::Submitting { .. }
            | payout::State::Unconfirmed { .. }
            | payout::State::Processing { .. }
            | payout::State::Stuck { .. }
            | payout::State::Success
            | payout::State::Failed { .. }
            | payout::State::Cancelled
            | payout::State::Returned
            | payout::State::LateSuccess => Self::Note,
        }
    }
}

/// A flow that the engine drives is only watched, now and then.
const WATCH: SignedDuration = SignedDuration::from_secs(30);

impl Next {
    /// What whoever drives this flow does next.
    pub fn new(rules: &Rules, flow: &Flow, now: Timestamp) -> Option<Self> {
        let at = flow.step_at().filter(|_| flow.is_live())?;
        if flow.host.is_engine() {
            let at = now.saturating_add(WATCH).unwrap_or(Timestamp::MAX);
            return Some(Self { at, r#move: Move::Note });
        }
        let r#move = match &flow.state {
            FlowState::Payout(_) => moves(rules, flow, &payout::Event::Due, at),
            FlowState::Delivery(delivery) if delivery.state.is_waiting() => Move::Deliver,
            FlowState::Delivery(_) | FlowState::Reservation(_) | FlowState::PayIn(_) => Move::Note,
        };
        Some(Self { at, r#move })
    }
}

/// What taking this news comes to, if nobody else has changed the flow meanwhile.
pub fn foresee(rules: &Rules, flow: &Flow, news: &News, now: Timestamp) -> Move {
    match (news, &flow.state) {
        (News::Payout(event), FlowState::Payout(_)) => moves(rules, flow, event, now),
        (News::Delivery(event), FlowState::Delivery(delivery)) => {
            if delivery::is_buried_by(delivery, event, &rules.deliveries) {
                Move::Bury
            } else {
                Move::Note
            }
        }
        (
            News::Payout(_),
            FlowState::Delivery(_) | FlowState::Reservation(_) | FlowState::PayIn(_),
        )
        | (
            News::Delivery(_),
            FlowState::Payout(_) | FlowState::Reservation(_) | FlowState::PayIn(_),
        ) => Move::Note,
    }
}

/// The step is made in vain, to see what it would be.
fn moves(rules: &Rules, flow: &Flow, event: &payout::Event, now: Timestamp) -> Move {
    let payout = flow.state.payout();
    let channel = payout.and_then(|payout| rules.channels.get(&payout.terms.channel));
    let (Some(payout), Some(channel)) = (payout, channel) else { return Move::Note };
    let (seed, name) = (Seed::new([0; 16]), flow.name());
    let context = payout::Context { now, seed, name: &name, channel, is_frozen: false };
    match payout::advance(payout, event, &context) {
        Ok(Some(advance)) => Move::of_step(&advance.step),
        Ok(None) | Err(_) => Move::Note,
    }
}
