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
    Pending,
    Paid,
    Failed,
    Returned,
}

/// Attempt and try.
type Shot = (u32, u32);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct World {
    pub(super) payout: Payout,
    pub(super) truths: Vec<Truth>,
    /// Whether the channel ever took it, for callbacks that come late.
    was_pending: Vec<bool>,
    /// A submission that was saved and has not been sent, and may still be.
    unsent: Option<Shot>,
    /// On their way: the channel will see them, and nobody can stop them.
    in_transit: BTreeSet<Shot>,
    /// Seen by the channel and not taken.
    refused: BTreeSet<Shot>,
    /// Not sent, and whose process may still say so.
    not_sent: BTreeSet<Shot>,
    is_held: bool,
}

/// Something that may happen next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Happening {
    Send,
    /// The process gives up before the first byte, and can prove it.
    GiveUp,
    /// The channel sees a submission and does not take it.
    Refuse(Shot),
    /// The channel sees a submission and takes it.
    Take(Shot, Truth),
    Become {
        attempt: u32,
        truth: Truth,
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
            in_transit: BTreeSet::new(),
            refused: BTreeSet::new(),
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

    fn may_still_be_paid(&self, channel: &Channel) -> bool {
        let is_pending = self.truths.contains(&Truth::Pending);
        // A channel that pays a reference once does not take a second copy of what has failed.
        let is_harmless =
            |shot: &Shot| channel.submit_is_idempotent && self.truth(shot.0) != Truth::Nothing;
        let is_coming = self.in_transit.iter().any(|shot| !is_harmless(shot));
        self.unsent.is_some() || is_coming || is_pending
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
        for shot in &self.in_transit {
            found.push(Happening::Refuse(*shot));
            found.extend([Truth::Pending, Truth::Paid].map(|truth| Happening::Take(*shot, truth)));
        }
        for attempt in &self.payout.attempts {
            self.become_and_say(attempt.number, &mut found);
            self.submissions(attempt, &mut found);
        }
        self.answers(channel, &mut found);
        if matches!(self.payout.state, State::Stuck { .. }) {
            found.extend(self.honest_decisions(channel));
        }
        found
    }

    /// What the channel may do with what it took, and say about it: now, again, or late.
    fn become_and_say(&self, number: u32, found: &mut Vec<Happening>) {
        let truth = self.truth(number);
        let becomes: &[Truth] = match truth {
            Truth::Pending => &[Truth::Paid, Truth::Failed],
            Truth::Paid => &[Truth::Returned],
            Truth::Nothing | Truth::Failed | Truth::Returned => &[],
        };
        found.extend(
            becomes.iter().map(|truth| Happening::Become { attempt: number, truth: *truth }),
        );
        let mut says = Vec::new();
        if self.was_pending[usize::try_from(number).unwrap() - 1] {
            says.push(Verdict::Accepted);
        }
        match truth {
            Truth::Nothing | Truth::Pending => {}
            Truth::Paid => says.push(Verdict::Paid),
            Truth::Failed => {
                says.extend([true, false].map(|is_retryable| Verdict::NotPaid { is_retryable }));
            }
            Truth::Returned => says.extend([Verdict::Paid, Verdict::Returned]),
        }
        found.extend(says.into_iter().map(|verdict| Happening::Event(told(number, verdict))));
    }

    /// How submissions may come back, once or again: the truth, or that nobody knows.
    fn submissions(&self, attempt: &Attempt, found: &mut Vec<Happening>) {
        let number = attempt.number;
        let detail = String::new;
        for r#try in 1..=attempt.tries {
            let shot = (number, r#try);
            let mut outcomes = Vec::new();
            if self.not_sent.contains(&shot) {
                outcomes.push(Outcome::NotSent { detail: detail() });
            } else if self.refused.contains(&shot) {
                outcomes.extend(
                    [true, false]
                        .map(|is_retryable| Outcome::Rejected { is_retryable, detail: detail() }),
                );
            } else if self.unsent != Some(shot) {
                outcomes.push(Outcome::Unknown { detail: detail() });
                match self.truth(number) {
                    Truth::Nothing | Truth::Failed => {}
                    Truth::Pending => {
                        outcomes.push(Outcome::Accepted { provider_reference: None });
                    }
                    Truth::Paid | Truth::Returned => {
                        outcomes.push(Outcome::Paid { provider_reference: None });
                    }
                }
            }
            found.extend(outcomes.into_iter().map(|outcome| {
                Happening::Event(Event::Submitted { attempt: number, r#try, outcome })
            }));
        }
    }

    /// What may be said to the question in flight, or to one that was given up.
    fn answers(&self, channel: &Channel, found: &mut Vec<Happening>) {
        let Some(attempt) = self.payout.latest().filter(|attempt| attempt.tries > 0) else {
            return;
        };
        let number = attempt.number;
        let is_coming = self.in_transit.iter().any(|(attempt, _)| *attempt == number);
        let failed = Answer::Failed { detail: String::new() };
        let answer = match self.truth(number) {
            // A channel whose “not found” is final shows what is on its way within its window.
            Truth::Nothing if channel.not_found_is_final && is_coming => failed.clone(),
            Truth::Nothing => Answer::NotFound,
            Truth::Pending => Answer::Pending { provider_reference: None },
            Truth::Paid => Answer::Paid { provider_reference: None },
            Truth::Failed => Answer::NotPaid { is_retryable: false, detail: String::new() },
            Truth::Returned => Answer::Returned { detail: String::new() },
        };
        // Second 0 is the question in flight; whatever was answered later than that was given up.
        for (lease_until, answer) in [(at(0), answer.clone()), (at(0), failed), (at(-1), answer)] {
            let event = Event::Queried { attempt: number, lease_until, answer };
            found.push(Happening::Event(event));
        }
    }

    /// People decide what is true.
    fn honest_decisions(&self, channel: &Channel) -> Vec<Happening> {
        let mut rulings = vec![Ruling::KeepWaiting];
        if self.is_paid() {
            rulings.push(Ruling::ConfirmPaid);
        } else if !self.may_still_be_paid(channel) {
            rulings.push(Ruling::ConfirmNotPaid);
            // Enough for everything that two attempts can do to each other.
            let attempts = u32::try_from(self.truths.len()).unwrap();
            let may_try = attempts < channel.clocks.attempts_max;
            rulings.extend(may_try.then_some(Ruling::NewAttempt));
        }
        let decided = |ruling| {
            let (actor, evidence) = ("ops".to_owned(), "looked".to_owned());
            Happening::Event(Event::Decided(Decision {
                ruling,
                actor,
                evidence,
                needs_two: false,
                is_approver: true,
            }))
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
            Happening::Send => world.in_transit.extend(world.unsent.take()),
            Happening::GiveUp => world.not_sent.extend(world.unsent.take()),
            Happening::Refuse(shot) => {
                world.in_transit.remove(shot);
                world.refused.insert(*shot);
            }
            Happening::Take(shot, truth) => {
                world.in_transit.remove(shot);
                if world.truth(shot.0) == Truth::Nothing {
                    world.become_true(shot.0, *truth)?;
                } else if !channel.submit_is_idempotent {
                    return Err("the channel got one reference twice".to_owned());
                }
            }
            Happening::Become { attempt, truth } => world.become_true(*attempt, *truth)?,
            Happening::Event(event) => {
                let due = world.payout.state.due().unwrap_or(at(0));
                let now = if *event == Event::Due { due } else { at(0) };
                world.step(event, channel, now, step)?;
            }
            Happening::Late => world.step(&Event::Due, channel, at(1_000_000), step)?,
        }
        Ok(world)
    }

    fn become_true(&mut self, attempt: u32, truth: Truth) -> Result<(), String> {
        let index = usize::try_from(attempt).unwrap() - 1;
        self.truths[index] = truth;
        self.was_pending[index] |= truth == Truth::Pending;
        let paid = |truth: &&Truth| matches!(truth, Truth::Paid | Truth::Returned);
        if self.truths.iter().filter(paid).count() > 1 {
            return Err("the beneficiary was paid twice".to_owned());
        }
        Ok(())
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
            self.book(booking, channel)?;
        }
        if let Some(Effect::Submit { attempt, r#try, .. }) = effect {
            let is_safe = |shot: &Shot| {
                let is_taken = self.truth(shot.0) != Truth::Nothing;
                channel.submit_is_idempotent && (shot.0 == attempt || is_taken)
            };
            let may_be_paid = self.in_transit.iter().any(|shot| !is_safe(shot));
            let others = self.truths.iter().zip(1_u32..).filter(|(_, number)| *number != attempt);
            let is_elsewhere = others
                .into_iter()
                .any(|(truth, _)| !matches!(truth, Truth::Nothing | Truth::Failed));
            let is_here = self.truth(attempt) != Truth::Nothing && !channel.submit_is_idempotent;
            if may_be_paid || is_elsewhere || is_here {
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

    fn book(&mut self, booking: Booking, channel: &Channel) -> Result<(), String> {
        match booking {
            Booking::Reserve => Err("reserved again".to_owned()),
            Booking::Settle | Booking::Release if !self.is_held => {
                Err(format!("{booking:?} without a hold"))
            }
            Booking::Settle if !self.is_paid() => Err("settled what was not paid".to_owned()),
            Booking::Release if self.is_paid() => Err("released what was paid".to_owned()),
            Booking::Release if self.may_still_be_paid(channel) => {
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
