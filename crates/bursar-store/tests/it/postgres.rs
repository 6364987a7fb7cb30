//! PostgreSQL: the same answers as memory, several writers, and a server that goes away.

use bursar_core::ids::Seed;
use bursar_core::ledger::{Admission, Event, Posted};
use bursar_core::request::{Batch, Body, Request};
use bursar_core::rulebook::Rulebook;
use bursar_core::verify::Verifier;
use bursar_store::{Memory, Postgres, Query as _, StoreError, turn};
use jiff::Timestamp;
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;

use crate::cluster::Cluster;
use crate::workload::{block_on, run, steps};

#[test]
fn postgres_answers_as_memory_does() {
    let cluster = Cluster::start();
    let rulebook = Rulebook::bundled().unwrap();
    let mut runner = TestRunner::deterministic();
    for number in 0..12 {
        let steps = steps().new_tree(&mut runner).unwrap().current();
        let expected = run(&mut Memory::default(), &rulebook, &steps, &[1 + number]);
        cluster.create_database(&format!("books{number}"));
        let url = cluster.url().replace("dbname=postgres", &format!("dbname=books{number}"));
        let mut store = block_on(Postgres::open(&url)).unwrap();
        assert_eq!(run(&mut store, &rulebook, &steps, &[1 + number]), expected);
    }
}

/// Four connections, one hot bank and one hot merchant: nothing is lost, nothing is doubled, the chain has no gap.
#[test]
fn four_writers_on_one_hot_account_lose_nothing() {
    let cluster = Cluster::start();
    let rulebook = Rulebook::bundled().unwrap();
    block_on(async {
        drop(Postgres::open(&cluster.url()).await.unwrap());
        let writers = (0..4).map(|writer| writes(cluster.url(), &rulebook, writer));
        let posted: u32 = futures(writers.collect()).await.iter().sum();
        assert_eq!(posted, 4 * 25 * 40);
        let mut store = Postgres::open(&cluster.url()).await.unwrap();
        let accounts = store.accounts().await.unwrap();
        let (_, bank) =
            accounts.iter().find(|(address, _)| &**address == "assets:bank:b1:PKR").unwrap();
        assert_eq!(bank.balance.minor(), i64::from(posted) * 10_000);
        let mut verifier = Verifier::new(&rulebook, &accounts);
        for commit in store.history(0, 1_000).await.unwrap() {
            verifier.add(&commit);
        }
        let head = store.head().await.unwrap();
        assert_eq!(head.seq, 100);
        let report =
            verifier.finish(&accounts, &store.holds().await.unwrap(), (head.seq, head.hash));
        assert_eq!(report.differences, Vec::<String>::new());
    });
}

#[test]
fn a_server_that_went_away_is_found_again() {
    let cluster = Cluster::start();
    let rulebook = Rulebook::bundled().unwrap();
    block_on(async {
        let mut store = Postgres::open(&cluster.url()).await.unwrap();
        let batch = Batch::new(&rulebook, &[payin(0, 0)]);
        turn(&mut store, &batch).await.unwrap();
        cluster.crash();
        let next = Batch::new(&rulebook, &[payin(0, 1)]);
        assert!(matches!(
            turn(&mut store, &next).await,
            Err(StoreError::Unavailable(_) | StoreError::Unknown(_))
        ));
        cluster.start_server();
        let answers = turn(&mut store, &next).await.unwrap().answers;
        assert!(matches!(answers.as_slice(), [Ok(Posted::New(_))]));
        let again = turn(&mut store, &batch).await.unwrap().answers;
        assert!(
            matches!(again.as_slice(), [Ok(Posted::Replayed(_))]),
            "what was answered has survived"
        );
    });
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let error = block_on(Postgres::open("host=/nowhere user=bursar")).unwrap_err();
    assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
    let error = block_on(Postgres::open("not a url at all =")).unwrap_err();
    assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
}

/// 25 batches of 40 pay-ins; returns how many were posted.
async fn writes(url: String, rulebook: &Rulebook, writer: u32) -> u32 {
    let mut store = Postgres::open(&url).await.unwrap();
    let mut posted = 0;
    for batch in 0..25 {
        let requests: Vec<Request> =
            (0..40).map(|number| payin(writer, batch * 40 + number)).collect();
        let commit = turn(&mut store, &Batch::new(rulebook, &requests)).await.unwrap();
        posted +=
            u32::try_from(commit.answers.iter().filter(|answer| answer.is_ok()).count()).unwrap();
    }
    posted
}

fn payin(writer: u32, number: u32) -> Request {
    let pairs = [
        ("merchantId", "m1"),
        ("bankId", "b1"),
        ("currency", "PKR"),
        ("gross", "100"),
        ("fee", "1"),
        ("vat", "0.1"),
    ];
    let event = Event {
        name: "PAYIN_COLLECTION".to_owned(),
        reference: format!("r{writer}-{number}"),
        variables: pairs
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
        effective_at: None,
    };
    let now = Timestamp::from_second(1_794_700_800).unwrap();
    let seed = Seed::from(u64::from(writer) << 32 | u64::from(number));
    Request { admission: Admission { now, seed }, body: Body::Post(event) }
}

/// Drives all of them together on one thread.
async fn futures<T>(all: Vec<impl Future<Output = T>>) -> Vec<T> {
    let mut pending: Vec<_> = all.into_iter().map(|future| (Box::pin(future), None)).collect();
    std::future::poll_fn(|context| {
        let mut is_done = true;
        for (future, result) in &mut pending {
            if result.is_none() {
                match future.as_mut().poll(context) {
                    std::task::Poll::Ready(value) => *result = Some(value),
                    std::task::Poll::Pending => is_done = false,
                }
            }
        }
        if is_done { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    pending.into_iter().filter_map(|(_, result)| result).collect()
}
