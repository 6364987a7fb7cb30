//! The rulebook: event type → GL mapping → accounts of the chart → template that moves the money.
//!
//! Chart, mappings and templates are data. They are versioned together, and a rulebook exists only if every
//! template does what its mapping says: drift is an error, not a warning.

mod bind;
mod drift;
pub mod mapping;
mod plain;
mod rule;
mod symbols;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest as _, Sha256};

pub(crate) use bind::RequestHash;
pub use bind::{Bound, BoundAccount, ForeignPosting, Values};
pub use drift::Drift;
pub use mapping::HoldEffect;
use rule::Book;
pub use rule::Rule;

use crate::ledger::chart::{Chart, ChartError, GlAccount};
use crate::numscript::Name;
use crate::rejection::Rejection;

#[derive(Debug, Clone)]
pub struct Rulebook {
    version: u32,
    hash: [u8; 32],
    chart: Chart,
    rules: BTreeMap<Name, Rule>,
}

/// The texts of a rulebook.
#[derive(Debug, Clone)]
pub struct Sources<'a> {
    pub version: u32,
    pub chart: &'a str,
    pub mappings: &'a str,
    /// Event and template.
    pub templates: &'a [(&'a str, &'a str)],
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RulebookError {
    #[error("the chart cannot be used: {0}")]
    Chart(#[from] ChartError),
    #[error("the mappings cannot be used: {0}")]
    Mappings(#[from] mapping::MappingError),
    #[error("drift={}: chart, mappings and templates do not agree", .0.len())]
    Drift(Vec<Drift>),
}

impl Rulebook {
    /// The rulebook that comes with Bursar.
    pub fn bundled() -> Result<Self, RulebookError> {
        Self::new(&BUNDLED)
    }

    /// The bundled rulebook with the finance team's chart.
    pub fn with_chart(chart: &str) -> Result<Self, RulebookError> {
        let rulebook = Self::new(&Sources { chart, ..BUNDLED })?;
        keep_apart(&Chart::parse(BUNDLED.chart)?, &rulebook.chart)?;
        Ok(rulebook)
    }

    pub fn new(sources: &Sources<'_>) -> Result<Self, RulebookError> {
        let chart = Chart::parse(sources.chart)?;
        let mut mappings = mapping::parse(sources.mappings)?;
        let book = Book { chart: &chart, hash: hash(sources) };
        let mut drifts = Vec::new();
        let mut rules = BTreeMap::new();
        for (event, template) in sources.templates {
            let event = Name::from(*event);
            let Some(lines) = mappings.remove(&event) else {
                drifts.push(Drift::MissingMapping { event });
                continue;
            };
            match Rule::new(&event, lines, template, &book) {
                Ok(rule) => {
                    drifts.extend(drift::check(&rule, &chart));
                    rules.insert(event, rule);
                }
                Err(found) => drifts.extend(found),
            }
        }
        drifts.extend(mappings.into_keys().map(|event| Drift::MissingTemplate { event }));
        if !drifts.is_empty() {
            return Err(RulebookError::Drift(drifts));
        }
        let hash = book.hash;
        Ok(Self { version: sources.version, hash, chart, rules })
    }

    pub fn version(&self) -> u32 {
        self.version
    }

    /// A hash of exactly these texts; every transaction carries it.
    pub fn hash(&self) -> [u8; 32] {
        self.hash
    }

    pub fn chart(&self) -> &Chart {
        &self.chart
    }

    pub fn rules(&self) -> impl Iterator<Item = &Rule> {
        self.rules.values()
    }

    pub fn rule(&self, event: &str) -> Result<&Rule, Rejection> {
        self.rules.get(event).ok_or_else(|| Rejection::UnknownEvent {
            event: event.chars().take(64).collect(),
            known: self.rules.keys().map(ToString::to_string).collect(),
        })
    }

    /// Codes with an address that no event books on: allowed, but an operator should check them.
    pub fn unused_codes(&self) -> Vec<&GlAccount> {
        let lines = self.rules.values().flat_map(Rule::lines);
        let used: BTreeSet<_> = lines.flat_map(|line| [line.debit, line.credit]).collect();
        self.chart
            .accounts()
            .filter(|account| account.pattern.is_some() && !used.contains(&account.code))
            .map(|account| &**account)
            .collect()
    }
}

/// A chart may move accounts, but must separate what the bundled one separates: without `{merchantId}`, all merchants
/// would share one account. (Currencies are always separate.)
fn keep_apart(bundled: &Chart, chart: &Chart) -> Result<(), ChartError> {
    for original in bundled.accounts() {
        let (Some(original), Some(replaced)) =
            (&original.pattern, chart.get(original.code).and_then(|gl| gl.pattern.as_ref()))
        else {
            continue;
        };
        for name in original.placeholders().filter(|name| &***name != "currency") {
            if !replaced.placeholders().any(|kept| kept == name) {
                let reason = format!(
                    "`{replaced}` must contain {{{name}}}: without it, accounts that belong to different owners would be one"
                );
                return Err(ChartError { line: 0, reason });
            }
        }
    }
    Ok(())
}

fn hash(sources: &Sources<'_>) -> [u8; 32] {
    let mut hash = Sha256::new();
    let mut add = |text: &str| {
        hash.update(u64::try_from(text.len()).unwrap_or(u64::MAX).to_be_bytes());
        hash.update(text.as_bytes());
    };
    add(&sources.version.to_string());
    add(sources.chart);
    add(sources.mappings);
    for (event, template) in sources.templates {
        add(event);
        add(template);
    }
    hash.finalize().into()
}

macro_rules! template {
    ($event:literal) => {
        ($event, include_str!(concat!("../../../rulebook/templates/", $event, ".num")))
    };
}

const BUNDLED: Sources<'static> = Sources {
    version: 1,
    chart: include_str!("../../../rulebook/chart.csv"),
    mappings: include_str!("../../../rulebook/mappings.csv"),
    templates: &[
        template!("ADJUSTMENT_CREDIT"),
        template!("ADJUSTMENT_DEBIT"),
        template!("CHARGEBACK_HOLD"),
        template!("CHARGEBACK_LOST"),
        template!("CHARGEBACK_WON"),
        template!("FUNDS_AVAILABLE"),
        template!("FX_CONVERSION"),
        template!("PAYIN_CAPTURE"),
        template!("PAYIN_COLLECTION"),
        template!("PAYOUT_RELEASE"),
        template!("PAYOUT_RESERVE"),
        template!("PAYOUT_RETURN"),
        template!("PAYOUT_SETTLE"),
        template!("PROVIDER_SETTLEMENT"),
        template!("RECEIVABLE_WRITE_OFF"),
        template!("REFUND"),
        template!("SUBSCRIPTION_INVOICE_COLLECTION"),
        template!("VAT_REMITTANCE"),
    ],
};
