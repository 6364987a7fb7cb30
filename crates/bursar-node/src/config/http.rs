//! Configuration of connections and timeouts of the API.

use std::time::Duration;

use bursar_server::HttpLimits;
use serde::Deserialize;

use super::{ChannelConfig, Config};
use crate::failure::Failure;
use crate::files;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpConfig {
    header_timeout_s: f64,
    body_timeout_s: f64,
    body_grace_s: f64,
    body_bytes_per_s_min: u32,
    idle_timeout_s: f64,
    drain_timeout_s: f64,
    pub(super) connections_max: usize,
    connections_per_address: usize,
    wrong_keys_per_minute: u32,
}

/// The longest timeout.
const TIMEOUT_MAX: Duration = Duration::from_hours(1);
/// The longest drain: supervisors kill a process that takes longer to stop.
const DRAIN_MAX: Duration = Duration::from_secs(15);

impl Config {
    /// The connections that the file limit of this process allows.
    pub(super) fn connections_possible(&self) -> usize {
        let concurrency = self.channels.values().map(ChannelConfig::concurrency);
        files::connections_max(concurrency.fold(0, u32::saturating_add))
    }

    /// The limits of the API in this process.
    pub fn http_limits(&self) -> Result<HttpLimits, Failure> {
        let http = &self.http;
        let connections_max = match http.connections_max {
            0 => self.connections_possible(),
            set => set,
        };
        let three_quarters = connections_max.saturating_sub(connections_max >> 2);
        let connections_per_address = match http.connections_per_address {
            0 => three_quarters,
            set => set,
        };
        if http.body_bytes_per_s_min == 0 {
            return Err(wrong("body_bytes_per_s_min", "at least 1"));
        }
        Ok(HttpLimits {
            header_timeout: seconds("header_timeout_s", http.header_timeout_s, TIMEOUT_MAX)?,
            body_timeout: seconds("body_timeout_s", http.body_timeout_s, TIMEOUT_MAX)?,
            body_grace: seconds("body_grace_s", http.body_grace_s, TIMEOUT_MAX)?,
            body_bytes_per_s_min: http.body_bytes_per_s_min,
            idle_timeout: seconds("idle_timeout_s", http.idle_timeout_s, TIMEOUT_MAX)?,
            drain_timeout: seconds("drain_timeout_s", http.drain_timeout_s, DRAIN_MAX)?,
            connections_max,
            connections_per_address,
            wrong_keys_per_minute: http.wrong_keys_per_minute,
        })
    }
}

fn seconds(key: &str, value: f64, most: Duration) -> Result<Duration, Failure> {
    let is_good = |found: &Duration| (Duration::from_millis(10)..=most).contains(found);
    let found = Duration::try_from_secs_f64(value).ok().filter(is_good);
    found.ok_or_else(|| wrong(key, &format!("0.01 to {} seconds", most.as_secs())))
}

fn wrong(key: &str, expected: &str) -> Failure {
    Failure::new(format!(
        "the configuration cannot be used: http.{key} must be {expected}. Nothing was started"
    ))
}
