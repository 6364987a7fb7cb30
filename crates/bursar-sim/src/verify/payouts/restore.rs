//! Books that are put back to a copy: the payout forgets, the channel does not.

use bursar_core::payouts::attempt::Verdict;
use bursar_core::payouts::{Recheck, Restored, Stage as RecheckStage, Wait};

use super::small::{NOW, Small};
use super::world::{Answer, Happening, Shot, Try, When, World};
use crate::truth::Truth;

/// The copy of the books, and whether it was put back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::verify) enum Copied {
    None,
    /// The payout and its money, as they were.
    Made {
        payout: Small,
        is_held: bool,
        is_taken_back: bool,
        is_returned: bool,
    },
    /// The channel is rechecked.
    PutBack,
    /// Two people have ended it.
    Ended,
}

/// What the channel was asked, without times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::verify) struct SmallRecheck {
    pub(super) stage: SmallStage,
    has_asked: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum SmallStage {
    Asking { attempt: u32, is_unproven: bool, is_out: bool },
    Unproven,
    Asked,
    Proven,
}

impl SmallRecheck {
    pub(super) fn of(recheck: &Recheck) -> Self {
        let stage = match recheck.stage {
            RecheckStage::Asking { attempt, is_unproven, wait } => {
                let is_out = matches!(wait, Wait::Asking { .. });
                SmallStage::Asking { attempt, is_unproven, is_out }
            }
            RecheckStage::Unproven { .. } => SmallStage::Unproven,
            RecheckStage::Asked => SmallStage::Asked,
            RecheckStage::Proven => SmallStage::Proven,
        };
        Self { stage, has_asked: recheck.rounds > 0 }
    }

    pub(super) fn recheck(self) -> Recheck {
        let stage = match self.stage {
            SmallStage::Asking { attempt, is_unproven, is_out } => {
                let wait =
                    if is_out { Wait::Asking { lease_until: NOW } } else { Wait::Until(NOW) };
                RecheckStage::Asking { attempt, is_unproven, wait }
            }
            SmallStage::Unproven => RecheckStage::Unproven { until: NOW },
            SmallStage::Asked => RecheckStage::Asked,
            SmallStage::Proven => RecheckStage::Proven,
        };
        Recheck { restored_at: NOW, rounds: u32::from(self.has_asked), failures: 0, stage }
    }
}

