//! The mistakes that others have made, planted one by one: each must be found.

use super::explore::{explore, small};
use super::world::StepFn;
use super::*;
use crate::rejection::Rejection;

fn failed(payout: &Payout) -> Step {
    let state = State::Failed { reason: "mistake".to_owned() };
    Step::to(payout.clone(), state, &[Booking::Release])
}

fn ready(payout: &Payout) -> Step {
    Step::to(payout.clone(), State::Ready { not_before: at(0) }, &[])
}

fn is_timeout(payout: &Payout, event: &Event) -> bool {
    matches!(payout.state, State::Submitting { .. })
        && matches!(event, Event::Due | Event::Submitted { outcome: Outcome::Unknown { .. }, .. })
}

/// A machine that makes a mistake where `mistaken` answers, and is the real one elsewhere.
macro_rules! mistake {
    ($name:ident, |$payout:ident, $event:ident| $mistaken:expr) => {
        fn $name(
            $payout: &Payout,
            $event: &Event,
            context: &Context<'_>,
        ) -> Result<Step, Rejection> {
            let mistaken: Option<Step> = $mistaken;
            mistaken.map_or_else(|| step($payout, $event, context), Ok)
        }
    };
}

mistake!(release_on_timeout, |payout, event| is_timeout(payout, event).then(|| failed(payout)));

mistake!(resend_on_timeout, |payout, event| is_timeout(payout, event).then(|| ready(payout)));

mistake!(poll_error_is_success, |payout, event| {
    let is_error = matches!(event, Event::Queried { answer: Answer::Failed { .. }, .. });
    is_error.then(|| Step::to(payout.clone(), State::Success, &[Booking::Settle]))
});

mistake!(not_found_is_final_at_once, |payout, event| {
    matches!(event, Event::Queried { answer: Answer::NotFound, .. }).then(|| failed(payout))
});

mistake!(cancel_without_looking, |payout, event| {
    let is_cancelled = *event == Event::CancelAsked && !payout.state.is_final();
    is_cancelled.then(|| Step::to(payout.clone(), State::Cancelled, &[Booking::Release]))
});

mistake!(stale_is_ready, |payout, event| {
    let was_sent = payout.attempts.iter().any(|attempt| attempt.tries > 0);
    (*event == Event::Due && was_sent).then(|| ready(payout))
});

fn last_write_wins(
    payout: &Payout,
    event: &Event,
    context: &Context<'_>,
) -> Result<Step, Rejection> {
    let mut payout = payout.clone();
    if let Event::Told { attempt, .. } = event {
        for known in payout.attempts.iter_mut().filter(|known| known.number == *attempt) {
            known.forget_evidence();
        }
    }
    step(&payout, event, context)
}

#[test]
fn every_known_mistake_is_found() {
    let mistakes: [(&str, StepFn); 7] = [
        ("release on timeout", release_on_timeout),
        ("resend on timeout", resend_on_timeout),
        ("poll error is success", poll_error_is_success),
        ("not found is final at once", not_found_is_final_at_once),
        ("cancel without looking", cancel_without_looking),
        ("last write wins", last_write_wins),
        ("stale is ready", stale_is_ready),
    ];
    let channel = small(channel());
    let mut stories = Vec::new();
    for (name, mistake) in mistakes {
        let Err(story) = explore(&channel, mistake) else { panic!("{name} was not found") };
        stories.push(format!("{name}: {}\n  {}", story.end, story.steps.join("\n  ")));
    }
    insta::assert_snapshot!(stories.join("\n"));
}
