//! A merchant or an endpoint that cannot be decoded: requests that rely on it are rejected, and all others proceed.

use std::future::Future;
use std::pin::Pin;

use bursar_core::payins::{NewPayIn, ProviderStatus};
use bursar_core::payouts::submit_lane;
use bursar_core::registry::{Change, Kind, MerchantStatus, RecordKey, Registration};
use bursar_core::rules::Rules;
use bursar_core::turn::Body;
use bursar_core::webhooks::{self, EndpointChange};
use bursar_store::{Browse, Postgres, Sqlite, Store};
use jiff::SignedDuration;

use crate::cluster::Cluster;
use crate::desk::Desk;
use crate::endpoints::{
    WebhookDesk, add, answered, change, deliver, endpoint_id, rules_without_jitter,
};
use crate::payouts::{create, view};
use crate::scratch::Scratch;
use crate::workload::{block_on, registration};

/// Makes a record undecodable in the database, or decodable again.
type Setting = Box<dyn Fn(String, bool) -> Pin<Box<dyn Future<Output = ()>>>>;

fn register(change: Change) -> Registration {
    Registration { actor: "ops".to_owned(), change }
}

/// The same pay-in for another merchant.
fn of_m2(payin: NewPayIn) -> NewPayIn {
    let reference = format!("m2-{}", payin.reference);
    NewPayIn { merchant: "m2".to_owned(), reference, ..payin }
}

/// A merchant with 250.00, another one, and an endpoint for each.
async fn two_merchants<S: Store + Browse>(rules: &Rules, store: S) -> WebhookDesk<'_, S> {
    let mut desk = Desk::new(rules, store, 0);
    desk.fund().await;
    desk.open_merchant().await;
    desk.ask(registration("m2")).await.unwrap();
    desk.ask(add(endpoint_id(1), &["*"])).await.unwrap();
    let mut other = add(endpoint_id(2), &["*"]);
    if let Change::Endpoint { merchant, .. } = &mut other.change {
        "m2".clone_into(merchant);
    }
    desk.ask(other).await.unwrap();
    WebhookDesk { desk, payins: 0 }
}

/// Requests about m1 are rejected, and not as requests about an unknown merchant.
async fn an_unreadable_merchant_blocks_only_itself<S: Store + Browse>(
    store: S,
    set_readable: Setting,
) {
    let rules = rules_without_jitter();
    let mut webhooks = two_merchants(&rules, store).await;
    let payout = view(webhooks.desk.ask(create("a", "10")).await);
    let pending = webhooks.payin(ProviderStatus::Pending);
    webhooks.desk.ask(pending.clone()).await.unwrap();
    let (_, sent) = webhooks.deliver(deliver(10)).await;
    set_readable("m1".to_owned(), false).await;

    let held = webhooks.desk.balance("merchants:m1:available:PKR").await;
    assert!(held > 0);
    let completed =
        NewPayIn { said: ProviderStatus::Completed, event: "done".to_owned(), ..pending };
    let (first, closed) = ("m1".to_owned(), Some(MerchantStatus::Closed));
    let new = webhooks.payin(ProviderStatus::Completed);
    for body in [
        Body::from(create("b", "10")),
        new.into(),
        completed.clone().into(),
        register(Change::OpenMerchant { id: first.clone(), name: "Shop m1".to_owned() }).into(),
        register(Change::AlterMerchant { id: first, name: None, status: closed }).into(),
        add(endpoint_id(3), &["*"]).into(),
        change(endpoint_id(1), EndpointChange::Disable { reason: "moving".to_owned() }).into(),
    ] {
        let message = webhooks.desk.rejected(body).await.to_string();
        assert!(message.starts_with("merchant m1 is kept in a form"), "{message}");
    }
    let claimed = webhooks.desk.claim(&submit_lane("wallet"), 10).await;
    assert_eq!(claimed.flows, Vec::<String>::new());
    assert_eq!(
        claimed.refused[0].0, payout.id,
        "not submitted: its events would reach no endpoint"
    );
    assert_eq!(claimed.refused[0].1.code(), "unreadable");
    assert_eq!(
        webhooks.desk.balance("merchants:m1:available:PKR").await,
        held,
        "the balance is unchanged"
    );
    // The store records the outcome of the delivery in flight. The 410 disables the endpoint later.
    webhooks.returned(&sent[0], answered(410)).await;
    assert!(webhooks.endpoint(endpoint_id(1)).await.is_enabled(), "the endpoint is still enabled");

    // One turn with a request of each merchant.
    let other = of_m2(webhooks.payin(ProviderStatus::Completed));
    let commit = webhooks.desk.commit_all(vec![create("c", "10").into(), other.into()]).await;
    assert_eq!(commit.answers[0].as_ref().unwrap_err().code(), "unreadable");
    commit.answers[1].as_ref().unwrap();
    let (_, sent) = webhooks.deliver(deliver(10)).await;
    assert_eq!(sent.len(), 1, "the other merchant receives its event");
    let page = webhooks.desk.store.records(Kind::Merchant, None, None, 1).await.unwrap();
    assert_eq!(page.records.len(), 1, "decodable records are listed");
    let page = webhooks.desk.store.records(Kind::Merchant, None, None, 10).await.unwrap();
    assert_eq!((page.records.len(), page.unreadable), (1, vec!["m1".to_owned()]));
    assert!(webhooks.desk.store.record(&RecordKey::merchant("m1")).await.is_err());

    // The record becomes decodable: all requests proceed.
    set_readable("m1".to_owned(), true).await;
    webhooks.desk.now += SignedDuration::from_mins(2);
    webhooks.desk.ask(completed).await.unwrap();
    view(webhooks.desk.ask(create("b", "10")).await);
    assert_eq!(webhooks.desk.claim(&submit_lane("wallet"), 10).await.flows.len(), 2);
    assert!(webhooks.deliver(deliver(10)).await.0.count > 0);
    webhooks.desk.assert_sound().await;
}

