//! A flow that this version cannot read, as a newer one may have written it: it stands still, and all others go on.

use bursar_core::payout::{Cancellation, submit_lane};
use bursar_core::request::Body;
use bursar_store::{Browse, FlowFilter, Postgres, Query, Sqlite, Store};

use crate::cluster::Cluster;
use crate::desk::Desk;
use crate::payouts::{create, key, view};
use crate::scratch::Scratch;
use crate::workload::{block_on, rules};

/// `spoil` changes the row of a flow behind the store's back.
async fn stands_still<S: Store + Query + Browse>(store: S, spoil: impl AsyncFnOnce(&str)) {
    let rules = rules();
    let mut desk = Desk::new(&rules, store, 0);
    desk.fund().await;
    desk.open_merchant().await;
    let first = view(desk.ask(create("a", "10")).await);
    let second = view(desk.ask(create("b", "10")).await);
    spoil(&first.id.replace("po_", "")).await;

    let woken = desk.wake(&submit_lane("wallet"), 10).await;
    assert_eq!(woken.flows, std::slice::from_ref(&second.id), "the others go on");
    assert_eq!(woken.refused.len(), 1);
    assert_eq!(woken.refused[0].1.code(), "unreadable", "somebody is told");
    let id = first.id.parse().unwrap();
    let cancellation = Cancellation { id, expected_version: None, actor: "ops".to_owned() };
    let body = Body::CancelPayout { key: key("c"), cancellation };
    assert_eq!(desk.ask(body).await.unwrap_err().code(), "unreadable");
    view(desk.ask(create("d", "10")).await);
    let filter = FlowFilter { kind: "payout", ..FlowFilter::default() };
    let page = desk.store.flows_back(&filter, None, 10).await.unwrap();
    assert_eq!(page.flows.len(), 2, "what can be read is shown");
    assert!(desk.store.flows(None, 10).await.is_err(), "and verification does not look away");
}

#[test]
fn an_unreadable_flow_in_sqlite_stands_still_alone() {
    let scratch = Scratch::new();
    let file = scratch.path().join("bursar.sqlite");
    block_on(async {
        let spoil = async |id: &str| {
            let connection = rusqlite::Connection::open(&file).unwrap();
            let sql = "UPDATE flows SET state = replace(state, '{\"v\":1', '{\"new\":1,\"v\":1') WHERE hex(id) = upper(?1)";
            assert_eq!(connection.execute(sql, [id]).unwrap(), 1);
        };
        stands_still(Sqlite::open(scratch.path()).unwrap(), spoil).await;
    });
}

#[test]
fn an_unreadable_flow_in_postgres_stands_still_alone() {
    let cluster = Cluster::start();
    block_on(async {
        let spoil = async |id: &str| {
            let (client, connection) =
                tokio_postgres::connect(&cluster.url(), tokio_postgres::NoTls).await.unwrap();
            tokio::spawn(connection);
            let sql = "UPDATE flows SET state = replace(state, '{\"v\":1', '{\"new\":1,\"v\":1') WHERE replace(id::text, '-', '') = $1";
            assert_eq!(client.execute(sql, &[&id]).await.unwrap(), 1);
        };
        stands_still(Postgres::open(&cluster.url()).await.unwrap(), spoil).await;
    });
}
