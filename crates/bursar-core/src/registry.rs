//! The records that people keep: merchants, whom they pay, and the keys that open the API.
//!
//! A record is small, changes rarely, and is read by its kind and id. Every change is audited; an alert is told
//! instead.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::admit::check_id;
use crate::flow::to_json;
use crate::ids::{ApiKeyId, BeneficiaryId};
use crate::ledger::Admission;
use crate::payout::Beneficiary;
use crate::rejection::Rejection;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Merchant,
    Beneficiary,
    ApiKey,
    Alert,
}

impl Kind {
    pub const ALL: [Self; 4] = [Self::Merchant, Self::Beneficiary, Self::ApiKey, Self::Alert];

    /// As the stores name it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Merchant => "merchant",
            Self::Beneficiary => "beneficiary",
            Self::ApiKey => "api_key",
            Self::Alert => "alert",
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
}

/// A record as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    pub id: String,
    /// Counts its changes from 1; whoever saves must find the version that was read.
    pub version: u64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub content: Content,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    Merchant(Merchant),
    Beneficiary(Payee),
    ApiKey(ApiKey),
    Alert(Alert),
}

/// Something that somebody must look at, raised and cleared by whoever watches.
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
}

/// A merchant that is closed makes no new payouts and takes no new pay-ins; what is under way comes to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MerchantStatus {
    Open,
    Closed,
}

/// Somebody whom a merchant pays again and again. It never changes: another account is another beneficiary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Payee {
    pub merchant: String,
    pub details: Beneficiary,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApiKey {
    /// What people know it by.
    pub name: String,
    pub role: Role,
    /// The only merchant that it can see, for keys of merchants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merchant: Option<String>,
    /// SHA-256 of the key, in hexadecimal. The key itself is shown once and kept nowhere.
    pub digest: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Timestamp>,
}

/// What the holder of a key may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// One merchant's own business.
    Merchant,
    /// Looks at everything, records pay-ins, decides about what is stuck, freezes.
    Operator,
    /// The second pair of eyes.
    Approver,
    Admin,
}

impl Role {
    pub const ALL: [Self; 4] = [Self::Merchant, Self::Operator, Self::Approver, Self::Admin];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Merchant => "merchant",
            Self::Operator => "operator",
            Self::Approver => "approver",
            Self::Admin => "admin",
        }
    }
}

/// Somebody changes a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registration {
    pub actor: String,
    pub change: Change,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    OpenMerchant { id: String, name: String },
    AlterMerchant { id: String, name: Option<String>, status: Option<MerchantStatus> },
    AddBeneficiary { merchant: String, details: Beneficiary },
    IssueKey { name: String, role: Role, merchant: Option<String>, digest: [u8; 32] },
    RevokeKey { id: String },
    SetAlert { name: String, is_raised: bool, detail: String },
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
        }
    }

    pub fn encode(&self) -> String {
        match self {
            Self::Merchant(merchant) => to_json(merchant),
            Self::Beneficiary(payee) => to_json(payee),
            Self::ApiKey(key) => to_json(key),
            Self::Alert(alert) => to_json(alert),
        }
    }

    /// What `encode` has written.
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
        };
        read.map_err(|error| unreadable(error.to_string()))
    }
}

impl Record {
    pub fn key(&self) -> RecordKey {
        RecordKey { kind: self.content.kind(), id: self.id.clone() }
    }

    /// Whose it is: what a merchant may see.
    pub fn merchant(&self) -> &str {
        match &self.content {
            Content::Merchant(_) => &self.id,
            Content::Beneficiary(payee) => &payee.merchant,
            Content::ApiKey(key) => key.merchant.as_deref().unwrap_or_default(),
            Content::Alert(_) => "",
        }
    }
}

impl ApiKey {
    /// The id of the key with this digest: whoever has the key can look it up, and nobody can make the key of it.
    pub fn id_of(digest: &[u8; 32]) -> ApiKeyId {
        ApiKeyId::from_uuid(Uuid::from_bytes(digest.first_chunk().copied().unwrap_or_default()))
    }
}

