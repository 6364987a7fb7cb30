//! A merchant's statement.

use std::path::Path;

use bursar_core::money::decimal;
use bursar_core::views::{Period, StatementFold, StatementRow};
use clap::Args;
use serde::Serialize;

use super::ReadArguments;
use super::books::Books;
use crate::failure::Failure;
use crate::terminal::{self, printable, to_json};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The merchant's id
    #[arg(value_name = "MERCHANT")]
    merchant: String,
    #[command(flatten)]
    read: ReadArguments,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct RowAnswer {
    effective_at: String,
    event: String,
    reference: String,
    account: String,
    asset: String,
    debit: String,
    credit: String,
    balance: String,
}

pub(super) fn run(arguments: &Arguments, config: Option<&Path>) -> Result<(), Failure> {
    let mut books = Books::existing(&arguments.read.place, config)?;
    let accounts = books.accounts()?;
    let mut fold = StatementFold::new(&accounts, &arguments.merchant, Period::ALWAYS);
    let mut rows: Vec<RowAnswer> = Vec::new();
    books.each_commit(|commit| {
        let found = commit.transactions.iter().flat_map(|transaction| fold.add(transaction));
        rows.extend(found.map(|row| RowAnswer::new(&row)));
        Ok(())
    })?;
    if rows.is_empty() {
        return Err(Failure::new(format!(
            "{} has no account in these books. Check the id",
            printable(&arguments.merchant)
        )));
    }
    if arguments.read.json {
        return terminal::say(&to_json(&rows)?);
    }
    let cells = |row: RowAnswer| {
        let RowAnswer { effective_at, event, reference, account, asset, debit, credit, balance } =
            row;
        vec![effective_at, event, printable(&reference), account, asset, debit, credit, balance]
    };
    let header = ["when", "event", "reference", "account", "asset", "debit", "credit", "balance"];
    terminal::say(&terminal::table(&header, 5, rows.into_iter().map(cells).collect()).to_string())
}

impl RowAnswer {
    fn new(row: &StatementRow) -> Self {
        let amount = |minor: i64| decimal(i128::from(minor), row.currency);
        Self {
            effective_at: row.effective_at.to_string(),
            event: row.event.to_string(),
            reference: row.reference.clone(),
            account: row.account.clone(),
            asset: row.currency.asset(),
            debit: amount(row.debit),
            credit: amount(row.credit),
            balance: decimal(row.balance, row.currency),
        }
    }
}
