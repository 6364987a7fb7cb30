//! Books are put back to an earlier state while the provider keeps what was paid since: nothing is paid twice, and nothing
//! that was paid is released.

use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::promoted_replica::socket;
use super::provider::Provider;
use crate::api::actions::{id, order};
use crate::api::server::Server;
use crate::bursar::bursar;
use crate::caller::{Caller, until};
use crate::cluster::Cluster;

/// Payouts that are made after the backup.
const LOST: usize = 500;
const AMOUNT: &str = "100.00";

/// Payouts that the backup knows and that are not sent yet.
struct Waiting {
    /// Paid after the backup was made.
    paid: Vec<String>,
    /// Refused after the backup was made, and paid by a second attempt.
    second: String,
    /// Never sent.
    unsent: String,
}

fn scheduled(admin: &Caller, key: &str, after: SignedDuration) -> String {
    let mut body = order("m1", "wallet", AMOUNT);
    body["scheduled_at"] = json!((Timestamp::now() + after).to_string());
    id(&admin.pay(key, &body).is(201)).to_owned()
}

/// Before the backup: one payout that is paid, and those that wait. After it, `copy` is made, they are due, and many more
/// are paid.
fn pay(admin: &Caller, provider: &Provider, copy: impl FnOnce()) -> Waiting {
    admin.merchant("m1", "10000000.00");
    let before = admin.pay("before", &order("m1", "wallet", AMOUNT)).is(201);
    admin.payout_at(id(&before), "SUCCESS");
    let soon = SignedDuration::from_secs(5);
    let paid: Vec<String> =
        (0..3).map(|number| scheduled(admin, &format!("soon{number}"), soon)).collect();
    let unsent = scheduled(admin, "late", SignedDuration::from_hours(1));
    let second = scheduled(admin, "second", SignedDuration::from_secs(10));
    copy();
    assert!(provider.paid() == 1, "the copy is made before they are due");
    for payout in &paid {
        admin.payout_at(payout, "SUCCESS");
    }
    provider.refuse(1);
    admin.payout_at(&second, "SUCCESS");
    let lost: Vec<Value> = (0..LOST)
        .map(|number| admin.pay(&format!("lost{number}"), &order("m1", "wallet", AMOUNT)).is(201))
        .collect();
    for payout in &lost {
        admin.payout_at(id(payout), "SUCCESS");
    }
    assert_eq!(provider.paid(), LOST + 5);
    provider.assert_paid_once();
    Waiting { paid, second, unsent }
}

fn status(admin: &Caller) -> String {
    let restore = admin.get("/v1/restore").is(200);
    restore["status"].as_str().unwrap().to_owned()
}

/// After the restore: nothing that was paid is cancelled, every key is repeated, and the provider is asked about all of it.
fn assert_nothing_is_paid_twice(admin: &Caller, provider: &Provider, waiting: &Waiting) {
    assert_eq!(status(admin), "RECHECKING", "it was noticed without being told");
    let paid_before = provider.paid();
    for payout in waiting.paid.iter().chain([&waiting.second]) {
        let path = format!("/v1/payouts/{payout}/cancel");
        let answer = admin.move_money(&format!("cancel-{payout}"), &path, &json!({}));
        // The recheck may have found the payment already.
        let code = answer.json()["code"].as_str().unwrap_or_default().to_owned();
        assert_eq!(answer.status, 409, "{code}: what was paid is not released");
        assert!(["rechecking", "not_cancellable"].contains(&code.as_str()), "{code}");
    }
    for payout in waiting.paid.iter().chain([&waiting.second]) {
        let found = admin.payout_at(payout, "SUCCESS");
        assert_eq!(found["final"], true);
    }
    let second = admin.explain(&waiting.second);
    assert_eq!(second["attempts"].as_array().unwrap().len(), 2, "{second}");
    let repeated: Vec<Value> = (0..LOST)
        .map(|number| admin.pay(&format!("lost{number}"), &order("m1", "wallet", AMOUNT)).is(201))
        .collect();
    for payout in &repeated {
        admin.payout_at(id(payout), "SUCCESS");
    }
    assert_eq!(provider.paid(), paid_before, "not one payment was made after the restore");
    provider.assert_paid_once();
}

/// Two people end the recheck; then a new payout is sent.
fn assert_everything_goes_on(admin: &Caller, provider: &Provider, waiting: &Waiting) {
    // The channel does not know a new payout, which proves nothing: it waits.
    let new = admin.pay("new", &order("m1", "wallet", AMOUNT)).is(201);
    until("the new payout waits", || {
        (admin.payout(id(&new))["reason"] == "restored").then_some(())
    });
    let paid = provider.paid();
    let [first, second] =
        [("ops", "operator"), ("boss", "approver")].map(|(name, role)| admin.key(name, role, None));
    assert_eq!(first.post("/v1/restore/end", &json!({})).is(200)["status"], "END_PROPOSED");
    first.post("/v1/restore/end", &json!({})).refused(409, "second_person_needed");
    assert_eq!(second.post("/v1/restore/end", &json!({})).is(200)["status"], "ENDED");
    admin.payout_at(id(&new), "SUCCESS");
    assert_eq!(provider.paid(), paid + 1);
    let cancel = format!("/v1/payouts/{}/cancel", waiting.unsent);
    admin.move_money("cancel-late", &cancel, &json!({})).is(200);
    provider.assert_paid_once();
    admin.books_hold();
    // The money: one payment for each payout that the books call paid.
    let page = admin.get("/v1/payouts?status=SUCCESS&limit=500").is(200);
    assert!(page["data"].as_array().unwrap().len() <= provider.paid());
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
    }
}

