//! `bursar demo`: a day in five markets, in memory, and a report that says whether every promise was kept.

mod audit;
mod day;
mod desk;
mod dice;

use std::path::Path;

use bursar_core::ledger::{HoldState, Ledger};
use bursar_core::money::{Currency, decimal};
use bursar_core::views::{TrialBalance, TrialBalanceFold};
use clap::Args;

use super::check::load_rulebook;
use crate::config::Config;
use crate::failure::Failure;
use crate::terminal;
use day::Day;
use desk::{Desk, Tally};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// How many payouts the day has
    #[arg(long, value_name = "N", default_value_t = 5_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    payouts: u64,
    /// The same seed gives the same day
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
}

impl Arguments {
    pub(crate) fn run(self, config: Option<&Path>) -> Result<(), Failure> {
        let config = Config::load(config)?;
        let rulebook = load_rulebook(config.chart_path().as_deref())?;
        let mut day = Day::new(&rulebook, config.markets()?, config.default_bank_id()?, self.seed);
        let progress = terminal::progress(self.payouts, "payouts");
        day.run(self.payouts, &progress)?;
        progress.finish_and_clear();

        let Desk { ledger, world, tally, .. } = day.desk;
        let trial = trial_balance(&ledger)?;
        report(&trial, &tally, &ledger, self.seed)?;
        let findings = audit::check(&rulebook, &ledger, &trial, &world);
        for finding in &findings {
            let mark = if finding.failures.is_empty() { "ok    " } else { "FAILED" };
            terminal::say(&format!("{mark} {}", finding.promise))?;
            for failure in &finding.failures {
                terminal::say(&format!("       {failure}"))?;
            }
        }
        let broken = findings.iter().filter(|finding| !finding.failures.is_empty()).count();
        if broken > 0 {
            return Err(Failure::new(format!(
                "{broken} of {} promises were broken with seed {}. No real money was touched; please report the seed",
                findings.len(),
                self.seed
            )));
        }
        terminal::say(&format!("{} promises kept, trial balance = 0", findings.len()))
    }
}

fn trial_balance(ledger: &Ledger) -> Result<TrialBalance, Failure> {
    let mut fold = TrialBalanceFold::new(ledger.accounts(), None);
    for transaction in ledger.transactions() {
        fold.add(transaction).map_err(|error| {
            Failure::new(format!("{} is not double entry: {error}. Stop and look", transaction.id))
        })?;
    }
    Ok(fold.finish())
}

fn report(trial: &TrialBalance, tally: &Tally, ledger: &Ledger, seed: u64) -> Result<(), Failure> {
    terminal::say(&format!(
        "A day in {} currencies (seed {seed}), in memory\n",
        trial.totals.len()
    ))?;
    let rows = tally
        .rows()
        .map(|(event, count)| {
            vec![
                event.to_owned(),
                count.posted.to_string(),
                count.repeated.to_string(),
                count.refused.to_string(),
            ]
        })
        .collect();
    terminal::say(
        &terminal::table(&["event", "posted", "repeated", "refused"], 1, rows).to_string(),
    )?;

    let amount = |minor, currency: Currency| decimal(minor, currency);
    let mut rows: Vec<Vec<String>> = Vec::new();
    for total in &trial.totals {
        for row in trial.rows.iter().filter(|row| row.currency == total.currency) {
            rows.push(vec![
                row.code.to_string(),
                row.name.clone(),
                row.currency.to_string(),
                amount(row.debit, row.currency),
                amount(row.credit, row.currency),
                amount(row.balance, row.currency),
            ]);
        }
        rows.push(vec![
            String::new(),
            "Total".to_owned(),
            total.currency.to_string(),
            amount(total.debit, total.currency),
            amount(total.credit, total.currency),
            amount(total.debit.saturating_sub(total.credit), total.currency),
        ]);
    }
    let header = ["gl", "trial balance", "", "debit", "credit", "balance"];
    terminal::say(&terminal::table(&header, 3, rows).to_string())?;

    let open = ledger.holds().filter(|(_, hold)| hold.state == HoldState::Open).count();
    terminal::say(&format!(
        "{} transactions, {} accounts, {} holds of which {open} are still open\n",
        ledger.transactions().len(),
        ledger.accounts().count(),
        ledger.holds().count(),
    ))
}
