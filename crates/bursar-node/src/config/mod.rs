//! Configuration: built-in defaults, then one TOML file, then `BURSAR_…` variables. Unknown keys are errors.

mod channels;
mod dispatch;
mod http;
mod rules;
mod secrets;
mod warnings;
mod webhooks;

use std::collections::BTreeMap;
use std::num::NonZeroU8;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bursar_core::dispatch::Settings;
use bursar_core::flow::host::Naming;
use bursar_core::ledger::pricing::Tariff;
use bursar_core::money::Currency;
use bursar_store::ClockKind;
use serde::Deserialize;

use crate::books::BooksOptions;
use crate::failure::Failure;
use crate::witness;

use channels::AuthConfig;
pub use channels::{ChannelConfig, ProviderConfig};
pub use http::HttpConfig;
pub use secrets::admin_key;
pub use webhooks::WebhooksConfig;

/// The documented defaults; `bursar check --defaults` prints them.
pub const DEFAULTS: &str = include_str!("../../bursar.toml");

/// The file that is read if it exists and none is named.
pub const FILE: &str = "bursar.toml";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    pub default_bank_id: String,
    pub ledger: LedgerConfig,
    pub store: StoreConfig,
    pub restore: RestoreConfig,
    pub api: ApiConfig,
    pub http: HttpConfig,
    pub review: ReviewConfig,
    #[serde(default)]
    pub approvals: Vec<ApprovalConfig>,
    pub limits: LimitsConfig,
    pub alerts: AlertsConfig,
    pub webhooks: WebhooksConfig,
    pub temporal: TemporalConfig,
    #[serde(default)]
    pub channels: BTreeMap<String, ChannelConfig>,
    #[serde(default)]
    pub providers: BTreeMap<String, ProviderConfig>,
    /// By kind of flow and channel.
    #[serde(default)]
    pub dispatch: BTreeMap<String, BTreeMap<String, Settings>>,
    pub fees: BTreeMap<String, MarketFees>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApiConfig {
    pub rate_limit_per_s: u32,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReviewConfig {
    pub four_eyes_above: String,
}

/// How many people an action needs, if it is not the usual.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalConfig {
    pub action: String,
    /// In whole units of every currency.
    pub above: Option<String>,
    /// With the person who proposes it; one for none.
    #[serde(default = "two")]
    pub quorum: u32,
    pub break_glass: Option<bool>,
}

