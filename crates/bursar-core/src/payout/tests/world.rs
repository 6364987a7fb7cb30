//! A small world around one payout: a channel that is slow, silent and repeats itself, a process that dies, people who
//! decide. It keeps its own books, and says what must never happen.

use std::collections::BTreeSet;

use super::*;
use crate::rejection::Rejection;

pub(super) type StepFn = fn(&Payout, &Event, &Context<'_>) -> Result<Step, Rejection>;

/// What the channel has really done with a reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Truth {
    Nothing,
    /// On its way: the channel will see it, and nobody can stop it.
    InTransit,
    Pending,
    Paid,
    Failed,
    Returned,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct World {
    pub(super) payout: Payout,
    pub(super) truths: Vec<Truth>,
    /// Whether the channel ever took it, for callbacks that come late.
    was_pending: Vec<bool>,
    /// A submission that was saved and has not been sent, and may still be.
    unsent: Option<(u32, u32)>,
    /// Submissions that were not sent, and whose process may still say so.
    not_sent: BTreeSet<(u32, u32)>,
    is_held: bool,
}

/// Something that may happen next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Happening {
    Send,
    /// The process gives up before the first byte, and can prove it.
    GiveUp,
    Process {
        attempt: u32,
        becomes: Truth,
    },
    /// Something reaches us.
    Event(Event),
    /// Time passes, far.
    Late,
}

