//! The world around one payout: what the channel has done, what is on its way, and the books that the world keeps.

use bursar_core::payouts::Decision;
use bursar_core::payouts::attempt::Verdict;

use super::profile::Profile;
use super::restore::Copied;
use super::small::{Pair, Small, Stage, Tried};
use crate::truth::Truth;

/// What has become of one try.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::verify) enum Shot {
    /// There is no such try.
    None,
    /// Saved, and not sent yet; it may still be.
    Unsent,
    /// On its way: it cannot be stopped.
    InTransit,
    /// Never sent, and its process may say so, or be dead.
    NotSent,
    /// It will not arrive, and that is unknown.
    Lost,
    /// Seen by the channel and not taken, for now or for good.
    Refused {
        is_retryable: bool,
    },
    Arrived,
    /// Whatever its process could say about it is known.
    Over,
}

/// A try of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::verify) struct Try {
    pub(super) attempt: u32,
    pub(super) number: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(in crate::verify) struct World {
    pub(super) payout: Small,
    pub(super) truths: Pair<Truth>,
    /// Whether the channel ever took it without paying at once: what it says about that may come late.
    pub(super) was_pending: Pair<bool>,
    pub(super) shots: Pair<Pair<Shot>>,
    /// The books that the world keeps.
    pub(super) is_held: bool,
    pub(super) is_taken_back: bool,
    pub(super) is_returned: bool,
    pub(super) is_frozen: bool,
    pub(super) copied: Copied,
    /// A decision that is not submitted yet, and whether there is a newer version than the operator saw.
    pub(super) prepared: Option<(Decision, bool)>,
}

/// An event that may happen next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::verify) enum Happening {
    Freeze,
    Thaw,
    Send,
    /// A process that sends before it saves, and crashes in between.
    SendUnsaved,
    /// The process gives up before the first byte, and can prove it.
    GiveUp,
    Lose(Try),
    /// The channel sees a submission and does not take it.
    Refuse {
        r#try: Try,
        is_retryable: bool,
    },
    /// The channel sees a submission and takes it.
    Take(Try, Truth),
    Become {
        attempt: u32,
        truth: Truth,
    },
    /// It is claimed again, because it is due or its lease has ended.
    Due,
    /// The same, much later.
    DueLate,
    Submitted(Try, Outcome),
    CalledBack {
        attempt: u32,
        verdict: Verdict,
    },
    Answered {
        attempt: u32,
        answer: Answer,
        when: When,
    },
    CancelAsked,
    /// The window of the channel closes.
    CutOff,
    Decided {
        decision: Decision,
        is_approver: bool,
    },
    /// A decision waits for what the channel says after a restore.
    RecheckAsked,
    /// A copy of the books is made.
    Copy,
    /// The books are put back to the copy.
    PutBack,
    /// Two people end the recheck.
    EndRecheck,
    /// An operator reads it and prepares a decision.
    DecisionPrepared(Decision),
    /// The operator submits the prepared decision, about the version that was read.
    DecisionSubmitted,
}

/// How a submission ended, without words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::verify) enum Outcome {
    NotSent,
    /// For a reason of this machine.
    NotSentByUs,
    Rejected {
        is_retryable: bool,
    },
    Accepted,
    Paid,
    PaidOther,
    Duplicate,
    Unknown,
}

/// What the channel says about a reference, without words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::verify) enum Answer {
    Paid,
    PaidOther,
    NotPaid { is_retryable: bool },
    Pending,
    Returned,
    NotFound,
    Failed,
}

impl Answer {
    /// What is true about a reference.
    pub(super) const fn of(truth: Truth) -> Self {
        match truth {
            Truth::Nothing => Self::NotFound,
            Truth::Pending => Self::Pending,
            Truth::Paid => Self::Paid,
            Truth::PaidOther => Self::PaidOther,
            Truth::Failed { is_retryable } => Self::NotPaid { is_retryable },
            Truth::Returned => Self::Returned,
        }
    }
}

