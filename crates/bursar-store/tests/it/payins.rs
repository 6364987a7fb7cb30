//! Pay-ins on every store: whatever a provider says, however often, the merchant is credited once.

use std::sync::Arc;

use bursar_core::idempotency::{FlowReply, Key};
use bursar_core::payin::{NewPayIn, Said, View};
use bursar_core::pricing::Tariff;
use bursar_core::registry::{Change, MerchantStatus, Registration};
use bursar_core::request::{Answer, Body, Reply};
use bursar_core::rules::Rules;
use bursar_store::{Browse, FlowFilter, Memory, Postgres, Query, Sqlite, Store};

use crate::cluster::Cluster;
use crate::desk::Desk;
use crate::scratch::Scratch;
use crate::workload::{block_on, rules};

fn priced() -> Rules {
    let pkr = "PKR".parse().unwrap();
    let tariff = Tariff::new("0.00", 290, 1_600, pkr).unwrap();
    Rules { payin_tariffs: [(pkr, tariff)].into(), ..rules() }
}

fn payin(reference: &str, amount: &str, said: Said, event: &str) -> NewPayIn {
    let text = |text: &str| text.to_owned();
    NewPayIn {
        key: None,
        actor: Some(text("ops")),
        merchant: text("m1"),
        provider: text("easy"),
        reference: text(reference),
        currency: text("PKR"),
        amount: text(amount),
        said,
        event: text(event),
    }
}

fn view(answer: Answer) -> (View, bool) {
    match answer.unwrap() {
        Reply::Flow { reply, is_replay } => match Arc::unwrap_or_clone(reply) {
            FlowReply::PayIn(view) => (view, is_replay),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

async fn payins_are_booked_once(store: impl Store + Query + Browse) {
    let rules = priced();
    let mut desk = Desk::new(&rules, store, 1);
    let take = |payin: NewPayIn| Body::TakePayIn(payin);
    let first = payin("r1", "100.00", Said::Pending, "e1");
    let refused = desk.ask(take(first.clone())).await.unwrap_err();
    assert_eq!(refused.code(), "unknown_merchant");
    desk.open_merchant().await;

    let (pending, is_replay) = view(desk.ask(take(first.clone())).await);
    assert_eq!((pending.status.as_str(), is_replay), ("PENDING", false));
    assert_eq!(desk.balance("merchants:m1:available:PKR").await, 0, "nothing has come in yet");
    let completed = payin("r1", "100.00", Said::Completed, "e2");
    let (collected, is_replay) = view(desk.ask(take(completed.clone())).await);
    assert_eq!((collected.status.as_str(), is_replay), ("COLLECTED", false));
    assert_eq!((&*collected.net, &*collected.fee, &*collected.vat), ("96.64", "2.90", "0.46"));
    assert_eq!(collected.id, pending.id, "a later word about the same reference is not dropped");
    for again in [&completed, &first, &payin("r1", "100.00", Said::Completed, "e3")] {
        let (view, is_replay) = view(desk.ask(take(again.clone())).await);
        assert_eq!((view, is_replay), (collected.clone(), true), "said again, answered again");
    }
    assert_eq!(desk.balance("merchants:m1:available:PKR").await, 9_664);
    let other = desk.ask(take(payin("r1", "100.01", Said::Completed, "e4"))).await.unwrap_err();
    assert_eq!(other.code(), "reference_reused");

    let (failed, _) = view(desk.ask(take(payin("r1", "100.00", Said::Failed, "e5"))).await);
    assert_eq!(failed.status, "CONTRADICTED");
    assert_eq!(desk.balance("merchants:m1:available:PKR").await, 9_664, "on a word, nothing moves");

    // Prices change between two words: what was quoted first is booked.
    let dearer = Tariff::new("0.00", 1_000, 1_600, "PKR".parse().unwrap()).unwrap();
    let new_prices = Rules {
        payin_tariffs: [("PKR".parse().unwrap(), dearer)].into(),
        provider_banks: [("easy".to_owned(), "other".to_owned())].into(),
        ..rules.clone()
    };
    let (quoted, _) = view(desk.ask(take(payin("r9", "100.00", Said::Pending, "p1"))).await);
    desk.rules = &new_prices;
    let (booked, _) = view(desk.ask(take(payin("r9", "100.00", Said::Completed, "p2"))).await);
    desk.rules = &rules;
    assert_eq!((&booked.id, &booked.net), (&quoted.id, &"96.64".to_owned()));
    assert_eq!(desk.balance("merchants:m1:available:PKR").await, 2 * 9_664);
    assert_eq!(desk.balance("assets:bank:other:PKR").await, 0);
    let (small, _) = view(desk.ask(take(payin("a:b", "0.01", Said::Completed, "p3"))).await);
    assert_eq!((&*small.net, &*small.fee), ("0.01", "0.00"));

    let key = Some(Key::new("ops".to_owned(), "k1".to_owned()));
    let keyed = NewPayIn { key, ..payin("r2", "5", Said::Completed, "r2") };
    let (made, _) = view(desk.ask(take(keyed.clone())).await);
    assert_eq!(view(desk.ask(take(keyed.clone())).await), (made, true));
    let mismatch = NewPayIn { reference: "r3".to_owned(), ..keyed };
    let refused = desk.ask(take(mismatch)).await.unwrap_err();
    assert_eq!(refused.code(), "idempotency_mismatch");

    let change = Change::AlterMerchant {
        id: "m1".to_owned(),
        name: None,
        status: Some(MerchantStatus::Closed),
    };
    let close = Registration { actor: "ops".to_owned(), change };
    desk.ask(Body::Register(close)).await.unwrap();
    let refused = desk.ask(take(payin("r4", "5", Said::Completed, "r4"))).await.unwrap_err();
    assert_eq!(refused.code(), "merchant_closed");
    let nothing = desk.ask(take(payin("r5", "0", Said::Completed, "r5"))).await.unwrap_err();
    assert_eq!(nothing.code(), "nothing_to_pay");

    let filter = FlowFilter { kind: "payin", ..FlowFilter::default() };
    let page = desk.store.flows_back(&filter, None, 10).await.unwrap();
    assert_eq!((page.flows.len(), page.next), (4, None));
    let told = desk.store.events_of(&pending.id, 0, 10).await.unwrap();
    let kinds: Vec<&str> = told.iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(kinds, ["payin.pending", "payin.success", "payin.contradicted"]);
    desk.assert_sound().await;
}

#[test]
fn payins_live_in_memory() {
    block_on(payins_are_booked_once(Memory::default()));
}

#[test]
fn payins_live_in_sqlite() {
    let scratch = Scratch::new();
    block_on(payins_are_booked_once(Sqlite::open(scratch.path()).unwrap()));
}

#[test]
fn payins_live_in_postgres() {
    let cluster = Cluster::start();
    block_on(async { payins_are_booked_once(Postgres::open(&cluster.url()).await.unwrap()).await });
}
