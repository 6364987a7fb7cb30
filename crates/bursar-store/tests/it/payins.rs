//! Pay-ins on every store: a merchant is credited once, whatever a provider reports and however often.

use std::sync::Arc;

use bursar_core::idempotency::Key;
use bursar_core::ledger::pricing::Tariff;
use bursar_core::payins::{NewPayIn, ProviderStatus, ReportReply, View};
use bursar_core::registry::{Change, MerchantStatus, Registration};
use bursar_core::rejection::Rejection;
use bursar_core::rules::Rules;
use bursar_core::turn::Given;
use bursar_store::{Browse, FlowFilter, Query, Store};

use crate::desk::Desk;
use crate::stores::on_every_store;
use crate::workload::rules;

fn priced() -> Rules {
    let pkr = "PKR".parse().unwrap();
    let tariff = Tariff::new("0.00", 290, 1_600, pkr).unwrap();
    Rules { payin_tariffs: [(pkr, tariff)].into(), ..rules() }
}

fn payin(reference: &str, amount: &str, status: ProviderStatus, event: &str) -> NewPayIn {
    let text = |text: &str| text.to_owned();
    NewPayIn {
        key: None,
        actor: Some(text("ops")),
        merchant: text("m1"),
        provider: text("easy"),
        reference: text(reference),
        currency: text("PKR"),
        amount: text(amount),
        said: status,
        event: text(event),
    }
}

fn view(answer: Result<ReportReply, Rejection>) -> (View, bool) {
    let ReportReply::PayIn(Given { view, is_replay }) = answer.unwrap() else {
        panic!("the report has other values")
    };
    (Arc::unwrap_or_clone(view), is_replay)
}

fn differs(answer: Result<ReportReply, Rejection>) -> &'static str {
    let ReportReply::Differs(rejection) = answer.unwrap() else {
        panic!("the report has the values of the pay-in")
    };
    rejection.code()
}

async fn payins_are_booked_once(store: impl Store + Browse) {
    let rules = priced();
    let mut desk = Desk::new(&rules, store, 1);
    let first = payin("r1", "100.00", ProviderStatus::Pending, "e1");
    let refused = desk.ask(first.clone()).await.unwrap_err();
    assert_eq!(refused.code(), "unknown_merchant");
    desk.open_merchant().await;

    let (pending, is_replay) = view(desk.ask(first.clone()).await);
    assert_eq!((pending.status.as_str(), is_replay), ("PENDING", false));
    assert_eq!(
        desk.balance("merchants:m1:available:PKR").await,
        0,
        "a pending pay-in credits nothing"
    );
    let completed = payin("r1", "100.00", ProviderStatus::Completed, "e2");
    let (collected, is_replay) = view(desk.ask(completed.clone()).await);
    assert_eq!((collected.status.as_str(), is_replay), ("COLLECTED", false));
    assert_eq!((&*collected.net, &*collected.fee, &*collected.vat), ("96.64", "2.90", "0.46"));
    assert_eq!(collected.id, pending.id, "a later report is about the same pay-in");
    for again in [&completed, &first, &payin("r1", "100.00", ProviderStatus::Completed, "e3")] {
        let (view, is_replay) = view(desk.ask(again.clone()).await);
        assert_eq!((view, is_replay), (collected.clone(), true), "a repeated report is replayed");
    }
    assert_eq!(desk.balance("merchants:m1:available:PKR").await, 9_664);
    let other = desk.ask(payin("r1", "100.01", ProviderStatus::Completed, "e4")).await;
    assert_eq!(differs(other), "reference_reused");

    let (failed, _) = view(desk.ask(payin("r1", "100.00", ProviderStatus::Failed, "e5")).await);
    assert_eq!(failed.status, "CONTRADICTED");
    assert_eq!(
        desk.balance("merchants:m1:available:PKR").await,
        9_664,
        "a contradiction moves no money"
    );

    // The tariff changes between two reports: the pay-in keeps the tariff of the first.
    let dearer = Tariff::new("0.00", 1_000, 1_600, "PKR".parse().unwrap()).unwrap();
    let new_prices = Rules {
        payin_tariffs: [("PKR".parse().unwrap(), dearer)].into(),
        providers: [("easy".to_owned(), "other".to_owned())].into(),
        ..rules.clone()
    };
    let (quoted, _) = view(desk.ask(payin("r9", "100.00", ProviderStatus::Pending, "p1")).await);
    desk.rules = &new_prices;
    let (booked, _) = view(desk.ask(payin("r9", "100.00", ProviderStatus::Completed, "p2")).await);
    let typo = NewPayIn {
        provider: "eazy".to_owned(),
        ..payin("r9", "5", ProviderStatus::Completed, "p2")
    };
    assert_eq!(desk.ask(typo).await.unwrap_err().code(), "unknown_provider");
    desk.rules = &rules;
    assert_eq!((&booked.id, &booked.net), (&quoted.id, &"96.64".to_owned()));
    assert_eq!(desk.balance("merchants:m1:available:PKR").await, 2 * 9_664);
    assert_eq!(desk.balance("assets:bank:other:PKR").await, 0);
    let (small, _) = view(desk.ask(payin("a:b", "0.01", ProviderStatus::Completed, "p3")).await);
    assert_eq!((&*small.net, &*small.fee), ("0.01", "0.00"));

    keys_and_rejections(&mut desk).await;

    let filter = FlowFilter { kind: "payin", ..FlowFilter::default() };
    let page = desk.store.list_flows_desc(&filter, None, 10).await.unwrap();
    assert_eq!((page.flows.len(), page.next), (4, None));
    let events = desk.store.events_of(&pending.id, 0, 10).await.unwrap();
    let kinds: Vec<&str> = events.iter().map(|event| event.kind.as_str()).collect();
    // The second success is about the other amount.
    assert_eq!(kinds, ["payin.pending", "payin.success", "payin.success", "payin.contradicted"]);
    desk.assert_sound().await;
}

async fn keys_and_rejections(desk: &mut Desk<'_, impl Store + Query>) {
    let key = Some(Key::new("ops".to_owned(), "k1".to_owned()));
    let keyed = NewPayIn { key, ..payin("r2", "5", ProviderStatus::Completed, "r2") };
    let (made, _) = view(desk.ask(keyed.clone()).await);
    assert_eq!(view(desk.ask(keyed.clone()).await), (made, true));
    let mismatch = NewPayIn { reference: "r3".to_owned(), ..keyed };
    let refused = desk.ask(mismatch).await.unwrap_err();
    assert_eq!(refused.code(), "idempotency_mismatch");

    let change = Change::AlterMerchant {
        id: "m1".to_owned(),
        name: None,
        status: Some(MerchantStatus::Closed),
    };
    let close = Registration { actor: "ops".to_owned(), change };
    desk.ask(close).await.unwrap();
    let refused = desk.ask(payin("r4", "5", ProviderStatus::Completed, "r4")).await.unwrap_err();
    assert_eq!(refused.code(), "merchant_closed");
    let nothing = desk.ask(payin("r5", "0", ProviderStatus::Completed, "r5")).await.unwrap_err();
    assert_eq!(nothing.code(), "nothing_to_pay");
}

on_every_store! { payins_are_booked_once, }
