//! `bursar simulate`: deterministic simulation of engine, core and stores with fault injection, checked by an independent
//! auditor.

mod counterexample;
mod seeds;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use bursar_core::ledger::rulebook::Rulebook;
use bursar_node::failure::Failure;
use bursar_node::rulebook::load_rulebook;
use bursar_node::terminal;
use bursar_sim::simulate::{
    Fault, InjectedBug, Options, Outcome, StoreChoice, UNEXPECTED, missing,
};
use clap::{Args, ValueEnum};
use serde_json::json;

use seeds::Sum;

/// Simulate the engine, core and stores with injected faults, in virtual time
///
/// Each seed draws hostile channels, merchants, providers, operators and faults: crashes at every point, a store that
/// fails, lost and late answers, clock jumps. An auditor with its own books checks every commit, and at the end compares
/// the ledger with the payments of the channels. A seed is reproducible. A seed that breaks an invariant is shrunk, and
/// its trace is printed with the command that repeats it.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// One seed
    #[arg(long, value_name = "S", conflicts_with = "seeds")]
    seed: Option<u64>,
    /// Seeds from A up to and excluding B
    #[arg(long, value_name = "A..B", default_value = "0..200", value_parser = parse_seeds)]
    seeds: Range<u64>,
    /// Payouts per seed
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    payouts: u64,
    /// Simulated days over which payouts are created
    #[arg(long, value_name = "D", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=3_650))]
    days: u64,
    /// Faults to inject: all, none, or names; `list` shows them
    #[arg(long, value_name = "all|none|NAME,…", default_value = "all")]
    faults: String,
    /// The store; with mixed the seed chooses
    #[arg(long, value_enum, default_value_t = Store::Mixed)]
    store: Store,
    /// Processes that share the books; SQLite has one [default: the seed chooses]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=4))]
    processes: Option<u64>,
    /// Print the full trace
    #[arg(long)]
    trace: bool,
    /// Print covered transitions, faults and rejections; fail if an expected one was not covered
    #[arg(long)]
    coverage: bool,
    /// Print one JSON object per seed, and one for the total
    #[arg(long)]
    json: bool,
    /// Inject a bug around the product, to show that it is found; `list` shows them
    #[arg(long, value_name = "NAME")]
    plant: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Store {
    Memory,
    Sqlite,
    Mixed,
}

fn parse_seeds(text: &str) -> Result<Range<u64>, String> {
    let parse = |part: &str| part.parse::<u64>().ok();
    let range = text.split_once("..").and_then(|(from, to)| Some(parse(from)?..parse(to)?));
    range.filter(|range| !range.is_empty()).ok_or_else(|| {
        "write the first seed, two dots and the seed behind the last: 0..200".to_owned()
    })
}

impl Arguments {
    pub(crate) fn run(self) -> Result<(), Failure> {
        if self.plant.as_deref() == Some("list") {
            let row = |plant: &InjectedBug| {
                [plant.name(), &plant.within().to_string(), plant.meaning()]
                    .map(str::to_owned)
                    .to_vec()
            };
            return list(
                &["mistake", "found within seeds", "what it is"],
                InjectedBug::ALL.iter().map(row).collect(),
            );
        }
        if self.faults == "list" {
            let row = |fault: &Fault| [fault.name(), fault.meaning()].map(str::to_owned).to_vec();
            return list(&["fault", "what it is"], Fault::ALL.iter().map(row).collect());
        }
        let options = self.options()?;
        let range = self.seed.map_or(self.seeds.clone(), |seed| seed..seed.saturating_add(1));
        let rulebook = load_rulebook(None)?;
        let sum = seeds::run_all(&range, &options, &rulebook, |outcome| {
            self.print_outcome(outcome, &rulebook)
        })?;
        if self.json {
            terminal::say(&all_to_json(&sum))?;
        } else {
            if self.coverage {
                print_coverage(&sum)?;
            }
            terminal::say(&sum.line())?;
        }
        self.judge(&sum)
    }

