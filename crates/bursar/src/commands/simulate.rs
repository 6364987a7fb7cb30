//! `bursar simulate`: the engine, the core and the stores in a world where everything goes wrong, judged by an auditor
//! with books of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;

use bursar_core::rulebook::Rulebook;
use bursar_sim::simulate::{
    Broken, Coverage, Fault, Options, Outcome, Plant, StoreChoice, missing, run, shrink,
};
use clap::{Args, ValueEnum};
use serde_json::json;

use crate::commands::check::load_rulebook;
use crate::failure::Failure;
use crate::terminal;

/// The real engine, core and stores in a world where everything goes wrong, in virtual time
///
/// Each seed draws hostile channels, merchants, providers, operators and faults: crashes at every point, a store that
/// fails, lost and late answers, clocks that are set. An auditor with books of its own looks at every commit, and at the
/// end holds the ledger against what the channels really paid. The same seed does the same again. A seed that breaks
/// something is made small and its story is printed, with the command that repeats it.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// One seed
    #[arg(long, value_name = "S", conflicts_with = "seeds")]
    seed: Option<u64>,
    /// Seeds from A up to B, without B
    #[arg(long, value_name = "A..B", default_value = "0..200", value_parser = seeds)]
    seeds: Range<u64>,
    /// Payouts that are asked for, each seed
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    payouts: u64,
    /// Days over which they are asked for
    #[arg(long, value_name = "D", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=3_650))]
    days: u64,
    /// Which faults may strike: all, none, or some by name; `list` shows them
    #[arg(long, value_name = "all|none|NAME,…", default_value = "all")]
    faults: String,
    /// Where the books are; mixed is one or the other, as the seed says
    #[arg(long, value_enum, default_value_t = Store::Mixed)]
    store: Store,
    /// How many processes share the books; SQLite has one [default: as the seed says]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=4))]
    processes: Option<u64>,
    /// Print everything that happens
    #[arg(long)]
    trace: bool,
    /// Print which transitions, faults and refusals were met; fail if one that is expected was not
    #[arg(long)]
    coverage: bool,
    /// One JSON object a seed, and one for all
    #[arg(long)]
    json: bool,
    /// Plant a mistake around the product, to see that it is found; `list` shows them
    #[arg(long, value_name = "NAME")]
    plant: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Store {
    Memory,
    Sqlite,
    Mixed,
}

fn seeds(text: &str) -> Result<Range<u64>, String> {
    let parse = |part: &str| part.parse::<u64>().ok();
    let range = text.split_once("..").and_then(|(from, to)| Some(parse(from)?..parse(to)?));
    range.filter(|range| !range.is_empty()).ok_or_else(|| {
        "write the first seed, two dots and the seed behind the last: 0..200".to_owned()
    })
}

/// What all seeds together have seen.
#[derive(Debug, Default)]
struct Sum {
    seeds: u64,
    micros: u64,
    steps: u64,
    commits: u64,
    payouts: u64,
    faults: BTreeMap<Fault, u64>,
    checks: u64,
    coverage: Coverage,
    broken: Vec<u64>,
}

impl Sum {
    fn add(&mut self, outcome: &Outcome) {
        self.seeds = self.seeds.saturating_add(1);
        self.micros = self.micros.saturating_add(outcome.lasted);
        self.steps = self.steps.saturating_add(outcome.steps);
        self.commits = self.commits.saturating_add(outcome.commits);
        self.payouts = self.payouts.saturating_add(outcome.payouts);
        self.checks =
            outcome.checks.values().fold(self.checks, |sum, count| sum.saturating_add(*count));
        for (fault, count) in &outcome.faults {
            let sum = self.faults.entry(*fault).or_default();
            *sum = sum.saturating_add(*count);
        }
        for (name, count) in &outcome.coverage {
            let sum = self.coverage.entry(name.clone()).or_default();
            *sum = sum.saturating_add(*count);
        }
        self.broken.extend(outcome.broken.is_some().then_some(outcome.options.seed));
    }