const fn two() -> u32 {
    2
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimitsConfig {
    /// In whole units of every currency.
    pub largest: String,
    /// Decimals, for currencies with another limit.
    #[serde(default)]
    pub largest_in: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoreConfig {
    /// Empty for the state directory of the user.
    pub witness: PathBuf,
    pub replicas: Replicas,
    /// How long a request may wait for books in PostgreSQL.
    pub answer_timeout_s: NonZeroU8,
}

/// Whether a replica has every commit before it is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Replicas {
    Asynchronous,
    Synchronous,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RestoreConfig {
    pub recheck_days: u32,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AlertsConfig {
    pub stuck_age_s: u32,
    pub outbox_age_s: u32,
    pub unknown_percent: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TemporalConfig {
    /// Idempotency keys are unique across merchants: the workflow id needs no merchant.
    keys_are_unique: bool,
}

impl TemporalConfig {
    pub fn naming(&self) -> Naming {
        if self.keys_are_unique { Naming::ByKey } else { Naming::ByMerchant }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LedgerConfig {
    /// Empty for the chart that comes with Bursar.
    pub chart: PathBuf,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MarketFees {
    pub currency: String,
    pub payin_flat: String,
    pub payin_basis_points: u32,
    pub payout_flat: String,
    pub payout_basis_points: u32,
    pub vat_basis_points: u32,
}

/// The fees of a market.
#[derive(Debug, Clone)]
pub struct Market {
    pub name: String,
    pub currency: Currency,
    pub payin: Tariff,
    pub payout: Tariff,
}

impl Config {
    /// Reads the named file, or `bursar.toml` if it is there, and the environment.
    pub fn load(path: Option<&Path>) -> Result<Self, Failure> {
        let mut tree = parse(DEFAULTS, "the built-in defaults")?;
        let file = match path {
            Some(path) => Some(path.to_owned()),
            None => Some(PathBuf::from(FILE)).filter(|path| path.exists()),
        };
        if let Some(path) = file {
            let text =
                std::fs::read_to_string(&path).map_err(|error| Failure::reading(&path, &error))?;
            merge(&mut tree, parse(&text, &path.display().to_string())?);
        }
        for (name, value) in std::env::vars_os() {
            let Some(name) = name.to_str().filter(|name| name.starts_with("BURSAR_")) else {
                continue;
            };
            let Some(value) = value.to_str() else {
                return Err(Failure::new(format!(
                    "the variable {name} is not text. Nothing was started"
                )));
            };
            override_with(&mut tree, name, value)?;
        }
        tree.try_into().map_err(|error: toml::de::Error| {
            Failure::new(format!(
                "the configuration cannot be used: {}. Nothing was started; `bursar check --defaults` shows every key",
                error.message()
            ))
        })
    }

    /// How a process with this clock opens its books.
    pub fn books(&self, clock: ClockKind) -> BooksOptions {
        BooksOptions {
            clock,
            witness: witness::directory(&self.store.witness),
            has_synchronous_replicas: self.store.replicas == Replicas::Synchronous,
        }
    }

    pub fn answer_timeout(&self) -> Duration {
        Duration::from_secs(u64::from(self.store.answer_timeout_s.get()))
    }

    /// The finance team's chart, if one is configured.
    pub fn chart_path(&self) -> Option<PathBuf> {
        Some(self.ledger.chart.clone()).filter(|path| !path.as_os_str().is_empty())
    }

    /// The bank of channels and providers that do not name one.
    pub fn default_bank_id(&self) -> Result<&str, Failure> {
        check_identifier("default_bank_id", &self.default_bank_id)?;
        Ok(&self.default_bank_id)
    }

    /// The markets, with their amounts read in their own currencies.
    pub fn markets(&self) -> Result<Vec<Market>, Failure> {
        let markets = self.read_markets()?;
        let mut of = BTreeMap::new();
        for Market { name, currency, .. } in &markets {
            if let Some(other) = of.insert(*currency, name) {
                return Err(Failure::new(format!(
                    "the configuration cannot be used: fees.{other} and fees.{name} both have {currency}, and it is not known which fees a payment in {currency} costs. Nothing was started; keep one of them"
                )));
            }
        }
        Ok(markets)
    }

    fn read_markets(&self) -> Result<Vec<Market>, Failure> {
        self.fees
            .iter()
            .map(|(name, fees)| {
                check_identifier("the name of a market", name)?;
                let wrong = |key: &str, error: String| {
                    Failure::new(format!(
                        "the configuration cannot be used: fees.{name}.{key}: {error}. Nothing was started"
                    ))
                };
                let currency: Currency =
                    fees.currency.parse().map_err(|error| wrong("currency", format!("{error}")))?;
                let tariff = |key: &str, flat: &str, basis_points: u32| {
                    Tariff::new(flat, basis_points, fees.vat_basis_points, currency)
                        .map_err(|error| wrong(key, error.to_string()))
                };
                Ok(Market {
                    name: name.clone(),
                    currency,
                    payin: tariff("payin_flat", &fees.payin_flat, fees.payin_basis_points)?,
                    payout: tariff("payout_flat", &fees.payout_flat, fees.payout_basis_points)?,
                })
            })
            .collect()
    }
}

/// Checks a value that becomes part of an account address.
pub fn check_identifier(what: &str, value: &str) -> Result<(), Failure> {
    let is_good = (1..=64).contains(&value.len())
        && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if is_good {
        return Ok(());
    }
    Err(Failure::new(format!(
        "the configuration cannot be used: {what} is `{value}`, but it must be 1 to 64 letters, digits and `_`. Nothing was started"
    )))
}

fn parse(text: &str, name: &str) -> Result<toml::Table, Failure> {
    text.parse().map_err(|error: toml::de::Error| {
        Failure::new(format!("{name} is not TOML: {error}Nothing was started; correct the file"))
    })
}

/// Tables are merged key by key; everything else is replaced.
fn merge(base: &mut toml::Table, over: toml::Table) {
    for (key, value) in over {
        match (base.get_mut(&key), value) {
            (Some(toml::Value::Table(base)), toml::Value::Table(over)) => merge(base, over),
            (_, value) => {
                base.insert(key, value);
            }
        }
    }
}

/// `BURSAR_LEDGER__CHART=chart.csv` sets `ledger.chart`; `BURSAR_DEFAULT_BANK_ID=x` sets a key at the top. A name with
/// `__` is always a key, so that a misspelt one is an error; other `BURSAR_` variables have meanings of their own.
fn override_with(tree: &mut toml::Table, name: &str, value: &str) -> Result<(), Failure> {
    let Some(path) = name.strip_prefix("BURSAR_") else { return Ok(()) };
    let mut parts: Vec<&str> = path.split("__").collect();
    let Some(last) = parts.pop() else { return Ok(()) };
    if parts.is_empty() && !tree.keys().any(|key| key.eq_ignore_ascii_case(last)) {
        return Ok(());
    }
    let mut table = tree;
    for part in parts {
        let entry = table.entry(spelling(table, part)).or_insert_with(|| toml::Table::new().into());
        let toml::Value::Table(inner) = entry else {
            let reason = format!("the variable {name} names a key below `{part}`, which has none");
            return Err(Failure::new(format!("{reason}. Nothing was started; correct its name")));
        };
        table = inner;
    }
    let key = spelling(table, last);
    let is_number =
        matches!(table.get(&key), Some(toml::Value::Integer(_) | toml::Value::Float(_)));
    let integer = || value.parse().map(toml::Value::Integer).ok();
    let float = || value.parse().map(toml::Value::Float).ok();
    let parsed = integer().or_else(float).filter(|_| is_number);
    table.insert(key, parsed.unwrap_or_else(|| toml::Value::String(value.to_owned())));
    Ok(())
}

/// The key as the table spells it, or in lower case if it is new.
fn spelling(table: &toml::Table, part: &str) -> String {
    let known = table.keys().find(|key| key.eq_ignore_ascii_case(part)).cloned();
    known.unwrap_or_else(|| part.to_ascii_lowercase())
}

#[cfg(test)]
mod tests;
