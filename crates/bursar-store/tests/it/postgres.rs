//! PostgreSQL: the same answers as memory, concurrent writers, and server crashes.

use std::cell::Cell;
use std::collections::BTreeMap;

use bursar_core::ledger::{self, Admission, LedgerEvent, Post, Posted, Transaction};
use bursar_core::rules::Rules;
use bursar_core::turn::{Answer, Body, Reply, Request, TurnInput};
use bursar_store::{Memory, Postgres, Query as _, StoreError, Walk as _, turn};
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;

use crate::cluster::Cluster;
use crate::workload::{block_on, concurrently, payin, post, rules, run, steps};

#[test]
fn postgres_answers_as_memory_does() {
    let cluster = Cluster::start();
    let rules = rules();
    let mut runner = TestRunner::deterministic();
    for number in 0..12 {
        let steps = steps().new_tree(&mut runner).unwrap().current();
        let expected = run(&mut Memory::default(), &rules, &steps, &[1 + number]);
        let url = cluster.new_database(&format!("books{number}"));
        let mut store = block_on(Postgres::open(&url)).unwrap();
        assert_eq!(run(&mut store, &rules, &steps, &[1 + number]), expected);
        let report = block_on(store.verify(&rules.rulebook)).unwrap();
        assert_eq!(report.differences, Vec::<String>::new());
    }
}

/// Large commits use COPY instead of INSERT.
#[test]
fn large_commits_are_stored_as_in_memory() {
    let cluster = Cluster::start();
    let rules = rules();
    block_on(async {
        let mut memory = Memory::default();
        let mut store = Postgres::open(&cluster.url()).await.unwrap();
        let payins: Vec<Request> = (0..60).map(|number| payin(0, number)).collect();
        let posted = turn(&mut memory, &TurnInput::new(&rules, &payins)).await.unwrap();
        let reverts: Vec<Request> = posted.transactions.iter().zip(&payins).map(revert).collect();
        assert_eq!(turn(&mut store, &TurnInput::new(&rules, &payins)).await.unwrap(), posted);
        let batch = TurnInput::new(&rules, &reverts);
        let expected = turn(&mut memory, &batch).await.unwrap();
        assert_eq!(turn(&mut store, &batch).await.unwrap(), expected);
        assert_eq!(expected.transactions.len(), 60, "all transactions are reverted");
        // Repeated in one batch with a new event, reverted events are rejected and the new one is posted.
        let mut again = payins;
        again.push(payin(1, 0));
        let batch = TurnInput::new(&rules, &again);
        assert_eq!(
            turn(&mut store, &batch).await.unwrap(),
            turn(&mut memory, &batch).await.unwrap()
        );
        assert_eq!(store.history(0, 10).await.unwrap(), memory.history(0, 10).await.unwrap());
        assert_eq!(store.accounts().await.unwrap(), memory.accounts().await.unwrap());
        assert_eq!(store.end().await.unwrap(), memory.end().await.unwrap());
    });
}

/// The request that reverts a transaction, with its own seed.
fn revert((transaction, first): (&Transaction, &Request)) -> Request {
    let event = LedgerEvent {
        name: "REVERT".to_owned(),
        reference: transaction.id.to_string(),
        variables: BTreeMap::new(),
        effective_at: None,
    };
    let Admission { now, seed } = first.admission;
    let admission = Admission { now, seed: seed.child(["revert", ""]) };
    Request { admission, body: Post { event, actor: None }.into() }
}

/// Two processes post the same events in opposite orders: each event is posted once.
#[test]
fn the_same_events_in_opposite_orders_do_not_deadlock() {
    let cluster = Cluster::start();
    let rules = rules();
    block_on(async {
        drop(Postgres::open(&cluster.url()).await.unwrap());
        let writers = ["a", "b"].map(|writer| post_payins(cluster.url(), &rules, writer));
        let posted: usize = concurrently(writers).await.iter().sum();
        assert_eq!(posted, 15 * 20 + 15 * 60);
        assert_eq!(deadlocks(&cluster.url()).await, 0);
    });
}

