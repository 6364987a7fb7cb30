//! A process that stalls in a turn: the server ends its transaction, so that other turns proceed.

use bursar_core::flow::{EffectOutcome, Outcome};
use bursar_core::ids::Seed;
use bursar_core::ledger::Admission;
use bursar_core::payouts::Event;
use bursar_core::turn::{Request, TurnInput, apply, plan, plan_second};
use bursar_store::{Postgres, Store as _, StoreError, Turn as _, turn};

use crate::cluster::Cluster;
use crate::desk::Desk;
use crate::payouts::{Payments, paid};
use crate::workload::{block_on, rules};

/// The stalled process represents one that is suspended, with or without its machine, between load and save.
#[test]
fn a_stalled_turn_is_rolled_back_and_other_turns_proceed() {
    let (rules, cluster) = (rules(), Cluster::start());
    block_on(async {
        let mut desk = Desk::new(&rules, Postgres::open(&cluster.url()).await.unwrap(), 0);
        desk.fund().await;
        desk.open_merchant().await;
        let mut payments = Payments { desk };
        let (_, effect) = payments.submit("a", "10").await;
        let event = Event::Submitted { attempt: effect.attempt, r#try: 1, outcome: paid() };
        let body = EffectOutcome { flow: effect.flow, outcome: Outcome::Payout(event) }.into();
        let admission = Admission::new(payments.desk.now, Seed::from(77));
        let requests = [Request { admission, body }];
        let batch = TurnInput::new(&rules, &requests);
        let mut other = Postgres::open(&cluster.url()).await.unwrap();

        let mut open = other.begin().await.unwrap();
        let first = plan(&batch);
        let mut records = open.load(&first).await.unwrap();
        records.extend(open.load(&plan_second(&batch, &first, &records)).await.unwrap());
        let commit = apply(&batch, records);
        assert_eq!(payments.submitted(&effect, paid()).await, "SUCCESS", "the wait is bounded");
        let saved = open.save(batch.commit_id(0).unwrap(), &commit).await;
        assert!(matches!(saved, Err(StoreError::Unavailable(_))), "{saved:?}");

        // The turn runs again on a new connection. The outcome is already known, so the payout is not settled twice.
        turn(&mut other, &batch).await.unwrap().answers[0].as_ref().unwrap();
        payments.desk.assert_sound().await;
    });
}
