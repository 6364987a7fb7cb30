//! Random requests about few payouts, so that requests collide: create, claim, outcome, query, callback, cancel, resolve.

use bursar_core::flow::{self, ClaimDue, EffectOutcome};
use bursar_core::four_eyes::Signature;
use bursar_core::freezes::{FreezeAction, FreezeChange, Scope};
use bursar_core::idempotency::Key;
use bursar_core::ids::{BooksId, FirstReferences, FlowId, PayInId, PayoutId};
use bursar_core::ledger::Admission;
use bursar_core::payins::{CloseCase, NewPayIn, ProviderStatus};
use bursar_core::payouts::attempt::{Evidence, Source, Verdict};
use bursar_core::payouts::{
    self, Answer, Beneficiary, Cancellation, ClientMetadata, Decision, Event, LANE, NewPayout,
    Outcome, Resolution, lease_lane, submit_lane,
};
use bursar_core::registry::{Change, MerchantStatus, Registration};
use bursar_core::turn::Body;

/// The steps. Stored keys contain these names.
pub(crate) const KINDS: [&str; 20] = [
    "create",
    "create",
    "create",
    "send",
    "send",
    "sent",
    "sent",
    "look",
    "asked",
    "told",
    "cancel",
    "resolve",
    "freeze",
    "unfreeze",
    "payin",
    "payin",
    "open",
    "close",
    "payee",
    "close_case",
];

/// A requested payout: its id, and the reference of its first attempt.
pub(crate) type Made = (PayoutId, String);

/// The ids of earlier steps.
#[derive(Default)]
pub(crate) struct Known {
    payouts: Vec<Made>,
    /// Reports of pay-ins; only the first under a reference has made one.
    payins: Vec<PayInId>,
}

impl Known {
    fn close_case(&self, key: Key, (a, b): (u8, u8), admission: &Admission) -> CloseCase {
        let index = usize::from(b) % self.payins.len().max(1);
        let unknown = PayInId::new(admission.now, &admission.seed, 9);
        let id = self.payins.get(index).copied().unwrap_or(unknown);
        let (evidence, actor) = ("said so".to_owned(), format!("ops{b}"));
        CloseCase { key, id, evidence, expected_version: u64::from(a) + 1, actor }
    }
}

/// The request of a step. Three small numbers select its variant.
pub(crate) fn body(
    name: &str,
    (a, b, amount): (u8, u8, u32),
    admission: &Admission,
    known: &mut Known,
) -> Body {
    let text = |text: &str| text.to_owned();
    let key = Key::new(text("test"), format!("{name}-{b}"));
    let made = &mut known.payouts;
    if name == "create" {
        let payout = new_payout(&format!("m{a}"), &amount.to_string());
        let reference = FirstReferences::of(BooksId::NONE).of_key(&key.digest());
        made.push((PayoutId::new(admission.now, &admission.seed, 0), reference));
        return payouts::Create { key, payout, actor: None, workflow: None }.into();
    }
    let index = usize::from(b) % made.len().max(1);
    // The digest contains this reference, which has a word that comments and names may not use.
    let reference_of_none = ["no", "body's"].concat();
    let unknown = (PayoutId::new(admission.now, &admission.seed, 9), reference_of_none);
    let (id, sent) = made.get(index).cloned().unwrap_or(unknown);
    let detail = || text("said so");
    match name {
        "freeze" | "unfreeze" => freeze_change(name, a, b).into(),
        "payin" => {
            known.payins.push(PayInId::new(admission.now, &admission.seed, 0));
            payin(a, b, amount).into()
        }
        "close_case" => known.close_case(key, (a, b), admission).into(),
        "open" | "close" | "payee" => registration(name, a, b).into(),
        // All that are due: who goes first among many depends on whose turn it was before.
        "send" => ClaimDue::new(submit_lane("wallet"), 40 + u32::from(a)).into(),
        "look" => {
            let lane = if b % 2 == 0 { text(LANE) } else { lease_lane("wallet") };
            ClaimDue::new(lane, 5).into()
        }
        "sent" => {
            let outcome = match amount {
                0 => Outcome::NotSent { detail: detail(), is_ours: false },
                1 => Outcome::Rejected { is_retryable: a == 0, detail: detail() },
                100 => Outcome::Accepted { provider_reference: None, reported: None },
                _ => Outcome::Unknown { detail: detail() },
            };
            let event = Event::Submitted { attempt: 1 + u32::from(a == 2), r#try: 1, outcome };
            EffectOutcome { flow: FlowId::from(id), outcome: flow::Outcome::Payout(event) }.into()
        }
        "asked" => {
            let answer = match a {
                0 => Answer::NotFound,
                1 => Answer::Paid { provider_reference: None, reported: None },
                _ => Answer::Failed { detail: detail() },
            };
            let event = Event::Queried { attempt: 1, lease_until: admission.now, answer };
            EffectOutcome { flow: FlowId::from(id), outcome: flow::Outcome::Payout(event) }.into()
        }
        "told" => {
            let verdict = match (a, amount) {
                (0, _) => Verdict::Paid,
                (1, _) => Verdict::NotPaid { is_retryable: false },
                (_, 0) => Verdict::Returned,
                (_, _) => Verdict::Accepted,
            };
            let evidence = Evidence::new(Source::Callback, verdict);
            payouts::Callback { channel: text("wallet"), reference: sent, evidence }.into()
        }
        "cancel" => {
            let cancellation = Cancellation { id, expected_version: None, actor: text("m1") };
            payouts::Cancel { key, cancellation }.into()
        }
        _ => {
            let resolution = resolution(id, (a, b), detail());
            payouts::Resolve { key, resolution }.into()
        }
    }
}

fn resolution(id: PayoutId, (a, b): (u8, u8), evidence: String) -> Resolution {
    let decision = [Decision::ConfirmPaid, Decision::ConfirmNotPaid, Decision::NewAttempt];
    Resolution {
        id,
        decision: decision[usize::from(a)],
        evidence,
        expected_version: u64::from(b),
        actor: "ops".to_owned(),
        is_approver: true,
        made_by: vec![],
    }
}

/// A payout through the channel `wallet`.
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
        beneficiary_id: None,
        remarks: ClientMetadata::default(),
    }
}

fn freeze_change(name: &str, a: u8, b: u8) -> FreezeChange {
    let scope = match b % 4 {
        0 => Scope::Global,
        1 => Scope::Channel("wallet".to_owned()),
        _ => Scope::Merchant(format!("m{b}")),
    };
    let action = match name {
        "freeze" => FreezeAction::Freeze { reason: "said so".to_owned() },
        _ => FreezeAction::Unfreeze { reason: String::new() },
    };
    FreezeChange { scope, by: Signature::new(&format!("ops{a}"), b != 3), action }
}

/// The provider's name for each status of `ProviderStatus::ALL`: stored texts must not depend on names of types.
pub(crate) const PROVIDER_NAMES: [&str; 3] = ["Pending", "Completed", "Failed"];

/// A report of a provider about one of few pay-ins.
pub(crate) fn payin(a: u8, b: u8, amount: u32) -> NewPayIn {
    NewPayIn {
        key: (b == 7).then(|| Key::new("test".to_owned(), format!("payin-{a}"))),
        actor: b.is_multiple_of(2).then(|| "ops".to_owned()),
        merchant: format!("m{}", b % 3),
        provider: "easy".to_owned(),
        reference: format!("r{}", b % 4),
        currency: "PKR".to_owned(),
        amount: amount.to_string(),
        said: ProviderStatus::ALL[usize::from(a)],
        event: PROVIDER_NAMES[usize::from(a)].to_owned(),
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
