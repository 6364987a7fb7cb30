//! `bursar ledger alm`: assets and liabilities by due date.

use std::path::Path;

use bursar_core::ledger::views::{self, Alm, Balance};
use bursar_core::money::decimal;
use bursar_node::failure::Failure;
use bursar_node::report::{Column, Report, Section};
use clap::Args;

use super::ReportArguments;
use super::books::Books;
use super::period::AsOfArguments;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    moment: AsOfArguments,
    #[command(flatten)]
    report: ReportArguments,
}

const SECTIONS: &[Section] = &[
    Section {
        key: "rows",
        columns: &[
            Column::text("asset", "asset"),
            Column::text("bucket", "due"),
            Column::number("assets", "assets"),
            Column::number("liabilities", "liabilities"),
            Column::number("gap", "gap"),
            Column::number("cumulativeGap", "cumulative gap"),
        ],
        label: None,
    },
    Section {
        key: "summaries",
        columns: &[
            Column::text("asset", "asset"),
            Column::number("safeguarded", "cash and receivables"),
            Column::number("claims", "owed to merchants"),
            Column::number("merchantReceivable", "owed by merchants"),
            Column::number("openPosition", "open position"),
        ],
        label: None,
    },
];

pub(super) fn run(arguments: &Arguments, config: Option<&Path>) -> Result<(), Failure> {
    let mut books = Books::existing(&arguments.report.store, config)?;
    let alm = fold(&mut books, &arguments.moment)?;
    let mut report = Report::begin(&arguments.report.format, SECTIONS, &[arguments.moment.fact()])?;
    for row in &alm.rows {
        let text = |minor| decimal(minor, row.currency);
        let cells = [
            row.currency.asset(),
            row.bucket.to_owned(),
            text(row.assets),
            text(row.liabilities),
            text(row.gap),
            text(row.cumulative_gap),
        ];
        report.row(&cells.map(Some))?;
    }
    report.next_section()?;
    for summary in &alm.summaries {
        let text = |minor| decimal(minor, summary.currency);
        let cells = [
            summary.currency.asset(),
            text(summary.safeguarded),
            text(summary.claims),
            text(summary.merchant_receivable),
            text(summary.open_position),
        ];
        report.row(&cells.map(Some))?;
    }
    report.end(&[])
}

fn fold(books: &mut Books, moment: &AsOfArguments) -> Result<Alm, Failure> {
    let bucket = books.rules.rulebook.chart().receivable_bucket().to_owned();
    if let Some(as_of) = moment.as_of() {
        return Ok(views::alm(books.balances(as_of)?.balances(), &bucket));
    }
    let accounts = books.accounts()?;
    Ok(views::alm(accounts.iter().map(|(_, account)| Balance::of(account)), &bucket))
}
