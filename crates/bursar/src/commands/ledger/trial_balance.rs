//! `bursar ledger trial-balance`.

use std::path::Path;

use bursar_core::money::decimal;
use bursar_node::failure::Failure;
use bursar_node::report::{Column, Report, Section};
use bursar_node::terminal;
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
            Column::text("gl", "gl"),
            Column::text("name", "name"),
            Column::text("asset", "asset"),
            Column::number("debit", "debit"),
            Column::number("credit", "credit"),
            Column::number("balance", "balance"),
        ],
        label: None,
    },
    Section {
        key: "totals",
        columns: &[
            Column::text("asset", "asset"),
            Column::number("debit", "debit"),
            Column::number("credit", "credit"),
        ],
        label: Some("Total"),
    },
];

pub(super) fn run(arguments: &Arguments, config: Option<&Path>) -> Result<(), Failure> {
    let mut books = Books::existing(&arguments.report.store, config)?;
    let trial = books.trial_balance(arguments.moment.as_of())?;
    let format = &arguments.report.format;
    let mut report = Report::begin(format, SECTIONS, &[arguments.moment.fact()])?;
    for row in &trial.rows {
        let cells = [
            row.code.to_string(),
            row.name.clone(),
            row.currency.asset(),
            decimal(row.debit, row.currency),
            decimal(row.credit, row.currency),
            decimal(row.balance, row.currency),
        ];
        report.row(&cells.map(Some))?;
    }
    report.next_section()?;
    for total in &trial.totals {
        let cells = [
            total.currency.asset(),
            decimal(total.debit, total.currency),
            decimal(total.credit, total.currency),
        ];
        report.row(&cells.map(Some))?;
    }
    report.end(&[("balanced", trial.is_balanced.into())])?;
    if !trial.is_balanced {
        return Err(Failure::new("debits and credits are not equal. Run `bursar ledger verify`"));
    }
    if format.is_table() { terminal::say("balanced") } else { Ok(()) }
}
