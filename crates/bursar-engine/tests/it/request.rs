//! What the tests ask for, under which rules, and the paused time that they ask it in.

use std::future::Future;

use bursar_core::channel::{Channel, Clocks};
use bursar_core::idempotency::Key;
use bursar_core::ledger::Event;
use bursar_core::payout::{Beneficiary, NewPayout, Remarks};
use bursar_core::registry::{Change, Registration};
use bursar_core::request::Body;
use bursar_core::rulebook::Rulebook;
use bursar_core::rules::Rules;
use jiff::{SignedDuration, Timestamp};

pub(crate) fn rules() -> Rules {
    let channel = Channel {
        name: "wallet".to_owned(),
        currencies: ["PKR".parse().unwrap()].into(),
        bank: "main".to_owned(),
        submit_is_idempotent: false,
        not_found_is_final: false,
        visibility_window: SignedDuration::from_secs(30),
        failed_is_final: true,
        concurrency: 16,
        clocks: Clocks::of("mobile_wallet"),
    };
    Rules {
        channels: [(channel.name.clone(), channel)].into(),
        ..Rules::from(Rulebook::bundled().unwrap())
    }
}

pub(crate) fn fund(merchant: &str) -> Body {
    let pairs = [("merchantId", merchant), ("currency", "PKR"), ("amount", "100000")];
    Body::Post(Event {
        name: "ADJUSTMENT_CREDIT".to_owned(),
        reference: format!("start-{merchant}"),
        variables: pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        effective_at: None,
    })
}

pub(crate) fn open_merchant(merchant: &str) -> Body {
    let change = Change::OpenMerchant { id: merchant.to_owned(), name: "Shop".to_owned() };
    Body::Register(Registration { actor: "ops".to_owned(), change })
}

pub(crate) fn create(merchant: &str, number: u32) -> Body {
    create_for(merchant, number, None)
}

pub(crate) fn create_for(merchant: &str, number: u32, scheduled_at: Option<Timestamp>) -> Body {
    let text = |text: &str| text.to_owned();
    let beneficiary = Beneficiary {
        name: text("A. Khan"),
        account: None,
        msisdn: Some(text("923001234567")),
        bank: None,
    };
    let payout = NewPayout {
        merchant: text(merchant),
        channel: text("wallet"),
        currency: text("PKR"),
        amount: text("10"),
        beneficiary,
        scheduled_at,
        remarks: Remarks::default(),
    };
    Body::CreatePayout { key: Key::new(text(merchant), number.to_string()), payout, actor: None }
}

pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, future)
}
