//! Reports of the ledger as table, JSON and CSV.

use serde_json::{Value, json};

use crate::ledger::{ledger, make};
use crate::scratch::Scratch;

/// A reference that a spreadsheet would run.
const FORMULA: &str = "=HYPERLINK(\"http://x\",1)";

/// One hour of events, a minute apart; the last one is posted late.
fn books() -> (Scratch, String) {
    let event = |minute: u32, name: &str, reference: &str, vars: &str| {
        let pairs = vars.split_whitespace().map(|pair| pair.split_once('=').unwrap());
        let mut vars: serde_json::Map<String, Value> =
            pairs.map(|(name, value)| (name.to_owned(), json!(value))).collect();
        vars.insert("currency".to_owned(), json!("PKR"));
        let time = format!("2026-11-15T10:{minute:02}:00Z");
        json!({"event": name, "reference": reference, "vars": vars, "effectiveAt": time})
            .to_string()
    };
    let lines = [
        event(1, "PAYIN_COLLECTION", "r1", "merchantId=m1 bankId=b1 gross=100 fee=2.90 vat=0.58"),
        event(2, "PAYIN_CAPTURE", FORMULA, "merchantId=m1 providerId=card gross=50 fee=2 vat=0.40"),
        event(3, "PROVIDER_SETTLEMENT", "s1", "providerId=card bankId=b1 gross=50 cost=1"),
        event(4, "FUNDS_AVAILABLE", "f1", "merchantId=m1 amount=47.60"),
        event(5, "PAYOUT_RESERVE", "p1", "merchantId=m1 amount=60 fee=1 vat=0.20"),
        event(6, "PAYOUT_SETTLE", "p1", "merchantId=m1 bankId=b1 amount=60 fee=1 vat=0.20"),
        event(7, "PAYIN_COLLECTION", "-7", "merchantId=m2 bankId=b2 gross=30 fee=1 vat=0.20"),
        event(8, "VAT_REMITTANCE", "v1", "bankId=b1 amount=0.50"),
        event(9, "CHARGEBACK_HOLD", "d1", "merchantId=m1 amount=90"),
        event(2, "PAYIN_COLLECTION", "late", "merchantId=m2 bankId=b2 gross=10 fee=0 vat=0"),
    ];
    let scratch = Scratch::new();
    let file = scratch.file("events.ndjson", &lines.join("\n"));
    let data = scratch.path().join("data").display().to_string();
    make(&data);
    ledger(&["import", &file], &data).ok();
    (scratch, data)
}

/// Ids are different in every run.
fn hide_ids(text: &str) -> String {
    let mut parts = text.split("tx_");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |shown, part| {
        let end = part.find(|letter: char| !letter.is_ascii_alphanumeric()).unwrap_or(part.len());
        shown + "[id]" + &part[end..]
    })
}

/// A report in its three forms: CSV and JSON say the same.
fn in_three_forms(arguments: &[&str], data: &str) -> String {
    let table = ledger(arguments, data).ok();
    let answer = json(arguments, data);
    let parts: Vec<(String, Value)> = match answer.as_object() {
        None => vec![("rows".to_owned(), answer.clone())],
        Some(fields) => {
            let parts = fields.iter().filter(|(_, field)| field.is_array());
            parts.map(|(key, rows)| (key.clone(), rows.clone())).collect()
        }
    };
    let mut shown = table;
    for (part, rows) in parts {
        let csv = ledger(&[arguments, &[&format!("--csv={part}")]].concat(), data).ok();
        assert_eq!(csv.matches('\n').count(), csv.matches("\r\n").count(), "RFC 4180: {csv}");
        assert_eq!(from_csv(&csv), rows);
        shown = format!("{shown}\n{csv}");
    }
    let answer = serde_json::to_string_pretty(&answer).unwrap();
    hide_ids(&format!("{shown}\n{answer}").replace("\r\n", "\n"))
}

/// The lines of CSV as JSON has them: nothing is null, and the apostrophe in front of a formula goes.
fn from_csv(csv: &str) -> Value {
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let header = reader.headers().unwrap().clone();
    let row = |record: csv::StringRecord| -> Value {
        let cell = |(key, text): (&str, &str)| {
            let is_nothing = text.is_empty() && key != "reference";
            let text = text.strip_prefix('\'').unwrap_or(text);
            (key.to_owned(), if is_nothing { Value::Null } else { json!(text) })
        };
        Value::Object(header.iter().zip(&record).map(cell).collect())
    };
    reader.records().map(|record| row(record.unwrap())).collect()
}

fn json(arguments: &[&str], data: &str) -> Value {
    serde_json::from_str(&ledger(&[arguments, &["--json"]].concat(), data).ok()).unwrap()
}

fn csv_column(arguments: &[&str], data: &str, name: &str) -> Vec<String> {
    let text = ledger(&[arguments, &["--csv"]].concat(), data).ok();
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let place = reader.headers().unwrap().iter().position(|header| header == name).unwrap();
    reader.records().map(|record| record.unwrap()[place].to_owned()).collect()
}

#[test]
fn accounts_in_three_forms() {
    let (_scratch, data) = books();
    insta::assert_snapshot!(in_three_forms(&["accounts"], &data));
}

#[test]
fn a_trial_balance_in_three_forms() {
    let (_scratch, data) = books();
    insta::assert_snapshot!(in_three_forms(&["trial-balance"], &data));
}

#[test]
fn alm_in_three_forms() {
    let (_scratch, data) = books();
    insta::assert_snapshot!(in_three_forms(&["alm"], &data));
}

#[test]
fn a_statement_in_three_forms() {
    let (_scratch, data) = books();
    insta::assert_snapshot!(in_three_forms(&["statement", "m1"], &data));
}