impl World {
    pub(super) fn restored(&self) -> Option<Restored<'static>> {
        (self.copied == Copied::PutBack).then_some(Restored { at: NOW, report: None })
    }

    /// A copy is made, put back, and the recheck is ended by people who know what the channel has.
    pub(super) fn restores(&self, found: &mut Vec<Happening>) {
        match self.copied {
            Copied::None if self.is_worth_a_copy() => found.push(Happening::Copy),
            Copied::None | Copied::Ended => {}
            Copied::Made { .. } => {
                // What the books are told is forgotten: enough that they send, ask and decide.
                found.retain(|happening| match happening {
                    Happening::CalledBack { .. }
                    | Happening::CancelAsked
                    | Happening::CutOff
                    | Happening::DueLate
                    | Happening::GiveUp
                    | Happening::Lose(_)
                    | Happening::Answered { when: When::GivenUp, .. } => false,
                    Happening::Submitted(r#try, _) => self.shot(*r#try) != Shot::Over,
                    Happening::Freeze
                    | Happening::Thaw
                    | Happening::Send
                    | Happening::SendUnsaved
                    | Happening::Refuse { .. }
                    | Happening::Take(..)
                    | Happening::Become { .. }
                    | Happening::Due
                    | Happening::Answered { .. }
                    | Happening::Decided { .. }
                    | Happening::RecheckAsked
                    | Happening::Copy
                    | Happening::PutBack
                    | Happening::EndRecheck
                    | Happening::DecisionPrepared(_)
                    | Happening::DecisionSubmitted => true,
                });
                found.push(Happening::PutBack);
            }
            Copied::PutBack => {
                found.push(Happening::RecheckAsked);
                found.extend(self.is_all_known().then_some(Happening::EndRecheck));
                self.recheck_answers(found);
            }
        }
    }

    /// A live payout between two steps; questions in flight are lost with the copy anyway.
    fn is_worth_a_copy(&self) -> bool {
        let Small { stage, proposal, .. } = self.payout;
        !stage.is_over() && !stage.is_asking() && proposal.is_none()
    }

    pub(super) fn copy(&mut self) {
        let Self { payout, is_held, is_taken_back, is_returned, .. } = *self;
        self.copied = Copied::Made { payout, is_held, is_taken_back, is_returned };
    }

    /// The processes are dead: what they did not send is never sent, and what they were told is lost.
    pub(super) fn put_back(&mut self) {
        let Copied::Made { payout, is_held, is_taken_back, is_returned } = self.copied else {
            return;
        };
        (self.payout, self.is_held) = (payout, is_held);
        (self.is_taken_back, self.is_returned) = (is_taken_back, is_returned);
        (self.prepared, self.copied) = (None, Copied::PutBack);
        for r#try in Self::tries() {
            let is_there = self.truths.get(r#try.attempt) != Truth::Nothing;
            let shot = match self.shot(r#try) {
                Shot::InTransit => Shot::InTransit,
                Shot::Arrived => Shot::Arrived,
                Shot::Over if is_there => Shot::Arrived,
                Shot::None
                | Shot::Unsent
                | Shot::NotSent
                | Shot::Lost
                | Shot::Refused { .. }
                | Shot::Over => {
                    // The books may know of this try, and that its outcome is unknown.
                    let is_known = r#try.number <= payout.attempts.get(r#try.attempt).tries;
                    if is_known { Shot::Lost } else { Shot::None }
                }
            };
            self.set(r#try, shot);
        }
    }

    pub(super) const fn is_restored(&self) -> bool {
        matches!(self.copied, Copied::PutBack | Copied::Ended)
    }

    /// Whether a try was sent before a restore, and came to nothing.
    pub(super) fn was_forgotten(&self, r#try: Try) -> bool {
        let is_coming = matches!(self.shot(r#try), Shot::Unsent | Shot::InTransit);
        self.is_restored() && !is_coming && self.truths.get(r#try.attempt) == Truth::Nothing
    }

    /// Nothing is on its way, and the books know every attempt that the channel has.
    fn is_all_known(&self) -> bool {
        let is_coming = Self::tries().into_iter().any(|it| self.shot(it) == Shot::InTransit);
        let is_known = |number: u32| {
            let said = self.payout.attempts.get(number).said;
            let is_said = match self.truths.get(number) {
                Truth::Nothing => return true,
                Truth::Pending => said.has(Verdict::Accepted),
                Truth::Paid | Truth::PaidOther | Truth::Returned => said.is_paid(),
                Truth::Failed { .. } => said.is_not_paid(),
            };
            number <= self.payout.count && is_said
        };
        !is_coming && is_known(1) && is_known(2)
    }

    /// What the channel says to the question about an attempt, which the books may not know.
    fn recheck_answers(&self, found: &mut Vec<Happening>) {
        let Some(SmallStage::Asking { attempt, is_out: true, .. }) =
            self.payout.recheck.map(|recheck| recheck.stage)
        else {
            return;
        };
        let truth = if attempt > 2 { Truth::Nothing } else { self.truths.get(attempt) };
        let answered = |answer, when| Happening::Answered { attempt, answer, when };
        let answer = Answer::of(truth);
        found.push(answered(answer, When::InTime));
        found.push(answered(Answer::Failed, When::InTime));
        let is_coming =
            attempt <= 2 && self.shots.get(attempt).iter().any(|shot| shot == Shot::InTransit);
        if !is_coming {
            found.push(answered(answer, When::AfterWindow));
        }
    }
}
