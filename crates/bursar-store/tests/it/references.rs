//! External references on every store: a payout is found by each of its references, the first of which has no row.

use bursar_core::idempotency::Key;
use bursar_core::ids::{BooksId, FirstReferences, PayoutId};
use bursar_core::payins::{NewPayIn, ProviderStatus};
use bursar_core::payouts::Callback;
use bursar_core::payouts::attempt::{Evidence, Source, Verdict};
use bursar_store::{Query, Store};

use crate::desk::Desk;
use crate::payouts::{code, create, view};
use crate::stores::on_every_store;
use crate::workload::rules;

fn callback(channel: &str, reference: &str, verdict: Verdict) -> Callback {
    let evidence = Evidence::new(Source::Callback, verdict);
    Callback { channel: channel.to_owned(), reference: reference.to_owned(), evidence }
}

async fn attempts_are_found_by_their_references(store: impl Store + Query) {
    let rules = rules();
    let mut desk = Desk::new(&rules, store, 0);
    desk.fund().await;
    desk.open_merchant().await;
    let made = desk.commit(create("k1", "10")).await;
    assert_eq!(made.flows[0].new_references().count(), 0, "its key leads to the payout");
    let other = view(desk.ask(create("k2", "10")).await);
    let known = view(desk.ask(create("k1", "10")).await);
    let id: PayoutId = known.id.parse().unwrap();

    let refused = Verdict::NotPaid { is_retryable: true };
    for (channel, reference) in
        [("bank", known.reference.clone()), ("wallet", known.reference.to_uppercase())]
    {
        let unknown = desk.ask(callback(channel, &reference, Verdict::Paid)).await;
        assert_eq!(code(unknown), "unknown_reference", "{channel} {reference}");
    }
    let second = desk.commit(callback("wallet", &known.reference, refused)).await;
    let rows: Vec<_> = second.flows[0].new_references().collect();
    assert_eq!(rows.len(), 1, "the second attempt has a row");
    let reference = rows[0].1.to_owned();
    desk.accepted(callback("wallet", &reference, Verdict::Paid)).await;
    let flow = desk.store.flow(id.into()).await.unwrap().unwrap();
    assert_eq!(flow.state.status(), "SUCCESS");
    desk.accepted(callback("wallet", &other.reference, Verdict::Paid)).await;
    desk.assert_sound().await;
}

/// Only payouts are looked up by a key: a pay-in has a row, also if its reference is that of a payout under its key.
async fn a_payin_is_found_by_a_reference_that_leads_to_its_key(store: impl Store + Query) {
    let rules = rules();
    let mut desk = Desk::new(&rules, store, 0);
    desk.open_merchant().await;
    let key = Key::new("merchant:m1".to_owned(), "k1".to_owned());
    let text = |text: &str| text.to_owned();
    let report = NewPayIn {
        reference: FirstReferences::of(BooksId::NONE).of_key(&key.digest()),
        key: Some(key),
        actor: Some(text("ops")),
        merchant: text("m1"),
        provider: text("easy"),
        currency: text("PKR"),
        amount: text("100.00"),
        said: ProviderStatus::Completed,
        event: text("e1"),
    };
    let made = desk.commit(report.clone()).await;
    assert_eq!(made.flows[0].new_references().count(), 1);
    let booked = desk.balance("merchants:m1:available:PKR").await;
    desk.accepted(NewPayIn { key: None, event: text("e2"), ..report }).await;
    assert_eq!(desk.balance("merchants:m1:available:PKR").await, booked);
    desk.assert_sound().await;
}

on_every_store! {
    attempts_are_found_by_their_references,
    a_payin_is_found_by_a_reference_that_leads_to_its_key,
}
