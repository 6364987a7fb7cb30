//! A flow or a stored reply that this version cannot decode, written by another version: it fails alone, and all others
//! proceed.

use bursar_core::payouts::{Cancel, Cancellation, submit_lane};
use bursar_core::turn::Body;
use bursar_store::{Browse, FlowFilter, Query, Store};

use crate::desk::Desk;
use crate::payouts::{create, key, view};
use crate::workload::rules;

/// `spoil` makes the row of a flow undecodable.
async fn an_unreadable_flow_blocks_only_itself<S: Store + Browse>(
    store: S,
    spoil: impl AsyncFnOnce(&str),
) {
    let rules = rules();
    let mut desk = Desk::new(&rules, store, 0);
    desk.fund().await;
    desk.open_merchant().await;
    let first = view(desk.ask(create("a", "10")).await);
    let second = view(desk.ask(create("b", "10")).await);
    spoil(&first.id.replace("po_", "")).await;

    let claimed = desk.claim(&submit_lane("wallet"), 10).await;
    assert_eq!(claimed.flows, std::slice::from_ref(&second.id), "the other flow proceeds");
    assert_eq!(claimed.refused.len(), 1);
    assert_eq!(claimed.refused[0].1.code(), "unreadable", "the claim reports the flow");
    let id = first.id.parse().unwrap();
    let cancellation = Cancellation { id, expected_version: None, actor: "ops".to_owned() };
    let body = Cancel { key: key("c"), cancellation };
    assert_eq!(desk.ask(body).await.unwrap_err().code(), "unreadable");
    view(desk.ask(create("d", "10")).await);
    let filter = FlowFilter { kind: "payout", ..FlowFilter::default() };
    let page = desk.store.list_flows_desc(&filter, None, 10).await.unwrap();
    assert_eq!(page.flows.len(), 2, "decodable flows are listed");
    assert!(desk.store.flows(None, 10).await.is_err(), "verification fails");
}

/// `spoil` makes the reply under the key `old` undecodable.
async fn an_unreadable_reply_rejects_only_its_request<S: Store + Query>(
    store: S,
    spoil: impl AsyncFnOnce(),
) {
    let rules = rules();
    let mut desk = Desk::new(&rules, store, 0);
    desk.fund().await;
    desk.open_merchant().await;
    let first = view(desk.ask(create("old", "10")).await);
    let available = desk.balance("merchants:m1:available:PKR").await;
    spoil().await;

    let batch = [create("a", "10"), create("old", "10"), create("b", "10"), create("old", "11")];
    let batch = batch.into_iter().map(Body::from).collect();
    let mut answers = desk.commit_all(batch).await.answers;
    assert_eq!(answers.remove(3).unwrap_err().code(), "idempotency_mismatch");
    let unreadable = answers.remove(1).unwrap_err();
    assert_eq!(unreadable.code(), "unreadable_reply");
    let message = unreadable.to_string();
    assert!(message.contains("`old`") && message.contains(&first.id), "{message}");
    assert!(message.contains("was carried out") && message.contains("nothing was done again"));
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    let spent = available - desk.balance("merchants:m1:available:PKR").await;
    assert_eq!(spent, 2 * 1_055, "only the two new payouts reserve money");
    desk.assert_sound().await;
}

/// Replaces a field name, as a version without VAT would.
const SPOIL_REPLY: &str =
    "UPDATE keys SET reply = replace(reply, '\"vat\"', '\"tax\"') WHERE key = 'old'";

mod sqlite {
    use bursar_store::Sqlite;

    use crate::scratch::Scratch;
    use crate::workload::block_on;

    #[test]
    fn an_unreadable_flow_blocks_only_itself() {
        let scratch = Scratch::new();
        let file = scratch.path().join("bursar.sqlite");
        block_on(async {
            let spoil = async |id: &str| {
                let connection = rusqlite::Connection::open(&file).unwrap();
                let sql = "UPDATE flows SET state = replace(state, '{\"v\":1', '{\"new\":1,\"v\":1') WHERE hex(id) = upper(?1)";
                assert_eq!(connection.execute(sql, [id]).unwrap(), 1);
            };
            let store = Sqlite::open(scratch.path()).unwrap();
            super::an_unreadable_flow_blocks_only_itself(store, spoil).await;
        });
    }

    #[test]
    fn an_unreadable_reply_rejects_only_its_request() {
        let scratch = Scratch::new();
        let file = scratch.path().join("bursar.sqlite");
        block_on(async {
            let spoil = async || {
                let connection = rusqlite::Connection::open(&file).unwrap();
                assert_eq!(connection.execute(super::SPOIL_REPLY, []).unwrap(), 1);
            };
            let store = Sqlite::open(scratch.path()).unwrap();
            super::an_unreadable_reply_rejects_only_its_request(store, spoil).await;
        });
    }
}

mod postgres {
    use bursar_store::Postgres;

    use crate::cluster::Cluster;
    use crate::workload::block_on;

    #[test]
    fn an_unreadable_flow_blocks_only_itself() {
        let cluster = Cluster::start();
        block_on(async {
            let spoil = async |id: &str| {
                let (client, connection) =
                    tokio_postgres::connect(&cluster.url(), tokio_postgres::NoTls).await.unwrap();
                tokio::spawn(connection);
                let sql = "UPDATE flows SET state = replace(state, '{\"v\":1', '{\"new\":1,\"v\":1') WHERE replace(id::text, '-', '') = $1";
                assert_eq!(client.execute(sql, &[&id]).await.unwrap(), 1);
            };
            let store = Postgres::open(&cluster.url()).await.unwrap();
            super::an_unreadable_flow_blocks_only_itself(store, spoil).await;
        });
    }

    #[test]
    fn an_unreadable_reply_rejects_only_its_request() {
        let cluster = Cluster::start();
        block_on(async {
            let spoil = async || {
                let (client, connection) =
                    tokio_postgres::connect(&cluster.url(), tokio_postgres::NoTls).await.unwrap();
                tokio::spawn(connection);
                assert_eq!(client.execute(super::SPOIL_REPLY, &[]).await.unwrap(), 1);
            };
            let store = Postgres::open(&cluster.url()).await.unwrap();
            super::an_unreadable_reply_rejects_only_its_request(store, spoil).await;
        });
    }
}
