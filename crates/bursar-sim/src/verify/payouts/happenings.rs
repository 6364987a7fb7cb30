//! Everything that may happen next: a channel that is slow, silent and repeats itself, processes that crash, operators
//! that decide.

use bursar_core::payouts::Decision;
use bursar_core::payouts::attempt::Verdict;

use super::profile::{Operators, Profile};
use super::restore::Copied;
use super::small::Stage;
use super::world::{Answer, Happening, Outcome, Shot, Try, When, World};
use crate::truth::Truth;

impl World {
    /// Everything that may happen next.
    pub(super) fn happenings(&self, profile: &Profile) -> Vec<Happening> {
        let mut found = vec![Happening::Due, Happening::CancelAsked];
        if profile.freezes {
            found.push(Happening::CutOff);
            found.push(if self.is_frozen { Happening::Thaw } else { Happening::Freeze });
        }
        if profile.sends_before_saving && self.payout.stage == Stage::Ready {
            found.push(Happening::SendUnsaved);
        }
        if matches!(self.payout.stage, Stage::Processing { .. }) {
            found.push(Happening::DueLate);
        }
        if self.unsent().is_some() {
            found.extend([Happening::Send, Happening::GiveUp]);
        }
        for r#try in Self::tries() {
            self.arrivals(r#try, profile, &mut found);
            self.submissions(r#try, profile, &mut found);
        }
        for attempt in 1..=self.payout.count {
            self.become_and_say(attempt, profile, &mut found);
        }
        self.answers(profile, &mut found);
        if profile.restores {
            self.restores(&mut found);
        }
        self.decisions(profile, &mut found);
        found
    }

    fn arrivals(&self, r#try: Try, profile: &Profile, found: &mut Vec<Happening>) {
        if self.shot(r#try) == Shot::InTransit {
            found.push(Happening::Lose(r#try));
            found.extend(
                [true, false].map(|is_retryable| Happening::Refuse { r#try, is_retryable }),
            );
            found.extend([Truth::Pending, Truth::Paid].map(|truth| Happening::Take(r#try, truth)));
            found.extend(profile.pays_other.then_some(Happening::Take(r#try, Truth::PaidOther)));
        }
    }

    /// What the channel may do with what it took, and say about it: now, again, or late.
    fn become_and_say(&self, attempt: u32, profile: &Profile, found: &mut Vec<Happening>) {
        let truth = self.truths.get(attempt);
        let becomes: &[Truth] = match truth {
            Truth::Pending => &[
                Truth::Paid,
                Truth::Failed { is_retryable: true },
                Truth::Failed { is_retryable: false },
            ],
            Truth::Paid => &[Truth::Returned],
            Truth::Failed { .. } if profile.flips => &[Truth::Paid],
            Truth::Nothing | Truth::PaidOther | Truth::Failed { .. } | Truth::Returned => &[],
        };
        let other = profile.pays_other && truth == Truth::Pending;
        found.extend(other.then_some(Happening::Become { attempt, truth: Truth::PaidOther }));
        found.extend(becomes.iter().map(|truth| Happening::Become { attempt, truth: *truth }));
        let mut says = Vec::new();
        if self.was_pending.get(attempt) {
            says.push(Verdict::Accepted);
        }
        match truth {
            Truth::Nothing | Truth::Pending => {}
            Truth::Paid => says.push(Verdict::Paid),
            Truth::PaidOther => says.push(Verdict::AmountDiffers),
            Truth::Failed { is_retryable } => says.push(Verdict::NotPaid { is_retryable }),
            Truth::Returned => says.extend([Verdict::Paid, Verdict::Returned]),
        }
        found.extend(says.into_iter().map(|verdict| Happening::CalledBack { attempt, verdict }));
    }

    /// How a submission may come back, once or again: the truth, or unknown.
    fn submissions(&self, r#try: Try, profile: &Profile, found: &mut Vec<Happening>) {
        let mut outcomes = Vec::new();
        match self.shot(r#try) {
            Shot::None | Shot::Unsent => {}
            // Said before, and said again.
            Shot::Over => {
                let Try { attempt, number } = r#try;
                let said = self.payout.attempts.get(attempt).said;
                let again = said.verdicts().filter_map(|verdict| match verdict {
                    Verdict::NotSent { r#try } if r#try == number => Some(Outcome::NotSent),
                    Verdict::Unknown { r#try } if r#try == number => Some(Outcome::Unknown),
                    Verdict::Refused { r#try, is_retryable } if r#try == number => {
                        Some(Outcome::Rejected { is_retryable })
                    }
                    Verdict::NotSent { .. }
                    | Verdict::Unknown { .. }
                    | Verdict::Refused { .. }
                    | Verdict::Accepted
                    | Verdict::Paid
                    | Verdict::NotPaid { .. }
                    | Verdict::Returned
                    | Verdict::AmountDiffers
                    | Verdict::AmountMissing => None,
                });
                outcomes.extend(again);
            }
            // Only of the first try, so that two tries are enough.
            Shot::NotSent if profile.lacks_resources && r#try.number == 1 => {
                outcomes.extend([Outcome::NotSent, Outcome::NotSentByUs]);
            }
            Shot::NotSent => outcomes.push(Outcome::NotSent),
            Shot::InTransit | Shot::Lost => outcomes.push(Outcome::Unknown),
            Shot::Refused { is_retryable } => {
                outcomes.extend([Outcome::Unknown, Outcome::Rejected { is_retryable }]);
            }
            Shot::Arrived => {
                outcomes.push(Outcome::Unknown);
                if self.was_pending.get(r#try.attempt) {
                    outcomes.push(Outcome::Accepted);
                }
                match self.truths.get(r#try.attempt) {
                    Truth::Paid | Truth::Returned => outcomes.push(Outcome::Paid),
                    Truth::PaidOther => outcomes.push(Outcome::PaidOther),
                    Truth::Nothing | Truth::Pending | Truth::Failed { .. } => {}
                }
                let mut others = self.shots.get(r#try.attempt).iter();
                if others.all(|shot| shot == Shot::Arrived) {
                    outcomes.push(Outcome::Duplicate);
                }
            }
        }
        found.extend(outcomes.into_iter().map(|outcome| Happening::Submitted(r#try, outcome)));
    }

    /// What may be said to the question in flight, or to one that was given up.
    fn answers(&self, profile: &Profile, found: &mut Vec<Happening>) {
        let attempt = self.payout.count;
        let tries = self.payout.attempts.get(attempt).tries;
        let is_first = self.payout.stage == Stage::Submitting && tries == 1;
        if tries == 0 || is_first {
            return;
        }
        let answer = Answer::of(self.truths.get(attempt));
        let answered = |answer, when| Happening::Answered { attempt, answer, when };
        found.push(answered(answer, When::GivenUp));
        if !self.payout.stage.is_asking() {
            return;
        }
        found.push(answered(answer, When::InTime));
        found.push(answered(Answer::Failed, When::InTime));
        // A channel whose “not found” is final has seen by then whatever was on its way.
        let is_coming = self.shots.get(attempt).iter().any(|shot| shot == Shot::InTransit);
        if profile.not_found_is_final && !is_coming {
            found.push(answered(answer, When::AfterWindow));
        }
    }

    fn decisions(&self, profile: &Profile, found: &mut Vec<Happening>) {
        if self.prepared.is_some() {
            found.push(Happening::DecisionSubmitted);
        }
        let decided = |is_approver| move |decision| Happening::Decided { decision, is_approver };
        let has_open_case = self.payout.case.is_some() && !self.payout.is_case_closed;
        if has_open_case {
            found.push(decided(true)(Decision::CloseCase));
            if profile.operators == Operators::Two {
                found.push(decided(false)(Decision::CloseCase));
            }
        }
        if !matches!(self.payout.stage, Stage::Stuck { .. }) {
            return;
        }
        match profile.operators {
            Operators::Prompt => found.extend(self.true_decisions(profile).map(decided(true))),
            Operators::Slow => {
                found.extend(self.true_decisions(profile).map(Happening::DecisionPrepared));
            }
            Operators::Two => {
                found.extend(self.all_decisions(profile).map(decided(false)));
                found.extend(self.true_decisions(profile).map(decided(true)));
            }
            Operators::Wrong => found.extend(self.all_decisions(profile).map(decided(true))),
        }
    }

    fn all_decisions(&self, profile: &Profile) -> impl Iterator<Item = Decision> {
        // Two attempts are enough for everything that attempts can do to each other.
        let may_try = self.payout.count < profile.attempts_max;
        let decisions = [Decision::KeepWaiting, Decision::ConfirmPaid, Decision::ConfirmNotPaid];
        decisions.into_iter().chain(may_try.then_some(Decision::NewAttempt))
    }

    /// The decisions of operators who know what is true.
    fn true_decisions(&self, profile: &Profile) -> impl Iterator<Item = Decision> {
        // Of attempts that the books have forgotten, they know nothing.
        let known = if self.copied == Copied::PutBack { self.payout.count.min(2) } else { 2 };
        let is_paid = self.is_paid_among(known);
        let is_not_paid = !is_paid && !self.may_still_be_paid_among(known, profile);
        // A failed attempt of such a channel is not sent again.
        let may_flip = profile.flips && self.truths.iter().any(Truth::has_failed);
        self.all_decisions(profile).filter(move |decision| match decision {
            Decision::KeepWaiting | Decision::CloseCase => true,
            Decision::ConfirmPaid => is_paid,
            Decision::ConfirmNotPaid => is_not_paid,
            Decision::NewAttempt => is_not_paid && !may_flip,
        })
    }
}
