//! The machine as one table of every state and every event, and the rules that the table cannot show.

mod explore;
mod mutants;
mod world;

use jiff::{SignedDuration, Timestamp};

use super::*;
use crate::attempt::{Attempt, Evidence, Source, Verdict};
use crate::channel::{Channel, Clocks};
use crate::flow::FlowState;
use crate::funds::Funds;
use crate::ids::Seed;
use crate::money::Money;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_794_700_800 + second).unwrap()
}

fn channel() -> Channel {
    Channel {
        name: "mobile_wallet".to_owned(),
        currencies: ["PKR".parse().unwrap()].into(),
        bank: "b1".to_owned(),
        submit_is_idempotent: false,
        not_found_is_final: false,
        visibility_window: SignedDuration::from_secs(30),
        concurrency: 64,
        clocks: Clocks::of("mobile_wallet"),
    }
}

fn context(channel: &Channel, now: Timestamp) -> Context<'_> {
    Context { now, seed: Seed::from(7), channel, is_frozen: false }
}

/// A payout in this state whose only attempt was tried this often.
fn payout(state: State, tries: u32) -> Payout {
    let money = |minor| Money::from_minor(minor, "PKR".parse().unwrap());
    let mut attempt = Attempt::new(1, "ref-1".to_owned());
    attempt.tries = tries;
    attempt.sent_at = (tries > 0).then(|| at(0));
    Payout {
        terms: Terms {
            funds: Funds {
                merchant: "m1".to_owned(),
                bank: "b1".to_owned(),
                amount: money(150_000),
                fee: money(1_500),
                vat: money(240),
            },
            channel: "mobile_wallet".to_owned(),
            beneficiary: Beneficiary {
                name: "A. Khan".to_owned(),
                account: None,
                msisdn: Some("923001234567".to_owned()),
                bank: None,
            },
            scheduled_at: None,
        },
        attempts: vec![attempt],
        state,
        hold_epoch: 1,
        released_by: None,
        proposal: None,
    }
}

