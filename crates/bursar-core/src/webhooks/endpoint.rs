//! An endpoint of a merchant: its settings, secrets and health.
//!
//! The caller seals secrets and headers before they enter the core; only processes with the encryption keys can read
//! them.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::flow::{is_event_family, merchant_events};
use crate::ids::{DeliveryId, EndpointId};
use crate::registry::{Kind, RecordKey};
use crate::rejection::Rejection;
use crate::webhooks::delivery::RetryPolicy;

/// The only version of the payload schema.
pub const PAYLOAD_VERSION: &str = "2024-01-01";
/// Maximum number of enabled endpoints of a merchant.
pub const ENDPOINTS_MAX: usize = 16;
/// Default concurrency limit of an endpoint.
pub const CONCURRENCY: u32 = 32;
const CONCURRENCY_MAX: u32 = 256;
const RATE_MAX: u32 = 10_000;
const EVENT_TYPES_MAX: usize = 64;
/// Maximum number of secrets that sign at the same time.
const SECRETS_MAX: usize = 3;
/// The longest time for which a replaced secret still signs.
pub const OVERLAP_MAX: SignedDuration = SignedDuration::from_hours(7 * 24);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Endpoint {
    pub merchant: String,
    pub settings: Settings,
    pub status: Status,
    /// Newest first.
    pub secrets: Vec<Secret>,
    /// Number of events about the endpoint; their sequence numbers have no gaps.
    #[serde(rename = "told")]
    pub event_sequence: u64,
    #[serde(default, skip_serializing_if = "Health::is_good")]
    pub health: Health,
}

/// The settings that the merchant chooses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    pub url: String,
    /// Such as `payout.success`, `payout.*` or `*`.
    pub event_types: BTreeSet<String>,
    pub version: String,
    /// The names of the custom headers, readable; their values are sealed.
    pub header_names: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headers: Option<String>,
    pub concurrency: u32,
    /// Maximum number of deliveries that start in a second, if limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_limit: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Enabled,
    Disabled { reason: String, at: Timestamp },
    Deleted,
}

impl Status {
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Enabled => "enabled",
            Self::Disabled { .. } => "disabled",
            Self::Deleted => "deleted",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Secret {
    pub sealed: String,
    /// Until when it still signs, if there is a newer one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

/// Health since the last success.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Health {
    pub failing_since: Option<Timestamp>,
    /// Different deliveries that failed in a row, up to the number that opens the breaker.
    pub failed: BTreeSet<DeliveryId>,
    pub breaker: Option<Breaker>,
}

/// An open breaker: no delivery is sent until `until`, then one probe. If the probe fails, the pause doubles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Breaker {
    pub until: Timestamp,
    /// How often it opened in a row.
    pub times: u32,
    /// A probe is in progress.
    pub is_probing: bool,
}

/// What an attempt shows about the health of the endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HealthSignal {
    Took,
    Failed,
    /// The endpoint wants no more events (410).
    Gone,
}

/// The event types that an endpoint of a merchant receives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventFilter {
    pub endpoint: EndpointId,
    pub event_types: BTreeSet<String>,
    pub version: String,
}

impl RecordKey {
    pub fn endpoint(id: EndpointId) -> Self {
        Self { kind: Kind::Endpoint, id: id.to_string() }
    }
}

impl EventFilter {
    pub fn wants(&self, kind: &str) -> bool {
        self.event_types.iter().any(|wanted| matches(wanted, kind))
    }
}

fn matches(wanted: &str, kind: &str) -> bool {
    let is_of = |family: &str| kind.split_once('.').is_some_and(|(of, _)| of == family);
    match wanted.strip_suffix(".*") {
        Some(family) => is_of(family),
        None if wanted == "*" => kind.split_once('.').is_some_and(|(of, _)| is_event_family(of)),
        None => wanted == kind,
    }
}

impl Endpoint {
    pub const fn is_enabled(&self) -> bool {
        matches!(self.status, Status::Enabled)
    }

    /// The secrets that sign now, newest first.
    pub fn live_secrets(&self, now: Timestamp) -> impl Iterator<Item = &Secret> {
        self.secrets.iter().filter(move |secret| secret.until.is_none_or(|until| now < until))
    }

