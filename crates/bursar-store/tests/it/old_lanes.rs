//! Books in which scheduled payouts and leases wait in the lanes of earlier versions.

use bursar_core::dispatch::Rank;
use bursar_core::payouts::{lease_lane, submit_lane};
use bursar_store::{Postgres, Query, Sqlite, Store};
use jiff::SignedDuration;
use rusqlite::Connection;

use crate::cluster::Cluster;
use crate::desk::{Desk, START};
use crate::payouts::{Payments, create, view};
use crate::scratch::Scratch;
use crate::workload::{block_on, rules};

/// Puts the rows and the schema back.
const BACK: &str = "
    UPDATE due SET lane = 'schedule:wallet'
        WHERE flow IN (SELECT id FROM flows WHERE status = 'SCHEDULED');
    UPDATE due SET lane = 'submit:wallet' WHERE flow IN (SELECT id FROM flows WHERE status = 'READY');
    UPDATE due SET lane = 'payout' WHERE lane = 'lease:wallet';
    DROP VIEW exec_rate_config; DROP VIEW payment_exec_queue; DROP VIEW payment_exec_context; DROP TABLE dispatch_audit_log;
    DROP TABLE queues;
    ALTER TABLE head RENAME COLUMN end_hash TO chain_hash;";

/// Scheduled payouts, one that is being sent, and one that waits.
async fn make(store: impl Store + Query) {
    let rules = rules();
    let mut desk = Desk::new(&rules, store, 0);
    desk.fund().await;
    desk.open_merchant().await;
    let mut payments = Payments { desk };
    payments.submit("sent", "10").await;
    for (key, hours) in [("last", 6), ("later", 5)] {
        let mut later = create(key, "10");
        later.payout.scheduled_at = Some(START + SignedDuration::from_hours(hours));
        assert_eq!(view(payments.desk.ask(later).await).status, "SCHEDULED");
    }
    assert_eq!(view(payments.desk.ask(create("now", "10")).await).status, "READY");
    payments.desk.assert_sound().await;
}

async fn go_on(store: impl Store + Query) {
    let rules = rules();
    let mut payments = Payments { desk: Desk::new(&rules, store, 9) };
    payments.desk.assert_sound().await;
    let queues = payments.desk.store.queues().await.unwrap();
    let waiting: Vec<_> = queues.iter().map(|(key, it)| (key.rank, it.waiting)).collect();
    assert_eq!(waiting, [(Rank::Interactive, 1), (Rank::Scheduled, 2)]);
    payments.desk.now = START + SignedDuration::from_hours(5);
    assert_eq!(payments.claim(&submit_lane("wallet")).await.len(), 2, "their time has come");
    assert!(payments.claim(&lease_lane("wallet")).await.is_empty(), "it is not sent again");
    let flows = payments.desk.store.flows(None, 10).await.unwrap();
    let mut statuses: Vec<&str> = flows.iter().map(|flow| flow.state.status()).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, ["SCHEDULED", "SUBMITTING", "SUBMITTING", "UNCONFIRMED"]);
    payments.desk.assert_sound().await;
}

#[test]
fn lanes_of_an_earlier_version_are_migrated_in_sqlite() {
    let scratch = Scratch::new();
    block_on(make(Sqlite::open(scratch.path()).unwrap()));
    let books = Connection::open(scratch.path().join("bursar.sqlite")).unwrap();
    let history = "DELETE FROM refinery_schema_history WHERE version > 11";
    books.execute_batch(&format!("{BACK}{history}")).unwrap();
    drop(books);
    block_on(go_on(Sqlite::open(scratch.path()).unwrap()));
}

#[test]
fn lanes_of_an_earlier_version_are_migrated_in_postgres() {
    let cluster = Cluster::start();
    let url = cluster.url();
    block_on(async { make(Postgres::open(&url).await.unwrap()).await });
    let history = "DELETE FROM refinery_schema_history WHERE version > 13";
    let back = format!("{BACK}{history}");
    cluster.run("psql", &["-d", &url, "-v", "ON_ERROR_STOP=1", "-c", &back]);
    block_on(async { go_on(Postgres::open(&url).await.unwrap()).await });
}
