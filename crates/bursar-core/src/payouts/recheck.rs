//! After a restore, the channel may have paid what the books have forgotten. It is asked about every attempt that the books
//! know and about the next one, whose reference follows from the first. Until the answers are there, nothing is sent, and
//! no money is released.
//!
//! ```text
//! Asking 1 ──▶ Asking 2 ──▶ … ──▶ Asking the first that is not found ──┬── all absence is proven ──▶ Proven
//!    ▲                                                                 ├── the channel pays a reference once ──▶ Asked
//!    └──────────────────── again, later ◀── Unproven ◀─────────────────┘
//! ```

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::decide::{self, decide};
use super::event::Answer;
use super::evidence::{NewEvidence, merge, query_evidence};
use super::state::{Payout, Wait};
use super::step::{ATTEMPTS_MAX, Booking, Context, Effect, Step, later};
use crate::payouts::attempt::{Attempt, Evidence, Knowledge};
use crate::payouts::channel::{Channel, LEASE_SLACK};

/// What the channel was asked since the last restore.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recheck {
    /// Names the restore.
    pub restored_at: Timestamp,
    /// Rounds of questions that have ended.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rounds: u32,
    /// Questions without an answer.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failures: u32,
    pub stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The channel is asked about this attempt. The other timers of the payout wait.
    Asking { attempt: u32, is_unproven: bool, wait: Wait },
    /// It does not know some attempts, which proves nothing: the payout waits, and asks again.
    Unproven { until: Timestamp },
    /// The same, on a channel that pays a reference once: it may be sent, and not released.
    Asked,
    /// Every attempt is known or proven absent.
    Proven,
}

/// The restore, for a payout of a channel that it is open for.
#[derive(Debug, Clone, Copy)]
pub struct Restored<'c> {
    pub at: Timestamp,
    /// What a report lists about this payout, if there is one that proves absence.
    pub report: Option<&'c BTreeMap<String, Evidence>>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde asks for")]
const fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Payout {
    /// Whether a restore holds it back.
    pub(super) fn is_held(&self, context: &Context<'_>) -> bool {
        let is_proven = |restored: Restored<'_>| {
            self.recheck_of(restored).is_some_and(|it| it.stage == Stage::Proven)
        };
        !self.state.is_final() && context.restored.is_some_and(|restored| !is_proven(restored))
    }

    fn recheck_of(&self, restored: Restored<'_>) -> Option<&Recheck> {
        self.recheck.as_ref().filter(|recheck| recheck.restored_at == restored.at)
    }

    /// The time of the next question, while all other timers wait.
    pub(super) const fn recheck_due(&self) -> Option<Timestamp> {
        match &self.recheck {
            Some(Recheck { stage: Stage::Asking { wait, .. }, .. }) => Some(wait.time()),
            Some(Recheck { stage: Stage::Unproven { until }, .. }) => Some(*until),
            Some(Recheck { stage: Stage::Asked | Stage::Proven, .. }) | None => None,
        }
    }

    /// The lease of the question in flight, and its attempt.
    pub(super) fn recheck_question(&self) -> Option<(u32, Timestamp)> {
        match self.recheck.as_ref()?.stage {
            Stage::Asking { attempt, wait: Wait::Asking { lease_until }, .. } => {
                Some((attempt, lease_until))
            }
            Stage::Asking { wait: Wait::Until(_), .. }
            | Stage::Unproven { .. }
            | Stage::Asked
            | Stage::Proven => None,
        }
    }

    /// Whether it waits for the end of the restore.
    pub(super) fn is_unproven(&self) -> bool {
        let recheck = self.recheck.as_ref().filter(|_| !self.state.is_final());
        recheck.is_some_and(|recheck| {
            (recheck.rounds > 0 || recheck.failures > 0)
                && matches!(recheck.stage, Stage::Asking { .. } | Stage::Unproven { .. })
        })
    }
}

fn at(payout: Payout, restored_at: Timestamp, stage: Stage) -> Payout {
    let known = payout.recheck.as_ref().filter(|recheck| recheck.restored_at == restored_at);
    let (rounds, failures) = known.map_or((0, 0), |known| (known.rounds, known.failures));
    Payout { recheck: Some(Recheck { restored_at, rounds, failures, stage }), ..payout }
}