/// All writers insert the same chart lines, and open accounts under them.
#[test]
fn concurrent_inserts_of_chart_lines_do_not_deadlock() {
    let cluster = Cluster::start();
    let rules = rules();
    block_on(async {
        drop(Postgres::open(&cluster.url()).await.unwrap());
        let writers = (0..8).map(|writer| new_merchants(cluster.url(), &rules, writer));
        assert_eq!(concurrently(writers).await.iter().sum::<usize>(), 8 * 5 * 20);
        assert_eq!(deadlocks(&cluster.url()).await, 0);
        let mut store = Postgres::open(&cluster.url()).await.unwrap();
        let report = store.verify(&rules.rulebook).await.unwrap();
        assert_eq!(report.differences, Vec::<String>::new());
    });
}

/// Posts pay-ins of merchants that no other writer uses, 20 per batch.
async fn new_merchants(url: String, rules: &Rules, writer: u32) -> usize {
    let mut store = Postgres::open(&url).await.unwrap();
    let mut posted = 0;
    for round in 0..5 {
        let numbers = round * 20..round * 20 + 20;
        let mut requests: Vec<Request> = numbers.map(|number| payin(writer + 1, number)).collect();
        for (request, number) in requests.iter_mut().zip(0..) {
            let Body::Ledger(ledger::Request::Post(Post { event, .. })) = &mut request.body else {
                continue;
            };
            let merchant = format!("m{writer}x{round}x{number}");
            event.variables.insert("merchantId".to_owned(), merchant);
        }
        let commit = turn(&mut store, &TurnInput::new(rules, &requests)).await.unwrap();
        posted += commit.transactions.len();
    }
    posted
}

/// Posts 30 batches, alternately small (INSERT) and large (COPY). Writer `b` posts each batch in reverse order.
async fn post_payins(url: String, rules: &Rules, writer: &str) -> usize {
    let mut store = Postgres::open(&url).await.unwrap();
    let mut posted = 0;
    for round in 0..30 {
        let numbers = round * 100..round * 100 + [20, 60][usize::try_from(round % 2).unwrap()];
        let mut requests: Vec<Request> = numbers.map(|number| payin(0, number)).collect();
        for request in &mut requests {
            request.admission.seed = request.admission.seed.child([writer, ""]);
        }
        if writer == "b" {
            requests.reverse();
        }
        let commit = turn(&mut store, &TurnInput::new(rules, &requests)).await.unwrap();
        let is_new = |answer: &&Answer| {
            matches!(answer, Ok(Reply::Ledger(ledger::Reply::Posted(Posted::New(_)))))
        };
        posted += commit.answers.iter().filter(is_new).count();
    }
    posted
}

/// Four connections, one hot bank and one hot merchant, 100,000 transactions: none is lost or doubled, the chain has no
/// gap, and a concurrent reader of the commits misses none.
#[test]
fn four_writers_on_one_hot_account_lose_nothing() {
    let cluster = Cluster::start();
    let rules = rules();
    block_on(async {
        drop(Postgres::open(&cluster.url()).await.unwrap());
        let running = Cell::new(4);
        let writers =
            concurrently((0..4).map(|writer| writes(cluster.url(), &rules, writer, &running)));
        let (posted, followed) = tokio::join!(writers, follow(cluster.url(), &running));
        let posted: u32 = posted.iter().sum();
        assert_eq!(posted, 100_000);
        let mut store = Postgres::open(&cluster.url()).await.unwrap();
        let accounts = store.accounts().await.unwrap();
        let (_, bank) =
            accounts.iter().find(|(address, _)| &**address == "assets:bank:b1:PKR").unwrap();
        assert_eq!(bank.balance.minor(), i64::from(posted) * 10_000);
        let history = store.history(0, 1_000).await.unwrap();
        assert_eq!(followed, history.iter().map(|commit| commit.hash).collect::<Vec<_>>());
        let end = store.head().await.unwrap();
        assert_eq!(end.seq, 200);
        let report = store.verify(&rules.rulebook).await.unwrap();
        assert_eq!(report.differences, Vec::<String>::new());
        assert_eq!(deadlocks(&cluster.url()).await, 0);
    });
}

