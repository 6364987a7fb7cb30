//! Counterexamples in sentences.

use bursar_core::payouts::attempt::Verdict;
use bursar_core::payouts::{Booking, Decision, Effect};

use super::Around;
use super::done::Done;
use super::small::{Small, Stage, actor};
use super::world::{Answer, Happening, Outcome, Try, When, World};
use crate::truth::Truth;

/// What happens, and how the machine reacts.
pub(super) fn narrate(around: &Around, world: &World, happening: Happening) -> String {
    let happens = happens(world, happening);
    let decided =
        if happening == Happening::DecisionSubmitted { around.taken(world) } else { None };
    let done = around.done(world, decided.unwrap_or(happening));
    match done.map(|done| does(&world.payout, &done)).filter(|does| !does.is_empty()) {
        Some(does) => format!("{happens} Bursar {does}."),
        None => happens,
    }
}

/// What the machine does about it.
fn does(before: &Small, done: &Done) -> String {
    let after = &done.payout;
    let mut words = Vec::new();
    let status = after.stage.status();
    if after.count > before.count {
        words.push("makes another attempt".to_owned());
    }
    if before.stage.status() != status {
        words.push(format!("makes it {status}"));
    }
    words.extend(done.bookings.iter().map(|booking| {
        let word = match booking {
            Booking::Reserve => "puts the money on hold",
            Booking::Settle => "books it as paid",
            Booking::Release => "gives the money back",
            Booking::TakeBackRelease => "takes back what it gave back",
            Booking::Return => "gives the merchant what came back",
        };
        word.to_owned()
    }));
    if after.proposal.is_some() && after.proposal != before.proposal {
        words.push("waits for a second person".to_owned());
    }
    if after.case.is_some() && after.case != before.case {
        words.push("opens a case".to_owned());
    }
    words.extend(done.effect.map(|effect| match effect {
        Effect::Submit { attempt, r#try, .. } => {
            format!("saves that {} is to be sent", of(Try { attempt, number: r#try }))
        }
        Effect::Query { attempt, .. } => format!("queries the channel about attempt {attempt}"),
    }));
    match words.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}

fn of(r#try: Try) -> String {
    if r#try.number == 1 {
        format!("attempt {}", r#try.attempt)
    } else {
        format!("attempt {}, for the second time,", r#try.attempt)
    }
}

fn happens(world: &World, happening: Happening) -> String {
    match happening {
        Happening::Freeze => "An operator freezes the channel.".to_owned(),
        Happening::Thaw => "The freeze is lifted.".to_owned(),
        Happening::Send => "It is sent.".to_owned(),
        Happening::SendUnsaved => {
            "It is sent, and the process crashes before it has saved that.".to_owned()
        }
        Happening::GiveUp => "The process gives up before the first byte.".to_owned(),
        Happening::Lose(r#try) => format!("What was sent of {} is lost on its way.", of(r#try)),
        Happening::Refuse { r#try, is_retryable: true } => {
            format!("The channel gets {} and does not take it now.", of(r#try))
        }
        Happening::Refuse { r#try, is_retryable: false } => {
            format!("The channel gets {} and will not take it.", of(r#try))
        }
        Happening::Take(r#try, Truth::Paid) => {
            format!("The channel gets {} and pays it.", of(r#try))
        }
        Happening::Take(r#try, Truth::PaidOther) => {
            format!("The channel gets {} and pays another amount.", of(r#try))
        }
        Happening::Take(r#try, _) => {
            format!("The channel gets {} and takes its time.", of(r#try))
        }
        Happening::Become { attempt, truth } => becomes(attempt, truth),
        Happening::Due => due(world.payout.stage).to_owned(),
        Happening::DueLate => "Much time passes.".to_owned(),
        Happening::Submitted(r#try, outcome) => submitted(r#try, outcome),
        Happening::CalledBack { attempt, verdict } => callback(attempt, verdict),
        Happening::Answered { attempt, answer, when } => answered(attempt, answer, when),
        Happening::RecheckAsked => "A decision waits for the channel.".to_owned(),
        Happening::Copy => "A copy of the books is made.".to_owned(),
        Happening::PutBack => "The books are put back to the copy.".to_owned(),
        Happening::EndRecheck => "Two people end the recheck.".to_owned(),
        Happening::CancelAsked => "The merchant wants to cancel.".to_owned(),
        Happening::CutOff => "The window of the channel closes.".to_owned(),
        Happening::Decided { decision, is_approver } => {
            format!("The {} decides: {}.", actor(is_approver), rules(decision))
        }
        Happening::DecisionPrepared(decision) => {
            format!("An operator reads it and prepares a decision: {}.", rules(decision))
        }
        Happening::DecisionSubmitted => {
            let decision = world.prepared.map_or(Decision::KeepWaiting, |(decision, _)| decision);
            format!("The prepared decision is submitted: {}.", rules(decision))
        }
    }
}

fn becomes(attempt: u32, truth: Truth) -> String {
    match truth {
        Truth::Nothing => format!("The channel forgets attempt {attempt}."),
        Truth::Pending => format!("The channel takes its time with attempt {attempt}."),
        Truth::Paid => format!("The channel pays attempt {attempt}."),
        Truth::PaidOther => format!("The channel pays another amount for attempt {attempt}."),
        Truth::Failed { .. } => format!("Attempt {attempt} fails at the channel."),
        Truth::Returned => format!("What was paid with attempt {attempt} comes back."),
    }
}

const fn due(stage: Stage) -> &'static str {
    match stage {
        Stage::Scheduled => "Its scheduled time comes.",
        Stage::Ready => "It is claimed.",
        Stage::Submitting => "No answer comes in time.",
        Stage::Unconfirmed { is_asking: false, .. }
        | Stage::Processing { is_asking: false }
        | Stage::Stuck { is_asking: false, .. } => "It is time to query.",
        Stage::Unconfirmed { is_asking: true, .. }
        | Stage::Processing { is_asking: true }
        | Stage::Stuck { is_asking: true, .. } => "No answer to the query comes in time.",
        Stage::Success
        | Stage::Failed
        | Stage::Cancelled
        | Stage::Expired
        | Stage::Returned
        | Stage::LateSuccess => "It is claimed again.",
    }
}

fn submitted(r#try: Try, outcome: Outcome) -> String {
    let of = of(r#try);
    match outcome {
        Outcome::NotSent => format!("Its process reports: {of} was never sent."),
        Outcome::NotSentByUs => {
            format!("Its process reports: {of} was never sent, because it has no files left.")
        }
        Outcome::Rejected { is_retryable: true } => {
            format!("The channel answers: {of} is refused for now.")
        }
        Outcome::Rejected { is_retryable: false } => {
            format!("The channel answers: {of} is refused for good.")
        }
        Outcome::Accepted => format!("The channel answers: it has {of} and works on it."),
        Outcome::Paid => format!("The channel answers: {of} is paid."),
        Outcome::PaidOther => format!("The channel answers: {of} is paid, with another amount."),
        Outcome::Duplicate => format!("The channel answers: it has {of} already."),
        Outcome::Unknown => format!("The answer to {of} is lost."),
    }
}

fn callback(attempt: u32, verdict: Verdict) -> String {
    let says = match verdict {
        Verdict::NotSent { .. } => "was never sent",
        Verdict::Unknown { .. } => "is not known",
        Verdict::Refused { .. } => "is refused",
        Verdict::Accepted => "is being worked on",
        Verdict::Paid => "is paid",
        Verdict::NotPaid { is_retryable: true } => "has failed for now",
        Verdict::NotPaid { is_retryable: false } => "has failed for good",
        Verdict::Returned => "was paid and has come back",
        Verdict::AmountDiffers => "is paid, with another amount",
        Verdict::AmountMissing => "is paid, without an amount",
    };
    format!("A callback says: attempt {attempt} {says}.")
}

fn answered(attempt: u32, answer: Answer, when: When) -> String {
    let question = match when {
        When::InTime => "To the query",
        When::AfterWindow => "To a query after the visibility window",
        When::GivenUp => "To a query that was given up",
    };
    let says = match answer {
        Answer::Paid => format!("the channel says: attempt {attempt} is paid"),
        Answer::PaidOther => {
            format!("the channel says: attempt {attempt} is paid, with another amount")
        }
        Answer::NotPaid { .. } => format!("the channel says: attempt {attempt} has failed"),
        Answer::Pending => format!("the channel says: it works on attempt {attempt}"),
        Answer::Returned => format!("the channel says: attempt {attempt} has come back"),
        Answer::NotFound => format!("the channel says: it knows no attempt {attempt}"),
        Answer::Failed => "there is no usable answer".to_owned(),
    };
    format!("{question} {says}.")
}

const fn rules(decision: Decision) -> &'static str {
    match decision {
        Decision::ConfirmPaid => "it was paid",
        Decision::ConfirmNotPaid => "it was not paid",
        Decision::KeepWaiting => "wait",
        Decision::NewAttempt => "it was not paid, try again",
        Decision::CloseCase => "the case is closed",
    }
}
