//! What staff wants to do: most of it is more than one person may do alone.

use std::collections::BTreeMap;

use bursar_core::idempotency::Key;
use bursar_core::ids::{PayoutId, Seed, TransactionId};
use bursar_core::ledger::{LedgerEvent, Post, REVERT};
use bursar_core::payins::{NewPayIn, ProviderStatus};
use bursar_core::payouts::{AskAgain, Beneficiary, ClientMetadata, Create, NewPayout};
use bursar_core::registry::{ApiKey, Change, Registration, Role};
use bursar_core::turn::Body;

use crate::simulate::actors::MERCHANTS;
use crate::simulate::dice::Dice;
use crate::simulate::scene::time_at;

/// A request of staff by its number: a payment, a posting or a key.
pub(super) fn any(number: u64, actor: &str, dice: &mut Dice) -> Body {
    let merchant = dice.pick(&MERCHANTS).copied().unwrap_or_default();
    let whole = if dice.chance(100) { dice.between(1, 900) } else { dice.between(1_001, 3_500) };
    let amount = format!("{whole}.{:02}", dice.below(100));
    match dice.below(10) {
        0..=2 => payin(number, actor, (merchant, amount), dice),
        3..=5 => payout(number, actor, (merchant, amount)),
        6 => post(actor, "ADJUSTMENT_CREDIT", number, (merchant, &amount)),
        7 => post(actor, "ADJUSTMENT_DEBIT", number, (merchant, &amount)),
        8 => issue(number, actor, &format!("new {number}")),
        // Refused for other reasons.
        _ if dice.chance(500) => issue(number, actor, "\u{430}nna"),
        _ => AskAgain { id: PayoutId::new(time_at(0), &Seed::from(1), 1) }.into(),
    }
}

fn payin(number: u64, actor: &str, money: (&str, String), dice: &mut Dice) -> Body {
    let (merchant, amount) = money;
    let said = if dice.chance(150) { ProviderStatus::Pending } else { ProviderStatus::Completed };
    NewPayIn {
        key: Some(Key::new("staff".to_owned(), format!("in-{number}"))),
        actor: Some(actor.to_owned()),
        merchant: merchant.to_owned(),
        provider: "easypay".to_owned(),
        reference: format!("staff-{number}"),
        currency: "PKR".to_owned(),
        amount,
        said,
        event: "by-hand".to_owned(),
    }
    .into()
}

/// The report of the provider about a pay-in that staff records.
pub(super) fn of_provider(payin: &NewPayIn) -> Body {
    let said = ProviderStatus::Completed;
    NewPayIn { key: None, actor: None, said, event: "e1".to_owned(), ..payin.clone() }.into()
}

fn payout(number: u64, actor: &str, (merchant, amount): (&str, String)) -> Body {
    let payout = NewPayout {
        merchant: merchant.to_owned(),
        channel: "wallet".to_owned(),
        currency: "PKR".to_owned(),
        amount,
        beneficiary: Beneficiary {
            name: "A. Khan".to_owned(),
            account: None,
            msisdn: Some("923001234567".to_owned()),
            bank: None,
        },
        beneficiary_id: None,
        scheduled_at: None,
        remarks: ClientMetadata::default(),
    };
    let key = Key::new("staff".to_owned(), format!("out-{number}"));
    Create { key, payout, actor: Some(actor.to_owned()), workflow: None }.into()
}

fn post(actor: &str, event: &str, number: u64, (merchant, amount): (&str, &str)) -> Body {
    let values = [("merchantId", merchant), ("currency", "PKR"), ("amount", amount)];
    let vat = (event == "ADJUSTMENT_DEBIT").then_some(("vat", "0.10"));
    let variables = values.into_iter().chain(vat);
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let event = LedgerEvent {
        name: event.to_owned(),
        reference: format!("staff-{number}"),
        variables: variables.collect(),
        effective_at: None,
    };
    Post { actor: Some(actor.to_owned()), event }.into()
}

pub(super) fn revert(actor: &str, id: TransactionId) -> Body {
    let event = LedgerEvent {
        name: REVERT.to_owned(),
        reference: id.to_string(),
        variables: BTreeMap::new(),
        effective_at: None,
    };
    Post { actor: Some(actor.to_owned()), event }.into()
}

fn issue(number: u64, actor: &str, person: &str) -> Body {
    let digest = Seed::from(number).derive("key of staff", 0);
    let change = Change::IssueKey {
        name: "new key".to_owned(),
        person: person.to_owned(),
        role: Role::Approver,
        merchant: None,
        digest,
        made_by: Vec::new(),
        is_setup: false,
    };
    Registration { actor: actor.to_owned(), change }.into()
}

pub(super) fn revoke(actor: &str, digest: &[u8; 32]) -> Body {
    let change = Change::RevokeKey { id: ApiKey::id_of(digest).to_string() };
    Registration { actor: actor.to_owned(), change }.into()
}
