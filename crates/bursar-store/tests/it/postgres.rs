//! PostgreSQL: the same answers as memory, several writers, and a server that goes away.

use std::cell::Cell;
use std::collections::BTreeMap;

use bursar_core::ledger::{Admission, Event, Posted, Transaction};
use bursar_core::request::{Answer, Batch, Body, Reply, Request};
use bursar_core::rules::Rules;
use bursar_core::verify::Verifier;
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

/// Many rows take another way into the tables than few.
#[test]
fn many_at_once_are_kept_as_memory_keeps_them() {
    let cluster = Cluster::start();
    let rules = rules();
    block_on(async {
        let mut memory = Memory::default();
        let mut store = Postgres::open(&cluster.url()).await.unwrap();
        let payins: Vec<Request> = (0..60).map(|number| payin(0, number)).collect();
        let posted = turn(&mut memory, &Batch::new(&rules, &payins)).await.unwrap();
        let reverts: Vec<Request> = posted.transactions.iter().zip(&payins).map(revert).collect();
        assert_eq!(turn(&mut store, &Batch::new(&rules, &payins)).await.unwrap(), posted);
        let batch = Batch::new(&rules, &reverts);
        let expected = turn(&mut memory, &batch).await.unwrap();
        assert_eq!(turn(&mut store, &batch).await.unwrap(), expected);
        assert_eq!(expected.transactions.len(), 60, "all of them were taken back");
        // Told again together with a new one, what was taken back is refused and the new one is posted.
        let mut again = payins;
        again.push(payin(1, 0));
        let batch = Batch::new(&rules, &again);
        assert_eq!(
            turn(&mut store, &batch).await.unwrap(),
            turn(&mut memory, &batch).await.unwrap()
        );
        assert_eq!(store.history(0, 10).await.unwrap(), memory.history(0, 10).await.unwrap());
        assert_eq!(store.accounts().await.unwrap(), memory.accounts().await.unwrap());
        assert_eq!(store.end().await.unwrap(), memory.end().await.unwrap());
    });
}

/// The request that takes a transaction back, with a seed of its own.
fn revert((transaction, first): (&Transaction, &Request)) -> Request {
    let event = Event {
        name: "REVERT".to_owned(),
        reference: transaction.id.to_string(),
        variables: BTreeMap::new(),
        effective_at: None,
    };
    let Admission { now, seed } = first.admission;
    let admission = Admission { now, seed: seed.child(["revert", ""]) };
    Request { admission, body: Body::Post(event) }
}

/// Two processes are told the same events in opposite orders, again and again: each is posted once, and neither waits for
/// the other for ever.
#[test]
fn the_same_events_in_opposite_orders_do_not_deadlock() {
    let cluster = Cluster::start();
    let rules = rules();
    block_on(async {
        drop(Postgres::open(&cluster.url()).await.unwrap());
        let tellers = ["a", "b"].map(|teller| tell_payins(cluster.url(), &rules, teller));
        let posted: usize = concurrently(tellers).await.iter().sum();
        assert_eq!(posted, 15 * 20 + 15 * 60);
        assert_eq!(deadlocks(&cluster.url()).await, 0);
    });
}

