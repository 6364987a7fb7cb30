//! A merchant or an endpoint that cannot be read: what relies on it is refused, and everybody else goes on.

use std::future::Future;
use std::pin::Pin;

use bursar_core::payin::{NewPayIn, Said};
use bursar_core::payout::{NewPayout, submit_lane};
use bursar_core::registry::{
    Change, EndpointChange, Kind, MerchantStatus, RecordKey, Registration,
};
use bursar_core::request::{Body, Mail, Reply};
use bursar_core::rules::Rules;
use bursar_store::{Browse, Postgres, Query, Sqlite, Store};
use jiff::SignedDuration;

use crate::cluster::Cluster;
use crate::desk::Desk;
use crate::office::{Office, add, answered, calm, change, deliver, endpoint_id};
use crate::payouts::{create, view};
use crate::scratch::Scratch;
use crate::workload::{block_on, open_merchant};

/// Makes a record unreadable behind the store's back, or readable again.
type Setting = Box<dyn Fn(String, bool) -> Pin<Box<dyn Future<Output = ()>>>>;

/// The same for another merchant.
fn of(merchant: &str, body: Body) -> Body {
    match body {
        Body::CreatePayout { key, payout, actor } => {
            let payout = NewPayout { merchant: merchant.to_owned(), ..payout };
            Body::CreatePayout { key, payout, actor }
        }
        Body::TakePayIn(payin) => {
            let reference = format!("{merchant}-{}", payin.reference);
            Body::TakePayIn(NewPayIn { merchant: merchant.to_owned(), reference, ..payin })
        }
        Body::Register(Registration { actor, change: Change::Endpoint { id, change, .. } }) => {
            let merchant = merchant.to_owned();
            Body::Register(Registration {
                actor,
                change: Change::Endpoint { id, merchant, change },
            })
        }
        other => panic!("{other:?}"),
    }
}

fn register(change: Change) -> Body {
    Body::Register(Registration { actor: "ops".to_owned(), change })
}

/// A merchant with 250.00, another one, and an endpoint for each.
async fn two_merchants<S: Store + Query + Browse>(rules: &Rules, store: S) -> Office<'_, S> {
    let mut desk = Desk::new(rules, store, 0);
    desk.fund().await;
    desk.open_merchant().await;
    desk.ask(open_merchant("m2", 0).body).await.unwrap();
    desk.ask(add(endpoint_id(1), &["*"])).await.unwrap();
    desk.ask(of("m2", add(endpoint_id(2), &["*"]))).await.unwrap();
    Office { desk, payins: 0 }
}

/// Nothing about m1 goes on, and it does not look as if there were no m1.
async fn a_merchant_alone<S: Store + Query + Browse>(store: S, set: Setting) {
    let rules = calm();
    let mut office = two_merchants(&rules, store).await;
    let payout = view(office.desk.ask(create("a", "10")).await);
    let pending = office.payin(Said::Pending);
    office.desk.ask(pending.clone()).await.unwrap();
    let (_, parcels) = office.deliver(deliver(10)).await;
    set("m1".to_owned(), false).await;

    let held = office.desk.balance("merchants:m1:available:PKR").await;
    assert!(held > 0);
    let refused = async |office: &mut Office<'_, S>, body: Body| {
        office.desk.ask(body).await.unwrap_err().to_string()
    };
    let Body::TakePayIn(completed) = pending else { panic!("a pay-in") };
    let completed = NewPayIn { said: Said::Completed, event: "done".to_owned(), ..completed };
    let (first, closed) = ("m1".to_owned(), Some(MerchantStatus::Closed));
    let anew = office.payin(Said::Completed);
    for body in [
        create("b", "10"),
        anew,
        Body::TakePayIn(completed.clone()),
        register(Change::OpenMerchant { id: first.clone(), name: "Shop m1".to_owned() }),
        register(Change::AlterMerchant { id: first, name: None, status: closed }),
        add(endpoint_id(3), &["*"]),
        change(endpoint_id(1), EndpointChange::Disable { reason: "moving".to_owned() }),
    ] {
        let words = refused(&mut office, body).await;
        assert!(words.starts_with("merchant m1 is kept in a form"), "{words}");
    }
    let woken = office.desk.wake(&submit_lane("wallet"), 10).await;
    assert_eq!(woken.flows, Vec::<String>::new());
    assert_eq!(woken.refused[0].0, payout.id, "it is not sent: nobody would be told");
    assert_eq!(woken.refused[0].1.code(), "unreadable");
    assert_eq!(office.desk.balance("merchants:m1:available:PKR").await, held, "no money has moved");
    // What is on its way to its endpoint comes back; what it says is not lost.
    office.came_back(&parcels[0], answered(410)).await;
    assert!(office.endpoint(endpoint_id(1)).await.is_enabled(), "it is switched off later");

    // In one turn with somebody else's business.
    let other = of("m2", office.payin(Said::Completed));
    let commit = office.desk.commit_all(vec![create("c", "10"), other]).await;
    assert_eq!(commit.answers[0].as_ref().unwrap_err().code(), "unreadable");
    commit.answers[1].as_ref().unwrap();
    let (_, parcels) = office.deliver(deliver(10)).await;
    assert_eq!(parcels.len(), 1, "whoever can be told is told");
    let page = office.desk.store.records(Kind::Merchant, None, None, 1).await.unwrap();
    assert_eq!(page.records.len(), 1, "what can be read is shown");
    let page = office.desk.store.records(Kind::Merchant, None, None, 10).await.unwrap();
    assert_eq!((page.records.len(), page.unreadable), (1, vec!["m1".to_owned()]));
    assert!(office.desk.store.record(&RecordKey::merchant("m1")).await.is_err());

    // Whoever wrote it takes it back, and everything goes on where it was.
    set("m1".to_owned(), true).await;
    office.desk.now += SignedDuration::from_mins(2);
    office.desk.ask(Body::TakePayIn(completed)).await.unwrap();
    view(office.desk.ask(create("b", "10")).await);
    assert_eq!(office.desk.wake(&submit_lane("wallet"), 10).await.flows.len(), 2);
    assert!(office.deliver(deliver(10)).await.0.count > 0);
    office.desk.assert_sound().await;
}

