//! Random requests about few payouts, so that they meet: made, sent, answered, asked about, told, cancelled, resolved.

use bursar_core::attempt::{Evidence, Source, Verdict};
use bursar_core::control::{Scope, Switch, Turned};
use bursar_core::idempotency::Key;
use bursar_core::ids::{FlowId, PayoutId, reference};
use bursar_core::ledger::Admission;
use bursar_core::payin::{NewPayIn, Said};
use bursar_core::payout::{
    Answer, Beneficiary, Cancellation, Event, LANE, NewPayout, Outcome, Remarks, Resolution,
    Ruling, submit_lane,
};
use bursar_core::registry::{Change, MerchantStatus, Registration};
use bursar_core::request::{Body, Report, Told, Wake};

/// What can be asked for.
pub(crate) const KINDS: [&str; 19] = [
    "create", "create", "create", "send", "send", "sent", "sent", "look", "asked", "told",
    "cancel", "resolve", "freeze", "unfreeze", "payin", "payin", "open", "close", "payee",
];

/// A payout as soon as it is asked for: its id, and what its first attempt is known by.
pub(crate) type Made = (PayoutId, String);

/// Three small numbers decide what exactly.
pub(crate) fn body(
    name: &str,
    (a, b, amount): (u8, u8, u32),
    admission: &Admission,
    made: &mut Vec<Made>,
) -> Body {
    let text = |text: &str| text.to_owned();
    let key = Key::new(text("test"), format!("{name}-{b}"));
    if name == "create" {
        let id = PayoutId::new(admission.now, &admission.seed, 0);
        made.push((id, reference(admission.now, &admission.seed, &id.to_string(), 1)));
        let payout = new_payout(&format!("m{a}"), &amount.to_string());
        return Body::CreatePayout { key, payout, actor: None };
    }
    let index = usize::from(b) % made.len().max(1);
    let unknown = (PayoutId::new(admission.now, &admission.seed, 9), text("nobody's"));
    let (id, known) = made.get(index).cloned().unwrap_or(unknown);
    let detail = || text("said so");
    match name {
        "freeze" | "unfreeze" => Body::Switch(switch(name, a, b)),
        "payin" => Body::TakePayIn(payin(a, b, amount)),
        "open" | "close" | "payee" => Body::Register(registration(name, a, b)),
        "send" => Body::Wake(Wake { lane: submit_lane("wallet"), limit: u32::from(a) + 1 }),
        "look" => Body::Wake(Wake { lane: text(LANE), limit: 5 }),
        "sent" => {
            let outcome = match amount {
                0 => Outcome::NotSent { detail: detail() },
                1 => Outcome::Rejected { is_retryable: a == 0, detail: detail() },
                100 => Outcome::Accepted { provider_reference: None },
                _ => Outcome::Unknown { detail: detail() },
            };
            let event = Event::Submitted { attempt: 1 + u32::from(a == 2), r#try: 1, outcome };
            Body::Report(Report { flow: FlowId::from(id), event: event.into() })
        }
        "asked" => {
            let answer = match a {
                0 => Answer::NotFound,
                1 => Answer::Paid { provider_reference: None },
                _ => Answer::Failed { detail: detail() },
            };
            let event = Event::Queried { attempt: 1, lease_until: admission.now, answer };
            Body::Report(Report { flow: FlowId::from(id), event: event.into() })
        }
        "told" => {
            let verdict = match (a, amount) {
                (0, _) => Verdict::Paid,
                (1, _) => Verdict::NotPaid { is_retryable: false },
                (_, 0) => Verdict::Returned,
                (_, _) => Verdict::Accepted,
            };
            let evidence = Evidence::new(Source::Callback, verdict);
            Body::Tell(Told { channel: text("wallet"), reference: known, evidence })
        }
        "cancel" => {
            let cancellation = Cancellation { id, expected_version: None, actor: text("m1") };
            Body::CancelPayout { key, cancellation }
        }
        _ => {
            let ruling = [Ruling::ConfirmPaid, Ruling::ConfirmNotPaid, Ruling::NewAttempt];
            let resolution = Resolution {
                id,
                ruling: ruling[usize::from(a)],
                evidence: detail(),
                expected_version: u64::from(b),
                actor: text("ops"),
                is_approver: true,
            };
            Body::ResolvePayout { key, resolution }
        }
    }
}

/// Somebody to pay through the wallet.
pub(crate) fn new_payout(merchant: &str, amount: &str) -> NewPayout {
    let text = |text: &str| text.to_owned();
    let beneficiary = Beneficiary {
        name: text("A. Khan"),
        account: None,
        msisdn: Some(text("923001234567")),
        bank: None,
    };
    NewPayout {
        merchant: text(merchant),
        channel: text("wallet"),
        currency: text("PKR"),
        amount: text(amount),
        beneficiary,
        scheduled_at: None,
        remarks: Remarks::default(),
    }
}

fn switch(name: &str, a: u8, b: u8) -> Switch {
    let scope = match b % 4 {
        0 => Scope::Global,
        1 => Scope::Channel("wallet".to_owned()),
        _ => Scope::Merchant(format!("m{b}")),
    };
    let turn = match name {
        "freeze" => Turned::Freeze { reason: "said so".to_owned() },
        _ => Turned::Unfreeze { reason: String::new() },
    };
    Switch { scope, actor: format!("ops{a}"), is_approver: b != 3, turn }
}

/// What a provider calls each word of `Said::ALL`: stored texts must not depend on the names of our types.
pub(crate) const NAMES_OF_WORDS: [&str; 3] = ["Pending", "Completed", "Failed"];

/// A provider with few references says this and that about them.
pub(crate) fn payin(a: u8, b: u8, amount: u32) -> NewPayIn {
    let said = Said::ALL[usize::from(a)];
    NewPayIn {
        key: (b == 7).then(|| Key::new("test".to_owned(), format!("payin-{a}"))),
        actor: b.is_multiple_of(2).then(|| "ops".to_owned()),
        merchant: format!("m{}", b % 3),
        provider: "easy".to_owned(),
        reference: format!("r{}", b % 4),
        currency: "PKR".to_owned(),
        amount: amount.to_string(),
        said,
        event: NAMES_OF_WORDS[usize::from(a)].to_owned(),
    }
}

fn registration(name: &str, a: u8, b: u8) -> Registration {
    let id = format!("m{a}");
    let change = match name {
        "open" if b == 0 => {
            Change::AlterMerchant { id, name: None, status: Some(MerchantStatus::Open) }
        }
        "open" => Change::OpenMerchant { name: format!("Shop {}", b % 2), id },
        "close" => Change::AlterMerchant { id, name: None, status: Some(MerchantStatus::Closed) },
        _ => Change::AddBeneficiary { merchant: id, details: new_payout("", "").beneficiary },
    };
    Registration { actor: format!("ops{b}"), change }
}