/// All of them meet a chart that nobody has written down, and open accounts under it.
#[test]
fn writers_that_are_all_new_do_not_deadlock() {
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

/// Pay-ins of merchants that only this writer knows, a few at a time.
async fn new_merchants(url: String, rules: &Rules, writer: u32) -> usize {
    let mut store = Postgres::open(&url).await.unwrap();
    let mut posted = 0;
    for round in 0..5 {
        let numbers = round * 20..round * 20 + 20;
        let mut requests: Vec<Request> = numbers.map(|number| payin(writer + 1, number)).collect();
        for (request, number) in requests.iter_mut().zip(0..) {
            let Body::Post(event) = &mut request.body else { continue };
            let merchant = format!("m{writer}x{round}x{number}");
            event.variables.insert("merchantId".to_owned(), merchant);
        }
        let commit = turn(&mut store, &Batch::new(rules, &requests)).await.unwrap();
        posted += commit.transactions.len();
    }
    posted
}

/// 30 batches, now few and now many, since few go by statements and many by copy. `b` tells them from the end.
async fn tell_payins(url: String, rules: &Rules, teller: &str) -> usize {
    let mut store = Postgres::open(&url).await.unwrap();
    let mut posted = 0;
    for round in 0..30 {
        let numbers = round * 100..round * 100 + [20, 60][usize::try_from(round % 2).unwrap()];
        let mut requests: Vec<Request> = numbers.map(|number| payin(0, number)).collect();
        for request in &mut requests {
            request.admission.seed = request.admission.seed.child([teller, ""]);
        }
        if teller == "b" {
            requests.reverse();
        }
        let commit = turn(&mut store, &Batch::new(rules, &requests)).await.unwrap();
        let is_new = |answer: &&Answer| matches!(answer, Ok(Reply::Posted(Posted::New(_))));
        posted += commit.answers.iter().filter(is_new).count();
    }
    posted
}

/// Four connections, one hot bank and one hot merchant, 100,000 transactions: nothing is lost, nothing is doubled, the
/// chain has no gap, and somebody who follows the commits while they are made misses none.
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
        let mut verifier = Verifier::new(&rules.rulebook, &accounts);
        let history = store.history(0, 1_000).await.unwrap();
        assert_eq!(followed, history.iter().map(|commit| commit.hash).collect::<Vec<_>>());
        for commit in &history {
            verifier.add(commit);
        }
        let end = store.end().await.unwrap();
        assert_eq!(end.seq, 200);
        let report = verifier.finish(&accounts, &store.holds().await.unwrap(), &[], &end);
        assert_eq!(report.differences, Vec::<String>::new());
        assert_eq!(deadlocks(&cluster.url()).await, 0);
    });
}

/// Four connections tell stories about one poor merchant that overlap and contradict each other: each event is posted by
/// one of them and answered to the others, money that is not there is not moved, and a hold ends once.
#[test]
fn four_writers_about_one_merchant_contradict_each_other_in_vain() {
    let cluster = Cluster::start();
    let rules = rules();
    block_on(async {
        drop(Postgres::open(&cluster.url()).await.unwrap());
        let writers = (0..4).map(|writer| tell_story(cluster.url(), &rules, writer));
        let mut posted: BTreeMap<String, u32> = BTreeMap::new();
        for (event, answer) in concurrently(writers).await.into_iter().flatten() {
            let count = posted.entry(event.clone()).or_default();
            match answer {
                Ok(Reply::Posted(Posted::New(_))) => *count += 1,
                Ok(_) => {}
                Err(rejection) => {
                    let code = rejection.code();
                    let is_fair = matches!(code, "missing_funds" | "hold_ended" | "hold_not_found");
                    assert!(is_fair, "{event}: {rejection}");
                }
            }
        }
        assert!(posted.values().all(|count| *count <= 1), "{posted:?}");
        for payout in 0..40 {
            let ends = ["PAYOUT_SETTLE", "PAYOUT_RELEASE"]
                .map(|event| posted.get(&format!("{event} p{payout}")));
            assert!(ends.into_iter().flatten().sum::<u32>() <= 1, "p{payout} ended twice");
        }
        assert!(posted.values().sum::<u32>() > 60, "most of the story happened: {posted:?}");
        assert_eq!(deadlocks(&cluster.url()).await, 0);

        let mut store = Postgres::open(&cluster.url()).await.unwrap();
        let accounts = store.accounts().await.unwrap();
        // The bank may: a settled payout has left it.
        for (address, account) in
            accounts.iter().filter(|(_, account)| account.metadata.view != "cash")
        {
            assert!(!account.balance.is_negative(), "{address} {}", account.balance);
        }
        let mut verifier = Verifier::new(&rules.rulebook, &accounts);
        for commit in store.history(0, 10_000).await.unwrap() {
            verifier.add(&commit);
        }
        let end = store.end().await.unwrap();
        let report = verifier.finish(&accounts, &store.holds().await.unwrap(), &[], &end);
        assert_eq!(report.differences, Vec::<String>::new());
    });
}

