//! An asynchronous replica is promoted that lacks the last payouts: it is noticed at the reconnect, and nothing is paid
//! twice.

use std::time::Duration;

use super::provider::Provider;
use crate::api::actions::{id, order};
use crate::api::server::Server;
use crate::caller::until;
use crate::cluster::Cluster;

#[test]
fn a_replica_without_the_last_payouts_takes_over() {
    let primary = Cluster::start();
    let replica = primary.replica();
    // One name for both servers: the first that accepts writes is used.
    let url = format!(
        "host={},{} user=bursar dbname=postgres target_session_attrs=read-write connect_timeout=2",
        primary.socket(),
        replica.socket()
    );
    let provider = Provider::start();
    let mut server = Server::on_postgres_with(&url, &provider.config("wallet", ""), &[]);
    let admin = server.admin();
    admin.merchant("m1", "1000000.00");
    let before = admin.pay("before", &order("m1", "wallet", "100.00")).is(201);
    admin.payout_at(id(&before), "SUCCESS");
    // The replica gets nothing any more; 50 payouts are paid meanwhile.
    until("the replica has caught up", || replica.has_all_of(&primary).then_some(()));
    replica.disconnect();
    for number in 0..50 {
        let payout = admin.pay(&format!("lost{number}"), &order("m1", "wallet", "100.00")).is(201);
        admin.payout_at(id(&payout), "SUCCESS");
    }
    assert_eq!(provider.paid(), 51);
    primary.crash();
    replica.sql("SELECT pg_promote()");
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
