//! Accepted and rejected configurations.

use std::time::Duration;

use bursar_core::rules::Rules;
use bursar_server::HttpLimits;

use super::{Config, DEFAULTS, merge, override_with, parse};
use crate::failure::Failure;
use crate::rulebook::load_rulebook;

fn read(file: &str, variables: &[(&str, &str)]) -> Result<Config, String> {
    let mut tree = parse(DEFAULTS, "defaults").map_err(|failure| failure.to_string())?;
    merge(&mut tree, parse(file, "test.toml").map_err(|failure| failure.to_string())?);
    for (name, value) in variables {
        override_with(&mut tree, name, value).map_err(|failure| failure.to_string())?;
    }
    tree.try_into().map_err(|error: toml::de::Error| error.message().to_owned())
}

#[test]
fn the_defaults_are_five_markets() {
    let markets = read("", &[]).unwrap().markets().unwrap();
    let names: Vec<_> =
        markets.iter().map(|market| format!("{}/{}", market.name, market.currency)).collect();
    assert_eq!(names, ["BD/BDT", "EG/EGP", "IQ/IQD", "NP/NPR", "PK/PKR"]);
}

#[test]
fn a_file_changes_only_what_it_names() {
    let config = read("[fees.PK]\npayin_basis_points = 100\n", &[]).unwrap();
    assert_eq!(config.fees["PK"].payin_basis_points, 100);
    assert_eq!(config.fees["PK"].vat_basis_points, 1_600);
}

#[test]
fn variables_override_the_file_and_leave_others_alone() {
    let variables = [
        ("BURSAR_DEFAULT_BANK_ID", "hbl"),
        ("BURSAR_FEES__PK__PAYIN_BASIS_POINTS", "7"),
        ("BURSAR_SHARED", "../shared"),
    ];
    let config = read("default_bank_id = \"ubl\"\n", &variables).unwrap();
    assert_eq!(config.default_bank_id, "hbl");
    assert_eq!(config.fees["PK"].payin_basis_points, 7);
}

#[test]
fn unknown_keys_and_wrong_amounts_are_errors() {
    assert!(read("bank = \"x\"\n", &[]).unwrap_err().contains("unknown field `bank`"));
    assert!(read("[ledger]\nchrt = \"x\"\n", &[]).unwrap_err().contains("unknown field `chrt`"));
    assert!(
        read("", &[("BURSAR_LEDGER__CHRT", "x")]).unwrap_err().contains("unknown field `chrt`")
    );
    assert!(
        read("", &[("BURSAR_FEES__PK__VAT_BASIS_POINTS", "much")])
            .unwrap_err()
            .contains("invalid type")
    );
    assert!(read("[fees\n", &[]).unwrap_err().contains("test.toml is not TOML"));
    let config = read("[fees.PK]\npayin_flat = \"0.001\"\n", &[]).unwrap();
    assert!(
        read("", &[("BURSAR_LEDGER__CHART__X", "1")]).unwrap_err().contains("names a key below")
    );
    for wrong in ["payin_flat = \"-5.00\"", "vat_basis_points = 20000"] {
        let config = read(&format!("[fees.PK]\n{wrong}\n"), &[]).unwrap();
        assert!(config.markets().is_err(), "{wrong}");
    }
    assert!(read("default_bank_id = \"a:b\"\n", &[]).unwrap().default_bank_id().is_err());
    let failure = config.markets().unwrap_err().to_string();
    assert!(
        failure.contains("fees.PK.payin_flat: `0.001` has 3 decimals, but PKR has 2"),
        "{failure}"
    );
}

#[test]
fn the_limits_of_connections_have_defaults_and_bounds() {
    let limits = read("", &[]).unwrap().http_limits().unwrap();
    let usual = HttpLimits::default();
    let timeouts = |limits: &HttpLimits| {
        let HttpLimits { header_timeout, body_timeout, body_grace, idle_timeout, .. } = *limits;
        [header_timeout, body_timeout, body_grace, idle_timeout, limits.drain_timeout]
    };
    assert_eq!(timeouts(&limits), timeouts(&usual));
    assert_eq!(limits.body_bytes_per_s_min, usual.body_bytes_per_s_min);
    assert_eq!(limits.wrong_keys_per_minute, usual.wrong_keys_per_minute);
    assert!(limits.connections_per_address < limits.connections_max);
    let shorter = read("", &[("BURSAR_HTTP__HEADER_TIMEOUT_S", "0.5")]).unwrap();
    let expected = Duration::from_millis(500);
    assert_eq!(shorter.http_limits().unwrap().header_timeout, expected);
    for wrong in ["header_timeout_s = 0", "idle_timeout_s = -1", "body_bytes_per_s_min = 0"] {
        let failure = read(&format!("[http]\n{wrong}\n"), &[]).unwrap().http_limits();
        assert!(failure.is_err(), "{wrong}");
    }
    let long = read("[http]\ndrain_timeout_s = 100\n", &[]).unwrap().http_limits();
    let failure = long.unwrap_err().to_string();
    assert!(failure.contains("http.drain_timeout_s must be 0.01 to 15 seconds"), "{failure}");
}

