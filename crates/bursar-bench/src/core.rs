//! The core alone: how fast is a template, compared with the same postings written by hand in Rust (raw) and with a
//! template that is parsed for every run (naive)?

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Duration;

use bursar_core::ids::Seed;
use bursar_core::ledger::journal::{Posting, WORLD};
use bursar_core::ledger::rulebook::{Bound, Rule};
use bursar_core::ledger::{Admission, Ledger};
use bursar_core::money::{Currency, Money};
use bursar_core::numscript::{Features, Inputs, Mode, Name, Program, Snapshot};
use bursar_node::failure::Failure;
use bursar_node::rulebook::load_rulebook;
use bursar_node::terminal;
use bursar_store::Memory;
use clap::Args;
use jiff::Timestamp;

use super::payouts::{Driver, Merchants, Payouts, in_flight_max, open, rules, runtime};
use super::summary::{Figure, Floor};
use super::{rate, ratio};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Duration of each measurement
    #[arg(long, value_name = "SECONDS", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=60))]
    pub(super) seconds: u64,
}

const EVENT: &str = "PAYIN_COLLECTION";
/// As many merchants as `bench ledger` has.
const MERCHANTS: usize = 1_000;
/// The required rates of a template and of a payout.
const FLOOR: u128 = 300_000;

impl Arguments {
    pub(super) fn run(self) -> Result<Vec<Figure>, Failure> {
        let duration = Duration::from_secs(self.seconds);
        let rulebook = load_rulebook(None)?;
        let payins = Payins::new()?;
        let rule = rulebook.rule(EVENT).map_err(|rejection| Failure::new(rejection.to_string()))?;
        let bound = payins.bind(rule)?;
        let raw = raw(duration, &payins)?;
        let template = template(duration, &bound)?;
        let naive = naive(duration, rule, &payins)?;
        let post = post(duration, rule, &payins)?;
        let rows = [
            ("raw: the same postings, by hand in Rust", raw),
            ("template: compiled once, run", template),
            ("naive: parsed for every run", naive),
            ("post: decimals, template, double entry, balances, reference", post),
        ]
        .into_iter()
        .map(|(name, value)| {
            vec![name.to_owned(), value.to_string(), ratio(value, raw), ratio(value, naive)]
        })
        .collect();
        let header = [
            &format!("{EVENT}, 4 postings, {MERCHANTS} merchants"),
            "per second",
            "× raw",
            "× naive",
        ];
        terminal::say(&terminal::table(&header, 1, rows).to_string())?;
        let verdict = if template >= FLOOR { "reached" } else { "missed" };
        terminal::say(&format!("floor of {FLOOR} template runs a second: {verdict}"))?;
        let figure = |name: &str, value, unit| Figure {
            name: format!("core.{name}"),
            value,
            unit,
            limit: raw,
            floor: None,
        };
        let payouts = Figure {
            name: "core.payouts".to_owned(),
            value: payouts(duration)?,
            unit: "payouts/s",
            limit: FLOOR,
            floor: Some(Floor::AtLeast(100)),
        };
        let verdict = payouts.verdict().unwrap_or_default();
        terminal::say(&format!(
            "payouts from request to payment, in memory: {} a second, {verdict}",
            payouts.value
        ))?;
        let figures =
            vec![payouts, figure("post", post, "posts/s"), figure("template", template, "runs/s")];
        for figure in &figures {
            terminal::say(&figure.line())?;
        }
        Ok(figures)
    }
}

/// A pay-in for each of the merchants.
struct Payins {
    currency: Currency,
    variables: Vec<BTreeMap<String, String>>,
    addresses: Vec<[Name; 4]>,
}

impl Payins {
    fn new() -> Result<Self, Failure> {
        let currency: Currency = "PKR".parse().map_err(|error| Failure::new(format!("{error}")))?;
        let mut variables = Vec::with_capacity(MERCHANTS);
        let mut addresses = Vec::with_capacity(MERCHANTS);
        for merchant in 0..MERCHANTS {
            let pairs = [
                ("merchantId", format!("m{merchant}")),
                ("bankId", "main".to_owned()),
                ("currency", currency.to_string()),
                ("gross", "100.00".to_owned()),
                ("fee", "2.90".to_owned()),
                ("vat", "0.58".to_owned()),
            ];
            variables
                .push(pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect());
            addresses.push([
                "assets:bank:main:PKR".into(),
                format!("merchants:m{merchant}:available:PKR").into(),
                "revenue:payin:PKR".into(),
                "liabilities:vat:PKR".into(),
            ]);
        }
        Ok(Self { currency, variables, addresses })
    }