/// One payout in every state, with the evidence that brought it there. All of them are due at second 100.
fn states() -> Vec<Payout> {
    let wait = Wait::Until(at(100));
    let asking = Wait::Asking { lease_until: at(100) };
    let with = |mut payout: Payout, verdicts: &[Verdict]| {
        for verdict in verdicts {
            payout.attempts[0].merge(Evidence::new(Source::Submission, *verdict), at(1));
        }
        payout
    };
    let unknown = [Verdict::Unknown { r#try: 1 }];
    let accepted = [Verdict::Accepted];
    let refused = [Verdict::NotPaid { is_retryable: false }];
    let stuck = |reason, wait| State::Stuck { reason, wait };
    let processing = |wait| State::Processing { polls: 0, deadline: at(1_000), wait };
    let unconfirmed = |wait| State::Unconfirmed { asked: 0, not_found: 0, wait };
    let failed = State::Failed { reason: "refused".to_owned() };
    vec![
        payout(State::Scheduled { until: at(100) }, 0),
        payout(State::Ready { not_before: at(100) }, 0),
        payout(State::Submitting { lease_until: at(100) }, 1),
        with(payout(unconfirmed(wait), 1), &unknown),
        with(payout(unconfirmed(asking), 1), &unknown),
        with(payout(processing(wait), 1), &accepted),
        with(payout(processing(asking), 1), &accepted),
        with(payout(stuck(StuckReason::Ambiguous, wait), 1), &unknown),
        with(payout(stuck(StuckReason::Pending, asking), 1), &accepted),
        with(
            payout(stuck(StuckReason::Conflict, wait), 1),
            &[accepted[0], Verdict::Paid, refused[0]],
        ),
        with(payout(State::Success, 1), &[Verdict::Paid]),
        with(payout(failed, 1), &refused),
        payout(State::Cancelled, 0),
        with(payout(State::Returned, 1), &[Verdict::Paid, Verdict::Returned]),
        with(payout(State::LateSuccess, 1), &[refused[0], Verdict::Paid]),
    ]
}

/// Every kind of event, about the first try of the first attempt.
fn events() -> Vec<Event> {
    let text = || "said so".to_owned();
    let submitted = |outcome| Event::Submitted { attempt: 1, r#try: 1, outcome };
    let queried = |answer| Event::Queried { attempt: 1, answer };
    let told =
        |verdict| Event::Told { attempt: 1, evidence: Evidence::new(Source::Callback, verdict) };
    let decided = |ruling| {
        Event::Decided(Decision {
            ruling,
            actor: "ops".to_owned(),
            evidence: text(),
            needs_two: false,
        })
    };
    vec![
        Event::Due,
        submitted(Outcome::NotSent { detail: text() }),
        submitted(Outcome::Rejected { is_retryable: true, detail: text() }),
        submitted(Outcome::Rejected { is_retryable: false, detail: text() }),
        submitted(Outcome::Accepted { provider_reference: None }),
        submitted(Outcome::Paid { provider_reference: None }),
        submitted(Outcome::Duplicate),
        submitted(Outcome::Unknown { detail: text() }),
        queried(Answer::Paid { provider_reference: None }),
        queried(Answer::NotPaid { is_retryable: false, detail: text() }),
        queried(Answer::Pending { provider_reference: None }),
        queried(Answer::Returned { detail: text() }),
        queried(Answer::NotFound),
        queried(Answer::Failed { detail: text() }),
        told(Verdict::Accepted),
        told(Verdict::Paid),
        told(Verdict::NotPaid { is_retryable: false }),
        told(Verdict::Returned),
        Event::CancelAsked,
        decided(Ruling::ConfirmPaid),
        decided(Ruling::ConfirmNotPaid),
        decided(Ruling::KeepWaiting),
        decided(Ruling::NewAttempt),
    ]
}

/// `SUBMITTING`, or `STUCK Conflict asking`.
fn name(state: &State) -> String {
    let wait = |wait: &Wait| match wait {
        Wait::Until(_) => "",
        Wait::Asking { .. } => " asking",
    };
    match state {
        State::Stuck { reason, wait: asked } => format!("STUCK {reason:?}{}", wait(asked)),
        State::Unconfirmed { wait: asked, .. } | State::Processing { wait: asked, .. } => {
            format!("{}{}", state.status(), wait(asked))
        }
        State::Scheduled { .. }
        | State::Ready { .. }
        | State::Submitting { .. }
        | State::Success
        | State::Failed { .. }
        | State::Cancelled
        | State::Returned
        | State::LateSuccess => state.status().to_owned(),
    }
}

fn describe(before: &Payout, result: &Result<Step, crate::rejection::Rejection>) -> String {
    let step = match result {
        Ok(step) => step,
        Err(rejection) => return format!("refused: {}", rejection.code()),
    };
    let mut words = vec![name(&step.payout.state)];
    if step.payout.state == before.state {
        words = vec!["·".to_owned()];
    }
    words.extend(step.bookings.iter().map(|booking| format!("+{booking:?}")));
    words.extend(step.effect.map(|effect| match effect {
        Effect::Submit { attempt, r#try, .. } => format!("!submit {attempt}.{try}"),
        Effect::Query { attempt, .. } => format!("!query {attempt}"),
    }));
    if step.payout.attempts.len() > before.attempts.len() {
        words.push("new attempt".to_owned());
    }
    words.join(" ")
}

#[test]
fn every_state_of_a_payout_answers_every_event() {
    let channel = channel();
    let mut table = Vec::new();
    for payout in states() {
        table.push(name(&payout.state));
        for event in events() {
            let result = step(&payout, &event, &context(&channel, at(100)));
            let event = match &event {
                Event::Submitted { outcome, .. } => format!("submitted {outcome:?}"),
                Event::Queried { answer, .. } => format!("queried {answer:?}"),
                Event::Told { evidence, .. } => format!("told {:?}", evidence.verdict),
                Event::Decided(decision) => format!("decided {:?}", decision.ruling),
                Event::Due | Event::CancelAsked => format!("{event:?}"),
            };
            let event =
                event.replace("provider_reference: None", "").replace("detail: \"said so\"", "");
            table.push(format!("  {event:<48} {}", describe(&payout, &result)));
        }
    }
    insta::assert_snapshot!(table.join("\n"));
}

#[test]
fn only_what_is_not_final_is_due() {
    for payout in states() {
        assert_eq!(payout.state.due().is_none(), payout.state.is_final());
    }
}

#[test]
fn every_stored_payout_reads_back() {
    let mut texts = Vec::new();
    for payout in states() {
        let stored = FlowState::Payout(Box::new(payout));
        assert_eq!(FlowState::decode("payout", &stored.encode()).unwrap(), stored);
        texts.push(stored.encode());
    }
    insta::assert_snapshot!(texts.join("\n"));
}
