//! Commands that need no server: their output and their errors.

use bursar_connect::webhook::{SigningSecret, sign};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::bursar::{bursar, bursar_with};
use crate::scratch::Scratch;

const CHART: &str = include_str!("../../../bursar-core/rulebook/chart.csv");
const SCRIPT: &str = "vars {\n  monetary $amount\n}\nsend $amount (\n  source = @alice\n  destination = @bob\n)\nset_tx_meta(\"why\", \"rent\")\n";

#[test]
fn help_names_every_command() {
    insta::assert_snapshot!(bursar(&["--help"]).ok());
}

#[test]
fn check_prints_drift_zero() {
    let output = bursar(&["check"]).ok();
    assert_eq!(output.lines().last(), Some("drift=0"));
    insta::assert_snapshot!(output);
}

#[test]
fn the_printed_defaults_are_a_configuration() {
    let scratch = Scratch::new();
    let file = scratch.file("bursar.toml", &bursar(&["check", "--defaults"]).ok());
    assert!(bursar(&["check", "--config", &file]).ok().ends_with("drift=0\n"));
}

#[test]
fn check_takes_the_finance_teams_chart() {
    let scratch = Scratch::new();
    let renamed = scratch.file("chart.csv", &CHART.replace("assets:bank:", "cash:at:bank:"));
    assert!(bursar(&["check", "--chart", &renamed]).ok().contains("19 codes from"));
    assert!(
        bursar_with(&["check"], &[("BURSAR_LEDGER__CHART", &renamed)])
            .ok()
            .contains("19 codes from")
    );
}

#[test]
fn a_chart_that_does_not_fit_is_refused_with_every_drift() {
    let scratch = Scratch::new();
    let folder = scratch.path().display().to_string();
    let missing = scratch.file("missing.csv", &CHART.replace("4090,", "4091,"));
    let turned = scratch.file(
        "turned.csv",
        &CHART.replace(
            "3000,Capital and retained earnings,equity,credit",
            "3000,Capital,equity,debit",
        ),
    );
    let other = scratch.file("other.csv", "a,b\n1,2\n");
    let answers: Vec<String> =
        [missing.as_str(), &turned, &other, &format!("{folder}/nowhere.csv")]
            .iter()
            .map(|file| bursar(&["check", "--chart", file]).refused().replace(&folder, "[folder]"))
            .collect();
    insta::assert_snapshot!(answers.join("\n"));
}

#[test]
fn a_wrong_configuration_is_refused() {
    let scratch = Scratch::new();
    let folder = scratch.path().display().to_string();
    let unknown = scratch.file("unknown.toml", "[ledger]\nchrat = \"x\"\n");
    let broken = scratch.file("broken.toml", "[ledger\n");
    let precise = scratch.file("precise.toml", "[fees.PK]\npayout_flat = \"1.005\"\n");
    let answers: Vec<String> =
        [unknown.as_str(), &broken, &precise, &format!("{folder}/nowhere.toml")]
            .iter()
            .map(|file| bursar(&["check", "--config", file]).refused().replace(&folder, "[folder]"))
            .collect();
    insta::assert_snapshot!(answers.join("\n"));
}

