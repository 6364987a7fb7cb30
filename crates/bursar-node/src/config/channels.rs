//! Configuration of channels and providers.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bursar_connect::simulator::Profile;
use bursar_connect::{
    Auth, Connection, ErrorMap, HttpChannel, HttpSettings, Meaning, Secret, SimChannel,
    SimSettings, Target,
};
use bursar_core::money::Currency;
use bursar_core::payouts::ATTEMPTS_MAX;
use bursar_core::payouts::channel::{Channel, Clocks, ReportsAmount};
use jiff::SignedDuration;
use serde::Deserialize;

use super::secrets::secret;
use crate::failure::Failure;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChannelConfig {
    kind: Kind,
    url: Option<String>,
    currencies: Option<Vec<String>>,
    bank_id: Option<String>,
    #[serde(default)]
    pub(super) auth: AuthConfig,
    #[serde(default)]
    submit_is_idempotent: bool,
    #[serde(default)]
    not_found_is_final: bool,
    visibility_window_s: Option<f64>,
    failed_is_final: Option<bool>,
    #[serde(default)]
    reports_amount: ReportsAmountConfig,
    concurrency: Option<u32>,
    pub(super) callback_secret: Option<String>,
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
pub(super) enum AuthConfig {
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
    pub(super) callback_secret: Option<String>,
}

impl std::fmt::Debug for ProviderConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProviderConfig").field("bank_id", &self.bank_id).finish_non_exhaustive()
    }
}

impl ProviderConfig {
    pub fn callback_secret(&self, name: &str) -> Result<Option<Secret>, Failure> {
        let key = format!("providers.{name}.callback_secret");
        self.callback_secret.as_deref().map(|text| secret(&key, text)).transpose()
    }
}

impl ChannelConfig {
    pub fn callback_secret(&self, name: &str) -> Result<Option<Secret>, Failure> {
        let key = format!("channels.{name}.callback_secret");
        self.callback_secret.as_deref().map(|text| secret(&key, text)).transpose()
    }

    pub fn bank_id<'c>(&'c self, default: &'c str) -> &'c str {
        self.bank_id.as_deref().unwrap_or(default)
    }

    /// Submissions in flight at once.
    pub(super) fn concurrency(&self) -> u32 {
        self.concurrency.unwrap_or(64)
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
        let none = || wrong(name, "currencies", "name at least one, or no payout goes through it");
        let currencies = match (&self.currencies, self.kind) {
            (Some(codes), _) if codes.is_empty() => return Err(none()),
            (Some(codes), _) => codes
                .iter()
                .map(|code| code.parse().map_err(|error| wrong(name, "currencies", &error)))
                .collect::<Result<_, _>>()?,
            (None, Kind::Sim) => markets.clone(),
            (None, Kind::Http) => return Err(none()),
        };
        let window = self.visibility_window_s.unwrap_or(60.0);
        Ok(Channel {
            name: name.to_owned(),
            currencies,
            bank: bank.to_owned(),
            submit_is_idempotent: self.submit_is_idempotent,
            not_found_is_final: self.not_found_is_final,
            visibility_window: duration(name, ("visibility_window_s", WINDOW), window)?,
            failed_is_final: self.failed_is_final.unwrap_or(true),
            reports_amount: match self.reports_amount {
                ReportsAmountConfig::Required => ReportsAmount::Required,
                ReportsAmountConfig::IfPresent => ReportsAmount::IfPresent,
                ReportsAmountConfig::Never => ReportsAmount::Never,
            },
            concurrency: count(name, "concurrency", self.concurrency(), CONCURRENCY_MAX)?,
            clocks: self.clocks(name)?,
        })
    }