/// A timer of a payout that is held back has expired.
pub(super) fn due(payout: Payout, restored: Restored<'_>, context: &Context<'_>) -> Step {
    if let Some(rows) = restored.report {
        return read_report(payout, (restored.at, rows), context);
    }
    match payout.recheck_of(restored).map(|recheck| recheck.stage) {
        None | Some(Stage::Unproven { .. }) => ask(payout, 1, false, restored.at, context),
        Some(Stage::Asking { attempt, is_unproven, wait: Wait::Until(_) }) => {
            ask(payout, attempt, is_unproven, restored.at, context)
        }
        Some(Stage::Asking { attempt, is_unproven, wait: Wait::Asking { .. } }) => {
            // The question is lost.
            unanswered(payout, (attempt, is_unproven), restored.at, context)
        }
        Some(Stage::Asked | Stage::Proven) => decide::due(payout, context),
    }
}

/// A decision waits for the answers: the next round begins now.
pub(super) fn hurry(payout: Payout, restored: Restored<'_>, context: &Context<'_>) -> Step {
    match payout.recheck_of(restored).map(|recheck| recheck.stage) {
        None => first_question(payout, context.now, restored.at),
        // A merchant that asks again and again does not make more questions.
        Some(Stage::Unproven { .. } | Stage::Asked) => {
            let until = later(context.now, context.channel.clocks.poll_interval);
            let until = payout.recheck_due().map_or(until, |due| due.min(until));
            first_question(payout, until, restored.at)
        }
        Some(Stage::Asking { .. } | Stage::Proven) => Step::stays(payout),
    }
}

fn first_question(payout: Payout, until: Timestamp, restored_at: Timestamp) -> Step {
    let stage = Stage::Asking { attempt: 1, is_unproven: false, wait: Wait::Until(until) };
    Step::stays(at(payout, restored_at, stage))
}

/// A question without an answer is asked again, later.
fn unanswered(
    payout: Payout,
    (attempt, is_unproven): (u32, bool),
    restored_at: Timestamp,
    context: &Context<'_>,
) -> Step {
    let wait = pause(&payout, context);
    let mut payout = at(payout, restored_at, Stage::Asking { attempt, is_unproven, wait });
    if let Some(recheck) = &mut payout.recheck {
        recheck.failures = recheck.failures.saturating_add(1);
    }
    Step::stays(payout)
}

/// The channel is not held back any more: what was known meanwhile is decided first.
pub(super) fn release(payout: Payout, context: &Context<'_>) -> Step {
    let payout = Payout { recheck: None, ..payout };
    let step = decide(payout.clone(), None, context);
    // What waits is sent from its queue, in turn and in a slot.
    let is_decided = step.payout != payout || payout.waits().is_some();
    if is_decided { step } else { decide::due(payout, context) }
}

fn ask(
    payout: Payout,
    attempt: u32,
    is_unproven: bool,
    restored_at: Timestamp,
    context: &Context<'_>,
) -> Step {
    let timeout = context.channel.clocks.query_timeout;
    let lease_until = later(context.now, timeout.saturating_add(LEASE_SLACK));
    let wait = Wait::Asking { lease_until };
    let payout = at(payout, restored_at, Stage::Asking { attempt, is_unproven, wait });
    Step { effect: Some(Effect::Query { attempt, lease_until }), ..Step::stays(payout) }
}

fn pause(payout: &Payout, context: &Context<'_>) -> Wait {
    let count = |recheck: &Recheck| recheck.rounds.saturating_add(recheck.failures);
    let count = payout.recheck.as_ref().map_or(0, count);
    Wait::Until(later(context.now, context.channel.clocks.poll_after(count)))
}

/// The answer to the question in flight.
pub(super) fn answered(
    payout: Payout,
    answer: &Answer,
    restored: Restored<'_>,
    context: &Context<'_>,
) -> Step {
    let Some(Stage::Asking { attempt, is_unproven, .. }) =
        payout.recheck_of(restored).map(|recheck| recheck.stage)
    else {
        return Step::stays(payout);
    };
    let mut payout = payout;
    let is_missing = match (answer, query_evidence(answer)) {
        (Answer::Failed { .. }, _) => {
            return unanswered(payout, (attempt, is_unproven), restored.at, context);
        }
        (_, Some(evidence)) => {
            found(&mut payout, attempt, evidence, context);
            false
        }
        (_, None) => true,
    };
    let is_unproven =
        is_unproven || (is_missing && !is_absence_proven(&payout, attempt, restored.at, context));
    // The channel may not know attempts that it refused: the one after them may be paid.
    let last = payout.latest().map_or(0, |latest| latest.number).saturating_add(1);
    if attempt < last.max(context.channel.clocks.attempts_max) {
        let (attempt, wait) = (attempt.saturating_add(1), Wait::Until(context.now));
        return Step::stays(at(payout, restored.at, Stage::Asking { attempt, is_unproven, wait }));
    }
    end_round(payout, is_unproven, restored.at, context)
}

