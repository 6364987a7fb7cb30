//! Conversion of the configuration into the rules of the core, the connections and the server settings.

use std::collections::{BTreeMap, BTreeSet};

use bursar_connect::{Connections, ErrorMap};
use bursar_core::flow::host::Hosting;
use bursar_core::four_eyes::{Action, ApprovalRule};
use bursar_core::ids::BooksId;
use bursar_core::ledger::rulebook::Rulebook;
use bursar_core::money::{Currency, Money};
use bursar_core::rules::Rules;
use bursar_server::{AlertLimits, CallbackSettings};
use jiff::SignedDuration;

use super::{ApprovalConfig, Config, check_identifier};
use crate::failure::Failure;

impl Config {
    /// The rules of the core.
    pub fn rules(&self, rulebook: Rulebook) -> Result<Rules, Failure> {
        let markets = self.markets()?;
        let currencies: BTreeSet<Currency> = markets.iter().map(|market| market.currency).collect();
        let default_bank = self.default_bank_id()?.to_owned();
        let mut channels = BTreeMap::new();
        for (name, config) in &self.channels {
            let channel = config.channel(name, config.bank_id(&default_bank), &currencies)?;
            channels.insert(name.clone(), channel);
        }
        let mut providers = BTreeMap::new();
        for (name, provider) in &self.providers {
            if self.channels.contains_key(name) {
                return Err(Failure::new(format!(
                    "the configuration cannot be used: `{name}` is a channel and a provider, and their callbacks would have the same path. Nothing was started; give one of them another name"
                )));
            }
            let bank = provider.bank_id.as_ref().unwrap_or(&default_bank);
            check_identifier(&format!("providers.{name}.bank_id"), bank)?;
            providers.insert(name.clone(), bank.clone());
        }
        let dispatch = self.dispatch(&channels)?;
        Ok(Rules {
            // Set when the books are opened.
            books: BooksId::NONE,
            rulebook,
            channels,
            dispatch,
            payout_tariffs: markets.iter().map(|market| (market.currency, market.payout)).collect(),
            payin_tariffs: markets.iter().map(|market| (market.currency, market.payin)).collect(),
            providers,
            default_bank,
            four_eyes_above: whole_units("review.four_eyes_above", &self.review.four_eyes_above)?,
            approvals: approvals(&self.approvals)?,
            largest: self.largest(&currencies)?,
            deliveries: self.webhooks.schedule()?,
            hosting: Hosting::Engine,
        })
    }

    /// The largest payment in each currency of the markets.
    fn largest(
        &self,
        currencies: &BTreeSet<Currency>,
    ) -> Result<BTreeMap<Currency, Money>, Failure> {
        let units = whole_units("limits.largest", &self.limits.largest)?;
        if units == 0 {
            return Err(Failure::new(
                "the configuration cannot be used: limits.largest is zero, and every payment would be rejected. Nothing was started",
            ));
        }
        let usual = |currency: &Currency| {
            let unit = 10_i64.saturating_pow(u32::from(currency.decimals()));
            (*currency, Money::from_minor(units.saturating_mul(unit), *currency))
        };
        let mut largest: BTreeMap<Currency, Money> = currencies.iter().map(usual).collect();
        for (code, text) in &self.limits.largest_in {
            let wrong = |error: &dyn std::fmt::Display| {
                Failure::new(format!(
                    "the configuration cannot be used: limits.largest_in.{code}: {error}. Nothing was started"
                ))
            };
            let currency: Currency = code.parse().map_err(|error| wrong(&error))?;
            let money = Money::parse(text, currency).map_err(|error| wrong(&error))?;
            if money.minor() <= 0 {
                return Err(wrong(&"the largest amount must be above zero"));
            }
            largest.insert(currency, money);
        }
        Ok(largest)
    }

    /// The connections to the channels.
    pub fn connections(&self, rules: &Rules) -> Result<Connections, Failure> {
        let mut connections = Vec::new();
        for (name, config) in &self.channels {
            if let Some(channel) = rules.channels.get(name) {
                connections.push((name.clone(), config.connection(channel)?));
            }
        }
        Ok(Connections::new(connections))
    }