/// To which question an answer comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::verify) enum When {
    InTime,
    /// The channel has had all the time it needs to see what was sent.
    AfterWindow,
    /// The question was given up.
    GivenUp,
}

impl World {
    pub(super) const fn new(stage: Stage) -> Self {
        Self {
            payout: Small::new(stage),
            truths: Pair::of(Truth::Nothing),
            was_pending: Pair::of(false),
            shots: Pair::of(Pair::of(Shot::None)),
            is_held: true,
            is_taken_back: false,
            is_returned: false,
            is_frozen: false,
            copied: Copied::None,
            prepared: None,
        }
    }

    pub(super) fn shot(&self, r#try: Try) -> Shot {
        self.shots.get(r#try.attempt).get(r#try.number)
    }

    pub(super) fn set(&mut self, r#try: Try, shot: Shot) {
        *self.shots.get_mut(r#try.attempt).get_mut(r#try.number) = shot;
    }

    pub(super) fn tries() -> [Try; 4] {
        let r#try = |attempt, number| Try { attempt, number };
        [r#try(1, 1), r#try(1, 2), r#try(2, 1), r#try(2, 2)]
    }

    /// The submission that was saved and not sent.
    pub(super) fn unsent(&self) -> Option<Try> {
        Self::tries().into_iter().find(|r#try| self.shot(*r#try) == Shot::Unsent)
    }

    pub(super) fn is_paid(&self) -> bool {
        self.is_paid_among(2)
    }

    /// The same, of this many attempts.
    pub(super) fn is_paid_among(&self, count: u32) -> bool {
        (1..=count).any(|attempt| self.truths.get(attempt).is_paid())
    }

    pub(super) fn may_still_be_paid(&self, profile: &Profile) -> bool {
        self.may_still_be_paid_among(2, profile)
    }

    /// The same, of this many attempts.
    pub(super) fn may_still_be_paid_among(&self, count: u32, profile: &Profile) -> bool {
        let mut tries = Self::tries().into_iter().filter(|r#try| r#try.attempt <= count);
        (1..=count).any(|attempt| self.truths.get(attempt) == Truth::Pending)
            || tries.any(|r#try| self.may_arrive(r#try, profile))
    }

    /// Whether the channel may still get this try and take it.
    pub(super) fn may_arrive(&self, r#try: Try, profile: &Profile) -> bool {
        // A channel that pays a reference once does not take a second copy of what it has.
        let is_taken =
            !profile.submit_is_idempotent || self.truths.get(r#try.attempt) == Truth::Nothing;
        match self.shot(r#try) {
            Shot::Unsent => is_taken || !self.is_restored(),
            Shot::InTransit => is_taken,
            Shot::None
            | Shot::NotSent
            | Shot::Lost
            | Shot::Refused { .. }
            | Shot::Arrived
            | Shot::Over => false,
        }
    }

    /// What can make no difference any more is forgotten, so that fewer worlds are different.
    pub(super) fn forget(&mut self) {
        for attempt in 1..=self.payout.count {
            let Tried { tries, has_ended, said, ours } = self.payout.attempts.get(attempt);
            let is_decided =
                said.has(Verdict::Returned) || (said.is_not_paid() && (tries < 2 || has_ended));
            for number in 1..=tries {
                let r#try = Try { attempt, number };
                let is_refused =
                    |is_retryable| said.has(Verdict::Refused { r#try: number, is_retryable });
                let is_ours = if number == 1 { ours[0] } else { ours[1] };
                let is_not_sent = is_ours || said.has(Verdict::NotSent { r#try: number });
                let is_over = match self.shot(r#try) {
                    Shot::NotSent => is_decided || is_not_sent,
                    Shot::Refused { is_retryable } => is_decided || is_refused(is_retryable),
                    Shot::Lost => is_decided || said.has(Verdict::Unknown { r#try: number }),
                    Shot::None | Shot::Unsent | Shot::InTransit | Shot::Arrived | Shot::Over => {
                        false
                    }
                };
                if is_over {
                    self.set(r#try, Shot::Over);
                }
            }
        }
    }
}
