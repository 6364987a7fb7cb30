//! Other programs take all connections of the PostgreSQL server: the engine keeps its own, and readers leave it the last one.

use std::io::Write as _;

use super::provider::Provider;
use super::psql::Session;
use crate::api::actions::{id, order};
use crate::api::server::Server;
use crate::caller::until;
use crate::cluster::Cluster;

/// A server with few connections, and none that are reserved.
fn small_server() -> Cluster {
    let cluster = Cluster::start();
    let settings = format!("{}/postgresql.conf", cluster.data());
    let file = std::fs::OpenOptions::new().append(true).open(settings);
    let few = "max_connections = 16\nsuperuser_reserved_connections = 0\nmax_wal_senders = 0";
    writeln!(file.unwrap(), "{few}").unwrap();
    cluster.stop_server("fast").unwrap();
    cluster.start_server();
    cluster
}

/// Takes all connections that are left.
fn take_all(url: &str, taken: &mut Vec<Session>) {
    taken.extend(std::iter::from_fn(|| Session::open(url)));
}

#[test]
fn other_programs_take_all_connections() {
    let (cluster, provider) = (small_server(), Provider::start());
    let url = cluster.url();
    let server = Server::on_postgres_with(&url, &provider.config("wallet", ""), &[]);
    let admin = server.admin();
    admin.merchant("m1", "1000000.00");
    let mut taken = Vec::new();
    take_all(&url, &mut taken);
    assert!(taken.len() > 2, "the server had connections left");
    let read = || {
        let answer = admin.get("/v1/payouts");
        let is_told = answer.status == 503 && answer.header("retry-after").is_some();
        assert!(answer.status == 200 || is_told, "{answer:?}");
    };
    let pay = |key: &str| {
        let answer = admin.pay(key, &order("m1", "wallet", "100.00"));
        let is_told = answer.status == 503 && answer.header("retry-after").is_some();
        assert!(answer.status == 201 || is_told, "{answer:?}");
        (answer.status == 201).then(|| answer.json())
    };
    // The engine has its connection.
    for number in 0..5 {
        pay(&format!("kept{number}")).unwrap();
        read();
    }
    // All connections of the process are lost; other programs take all but one.
    let mut last = taken.pop().unwrap();
    let own = "SELECT pid FROM pg_stat_activity WHERE application_name <> 'psql' AND backend_type = 'client backend'";
    last.run(&format!("SELECT pg_terminate_backend(pid) FROM ({own}) AS own;"));
    take_all(&url, &mut taken);
    std::thread::scope(|scope| {
        let reading: Vec<_> = (0..4).map(|_| scope.spawn(|| (0..4).for_each(|_| read()))).collect();
        drop(last);
        until("the engine has a connection again", || pay("again"));
        for reading in reading {
            reading.join().unwrap();
        }
    });
    drop(taken);
    for number in 0..5 {
        let payout = until("it is accepted", || pay(&format!("kept{number}")));
        until("it is paid", || {
            let answer = admin.get(&format!("/v1/payouts/{}", id(&payout)));
            (answer.status == 200 && answer.json()["status"] == "SUCCESS").then_some(())
        });
    }
    until("all are paid", || (provider.paid() == 6).then_some(()));
    provider.assert_paid_once();
    admin.books_hold();
}
