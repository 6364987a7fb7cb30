//! `bursar serve`: start, stop and restart.

use std::thread;
use std::time::Duration;

use crate::bursar::bursar_with;
use crate::process::Process;
use crate::scratch::Scratch;

const KEY: &str = "authorization: Bearer operator";

struct House {
    scratch: Scratch,
    provider: Process,
}

impl House {
    fn new() -> Self {
        Self::with("calm", "")
    }

    /// With a provider of this profile, and extra configuration.
    fn with(profile: &str, more: &str) -> Self {
        let scratch = Scratch::new();
        let provider = Process::start(
            &["simulate-channel", "--listen", "127.0.0.1:0", "--profile", profile],
            &[],
        );
        let config = format!(
            "[channels.wallet]\nkind = \"http\"\nurl = \"http://{}\"\ncurrencies = [\"PKR\"]\n{more}",
            provider.address
        );
        std::fs::write(scratch.path().join("bursar.toml"), config).unwrap();
        Self { scratch, provider }
    }

    fn arguments(&self) -> [String; 5] {
        let path = |name: &str| self.scratch.path().join(name).display().to_string();
        [
            "--data".to_owned(),
            path("books"),
            "--config".to_owned(),
            path("bursar.toml"),
            "serve".to_owned(),
        ]
    }

    fn open(&self) -> Process {
        let [data, books, config, file, serve] = self.arguments();
        let arguments =
            [&*serve, "--init", "--listen", "127.0.0.1:0", &data, &books, &config, &file];
        Process::start(&arguments, &[("BURSAR_ADMIN_KEY", "operator")])
    }
}

/// A funded merchant with this many payouts.
fn pay_out(server: &Process, count: u32) {
    let post = |path: &str, key: &str, body: &str| {
        let key = format!("idempotency-key: {key}");
        let answer = server.ask("POST", path, &[KEY, &key], body);
        assert!(answer.status < 300, "{answer:?}");
    };
    post("/v1/merchants", "-", r#"{"id":"m1","name":"Shop"}"#);
    let payin = r#"{"merchant_id":"m1","provider":"easy","reference":"r","amount":"5000","currency":"PKR"}"#;
    post("/v1/payins", "-", payin);
    let payout = r#"{"merchant_id":"m1","beneficiary":{"name":"A","msisdn":"923001234567"},"amount":"10","currency":"PKR","channel":"wallet"}"#;
    for number in 0..count {
        post("/v1/payouts", &format!("p{number}"), payout);
    }
}

/// Polls until the condition holds.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..600 {
        if is_so() {
            return;
        }
        thread::sleep(Duration::from_millis(50));
    }
    assert!(is_so(), "{what}");
}

#[test]
fn a_stopped_process_drains_and_resumes_after_the_next_start() {
    let house = House::new();
    let server = house.open();
    pay_out(&server, 50);

    // Reports run beside the server; a second server is rejected.
    let [data, books, config, file, serve] = house.arguments();
    let verified = bursar_with(&["ledger", "verify", &data, &books], &[]).ok();
    assert!(verified.contains("ok: every balance"), "{verified}");
    let refused =
        bursar_with(&[&serve, "--listen", "127.0.0.1:0", &data, &books, &config, &file], &[]);
    assert!(refused.refused().contains("another process uses"));

    let stopped = server.stop("-TERM");
    assert!(stopped.success(), "{stopped}");
    let server = house.open();
    let count = |status: &str| {
        let answer =
            server.ask("GET", &format!("/v1/payouts?limit=500&status={status}"), &[KEY], "");
        answer.body["data"].as_array().unwrap().len()
    };
    until("all are paid", || count("SUCCESS") == 50);
    let paid = house.provider.ask("GET", "/_books", &[], "").body;
    assert_eq!(paid["payments"].as_array().unwrap().len(), 50);
    assert_eq!(server.ask("GET", "/readyz", &[], "").status, 200);
}

#[test]
fn serve_says_at_start_what_it_is() {
    let house = House::new();
    let [data, books, config, file, serve] = house.arguments();
    let arguments = [&serve, "--init", "--listen", "127.0.0.1:0", &data, &books, &config, &file];
    let start = |name: &str| {
        let path = house.scratch.path().join(name);
        let log = std::fs::File::create(&path).unwrap();
        let server = Process::try_start(&arguments, &[], log.into()).unwrap();
        server.kill();
        std::fs::read_to_string(path).unwrap()
    };
    let first = start("first.log");
    let version = format!("version=\"{}\"", env!("CARGO_PKG_VERSION"));
    let place = format!("books=SQLite in {books}");
    for words in [
        &version,
        &place,
        "engine=\"embedded\"",
        "channels=\"wallet (PKR)\"",
        "webhooks are signed",
        "new secret keys were written: back this file up",
        "books/secret-keys",
        "BURSAR_ADMIN_KEY is not set",
    ] {
        assert!(first.contains(words), "{words}: {first}");
    }
    let again = start("again.log");
    assert!(again.contains("webhooks are signed") && !again.contains("new secret keys"), "{again}");
}

