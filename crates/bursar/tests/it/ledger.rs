//! The ledger commands: imports that are interrupted, repeated or invalid, and rows that were tampered with.

use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, Stdio};

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::bursar::{Run, bursar};
use crate::cluster::Cluster;
use crate::scratch::Scratch;

/// A file of pay-ins that all succeed.
pub(crate) fn payins(count: u32) -> String {
    let line = |number: u32| {
        let vars = json!({
            "merchantId": format!("m{}", number % 50), "bankId": "b1", "currency": "PKR",
            "gross": "100.00", "fee": "2.90", "vat": "0.58",
        });
        json!({"event": "PAYIN_COLLECTION", "reference": format!("r{number}"), "vars": vars})
            .to_string()
    };
    (0..count).map(line).collect::<Vec<_>>().join("\n")
}

fn place(data: &str) -> &'static str {
    if data.contains("dbname=") { "--database-url" } else { "--data" }
}

/// Makes the books, unless they are there.
pub(crate) fn make(data: &str) {
    let run = bursar(&["init", place(data), data]);
    assert!(run.code == 0 || run.stderr.contains("already"), "{}", run.stderr);
}

pub(crate) fn ledger(arguments: &[&str], data: &str) -> Run {
    bursar(&[&["ledger"], arguments, &[place(data), data]].concat())
}

pub(crate) fn trial_balance(data: &str) -> Value {
    serde_json::from_str(&ledger(&["trial-balance", "--json"], data).ok()).unwrap()
}

#[test]
fn an_import_that_is_repeated_is_posted_once() {
    let scratch = Scratch::new();
    let file = scratch.file("events.ndjson", &payins(500));
    let data = scratch.path().join("data").display().to_string();
    let import = ["import", &file, "--batch", "64"];
    make(&data);
    assert_eq!(ledger(&import, &data).ok(), "500 posted, 0 had been posted before, 0 refused\n");
    let once = trial_balance(&data);
    assert_eq!(once["balanced"], true);
    assert_eq!(
        once["totals"],
        json!([{"asset": "PKR/2", "debit": "50000.00", "credit": "50000.00"}])
    );
    assert_eq!(ledger(&import, &data).ok(), "0 posted, 500 had been posted before, 0 refused\n");
    assert_eq!(trial_balance(&data), once);
    assert!(
        ledger(&["verify"], &data).ok().starts_with("8 commits, 500 transactions, 2000 postings")
    );
}

/// Starts an import, sends it this many lines and leaves it waiting for more.
pub(crate) fn import_begun(lines: &str, count: usize, data: &str) -> Child {
    let mut child = Command::new(env!("CARGO_BIN_EXE_bursar"))
        .args(["ledger", "import", "-", "--batch", "50", place(data), data])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let told: String = lines.lines().take(count).flat_map(|line| [line, "\n"]).collect();
    child.stdin.as_mut().unwrap().write_all(told.as_bytes()).unwrap();
    child
}

/// Repeated kills, then one complete import: the same books as without an interruption.
fn killed_imports_lose_and_double_nothing(data: &str, whole: &str, scratch: &Scratch) {
    let lines = payins(4_000);
    let file = scratch.file("events.ndjson", &lines);
    make(whole);
    make(data);
    ledger(&["import", &file], whole).ok();
    for count in [1, 60, 400, 130, 1_500, 900, 3_000, 2_200] {
        let mut child = import_begun(&lines, count, data);
        // At an arbitrary point between reading, deciding and saving.
        child.kill().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(9), "it was killed before it was done");
    }
    let counts = ledger(&["import", &file], data).ok();
    let posted: u32 = counts.split(' ').next().unwrap().parse().unwrap();
    assert!(
        0 < posted && posted < 4_000,
        "some was posted before the last kill, and some was not: {counts}"
    );
    assert_eq!(trial_balance(data), trial_balance(whole));
    ledger(&["verify"], data).ok();
}

#[test]
fn an_import_that_is_killed_loses_and_doubles_nothing() {
    let scratch = Scratch::new();
    let data = scratch.path().join("killed").display().to_string();
    let whole = scratch.path().join("whole").display().to_string();
    killed_imports_lose_and_double_nothing(&data, &whole, &scratch);
}

