//! What changes about a merchant while somebody decides: it is decided again, on what is so now.

use bursar_core::apply::apply;
use bursar_core::ids::Seed;
use bursar_core::ledger::Admission;
use bursar_core::payin::{NewPayIn, Said};
use bursar_core::plan::{plan, plan_second};
use bursar_core::registry::{
    Change, EndpointChange, MerchantStatus, RecordKey, Registration, SettingsPatch,
};
use bursar_core::request::{Batch, Body, Request};
use bursar_core::rules::Rules;
use bursar_store::{Memory, Postgres, Store as _, StoreError, Turn as _, turn};

use crate::cluster::Cluster;
use crate::desk::Desk;
use crate::office::{add, change, endpoint_id};
use crate::payouts::create;
use crate::workload::{block_on, rules};

#[test]
fn a_merchant_that_is_closed_meanwhile_pays_nothing() {
    closed(When::BehindTheLastLook);
}

#[test]
fn a_merchant_that_is_closed_between_two_looks_pays_nothing() {
    closed(When::BehindTheFirstLook);
}

#[derive(Clone, Copy, PartialEq)]
enum When {
    BehindTheFirstLook,
    BehindTheLastLook,
}

fn closed(when: When) {
    let (rules, cluster) = (rules(), Cluster::start());
    block_on(async {
        let mut desk = Desk::new(&rules, Postgres::open(&cluster.url()).await.unwrap(), 0);
        desk.fund().await;
        desk.open_merchant().await;
        let admission = Admission::new(desk.now, Seed::from(77));
        let requests = [Request { admission, body: create("late", "10") }];
        let batch = Batch::new(&rules, &requests);
        let mut other = with_a_memory(&rules, &cluster).await;
        let close = || alter(MerchantStatus::Closed);

        let mut open = other.begin().await.unwrap();
        let first = plan(&batch);
        let mut records = open.load(&first).await.unwrap();
        if when == When::BehindTheFirstLook {
            desk.ask(close()).await.unwrap();
        }
        let second = plan_second(&batch, &first, &records);
        records.extend(open.load(&second).await.unwrap());
        let commit = apply(&batch, records);
        assert!(commit.answers[0].is_ok(), "it was open when it was looked at");
        if when == When::BehindTheLastLook {
            desk.ask(close()).await.unwrap();
        }
        let saved = open.save(batch.commit_id(0).unwrap(), &commit).await;
        assert!(matches!(saved, Err(StoreError::Conflict)), "{saved:?}");

        let again = turn(&mut other, &batch).await.unwrap();
        assert_eq!(again.answers[0].as_ref().unwrap_err().code(), "merchant_closed");
        desk.assert_sound().await;
    });
}

/// A process that has read the merchant before.
async fn with_a_memory(rules: &Rules, cluster: &Cluster) -> Postgres {
    let mut desk = Desk::new(rules, Postgres::open(&cluster.url()).await.unwrap(), 1);
    desk.fund().await;
    desk.ask(create("early", "10")).await.unwrap();
    desk.store
}

/// The merchant is closed, or opened again.
fn alter(status: MerchantStatus) -> Body {
    let change = Change::AlterMerchant { id: "m1".to_owned(), name: None, status: Some(status) };
    Body::Register(Registration { actor: "ops".to_owned(), change })
}

#[test]
fn what_a_process_remembers_of_a_merchant_ends_when_another_changes_it() {
    let (rules, cluster) = (rules(), Cluster::start());
    block_on(async {
        let mut desk = Desk::new(&rules, Postgres::open(&cluster.url()).await.unwrap(), 0);
        desk.fund().await;
        desk.open_merchant().await;
        let mut other = Desk::new(&rules, Postgres::open(&cluster.url()).await.unwrap(), 1);
        for key in ["read", "remembered"] {
            other.ask(create(key, "10")).await.unwrap();
        }
        desk.ask(alter(MerchantStatus::Closed)).await.unwrap();
        for key in ["closed", "still-closed"] {
            let refused = other.ask(create(key, "10")).await.unwrap_err();
            assert_eq!(refused.code(), "merchant_closed");
        }
        desk.ask(alter(MerchantStatus::Open)).await.unwrap();
        other.ask(create("open", "10")).await.unwrap();
        desk.assert_sound().await;
    });
}

/// Otherwise it could be saved although the merchant is not subscribed any more, and nobody would be told.
#[test]
fn an_endpoint_that_changes_relies_on_its_merchant_even_if_that_stays_as_it_is() {
    block_on(async {
        let rules = rules();
        let mut desk = Desk::new(&rules, Memory::default(), 0);
        desk.open_merchant().await;
        let id = endpoint_id(1);
        desk.ask(add(id, &["*"])).await.unwrap();
        let patch = SettingsPatch { concurrency: Some(9), ..SettingsPatch::default() };
        let changed = desk.commit(change(id, EndpointChange::Alter(Box::new(patch)))).await;
        assert_eq!(changed.records.len(), 1, "only the endpoint changes");
        assert_eq!(changed.relied_on, [(RecordKey::merchant("m1"), 2)]);
    });
}

fn said(said: Said, event: &str) -> Body {
    Body::TakePayIn(NewPayIn {
        key: None,
        actor: None,
        merchant: "m1".to_owned(),
        provider: "easy".to_owned(),
        reference: "r1".to_owned(),
        currency: "PKR".to_owned(),
        amount: "10.00".to_owned(),
        said,
        event: event.to_owned(),
    })
}

#[test]
fn an_endpoint_that_is_added_meanwhile_is_told() {
    let (rules, cluster) = (rules(), Cluster::start());
    block_on(async {
        let mut desk = Desk::new(&rules, Postgres::open(&cluster.url()).await.unwrap(), 0);
        desk.open_merchant().await;
        desk.ask(said(Said::Pending, "e1")).await.unwrap();
        let admission = Admission::new(desk.now, Seed::from(77));
        let requests = [Request { admission, body: said(Said::Completed, "e2") }];
        let batch = Batch::new(&rules, &requests);
        let mut other = with_a_memory(&rules, &cluster).await;

        let mut open = other.begin().await.unwrap();
        let first = plan(&batch);
        let mut records = open.load(&first).await.unwrap();
        let second = plan_second(&batch, &first, &records);
        records.extend(open.load(&second).await.unwrap());
        let commit = apply(&batch, records);
        assert_eq!(commit.flows.len(), 1, "nobody listened when it was looked at");

        desk.ask(add(endpoint_id(5), &["*"])).await.unwrap();
        let saved = open.save(batch.commit_id(0).unwrap(), &commit).await;
        assert!(matches!(saved, Err(StoreError::Conflict)), "{saved:?}");

        let again = turn(&mut other, &batch).await.unwrap();
        assert_eq!(again.flows.len(), 2, "a pay-in, and a delivery of what was told");
        desk.assert_sound().await;
    });
}
