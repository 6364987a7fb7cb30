//! Configuration of webhooks: retry policy, header names and blocked hosts.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bursar_connect::webhook::{Policy, Sender, Settings};
use bursar_core::webhooks::delivery::RetryPolicy;
use jiff::SignedDuration;
use serde::Deserialize;

use crate::failure::Failure;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebhooksConfig {
    pub brand: String,
    pub retry_schedule_s: Vec<u32>,
    pub timeout_s: u32,
    pub allow_hosts: Vec<String>,
    pub own_hosts: Vec<String>,
    pub nameservers: Vec<SocketAddr>,
}

/// Added to the request timeout for the lease of an attempt: waiting for a connection and for the commit.
const MARGIN_S: i64 = 5;

/// The longest pause between two attempts: 30 days.
const PAUSE_MAX_S: u32 = 2_592_000;

impl WebhooksConfig {
    /// The webhook sender with its host policy.
    pub fn sender(&self) -> Result<Arc<Sender>, Failure> {
        let wrong = |error: String| {
            Failure::new(format!(
                "the configuration cannot be used: webhooks: {error}. Nothing was started"
            ))
        };
        let policy = Policy::new(&self.allow_hosts, &self.own_hosts);
        let settings = Settings {
            brand: self.brand.clone(),
            policy: policy.map_err(|error| wrong(error.to_string()))?,
            nameservers: self.nameservers.clone(),
            timeout: Duration::from_secs(self.timeout_s.into()),
            ..Settings::default()
        };
        Ok(Arc::new(Sender::new(settings).map_err(|error| wrong(error.to_string()))?))
    }

    pub(super) fn schedule(&self) -> Result<RetryPolicy, Failure> {
        if self.retry_schedule_s.len() > 64 || !(1..=300).contains(&self.timeout_s) {
            return Err(Failure::new(
                "the configuration cannot be used: webhooks.retry_schedule_s has at most 64 pauses, and webhooks.timeout_s is 1 to 300. Nothing was started",
            ));
        }
        if !self.retry_schedule_s.iter().all(|pause| (1..=PAUSE_MAX_S).contains(pause)) {
            return Err(Failure::new(format!(
                "the configuration cannot be used: webhooks.retry_schedule_s has pauses of 1 to {PAUSE_MAX_S} seconds. Nothing was started"
            )));
        }
        let seconds = |seconds: &u32| SignedDuration::from_secs(i64::from(*seconds));
        let lease = i64::from(self.timeout_s).saturating_add(MARGIN_S);
        Ok(RetryPolicy {
            pauses: self.retry_schedule_s.iter().map(seconds).collect(),
            lease: SignedDuration::from_secs(lease),
            ..RetryPolicy::default()
        })
    }
}
