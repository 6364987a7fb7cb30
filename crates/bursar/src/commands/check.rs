//! `bursar check`: validates the configuration and the chart of accounts without starting anything.

use std::path::{Path, PathBuf};

use bursar_core::ledger::rulebook::Rulebook;
use bursar_core::money::Currency;
use bursar_node::config::{Config, DEFAULTS, admin_key};
use bursar_node::failure::Failure;
use bursar_node::rulebook::load_rulebook;
use bursar_node::terminal;
use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Check this chart of accounts instead of the configured one
    #[arg(long, value_name = "FILE.csv")]
    chart: Option<PathBuf>,
    /// Print the documented default configuration and exit
    #[arg(long, conflicts_with = "chart")]
    defaults: bool,
}

impl Arguments {
    pub(crate) fn run(self, config: Option<&Path>) -> Result<(), Failure> {
        if self.defaults {
            return terminal::say(DEFAULTS.trim_end());
        }
        let config = Config::load(config)?;
        let markets = config.markets()?;
        config.default_bank_id()?;
        let names: Vec<String> =
            markets.iter().map(|market| format!("{}/{}", market.name, market.currency)).collect();
        terminal::say(&format!("configuration: ok, markets {}", names.join(" ")))?;

        let path = self.chart.or_else(|| config.chart_path());
        let rulebook = load_rulebook(path.as_deref())?;
        let chart = path.map_or("the bundled chart".to_owned(), |path| path.display().to_string());
        terminal::say(&format!(
            "chart: ok, {} codes from {chart}",
            rulebook.chart().accounts().count()
        ))?;
        for unused in rulebook.unused_codes() {
            terminal::say(&format!(
                "warning: {} {} is not used by any event",
                unused.code, unused.name
            ))?;
        }
        let count = rulebook.rules().count();
        terminal::say(&format!(
            "rulebook: version {}, {count} events, {count} mappings, {count} templates, hash {}",
            rulebook.version(),
            fingerprint(&rulebook)
        ))?;
        let rules = config.rules(rulebook)?;
        config.connections(&rules)?;
        config.callbacks()?;
        config.http_limits()?;
        config.alert_limits()?;
        config.webhooks.sender()?;
        admin_key()?;
        for channel in rules.channels.values() {
            let currencies: Vec<&str> = channel.currencies.iter().map(Currency::code).collect();
            terminal::say(&format!(
                "channel: {} pays {} from {}, {} at once",
                channel.name,
                currencies.join(" "),
                channel.bank,
                channel.concurrency
            ))?;
        }
        for warning in config.warnings(&rules) {
            terminal::say(&format!("warning: {warning}"))?;
        }
        terminal::say("drift=0")
    }
}

/// The first bytes of the hash, to distinguish two rulebooks by eye.
fn fingerprint(rulebook: &Rulebook) -> String {
    let start = rulebook.hash().first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
    format!("{start:016x}")
}