/// What waits for it is put off, and what waits for another is sent.
async fn an_endpoint_alone<S: Store + Query + Browse>(store: S, set: Setting) {
    let rules = calm();
    let mut office = two_merchants(&rules, store).await;
    let (first, second) = (endpoint_id(1), endpoint_id(2));
    office.tell().await;
    let (_, begun_before) = office.deliver(deliver(10)).await;
    office.tell().await;
    let other = of("m2", office.payin(Said::Completed));
    office.desk.ask(other).await.unwrap();
    set(first.to_string(), false).await;

    let (begun, parcels) = office.deliver(deliver(10)).await;
    assert_eq!((begun.count, parcels.len(), parcels[0].endpoint), (1, 1, second));
    assert_eq!(begun.refused.len(), 1, "somebody is told");
    assert_eq!(begun.refused[0].1.code(), "unreadable");
    assert_eq!(office.deliver(deliver(10)).await.0.refused, [], "and not again and again");
    let off = change(first, EndpointChange::Disable { reason: "moving".to_owned() });
    let test = Body::Mail(Mail::Test { actor: "ops".to_owned(), endpoint: first });
    for body in [off, test, add(first, &["*"])] {
        assert_eq!(office.desk.ask(body).await.unwrap_err().code(), "unreadable");
    }
    match office.desk.ask(Body::Mail(Mail::Cancel { endpoint: first, limit: 10 })).await.unwrap() {
        Reply::Woken(woken) => assert_eq!(woken.flows, Vec::<String>::new(), "it may be on"),
        other => panic!("{other:?}"),
    }
    // The merchant is told as before; what it says waits.
    let told = office.tell().await;
    assert_eq!(office.desk.store.deliveries_of(told).await.unwrap().len(), 1);
    let page = office.desk.store.records(Kind::Endpoint, None, None, 10).await.unwrap();
    assert_eq!((page.records.len(), page.unreadable), (1, vec![first.to_string()]));

    set(first.to_string(), true).await;
    office.came_back(&begun_before[0], answered(200)).await;
    office.desk.now += SignedDuration::from_mins(2);
    let (begun, parcels) = office.deliver(deliver(10)).await;
    assert_eq!(begun.count, 2, "what was put off and what was told meanwhile");
    for parcel in &parcels {
        office.came_back(parcel, answered(200)).await;
    }
    assert_eq!(office.status(begun_before[0].flow).await, "DELIVERED");
    office.desk.assert_sound().await;
}

const SPOIL: &str =
    "UPDATE registry SET content = '{\"new\":1,' || substr(content, 2) WHERE id = $1";
const MEND: &str =
    "UPDATE registry SET content = replace(content, '{\"new\":1,', '{') WHERE id = $1";

fn in_sqlite<F: Future>(suite: impl FnOnce(Sqlite, Setting) -> F) {
    let scratch = Scratch::new();
    let file = scratch.path().join("bursar.sqlite");
    let set: Setting = Box::new(move |id, is_readable| {
        let connection = rusqlite::Connection::open(&file).unwrap();
        let sql = if is_readable { MEND } else { SPOIL };
        assert_eq!(connection.execute(sql, [id]).unwrap(), 1);
        Box::pin(std::future::ready(()))
    });
    block_on(suite(Sqlite::open(scratch.path()).unwrap(), set));
}

fn in_postgres<F: Future>(suite: impl FnOnce(Postgres, Setting) -> F) {
    let cluster = Cluster::start();
    let url = cluster.url();
    let set: Setting = Box::new(move |id, is_readable| {
        let url = url.clone();
        Box::pin(async move {
            let opened = tokio_postgres::connect(&url, tokio_postgres::NoTls).await;
            let (client, connection) = opened.unwrap();
            tokio::spawn(connection);
            let sql = if is_readable { MEND } else { SPOIL };
            assert_eq!(client.execute(sql, &[&id]).await.unwrap(), 1);
            // As whoever changes a merchant does.
            let counted = "UPDATE head SET merchants_version = merchants_version + 1";
            assert_eq!(client.execute(counted, &[]).await.unwrap(), 1);
        })
    });
    block_on(async { suite(Postgres::open(&cluster.url()).await.unwrap(), set).await });
}

#[test]
fn an_unreadable_merchant_in_sqlite_stands_still_alone() {
    in_sqlite(a_merchant_alone);
}

#[test]
fn an_unreadable_merchant_in_postgres_stands_still_alone() {
    in_postgres(a_merchant_alone);
}

#[test]
fn an_unreadable_endpoint_in_sqlite_stands_still_alone() {
    in_sqlite(an_endpoint_alone);
}

#[test]
fn an_unreadable_endpoint_in_postgres_stands_still_alone() {
    in_postgres(an_endpoint_alone);
}
