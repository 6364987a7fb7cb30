//! A process that stands still in the middle of a turn: nobody else waits for it for ever.

use bursar_core::apply::apply;
use bursar_core::ids::Seed;
use bursar_core::ledger::Admission;
use bursar_core::payout::Event;
use bursar_core::plan::{plan, plan_second};
use bursar_core::request::{Batch, Body, Report, Request};
use bursar_store::{Postgres, Store as _, StoreError, Turn as _, turn};

use crate::cluster::Cluster;
use crate::desk::Desk;
use crate::payouts::{Payments, paid};
use crate::workload::{block_on, rules};

/// As a process does that is stopped, or whose machine is, between loading and saving.
#[test]
fn a_turn_that_stands_still_is_ended_and_the_others_go_on() {
    let (rules, cluster) = (rules(), Cluster::start());
    block_on(async {
        let mut desk = Desk::new(&rules, Postgres::open(&cluster.url()).await.unwrap(), 0);
        desk.fund().await;
        desk.open_merchant().await;
        let mut payments = Payments { desk };
        let (_, effect) = payments.submit("a", "10").await;
        let event = Event::Submitted { attempt: effect.attempt, r#try: 1, outcome: paid() };
        let body = Body::Report(Report { flow: effect.flow, event: event.into() });
        let admission = Admission::new(payments.desk.now, Seed::from(77));
        let requests = [Request { admission, body }];
        let batch = Batch::new(&rules, &requests);
        let mut other = Postgres::open(&cluster.url()).await.unwrap();

        let mut open = other.begin().await.unwrap();
        let first = plan(&batch);
        let mut records = open.load(&first).await.unwrap();
        records.extend(open.load(&plan_second(&batch, &first, &records)).await.unwrap());
        let commit = apply(&batch, records);
        assert_eq!(payments.submitted(&effect, paid()).await, "SUCCESS", "nobody waits for ever");
        let saved = open.save(batch.commit_id(0).unwrap(), &commit).await;
        assert!(matches!(saved, Err(StoreError::Unavailable(_))), "{saved:?}");

        // The same again on a connection of its own: what is known by now is taken note of, and nothing is paid twice.
        turn(&mut other, &batch).await.unwrap().answers[0].as_ref().unwrap();
        payments.desk.assert_sound().await;
    });
}