    pub(crate) fn filter(&self, endpoint: EndpointId) -> Option<EventFilter> {
        let Settings { event_types, version, .. } = &self.settings;
        self.is_enabled().then(|| EventFilter {
            endpoint,
            event_types: event_types.clone(),
            version: version.clone(),
        })
    }

    /// Records an attempt. Returns the reason for disabling the endpoint, if there is one.
    pub(crate) fn note(
        &mut self,
        sign: HealthSignal,
        delivery: DeliveryId,
        (now, schedule): (Timestamp, &RetryPolicy),
    ) -> Option<&'static str> {
        let health = &mut self.health;
        match sign {
            HealthSignal::Took => {
                *health = Health::default();
                return None;
            }
            HealthSignal::Gone => return Some("it answered 410 Gone"),
            HealthSignal::Failed => {}
        }
        let since = *health.failing_since.get_or_insert(now);
        if now.duration_since(since) >= schedule.disable_after {
            return Some("it has failed for too long without a success");
        }
        match health.breaker {
            Some(breaker) if breaker.is_probing => {
                health.breaker = Some(Breaker::open(breaker.times, now, schedule));
            }
            // The attempt started before the breaker opened and shows nothing new.
            Some(_) => {}
            None => {
                health.failed.insert(delivery);
                if health.failed.len() >= schedule.breaker_after {
                    health.failed.clear();
                    health.breaker = Some(Breaker::open(0, now, schedule));
                }
            }
        }
        None
    }
}

impl Health {
    fn is_good(&self) -> bool {
        *self == Self::default()
    }
}

impl Breaker {
    /// The pause doubles every time.
    fn open(times: u32, now: Timestamp, schedule: &RetryPolicy) -> Self {
        let factor = 2_i32.saturating_pow(times);
        let pause = schedule.breaker_pause.saturating_mul(factor).min(schedule.breaker_pause_max);
        let until = now.saturating_add(pause).unwrap_or(Timestamp::MAX);
        Self { until, times: times.saturating_add(1), is_probing: false }
    }

    /// One delivery probes the endpoint; the others wait for its outcome.
    pub(crate) fn probing(self, now: Timestamp, schedule: &RetryPolicy) -> Self {
        let until = now.saturating_add(schedule.lease).unwrap_or(Timestamp::MAX);
        Self { until, is_probing: true, ..self }
    }
}

impl Endpoint {
    /// The new secret signs at once; the earlier ones sign until the overlap ends.
    pub(super) fn rotate(&mut self, sealed: &str, overlap: SignedDuration, now: Timestamp) {
        let until = now.saturating_add(overlap).unwrap_or(Timestamp::MAX);
        for secret in &mut self.secrets {
            secret.until = Some(secret.until.map_or(until, |known| known.min(until)));
        }
        self.secrets.insert(0, Secret { sealed: sealed.to_owned(), until: None });
        self.secrets.retain(|secret| secret.until.is_none_or(|until| now < until));
        self.secrets.truncate(SECRETS_MAX);
    }
}

impl Settings {
    pub(crate) fn check(&self) -> Result<(), Rejection> {
        let bad = |why: &'static str| Err(Rejection::BadEndpoint { why: why.into() });
        if self.event_types.is_empty() || self.event_types.len() > EVENT_TYPES_MAX {
            return bad("it is subscribed to 1 to 64 event types");
        }
        if let Some(unknown) = self.event_types.iter().find(|kind| !is_event_type(kind)) {
            let unknown: String = unknown.chars().take(80).collect();
            let known: Vec<&str> = merchant_events().collect();
            let why = format!(
                "there is no event type `{unknown}`, so that it would never receive anything for it; the event types are *, payout.*, payin.*, {}",
                known.join(", ")
            );
            return Err(Rejection::BadEndpoint { why: why.into() });
        }
        if self.version != PAYLOAD_VERSION {
            return bad("the only payload version is 2024-01-01");
        }
        if !(1..=CONCURRENCY_MAX).contains(&self.concurrency) {
            return bad("its concurrency is 1 to 256");
        }
        if self.rate_limit.is_some_and(|rate| !(1..=RATE_MAX).contains(&rate)) {
            return bad("its rate limit is 1 to 10000 a second");
        }
        Ok(())
    }
}

fn is_event_type(kind: &str) -> bool {
    let is_family = kind.strip_suffix(".*").is_some_and(is_event_family);
    kind == "*" || is_family || merchant_events().any(|known| known == kind)
}
