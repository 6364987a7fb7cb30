//! A merchant that another process changes during a turn: the commit conflicts, and the turn decides again.

use bursar_core::ids::Seed;
use bursar_core::ledger::Admission;
use bursar_core::payins::{NewPayIn, ProviderStatus};
use bursar_core::registry::{Change, MerchantStatus, RecordKey, Registration};
use bursar_core::rules::Rules;
use bursar_core::turn::{Request, TurnInput, apply, plan, plan_second};
use bursar_core::webhooks::{EndpointChange, SettingsPatch};
use bursar_store::{Memory, Postgres, Store as _, StoreError, Turn as _, turn};

use crate::cluster::Cluster;
use crate::desk::Desk;
use crate::endpoints::{add, change, endpoint_id};
use crate::payouts::create;
use crate::workload::{block_on, rules};

#[test]
fn a_merchant_closed_between_load_and_save_pays_nothing() {
    closed(When::AfterTheLastLoad);
}

#[test]
fn a_merchant_closed_between_two_loads_pays_nothing() {
    closed(When::AfterTheFirstLoad);
}

#[derive(Clone, Copy, PartialEq)]
enum When {
    AfterTheFirstLoad,
    AfterTheLastLoad,
}

fn closed(when: When) {
    let (rules, cluster) = (rules(), Cluster::start());
    block_on(async {
        let mut desk = Desk::new(&rules, Postgres::open(&cluster.url()).await.unwrap(), 0);
        desk.fund().await;
        desk.open_merchant().await;
        let admission = Admission::new(desk.now, Seed::from(77));
        let requests = [Request { admission, body: create("late", "10").into() }];
        let batch = TurnInput::new(&rules, &requests);
        let mut other = with_cached_merchant(&rules, &cluster).await;
        let close = || alter(MerchantStatus::Closed);

        let mut open = other.begin().await.unwrap();
        let first = plan(&batch);
        let mut records = open.load(&first).await.unwrap();
        if when == When::AfterTheFirstLoad {
            desk.ask(close()).await.unwrap();
        }
        let second = plan_second(&batch, &first, &records);
        records.extend(open.load(&second).await.unwrap());
        let commit = apply(&batch, records);
        assert!(commit.answers[0].is_ok(), "the merchant was open when it was loaded");
        if when == When::AfterTheLastLoad {
            desk.ask(close()).await.unwrap();
        }
        let saved = open.save(batch.commit_id(0).unwrap(), &commit).await;
        assert!(matches!(saved, Err(StoreError::Conflict)), "{saved:?}");

        let again = turn(&mut other, &batch).await.unwrap();
        assert_eq!(again.answers[0].as_ref().unwrap_err().code(), "merchant_closed");
        desk.assert_sound().await;
    });
}

/// A store that has cached the merchant.
async fn with_cached_merchant(rules: &Rules, cluster: &Cluster) -> Postgres {
    let mut desk = Desk::new(rules, Postgres::open(&cluster.url()).await.unwrap(), 1);
    desk.fund().await;
    desk.ask(create("early", "10")).await.unwrap();
    desk.store
}

/// Closes or reopens the merchant.
fn alter(status: MerchantStatus) -> Registration {
    let change = Change::AlterMerchant { id: "m1".to_owned(), name: None, status: Some(status) };
    Registration { actor: "ops".to_owned(), change }
}

#[test]
fn a_change_by_another_process_invalidates_a_cached_merchant() {
    let (rules, cluster) = (rules(), Cluster::start());
    block_on(async {
        let mut desk = Desk::new(&rules, Postgres::open(&cluster.url()).await.unwrap(), 0);
        desk.fund().await;
        desk.open_merchant().await;
        let mut other = Desk::new(&rules, Postgres::open(&cluster.url()).await.unwrap(), 1);
        for key in ["read", "cached"] {
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

/// The merchant record has the event filters. Without this precondition a commit could save an endpoint without its filter,
/// and the endpoint would receive no events.
#[test]
fn an_endpoint_change_relies_on_its_merchant() {
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

fn payin(status: ProviderStatus, event: &str) -> NewPayIn {
    NewPayIn {
        key: None,
        actor: None,
        merchant: "m1".to_owned(),
        provider: "easy".to_owned(),
        reference: "r1".to_owned(),
        currency: "PKR".to_owned(),
        amount: "10.00".to_owned(),
        said: status,
        event: event.to_owned(),
    }
}

#[test]
fn an_endpoint_added_during_a_turn_receives_the_event() {
    let (rules, cluster) = (rules(), Cluster::start());
    block_on(async {
        let mut desk = Desk::new(&rules, Postgres::open(&cluster.url()).await.unwrap(), 0);
        desk.open_merchant().await;
        desk.ask(payin(ProviderStatus::Pending, "e1")).await.unwrap();
        let admission = Admission::new(desk.now, Seed::from(77));
        let requests = [Request { admission, body: payin(ProviderStatus::Completed, "e2").into() }];
        let batch = TurnInput::new(&rules, &requests);
        let mut other = with_cached_merchant(&rules, &cluster).await;

        let mut open = other.begin().await.unwrap();
        let first = plan(&batch);
        let mut records = open.load(&first).await.unwrap();
        let second = plan_second(&batch, &first, &records);
        records.extend(open.load(&second).await.unwrap());
        let commit = apply(&batch, records);
        assert_eq!(commit.flows.len(), 1, "the merchant had no endpoint when it was loaded");

        desk.ask(add(endpoint_id(5), &["*"])).await.unwrap();
        let saved = open.save(batch.commit_id(0).unwrap(), &commit).await;
        assert!(matches!(saved, Err(StoreError::Conflict)), "{saved:?}");

        let again = turn(&mut other, &batch).await.unwrap();
        assert_eq!(again.flows.len(), 2, "a pay-in, and a delivery of its event");
        desk.assert_sound().await;
    });
}