/// What a process does with a configuration before it starts anything.
fn check(config: &Config) -> Result<Rules, Failure> {
    let rules = config.rules(load_rulebook(None)?)?;
    config.connections(&rules)?;
    config.callbacks()?;
    config.http_limits()?;
    config.alert_limits()?;
    Ok(rules)
}

fn refused(file: &str) -> String {
    check(&read(file, &[]).unwrap()).unwrap_err().to_string()
}

fn warnings(file: &str) -> Vec<String> {
    let config = read(file, &[]).unwrap();
    config.warnings(&check(&config).unwrap())
}

fn wallet(more: &str) -> String {
    format!(
        "[channels.wallet]\nkind = \"http\"\nurl = \"https://pay.example\"\ncurrencies = [\"PKR\"]\n{more}\n"
    )
}

#[test]
fn values_that_cannot_work_are_refused_with_their_key_and_bounds() {
    let channel = |line: &str, why: &str| (wallet(line), format!("channels.wallet.{why}"));
    let seconds = |key: &str, most: u32| format!("{key}: give 0.01 to {most} seconds");
    let cases = [
        channel("submit_timeout_s = 0", &seconds("submit_timeout_s", 3_600)),
        channel("submit_timeout_s = 86400", &seconds("submit_timeout_s", 3_600)),
        channel("query_timeout_s = 0", &seconds("query_timeout_s", 3_600)),
        channel("first_retry_s = 0", &seconds("first_retry_s", 86_400)),
        channel("last_retry_s = nan", &seconds("last_retry_s", 86_400)),
        channel("poll_interval_s = 0", &seconds("poll_interval_s", 86_400)),
        channel("poll_deadline_s = 1e9", &seconds("poll_deadline_s", 2_592_000)),
        channel("requery_schedule_s = [5, 0]", &seconds("requery_schedule_s", 86_400)),
        channel("requery_schedule_s = []", "requery_schedule_s: give 1 to 100 pauses"),
        channel("visibility_window_s = -1", "visibility_window_s: give 0 to 2592000 seconds"),
        channel("tries_max = 0", "tries_max: give 1 to 100"),
        channel("attempts_max = 21", "attempts_max: give 1 to 20"),
        channel("concurrency = 0", "concurrency: give 1 to 10000"),
        channel(
            "first_retry_s = 9\nlast_retry_s = 3",
            "last_retry_s: it is the longest pause, and shorter than first_retry_s",
        ),
        (
            "[channels.wallet]\nkind = \"sim\"\ncurrencies = []\n".to_owned(),
            "channels.wallet.currencies: name at least one".to_owned(),
        ),
        (
            "[fees.XX]\ncurrency = \"PKR\"\npayin_flat = \"0\"\npayin_basis_points = 0\npayout_flat = \"0\"\npayout_basis_points = 0\nvat_basis_points = 0\n".to_owned(),
            "fees.PK and fees.XX both have PKR".to_owned(),
        ),
        ("[webhooks]\nretry_schedule_s = [60, 0]\n".to_owned(), "webhooks.retry_schedule_s has pauses of 1 to 2592000 seconds".to_owned()),
        ("[webhooks]\ntimeout_s = 0\n".to_owned(), "webhooks.timeout_s is 1 to 300".to_owned()),
        ("[alerts]\nstuck_age_s = 9999999\n".to_owned(), "alerts.stuck_age_s is 9999999, and must be 0 to 2592000".to_owned()),
        ("[alerts]\nunknown_percent = 100\n".to_owned(), "alerts.unknown_percent is 100, and must be 0 to 99".to_owned()),
        (
            "[[approvals]]\naction = \"ledger.post\"\nabove = \"5\"\n".to_owned(),
            "[[approvals]] has `above` for ledger.post, which has no amount".to_owned(),
        ),
        (
            "[[approvals]]\naction = \"payout.create\"\nbreak_glass = true\n".to_owned(),
            "[[approvals]] allows break_glass for payout.create, and one person".to_owned(),
        ),
        ("[restore]\nrecheck_days = 0\n".to_owned(), "restore.recheck_days is 0, and must be 1 to 365".to_owned()),
    ];
    for (file, why) in cases {
        let failure = refused(&file);
        assert!(failure.contains(&why) && failure.contains("Nothing was started"), "{failure}");
    }
    assert!(check(&read(&wallet("first_retry_s = 200"), &[]).unwrap()).is_ok());
}