#[test]
fn alerts_are_raised_published_and_cleared() {
    let clocks = "submit_timeout_s = 0.2\nquery_timeout_s = 0.2\nrequery_schedule_s = [0.1]\n[alerts]\nstuck_age_s = 0\n";
    let house = House::with("silent", clocks);
    let server = house.open();
    pay_out(&server, 30);
    let told = |kind: &str, subject: &str| {
        let events = server.ask("GET", "/v1/events?limit=500", &[KEY], "").body;
        let events = events["data"].as_array().unwrap().clone();
        events.iter().any(|event| event["type"] == kind && event["subject"] == subject)
    };
    until("the stuck payouts raise an alert", || told("alert.raised", "alert:stuck_age"));
    until("and about the channel", || told("alert.raised", "alert:unknown_rate:wallet"));
    let metrics = server.ask("GET", "/metrics", &[], "").body;
    assert!(metrics.as_str().unwrap().contains("bursar_alert{name=\"stuck_age\"} 1"), "{metrics}");

    house.provider.ask("POST", "/_profile", &[], r#"{"profile":"calm"}"#);
    let stuck = server.ask("GET", "/v1/payouts?status=STUCK&limit=500", &[KEY], "").body;
    for payout in stuck["data"].as_array().unwrap() {
        let id = payout["id"].as_str().unwrap();
        let body = format!(
            r#"{{"decision":"confirm_not_paid","evidence":"not in its books","expected_version":{}}}"#,
            payout["version"]
        );
        let key = format!("idempotency-key: {id}");
        let answer = server.ask("POST", &format!("/v1/payouts/{id}/resolve"), &[KEY, &key], &body);
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    until("it is over", || told("alert.cleared", "alert:stuck_age"));
    assert_eq!(server.ask("GET", "/v1/ledger/verify", &[KEY], "").body["ok"], true);
}

#[test]
fn an_admin_key_that_can_be_guessed_is_refused() {
    let house = House::new();
    let [data, books, config, file, serve] = house.arguments();
    for (listen, key, words) in [
        ("127.0.0.1:0", "abc", "BURSAR_ADMIN_KEY has fewer than 4 characters, and can be guessed"),
        ("0.0.0.0:0", "change-me", "BURSAR_ADMIN_KEY could be guessed: fewer than 16 characters"),
    ] {
        let arguments = [&*serve, "--listen", listen, &data, &books, &config, &file];
        let refused = bursar_with(&arguments, &[("BURSAR_ADMIN_KEY", key)]).refused();
        assert!(refused.contains(words) && refused.contains("Nothing was started"), "{refused}");
        assert!(!refused.contains(key), "the key is not shown: {refused}");
        assert!(!std::path::Path::new(&books).exists(), "no books were made");
    }
}

#[test]
fn a_configuration_that_cannot_be_used_is_refused_before_anything_is_started() {
    let house = House::new();
    let [data, books, config, file, serve] = house.arguments();
    let checked = bursar_with(&["check", &config, &file], &[]).ok();
    assert!(checked.contains("channel: wallet pays PKR from main, 64 at once"), "{checked}");
    for (text, words) in [
        ("[channels.wallet]\nkind = \"http\"\n", "channels.wallet.currencies"),
        ("[channels.wallet]\nkind = \"http\"\ncurrencies = [\"PKR\"]\n", "channels.wallet.url"),
        (
            "[channels.wallet]\nkind = \"http\"\nurl = \"ftp://x\"\ncurrencies = [\"PKR\"]\n",
            "channels.wallet.url",
        ),
        ("[channels.wallet]\nkind = \"sim\"\nprofile = \"kind\"\n", "channels.wallet.profile"),
        ("[channels.wallet]\nkind = \"sim\"\nsubmit_timeout_s = -1\n", "submit_timeout_s"),
        ("[channels.wallet]\nkind = \"sim\"\ncolour = \"red\"\n", "unknown field `colour`"),
        ("[review]\nfour_eyes_above = \"many\"\n", "four_eyes_above"),
    ] {
        std::fs::write(&file, text).unwrap();
        let run =
            bursar_with(&[&serve, "--listen", "127.0.0.1:0", &data, &books, &config, &file], &[]);
        let complaint = run.refused();
        assert!(
            complaint.contains(words) && complaint.contains("Nothing was started"),
            "{complaint}"
        );
        assert!(!std::path::Path::new(&books).exists(), "no books were made");
        let checked = bursar_with(&["check", &config, &file], &[]).refused();
        assert!(checked.contains(words), "{checked}");
    }
}

#[test]
fn a_channel_with_payouts_under_way_must_stay_configured() {
    let house = House::with("silent", "");
    let server = house.open();
    pay_out(&server, 1);
    server.kill();
    let [data, books, config, file, serve] = house.arguments();
    std::fs::write(&file, "").unwrap();
    let run = bursar_with(&[&serve, "--listen", "127.0.0.1:0", &data, &books, &config, &file], &[]);
    let complaint = run.refused();
    assert!(complaint.contains("under way through wallet"), "{complaint}");
}