#[test]
fn a_server_that_went_away_is_found_again() {
    let cluster = Cluster::start();
    let rules = rules();
    block_on(async {
        let mut store = Postgres::open(&cluster.url()).await.unwrap();
        let requests = [payin(0, 0), payin(0, 1)];
        let (first, second) = requests.split_at(1);
        let batch = Batch::new(&rules, first);
        turn(&mut store, &batch).await.unwrap();
        cluster.crash();
        let next = Batch::new(&rules, second);
        assert!(matches!(
            turn(&mut store, &next).await,
            Err(StoreError::Unavailable(_) | StoreError::Unknown(_))
        ));
        cluster.start_server();
        let answers = turn(&mut store, &next).await.unwrap().answers;
        assert!(matches!(answers.as_slice(), [Ok(Reply::Posted(Posted::New(_)))]));
        let again = turn(&mut store, &batch).await.unwrap().answers;
        assert!(
            matches!(again.as_slice(), [Ok(Reply::Posted(Posted::Replayed(_)))]),
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

/// Payouts of 10.00 from a merchant with 250.00: 40 that all writers know of, and 40 of each writer's own.
async fn tell_story(url: String, rules: &Rules, writer: u32) -> Vec<(String, Answer)> {
    let mut store = Postgres::open(&url).await.unwrap();
    let mut answers = Vec::new();
    let mut number = writer * 1_000_000;
    let mut tell = async |events: &[(&str, String)]| {
        let requests: Vec<Request> = events
            .iter()
            .map(|(event, reference)| {
                number += 1;
                post(rules, event, reference, number)
            })
            .collect();
        let commit = turn(&mut store, &Batch::new(rules, &requests)).await.unwrap();
        let named = events.iter().map(|(event, reference)| format!("{event} {reference}"));
        answers.extend(named.zip(commit.answers));
    };
    tell(&[("ADJUSTMENT_CREDIT", "start".to_owned())]).await;
    // Half of them say that the shared payouts were paid, the others that they were not: only one can be right.
    let end = if writer.is_multiple_of(2) { "PAYOUT_SETTLE" } else { "PAYOUT_RELEASE" };
    for payout in 0..40_u32 {
        let (shared, own) = (format!("p{payout}"), format!("w{writer}-{payout}"));
        tell(&[("PAYOUT_RESERVE", shared.clone()), ("PAYIN_COLLECTION", shared.clone())]).await;
        tell(&[(end, shared)]).await;
        tell(&[("PAYOUT_RESERVE", own.clone())]).await;
        if payout.is_multiple_of(4) {
            tell(&[("PAYOUT_RELEASE", own)]).await;
        }
    }
    answers
}

/// A report does not go on with books that have changed under it.
#[test]
fn a_report_that_loses_its_connection_ends() {
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

/// How many there were, ever.
async fn deadlocks(url: &str) -> i64 {
    ask(url, "SELECT sum(deadlocks)::bigint FROM pg_stat_database").await
}

async fn ask(url: &str, sql: &str) -> i64 {
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    client.query_one(sql, &[]).await.unwrap().get(0)
}

/// Reads the commits while they are made, always going on from the last one.
async fn follow(url: String, running: &Cell<u32>) -> Vec<[u8; 32]> {
    let mut store = Postgres::open(&url).await.unwrap();
    let mut seen = Vec::new();
    loop {
        let is_last_look = running.get() == 0;
        let page = store.history(u64::try_from(seen.len()).unwrap(), 5).await.unwrap();
        if page.is_empty() && is_last_look {
            return seen;
        }
        for commit in &page {
            assert_eq!(commit.seq, u64::try_from(seen.len()).unwrap() + 1, "no gap, nobody late");
            assert_eq!(commit.transactions.len(), 500, "a commit is there as a whole");
            seen.push(commit.hash);
        }
        tokio::task::yield_now().await;
    }
}

/// 50 batches of 500 pay-ins; returns how many were posted.
async fn writes(url: String, rules: &Rules, writer: u32, running: &Cell<u32>) -> u32 {
    let mut store = Postgres::open(&url).await.unwrap();
    let mut posted = 0;
    for batch in 0..50 {
        let requests: Vec<Request> =
            (0..500).map(|number| payin(writer, batch * 500 + number)).collect();
        let commit = turn(&mut store, &Batch::new(rules, &requests)).await.unwrap();
        posted +=
            u32::try_from(commit.answers.iter().filter(|answer| answer.is_ok()).count()).unwrap();
    }
    running.set(running.get() - 1);
    posted
}
