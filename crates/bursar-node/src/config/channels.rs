//! Configuration of channels and providers.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bursar_connect::simulator::Profile;
use bursar_connect::{
    Auth, Connection, ErrorMap, HttpChannel, HttpSettings, Meaning, Secret, SimChannel, SimSettings,
};
use bursar_core::money::Currency;
use bursar_core::payouts::channel::{Channel, Clocks, ReportsAmount};
use jiff::SignedDuration;
use serde::Deserialize;

use crate::failure::Failure;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChannelConfig {
    kind: Kind,
    url: Option<String>,
    currencies: Option<Vec<String>>,
    bank_id: Option<String>,
    #[serde(default)]
    auth: AuthConfig,
    #[serde(default)]
    submit_is_idempotent: bool,
    #[serde(default)]
    not_found_is_final: bool,
    visibility_window_s: Option<f64>,
    failed_is_final: Option<bool>,
    #[serde(default)]
    reports_amount: ReportsAmountConfig,
    concurrency: Option<u32>,
    callback_secret: Option<String>,
    callback_url: Option<String>,
    submit_timeout_s: Option<f64>,
    query_timeout_s: Option<f64>,
    tries_max: Option<u32>,
    first_retry_s: Option<f64>,
    last_retry_s: Option<f64>,
    attempts_max: Option<u32>,
    requery_schedule_s: Option<Vec<f64>>,
    poll_interval_s: Option<f64>,
    poll_deadline_s: Option<f64>,
    #[serde(default)]
    errors: BTreeMap<String, String>,
    #[serde(default)]
    statuses: BTreeMap<String, String>,
    profile: Option<String>,
    seed: Option<u64>,
}

