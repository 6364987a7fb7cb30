//! A merchant that is closed while somebody decides about a payout: the payout is decided again, and refused.

use bursar_core::apply::apply;
use bursar_core::ids::Seed;
use bursar_core::ledger::Admission;
use bursar_core::plan::{plan, plan_second};
use bursar_core::registry::{Change, MerchantStatus, Registration};
use bursar_core::request::{Batch, Body, Request};
use bursar_store::{Postgres, Store as _, StoreError, Turn as _, turn};

use crate::cluster::Cluster;
use crate::desk::Desk;
use crate::payouts::create;
use crate::workload::{block_on, rules};

#[test]
fn a_merchant_that_is_closed_meanwhile_pays_nothing() {
    let (rules, cluster) = (rules(), Cluster::start());
    block_on(async {
        let mut desk = Desk::new(&rules, Postgres::open(&cluster.url()).await.unwrap(), 0);
        desk.fund().await;
        desk.open_merchant().await;
        let admission = Admission::new(desk.now, Seed::from(77));
        let requests = [Request { admission, body: create("late", "10") }];
        let batch = Batch::new(&rules, &requests);
        let mut other = Postgres::open(&cluster.url()).await.unwrap();

        let mut open = other.begin().await.unwrap();
        let first = plan(&batch);
        let mut records = open.load(&first).await.unwrap();
        let second = plan_second(&batch, &first, &records);
        records.extend(open.load(&second).await.unwrap());
        let commit = apply(&batch, records);
        assert!(commit.answers[0].is_ok(), "it was open when it was looked at");

        let status = Some(MerchantStatus::Closed);
        let change = Change::AlterMerchant { id: "m1".to_owned(), name: None, status };
        let close = Registration { actor: "ops".to_owned(), change };
        desk.ask(Body::Register(close)).await.unwrap();
        let saved = open.save(batch.commit_id(0).unwrap(), &commit).await;
        assert!(matches!(saved, Err(StoreError::Conflict)), "{saved:?}");

        let again = turn(&mut other, &batch).await.unwrap();
        assert_eq!(again.answers[0].as_ref().unwrap_err().code(), "merchant_closed");
        desk.assert_sound().await;
    });
}