/// The answer to a question that was asked before the payout ended, or the recheck: it is evidence like any other.
pub(super) fn answered_late(
    payout: Payout,
    attempt: u32,
    answer: &Answer,
    context: &Context<'_>,
) -> Step {
    let mut payout = payout;
    let evidence = query_evidence(answer);
    let news = evidence.and_then(|evidence| found(&mut payout, attempt, evidence, context));
    decide(payout, news, context)
}

/// Evidence about an attempt, which the books may not know yet, nor those before it.
pub(super) fn found(
    payout: &mut Payout,
    number: u32,
    evidence: Evidence,
    context: &Context<'_>,
) -> Option<NewEvidence> {
    let next = payout.latest().map_or(0, |latest| latest.number).saturating_add(1);
    for missing in next..=number.min(ATTEMPTS_MAX) {
        let reference = payout.reference_of(missing);
        payout.attempts.push(Attempt::new(missing, reference));
    }
    merge(payout, number, evidence, context)
}

fn end_round(
    payout: Payout,
    is_unproven: bool,
    restored_at: Timestamp,
    context: &Context<'_>,
) -> Step {
    let Channel { submit_is_idempotent, not_found_is_final, .. } = context.channel;
    let shown = context.channel.shown_at(restored_at);
    let until = pause(&payout, context).time();
    let stage = if !is_unproven {
        Stage::Proven
    } else if context.now <= shown && (*submit_is_idempotent || *not_found_is_final) {
        Stage::Unproven { until: until.max(later(shown, LEASE_SLACK)) }
    } else if *submit_is_idempotent {
        // A second attempt of the lost time would be shown by now, and the same reference is paid once.
        Stage::Asked
    } else {
        Stage::Unproven { until }
    };
    let mut payout = at(payout, restored_at, stage);
    if let Some(recheck) = &mut payout.recheck {
        recheck.rounds = recheck.rounds.saturating_add(1);
    }
    decide(payout, None, context)
}

/// Whether an attempt that the channel does not know will never be paid. One that is void for the books needs no proof.
fn is_absence_proven(
    payout: &Payout,
    number: u32,
    restored_at: Timestamp,
    context: &Context<'_>,
) -> bool {
    let known = payout.attempts.iter().find(|attempt| attempt.number == number);
    let is_void = known.is_some_and(|known| matches!(known.knowledge(), Knowledge::NotPaid { .. }));
    let is_shown = context.channel.shown_at(restored_at) < context.now;
    // Like every “not found”, it counts when it is said twice.
    let is_repeated = payout.recheck.as_ref().is_some_and(|recheck| recheck.rounds > 0);
    is_void || (context.channel.not_found_is_final && is_shown && is_repeated)
}

/// What a provider's report lists is evidence; what it does not list does not exist.
fn read_report(
    payout: Payout,
    (restored_at, rows): (Timestamp, &BTreeMap<String, Evidence>),
    context: &Context<'_>,
) -> Step {
    let mut payout = payout;
    for number in 1..=ATTEMPTS_MAX {
        if let Some(evidence) = rows.get(&payout.reference_of(number)) {
            found(&mut payout, number, evidence.clone(), context);
        }
    }
    decide(at(payout, restored_at, Stage::Proven), None, context)
}

/// Decides for a payout that is held back: it may be settled or become stuck. A release and a new attempt wait.
pub(super) fn decide_held(payout: Payout, context: &Context<'_>) -> Step {
    let Some(restored) = context.restored else { return Step::stays(payout) };
    let is_asked = match payout.recheck_of(restored).map(|recheck| recheck.stage) {
        None | Some(Stage::Asking { .. }) => return Step::stays(payout),
        Some(Stage::Unproven { .. }) => false,
        Some(Stage::Asked | Stage::Proven) => true,
    };
    let attempts = payout.attempts.len();
    let step = decide::decide_live(payout.clone(), context);
    if !step.bookings.contains(&Booking::Release) && step.payout.attempts.len() == attempts {
        return step;
    }
    if !is_asked {
        return Step::stays(payout);
    }
    let until = pause(&payout, context).time();
    Step::stays(at(payout, restored.at, Stage::Unproven { until }))
}