#[test]
fn secrets_that_can_be_guessed_or_overheard_are_refused() {
    let short = [
        (wallet("callback_secret = \"s\""), "channels.wallet.callback_secret"),
        (wallet("auth = { bearer = \"t0k\" }"), "channels.wallet.auth.bearer"),
        (
            wallet("auth = { hmac = { key_id = \"k\", secret = \"\" } }"),
            "channels.wallet.auth.hmac.secret",
        ),
        (
            "[providers.easypay]\ncallback_secret = \"123\"\n".to_owned(),
            "providers.easypay.callback_secret",
        ),
    ];
    for (file, key) in short {
        let failure = refused(&file);
        let why = format!("{key} has fewer than 4 characters, and can be guessed at once");
        assert!(failure.contains(&why), "{failure}");
        assert!(!failure.contains("t0k") && !failure.contains("123"), "{failure}");
    }
    let bearer = |url: &str| {
        wallet("auth = { bearer = \"a-token-that-is-long\" }").replace("https://pay.example", url)
    };
    let failure = refused(&bearer("http://10.0.0.7:8080"));
    let why =
        "channels.wallet.auth.bearer: the token would be sent to another machine in clear text";
    assert!(failure.contains(why), "{failure}");
    for url in
        ["https://pay.example", "http://127.0.0.1:7001", "http://[::1]:1", "http://localhost"]
    {
        assert!(warnings(&bearer(url)).is_empty(), "{url}");
    }
}

/// On one machine they are warned of.
#[test]
fn secrets_that_could_be_guessed_are_refused_where_others_reach_the_api() {
    let config = read(&wallet("callback_secret = \"hush-hush\""), &[]).unwrap();
    assert!(config.check_secrets("127.0.0.1:8080".parse().unwrap()).is_ok());
    for listen in ["0.0.0.0:8080", "10.0.0.5:80", "[::]:8080"] {
        let failure = config.check_secrets(listen.parse().unwrap()).unwrap_err().to_string();
        let why = "channels.wallet.callback_secret could be guessed: fewer than 16 characters";
        assert!(failure.contains(why) && failure.contains(listen), "{failure}");
    }
    let [warning] = &warnings(&wallet("callback_secret = \"hush-hush\""))[..] else { panic!() };
    assert!(warning.starts_with("channels.wallet.callback_secret has fewer than 16"), "{warning}");
    let long = read(&wallet("callback_secret = \"hush-hush-hush-hush\""), &[]).unwrap();
    assert!(long.check_secrets("0.0.0.0:80".parse().unwrap()).is_ok());
}

#[test]
fn values_that_are_probably_a_mistake_are_warned_of() {
    let final_after = |more: &str| wallet(&format!("not_found_is_final = true\n{more}"));
    let cases = [
        (
            final_after("visibility_window_s = 3600\npoll_deadline_s = 7200"),
            "channels.wallet: not_found_is_final proves nothing, because requery_schedule_s ends",
        ),
        (
            final_after("requery_schedule_s = [1, 1]"),
            "Give requery_schedule_s longer or more pauses",
        ),
        (
            wallet("poll_deadline_s = 30\nvisibility_window_s = 60"),
            "channels.wallet: poll_deadline_s is 30 and visibility_window_s is 60: payouts become STUCK before the channel promises to show them",
        ),
        (
            wallet("").replace("PKR", "USD"),
            "channels.wallet: no market has USD, so that its payouts cost no fee",
        ),
        (
            wallet("").replace("https", "http"),
            "channels.wallet.url: payouts, with names and numbers of beneficiaries, go to another machine in clear text",
        ),
        (
            "[webhooks]\nretry_schedule_s = []\n".to_owned(),
            "webhooks.retry_schedule_s is empty: a delivery that fails once is a dead letter",
        ),
        (
            "[[approvals]]\naction = \"ledger.post\"\nquorum = 1\n".to_owned(),
            "[[approvals]]: ledger.post takes one person",
        ),
        (
            "[[approvals]]\naction = \"payout.create\"\nabove = \"1000000000\"\n".to_owned(),
            "payout.create: the amount above which two people are needed is not below limits.largest",
        ),
        (
            "[http]\nconnections_max = 5000000\n".to_owned(),
            "http.connections_max is 5000000, and the file limit of this process (ulimit -n) allows",
        ),
    ];
    for (file, expected) in cases {
        let warnings = warnings(&file);
        let [warning] = warnings.as_slice() else { panic!("{file}: {warnings:?}") };
        assert!(warning.contains(expected), "{warning}");
    }
    for good in [String::new(), wallet(""), final_after("visibility_window_s = 60")] {
        assert!(warnings(&good).is_empty(), "{good}");
    }
}