/// Omits secrets.
impl std::fmt::Debug for ChannelConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChannelConfig").field("kind", &self.kind).finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Http,
    Sim,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ReportsAmountConfig {
    Required,
    #[default]
    IfPresent,
    Never,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum AuthConfig {
    #[default]
    None,
    Bearer(String),
    Hmac {
        key_id: String,
        secret: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderConfig {
    pub bank_id: Option<String>,
    callback_secret: Option<String>,
}

impl std::fmt::Debug for ProviderConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProviderConfig").field("bank_id", &self.bank_id).finish_non_exhaustive()
    }
}

impl ProviderConfig {
    pub fn callback_secret(&self) -> Option<Secret> {
        self.callback_secret.clone().map(Secret::new)
    }
}

impl ChannelConfig {
    pub fn callback_secret(&self) -> Option<Secret> {
        self.callback_secret.clone().map(Secret::new)
    }

    pub fn bank_id<'c>(&'c self, default: &'c str) -> &'c str {
        self.bank_id.as_deref().unwrap_or(default)
    }

    /// Submissions in flight at once.
    pub(super) fn concurrency(&self) -> u32 {
        self.concurrency.unwrap_or(64).max(1)
    }

    /// The channel as the core sees it. A simulated channel pays every currency of the markets.
    pub fn channel(
        &self,
        name: &str,
        bank: &str,
        markets: &BTreeSet<Currency>,
    ) -> Result<Channel, Failure> {
        super::check_identifier("the name of a channel", name)?;
        super::check_identifier(&format!("channels.{name}.bank_id"), bank)?;
        let currencies = match (&self.currencies, self.kind) {
            (Some(codes), _) => codes
                .iter()
                .map(|code| code.parse().map_err(|error| wrong(name, "currencies", &error)))
                .collect::<Result<_, _>>()?,
            (None, Kind::Sim) => markets.clone(),
            (None, Kind::Http) => return Err(wrong(name, "currencies", "name at least one")),
        };
        let window = self.visibility_window_s.unwrap_or(60.0);
        Ok(Channel {
            name: name.to_owned(),
            currencies,
            bank: bank.to_owned(),
            submit_is_idempotent: self.submit_is_idempotent,
            not_found_is_final: self.not_found_is_final,
            visibility_window: duration(name, "visibility_window_s", window)?,
            failed_is_final: self.failed_is_final.unwrap_or(true),
            reports_amount: match self.reports_amount {
                ReportsAmountConfig::Required => ReportsAmount::Required,
                ReportsAmountConfig::IfPresent => ReportsAmount::IfPresent,
                ReportsAmountConfig::Never => ReportsAmount::Never,
            },
            concurrency: self.concurrency(),
            clocks: self.clocks(name)?,
        })
    }

    fn clocks(&self, name: &str) -> Result<Clocks, Failure> {
        let usual = Clocks::of(name);
        let or = |key: &str, given: Option<f64>, usual: SignedDuration| {
            given.map_or(Ok(usual), |seconds| duration(name, key, seconds))
        };
        let requeries = match &self.requery_schedule_s {
            Some(schedule) => schedule
                .iter()
                .map(|seconds| duration(name, "requery_schedule_s", *seconds))
                .collect::<Result<_, _>>()?,
            None => usual.requeries,
        };
        Ok(Clocks {
            submit_timeout: or("submit_timeout_s", self.submit_timeout_s, usual.submit_timeout)?,
            query_timeout: or("query_timeout_s", self.query_timeout_s, usual.query_timeout)?,
            tries_max: self.tries_max.unwrap_or(usual.tries_max).max(1),
            first_retry: or("first_retry_s", self.first_retry_s, usual.first_retry)?,
            last_retry: or("last_retry_s", self.last_retry_s, usual.last_retry)?,
            attempts_max: self.attempts_max.unwrap_or(usual.attempts_max).max(1),
            requeries,
            poll_interval: or("poll_interval_s", self.poll_interval_s, usual.poll_interval)?,
            poll_deadline: or("poll_deadline_s", self.poll_deadline_s, usual.poll_deadline)?,
        })
    }

    /// The meaning of its error codes: the defaults and its own.
    pub fn error_map(&self, name: &str) -> Result<ErrorMap, Failure> {
        let mut map = ErrorMap::default();
        for (code, word) in &self.errors {
            let meaning: Meaning = word
                .parse()
                .map_err(|error| wrong(name, &format!("errors.{code}"), &format!("{error}")))?;
            map.codes.insert(code.clone(), meaning);
        }
        for (status, word) in &self.statuses {
            let key = format!("statuses.{status}");
            let number =
                status.parse().map_err(|_| wrong(name, &key, "an HTTP status is a number"))?;
            let meaning = word.parse().map_err(|error| wrong(name, &key, &format!("{error}")))?;
            map.statuses.insert(number, meaning);
        }
        Ok(map)
    }

    /// The connection to the channel.
    pub fn connection(&self, channel: &Channel) -> Result<Connection, Failure> {
        let name = &channel.name;
        let timeout = |key, span: SignedDuration| {
            Duration::try_from(span).map_err(|error| wrong(name, key, &error.to_string()))
        };
        let submit_timeout = timeout("submit_timeout_s", channel.clocks.submit_timeout)?;
        let query_timeout = timeout("query_timeout_s", channel.clocks.query_timeout)?;
        match self.kind {
            Kind::Http => {
                let Some(url) = &self.url else {
                    return Err(wrong(name, "url", "say where the channel is"));
                };
                let settings = HttpSettings {
                    auth: match &self.auth {
                        AuthConfig::None => Auth::None,
                        AuthConfig::Bearer(token) => Auth::Bearer(Secret::new(token)),
                        AuthConfig::Hmac { key_id, secret } => {
                            Auth::Hmac { key_id: key_id.clone(), secret: Secret::new(secret) }
                        }
                    },
                    submit_timeout,
                    query_timeout,
                    callback_url: self.callback_url.clone(),
                    error_map: self.error_map(name)?,
                    ..HttpSettings::new(url)
                };
                let made = HttpChannel::new(settings);
                made.map(Connection::Http).map_err(|error| wrong(name, "url", &error.to_string()))
            }
            Kind::Sim => {
                let profile: Profile = self
                    .profile
                    .as_deref()
                    .unwrap_or("calm")
                    .parse()
                    .map_err(|error| wrong(name, "profile", &format!("{error}")))?;
                let mut settings = SimSettings {
                    submit_timeout,
                    query_timeout,
                    ..SimSettings::new(profile, self.seed.unwrap_or(1))
                };
                settings.options.is_idempotent = self.submit_is_idempotent;
                Ok(Connection::Sim(SimChannel::new(settings)))
            }
        }
    }
}

fn duration(name: &str, key: &str, seconds: f64) -> Result<SignedDuration, Failure> {
    let is_good = (0.0..=31_536_000.0).contains(&seconds);
    let span = SignedDuration::try_from_secs_f64(seconds).ok().filter(|_| is_good);
    span.ok_or_else(|| wrong(name, key, "give seconds between 0 and a year"))
}

fn wrong(name: &str, key: &str, error: &(impl std::fmt::Display + ?Sized)) -> Failure {
    Failure::new(format!(
        "the configuration cannot be used: channels.{name}.{key}: {error}. Nothing was started"
    ))
}