/// Four connections post overlapping and contradicting events about one merchant with little money: each event is posted
/// once and replayed to the others, no balance becomes negative, and a hold ends once.
#[test]
fn four_writers_with_contradicting_events_post_each_once() {
    let cluster = Cluster::start();
    let rules = rules();
    block_on(async {
        drop(Postgres::open(&cluster.url()).await.unwrap());
        let writers = (0..4).map(|writer| post_contradicting_events(cluster.url(), &rules, writer));
        let mut posted: BTreeMap<String, u32> = BTreeMap::new();
        for (event, answer) in concurrently(writers).await.into_iter().flatten() {
            let count = posted.entry(event.clone()).or_default();
            match answer {
                Ok(Reply::Ledger(ledger::Reply::Posted(Posted::New(_)))) => *count += 1,
                Ok(_) => {}
                Err(rejection) => {
                    let code = rejection.code();
                    let is_expected =
                        matches!(code, "missing_funds" | "hold_ended" | "hold_not_found");
                    assert!(is_expected, "{event}: {rejection}");
                }
            }
        }
        assert!(posted.values().all(|count| *count <= 1), "{posted:?}");
        for payout in 0..40 {
            let ends = ["PAYOUT_SETTLE", "PAYOUT_RELEASE"]
                .map(|event| posted.get(&format!("{event} p{payout}")));
            assert!(ends.into_iter().flatten().sum::<u32>() <= 1, "p{payout} ended twice");
        }
        assert!(posted.values().sum::<u32>() > 60, "most events are posted: {posted:?}");
        assert_eq!(deadlocks(&cluster.url()).await, 0);

        let mut store = Postgres::open(&cluster.url()).await.unwrap();
        let accounts = store.accounts().await.unwrap();
        // Cash accounts may be negative: settled payouts have left the bank.
        for (address, account) in
            accounts.iter().filter(|(_, account)| account.metadata.view != "cash")
        {
            assert!(!account.balance.is_negative(), "{address} {}", account.balance);
        }
        let report = store.verify(&rules.rulebook).await.unwrap();
        assert_eq!(report.differences, Vec::<String>::new());
    });
}

#[test]
fn the_store_reconnects_after_a_server_crash() {
    let cluster = Cluster::start();
    let rules = rules();
    block_on(async {
        let mut store = Postgres::open(&cluster.url()).await.unwrap();
        let requests = [payin(0, 0), payin(0, 1)];
        let (first, second) = requests.split_at(1);
        let batch = TurnInput::new(&rules, first);
        turn(&mut store, &batch).await.unwrap();
        cluster.crash();
        let next = TurnInput::new(&rules, second);
        assert!(matches!(
            turn(&mut store, &next).await,
            Err(StoreError::Unavailable(_) | StoreError::Unknown(_))
        ));
        cluster.start_server();
        let answers = turn(&mut store, &next).await.unwrap().answers;
        assert!(matches!(
            answers.as_slice(),
            [Ok(Reply::Ledger(ledger::Reply::Posted(Posted::New(_))))]
        ));
        let again = turn(&mut store, &batch).await.unwrap().answers;
        assert!(
            matches!(
                again.as_slice(),
                [Ok(Reply::Ledger(ledger::Reply::Posted(Posted::Replayed(_))))]
            ),
            "an answered commit survives the crash"
        );
    });
}

#[test]
fn an_unreachable_server_is_unavailable() {
    let error = block_on(Postgres::open("host=/nowhere user=bursar")).unwrap_err();
    assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
    let error = block_on(Postgres::open("not a url at all =")).unwrap_err();
    assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
}

