//! Escaping of formulas in CSV.

use super::{Column, csv_cell, escape_formula};

#[test]
fn a_text_that_a_spreadsheet_would_run_is_escaped() {
    for (text, expected) in [
        ("=HYPERLINK(\"x\")", "'=HYPERLINK(\"x\")"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\t=1"),
        ("\r=1", "'\r=1"),
        ("＝1", "'＝1"),
        ("r-1=2", "r-1=2"),
        ("", ""),
    ] {
        assert_eq!(escape_formula(text), expected);
    }
}

#[test]
fn a_number_below_zero_stays_a_number() {
    let cell = Some("-5.00".to_owned());
    assert_eq!(csv_cell((&Column::text("reference", "reference"), &cell)), "'-5.00");
    assert_eq!(csv_cell((&Column::number("balance", "balance"), &cell)), "-5.00");
}