#[test]
fn a_sqlite_backup_is_put_back_and_all_keys_are_repeated() {
    let provider = Provider::start();
    let mut server = Server::with(&provider.config("wallet", ""), &[]);
    let (data, scratch) = (server.data(), crate::scratch::Scratch::new());
    let backup = scratch.path().join("backup");
    let waiting = pay(&server.admin(), &provider, || {
        let made = bursar(&["backup", backup.to_str().unwrap(), "--data", &data]).ok();
        assert!(made.contains("copied the books up to commit"), "{made}");
    });
    let cursor = server.admin().get("/v1/events?limit=500").is(200)["next_cursor"].clone();
    server.kill();
    std::fs::remove_dir_all(&data).unwrap();
    copy(&backup, Path::new(&data));
    server.start();
    let admin = server.admin();
    assert_nothing_is_paid_twice(&admin, &provider, &waiting);
    // A reader of the feed has seen events that are lost now.
    let after = |cursor: &str| admin.get(&format!("/v1/events?limit=500&after={cursor}"));
    let gone = after(cursor.as_str().unwrap());
    assert_eq!((gone.status, &gone.json()["code"]), (410, &json!("cursor_gone")));
    let detail = gone.json()["detail"].as_str().unwrap().to_owned();
    let point = detail.rsplit("after=").next().unwrap().to_owned();
    let page = after(&point).is(200);
    assert!(page["data"].as_array().unwrap().iter().all(|event| event["epoch"].is_i64()));
    assert_everything_goes_on(&admin, &provider, &waiting);
}

#[test]
fn a_postgres_backup_is_put_back_and_all_keys_are_repeated() {
    let cluster = Cluster::start();
    let provider = Provider::start();
    let mut server = Server::on_postgres_with(&cluster.url(), &provider.config("wallet", ""), &[]);
    let backup = format!("{}-backup", cluster.data());
    let socket = socket(&cluster);
    let waiting = pay(&server.admin(), &provider, || {
        cluster.run("pg_basebackup", &["-h", &socket, "-U", "bursar", "-D", &backup, "-c", "fast"]);
    });
    server.kill();
    cluster.stop_server("fast").unwrap();
    std::fs::remove_dir_all(cluster.data()).unwrap();
    std::fs::rename(&backup, cluster.data()).unwrap();
    cluster.start_server();
    server.start_on_postgres();
    let admin = server.admin();
    assert_nothing_is_paid_twice(&admin, &provider, &waiting);
    assert_everything_goes_on(&admin, &provider, &waiting);
}

/// The provider's report proves what the channel cannot: it is loaded by two people, and new payouts go out at once.
#[test]
fn a_report_of_the_provider_ends_the_wait() {
    let provider = Provider::start();
    // The window is part of what a report must cover.
    let mut server = Server::with(&provider.config("wallet", "visibility_window_s = 1"), &[]);
    let scratch = crate::scratch::Scratch::new();
    let (data, backup) = (server.data(), scratch.path().join("backup"));
    let admin = server.admin();
    admin.merchant("m1", "10000000.00");
    bursar(&["backup", backup.to_str().unwrap(), "--data", &data]).ok();
    let from = Timestamp::now() - SignedDuration::from_secs(60);
    let lost = admin.pay("lost", &order("m1", "wallet", AMOUNT)).is(201);
    admin.payout_at(id(&lost), "SUCCESS");
    server.kill();
    std::fs::remove_dir_all(&data).unwrap();
    copy(&backup, Path::new(&data));
    // Told, and not only noticed.
    let begun = bursar(&["restore", "begin", "--data", &data, "--reason", "disk failure"]).ok();
    assert!(begun.contains("recheck mode has begun"), "{begun}");
    server.start();
    let admin = server.admin();
    assert_eq!(admin.get("/v1/restore").is(200)["reason"], "disk failure");
    let new = admin.pay("new", &order("m1", "wallet", AMOUNT)).is(201);
    until("the new payout waits", || {
        (admin.payout(id(&new))["reason"] == "restored").then_some(())
    });
    // The report must cover the time until the channel has shown what was sent before the restore: leases, and its window.
    let restored_at: Timestamp =
        admin.get("/v1/restore").is(200)["restored_at"].as_str().unwrap().parse().unwrap();
    let to = restored_at + SignedDuration::from_secs(35);
    while Timestamp::now() < to {
        std::thread::sleep(std::time::Duration::from_secs(1));
    }
    let file = scratch.file("report.csv", &provider.report(AMOUNT));
    let url = format!("http://{}", server.address());
    let load = |caller: &Caller| {
        let (from, to, key) = (from.to_string(), to.to_string(), caller.key_text());
        let words = ["restore", "report", "wallet", &file, "--from", &from, "--to", &to];
        bursar(&[&words[..], &["--url", &url, "--key", &key]].concat()).ok()
    };
    let [first, second] =
        [("ops", "operator"), ("boss", "approver")].map(|(name, role)| admin.key(name, role, None));
    assert!(load(&first).contains("REPORT_PROPOSED"));
    assert!(load(&second).contains("REPORTED"));
    let state = admin.get("/v1/restore").is(200);
    let wallet = state["channels"].as_array().unwrap().iter().find(|it| it["channel"] == "wallet");
    assert_eq!(wallet.unwrap()["report"]["proves_absence"], true, "{state}");
    admin.payout_at(id(&new), "SUCCESS");
    // The lost request is repeated: the report lists it as paid.
    let repeated = admin.pay("lost", &order("m1", "wallet", AMOUNT)).is(201);
    let paid = admin.payout_at(id(&repeated), "SUCCESS");
    assert_eq!(paid["reference"], lost["reference"], "the same request has the same reference");
    assert_eq!(provider.paid(), 2);
    provider.assert_paid_once();
    admin.books_hold();
}