/// Deliveries to the endpoint are deferred, and deliveries to another are sent.
async fn an_unreadable_endpoint_blocks_only_itself<S: Store + Browse>(
    store: S,
    set_readable: Setting,
) {
    let rules = rules_without_jitter();
    let mut webhooks = two_merchants(&rules, store).await;
    let (first, second) = (endpoint_id(1), endpoint_id(2));
    webhooks.emit().await;
    let (_, started_before) = webhooks.deliver(deliver(10)).await;
    webhooks.emit().await;
    let other = of_m2(webhooks.payin(ProviderStatus::Completed));
    webhooks.desk.ask(other).await.unwrap();
    set_readable(first.to_string(), false).await;

    let (started, sent) = webhooks.deliver(deliver(10)).await;
    assert_eq!((started.count, sent.len(), sent[0].call.endpoint), (1, 1, second));
    assert_eq!(started.refused.len(), 1, "the reply reports the endpoint");
    assert_eq!(started.refused[0].1.code(), "unreadable");
    assert_eq!(webhooks.deliver(deliver(10)).await.0.refused, [], "the report is not repeated");
    let off = change(first, EndpointChange::Disable { reason: "moving".to_owned() });
    let test = webhooks::Test { actor: "ops".to_owned(), endpoint: first };
    for body in [Body::from(off), test.into(), add(first, &["*"]).into()] {
        assert_eq!(webhooks.desk.rejected(body).await.code(), "unreadable");
    }
    let cancelled =
        webhooks.desk.ask(webhooks::Cancel { endpoint: first, limit: 10 }).await.unwrap();
    assert_eq!(cancelled.flows, Vec::<String>::new(), "the endpoint may be enabled");
    // Events still create deliveries, which wait.
    let event = webhooks.emit().await;
    assert_eq!(webhooks.desk.store.deliveries_of(event).await.unwrap().len(), 1);
    let page = webhooks.desk.store.records(Kind::Endpoint, None, None, 10).await.unwrap();
    assert_eq!((page.records.len(), page.unreadable), (1, vec![first.to_string()]));

    set_readable(first.to_string(), true).await;
    webhooks.returned(&started_before[0], answered(200)).await;
    webhooks.desk.now += SignedDuration::from_mins(2);
    let (started, sent) = webhooks.deliver(deliver(10)).await;
    assert_eq!(started.count, 2, "the deferred delivery and the new one");
    for delivery in &sent {
        webhooks.returned(delivery, answered(200)).await;
    }
    assert_eq!(webhooks.status(started_before[0].flow).await, "DELIVERED");
    webhooks.desk.assert_sound().await;
}

const SPOIL: &str =
    "UPDATE registry SET content = '{\"new\":1,' || substr(content, 2) WHERE id = $1";
const MEND: &str =
    "UPDATE registry SET content = replace(content, '{\"new\":1,', '{') WHERE id = $1";

fn in_sqlite<F: Future>(suite: impl FnOnce(Sqlite, Setting) -> F) {
    let scratch = Scratch::new();
    let file = scratch.path().join("bursar.sqlite");
    let set_readable: Setting = Box::new(move |id, is_readable| {
        let connection = rusqlite::Connection::open(&file).unwrap();
        let sql = if is_readable { MEND } else { SPOIL };
        assert_eq!(connection.execute(sql, [id]).unwrap(), 1);
        Box::pin(std::future::ready(()))
    });
    block_on(suite(Sqlite::open(scratch.path()).unwrap(), set_readable));
}

fn in_postgres<F: Future>(suite: impl FnOnce(Postgres, Setting) -> F) {
    let cluster = Cluster::start();
    let url = cluster.url();
    let set_readable: Setting = Box::new(move |id, is_readable| {
        let url = url.clone();
        Box::pin(async move {
            let opened = tokio_postgres::connect(&url, tokio_postgres::NoTls).await;
            let (client, connection) = opened.unwrap();
            tokio::spawn(connection);
            let sql = if is_readable { MEND } else { SPOIL };
            assert_eq!(client.execute(sql, &[&id]).await.unwrap(), 1);
            // A commit that changes a merchant increments this version.
            let counted = "UPDATE head SET merchants_version = merchants_version + 1";
            assert_eq!(client.execute(counted, &[]).await.unwrap(), 1);
        })
    });
    block_on(async { suite(Postgres::open(&cluster.url()).await.unwrap(), set_readable).await });
}

mod sqlite {
    use super::in_sqlite;

    #[test]
    fn an_unreadable_merchant_blocks_only_itself() {
        in_sqlite(super::an_unreadable_merchant_blocks_only_itself);
    }

    #[test]
    fn an_unreadable_endpoint_blocks_only_itself() {
        in_sqlite(super::an_unreadable_endpoint_blocks_only_itself);
    }
}

mod postgres {
    use super::in_postgres;

    #[test]
    fn an_unreadable_merchant_blocks_only_itself() {
        in_postgres(super::an_unreadable_merchant_blocks_only_itself);
    }

    #[test]
    fn an_unreadable_endpoint_blocks_only_itself() {
        in_postgres(super::an_unreadable_endpoint_blocks_only_itself);
    }
}
