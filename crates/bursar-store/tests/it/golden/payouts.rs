//! Payouts: every state, every kind of evidence, every optional field.

use std::collections::BTreeMap;
use std::sync::Arc;

use bursar_core::ids::{Seed, TransactionId};
use bursar_core::ledger::funds::Funds;
use bursar_core::money::Money;
use bursar_core::payouts::attempt::{Attempt, Evidence, Source, Verdict};
use bursar_core::payouts::{
    Beneficiary, ClientMetadata, Decision, Discrepancy, Payout, Proposal, State, StuckReason,
    Terms, Wait,
};

use crate::adapter::stored::at;

pub(super) fn all() -> Vec<Payout> {
    let states = states().into_iter().map(payout);
    let attempts = attempts().into_iter().map(|attempts| Payout { attempts, ..submitting() });
    let terms = terms().into_iter().map(|terms| Payout { terms: Arc::new(terms), ..submitting() });
    states.chain(attempts).chain(terms).chain(rest()).collect()
}

fn states() -> Vec<State> {
    let until = Wait::Until(at(100));
    let asking = Wait::Asking { lease_until: at(100) };
    let waiting = |wait| {
        let reasons = [StuckReason::Ambiguous, StuckReason::Pending, StuckReason::Conflict];
        let stuck = reasons.map(|reason| State::Stuck { reason, wait });
        let unconfirmed = State::Unconfirmed { asked: 2, not_found: 1, wait };
        let processing = State::Processing { polls: 3, deadline: at(1_000), wait };
        [unconfirmed, processing].into_iter().chain(stuck)
    };
    let first = [
        State::Scheduled { until: at(100) },
        State::Ready { not_before: at(100) },
        State::Submitting { lease_until: at(100) },
    ];
    let last = [
        State::Success,
        State::Failed { reason: "it was “refused”".to_owned() },
        State::Cancelled,
        State::Returned,
        State::LateSuccess,
    ];
    first.into_iter().chain(waiting(until)).chain(waiting(asking)).chain(last).collect()
}

