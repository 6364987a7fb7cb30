//! `bursar ledger fees`: fees and VAT of a period.

use std::path::Path;

use bursar_core::ledger::views::{Fees, FeesFold};
use bursar_core::money::decimal;
use bursar_node::failure::Failure;
use bursar_node::report::{Column, Report, Section};
use bursar_node::terminal::printable;
use clap::Args;

use super::books::Books;
use super::period::PeriodArguments;
use super::{ReportArguments, each_journal};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    period: PeriodArguments,
    /// Only transactions that touch the accounts of this merchant
    #[arg(long, value_name = "ID")]
    merchant: Option<String>,
    #[command(flatten)]
    report: ReportArguments,
}

const SECTIONS: &[Section] = &[
    Section {
        key: "rows",
        columns: &[
            Column::text("gl", "gl"),
            Column::text("name", "name"),
            Column::text("asset", "asset"),
            Column::text("event", "event"),
            Column::number("credit", "charged"),
            Column::number("debit", "taken back or paid"),
            Column::number("net", "net"),
        ],
        label: None,
    },
    Section {
        key: "rates",
        columns: &[
            Column::text("event", "event"),
            Column::text("asset", "asset"),
            Column::number("fee", "fee"),
            Column::number("vat", "VAT"),
            Column::number("vatPercent", "VAT in % of the fee"),
        ],
        label: None,
    },
    Section {
        key: "totals",
        columns: &[
            Column::text("gl", "gl"),
            Column::text("name", "name"),
            Column::text("asset", "asset"),
            Column::number("opening", "opening"),
            Column::number("credit", "charged"),
            Column::number("debit", "taken back or paid"),
            Column::number("closing", "closing"),
        ],
        label: None,
    },
];

pub(super) fn run(arguments: &Arguments, config: Option<&Path>) -> Result<(), Failure> {
    let period = arguments.period.period()?;
    let mut books = Books::existing(&arguments.report.store, config)?;
    let merchant = arguments.merchant.as_deref();
    let mut fold = FeesFold::new(&books.accounts()?, merchant, period);
    if let Some(merchant) = merchant.filter(|_| fold.is_empty()) {
        return Err(Failure::new(format!(
            "{} has no account in these books. Check the id",
            printable(merchant)
        )));
    }
    each_journal(&mut books, |transaction| fold.add(transaction))?;
    let report = Report::begin(&arguments.report.format, SECTIONS, &arguments.period.facts())?;
    write(report, &fold.finish())
}

fn write(mut report: Report, fees: &Fees) -> Result<(), Failure> {
    for row in &fees.rows {
        let cells = [
            row.code.to_string(),
            row.name.clone(),
            row.currency.asset(),
            row.event.to_string(),
            decimal(row.credit, row.currency),
            decimal(row.debit, row.currency),
            decimal(row.net, row.currency),
        ];
        report.row(&cells.map(Some))?;
    }
    report.next_section()?;
    for rate in &fees.rates {
        report.row(&[
            Some(rate.event.to_string()),
            Some(rate.currency.asset()),
            Some(decimal(rate.fee, rate.currency)),
            Some(decimal(rate.vat, rate.currency)),
            rate.vat_basis_points.map(percent),
        ])?;
    }
    report.next_section()?;
    for total in &fees.totals {
        let cells = [
            total.code.to_string(),
            total.name.clone(),
            total.currency.asset(),
            decimal(total.opening, total.currency),
            decimal(total.credit, total.currency),
            decimal(total.debit, total.currency),
            decimal(total.closing, total.currency),
        ];
        report.row(&cells.map(Some))?;
    }
    report.end(&[])
}

/// Basis points as a decimal, such as `20.00`.
fn percent(basis_points: i128) -> String {
    let sign = if basis_points < 0 { "-" } else { "" };
    let digits = format!("{:0>3}", basis_points.unsigned_abs());
    let (whole, fraction) = digits.split_at(digits.len().saturating_sub(2));
    format!("{sign}{whole}.{fraction}")
}