impl World {
    pub(super) fn new() -> Self {
        Self {
            payout: payout(State::Ready { not_before: at(0) }, 0),
            truths: vec![Truth::Nothing],
            was_pending: vec![false],
            unsent: None,
            not_sent: BTreeSet::new(),
            is_held: true,
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.payout.state.is_final()
    }

    fn truth(&self, attempt: u32) -> Truth {
        self.truths[usize::try_from(attempt).unwrap() - 1]
    }

    fn may_still_be_paid(&self) -> bool {
        self.unsent.is_some()
            || self.truths.iter().any(|truth| matches!(truth, Truth::InTransit | Truth::Pending))
    }

    fn is_paid(&self) -> bool {
        self.truths.iter().any(|truth| matches!(truth, Truth::Paid | Truth::Returned))
    }

    /// Everything that may happen next.
    pub(super) fn happenings(&self, channel: &Channel) -> Vec<Happening> {
        let mut found = vec![Happening::Event(Event::Due), Happening::Event(Event::CancelAsked)];
        if matches!(self.payout.state, State::Processing { .. }) {
            found.push(Happening::Late);
        }
        if self.unsent.is_some() {
            found.extend([Happening::Send, Happening::GiveUp]);
        }
        for (attempt, r#try) in self.not_sent.iter().copied() {
            let outcome = Outcome::NotSent { detail: String::new() };
            found.push(Happening::Event(Event::Submitted { attempt, r#try, outcome }));
        }
        for attempt in &self.payout.attempts {
            self.about(attempt, channel, &mut found);
        }
        if matches!(self.payout.state, State::Stuck { .. }) {
            found.extend(self.honest_decisions());
        }
        found
    }

    /// What the channel may do with an attempt, and say about it: now, again, or late.
    fn about(&self, attempt: &Attempt, channel: &Channel, found: &mut Vec<Happening>) {
        let number = attempt.number;
        let truth = self.truth(number);
        let becomes: &[Truth] = match truth {
            Truth::InTransit => &[Truth::Pending, Truth::Paid, Truth::Failed],
            Truth::Pending => &[Truth::Paid, Truth::Failed],
            Truth::Paid => &[Truth::Returned],
            Truth::Nothing | Truth::Failed | Truth::Returned => &[],
        };
        found.extend(
            becomes.iter().map(|becomes| Happening::Process { attempt: number, becomes: *becomes }),
        );
        let mut says = Vec::new();
        if self.was_pending[usize::try_from(number).unwrap() - 1] {
            says.push(Verdict::Accepted);
        }
        match truth {
            Truth::Nothing | Truth::InTransit | Truth::Pending => {}
            Truth::Paid => says.push(Verdict::Paid),
            Truth::Failed => {
                says.extend([true, false].map(|is_retryable| Verdict::NotPaid { is_retryable }));
            }
            Truth::Returned => says.extend([Verdict::Paid, Verdict::Returned]),
        }
        found.extend(says.into_iter().map(|verdict| {
            let evidence = Evidence::new(Source::Callback, verdict);
            Happening::Event(Event::Told { attempt: number, evidence })
        }));
        let is_asked = matches!(
            self.payout.state,
            State::Unconfirmed { wait: Wait::Asking { .. }, .. }
                | State::Processing { wait: Wait::Asking { .. }, .. }
                | State::Stuck { wait: Wait::Asking { .. }, .. }
        );
        if is_asked && self.payout.latest() == Some(attempt) {
            let failed = Answer::Failed { detail: String::new() };
            let answer = match truth {
                // A channel whose “not found” is final shows what is on its way within its window.
                Truth::InTransit if channel.not_found_is_final => failed.clone(),
                Truth::Nothing | Truth::InTransit => Answer::NotFound,
                Truth::Pending => Answer::Pending { provider_reference: None },
                Truth::Paid => Answer::Paid { provider_reference: None },
                Truth::Failed => Answer::NotPaid { is_retryable: false, detail: String::new() },
                Truth::Returned => Answer::Returned { detail: String::new() },
            };
            for answer in [answer, failed] {
                found.push(Happening::Event(Event::Queried { attempt: number, answer }));
            }
        }
    }

    /// People decide what is true.
    fn honest_decisions(&self) -> Vec<Happening> {
        let mut rulings = vec![Ruling::KeepWaiting];
        if self.is_paid() {
            rulings.push(Ruling::ConfirmPaid);
        } else if !self.may_still_be_paid() {
            rulings.push(Ruling::ConfirmNotPaid);
            // Enough for everything that two attempts can do to each other.
            rulings.extend((self.truths.len() < 2).then_some(Ruling::NewAttempt));
        }
        let decided = |ruling| {
            let (actor, evidence) = ("ops".to_owned(), "looked".to_owned());
            Happening::Event(Event::Decided(Decision { ruling, actor, evidence, needs_two: false }))
        };
        rulings.into_iter().map(decided).collect()
    }

    /// The world afterwards, or what must never happen.
    pub(super) fn after(
        &self,
        happening: &Happening,
        channel: &Channel,
        step: StepFn,
    ) -> Result<Self, String> {
        let mut world = self.clone();
        match happening {
            Happening::Send => {
                let (attempt, _) = world.unsent.take().unwrap();
                let index = usize::try_from(attempt).unwrap() - 1;
                if world.truths[index] != Truth::Nothing {
                    return Err(format!("reference {attempt} was sent twice"));
                }
                world.truths[index] = Truth::InTransit;
            }
            Happening::GiveUp => world.not_sent.extend(world.unsent.take()),
            Happening::Process { attempt, becomes } => {
                let index = usize::try_from(*attempt).unwrap() - 1;
                world.truths[index] = *becomes;
                world.was_pending[index] |= *becomes == Truth::Pending;
                let paid = |truth: &&Truth| matches!(truth, Truth::Paid | Truth::Returned);
                if world.truths.iter().filter(paid).count() > 1 {
                    return Err("the beneficiary was paid twice".to_owned());
                }
            }
            Happening::Event(event) => {
                let due = world.payout.state.due().unwrap_or(at(0));
                let now = if *event == Event::Due { due } else { at(0) };
                world.step(event, channel, now, step)?;
            }
            Happening::Late => world.step(&Event::Due, channel, at(1_000_000), step)?,
        }
        Ok(world)
    }

    fn step(
        &mut self,
        event: &Event,
        channel: &Channel,
        now: Timestamp,
        step: StepFn,
    ) -> Result<(), String> {
        if matches!(self.payout.state, State::Submitting { .. }) && *event == Event::Due {
            // The lease has ended: from here on it must not be sent, and its process may say that it was not.
            self.not_sent.extend(self.unsent.take());
        }
        let Ok(Step { payout, bookings, effect }) =
            step(&self.payout, event, &context(channel, now))
        else {
            return Ok(());
        };
        self.payout = payout;
        self.truths.resize(self.payout.attempts.len(), Truth::Nothing);
        self.was_pending.resize(self.payout.attempts.len(), false);
        for booking in bookings {
            self.book(booking)?;
        }
        if let Some(Effect::Submit { attempt, r#try, .. }) = effect {
            if self.may_still_be_paid() || self.is_paid() {
                return Err("submitted while an earlier submission may be paid".to_owned());
            }
            if !self.is_held {
                return Err("submitted without money on hold".to_owned());
            }
            self.unsent = Some((attempt, r#try));
        }
        if self.payout.attempts.iter().filter(|attempt| attempt.is_live()).count() > 1 {
            return Err("two attempts are live".to_owned());
        }
        if self.payout.state.is_final() && self.is_held {
            return Err("over, and the money is still on hold".to_owned());
        }
        forget_details(&mut self.payout);
        Ok(())
    }

    fn book(&mut self, booking: Booking) -> Result<(), String> {
        match booking {
            Booking::Reserve => Err("reserved again".to_owned()),
            Booking::Settle | Booking::Release if !self.is_held => {
                Err(format!("{booking:?} without a hold"))
            }
            Booking::Settle if !self.is_paid() => Err("settled what was not paid".to_owned()),
            Booking::Release if self.is_paid() => Err("released what was paid".to_owned()),
            Booking::Release if self.may_still_be_paid() => {
                Err("released what may still be paid".to_owned())
            }
            Booking::Settle | Booking::Release => {
                self.is_held = false;
                Ok(())
            }
            Booking::TakeBackRelease if self.is_held => Err("took back no release".to_owned()),
            Booking::TakeBackRelease => {
                self.is_held = true;
                Ok(())
            }
            Booking::Return => Ok(()),
        }
    }
}

/// Two worlds that differ only in when, by whom and in which words are the same world.
fn forget_details(payout: &mut Payout) {
    for attempt in &mut payout.attempts {
        attempt.forget_details();
    }
    let forget = |wait: &Wait| match wait {
        Wait::Until(_) => Wait::Until(at(0)),
        Wait::Asking { .. } => Wait::Asking { lease_until: at(0) },
    };
    payout.state = match &payout.state {
        State::Scheduled { .. } => State::Scheduled { until: at(0) },
        State::Ready { .. } => State::Ready { not_before: at(0) },
        State::Submitting { .. } => State::Submitting { lease_until: at(0) },
        State::Unconfirmed { asked, not_found, wait } => {
            State::Unconfirmed { asked: *asked, not_found: *not_found, wait: forget(wait) }
        }
        State::Processing { wait, .. } => {
            State::Processing { polls: 0, deadline: at(900_000), wait: forget(wait) }
        }
        State::Stuck { reason, wait } => State::Stuck { reason: *reason, wait: forget(wait) },
        State::Failed { .. } => State::Failed { reason: String::new() },
        state @ (State::Success | State::Cancelled | State::Returned | State::LateSuccess) => {
            state.clone()
        }
    };
}
