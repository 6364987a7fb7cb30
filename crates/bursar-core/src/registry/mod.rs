//! The registry: merchants, beneficiaries, webhook endpoints, API keys and alerts.
//!
//! A record is small, changes rarely, and is read by its kind and id. Every change is audited; a changed alert emits an
//! event instead.

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

mod apply;
mod change;

use crate::dispatch::{Rate, Settings, Standing, WEIGHT};
use crate::feed::BOOKS;
use crate::flow::to_json;
use crate::four_eyes::person_named;
use crate::ids::ApiKeyId;
use crate::payouts::{Beneficiary, ReportedPayment};
use crate::webhooks::{Endpoint, EventFilter};

pub(crate) use apply::Ready;
pub use apply::{Registered, Reply, Request};
pub use change::{Change, Registration};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Merchant,
    Beneficiary,
    ApiKey,
    Alert,
    Endpoint,
    Anchor,
    ReportedPayment,
    DispatchSettings,
    DispatchState,
}

impl Kind {
    pub const ALL: [Self; 9] = [
        Self::Merchant,
        Self::Beneficiary,
        Self::ApiKey,
        Self::Alert,
        Self::Endpoint,
        Self::Anchor,
        Self::ReportedPayment,
        Self::DispatchSettings,
        Self::DispatchState,
    ];

    /// The stored name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Merchant => "merchant",
            Self::Beneficiary => "beneficiary",
            Self::ApiKey => "api_key",
            Self::Alert => "alert",
            Self::Endpoint => "webhook_endpoint",
            Self::Anchor => "anchor",
            Self::ReportedPayment => "reported_payment",
            Self::DispatchSettings => "dispatch_config",
            Self::DispatchState => "dispatch_state",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Merchant => "merchant",
            Self::Beneficiary => "beneficiary",
            Self::ApiKey => "API key",
            Self::Alert => "alert",
            Self::Endpoint => "webhook endpoint",
            Self::Anchor => "anchor",
            Self::ReportedPayment => "reported payment",
            Self::DispatchSettings => "dispatch settings",
            Self::DispatchState => "dispatch state",
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RecordKey {
    pub kind: Kind,
    pub id: String,
}

impl RecordKey {
    pub fn merchant(id: &str) -> Self {
        Self { kind: Kind::Merchant, id: id.to_owned() }
    }

    /// The one anchor.
    pub fn anchor() -> Self {
        Self { kind: Kind::Anchor, id: BOOKS.to_owned() }
    }
}

/// A stored record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    pub id: String,
    /// Counts changes from 1. Optimistic lock: the store rejects the commit with `Conflict` unless it still finds the
    /// version that was read.
    pub version: u64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub content: Content,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    Merchant(Merchant),
    Beneficiary(BeneficiaryRecord),
    ApiKey(ApiKey),
    Alert(Alert),
    Endpoint(Box<Endpoint>),
    Anchor(Anchor),
    ReportedPayment(ReportedPayment),
    DispatchSettings(Box<Settings>),
    DispatchState(Box<Standing>),
}

/// The last commit that was published: its number and hash, kept by readers of the feed, prove that the books up to it were
/// not rewritten.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Anchor {
    pub sequence: u64,
    /// In hexadecimal.
    pub hash: String,
}

/// A condition that an operator must look at, raised and cleared by the monitoring.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Alert {
    pub is_raised: bool,
    pub detail: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Merchant {
    pub name: String,
    pub status: MerchantStatus,
    /// The enabled endpoints and their event types, kept here so that fan-out reads no other record.
    #[serde(default, skip_serializing_if = "Vec::is_empty", rename = "subscriptions")]
    pub event_filters: Vec<EventFilter>,
    /// Its share of the channels.
    #[serde(default, skip_serializing_if = "DispatchShare::is_default")]
    pub dispatch: DispatchShare,
}

/// The share of a merchant in the channels that it uses with others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DispatchShare {
    /// Of two merchants that both wait, the one with twice the weight is sent twice as often.
    pub weight: u32,
    /// How many flows of the merchant are sent a second at most, by channel.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub rate_per_s: BTreeMap<String, Rate>,
}

impl Default for DispatchShare {
    fn default() -> Self {
        Self { weight: WEIGHT, rate_per_s: BTreeMap::new() }
    }
}

impl DispatchShare {
    /// Fails with the key and what is wrong with it.
    pub(crate) fn check(&self) -> Result<(), String> {
        if (1..=10_000).contains(&self.weight) {
            return Ok(());
        }
        Err(format!("weight is {}, but it must be from 1 to 10000", self.weight))
    }

    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// A closed merchant makes no new payouts and takes no new pay-ins; its live flows finish.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MerchantStatus {
    Open,
    Closed,
}

/// A beneficiary that a merchant pays repeatedly. It never changes: another account is another beneficiary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BeneficiaryRecord {
    pub merchant: String,
    pub details: Beneficiary,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApiKey {
    /// The display name.
    pub name: String,
    /// The person behind the key, if it is not the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<String>,
    /// The people who made the key alone: its creator, and the creators of the creator's key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub made_by: Vec<String>,
    pub role: Role,
    /// The only merchant that the key can see, for keys of merchants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merchant: Option<String>,
    /// SHA-256 of the key, in hexadecimal. The key itself is shown once and kept nowhere.
    pub digest: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Timestamp>,
}

/// The permissions of an API key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Only the data and payouts of one merchant.
    Merchant,
    /// Reads everything, records pay-ins, decides about stuck payouts, freezes.
    Operator,
    /// The second person for decisions that need two.
    Approver,
    Admin,
}