/// Attempts: none sent, sent, ended, with every source and verdict, and more than one.
fn attempts() -> Vec<Vec<Attempt>> {
    let attempt = |number: u32| Attempt::new(number, format!("ref-{number}"));
    let mut sent = attempt(1);
    (sent.tries, sent.sent_by) = (2, Some(at(5)));
    let mut ended = sent.clone();
    ended.ended = Some(2);
    let verdicts = [
        Verdict::NotSent { r#try: 1 },
        Verdict::Unknown { r#try: 2 },
        Verdict::Refused { r#try: 1, is_retryable: true },
        Verdict::Refused { r#try: 1, is_retryable: false },
        Verdict::Accepted,
        Verdict::Paid,
        Verdict::NotPaid { is_retryable: true },
        Verdict::NotPaid { is_retryable: false },
        Verdict::Returned,
    ];
    let mut with_evidence = ended.clone();
    for source in [Source::Submission, Source::Callback, Source::Query, Source::Operator] {
        for (verdict, second) in verdicts.into_iter().zip(10..) {
            with_evidence.merge(Evidence::new(source, verdict), at(second));
        }
    }
    let text = |text: &str| Some(text.to_owned());
    let full = Evidence {
        provider_reference: text("px-1"),
        detail: text("no such account"),
        digest: text("00ff"),
        ..Evidence::new(Source::Callback, Verdict::Paid)
    };
    let mut in_full = ended.clone();
    for evidence in [
        Evidence { provider_reference: None, ..full.clone() },
        Evidence { detail: None, ..full.clone() },
        Evidence { digest: None, ..full.clone() },
        full,
    ] {
        in_full.merge(evidence, at(20));
    }
    let two = vec![ended.clone(), attempt(2)];
    vec![vec![attempt(1)], vec![sent], vec![ended], vec![with_evidence], vec![in_full], two]
}

fn terms() -> Vec<Terms> {
    let plain = plain_terms();
    let text = |text: &str| Some(text.to_owned());
    let account = Beneficiary {
        name: "Zoë \"Z\" Khan".to_owned(),
        account: text("PK36SCBL0000001123456702"),
        msisdn: None,
        bank: text("SCBL"),
    };
    let metadata: BTreeMap<String, String> = [("order", "17"), ("shop", "a/b")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
    let none = ClientMetadata::default;
    let only_metadata = ClientMetadata { metadata: metadata.clone(), ..none() };
    let only_trace = ClientMetadata { trace_id: text("t-1"), ..none() };
    let both = ClientMetadata { metadata, ..only_trace.clone() };
    let only_external_id = ClientMetadata { external_id: text("order/\"17\""), ..none() };
    let only_description = ClientMetadata { description: text("June, Zoë"), ..none() };
    let remarked = |remarks| Terms { remarks, ..plain.clone() };
    vec![
        Terms { beneficiary: account, ..plain.clone() },
        Terms { scheduled_at: Some(at(3_600)), ..plain.clone() },
        remarked(only_metadata),
        remarked(only_trace),
        remarked(both),
        remarked(only_external_id),
        remarked(only_description),
        Terms { beneficiary_id: text("ben_1"), ..plain.clone() },
    ]
}

/// The other optional fields.
fn rest() -> Vec<Payout> {
    let cases = [Discrepancy::PaidAfterRelease, Discrepancy::Contradicted, Discrepancy::PaidTwice];
    let cases = cases.map(|case| Payout { case: Some(case), ..payout(State::Success) });
    let rulings = [
        Decision::ConfirmPaid,
        Decision::ConfirmNotPaid,
        Decision::KeepWaiting,
        Decision::NewAttempt,
    ];
    let proposed = rulings.map(|decision| {
        let is_approver = decision == Decision::ConfirmPaid;
        let actor = "ops/key_1".to_owned();
        let proposal = Some(Proposal { decision, actor, is_approver, made_by: vec![] });
        let wait = Wait::Until(at(100));
        let state = State::Stuck { reason: StuckReason::Ambiguous, wait };
        Payout { proposal, ..payout(state) }
    });
    let released = TransactionId::new(at(0), &Seed::from(5), 0);
    let open = Payout { case: Some(Discrepancy::PaidTwice), ..payout(State::Success) };
    let closed = Payout { is_case_closed: true, ..open.clone() };
    let closing = Proposal {
        decision: Decision::CloseCase,
        actor: "ops/key_1".to_owned(),
        is_approver: false,
        made_by: vec![],
    };
    let others = [
        Payout { settled: Some(2), ..payout(State::Success) },
        Payout { released_by: Some(released), ..payout(State::Cancelled) },
        Payout { hold_epoch: 2, settled: Some(1), ..payout(State::LateSuccess) },
        closed,
        Payout { proposal: Some(closing), ..open },
    ];
    cases.into_iter().chain(proposed).chain(others).collect()
}

fn submitting() -> Payout {
    payout(State::Submitting { lease_until: at(100) })
}

fn payout(state: State) -> Payout {
    Payout {
        terms: Arc::new(plain_terms()),
        attempts: vec![Attempt::new(1, "ref-1".to_owned())],
        state,
        settled: None,
        case: None,
        is_case_closed: false,
        hold_epoch: 1,
        released_by: None,
        proposal: None,
        is_urgent: false,
        recheck: None,
    }
}

fn plain_terms() -> Terms {
    let beneficiary = Beneficiary {
        name: "A. Khan".to_owned(),
        account: None,
        msisdn: Some("923001234567".to_owned()),
        bank: None,
    };
    Terms {
        funds: funds(),
        channel: "wallet".to_owned(),
        beneficiary,
        scheduled_at: None,
        beneficiary_id: None,
        remarks: ClientMetadata::default(),
    }
}

/// The money of a payout or of a pay-in.
pub(super) fn funds() -> Funds {
    let money = |minor| Money::from_minor(minor, "PKR".parse().unwrap());
    Funds {
        merchant: "m1".to_owned(),
        bank: "b1".to_owned(),
        amount: money(150_000),
        fee: money(1_500),
        vat: money(240),
    }
}