/// Posts payouts of 10.00 from a merchant with 250.00: 40 that all writers share, and 40 of this writer.
async fn post_contradicting_events(
    url: String,
    rules: &Rules,
    writer: u32,
) -> Vec<(String, Answer)> {
    let mut store = Postgres::open(&url).await.unwrap();
    let mut answers = Vec::new();
    let mut number = writer * 1_000_000;
    let mut post_all = async |events: &[(&str, String)]| {
        let requests: Vec<Request> = events
            .iter()
            .map(|(event, reference)| {
                number += 1;
                post(rules, event, reference, number)
            })
            .collect();
        let commit = turn(&mut store, &TurnInput::new(rules, &requests)).await.unwrap();
        let named = events.iter().map(|(event, reference)| format!("{event} {reference}"));
        answers.extend(named.zip(commit.answers));
    };
    post_all(&[("ADJUSTMENT_CREDIT", "start".to_owned())]).await;
    // Half of the writers settle the shared payouts, the others release them: only one can succeed.
    let end = if writer.is_multiple_of(2) { "PAYOUT_SETTLE" } else { "PAYOUT_RELEASE" };
    for payout in 0..40_u32 {
        let (shared, own) = (format!("p{payout}"), format!("w{writer}-{payout}"));
        post_all(&[("PAYOUT_RESERVE", shared.clone()), ("PAYIN_COLLECTION", shared.clone())]).await;
        post_all(&[(end, shared)]).await;
        post_all(&[("PAYOUT_RESERVE", own.clone())]).await;
        if payout.is_multiple_of(4) {
            post_all(&[("PAYOUT_RELEASE", own)]).await;
        }
    }
    answers
}

/// A report must not continue on another snapshot.
#[test]
fn a_report_fails_when_its_connection_is_lost() {
    let cluster = Cluster::start();
    block_on(async {
        drop(Postgres::open(&cluster.url()).await.unwrap());
        let mut store = Postgres::reader(&cluster.url()).await.unwrap();
        store.read_at_one_moment().await.unwrap();
        assert_eq!(store.accounts().await.unwrap(), []);
        let others = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                      WHERE datname = current_database() AND pid <> pg_backend_pid()";
        assert_eq!(ask(&cluster.url(), others).await, 1);
        for _ in 0..3 {
            let error = store.accounts().await.unwrap_err();
            assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
        }
    });
}

/// The number of deadlocks since the server was created.
async fn deadlocks(url: &str) -> i64 {
    ask(url, "SELECT sum(deadlocks)::bigint FROM pg_stat_database").await
}

async fn ask(url: &str, sql: &str) -> i64 {
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    client.query_one(sql, &[]).await.unwrap().get(0)
}

/// Reads the commits while they are written, from the last one on.
async fn follow(url: String, running: &Cell<u32>) -> Vec<[u8; 32]> {
    let mut store = Postgres::open(&url).await.unwrap();
    let mut seen = Vec::new();
    loop {
        let is_last_read = running.get() == 0;
        let page = store.history(u64::try_from(seen.len()).unwrap(), 5).await.unwrap();
        if page.is_empty() && is_last_read {
            return seen;
        }
        for commit in &page {
            assert_eq!(
                commit.seq,
                u64::try_from(seen.len()).unwrap() + 1,
                "no gap, and no late commit"
            );
            assert_eq!(commit.transactions.len(), 500, "a commit is visible as a whole");
            seen.push(commit.hash);
        }
        tokio::task::yield_now().await;
    }
}

/// Posts 50 batches of 500 pay-ins. Returns the number of accepted requests.
async fn writes(url: String, rules: &Rules, writer: u32, running: &Cell<u32>) -> u32 {
    let mut store = Postgres::open(&url).await.unwrap();
    let mut posted = 0;
    for batch in 0..50 {
        let requests: Vec<Request> =
            (0..500).map(|number| payin(writer, batch * 500 + number)).collect();
        let commit = turn(&mut store, &TurnInput::new(rules, &requests)).await.unwrap();
        posted +=
            u32::try_from(commit.answers.iter().filter(|answer| answer.is_ok()).count()).unwrap();
    }
    running.set(running.get() - 1);
    posted
}