impl Role {
    pub const ALL: [Self; 4] = [Self::Merchant, Self::Operator, Self::Approver, Self::Admin];

    /// Whether a key of this role may be the approver of two people.
    pub const fn may_approve(self) -> bool {
        match self {
            Self::Approver | Self::Admin => true,
            Self::Merchant | Self::Operator => false,
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Merchant => "merchant",
            Self::Operator => "operator",
            Self::Approver => "approver",
            Self::Admin => "admin",
        }
    }
}

/// A record that a commit writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordWrite {
    /// The version that was read; none for a new record.
    pub before: Option<u64>,
    pub after: Record,
}

/// A stored record that this version of Bursar cannot read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a stored {kind} does not read back: {reason}")]
pub struct UnreadableRecord {
    kind: String,
    reason: String,
}

impl Content {
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Merchant(_) => Kind::Merchant,
            Self::Beneficiary(_) => Kind::Beneficiary,
            Self::ApiKey(_) => Kind::ApiKey,
            Self::Alert(_) => Kind::Alert,
            Self::Endpoint(_) => Kind::Endpoint,
            Self::Anchor(_) => Kind::Anchor,
            Self::ReportedPayment(_) => Kind::ReportedPayment,
            Self::DispatchSettings(_) => Kind::DispatchSettings,
            Self::DispatchState(_) => Kind::DispatchState,
        }
    }

    pub fn encode(&self) -> String {
        match self {
            Self::Merchant(merchant) => to_json(merchant),
            Self::Beneficiary(beneficiary) => to_json(beneficiary),
            Self::ApiKey(key) => to_json(key),
            Self::Alert(alert) => to_json(alert),
            Self::Endpoint(endpoint) => to_json(endpoint),
            Self::Anchor(anchor) => to_json(anchor),
            Self::ReportedPayment(row) => to_json(row),
            Self::DispatchSettings(settings) => to_json(settings),
            Self::DispatchState(standing) => to_json(standing),
        }
    }

    /// Decodes the output of `encode`.
    pub fn decode(kind: &str, text: &str) -> Result<Self, UnreadableRecord> {
        let unreadable = |reason: String| UnreadableRecord { kind: kind.to_owned(), reason };
        let Some(known) = Kind::ALL.into_iter().find(|known| known.name() == kind) else {
            return Err(unreadable("this version does not know such records".to_owned()));
        };
        let read = match known {
            Kind::Merchant => serde_json::from_str(text).map(Self::Merchant),
            Kind::Beneficiary => serde_json::from_str(text).map(Self::Beneficiary),
            Kind::ApiKey => serde_json::from_str(text).map(Self::ApiKey),
            Kind::Alert => serde_json::from_str(text).map(Self::Alert),
            Kind::Endpoint => serde_json::from_str(text).map(Self::Endpoint),
            Kind::Anchor => serde_json::from_str(text).map(Self::Anchor),
            Kind::ReportedPayment => serde_json::from_str(text).map(Self::ReportedPayment),
            Kind::DispatchSettings => serde_json::from_str(text).map(Self::DispatchSettings),
            Kind::DispatchState => serde_json::from_str(text).map(Self::DispatchState),
        };
        read.map_err(|error| unreadable(error.to_string()))
    }
}

impl Record {
    pub fn key(&self) -> RecordKey {
        RecordKey { kind: self.content.kind(), id: self.id.clone() }
    }

    /// The merchant that owns the record and may read it; empty if there is none.
    pub fn merchant(&self) -> &str {
        match &self.content {
            Content::Merchant(_) => &self.id,
            Content::Beneficiary(beneficiary) => &beneficiary.merchant,
            Content::ApiKey(key) => key.merchant.as_deref().unwrap_or_default(),
            Content::Endpoint(endpoint) => &endpoint.merchant,
            Content::Alert(_)
            | Content::Anchor(_)
            | Content::ReportedPayment(_)
            | Content::DispatchSettings(_)
            | Content::DispatchState(_) => "",
        }
    }
}

impl Content {
    pub fn merchant(&self) -> Option<&Merchant> {
        if let Self::Merchant(merchant) = self { Some(merchant) } else { None }
    }

    pub fn endpoint(&self) -> Option<&Endpoint> {
        if let Self::Endpoint(endpoint) = self { Some(endpoint) } else { None }
    }

    pub(crate) fn reported_payment(&self) -> Option<&ReportedPayment> {
        if let Self::ReportedPayment(row) = self { Some(row) } else { None }
    }

    pub fn dispatch_settings(&self) -> Option<&Settings> {
        if let Self::DispatchSettings(settings) = self { Some(settings) } else { None }
    }

    pub fn dispatch_state(&self) -> Option<&Standing> {
        if let Self::DispatchState(standing) = self { Some(standing) } else { None }
    }
}

impl ApiKey {
    /// The person behind the key: two keys of one person are one.
    pub fn person(&self) -> String {
        person_named(self.person.as_ref().unwrap_or(&self.name))
    }

    /// The id of the key with this digest. It can be computed from the key, but the key cannot be computed from it.
    pub fn id_of(digest: &[u8; 32]) -> ApiKeyId {
        ApiKeyId::from_uuid(Uuid::from_bytes(digest.first_chunk().copied().unwrap_or_default()))
    }
}

/// Lower case, two digits for each byte.
pub fn hexadecimal(bytes: &[u8]) -> String {
    const DIGITS: [char; 16] =
        ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 0xf]);
    digits.filter_map(|digit| DIGITS.get(usize::from(digit))).collect()
}