    fn clocks(&self, name: &str) -> Result<Clocks, Failure> {
        let usual = Clocks::of(name);
        let or = |key, bounds, given: Option<f64>, usual: SignedDuration| {
            given.map_or(Ok(usual), |seconds| duration(name, (key, bounds), seconds))
        };
        let requeries: Vec<SignedDuration> = match &self.requery_schedule_s {
            Some(schedule) => schedule
                .iter()
                .map(|seconds| duration(name, ("requery_schedule_s", PAUSE), *seconds))
                .collect::<Result<_, _>>()?,
            None => usual.requeries,
        };
        if !(1..=REQUERIES_MAX).contains(&requeries.len()) {
            let expected = format!("give 1 to {REQUERIES_MAX} pauses");
            return Err(wrong(name, "requery_schedule_s", &expected));
        }
        let (tries, attempts) = (self.tries_max, self.attempts_max);
        let first_retry = or("first_retry_s", PAUSE, self.first_retry_s, usual.first_retry)?;
        // A longer first pause alone is the longest one, too.
        let last_retry = usual.last_retry.max(first_retry);
        let last_retry = or("last_retry_s", PAUSE, self.last_retry_s, last_retry)?;
        if last_retry < first_retry {
            let why = "it is the longest pause, and shorter than first_retry_s, the first one";
            return Err(wrong(name, "last_retry_s", why));
        }
        Ok(Clocks {
            submit_timeout: or(
                "submit_timeout_s",
                TIMEOUT,
                self.submit_timeout_s,
                usual.submit_timeout,
            )?,
            query_timeout: or(
                "query_timeout_s",
                TIMEOUT,
                self.query_timeout_s,
                usual.query_timeout,
            )?,
            tries_max: count(name, "tries_max", tries.unwrap_or(usual.tries_max), TRIES_MAX)?,
            first_retry,
            last_retry,
            attempts_max: count(
                name,
                "attempts_max",
                attempts.unwrap_or(usual.attempts_max),
                ATTEMPTS_MAX,
            )?,
            requeries,
            poll_interval: or("poll_interval_s", PAUSE, self.poll_interval_s, usual.poll_interval)?,
            poll_deadline: or("poll_deadline_s", SPAN, self.poll_deadline_s, usual.poll_deadline)?,
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

    fn auth(&self, name: &str, url: &str) -> Result<Auth, Failure> {
        match &self.auth {
            AuthConfig::None => Ok(Auth::None),
            AuthConfig::Bearer(_) if is_overheard(url) => Err(wrong(
                name,
                "auth.bearer",
                "the token would be sent to another machine in clear text, and pays for everyone who reads it there: use https, or hmac, which sends no secret",
            )),
            AuthConfig::Bearer(token) => {
                Ok(Auth::Bearer(secret(&format!("channels.{name}.auth.bearer"), token)?))
            }
            AuthConfig::Hmac { key_id, secret: text } => {
                let secret = secret(&format!("channels.{name}.auth.hmac.secret"), text)?;
                Ok(Auth::Hmac { key_id: key_id.clone(), secret })
            }
        }
    }

    /// Whether its requests go to another machine in clear text.
    pub(super) fn is_overheard(&self) -> bool {
        self.url.as_deref().is_some_and(is_overheard)
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
                    auth: self.auth(name, url)?,
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

fn is_overheard(url: &str) -> bool {
    Target::parse(url).is_ok_and(|target| target.is_overheard())
}

/// The shortest and longest duration, in seconds.
type Bounds = (f64, f64);

const TIMEOUT: Bounds = (0.01, 3_600.0);
const PAUSE: Bounds = (0.01, 86_400.0);
const SPAN: Bounds = (0.01, 2_592_000.0);
/// A channel may show at once what it was sent.
const WINDOW: Bounds = (0.0, 2_592_000.0);
const REQUERIES_MAX: usize = 100;
const TRIES_MAX: u32 = 100;
const CONCURRENCY_MAX: u32 = 10_000;

fn duration(
    name: &str,
    (key, (least, most)): (&str, Bounds),
    seconds: f64,
) -> Result<SignedDuration, Failure> {
    let is_good = (least..=most).contains(&seconds);
    let span = SignedDuration::try_from_secs_f64(seconds).ok().filter(|_| is_good);
    span.ok_or_else(|| wrong(name, key, &format!("give {least} to {most} seconds")))
}

fn count(name: &str, key: &str, given: u32, most: u32) -> Result<u32, Failure> {
    let is_good = (1..=most).contains(&given);
    is_good.then_some(given).ok_or_else(|| wrong(name, key, &format!("give 1 to {most}")))
}

fn wrong(name: &str, key: &str, error: &(impl std::fmt::Display + ?Sized)) -> Failure {
    Failure::new(format!(
        "the configuration cannot be used: channels.{name}.{key}: {error}. Nothing was started"
    ))
}