#[test]
fn a_program_runs_on_files() {
    let scratch = Scratch::new();
    let script = scratch.file("rent.num", SCRIPT);
    let vars = scratch.file("vars.json", r#"{"amount":"USD/2 1050"}"#);
    let balances =
        scratch.file("balances.json", r#"[{"account":"alice","asset":"USD/2","amount":"2000"}]"#);
    let arguments = ["numscript", "run", &script, "--vars", &vars, "--balances", &balances];
    insta::assert_snapshot!(bursar(&arguments).ok());
    let map = scratch.file("map.json", r#"{"alice":{"USD/2":2000}}"#);
    let with_map = ["numscript", "run", &script, "--vars", &vars, "--balances", &map];
    assert_eq!(bursar(&with_map).ok(), bursar(&arguments).ok());
    let json: Value =
        serde_json::from_str(&bursar(&[&arguments[..], &["--json"]].concat()).ok()).unwrap();
    assert_eq!(
        json,
        json!({
            "postings": [{"source": "alice", "destination": "bob", "asset": "USD/2", "amount": "1050"}],
            "txMetadata": {"why": "rent"},
            "accountsMetadata": {},
        })
    );
}

#[test]
fn a_program_that_fails_says_where_and_why() {
    let scratch = Scratch::new();
    let folder = scratch.path().display().to_string();
    let script = scratch.file("rent.num", SCRIPT);
    let typo = scratch.file("typo.num", "send [USD/2 10] (\n  sorce = @a\n  destination = @b\n)\n");
    let vars = scratch.file("vars.json", r#"{"amount":"USD/2 1050"}"#);
    let wrong = scratch.file("wrong.json", r#"{"amount":"ten dollars"}"#);
    let broken = scratch.file("broken.json", "{");
    let answers: Vec<String> = [
        vec!["numscript", "run", &script],
        vec!["numscript", "run", &script, "--vars", &vars],
        vec!["numscript", "run", &script, "--vars", &wrong],
        vec!["numscript", "run", &script, "--vars", &broken],
        vec!["numscript", "run", &script, "--vars", &vars, "--balances", &vars],
        vec!["numscript", "run", &typo],
        vec!["numscript", "run", "nowhere.num"],
        vec!["numscript", "run", &script, "--feature", "magic"],
        vec!["numscript", "check", &typo],
    ]
    .iter()
    .map(|arguments| bursar(arguments).refused().replace(&folder, "[folder]"))
    .collect();
    insta::assert_snapshot!(answers.join("\n----\n"));
}

#[test]
fn cases_are_answered_line_by_line() {
    let scratch = Scratch::new();
    let good = json!({"id": "a", "script": "send [USD/2 1] (source = @world destination = @b)"});
    let bad = json!({"id": "b", "script": "send", "featureFlags": ["experimental-oneof"]});
    let file = scratch.file("cases.jsonl", &format!("{good}\n\n{bad}\n"));
    let output = bursar(&["numscript", "run", "--cases", &file]).ok();
    let lines: Vec<Value> =
        output.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["postings"][0]["amount"], "1");
    assert_eq!((&lines[1]["id"], &lines[1]["error"]["kind"]), (&json!("b"), &json!("Parse")));
    assert_eq!(lines.len(), 2);

    let odd = json!({"id": 7, "script": "", "balances": [{"account": "a", "asset": "USD", "amount": "1.5"}]});
    let unknown = json!({"id": "u", "script": "", "featureFlags": ["magic"], "vars": null});
    let file = scratch.file("broken.jsonl", &format!("{odd}\n{{\"id\":\n{unknown}\n{good}\n"));
    let run = bursar(&["numscript", "run", "--cases", &file]);
    let lines: Vec<Value> =
        run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<&Value> = lines.iter().map(|line| &line["error"]["kind"]).collect();
    assert_eq!(
        kinds,
        [&json!("BadCase"), &json!("BadCase"), &json!("InvalidFeature"), &Value::Null]
    );
    assert!(run.refused().contains("broken.jsonl:1: this line and 1 more are not cases"));
}

#[test]
fn check_finds_mistakes_without_running() {
    let scratch = Scratch::new();
    let folder = scratch.path().display().to_string();
    let clean = scratch.file("clean.num", SCRIPT);
    assert!(bursar(&["numscript", "check", &clean]).ok().contains("0 errors, 0 warnings"));
    let script = "vars { monetary $fee monetary $unused }\nsend $fee + [EUR/2 1] - 3 (\n  source = { @world @a }\n  destination = { 1/3 to @b 1/3 to @c }\n)\n";
    let faulty = scratch.file("faulty.num", script);
    let run = bursar(&["numscript", "check", &faulty]);
    insta::assert_snapshot!(format!("{}{}", run.stdout, run.stderr).replace(&folder, "[folder]"));
    assert_ne!(run.code, 0);
    let json: Value =
        serde_json::from_str(&bursar(&["numscript", "check", &faulty, "--json"]).stdout).unwrap();
    assert!(json.as_array().unwrap().iter().any(|finding| finding["code"] == "allotment-sum"));
}

#[test]
fn a_webhook_is_verified_with_its_secret() {
    let [secret, other] = [[7; 32], [8; 32]].map(SigningSecret::from_random);
    let scratch = Scratch::new();
    let body = "{\"id\":\"evt_1\"}";
    let file = scratch.file("body.json", body);
    let now = Timestamp::now().as_second();
    let old = now - 301;
    let sign = |secret, at| sign::standard(secret, "evt_1", at, body.as_bytes()).unwrap();
    let (secret_text, other_text) = (secret.reveal(), other.reveal());
    let both = format!("{secret_text} {other_text}");
    let verify = |secrets: &str, at: i64, signature: &str, more: &[&str]| {
        let at = at.to_string();
        let given = ["--id", "evt_1", "--timestamp", &at, "--signature", signature];
        let arguments = [&["webhook", "verify", "--body", &file][..], &given, more].concat();
        let run = bursar_with(&arguments, &[("BURSAR_WEBHOOK_SECRET", secrets)]);
        let said = format!("{}{}", run.stdout, run.stderr);
        assert!(secrets.split(' ').all(|secret| !said.contains(secret)), "it is not echoed");
        run
    };
    let signature = sign(&secret, now);
    assert_eq!(verify(&secret_text, now, &signature, &[]).ok(), "verified\n");
    assert_eq!(verify(&both, now, &sign(&other, now), &[]).ok(), "verified\n");
    let rotating = format!("v1a,AAAA {} {signature}", sign(&other, now));
    assert_eq!(verify(&secret_text, now, &rotating, &["--json"]).ok(), "{\"verified\":true}\n");
    let forged = verify(&other_text, now, &signature, &["--json"]);
    assert!(forged.stdout.contains("\"verified\":false"), "{}", forged.stdout);
    assert_eq!(forged.code, 1);
    assert!(forged.refused().contains("not verified: no signature fits"));
    let late = verify(&secret_text, old, &sign(&secret, old), &[]);
    assert!(late.refused().contains("not verified: the request is too old"));
    assert!(verify(&secret_text, old, &sign(&secret, old), &["--tolerance", "900"]).code == 0);
    assert!(verify("sesame", now, &signature, &[]).refused().contains("Nothing was checked"));

    let simple = sign::simple(&secret, body.as_bytes());
    let simple = ["webhook", "verify", "--body", &file, "--simple-signature", &simple];
    let with = |secret: &str| bursar_with(&simple, &[("BURSAR_WEBHOOK_SECRET", secret)]);
    assert!(with(&secret_text).ok().starts_with("verified"));
    assert_eq!(with(&other_text).code, 1);
    assert_eq!(bursar(&simple).code, 2, "without a secret nothing is verified");
}

#[test]
fn bench_ends_with_a_line_for_programs() {
    let output = bursar(&["bench", "core", "--seconds", "1"]).ok();
    let last = output.lines().last().unwrap();
    let fields: Vec<&str> = last.split(' ').map(|field| field.split('=').next().unwrap()).collect();
    assert_eq!(fields, ["name", "value", "unit", "limit", "ratio"]);
    assert!(last.starts_with("name=core.template "));
    assert!(output.starts_with("profile: "), "{output}");
}
