//! `bursar ledger cash`: cash movements, for reconciliation with bank statements.

use std::path::Path;

use bursar_core::ledger::views::{CashFold, CashRow};
use bursar_core::money::decimal;
use bursar_node::failure::Failure;
use bursar_node::report::{Cell, Column, Report, Section};
use bursar_node::terminal::printable;
use clap::Args;

use super::books::Books;
use super::period::PeriodArguments;
use super::{ReportArguments, each_transaction};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Only accounts at this bank
    #[arg(long, value_name = "ID")]
    bank: Option<String>,
    #[command(flatten)]
    period: PeriodArguments,
    #[command(flatten)]
    report: ReportArguments,
}

const SECTIONS: &[Section] = &[
    Section {
        key: "rows",
        columns: &[
            Column::text("effectiveAt", "when"),
            Column::text("account", "account"),
            Column::text("asset", "asset"),
            Column::text("event", "event"),
            Column::text("reference", "reference"),
            Column::detail("transaction"),
            Column::number("in", "in"),
            Column::number("out", "out"),
            Column::number("balance", "balance"),
        ],
        label: None,
    },
    Section {
        key: "totals",
        columns: &[
            Column::text("account", "account"),
            Column::text("asset", "asset"),
            Column::number("opening", "opening"),
            Column::number("in", "in"),
            Column::number("out", "out"),
            Column::number("closing", "closing"),
        ],
        label: None,
    },
];

pub(super) fn run(arguments: &Arguments, config: Option<&Path>) -> Result<(), Failure> {
    let period = arguments.period.period()?;
    let mut books = Books::existing(&arguments.report.store, config)?;
    let accounts = books.accounts()?;
    let accounts = accounts.iter().map(|(address, account)| (address, account));
    let bank = arguments.bank.as_deref();
    let mut fold = CashFold::new(accounts, bank, period);
    if let Some(bank) = bank.filter(|_| fold.is_empty()) {
        return Err(Failure::new(format!(
            "there is no account at the bank {} in these books. Check the id",
            printable(bank)
        )));
    }
    if period.from.is_some() {
        each_transaction(&mut books, |transaction| {
            fold.open(transaction);
            Ok(())
        })?;
    }
    let mut report = Report::begin(&arguments.report.format, SECTIONS, &arguments.period.facts())?;
    each_transaction(&mut books, |transaction| {
        fold.add(transaction).iter().try_for_each(|row| report.row(&cells(row)))
    })?;
    report.next_section()?;
    for total in fold.finish() {
        let amount = |minor| decimal(minor, total.currency);
        let cells = [
            total.account.to_string(),
            total.currency.asset(),
            amount(total.opening),
            amount(total.into),
            amount(total.out),
            amount(total.closing),
        ];
        report.row(&cells.map(Some))?;
    }
    report.end(&[])
}

fn cells(row: &CashRow) -> Vec<Cell> {
    let amount = |minor| decimal(minor, row.currency);
    let cells = [
        row.effective_at.to_string(),
        row.account.to_string(),
        row.currency.asset(),
        row.event.to_string(),
        row.reference.clone(),
        row.transaction.to_string(),
        amount(row.into.into()),
        amount(row.out.into()),
        amount(row.balance),
    ];
    cells.map(Some).into()
}
