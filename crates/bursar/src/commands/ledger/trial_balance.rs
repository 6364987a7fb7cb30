//! The trial balance, as a table or as JSON.

use std::path::Path;

use bursar_core::money::decimal;
use bursar_core::views::{AsOf, Clock, TrialBalance, TrialBalanceFold};
use clap::{Args, ValueEnum};
use jiff::Timestamp;
use serde::Serialize;

use super::Place;
use super::books::Books;
use crate::failure::Failure;
use crate::terminal::{self, to_json};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    place: Place,
    /// Count only what was there at this moment (RFC 3339)
    #[arg(long, value_name = "TIME")]
    as_of: Option<Timestamp>,
    /// Which of its two times a transaction counts by
    #[arg(long, value_enum, default_value_t = By::Effective)]
    by: By,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum By {
    /// When it happened
    Effective,
    /// When it was saved
    Inserted,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    as_of: Option<String>,
    rows: Vec<RowAnswer>,
    totals: Vec<TotalAnswer>,
    balanced: bool,
}

#[derive(Debug, Serialize)]
struct RowAnswer {
    gl: String,
    name: String,
    asset: String,
    debit: String,
    credit: String,
    balance: String,
}

#[derive(Debug, Serialize)]
struct TotalAnswer {
    asset: String,
    debit: String,
    credit: String,
}

pub(super) fn run(arguments: &Arguments, config: Option<&Path>) -> Result<(), Failure> {
    let mut books = Books::existing(&arguments.place, config)?;
    let accounts = books.accounts()?;
    let clock = match arguments.by {
        By::Effective => Clock::Effective,
        By::Inserted => Clock::Inserted,
    };
    let as_of = arguments.as_of.map(|time| AsOf { time, clock });
    let mut fold =
        TrialBalanceFold::new(accounts.iter().map(|(address, account)| (address, account)), as_of);
    books.each_commit(|commit| {
        commit.transactions.iter().try_for_each(|transaction| fold.add(transaction)).map_err(
            |error| {
                Failure::new(format!(
                    "commit {} is not double entry: {error}. Run `bursar ledger verify`",
                    commit.seq
                ))
            },
        )
    })?;
    let answer = Answer::new(arguments.as_of, &fold.finish());
    if arguments.json {
        return terminal::say(&to_json(&answer)?);
    }
    let balanced = answer.balanced;
    terminal::say(&answer.into_table())?;
    if balanced {
        return terminal::say("balanced");
    }
    Err(Failure::new("debits and credits are not equal. Run `bursar ledger verify`"))
}

impl Answer {
    fn new(as_of: Option<Timestamp>, trial: &TrialBalance) -> Self {
        let row = |row: &bursar_core::views::Row| RowAnswer {
            gl: row.code.to_string(),
            name: row.name.clone(),
            asset: row.currency.asset(),
            debit: decimal(row.debit, row.currency),
            credit: decimal(row.credit, row.currency),
            balance: decimal(row.balance, row.currency),
        };
        let total = |total: &bursar_core::views::Total| TotalAnswer {
            asset: total.currency.asset(),
            debit: decimal(total.debit, total.currency),
            credit: decimal(total.credit, total.currency),
        };
        Self {
            as_of: as_of.map(|time| time.to_string()),
            rows: trial.rows.iter().map(row).collect(),
            totals: trial.totals.iter().map(total).collect(),
            balanced: trial.is_balanced,
        }
    }

    fn into_table(self) -> String {
        let rows = self.rows.into_iter();
        let rows =
            rows.map(|row| vec![row.gl, row.name, row.asset, row.debit, row.credit, row.balance]);
        let totals = self.totals.into_iter();
        let totals = totals.map(|total| {
            vec![
                String::new(),
                "Total".to_owned(),
                total.asset,
                total.debit,
                total.credit,
                String::new(),
            ]
        });
        let header = ["gl", "name", "asset", "debit", "credit", "balance"];
        terminal::table(&header, 3, rows.chain(totals).collect()).to_string()
    }
}
