//! A payout in a few bytes. Payouts that differ only in times, actors and texts are the same.

use std::sync::Arc;

use bursar_core::payouts::attempt::{Attempt, Evidence, Reported, Source, Verdict};
use bursar_core::payouts::{Decision, Discrepancy, Payout, Proposal, State, StuckReason, Wait};
use jiff::Timestamp;

use super::restore::SmallRecheck;

/// Everything that may be said about an attempt of at most two tries; evidence is kept as bits of this list.
pub(in crate::verify) const VERDICTS: [Verdict; 15] = [
    Verdict::NotSent { r#try: 1 },
    Verdict::NotSent { r#try: 2 },
    Verdict::Unknown { r#try: 1 },
    Verdict::Unknown { r#try: 2 },
    Verdict::Refused { r#try: 1, is_retryable: true },
    Verdict::Refused { r#try: 1, is_retryable: false },
    Verdict::Refused { r#try: 2, is_retryable: true },
    Verdict::Refused { r#try: 2, is_retryable: false },
    Verdict::Accepted,
    Verdict::Paid,
    Verdict::NotPaid { is_retryable: true },
    Verdict::NotPaid { is_retryable: false },
    Verdict::Returned,
    Verdict::AmountDiffers,
    Verdict::AmountMissing,
];

/// When everything happens that does not happen late.
pub(super) const NOW: Timestamp = Timestamp::UNIX_EPOCH;

/// Later than every deadline and every window.
pub(super) fn late() -> Timestamp {
    Timestamp::from_second(10_000_000).unwrap_or(Timestamp::MAX)
}

/// The deadline of what the channel has taken: passed by `late`, and by nothing else.
fn deadline() -> Timestamp {
    Timestamp::from_second(9_000_000).unwrap_or(Timestamp::MAX)
}

/// The first two attempts by their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Pair<T>([T; 2]);

impl<T: Copy> Pair<T> {
    pub(super) const fn of(value: T) -> Self {
        Self([value; 2])
    }

    /// Of the attempt or try with this number, from 1.
    pub(super) const fn get(&self, number: u32) -> T {
        let [first, second] = self.0;
        if number == 1 { first } else { second }
    }

    pub(super) const fn get_mut(&mut self, number: u32) -> &mut T {
        let [first, second] = &mut self.0;
        if number == 1 { first } else { second }
    }

    pub(super) fn iter(self) -> impl Iterator<Item = T> {
        self.0.into_iter()
    }
}

/// Bits of `VERDICTS`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(in crate::verify) struct Said(u16);

impl Said {
    /// Its bit, by its place in the list.
    const fn bit(verdict: Verdict) -> u16 {
        match verdict {
            Verdict::NotSent { r#try: 1 } => 1,
            Verdict::NotSent { .. } => 1 << 1,
            Verdict::Unknown { r#try: 1 } => 1 << 2,
            Verdict::Unknown { .. } => 1 << 3,
            Verdict::Refused { r#try: 1, is_retryable: true } => 1 << 4,
            Verdict::Refused { r#try: 1, is_retryable: false } => 1 << 5,
            Verdict::Refused { is_retryable: true, .. } => 1 << 6,
            Verdict::Refused { is_retryable: false, .. } => 1 << 7,
            Verdict::Accepted => 1 << 8,
            Verdict::Paid => 1 << 9,
            Verdict::NotPaid { is_retryable: true } => 1 << 10,
            Verdict::NotPaid { is_retryable: false } => 1 << 11,
            Verdict::Returned => 1 << 12,
            Verdict::AmountDiffers => 1 << 13,
            Verdict::AmountMissing => 1 << 14,
        }
    }

    pub(in crate::verify) const fn has(self, verdict: Verdict) -> bool {
        self.0 & Self::bit(verdict) != 0
    }

    pub(in crate::verify) const fn with(self, verdict: Verdict) -> Self {
        Self(self.0 | Self::bit(verdict))
    }

    const fn without(self, verdict: Verdict) -> Self {
        Self(self.0 & !Self::bit(verdict))
    }

    pub(in crate::verify) fn verdicts(self) -> impl Iterator<Item = Verdict> {
        VERDICTS.into_iter().filter(move |verdict| self.has(*verdict))
    }

    /// Whether it was said to be paid, whatever became of it.
    pub(in crate::verify) const fn is_paid(self) -> bool {
        self.has(Verdict::Paid)
            || self.has(Verdict::Returned)
            || self.has(Verdict::AmountDiffers)
            || self.has(Verdict::AmountMissing)
    }

    pub(in crate::verify) const fn is_not_paid(self) -> bool {
        self.has(Verdict::NotPaid { is_retryable: true })
            || self.has(Verdict::NotPaid { is_retryable: false })
    }

    pub(in crate::verify) fn of(attempt: &Attempt) -> Self {
        attempt.evidence().fold(Self::default(), |said, (evidence, _)| said.with(evidence.verdict))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(in crate::verify) struct Tried {
    pub(in crate::verify) tries: u32,
    /// Whether the second try's call has come back.
    pub(in crate::verify) has_ended: bool,
    pub(in crate::verify) said: Said,
    /// Whether the first try, and whether the second, was not sent for a reason of this machine.
    pub(in crate::verify) ours: [bool; 2],
}

impl Tried {
    /// Without what is outweighed by something else that was said, and always will be: nothing that follows is
    /// different for it, which the exploration of attempts proves.
    pub(in crate::verify) fn weighed(self) -> Self {
        let mut said = self.said;
        let is_last_try_back = self.tries < 2 || self.has_ended;
        if said.has(Verdict::Returned) {
            let mut kept = Said::default().with(Verdict::Returned);
            if said.has(Verdict::AmountDiffers) {
                kept = kept.with(Verdict::AmountDiffers);
            }
            return Self { said: kept, ..self };
        }
        if said.is_paid() || said.is_not_paid() {
            said = said.without(Verdict::Accepted);
        }
        if said.has(Verdict::NotPaid { is_retryable: false }) {
            said = said.without(Verdict::NotPaid { is_retryable: true });
        }
        for r#try in [1, 2] {
            let refused = |is_retryable| Verdict::Refused { r#try, is_retryable };
            if said.has(Verdict::NotSent { r#try }) {
                said = said.without(refused(false)).without(refused(true));
            }
            if said.has(refused(false)) {
                said = said.without(refused(true));
            }
            let is_known = said.has(Verdict::NotSent { r#try })
                || said.has(refused(false))
                || said.has(refused(true));
            if is_known {
                said = said.without(Verdict::Unknown { r#try });
            }
            if said.is_not_paid() && (r#try == 1 || is_last_try_back) {
                said = said.without(refused(false)).without(refused(true));
                said = said.without(Verdict::NotSent { r#try }).without(Verdict::Unknown { r#try });
            }
        }
        Self { said, ..self }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Stage {
    Scheduled,
    Ready,
    Submitting,
    Unconfirmed { asked: u32, not_found: u32, is_asking: bool },
    Processing { is_asking: bool },
    Stuck { reason: StuckReason, is_asking: bool },
    Success,
    Failed,
    Cancelled,
    Expired,
    Returned,
    LateSuccess,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Small {
    pub(super) stage: Stage,
    pub(super) attempts: Pair<Tried>,
    pub(super) count: u32,
    pub(super) settled: Option<u32>,
    pub(super) case: Option<Discrepancy>,
    pub(super) is_case_closed: bool,
    /// What one of two has proposed, and whether that one may approve.
    pub(super) proposal: Option<(Decision, bool)>,
    pub(super) recheck: Option<SmallRecheck>,
}

impl Small {
    pub(super) const fn new(stage: Stage) -> Self {
        let nothing = Tried { tries: 0, has_ended: false, said: Said(0), ours: [false; 2] };
        Self {
            stage,
            attempts: Pair::of(nothing),
            count: 1,
            settled: None,
            case: None,
            is_case_closed: false,
            proposal: None,
            recheck: None,
        }
    }

    pub(super) fn of(payout: &Payout) -> Self {
        let mut attempts = Pair::of(Tried::default());
        for attempt in &payout.attempts {
            let has_ended = attempt.tries > 1 && attempt.ended >= Some(attempt.tries);
            let ours = [1, 2].map(|number| attempt.ours.contains(&number));
            let tried = Tried { tries: attempt.tries, has_ended, said: Said::of(attempt), ours };
            *attempts.get_mut(attempt.number) = tried.weighed();
        }
        Self {
            stage: Stage::of(&payout.state),
            attempts,
            count: u32::try_from(payout.attempts.len()).unwrap_or(u32::MAX),
            settled: payout.settled,
            case: payout.case,
            is_case_closed: payout.is_case_closed,
            proposal: payout.proposal.as_ref().map(|known| (known.decision, known.is_approver)),
            recheck: payout.recheck.as_ref().map(SmallRecheck::of),
        }
    }

    /// The payout that it stands for. The terms are those of the template.
    pub(super) fn payout(&self, template: &Payout) -> Payout {
        let attempt = |number| {
            let Tried { tries, has_ended, said, ours } = self.attempts.get(number);
            let mut attempt = Attempt::new(number, reference(number).to_owned());
            attempt.tries = tries;
            attempt.sent_by = (tries > 0).then_some(NOW);
            attempt.ended = has_ended.then_some(tries);
            let numbers = [1, 2].into_iter().zip(ours).filter(|(_, is_ours)| *is_ours);
            attempt.ours = numbers.map(|(number, _)| number).collect();
            // As if a callback had said it: the same callback again is no news, from another source it is.
            for verdict in said.verdicts() {
                let reported = (verdict == Verdict::AmountDiffers).then(other_amount);
                let evidence = Evidence { reported, ..Evidence::new(Source::Callback, verdict) };
                attempt.merge(evidence, NOW);
            }
            attempt
        };
        Payout {
            terms: Arc::clone(&template.terms),
            attempts: (1..=self.count).map(attempt).collect(),
            state: self.stage.state(),
            settled: self.settled,
            case: self.case,
            is_case_closed: self.is_case_closed,
            hold_epoch: 1,
            released_by: None,
            proposal: self.proposal.map(|(decision, is_approver)| {
                let actor = actor(is_approver).to_owned();
                Proposal { decision, actor, is_approver, made_by: Vec::new() }
            }),
            is_urgent: false,
            recheck: self.recheck.map(SmallRecheck::recheck),
        }
    }
}

/// An amount that was not asked for.
pub(super) fn other_amount() -> Reported {
    Reported { amount: Some("1.00".to_owned()), currency: Some("USD".to_owned()) }
}

/// What the channel knows an attempt by.
pub(super) const fn reference(number: u32) -> &'static str {
    if number == 1 { "first" } else { "second" }
}

/// Of two people one may approve.
pub(super) const fn actor(is_approver: bool) -> &'static str {
    if is_approver { "approver" } else { "operator" }
}

impl Stage {
    fn of(state: &State) -> Self {
        let is_asking = |wait: &Wait| matches!(wait, Wait::Asking { .. });
        match state {
            State::Scheduled { .. } => Self::Scheduled,
            State::Ready { .. } => Self::Ready,
            State::Submitting { .. } => Self::Submitting,
            State::Unconfirmed { asked, not_found, wait } => Self::Unconfirmed {
                asked: *asked,
                not_found: *not_found,
                is_asking: is_asking(wait),
            },
            State::Processing { wait, .. } => Self::Processing { is_asking: is_asking(wait) },
            State::Stuck { reason, wait } => {
                Self::Stuck { reason: *reason, is_asking: is_asking(wait) }
            }
            State::Success => Self::Success,
            State::Failed { .. } => Self::Failed,
            State::Cancelled => Self::Cancelled,
            State::Expired => Self::Expired,
            State::Returned => Self::Returned,
            State::LateSuccess => Self::LateSuccess,
        }
    }

    pub(super) fn state(self) -> State {
        let wait = |is_asking| {
            if is_asking { Wait::Asking { lease_until: NOW } } else { Wait::Until(NOW) }
        };
        match self {
            Self::Scheduled => State::Scheduled { until: NOW },
            Self::Ready => State::Ready { not_before: NOW },
            Self::Submitting => State::Submitting { lease_until: NOW },
            Self::Unconfirmed { asked, not_found, is_asking } => {
                State::Unconfirmed { asked, not_found, wait: wait(is_asking) }
            }
            Self::Processing { is_asking } => {
                State::Processing { polls: 0, deadline: deadline(), wait: wait(is_asking) }
            }
            Self::Stuck { reason, is_asking } => State::Stuck { reason, wait: wait(is_asking) },
            Self::Success => State::Success,
            Self::Failed => State::Failed { reason: String::new() },
            Self::Cancelled => State::Cancelled,
            Self::Expired => State::Expired,
            Self::Returned => State::Returned,
            Self::LateSuccess => State::LateSuccess,
        }
    }

    /// Where “not found” proves nothing, it does not matter how often it was said.
    pub(super) const fn forget_not_found(&mut self) {
        if let Self::Unconfirmed { not_found, .. } = self {
            *not_found = 0;
        }
    }

    pub(super) fn status(self) -> &'static str {
        self.state().status()
    }

    /// Whether a question is in flight.
    pub(super) const fn is_asking(self) -> bool {
        match self {
            Self::Unconfirmed { is_asking, .. }
            | Self::Processing { is_asking }
            | Self::Stuck { is_asking, .. } => is_asking,
            Self::Scheduled
            | Self::Ready
            | Self::Submitting
            | Self::Success
            | Self::Failed
            | Self::Cancelled
            | Self::Expired
            | Self::Returned
            | Self::LateSuccess => false,
        }
    }

    pub(super) const fn is_over(self) -> bool {
        match self {
            Self::Success
            | Self::Failed
            | Self::Cancelled
            | Self::Expired
            | Self::Returned
            | Self::LateSuccess => true,
            Self::Scheduled
            | Self::Ready
            | Self::Submitting
            | Self::Unconfirmed { .. }
            | Self::Processing { .. }
            | Self::Stuck { .. } => false,
        }
    }
}