#[test]
fn fees_in_three_forms() {
    let (_scratch, data) = books();
    insta::assert_snapshot!(in_three_forms(&["fees"], &data));
}

#[test]
fn cash_in_three_forms() {
    let (_scratch, data) = books();
    insta::assert_snapshot!(in_three_forms(&["cash"], &data));
}

#[test]
fn alm_of_the_past_is_folded_from_the_postings() {
    let (_scratch, data) = books();
    let end = ["alm", "--as-of", "2026-11-15T11:00:00Z"];
    assert_eq!(json(&end, &data)["rows"], json(&["alm"], &data)["rows"]);
    assert_eq!(json(&end, &data)["summaries"], json(&["alm"], &data)["summaries"]);
    assert_eq!(json(&end, &data)["asOf"], "2026-11-15T11:00:00Z");
    // The pay-ins of the first two minutes, one of which was posted late.
    let early = ["alm", "--as-of", "2026-11-15T10:02:00Z"];
    assert_eq!(
        json(&early, &data)["rows"][0],
        json!({"asset": "PKR/2", "bucket": "T0", "assets": "110.00", "liabilities": "106.52",
               "gap": "3.48", "cumulativeGap": "3.48"})
    );
    // All of it was saved today, none of it in 2020.
    let inserted = ["alm", "--as-of", "2020-01-01T00:00:00Z", "--by", "inserted"];
    assert_eq!(json(&inserted, &data)["rows"], json!([]));
}

#[test]
fn the_closing_line_of_a_statement_is_the_balance_of_the_account() {
    let (_scratch, data) = books();
    let accounts = json(&["accounts"], &data);
    let balance = |address: &str| {
        let mut rows = accounts.as_array().unwrap().iter();
        rows.find(|row| row["address"] == address).unwrap()["balance"].clone()
    };
    for merchant in ["m1", "m2"] {
        let rows = json(&["statement", merchant], &data);
        let mut rows = rows.as_array().unwrap().iter().rev();
        let last = rows.find(|row| row["account"] == "Merchant available").unwrap();
        assert_eq!(last["balance"], balance(&format!("merchants:{merchant}:available:PKR")));
    }
}

#[test]
fn a_period_opens_with_what_was_before_it() {
    let (_scratch, data) = books();
    let period = ["--from", "2026-11-15T10:05:00Z", "--to", "2026-11-15T10:08:00Z"];
    let of_period =
        |report: &[&str]| ledger(&[report, &period].concat(), &data).ok().replace("\r\n", "\n");
    let reports = [
        of_period(&["statement", "m1", "--csv"]),
        of_period(&["statement", "m2", "--csv"]),
        of_period(&["cash", "--bank", "b2", "--csv"]),
        of_period(&["cash", "--bank", "b2", "--csv=totals"]),
        of_period(&["fees", "--merchant", "m2", "--csv=totals"]),
    ];
    insta::assert_snapshot!(hide_ids(&reports.join("\n")));
}

#[test]
fn a_reference_that_a_spreadsheet_would_run_is_text_in_csv() {
    let (_scratch, data) = books();
    let statement = ["statement", "m1"];
    assert_eq!(csv_column(&statement, &data, "reference")[1], format!("'{FORMULA}"));
    assert_eq!(json(&statement, &data)[1]["reference"], FORMULA);
    assert!(csv_column(&["cash"], &data, "reference").contains(&"'-7".to_owned()));
    // A debt is a number and stays one: 82.92 - 90.00.
    assert_eq!(csv_column(&statement, &data, "balance")[9], "-7.08");
}

#[test]
fn what_cannot_be_reported_is_refused() {
    let (scratch, data) = books();
    let backwards = ["--from", "2026-11-15T10:05:00Z", "--to", "2026-11-15T10:05:00Z"];
    let refused = [
        ledger(&["fees", "--merchant", "absent"], &data).refused(),
        ledger(&["cash", "--bank", "b9"], &data).refused(),
        ledger(&[&["cash"], &backwards[..]].concat(), &data).refused(),
        ledger(&["cash", "--json", "--csv"], &data).refused(),
        ledger(&["cash", "--csv=sums"], &data).refused(),
        ledger(&["alm", "--as-of", "yesterday"], &data).refused(),
    ];
    let folder = scratch.path().display().to_string();
    insta::assert_snapshot!(refused.join("\n").replace(&folder, "[folder]"));
}

#[test]
fn a_long_list_is_cut_into_tables_and_nothing_is_left_out() {
    let scratch = Scratch::new();
    let line = |number: u32| {
        let vars = json!({
            "merchantId": "m1", "bankId": "b1", "currency": "PKR",
            "gross": "1.00", "fee": "0", "vat": "0",
        });
        json!({"event": "PAYIN_COLLECTION", "reference": format!("r{number}"), "vars": vars})
            .to_string()
    };
    let lines: Vec<String> = (0..2_001).map(line).collect();
    let file = scratch.file("events.ndjson", &lines.join("\n"));
    let data = scratch.path().join("data").display().to_string();
    make(&data);
    ledger(&["import", &file], &data).ok();
    let table = ledger(&["statement", "m1"], &data).ok();
    assert_eq!(table.matches("PAYIN_COLLECTION").count(), 2_001);
    assert_eq!(table.matches("reference").count(), 3, "each table has its header");
    assert_eq!(json(&["statement", "m1"], &data).as_array().unwrap().len(), 2_001);
    let balances = csv_column(&["statement", "m1"], &data, "balance");
    assert_eq!((balances.len(), balances.last().unwrap().as_str()), (2_001, "2001.00"));
}