    fn judge(&self, sum: &Sum) -> Result<(), Failure> {
        if !sum.broken.is_empty() {
            return Err(Failure::new(format!(
                "{}. No real money was touched; repeat one with --seed",
                sum.verdict()
            )));
        }
        let missing = if self.coverage { missing(&sum.coverage, &sum.faults) } else { Vec::new() };
        if !missing.is_empty() {
            return Err(Failure::new(format!(
                "these seeds did not meet {}. Run more of them, or make it more likely",
                missing.join(", ")
            )));
        }
        Ok(())
    }

    fn options(&self) -> Result<Options, Failure> {
        let unknown = |what: &str, name: &str| {
            Failure::new(format!("there is no {what} `{name}`. Nothing was run; `list` shows them"))
        };
        let faults: Result<BTreeSet<Fault>, Failure> = match self.faults.as_str() {
            "all" => Ok(Fault::ALL.iter().copied().collect()),
            "none" => Ok(BTreeSet::new()),
            names => names
                .split(',')
                .map(|name| Fault::named(name).ok_or_else(|| unknown("fault", name)))
                .collect(),
        };
        let plant = self.plant.as_deref();
        let plant = plant
            .map(|name| InjectedBug::named(name).ok_or_else(|| unknown("mistake", name)))
            .transpose()?;
        Ok(Options {
            payouts: self.payouts,
            days: self.days,
            faults: faults?,
            store: match self.store {
                Store::Memory => StoreChoice::Memory,
                Store::Sqlite => StoreChoice::Sqlite,
                Store::Mixed => StoreChoice::Mixed,
            },
            processes: self.processes,
            injected_bug: plant,
            is_traced: self.trace,
            ..Options::new(0)
        })
    }

    /// Prints the outcome of a seed; returns whether to stop, which is after the first counterexample.
    fn print_outcome(&self, outcome: &Outcome, rulebook: &Rulebook) -> Result<bool, Failure> {
        if self.json {
            terminal::say(&to_json(outcome))?;
            return Ok(false);
        }
        for line in &outcome.trace {
            terminal::say(&line.to_string())?;
        }
        let Some(broken) = &outcome.broken else { return Ok(false) };
        counterexample::print(outcome, broken, rulebook)?;
        Ok(true)
    }
}

fn list(header: &[&str], rows: Vec<Vec<String>>) -> Result<(), Failure> {
    terminal::say(&terminal::table(header, header.len(), rows).to_string())
}

fn print_coverage(sum: &Sum) -> Result<(), Failure> {
    let faults =
        sum.faults.iter().map(|(fault, count)| (format!("fault {}", fault.name()), *count));
    let met = sum.coverage.iter().map(|(name, count)| (name.clone(), *count));
    for (name, count) in met.chain(faults) {
        terminal::say(&format!("{count:>9} {name}"))?;
    }
    for (code, reason) in UNEXPECTED {
        terminal::say(&format!("not expected: refused {code} ({reason})"))?;
    }
    Ok(())
}

fn to_json(outcome: &Outcome) -> String {
    let broken = outcome.broken.as_ref();
    let store = if outcome.is_sqlite { "sqlite" } else { "memory" };
    json!({
        "seed": outcome.options.seed,
        "store": store,
        "processes": outcome.processes,
        "payouts": outcome.payouts,
        "commits": outcome.commits,
        "steps": outcome.steps,
        "digest": format!("{:016x}", outcome.digest),
        "broken": broken.map(|broken| broken.invariant.name()),
        "what": broken.map(|broken| &broken.what),
    })
    .to_string()
}

fn all_to_json(sum: &Sum) -> String {
    let faults = sum.faults.iter().map(|(fault, count)| (fault.name(), *count));
    let faults: BTreeMap<&str, u64> = faults.collect();
    json!({
        "seeds": sum.seeds,
        "days": sum.days(),
        "payouts": sum.payouts,
        "commits": sum.commits,
        "steps": sum.steps,
        "faults": faults,
        "checks": sum.checks,
        "coverage": sum.coverage,
        "broken": sum.broken,
    })
    .to_string()
}
