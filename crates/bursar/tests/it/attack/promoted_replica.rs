//! An asynchronous replica is promoted that lacks the last payouts: it is noticed at the reconnect, and nothing is paid
//! twice.

use std::time::Duration;

use super::provider::Provider;
use crate::api::actions::{id, order};
use crate::api::server::Server;
use crate::caller::until;
use crate::cluster::Cluster;

/// A second server that follows the first one, asynchronously.
fn replica_of(primary: &Cluster) -> Cluster {
    let replica = Cluster::start();
    replica.stop_server("fast").unwrap();
    std::fs::remove_dir_all(replica.data()).unwrap();
    let (socket, data) = (socket(primary), replica.data());
    replica.run("pg_basebackup", &["-h", &socket, "-U", "bursar", "-D", &data, "-R", "-c", "fast"]);
    replica.start_server();
    replica
}

/// The directory of a server's socket.
pub(super) fn socket(cluster: &Cluster) -> String {
    let url = cluster.url();
    url.split_whitespace().next().unwrap().trim_start_matches("host=").to_owned()
}

/// The result of a statement with one value.
fn sql(cluster: &Cluster, statement: &str) -> String {
    let (url, file) = (cluster.url(), format!("{}/result", socket(cluster)));
    cluster.run("psql", &["-d", &url, "-At", "-o", &file, "-c", statement]);
    std::fs::read_to_string(file).unwrap().trim().to_owned()
}

/// Whether the replica has everything that the primary has written.
fn has_all(replica: &Cluster, primary: &Cluster) -> bool {
    let end = sql(primary, "SELECT pg_current_wal_lsn()");
    sql(replica, &format!("SELECT pg_last_wal_replay_lsn() >= '{end}'")) == "t"
}

/// The replica gets nothing more.
fn disconnect(replica: &Cluster) {
    sql(replica, "ALTER SYSTEM SET primary_conninfo = ''");
    sql(replica, "SELECT pg_reload_conf()");
    until("the replica receives nothing", || {
        (sql(replica, "SELECT count(*) FROM pg_stat_wal_receiver") == "0").then_some(())
    });
}

#[test]
fn a_replica_without_the_last_payouts_takes_over() {
    let primary = Cluster::start();
    let replica = replica_of(&primary);
    // One name for both servers: the first that accepts writes is used.
    let url = format!(
        "host={},{} user=bursar dbname=postgres target_session_attrs=read-write connect_timeout=2",
        socket(&primary),
        socket(&replica)
    );
    let provider = Provider::start();
    let mut server = Server::on_postgres_with(&url, &provider.config("wallet", ""), &[]);
    let admin = server.admin();
    admin.merchant("m1", "1000000.00");
    let before = admin.pay("before", &order("m1", "wallet", "100.00")).is(201);
    admin.payout_at(id(&before), "SUCCESS");
    // The replica gets nothing any more; 50 payouts are paid meanwhile.
    until("the replica has caught up", || has_all(&replica, &primary).then_some(()));
    disconnect(&replica);
    for number in 0..50 {
        let payout = admin.pay(&format!("lost{number}"), &order("m1", "wallet", "100.00")).is(201);
        admin.payout_at(id(&payout), "SUCCESS");
    }
    assert_eq!(provider.paid(), 51);
    primary.crash();
    sql(&replica, "SELECT pg_promote()");
    until("the server writes again, and has noticed", || {
        let answer = admin.try_ask("GET", "/v1/restore", &[], b"")?;
        answer.text.contains("RECHECKING").then_some(())
    });
    let reason = admin.get("/v1/restore").is(200)["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("timeline"), "{reason}");
    for number in 0..50 {
        let key = format!("lost{number}");
        let payout = until("it is accepted", || {
            let answer = admin.pay(&key, &order("m1", "wallet", "100.00"));
            (answer.status == 201).then(|| answer.json())
        });
        admin.payout_at(id(&payout), "SUCCESS");
    }
    assert_eq!(provider.paid(), 51, "not one payment was made again");
    provider.assert_paid_once();
    // A restart on the same server begins no second recheck.
    let noticed = admin.get("/v1/restore").is(200)["restored_at"].clone();
    server.kill();
    std::thread::sleep(Duration::from_millis(200));
    server.start_on_postgres();
    assert_eq!(server.admin().get("/v1/restore").is(200)["restored_at"], noticed);
    server.admin().books_hold();
}
