//! Assets against liabilities, by when they are due.

use std::path::Path;

use bursar_core::money::{Currency, decimal};
use bursar_core::views::{self, AlmRow, AlmSummary, Balance};
use serde::Serialize;

use super::ReadArguments;
use super::books::Books;
use crate::failure::Failure;
use crate::terminal::{self, to_json};

#[derive(Debug, Serialize)]
struct Answer {
    rows: Vec<RowAnswer>,
    summaries: Vec<SummaryAnswer>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct RowAnswer {
    asset: String,
    bucket: &'static str,
    assets: String,
    liabilities: String,
    gap: String,
    cumulative_gap: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SummaryAnswer {
    asset: String,
    safeguarded: String,
    claims: String,
    merchant_receivable: String,
    open_position: String,
}

pub(super) fn run(arguments: &ReadArguments, config: Option<&Path>) -> Result<(), Failure> {
    let mut books = Books::existing(&arguments.place, config)?;
    let accounts = books.accounts()?;
    // Debts of merchants are due when the chart says so, on the line that exists for reports only.
    let presentation = books.rulebook.chart().accounts().find(|gl| gl.view == "presentation-only");
    let bucket = presentation.map_or(">T30", |gl| gl.liquidity.as_str());
    let alm = views::alm(accounts.iter().map(|(_, account)| Balance::of(account)), bucket);
    let answer = Answer {
        rows: alm.rows.iter().map(RowAnswer::new).collect(),
        summaries: alm.summaries.iter().map(SummaryAnswer::new).collect(),
    };
    if arguments.json {
        return terminal::say(&to_json(&answer)?);
    }
    let row = |row: RowAnswer| {
        vec![
            row.asset,
            row.bucket.to_owned(),
            row.assets,
            row.liabilities,
            row.gap,
            row.cumulative_gap,
        ]
    };
    let header = ["asset", "due", "assets", "liabilities", "gap", "cumulative gap"];
    let rows = answer.rows.into_iter().map(row).collect();
    terminal::say(&terminal::table(&header, 2, rows).to_string())?;
    let row = |row: SummaryAnswer| {
        vec![row.asset, row.safeguarded, row.claims, row.merchant_receivable, row.open_position]
    };
    let header = [
        "asset",
        "cash and receivables",
        "owed to merchants",
        "owed by merchants",
        "open position",
    ];
    let rows = answer.summaries.into_iter().map(row).collect();
    terminal::say(&terminal::table(&header, 1, rows).to_string())
}

impl RowAnswer {
    fn new(row: &AlmRow) -> Self {
        let text = |minor| text(minor, row.currency);
        Self {
            asset: row.currency.asset(),
            bucket: row.bucket,
            assets: text(row.assets),
            liabilities: text(row.liabilities),
            gap: text(row.gap),
            cumulative_gap: text(row.cumulative_gap),
        }
    }
}

impl SummaryAnswer {
    fn new(summary: &AlmSummary) -> Self {
        let text = |minor| text(minor, summary.currency);
        Self {
            asset: summary.currency.asset(),
            safeguarded: text(summary.safeguarded),
            claims: text(summary.claims),
            merchant_receivable: text(summary.merchant_receivable),
            open_position: text(summary.open_position),
        }
    }
}

fn text(minor: i128, currency: Currency) -> String {
    decimal(minor, currency)
}
