//! Settings of dispatch, by kind and channel: defaults, then the configuration file, then a record.

use jiff::SignedDuration;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use super::pace::Pace;
use super::rate::Rate;
use super::window::{AtCutOff, Calendar, Window};

/// What the file or a record says; the rest is as in the source before it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// False stops all sending.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// What the channel has agreed to. No rate may be above it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contract_per_s: Option<Rate>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_per_s: Option<Rate>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch_size: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_concurrency: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub horizon_ms: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late_ms: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter_ms: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub windows: Option<Vec<Window>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holidays: Option<Vec<Date>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_cut_off: Option<AtCutOff>,
    /// Only `false`: payments of a window are not begun with a few.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ramp: Option<bool>,
}

/// The settings that are in force.
#[derive(Debug, Clone)]
pub struct Config {
    pub is_enabled: bool,
    pub pace: Option<Pace>,
    pub batch_size: u32,
    /// Over all processes.
    pub max_concurrency: u32,
    /// A slot that is missed by more is not used.
    pub late: SignedDuration,
    pub jitter_ms: u32,
    pub calendar: Calendar,
    pub at_cut_off: AtCutOff,
}

const BATCH_SIZE: u32 = 500;
const HORIZON_MS: u32 = 250;
const LATE_MS: u32 = 250;

impl Settings {
    /// Fails with the key and what is wrong with it.
    pub fn check(&self) -> Result<(), String> {
        let bounds = [
            ("burst", self.burst, 1..=10_000),
            ("batch_size", self.batch_size, 1..=5_000),
            ("max_concurrency", self.max_concurrency, 1..=100_000),
            ("horizon_ms", self.horizon_ms, 50..=1_000),
            ("late_ms", self.late_ms, 50..=5_000),
            ("jitter_ms", self.jitter_ms, 0..=5_000),
        ];
        for (key, value, range) in bounds {
            if let Some(value) = value.filter(|value| !range.contains(value)) {
                let (least, most) = (range.start(), range.end());
                return Err(format!("{key} is {value}, but it must be from {least} to {most}"));
            }
        }
        if let (Some(rate), Some(contract)) = (self.rate_per_s, self.contract_per_s)
            && rate > contract
        {
            return Err(format!("rate_per_s is {rate}, above the contract_per_s of {contract}"));
        }
        if self.ramp == Some(true) {
            return Err("ramp can only be false".to_owned());
        }
        let windows = self.windows.as_deref().unwrap_or_default();
        Calendar::new(windows, &[]).map(drop).map_err(|reason| format!("windows: {reason}"))
    }

    /// These settings, and where they say nothing, those below.
    #[must_use]
    pub fn over(&self, below: &Self) -> Self {
        let (it, below) = (self.clone(), below.clone());
        Self {
            enabled: it.enabled.or(below.enabled),
            // The lower contract holds.
            contract_per_s: it.contract_per_s.into_iter().chain(below.contract_per_s).min(),
            rate_per_s: it.rate_per_s.or(below.rate_per_s),
            burst: it.burst.or(below.burst),
            batch_size: it.batch_size.or(below.batch_size),
            max_concurrency: it.max_concurrency.or(below.max_concurrency),
            horizon_ms: it.horizon_ms.or(below.horizon_ms),
            late_ms: it.late_ms.or(below.late_ms),
            jitter_ms: it.jitter_ms.or(below.jitter_ms),
            windows: it.windows.or(below.windows),
            holidays: it.holidays.or(below.holidays),
            at_cut_off: it.at_cut_off.or(below.at_cut_off),
            ramp: it.ramp.or(below.ramp),
        }
    }

    /// The built-in values, with the concurrency of the channel.
    pub fn defaults(concurrency: u32) -> Self {
        Self {
            enabled: Some(true),
            burst: Some(1),
            batch_size: Some(BATCH_SIZE),
            max_concurrency: Some(concurrency),
            horizon_ms: Some(HORIZON_MS),
            late_ms: Some(LATE_MS),
            jitter_ms: Some(0),
            windows: Some(Vec::new()),
            holidays: Some(Vec::new()),
            at_cut_off: Some(AtCutOff::Hold),
            ramp: Some(false),
            contract_per_s: None,
            rate_per_s: None,
        }
    }

    /// Whether they limit anything. A channel that nothing limits is sent to by every process on its own.
    pub fn is_limited(&self) -> bool {
        self.enabled == Some(false)
            || self.contract_per_s.is_some()
            || self.rate_per_s.is_some()
            || self.max_concurrency.is_some()
            || self.windows.as_ref().is_some_and(|windows| !windows.is_empty())
    }

    /// The settings in force over these. What is wrong in a record counts as not enabled: nothing is sent.
    pub fn config(&self, concurrency: u32) -> Config {
        let it = self.over(&Self::defaults(concurrency));
        let rate = [it.rate_per_s, it.contract_per_s].into_iter().flatten().min();
        let millis =
            |value: Option<u32>| SignedDuration::from_millis(value.unwrap_or_default().into());
        let pace =
            |rate| Pace { rate, burst: it.burst.unwrap_or(1), horizon: millis(it.horizon_ms) };
        let windows = it.windows.as_deref().unwrap_or_default();
        let calendar = Calendar::new(windows, it.holidays.as_deref().unwrap_or_default());
        Config {
            is_enabled: it.enabled.unwrap_or(true) && calendar.is_ok(),
            pace: rate.map(pace),
            batch_size: it.batch_size.unwrap_or(BATCH_SIZE),
            max_concurrency: it.max_concurrency.unwrap_or(concurrency),
            late: millis(it.late_ms),
            jitter_ms: it.jitter_ms.unwrap_or_default(),
            calendar: calendar.unwrap_or_default(),
            at_cut_off: it.at_cut_off.unwrap_or_default(),
        }
    }
}