    /// Callback settings of every channel and provider that signs callbacks.
    pub fn callbacks(&self) -> Result<BTreeMap<String, CallbackSettings>, Failure> {
        let mut callbacks = BTreeMap::new();
        for (name, config) in &self.channels {
            if let Some(secret) = config.callback_secret(name)? {
                let errors = config.error_map(name)?;
                callbacks.insert(name.clone(), CallbackSettings { secret, errors });
            }
        }
        for (name, config) in &self.providers {
            if let Some(secret) = config.callback_secret(name)? {
                let errors = ErrorMap::default();
                callbacks.insert(name.clone(), CallbackSettings { secret, errors });
            }
        }
        Ok(callbacks)
    }

    pub fn alert_limits(&self) -> Result<AlertLimits, Failure> {
        let (alerts, days) = (&self.alerts, self.restore.recheck_days);
        for (key, given, bounds) in [
            ("alerts.stuck_age_s", u64::from(alerts.stuck_age_s), 0..=2_592_000),
            ("alerts.outbox_age_s", u64::from(alerts.outbox_age_s), 0..=86_400),
            ("alerts.unknown_percent", alerts.unknown_percent, 0..=99),
            ("restore.recheck_days", u64::from(days), 1..=365),
        ] {
            if !bounds.contains(&given) {
                let (least, most) = (bounds.start(), bounds.end());
                return Err(Failure::new(format!(
                    "the configuration cannot be used: {key} is {given}, and must be {least} to {most}. Nothing was started"
                )));
            }
        }
        Ok(AlertLimits {
            stuck_age: SignedDuration::from_secs(alerts.stuck_age_s.into()),
            outbox_age: SignedDuration::from_secs(alerts.outbox_age_s.into()),
            unknown_percent: alerts.unknown_percent,
            recheck_age: SignedDuration::from_hours(i64::from(days).saturating_mul(24)),
            ..AlertLimits::default()
        })
    }
}

/// A number of whole units; fractions are rejected, because currencies differ in their decimals.
fn whole_units(key: &str, text: &str) -> Result<i64, Failure> {
    let (units, cents) = text.split_once('.').unwrap_or((text, ""));
    let units: Option<i64> = units.parse().ok().filter(|units| *units >= 0);
    let is_whole = cents.bytes().all(|digit| digit == b'0');
    units.filter(|_| is_whole).ok_or_else(|| {
        Failure::new(format!(
            "the configuration cannot be used: {key} is `{text}`, but it must be a whole number of units such as \"1000000.00\". Nothing was started"
        ))
    })
}

/// The rules of approvals that are not the usual ones.
fn approvals(configured: &[ApprovalConfig]) -> Result<BTreeMap<Action, ApprovalRule>, Failure> {
    let mut rules = BTreeMap::new();
    for ApprovalConfig { action: name, above, quorum, break_glass } in configured {
        let wrong = |what: String| {
            Failure::new(format!(
                "the configuration cannot be used: [[approvals]] {what}. Nothing was started"
            ))
        };
        let Some(action) = Action::ALL.into_iter().find(|action| action.name() == name) else {
            let known = Action::ALL.map(Action::name).join(", ");
            return Err(wrong(format!("names the action `{name}`; the actions are {known}")));
        };
        if !(1..=5).contains(quorum) {
            return Err(wrong(format!("asks for {quorum} people for {name}; choose 1 to 5")));
        }
        if above.is_some() && !action.has_amount() {
            return Err(wrong(format!("has `above` for {name}, which has no amount")));
        }
        if *break_glass == Some(true) && !action.usual().break_glass {
            let known = Action::RevokeKey.name();
            return Err(wrong(format!(
                "allows break_glass for {name}, and one person alone would do what takes two; it exists for {known}"
            )));
        }
        let units = |text: &String| whole_units(&format!("approvals.{name}.above"), text);
        let rule = ApprovalRule {
            above: above.as_ref().map(units).transpose()?,
            quorum: *quorum,
            break_glass: break_glass.unwrap_or(action.usual().break_glass),
        };
        if rules.insert(action, rule).is_some() {
            return Err(wrong(format!("has two rules for {name}")));
        }
    }
    Ok(rules)
}