#[test]
fn an_import_into_postgres_that_is_killed_loses_and_doubles_nothing() {
    let cluster = Cluster::start();
    let whole = cluster.new_database("whole");
    killed_imports_lose_and_double_nothing(&cluster.url(), &whole, &Scratch::new());
}

#[test]
fn a_postgres_that_crashes_under_an_import_loses_and_doubles_nothing() {
    let cluster = Cluster::start();
    let scratch = Scratch::new();
    let lines = payins(3_000);
    let file = scratch.file("events.ndjson", &lines);
    let whole = scratch.path().join("whole").display().to_string();
    make(&whole);
    make(&cluster.url());
    ledger(&["import", &file], &whole).ok();
    for count in [700, 1_900] {
        let mut child = import_begun(&lines, count, &cluster.url());
        cluster.crash();
        // The rest of the file arrives after the crash.
        drop(child.stdin.take());
        child.wait().unwrap();
        cluster.start_server();
        ledger(&["verify"], &cluster.url()).ok();
    }
    ledger(&["import", &file], &cluster.url()).ok();
    assert_eq!(trial_balance(&cluster.url()), trial_balance(&whole));
    ledger(&["verify"], &cluster.url()).ok();
}

#[test]
fn a_debt_is_a_receivable_and_a_statement_adds_up() {
    let scratch = Scratch::new();
    let data = scratch.path().join("data").display().to_string();
    make(&data);
    let post = |event: &str, reference: &str, vars: Value| {
        let event = json!({"event": event, "reference": reference, "vars": vars}).to_string();
        ledger(&["post", &event], &data).ok();
    };
    let place = |mut more: Value| {
        for (name, value) in [("merchantId", "m1"), ("currency", "PKR")] {
            more[name] = json!(value);
        }
        more
    };
    post(
        "PAYIN_COLLECTION",
        "r1",
        place(json!({"bankId": "b1", "gross": "100", "fee": "3", "vat": "1"})),
    );
    post(
        "PAYIN_COLLECTION",
        "r2",
        json!({"merchantId": "m2", "currency": "PKR", "bankId": "b1", "gross": "50", "fee": "0", "vat": "0"}),
    );
    post("PAYOUT_RESERVE", "p1", place(json!({"amount": "90", "fee": "1", "vat": "0"})));
    post("CHARGEBACK_HOLD", "d1", place(json!({"amount": "20"})));
    insta::assert_snapshot!(ledger(&["alm"], &data).ok());
    let rows: Value =
        serde_json::from_str(&ledger(&["statement", "m1", "--json"], &data).ok()).unwrap();
    let lines: Vec<String> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            let text = |key: &str| row[key].as_str().unwrap().to_owned();
            [text("event"), text("account"), text("debit"), text("credit"), text("balance")]
                .join(" | ")
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
    assert!(
        ledger(&["statement", "absent"], &data).refused().contains("has no account in these books")
    );
}

#[test]
fn a_refused_line_does_not_stop_the_rest() {
    let scratch = Scratch::new();
    let good = payins(2);
    let lines = [
        "{\"event\":",
        "{\"event\":\"PAYIN_COLLECTION\",\"reference\":\"x\",\"vars\":{\"merchantId\":\"m1\"}}",
        "{\"event\":\"REFUND\",\"reference\":\"x\",\"vars\":{\"merchantId\":\"m1\",\"bankId\":\"b1\",\"currency\":\"PKR\",\"amount\":\"1.001\"}}",
        "{\"event\":\"REFUND\",\"reference\":\"x\",\"vars\":{\"merchantId\":\"m1\",\"bankId\":\"b1\",\"currency\":\"PKR\",\"amount\":\"5000\"}}",
        "{\"event\":\"REFUND\",\"reference\":\"x\",\"effectiveAt\":\"yesterday\"}",
        "{\"event\":\"NONSENSE\",\"reference\":\"x\",\"vars\":{},\"extra\":1}",
    ];
    let file = scratch.file("events.ndjson", &format!("{}\n{good}\n", lines.join("\n")));
    let data = scratch.path().join("data").display().to_string();
    make(&data);
    let run = ledger(&["import", &file], &data);
    assert_eq!(run.stdout, "2 posted, 0 had been posted before, 6 refused\n");
    let folder = scratch.path().display().to_string();
    insta::assert_snapshot!(run.refused().replace(&folder, "[folder]"));
}

