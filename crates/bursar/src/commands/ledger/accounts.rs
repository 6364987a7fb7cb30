//! `bursar ledger accounts`: all accounts with their balances.

use std::path::Path;

use bursar_node::failure::Failure;
use bursar_node::report::{Column, Report, Section};

use super::ReportArguments;
use super::books::Books;

const SECTIONS: &[Section] = &[Section {
    key: "rows",
    columns: &[
        Column::text("gl", "gl"),
        Column::text("address", "account"),
        Column::text("asset", "asset"),
        Column::number("balance", "balance"),
        Column::detail("class"),
        Column::detail("normal"),
        Column::detail("liquidity"),
        Column::detail("view"),
    ],
    label: None,
}];

pub(super) fn run(arguments: &ReportArguments, config: Option<&Path>) -> Result<(), Failure> {
    let accounts = Books::existing(&arguments.store, config)?.accounts()?;
    let mut report = Report::begin(&arguments.format, SECTIONS, &[])?;
    for (address, account) in &accounts {
        let gl = &account.metadata;
        let cells = [
            gl.code.to_string(),
            address.to_string(),
            account.balance.currency().asset(),
            account.balance.to_string(),
            gl.class.name().to_owned(),
            gl.side().name().to_owned(),
            gl.liquidity.clone(),
            gl.view.clone(),
        ];
        report.row(&cells.map(Some))?;
    }
    report.end(&[])
}