    fn days(&self) -> u64 {
        self.micros.checked_div(86_400_000_000).unwrap_or_default()
    }

    fn line(&self) -> String {
        let faults: u64 = self.faults.values().sum();
        let Self { seeds, steps, commits, payouts, checks, .. } = self;
        let (days, verdict) = (self.days(), self.verdict());
        format!(
            "{seeds} seeds, {days} days, {payouts} payouts, {commits} commits, {steps} steps, {faults} faults, {checks} checks: {verdict}"
        )
    }

    fn verdict(&self) -> String {
        match self.broken.len() {
            0 => "every invariant held".to_owned(),
            count => format!("{count} seeds broke an invariant"),
        }
    }
}

impl Arguments {
    pub(crate) fn run(self) -> Result<(), Failure> {
        if self.plant.as_deref() == Some("list") {
            let rows = Plant::ALL.iter().map(|plant| {
                vec![
                    plant.name().to_owned(),
                    plant.within().to_string(),
                    plant.meaning().to_owned(),
                ]
            });
            let table = terminal::table(
                &["mistake", "found within seeds", "what it is"],
                9,
                rows.collect(),
            );
            return terminal::say(&table.to_string());
        }
        if self.faults == "list" {
            let row = |fault: &Fault| vec![fault.name().to_owned(), fault.meaning().to_owned()];
            let rows = Fault::ALL.iter().map(row).collect();
            return terminal::say(&terminal::table(&["fault", "what it is"], 9, rows).to_string());
        }
        let options = self.options()?;
        let range = self.seed.map_or(self.seeds.clone(), |seed| seed..seed.saturating_add(1));
        let rulebook = load_rulebook(None)?;
        let sum = self.live(range, &options, &rulebook)?;
        if self.coverage && !self.json {
            for (name, count) in &sum.coverage {
                terminal::say(&format!("{count:>9} {name}"))?;
            }
            for (fault, count) in &sum.faults {
                terminal::say(&format!("{count:>9} fault {}", fault.name()))?;
            }
        }
        if self.json {
            let faults: BTreeMap<&str, u64> =
                sum.faults.iter().map(|(fault, count)| (fault.name(), *count)).collect();
            let all = json!({
                "seeds": sum.seeds, "days": sum.days(), "payouts": sum.payouts, "commits": sum.commits,
                "steps": sum.steps, "faults": faults, "checks": sum.checks, "coverage": sum.coverage,
                "broken": sum.broken,
            });
            terminal::say(&all.to_string())?;
        } else {
            terminal::say(&sum.line())?;
        }
        let missing = if self.coverage { missing(&sum.coverage, &sum.faults) } else { Vec::new() };
        if !missing.is_empty() {
            return Err(Failure::new(format!(
                "these seeds did not meet {}. Run more of them, or make it more likely",
                missing.join(", ")
            )));
        }
        if !sum.broken.is_empty() {
            return Err(Failure::new(format!(
                "{}. No real money was touched; repeat one with --seed",
                sum.verdict()
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
            .map(|name| Plant::named(name).ok_or_else(|| unknown("mistake", name)))
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
            plant,
            is_traced: self.trace,
            ..Options::new(0)
        })
    }

    /// Every seed, on all cores, told in their order.
    fn live(
        &self,
        range: Range<u64>,
        options: &Options,
        rulebook: &Rulebook,
    ) -> Result<Sum, Failure> {
        let mut sum = Sum::default();
        let bar = terminal::progress(range.end.saturating_sub(range.start), "seeds");
        let next = AtomicU64::new(range.start);
        let hands = std::thread::available_parallelism().map_or(1, usize::from);
        let (sender, receiver) = mpsc::sync_channel(hands.saturating_mul(2));
        std::thread::scope(|scope| {
            for _ in 0..hands {
                let (sender, next, range) = (sender.clone(), &next, &range);
                scope.spawn(move || {
                    loop {
                        let seed = next.fetch_add(1, Ordering::Relaxed);
                        if !range.contains(&seed) {
                            return;
                        }
                        let outcome = run(&Options { seed, ..options.clone() }, rulebook);
                        if sender.send((seed, outcome)).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(sender);
            // Whoever is faster waits for its turn to be told.
            let (mut early, mut wanted) = (BTreeMap::new(), range.start);
            for (seed, outcome) in receiver {
                early.insert(seed, outcome);
                while let Some(outcome) = early.remove(&wanted) {
                    let outcome = outcome.map_err(Failure::new)?;
                    sum.add(&outcome);
                    bar.inc(1);
                    self.tell(&outcome, rulebook)?;
                    wanted = wanted.saturating_add(1);
                    if outcome.broken.is_some() && !self.json {
                        // One story is enough.
                        next.store(u64::MAX, Ordering::Relaxed);
                        return Ok(sum);
                    }
                }
            }
            bar.finish_and_clear();
            Ok(sum)
        })
    }

    fn tell(&self, outcome: &Outcome, rulebook: &Rulebook) -> Result<(), Failure> {
        if self.json {
            let broken = outcome.broken.as_ref();
            let line = json!({
                "seed": outcome.options.seed, "store": store_name(outcome), "processes": outcome.processes,
                "payouts": outcome.payouts, "commits": outcome.commits, "steps": outcome.steps,
                "digest": format!("{:016x}", outcome.digest),
                "broken": broken.map(|broken| broken.invariant.name()),
                "what": broken.map(|broken| &broken.what),
            });
            return terminal::say(&line.to_string());
        }
        for line in &outcome.trace {
            terminal::say(&line.to_string())?;
        }
        match &outcome.broken {
            Some(broken) => story(outcome, broken, rulebook),
            None => Ok(()),
        }
    }
}

fn store_name(outcome: &Outcome) -> &'static str {
    if outcome.is_sqlite { "sqlite" } else { "memory" }
}

/// What broke, how to see it again, and as short a story of it as can be found.
fn story(outcome: &Outcome, broken: &Broken, rulebook: &Rulebook) -> Result<(), Failure> {
    terminal::say(&format!(
        "\nseed {} breaks {}: {}",
        outcome.options.seed,
        broken.invariant.name(),
        broken.invariant.meaning()
    ))?;
    terminal::say(&format!("{} {}", broken.about, broken.what))?;
    terminal::say(&format!("repeat it: {}", command(&outcome.options)))?;
    let small = shrink(&outcome.options, broken, rulebook).map_err(Failure::new)?;
    terminal::say(&format!("as small as it gets: {}", command(&small.options)))?;
    let Some(broken) = &small.broken else { return Ok(()) };
    terminal::say(&format!("{} {}\n", broken.about, broken.what))?;
    let is_about =
        |about: &str| broken.about.is_empty() || about.is_empty() || about == broken.about;
    // Only what concerns the flow, and what happened to everybody.
    for line in small.trace.iter().filter(|line| is_about(&line.about)) {
        terminal::say(&line.to_string())?;
    }
    Ok(())
}

fn command(options: &Options) -> String {
    let Options { seed, payouts, days, faults, store, processes, plant, .. } = options;
    let names: Vec<&str> = faults.iter().map(|fault| fault.name()).collect();
    let names = match names.len() {
        0 => "none".to_owned(),
        count if count == Fault::ALL.len() => "all".to_owned(),
        _ => names.join(","),
    };
    let mut text =
        format!("bursar simulate --seed {seed} --payouts {payouts} --days {days} --faults {names}");
    match store {
        StoreChoice::Memory => text.push_str(" --store memory"),
        StoreChoice::Sqlite => text.push_str(" --store sqlite"),
        StoreChoice::Mixed => {}
    }
    if let Some(processes) = processes {
        text.push_str(&format!(" --processes {processes}"));
    }
    if let Some(plant) = plant {
        text.push_str(&format!(" --plant {}", plant.name()));
    }
    text
}