#[test]
fn a_changed_row_is_found_with_what_and_where() {
    let scratch = Scratch::new();
    let file = scratch.file("events.ndjson", &payins(20));
    let answers: Vec<String> = [
        ("an amount", "UPDATE postings SET amount = 9999 WHERE n = 0 AND tx = (SELECT t.id FROM transactions t JOIN commits c ON c.id = t.commit_id WHERE c.seq = 2 AND t.n = 1)"),
        ("a posting gone", "DELETE FROM postings WHERE n = 3 AND tx = (SELECT t.id FROM transactions t JOIN commits c ON c.id = t.commit_id WHERE c.seq = 2 AND t.n = 1)"),
        ("a balance", "UPDATE accounts SET balance = balance + 1 WHERE address = 'merchants:m3:available:PKR'"),
        ("a turnover", "UPDATE accounts SET received = received + 1 WHERE address = 'merchants:m3:available:PKR'"),
        ("the digests of a commit", "UPDATE commits SET digests = zeroblob(96) WHERE seq = 3"),
        ("a reference", "UPDATE transactions SET reference = 'other' WHERE reference = 'r0'"),
        ("commits in another order", "UPDATE commits SET seq = CASE seq WHEN 2 THEN 3 WHEN 3 THEN 2 END + 100 WHERE seq IN (2, 3); UPDATE commits SET seq = seq - 100 WHERE seq > 100"),
        (
            "a transaction outside every commit",
            "INSERT INTO transactions SELECT randomblob(16), randomblob(16), n, event, 'forged', request_hash, rulebook_hash, effective_at, reverts FROM transactions WHERE reference = 'r0'",
        ),
        ("a date", "UPDATE head SET time = time + 1"),
        ("entries that are not there", "INSERT INTO slices (seq) VALUES (4)"),
        ("the last commit gone", "DELETE FROM transactions WHERE commit_id = (SELECT id FROM commits WHERE seq = 4); DELETE FROM commits WHERE seq = 4"),
    ]
    .iter()
    .enumerate()
    .map(|(number, (what, sql))| {
        let data = scratch.path().join(format!("data{number}"));
        let name = data.display().to_string();
        make(&name);
        ledger(&["import", &file, "--batch", "5"], &name).ok();
        Connection::open(data.join("bursar.sqlite")).unwrap().execute_batch(sql).unwrap();
        let run = ledger(&["verify"], &name);
        assert_ne!(run.code, 0, "{what} was not found");
        let found: Vec<&str> = run.stdout.lines().filter(|line| line.starts_with("difference")).collect();
        let hidden: Vec<String> = found.iter().map(|line| hide_ids(line)).collect();
        format!("{what}\n  {}", hidden.join("\n  "))
    })
    .collect();
    insta::assert_snapshot!(answers.join("\n"));
}

/// Ids are different in every run.
fn hide_ids(text: &str) -> String {
    let words = text.split(' ').map(|word| if word.starts_with("tx_") { "[id]" } else { word });
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn a_data_directory_that_cannot_be_used_is_named() {
    let scratch = Scratch::new();
    let folder = scratch.path().display().to_string();
    let data = scratch.path().join("data");
    std::fs::create_dir(&data).unwrap();
    std::fs::write(
        data.join("bursar.sqlite"),
        "not a database, whatever its name says".repeat(100),
    )
    .unwrap();
    let damaged = ledger(&["accounts"], &data.display().to_string()).refused();
    let newer = scratch.path().join("newer");
    make(&newer.display().to_string());
    Connection::open(newer.join("bursar.sqlite"))
        .unwrap()
        .execute_batch("INSERT INTO refinery_schema_history VALUES (99, 'future', '2030-01-01T00:00:00Z', '1')")
        .unwrap();
    let newer = ledger(&["accounts"], &newer.display().to_string()).refused();
    let empty =
        ledger(&["accounts"], &scratch.path().join("empty").display().to_string()).refused();
    let nowhere = bursar(&["init", "--data", "/proc/nowhere"]).refused();
    insta::assert_snapshot!([damaged, newer, empty, nowhere].join("").replace(&folder, "[folder]"));
}
