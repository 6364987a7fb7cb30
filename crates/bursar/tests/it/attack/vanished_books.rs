//! The database is removed, exchanged or missing: nothing more is sent, and no empty books are made in its place.

use std::path::Path;

use serde_json::json;

use super::provider::Provider;
use crate::api::actions::{id, order};
use crate::api::server::Server;
use crate::bursar::bursar;
use crate::caller::until;
use crate::ledger::{ledger, make, payins};
use crate::scratch::Scratch;

#[test]
fn the_database_is_removed_under_load() {
    let provider = Provider::start();
    let mut server = Server::with(&provider.config("wallet", ""), &[]);
    let (admin, data) = (server.admin(), server.data());
    admin.merchant("m1", "1000000.00");
    let first = admin.pay("first", &order("m1", "wallet", "100.00")).is(201);
    admin.payout_at(id(&first), "SUCCESS");
    // Payouts are on their way while the file is removed.
    let callers: Vec<_> = (0..4)
        .map(|caller| {
            let admin = admin.clone();
            std::thread::spawn(move || {
                let pay = |number: u32| {
                    let key = format!("k{caller}-{number}");
                    admin.pay(&key, &order("m1", "wallet", "100.00")).status == 201
                };
                (0..100_000).take_while(|number| pay(*number)).count()
            })
        })
        .collect();
    until("some are paid", || (provider.paid() > 20).then_some(()));
    std::fs::remove_dir_all(&data).unwrap();
    // What was on the wire arrives; from then on nothing is sent.
    std::thread::sleep(std::time::Duration::from_secs(1));
    let paid = provider.paid();
    for caller in callers {
        caller.join().unwrap();
    }
    let after = admin.pay("after", &order("m1", "wallet", "100.00"));
    assert_eq!(after.status, 503, "{}", after.text);
    let ready = admin.get("/readyz");
    assert_eq!(ready.status, 503);
    assert!(ready.text.contains("the books are not where they were"), "{}", ready.text);
    assert_eq!(provider.paid(), paid, "no payment without books");
    provider.assert_paid_once();
    server.kill();
    assert!(!Path::new(&data).join("bursar.sqlite").exists(), "no books were made");
    // Neither a plain start nor one that may make books takes this for a new place.
    let refused = server.start_in_vain();
    assert!(refused.contains("bursar init") && refused.contains("restore"), "{refused}");
    server.drop_argument("--init");
    let plain = server.start_in_vain();
    assert!(plain.contains("bursar init") && plain.contains("bursar restore begin"), "{plain}");
    let init = bursar(&["init", "--data", &data]).refused();
    assert!(init.contains("are gone") && init.contains("--abandon bk_"), "{init}");
    assert_eq!(provider.paid(), paid);
    // A person gives the old books up.
    let books = init.split("--abandon ").nth(1).unwrap().split('`').next().unwrap();
    bursar(&["init", "--data", &data, "--abandon", books]).ok();
}

#[test]
fn the_database_is_exchanged_for_another_file() {
    let provider = Provider::start();
    let server = Server::with(&provider.config("wallet", ""), &[]);
    let (admin, data) = (server.admin(), server.data());
    admin.merchant("m1", "1000.00");
    let file = Path::new(&data).join("bursar.sqlite");
    // An editor and `cp` of a backup tool do the same: another file under the same name.
    std::fs::copy(&file, file.with_extension("copy")).unwrap();
    std::fs::rename(file.with_extension("copy"), &file).unwrap();
    let answer = admin.pay("k", &order("m1", "wallet", "100.00"));
    assert_eq!(answer.status, 503, "{}", answer.text);
    assert_eq!(provider.paid(), 0);
    assert!(admin.get("/readyz").text.contains("another file is at"));
}

#[test]
fn no_command_makes_books_but_init() {
    let scratch = Scratch::new();
    let data = scratch.path().join("books").display().to_string();
    let event = json!({"event": "VAT_REMITTANCE", "reference": "v", "vars": {}}).to_string();
    for command in [
        &["serve", "--listen", "127.0.0.1:0"][..],
        &["migrate"],
        &["ledger", "post", &event],
        &["ledger", "verify"],
        &["secret-keys", "rotate"],
        &["backup", "elsewhere"],
        &["restore", "begin"],
    ] {
        let refused = bursar(&[command, &["--data", &data]].concat()).refused();
        assert!(refused.contains("there are no books"), "{command:?}: {refused}");
        assert!(refused.contains("bursar init"), "{command:?}: {refused}");
        assert!(!Path::new(&data).exists(), "{command:?} made something");
    }
    assert!(bursar(&["init", "--data", &data]).ok().contains("made the books bk_"));
    let again = bursar(&["init", "--data", &data]).refused();
    assert!(again.contains("already") && again.contains("stay as they are"), "{again}");
    bursar(&["ledger", "verify", "--data", &data]).ok();
}

#[test]
fn books_of_a_test_clock_are_served_with_a_real_one() {
    let mut server = Server::with("", &["--test-clock"]);
    server.admin().merchant("m1", "0.00");
    server.kill();
    server.drop_argument("--test-clock");
    let refused = server.start_in_vain();
    assert!(refused.contains("were made under a test clock"), "{refused}");
    // And the other way round.
    let mut server = Server::new();
    server.admin().merchant("m1", "0.00");
    server.kill();
    server.add_argument("--test-clock");
    let refused = server.start_in_vain();
    assert!(refused.contains("were made under a real clock"), "{refused}");
    // Books that only commands have written have the clock of the machine.
    let scratch = Scratch::new();
    let data = scratch.path().join("books").display().to_string();
    make(&data);
    ledger(&["import", &scratch.file("events.ndjson", &payins(1))], &data).ok();
    let serve = ["serve", "--test-clock", "--listen", "127.0.0.1:0", "--data", &data];
    assert!(bursar(&serve).refused().contains("were made under a real clock"));
}