impl Change {
    /// As the audit names it.
    pub(crate) const fn action(&self) -> &'static str {
        match self {
            Self::OpenMerchant { .. } => "merchant.open",
            Self::AlterMerchant { status: Some(MerchantStatus::Closed), .. } => "merchant.close",
            Self::AlterMerchant { .. } => "merchant.change",
            Self::AddBeneficiary { .. } => "beneficiary.add",
            Self::IssueKey { .. } => "key.issue",
            Self::RevokeKey { .. } => "key.revoke",
            Self::SetAlert { is_raised: true, .. } => "alert.raised",
            Self::SetAlert { is_raised: false, .. } => "alert.cleared",
        }
    }

    pub(crate) fn check(&self) -> Result<(), Rejection> {
        self.owner().map_or(Ok(()), check_id)?;
        match self {
            Self::OpenMerchant { id, name } => {
                check_merchant_id(id)?;
                check_name(name)
            }
            Self::AlterMerchant { id, name, .. } => {
                check_id(id)?;
                name.as_deref().map_or(Ok(()), check_name)
            }
            Self::AddBeneficiary { details, .. } => details.check(),
            Self::IssueKey { name, role, merchant, .. } => {
                check_name(name)?;
                let has_scope = merchant.is_some();
                if has_scope == (*role == Role::Merchant) {
                    Ok(())
                } else {
                    Err(Rejection::BadScope)
                }
            }
            Self::RevokeKey { id } | Self::SetAlert { name: id, .. } => check_id(id),
        }
    }

    /// The record that it makes or changes.
    pub(crate) fn target(&self, admission: &Admission) -> RecordKey {
        let (kind, id) = match self {
            Self::OpenMerchant { id, .. } | Self::AlterMerchant { id, .. } => {
                (Kind::Merchant, id.clone())
            }
            Self::AddBeneficiary { .. } => {
                let id = BeneficiaryId::new(admission.now, &admission.seed, 0);
                (Kind::Beneficiary, id.to_string())
            }
            Self::IssueKey { digest, .. } => (Kind::ApiKey, ApiKey::id_of(digest).to_string()),
            Self::RevokeKey { id } => (Kind::ApiKey, id.clone()),
            Self::SetAlert { name, .. } => (Kind::Alert, name.clone()),
        };
        RecordKey { kind, id }
    }

    /// The merchant that must be there for it.
    pub(crate) fn owner(&self) -> Option<&str> {
        match self {
            Self::AddBeneficiary { merchant, .. } => Some(merchant),
            Self::IssueKey { merchant, .. } => merchant.as_deref(),
            Self::OpenMerchant { .. }
            | Self::AlterMerchant { .. }
            | Self::RevokeKey { .. }
            | Self::SetAlert { .. } => None,
        }
    }

    /// The record as it is afterwards.
    pub(crate) fn apply(
        &self,
        before: Option<&Content>,
        target: &RecordKey,
        now: Timestamp,
    ) -> Result<Content, Rejection> {
        let unknown = || Rejection::UnknownRecord { kind: target.kind, id: target.id.clone() };
        let taken = || Rejection::RecordExists { kind: target.kind, id: target.id.clone() };
        match (self, before) {
            (Self::OpenMerchant { name, .. }, None) => {
                let name = name.clone();
                Ok(Content::Merchant(Merchant { name, status: MerchantStatus::Open }))
            }
            // Asked for again: it is as it was asked for.
            (Self::OpenMerchant { name, .. }, Some(Content::Merchant(known)))
                if known.name == *name =>
            {
                Ok(Content::Merchant(known.clone()))
            }
            (Self::AlterMerchant { name, status, .. }, Some(Content::Merchant(known))) => {
                let name = name.as_ref().unwrap_or(&known.name).clone();
                Ok(Content::Merchant(Merchant { name, status: status.unwrap_or(known.status) }))
            }
            (Self::AddBeneficiary { merchant, details }, None) => {
                let (merchant, details) = (merchant.clone(), details.clone());
                Ok(Content::Beneficiary(Payee { merchant, details }))
            }
            (Self::IssueKey { name, role, merchant, digest }, None) => {
                Ok(Content::ApiKey(ApiKey {
                    name: name.clone(),
                    role: *role,
                    merchant: merchant.clone(),
                    digest: hexadecimal(digest),
                    revoked_at: None,
                }))
            }
            (Self::RevokeKey { .. }, Some(Content::ApiKey(known))) => {
                let revoked_at = Some(known.revoked_at.unwrap_or(now));
                Ok(Content::ApiKey(ApiKey { revoked_at, ..known.clone() }))
            }
            (Self::SetAlert { is_raised, detail, .. }, _) => {
                let (is_raised, detail) = (*is_raised, detail.clone());
                Ok(Content::Alert(Alert { is_raised, detail }))
            }
            (
                Self::OpenMerchant { .. } | Self::AddBeneficiary { .. } | Self::IssueKey { .. },
                Some(_),
            ) => Err(taken()),
            (Self::AlterMerchant { .. } | Self::RevokeKey { .. }, _) => Err(unknown()),
        }
    }
}

/// Lower case, two digits for each byte.
pub fn hexadecimal(bytes: &[u8]) -> String {
    const DIGITS: [char; 16] =
        ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 0xf]);
    digits.filter_map(|digit| DIGITS.get(usize::from(digit))).collect()
}

/// No hyphen, so that composed ids cannot collide.
fn check_merchant_id(id: &str) -> Result<(), Rejection> {
    let is_good = (1..=64).contains(&id.len())
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if is_good {
        return Ok(());
    }
    let value = id.chars().take(80).collect();
    Err(Rejection::BadIdentifier { name: "id".into(), value, hyphen: false })
}

fn check_name(name: &str) -> Result<(), Rejection> {
    let length = name.chars().take(129).count();
    let is_good = (1..=128).contains(&length) && name.trim() == name;
    if is_good && !name.contains(char::is_control) { Ok(()) } else { Err(Rejection::BadName) }
}
