//! What follows from a happening, and what must not.

use bursar_core::payouts::attempt::Verdict;
use bursar_core::payouts::{Booking, Discrepancy, Effect};

use super::Around;
use super::done::Done;
use super::restore::Copied;
use super::small::{Small, Stage};
use super::world::{Happening, Outcome, Shot, Try, World};
use crate::truth::Truth;
use crate::verify::explore::Broken;
use crate::verify::rule::Rule;

/// The world afterwards, or the rule that is broken.
pub(super) fn after(
    around: &Around,
    before: &World,
    happening: Happening,
) -> Result<World, Broken> {
    let mut world = *before;
    match happening {
        Happening::Freeze => world.is_frozen = true,
        Happening::Thaw => world.is_frozen = false,
        Happening::Send => moved(&mut world, Shot::InTransit),
        Happening::GiveUp => moved(&mut world, Shot::NotSent),
        Happening::Lose(r#try) => world.set(r#try, Shot::Lost),
        Happening::Refuse { r#try, is_retryable } => {
            world.set(r#try, Shot::Refused { is_retryable });
        }
        Happening::Take(r#try, truth) => {
            world.set(r#try, Shot::Arrived);
            let is_new = world.truths.get(r#try.attempt) == Truth::Nothing;
            if is_new {
                become_true(around, &mut world, r#try.attempt, truth)?;
            } else if !around.profile.submit_is_idempotent {
                let what = "the channel got one reference twice";
                return Err(Broken::new(Rule::I9, what));
            }
        }
        Happening::Become { attempt, truth } => {
            become_true(around, &mut world, attempt, truth)?;
        }
        Happening::DecisionPrepared(decision) => world.prepared = Some((decision, false)),
        Happening::DecisionSubmitted => {
            let is_stale = world.prepared.is_some_and(|(_, is_stale)| is_stale);
            if let Some(decided) = around.taken(before) {
                step(around, &mut world, decided)?;
                if is_stale && world.payout != before.payout {
                    let what = "a decision about an older version took effect";
                    return Err(Broken::new(Rule::I17, what));
                }
            }
            world.prepared = None;
        }
        Happening::SendUnsaved => send_unsaved(around, &mut world),
        Happening::Copy => world.copy(),
        Happening::PutBack => world.put_back(),
        Happening::EndRecheck => world.copied = Copied::Ended,
        Happening::Due
        | Happening::DueLate
        | Happening::Submitted(..)
        | Happening::CalledBack { .. }
        | Happening::Answered { .. }
        | Happening::CancelAsked
        | Happening::CutOff
        | Happening::RecheckAsked
        | Happening::Decided { .. } => step(around, &mut world, happening)?,
    }
    world.forget();
    Ok(world)
}

impl Around {
    /// What was decided a while ago, if it may still be done.
    pub(super) fn taken(&self, world: &World) -> Option<Happening> {
        let (decision, is_stale) = world.prepared?;
        let seen = if is_stale { 1 } else { 2 };
        (self.machine.check_version)(Some(seen), 2).ok()?;
        Some(Happening::Decided { decision, is_approver: true })
    }
}

/// What becomes of the submission that was saved and not sent.
fn moved(world: &mut World, shot: Shot) {
    if let Some(r#try) = world.unsent() {
        world.set(r#try, shot);
    }
}

/// The mistake of a process that sends first: it crashes before it saves, and the submission is forgotten.
fn send_unsaved(around: &Around, world: &mut World) {
    let effect = around.done(world, Happening::Due).and_then(|done| done.effect);
    if let Some(Effect::Submit { attempt, r#try, .. }) = effect {
        world.set(Try { attempt, number: r#try }, Shot::InTransit);
    }
}

fn become_true(
    around: &Around,
    world: &mut World,
    attempt: u32,
    truth: Truth,
) -> Result<(), Broken> {
    *world.truths.get_mut(attempt) = truth;
    *world.was_pending.get_mut(attempt) |= truth == Truth::Pending;
    if !around.profile.is_truthful {
        return Ok(());
    }
    if world.truths.iter().filter(|truth| truth.is_paid()).count() > 1 {
        return Err(Broken::new(Rule::I3, "the beneficiary was paid twice"));
    }
    let is_given_back =
        matches!(world.payout.stage, Stage::Failed | Stage::Cancelled | Stage::Expired);
    if truth == Truth::Paid && is_given_back && around.channel.failed_is_final {
        return Err(Broken::new(Rule::I5, "the channel paid what had been given back"));
    }
    Ok(())
}

fn step(around: &Around, world: &mut World, happening: Happening) -> Result<(), Broken> {
    let is_lease_over = world.payout.stage == Stage::Submitting && happening == Happening::Due;
    if is_lease_over && !around.profile.sends_after_lease {
        // From here on it must not be sent, and its process may say that it was not.
        moved(world, Shot::NotSent);
    }
    let Some(done) = around.done(world, happening) else { return Ok(()) };
    let before = world.payout;
    world.payout = done.payout;
    if done.is_new_version {
        world.prepared = world.prepared.map(|(decision, _)| (decision, true));
    }
    left_well(before.stage, world.payout.stage)?;
    decided_by_a_person(world, &done, happening)?;
    not_given_up(&done, happening)?;
    for booking in &done.bookings {
        book(around, world, *booking)?;
    }
    if world.payout.stage.is_over() == world.is_held {
        let what = if world.is_held {
            "it is over, and the money is still on hold"
        } else {
            "it is not over, and no money is on hold"
        };
        return Err(Broken::new(Rule::I7, what));
    }
    if let Some(Effect::Submit { attempt, r#try, .. }) = done.effect {
        submit(around, world, &done, Try { attempt, number: r#try })?;
    }
    notified(&before, &done)?;
    seen(&before, &done, happening)?;
    not_silent(&before, &done.payout)?;
    // After a restore it may find a second attempt while it does not know what became of the first.
    if around.profile.is_truthful && done.has_two_live && !world.is_restored() {
        return Err(Broken::new(Rule::I2, "two attempts are live"));
    }
    Ok(())
}

/// What was paid in another amount is settled or given back by a person only.
fn decided_by_a_person(world: &World, done: &Done, happening: Happening) -> Result<(), Broken> {
    let is_other = world.truths.iter().any(|truth| truth == Truth::PaidOther);
    let is_decision = matches!(happening, Happening::Decided { .. });
    if is_other && !is_decision && !done.bookings.is_empty() {
        let what = "it was booked, and the channel has paid another amount";
        return Err(Broken::new(Rule::I18, what));
    }
    Ok(())
}

/// What this machine could not send is tried again.
fn not_given_up(done: &Done, happening: Happening) -> Result<(), Broken> {
    let is_ours = matches!(happening, Happening::Submitted(_, Outcome::NotSentByUs));
    if is_ours && done.payout.stage == Stage::Failed {
        return Err(Broken::new(Rule::I19, "it has failed, and the channel was never asked"));
    }
    Ok(())
}

/// The corrections: what channels may say when everything is over.
const CORRECTIONS: [(Stage, Stage); 8] = [
    (Stage::Success, Stage::Returned),
    (Stage::Failed, Stage::LateSuccess),
    (Stage::Failed, Stage::Returned),
    (Stage::Cancelled, Stage::LateSuccess),
    (Stage::Cancelled, Stage::Returned),
    (Stage::Expired, Stage::LateSuccess),
    (Stage::Expired, Stage::Returned),
    (Stage::LateSuccess, Stage::Returned),
];

fn left_well(before: Stage, after: Stage) -> Result<(), Broken> {
    if !before.is_over() || before == after || CORRECTIONS.contains(&(before, after)) {
        return Ok(());
    }
    let what = format!("{} is an end, and it became {}", before.status(), after.status());
    Err(Broken::new(Rule::I10, what))
}

fn book(around: &Around, world: &mut World, booking: Booking) -> Result<(), Broken> {
    let broken = |rule, what: &str| Err(Broken::new(rule, what));
    let is_truthful = around.profile.is_truthful;
    match booking {
        Booking::Reserve => return broken(Rule::I1, "it was reserved again"),
        Booking::Settle if !world.is_held => {
            return broken(Rule::I1, "it was settled, and no money was on hold any more");
        }
        Booking::Release if !world.is_held => {
            return broken(Rule::I1, "it was given back, and no money was on hold any more");
        }
        Booking::Settle if is_truthful && !world.is_paid() => {
            return broken(Rule::I4, "it was settled, and the channel has paid nothing");
        }
        Booking::Release if is_truthful && may_be_paid(around, world) => {
            let is_cancelled = matches!(world.payout.stage, Stage::Cancelled | Stage::Expired);
            let rule = if is_cancelled { Rule::I14 } else { Rule::I5 };
            let what = if world.is_paid() {
                "it was given back, and the channel has paid it"
            } else {
                "it was given back, and the channel may still pay it"
            };
            return broken(rule, what);
        }
        Booking::Settle | Booking::Release => world.is_held = false,
        Booking::TakeBackRelease if world.is_held || world.is_taken_back => {
            return broken(Rule::I6, "a release was taken back that was not there");
        }
        Booking::TakeBackRelease => {
            world.is_taken_back = true;
            world.is_held = true;
        }
        Booking::Return if world.is_held || world.is_returned => {
            return broken(Rule::I6, "money came back that had not left, or had come back before");
        }
        Booking::Return if !came_back(world, is_truthful) => {
            return broken(Rule::C2, "it was given to the merchant, and nothing had come back");
        }
        Booking::Return => world.is_returned = true,
    }
    Ok(())
}

/// Whether what was settled is said to have come back, and has, if the channel tells the truth.
fn came_back(world: &World, is_truthful: bool) -> bool {
    world.payout.settled.is_some_and(|number| {
        let is_said = world.payout.attempts.get(number).said.has(Verdict::Returned);
        is_said && (!is_truthful || world.truths.get(number) == Truth::Returned)
    })
}

/// Whether the channel has paid or may pay it, and has not said the contrary where it may change its mind.
fn may_be_paid(around: &Around, world: &World) -> bool {
    let latest = world.payout.attempts.get(world.payout.count);
    let was_misled = !around.channel.failed_is_final && latest.said.is_not_paid();
    (world.is_paid() && !was_misled) || world.may_still_be_paid(&around.profile)
}

/// Something will be sent.
fn submit(around: &Around, world: &mut World, done: &Done, planned: Try) -> Result<(), Broken> {
    let broken = |rule, what: &str| Err(Broken::new(rule, what));
    if matches!(world.payout.stage, Stage::Cancelled | Stage::Expired) {
        return broken(Rule::I14, "it was cancelled or has expired, and is sent");
    }
    if world.is_frozen {
        return broken(Rule::I15, "it is sent although it is frozen");
    }
    let is_saved = world.payout.attempts.get(planned.attempt).tries == planned.number;
    if !is_saved || !world.is_held {
        return broken(Rule::I8, "it is sent without being saved, or without money on hold");
    }
    if done.has_one_reference {
        return broken(Rule::I9, "another attempt goes out under the same reference");
    }
    let is_idempotent = around.profile.submit_is_idempotent;
    for other in World::tries().into_iter().filter(|other| *other != planned) {
        let truth = world.truths.get(other.attempt);
        let may_arrive = world.may_arrive(other, &around.profile);
        let is_same = other.attempt == planned.attempt;
        let was_taken = truth != Truth::Nothing && !truth.has_failed();
        if is_same && !is_idempotent && (may_arrive || truth != Truth::Nothing) {
            return broken(Rule::I9, "a reference is sent again that the channel has or may get");
        }
        if around.profile.is_truthful && !is_same && (may_arrive || was_taken) {
            return broken(Rule::I2, "another attempt is sent while an earlier one may be paid");
        }
    }
    let may_repeat = world.was_forgotten(planned) || (is_idempotent && world.is_restored());
    if world.shot(planned) != Shot::None && !may_repeat {
        return broken(Rule::I9, "a try is sent that was sent before");
    }
    world.set(planned, Shot::Unsent);
    Ok(())
}

/// Every change emits one event, and nothing else does.
fn notified(before: &Small, done: &Done) -> Result<(), Broken> {
    let status = |payout: &Small| (payout.stage.status(), payout.case);
    let has_changed = status(before) != status(&done.payout);
    match (has_changed, done.is_notified) {
        (true, false) => {
            let what = format!("it became {}, without an event", done.payout.stage.status());
            Err(Broken::new(Rule::I16, what))
        }
        (false, true) => {
            Err(Broken::new(Rule::I16, "nothing has changed, and an event is emitted"))
        }
        (true, true) | (false, false) => Ok(()),
    }
}

/// A decision is about everything that is known.
fn seen(before: &Small, done: &Done, happening: Happening) -> Result<(), Broken> {
    let has_changed = before.stage.status() != done.payout.stage.status()
        || before.attempts != done.payout.attempts;
    if has_changed && !done.is_new_version {
        return Err(Broken::new(Rule::I17, "there is news, and the version is still the same"));
    }
    let is_decision = matches!(happening, Happening::Decided { .. });
    if done.is_new_version && !is_decision && done.payout.proposal.is_some() {
        let what = "one of two had decided before the news came, and the decision still counts";
        return Err(Broken::new(Rule::I17, what));
    }
    Ok(())
}

/// What is first heard when the money has moved, and says otherwise, is a case.
fn not_silent(before: &Small, after: &Small) -> Result<(), Broken> {
    let broken = |what: &str| Err(Broken::new(Rule::C1, what));
    let is_new = |verdict: Verdict| {
        let said = |payout: &Small| payout.attempts.iter().any(|one| one.said.has(verdict));
        said(after) && !said(before)
    };
    let is_settled = matches!(after.stage, Stage::Success | Stage::LateSuccess | Stage::Returned);
    let was_settled = matches!(before.stage, Stage::Success | Stage::LateSuccess);
    let was_released = matches!(before.stage, Stage::Failed | Stage::Cancelled | Stage::Expired);
    let is_quiet = after.case.is_none() || after.is_case_closed;
    if was_released && is_new(Verdict::Paid) && is_quiet {
        return broken("it was given back, then said to be paid, and no case is open");
    }
    if (was_released || was_settled) && is_new(Verdict::AmountDiffers) && is_quiet {
        return broken("the money had moved, then another amount was said, and no case is open");
    }
    let paid = after.attempts.iter().filter(|attempt| attempt.said.is_paid()).count();
    if is_settled && paid > 1 && after.case != Some(Discrepancy::PaidTwice) {
        return broken("two attempts are said to be paid, and no case is open");
    }
    let said = |payout: &Small, number| payout.attempts.get(number).said;
    let settled = after.settled.map(|number| (said(before, number), said(after, number)));
    let is_denied = settled.is_some_and(|(before, after)| {
        after.is_not_paid() && !before.is_not_paid() && !after.has(Verdict::Returned)
    });
    if was_settled && is_denied && is_quiet {
        return broken("it was settled, then said not to be paid, and no case is open");
    }
    let came_back = settled.is_some_and(|(_, after)| after.has(Verdict::Returned));
    if is_settled && came_back && after.stage != Stage::Returned {
        return broken("the money came back, and the merchant does not have it");
    }
    Ok(())
}
