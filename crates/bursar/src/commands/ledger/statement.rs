//! `bursar ledger statement`: the statement of a merchant.

use std::path::Path;

use bursar_core::ledger::views::{StatementBalance, StatementFold, StatementRow};
use bursar_core::money::decimal;
use bursar_node::failure::Failure;
use bursar_node::report::{Cell, Column, Report, Section};
use bursar_node::terminal::printable;
use clap::Args;
use jiff::Timestamp;

use super::ReportArguments;
use super::books::Books;
use super::period::PeriodArguments;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The merchant's id
    #[arg(value_name = "MERCHANT")]
    merchant: String,
    #[command(flatten)]
    period: PeriodArguments,
    #[command(flatten)]
    report: ReportArguments,
}

const SECTIONS: &[Section] = &[Section {
    key: "rows",
    columns: &[
        Column::text("effectiveAt", "when"),
        Column::text("event", "event"),
        Column::text("reference", "reference"),
        Column::text("account", "account"),
        Column::text("asset", "asset"),
        Column::number("gross", "gross"),
        Column::number("fee", "fee"),
        Column::number("vat", "VAT"),
        Column::number("net", "net"),
        Column::number("debit", "debit"),
        Column::number("credit", "credit"),
        Column::number("balance", "balance"),
    ],
    label: None,
}];

/// Shown in the event column of opening balances.
const OPENING: &str = "OPENING_BALANCE";

pub(super) fn run(arguments: &Arguments, config: Option<&Path>) -> Result<(), Failure> {
    let period = arguments.period.period()?;
    let mut books = Books::existing(&arguments.report.store, config)?;
    let mut fold = StatementFold::new(&books.accounts()?, &arguments.merchant, period);
    if fold.is_empty() {
        return Err(Failure::new(format!(
            "{} has no account in these books. Check the id",
            printable(&arguments.merchant)
        )));
    }
    let addresses = fold.addresses();
    let mut opening: Vec<Vec<Cell>> = Vec::new();
    if let Some(from) = period.from {
        books.each_transaction_of(&addresses, |transaction| {
            fold.open(transaction);
            Ok(())
        })?;
        opening = fold.balances().iter().map(|balance| opening_cells(from, balance)).collect();
    }
    let mut report = Report::begin(&arguments.report.format, SECTIONS, &[])?;
    opening.iter().try_for_each(|cells| report.row(cells))?;
    books.each_transaction_of(&addresses, |transaction| {
        fold.add(transaction).iter().try_for_each(|row| report.row(&cells(row)))
    })?;
    report.end(&[])
}

fn opening_cells(from: Timestamp, opening: &StatementBalance) -> Vec<Cell> {
    let amount = |minor| Some(decimal(minor, opening.currency));
    vec![
        Some(from.to_string()),
        Some(OPENING.to_owned()),
        Some(String::new()),
        Some(opening.account.clone()),
        Some(opening.currency.asset()),
        None,
        None,
        None,
        None,
        amount(0),
        amount(0),
        amount(opening.balance),
    ]
}

fn cells(row: &StatementRow) -> Vec<Cell> {
    let amount = |minor| Some(decimal(minor, row.currency));
    let part = |minor: Option<i128>| minor.and_then(amount);
    vec![
        Some(row.effective_at.to_string()),
        Some(row.event.to_string()),
        Some(row.reference.clone()),
        Some(row.account.clone()),
        Some(row.currency.asset()),
        part(row.breakdown.map(|parts| parts.gross)),
        part(row.breakdown.map(|parts| parts.fee)),
        part(row.breakdown.map(|parts| parts.vat)),
        part(row.breakdown.map(|parts| parts.net)),
        amount(row.debit.into()),
        amount(row.credit.into()),
        amount(row.balance),
    ]
}
