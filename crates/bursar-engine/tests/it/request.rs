//! The requests and rules of the tests, and a runtime whose time is paused.

use std::future::Future;

use bursar_core::idempotency::Key;
use bursar_core::ledger::rulebook::Rulebook;
use bursar_core::ledger::{LedgerEvent, Post};
use bursar_core::payouts::channel::{Channel, Clocks, ReportsAmount};
use bursar_core::payouts::{Beneficiary, ClientMetadata, Create, NewPayout};
use bursar_core::registry::{Change, Registration};
use bursar_core::rules::Rules;
use bursar_core::turn::Body;
use bursar_store::Postgres;
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
        reports_amount: ReportsAmount::default(),
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
    let event = LedgerEvent {
        name: "ADJUSTMENT_CREDIT".to_owned(),
        reference: format!("start-{merchant}"),
        variables: pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        effective_at: None,
    };
    Post { event, actor: None }.into()
}

pub(crate) fn open_merchant(merchant: &str) -> Body {
    let change = Change::OpenMerchant { id: merchant.to_owned(), name: "Shop".to_owned() };
    Registration { actor: "ops".to_owned(), change }.into()
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
        beneficiary_id: None,
        remarks: ClientMetadata::default(),
    };
    let key = Key::new(text(merchant), number.to_string());
    Create { key, payout, actor: None, workflow: None }.into()
}

/// Opens books while the clock runs: under a paused one the time limit of a new connection has passed before the server answers.
/// One after the other: a clock that runs cannot be resumed.
pub(crate) async fn open_postgres(url: &str) -> Postgres {
    static OPENING: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());
    let _one = OPENING.lock().await;
    tokio::time::resume();
    let store = Postgres::open(url).await.unwrap();
    tokio::time::pause();
    store
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
