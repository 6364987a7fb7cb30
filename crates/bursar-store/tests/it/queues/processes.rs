//! Two processes change the same queues: one has read them before the other commits, and commits after it.

use bursar_core::dispatch::Rank;
use bursar_core::flow::ClaimDue;
use bursar_core::ids::Seed;
use bursar_core::ledger::Admission;
use bursar_core::payouts::submit_lane;
use bursar_core::turn::{Body, Request, TurnInput, apply, plan, plan_second};
use bursar_store::{Postgres, Query as _, Store as _, Turn as _};

use super::{cancel, claim, create, desk_of, pay, queue};
use crate::cluster::Cluster;
use crate::desk::Desk;
use crate::workload::{block_on, rules};

/// Decides the first request, then commits the second in another process, then commits the first.
async fn overlap(
    desk: &mut Desk<'_, Postgres>,
    cluster: &Cluster,
    (first, second): (impl Into<Body>, impl Into<Body>),
) {
    let mut other = Postgres::open(&cluster.url()).await.unwrap();
    let admission = Admission::new(desk.now, Seed::from(desk.now.as_second().unsigned_abs()));
    let requests = [Request { admission, body: first.into() }];
    let batch = TurnInput::new(desk.rules, &requests);
    let mut open = other.begin().await.unwrap();
    let planned = plan(&batch);
    let mut records = open.load(&planned).await.unwrap();
    let rest = plan_second(&batch, &planned, &records);
    records.extend(open.load(&rest).await.unwrap());
    let commit = apply(&batch, records);
    assert!(commit.answers.iter().all(Result::is_ok), "{:?}", commit.answers);
    desk.accepted(second).await;
    open.save(batch.commit_id(0).unwrap(), &commit).await.unwrap();
    desk.assert_sound().await;
}

fn claim_of(limit: u32) -> ClaimDue {
    ClaimDue::new(submit_lane("wallet"), limit)
}

/// What waits in the queue of a merchant, and its turn.
async fn state(desk: &mut Desk<'_, Postgres>, merchant: &str) -> Option<(i64, Option<i64>)> {
    let found = queue(desk, merchant, Rank::Interactive).await;
    found.map(|queue| (queue.waiting, queue.pass))
}

#[test]
fn claims_that_overlap_are_both_charged() {
    let (rules, cluster) = (rules(), Cluster::start());
    block_on(async {
        let store = Postgres::open(&cluster.url()).await.unwrap();
        let mut desk = desk_of(&rules, store, &["m1", "m2"]).await;
        pay(&mut desk, "m1", 0..10).await;
        pay(&mut desk, "m2", 0..10).await;
        overlap(&mut desk, &cluster, (claim_of(4), claim_of(6))).await;
        assert_eq!(state(&mut desk, "m1").await, Some((5, Some(59_999))));
        assert_eq!(state(&mut desk, "m2").await, Some((5, Some(59_999))));
        overlap(&mut desk, &cluster, (claim_of(4), claim_of(6))).await;
        assert_eq!(desk.store.queues().await.unwrap(), []);
    });
}

#[test]
fn payouts_that_come_and_go_meanwhile_are_counted() {
    let (rules, cluster) = (rules(), Cluster::start());
    block_on(async {
        let store = Postgres::open(&cluster.url()).await.unwrap();
        let mut desk = desk_of(&rules, store, &["m1"]).await;
        // The first two of a queue.
        let both = (create("m1", "a", None), create("m1", "b", None));
        overlap(&mut desk, &cluster, both).await;
        assert_eq!(state(&mut desk, "m1").await, Some((2, None)));
        // The claim takes all that it sees.
        overlap(&mut desk, &cluster, (claim_of(9), create("m1", "c", None))).await;
        assert_eq!(state(&mut desk, "m1").await.map(|(waiting, _)| waiting), Some(1));
        // One comes while another claim ends the queue.
        overlap(&mut desk, &cluster, (create("m1", "d", None), claim_of(9))).await;
        assert_eq!(state(&mut desk, "m1").await, Some((1, None)));
        let ids = pay(&mut desk, "m1", 0..3).await;
        // The next in the order is cancelled.
        overlap(&mut desk, &cluster, (claim_of(1), cancel(&ids[0]))).await;
        let found = queue(&mut desk, "m1", Rank::Interactive).await.unwrap();
        assert_eq!((found.waiting, found.first.1.to_string()), (2, ids[1].replace("po_", "fl_")));
        overlap(&mut desk, &cluster, (cancel(&ids[1]), cancel(&ids[2]))).await;
        assert_eq!(desk.store.queues().await.unwrap(), []);
        assert_eq!(claim(&mut desk, 9, 0).await, [""; 0]);
    });
}
