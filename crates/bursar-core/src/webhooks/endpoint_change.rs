//! The changes of an endpoint.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::endpoint::{Endpoint, Health, OVERLAP_MAX, Secret, Settings, Status};
use crate::rejection::Rejection;

/// A change of an endpoint by its merchant or an operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EndpointChange {
    Add {
        settings: Settings,
        secret: String,
    },
    Alter(Box<SettingsPatch>),
    Rotate {
        secret: String,
        overlap: SignedDuration,
    },
    /// The same secrets and headers sealed with another key: old and new sealed text.
    Reseal {
        anew: BTreeMap<String, String>,
    },
    Enable,
    Disable {
        reason: String,
    },
    Delete,
}

/// The settings to replace; the others stay.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SettingsPatch {
    pub url: Option<String>,
    pub event_types: Option<BTreeSet<String>>,
    pub version: Option<String>,
    /// The names, and all headers sealed in one text.
    pub headers: Option<(Vec<String>, Option<String>)>,
    pub concurrency: Option<u32>,
    /// 0 removes the limit.
    pub rate_limit: Option<u32>,
}

impl SettingsPatch {
    fn apply(&self, settings: &mut Settings) {
        let Self { url, event_types, version, headers, concurrency, rate_limit } = self.clone();
        settings.url = url.unwrap_or_else(|| std::mem::take(&mut settings.url));
        settings.event_types =
            event_types.unwrap_or_else(|| std::mem::take(&mut settings.event_types));
        settings.version = version.unwrap_or_else(|| std::mem::take(&mut settings.version));
        if let Some((names, sealed)) = headers {
            (settings.header_names, settings.headers) = (names, sealed);
        }
        settings.concurrency = concurrency.unwrap_or(settings.concurrency);
        settings.rate_limit = match rate_limit {
            Some(rate) => Some(rate).filter(|rate| *rate > 0),
            None => settings.rate_limit,
        };
    }
}

impl EndpointChange {
    /// The name of the action in the audit log.
    pub(crate) const fn action(&self) -> &'static str {
        match self {
            Self::Add { .. } => "webhook_endpoint.add",
            Self::Alter(_) => "webhook_endpoint.change",
            Self::Rotate { .. } => "webhook_endpoint.rotate_secret",
            Self::Reseal { .. } => "webhook_endpoint.reseal",
            Self::Enable => "webhook_endpoint.enable",
            Self::Disable { .. } => "webhook_endpoint.disable",
            Self::Delete => "webhook_endpoint.delete",
        }
    }

    pub(crate) fn check(&self) -> Result<(), Rejection> {
        match self {
            Self::Add { settings, .. } => settings.check(),
            Self::Rotate { overlap, .. } if overlap.is_negative() || *overlap > OVERLAP_MAX => {
                Err(Rejection::BadEndpoint { why: "an overlap has 0 seconds to 7 days".into() })
            }
            // The resulting settings are checked after the change is applied.
            Self::Alter(_)
            | Self::Rotate { .. }
            | Self::Reseal { .. }
            | Self::Enable
            | Self::Disable { .. }
            | Self::Delete => Ok(()),
        }
    }

    /// The endpoint after the change; none if the change does not apply to it.
    pub(crate) fn apply(
        &self,
        merchant: &str,
        before: Option<&Endpoint>,
        now: Timestamp,
    ) -> Option<Endpoint> {
        let Some(known) = before else { return self.first(merchant) };
        let mut endpoint = known.clone();
        if known.merchant != merchant || known.status == Status::Deleted {
            return None;
        }
        match self {
            Self::Add { .. } => return None,
            Self::Alter(patch) => patch.apply(&mut endpoint.settings),
            Self::Rotate { secret, overlap } => endpoint.rotate(secret, *overlap, now),
            Self::Reseal { anew } => {
                // A secret that was replaced meanwhile stays as it is.
                let secrets = endpoint.secrets.iter_mut().map(|secret| &mut secret.sealed);
                for sealed in secrets.chain(&mut endpoint.settings.headers) {
                    if let Some(newer) = anew.get(sealed) {
                        sealed.clone_from(newer);
                    }
                }
            }
            Self::Enable if known.is_enabled() => {}
            Self::Enable => {
                endpoint.status = Status::Enabled;
                endpoint.health = Health::default();
            }
            Self::Disable { .. } if !known.is_enabled() => {}
            Self::Disable { reason } => {
                endpoint.status = Status::Disabled { reason: reason.clone(), at: now };
            }
            Self::Delete => {
                endpoint.status = Status::Deleted;
                endpoint.secrets.clear();
                endpoint.settings.headers = None;
            }
        }
        Some(endpoint)
    }

    fn first(&self, merchant: &str) -> Option<Endpoint> {
        let Self::Add { settings, secret } = self else { return None };
        Some(Endpoint {
            merchant: merchant.to_owned(),
            settings: settings.clone(),
            status: Status::Enabled,
            secrets: vec![Secret { sealed: secret.clone(), until: None }],
            event_sequence: 0,
            health: Health::default(),
        })
    }
}
