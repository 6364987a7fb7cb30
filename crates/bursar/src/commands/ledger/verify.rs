//! `bursar ledger verify`: recomputes the books from their postings.

use std::path::Path;

use bursar_node::failure::Failure;
use bursar_node::terminal::{self, to_json};
use clap::Args;
use serde::Serialize;

use super::StoreArguments;
use super::books::Books;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    store: StoreArguments,
    /// Verify only what came since the last closing: the chain, and the balances and turnovers of accounts
    #[arg(long)]
    since: bool,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Answer {
    ok: bool,
    /// The commit of the closing that it began with.
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<u64>,
    commits: u64,
    transactions: u64,
    postings: u64,
    accounts: u64,
    holds: u64,
    events: u64,
    audit: u64,
    flows: u64,
    differences: Vec<String>,
}

pub(super) fn run(arguments: &Arguments, config: Option<&Path>) -> Result<(), Failure> {
    let mut books = Books::existing(&arguments.store, config)?;
    let closed = if arguments.since { books.verify_since_closing()? } else { None };
    let (since, report) = match closed {
        Some((closing, report)) => (Some(closing.seq), report),
        None => (None, books.verify()?),
    };
    if arguments.since && since.is_none() {
        terminal::note("no day is closed yet: everything was verified");
    }
    let count = report.difference_count;
    let answer = Answer {
        ok: count == 0,
        since,
        commits: report.commits,
        transactions: report.transactions,
        postings: report.postings,
        accounts: report.accounts,
        holds: report.holds,
        events: report.events,
        audit: report.audit,
        flows: report.flows,
        differences: report.differences,
    };
    if arguments.json {
        terminal::say(&to_json(&answer)?)?;
    } else {
        for difference in &answer.differences {
            terminal::say(&format!("difference: {difference}"))?;
        }
        terminal::say(&format!(
            "{} commits, {} transactions, {} postings, {} accounts, {} holds, {} flows, {} events, {} audit entries",
            answer.commits,
            answer.transactions,
            answer.postings,
            answer.accounts,
            answer.holds,
            answer.flows,
            answer.events,
            answer.audit
        ))?;
    }
    if count > 0 {
        return Err(Failure::new(format!(
            "the books differ from their postings in {count} places. Stop posting, keep the file, and restore from a backup"
        )));
    }
    if arguments.json {
        return Ok(());
    }
    match since {
        Some(seq) => terminal::say(&format!(
            "ok: the chain of hashes, every balance and every turnover since commit {seq}; holds, flows and counts are verified without --since"
        )),
        None => terminal::say("ok: every balance, every hold, every flow and the chain of hashes"),
    }
}
