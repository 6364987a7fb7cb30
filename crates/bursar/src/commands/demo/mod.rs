//! `bursar demo`: a day in five markets on real books in SQLite, and a report that says whether every promise was kept.

mod audit;
mod day;
mod desk;
mod dice;

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use bursar_core::money::{Currency, decimal};
use bursar_core::rules::Rules;
use bursar_core::views::TrialBalance;
use clap::Args;

use super::check::load_rulebook;
use crate::config::Config;
use crate::failure::Failure;
use crate::terminal;
use audit::{Books, Finding};
use day::Day;
use desk::Tally;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// How many payouts the day has
    #[arg(long, value_name = "N", default_value_t = 5_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    payouts: u64,
    /// The same seed gives the same day
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Keep the books in this new directory, to look at them with `bursar ledger`
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

/// Where the books of the demo are; gone when it is over, unless somebody wants them.
struct Place {
    path: PathBuf,
    is_kept: bool,
}

impl Place {
    fn new(data: Option<PathBuf>) -> Result<Self, Failure> {
        let Some(path) = data else {
            let name = format!("bursar-demo-{}", std::process::id());
            let mut path = std::env::temp_dir().join(&name);
            // A demo that was killed may have left its own behind.
            for number in 1_u32.. {
                match fs::create_dir(&path) {
                    Ok(()) => break,
                    Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                        path.set_file_name(format!("{name}-{number}"));
                    }
                    Err(error) => {
                        return Err(Failure::new(format!(
                            "cannot make {}: {error}. Nothing was done",
                            path.display()
                        )));
                    }
                }
            }
            return Ok(Self { path, is_kept: false });
        };
        // Real books must not get a made-up day.
        if path.exists() {
            return Err(Failure::new(format!(
                "{} is there already: nothing was done. Name a directory that the demo can make",
                path.display()
            )));
        }
        Ok(Self { path, is_kept: true })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if !self.is_kept {
            drop(fs::remove_dir_all(&self.path));
        }
    }
}

impl Arguments {
    pub(crate) fn run(self, config: Option<&Path>) -> Result<(), Failure> {
        let config = Config::load(config)?;
        let rules = Rules::from(load_rulebook(config.chart_path().as_deref())?);
        let place = Place::new(self.data)?;
        let (markets, bank_id) = (config.markets()?, config.default_bank_id()?);
        let mut day = Day::new(&rules, &place.path, markets, bank_id, self.seed)?;
        let progress = terminal::progress(self.payouts, "payouts");
        day.run(self.payouts, &progress)?;
        progress.finish_and_clear();

        let mut desk = day.desk;
        let books = desk.read(async |store| Books::read(&rules.rulebook, store).await)??;
        report(&books, &desk.tally, self.seed)?;
        let findings = audit::check(&books, &desk.world, &desk.tally);
        judge(&findings, self.seed)
    }
}

fn judge(findings: &[Finding], seed: u64) -> Result<(), Failure> {
    for finding in findings {
        let mark = if finding.failures.is_empty() { "ok    " } else { "FAILED" };
        terminal::say(&format!("{mark} {}", finding.promise))?;
        for failure in &finding.failures {
            terminal::say(&format!("       {failure}"))?;
        }
    }
    let broken = findings.iter().filter(|finding| !finding.failures.is_empty()).count();
    if broken > 0 {
        return Err(Failure::new(format!(
            "{broken} of {} promises were broken with seed {seed}. No real money was touched; please report the seed",
            findings.len()
        )));
    }
    terminal::say(&format!("{} promises kept, trial balance = 0", findings.len()))
}

fn report(books: &Books, tally: &Tally, seed: u64) -> Result<(), Failure> {
    let Books { trial, report, .. } = books;
    terminal::say(&format!("A day in {} currencies (seed {seed})\n", trial.totals.len()))?;
    let rows = tally
        .rows()
        .map(|(name, count)| {
            let counts = [count.done, count.repeated, count.refused];
            std::iter::once(name.to_owned()).chain(counts.iter().map(ToString::to_string)).collect()
        })
        .collect();
    let header = ["what happened", "done", "repeated", "refused"];
    terminal::say(&terminal::table(&header, 1, rows).to_string())?;
    terminal::say(&trial_balance(trial))?;
    terminal::say(&format!(
        "{} commits, {} transactions, {} accounts, {} holds of which {} are still open, {} events told\n",
        report.commits,
        report.transactions,
        report.accounts,
        report.holds,
        books.open_holds(),
        report.events
    ))
}

fn trial_balance(trial: &TrialBalance) -> String {
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
    terminal::table(&header, 3, rows).to_string()
}