    fn bind<'r>(&self, rule: &'r Rule) -> Result<Vec<Bound<'r>>, Failure> {
        self.variables
            .iter()
            .map(|variables| rule.bind("bench", variables, None))
            .collect::<Result<_, _>>()
            .map_err(|rejection| Failure::new(rejection.to_string()))
    }
}

fn raw(duration: Duration, payins: &Payins) -> Result<u128, Failure> {
    let world = Name::from(WORLD);
    let mut balances: BTreeMap<Name, i64> = BTreeMap::new();
    rate(duration, 1_000, |count| {
        let Some(addresses) = pick(&payins.addresses, count) else { return Ok(()) };
        let mut postings = Vec::with_capacity(4);
        for (address, minor) in addresses.iter().zip([10_000, 9_652, 290, 58]) {
            let balance = balances.entry(Name::clone(address)).or_default();
            *balance = balance.wrapping_add(minor);
            postings.push(Posting {
                source: Name::clone(&world),
                destination: Name::clone(address),
                money: Money::from_minor(minor, payins.currency),
            });
        }
        black_box(postings);
        Ok(())
    })
}

fn template(duration: Duration, bound: &[Bound<'_>]) -> Result<u128, Failure> {
    let records = Snapshot::default();
    rate(duration, 1_000, |count| {
        let Some(bound) = pick(bound, count) else { return Ok(()) };
        black_box(bound.run(&records).map_err(|error| Failure::new(error.to_string()))?);
        Ok(())
    })
}

fn naive(duration: Duration, rule: &Rule, payins: &Payins) -> Result<u128, Failure> {
    let records = Snapshot::default();
    rate(duration, 100, |count| {
        let Some([bank, merchant, fees, vat]) = pick(&payins.addresses, count) else {
            return Ok(());
        };
        let inputs: BTreeMap<String, String> = [
            ("gl_1000", bank.to_string()),
            ("gl_2004", merchant.to_string()),
            ("gl_4000", fees.to_string()),
            ("gl_2100", vat.to_string()),
            ("gross", "PKR/2 10000".to_owned()),
            ("fee", "PKR/2 290".to_owned()),
            ("vat", "PKR/2 58".to_owned()),
        ]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
        let outcome = Program::new(rule.template(), Features::NONE, Mode::Safe)
            .and_then(|program| program.run(&Inputs::Text(&inputs), &records));
        black_box(outcome.map_err(|error| Failure::new(error.to_string()))?);
        Ok(())
    })
}

fn post(duration: Duration, rule: &Rule, payins: &Payins) -> Result<u128, Failure> {
    let now = Timestamp::UNIX_EPOCH;
    let mut ledger = Ledger::default();
    let mut posted: u64 = 0;
    rate(duration, 1_000, |count| {
        // A periodic fresh ledger bounds the memory of the benchmark.
        if posted == 500_000 {
            ledger = Ledger::default();
            posted = 0;
        }
        posted = posted.saturating_add(1);
        let Some(variables) = pick(&payins.variables, count) else { return Ok(()) };
        let admission = Admission { now, seed: Seed::from(count) };
        let outcome = rule
            .bind(&format!("r{count}"), variables, None)
            .and_then(|bound| ledger.post_bound(&bound, &admission));
        black_box(outcome.map_err(|rejection| Failure::new(rejection.to_string()))?);
        Ok(())
    })
}

/// The complete lifecycle of payouts through engine and core, in memory.
fn payouts(duration: Duration) -> Result<u128, Failure> {
    const BATCH: u32 = 1_000;
    let rules = rules(in_flight_max(BATCH))?;
    let mut store = Memory::default();
    let mut driver = Driver::new(&rules, BATCH, Seed::from(1));
    let mut payouts = Payouts::new(Merchants::Uniform, 1);
    runtime()?.block_on(async {
        open(&mut store, &rules, Merchants::Uniform).await?;
        let (mut time, mut done) = (Duration::default(), 0_u128);
        while time < duration {
            driver.ask(&mut store, &rules, payouts.next(BATCH), &mut time).await?;
            done = done.saturating_add(BATCH.into());
        }
        driver.finish(&mut store, &rules, &mut time).await?;
        let nanoseconds = time.as_nanos().max(1);
        Ok(done.saturating_mul(1_000_000_000).checked_div(nanoseconds).unwrap_or_default())
    })
}

/// Cycles through the items.
fn pick<T>(items: &[T], count: u64) -> Option<&T> {
    let length = u64::try_from(items.len()).ok()?;
    items.get(usize::try_from(count.checked_rem(length)?).ok()?)
}
