//! The stored form of the requests that can be proposed. Old proposals must stay readable, so it is apart from the requests.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::flow::to_json;
use crate::four_eyes::Action;
use crate::idempotency::Key;
use crate::ids::PayInId;
use crate::ledger::{self, LedgerEvent, Post, REVERT};
use crate::payins::{self, CloseCase, NewPayIn, ProviderStatus};
use crate::payouts::{self, Beneficiary, ClientMetadata, Create, NewPayout};
use crate::registry::{self, Change, Registration, Role, hexadecimal};
use crate::rejection::Rejection;
use crate::turn::Body;

/// A stored request that this version of Bursar cannot read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a proposed request does not read back: {0}")]
pub struct UnreadableBody(String);

/// Version 1. A later version is a further variant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Stored {
    #[serde(rename = "v1")]
    V1(StoredAction),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
enum StoredAction {
    #[serde(rename = "payout.create")]
    CreatePayout(Box<StoredPayout>),
    #[serde(rename = "payin.record")]
    RecordPayIn(StoredPayIn),
    #[serde(rename = "payin.close_case")]
    CloseCase(StoredCase),
    #[serde(rename = "ledger.post")]
    Post(StoredPost),
    #[serde(rename = "key.issue")]
    IssueKey(StoredKey),
    #[serde(rename = "key.revoke")]
    RevokeKey { actor: String, id: String },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredPayout {
    key: (String, String),
    actor: Option<String>,
    merchant: String,
    channel: String,
    currency: String,
    amount: String,
    beneficiary: Beneficiary,
    beneficiary_id: Option<String>,
    scheduled_at: Option<Timestamp>,
    remarks: ClientMetadata,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredPayIn {
    key: Option<(String, String)>,
    actor: Option<String>,
    merchant: String,
    provider: String,
    reference: String,
    currency: String,
    amount: String,
    said: ProviderStatus,
    event: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredCase {
    key: (String, String),
    id: String,
    evidence: String,
    expected_version: u64,
    actor: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredPost {
    actor: Option<String>,
    event: String,
    reference: String,
    variables: BTreeMap<String, String>,
    effective_at: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredKey {
    actor: String,
    name: String,
    person: String,
    role: Role,
    merchant: Option<String>,
    digest: String,
    made_by: Vec<String>,
}

fn parts(key: &Key) -> (String, String) {
    (key.scope().to_owned(), key.value().to_owned())
}

fn key((scope, value): (String, String)) -> Key {
    Key::new(scope, value)
}

/// A request that can be proposed.
pub(super) struct Proposable {
    pub(super) action: Action,
    /// The stored form.
    pub(super) text: String,
    /// What it is about, in words, without personal data.
    pub(super) summary: String,
}

/// The stored form of a request that can be proposed; a rejection for any other.
pub(super) fn encode(body: &Body) -> Result<Proposable, Rejection> {
    let stored = match body {
        Body::Payouts(payouts::Request::Create(it)) => payout(it),
        Body::PayIns(payins::Request::NewPayIn(it)) => payin(it),
        Body::PayIns(payins::Request::CloseCase(it)) => case(it),
        Body::Ledger(ledger::Request::Post(it)) => post(it),
        Body::Registry(registry::Request::Registration(it)) => match &it.change {
            Change::IssueKey { name, person, role, merchant, digest, made_by, .. } => {
                StoredAction::IssueKey(StoredKey {
                    actor: it.actor.clone(),
                    name: name.clone(),
                    person: person.clone(),
                    role: *role,
                    merchant: merchant.clone(),
                    digest: hexadecimal(digest),
                    made_by: made_by.clone(),
                })
            }
            Change::RevokeKey { id } => {
                StoredAction::RevokeKey { actor: it.actor.clone(), id: id.clone() }
            }
            Change::OpenMerchant { .. }
            | Change::AlterMerchant { .. }
            | Change::SetShare { .. }
            | Change::SetDispatch { .. }
            | Change::AddBeneficiary { .. }
            | Change::SetAlert { .. }
            | Change::Endpoint { .. }
            | Change::SetAnchor { .. } => return Err(Rejection::NoApprovalNeeded),
        },
        Body::Payouts(_)
        | Body::Ledger(_)
        | Body::Webhooks(_)
        | Body::Freezes(_)
        | Body::Restores(_)
        | Body::Flows(_)
        | Body::Host(_)
        | Body::Approvals(_) => return Err(Rejection::NoApprovalNeeded),
    };
    let (action, summary) = (stored.action(), stored.summary());
    Ok(Proposable { action, text: to_json(&Stored::V1(stored)), summary })
}

fn payout(create: &Create) -> StoredAction {
    let NewPayout { merchant, channel, currency, amount, .. } = &create.payout;
    StoredAction::CreatePayout(Box::new(StoredPayout {
        key: parts(&create.key),
        actor: create.actor.clone(),
        merchant: merchant.clone(),
        channel: channel.clone(),
        currency: currency.clone(),
        amount: amount.clone(),
        beneficiary: create.payout.beneficiary.clone(),
        beneficiary_id: create.payout.beneficiary_id.clone(),
        scheduled_at: create.payout.scheduled_at,
        remarks: create.payout.remarks.clone(),
    }))
}

fn payin(new: &NewPayIn) -> StoredAction {
    StoredAction::RecordPayIn(StoredPayIn {
        key: new.key.as_ref().map(parts),
        actor: new.actor.clone(),
        merchant: new.merchant.clone(),
        provider: new.provider.clone(),
        reference: new.reference.clone(),
        currency: new.currency.clone(),
        amount: new.amount.clone(),
        said: new.said,
        event: new.event.clone(),
    })
}

fn case(close: &CloseCase) -> StoredAction {
    StoredAction::CloseCase(StoredCase {
        key: parts(&close.key),
        id: close.id.to_string(),
        evidence: close.evidence.clone(),
        expected_version: close.expected_version,
        actor: close.actor.clone(),
    })
}

fn post(post: &Post) -> StoredAction {
    let LedgerEvent { name, reference, variables, effective_at } = &post.event;
    StoredAction::Post(StoredPost {
        actor: post.actor.clone(),
        event: name.clone(),
        reference: reference.clone(),
        variables: variables.clone(),
        effective_at: *effective_at,
    })
}

/// The request of a stored proposal, to send it with an approval.
pub fn stored_body(text: &str) -> Result<Body, UnreadableBody> {
    let unreadable = |error: &dyn std::fmt::Display| UnreadableBody(error.to_string());
    let Stored::V1(stored) = serde_json::from_str(text).map_err(|error| unreadable(&error))?;
    Ok(match stored {
        StoredAction::CreatePayout(it) => (*it).into(),
        StoredAction::RecordPayIn(it) => it.into(),
        StoredAction::CloseCase(it) => CloseCase {
            key: key(it.key),
            id: it.id.parse::<PayInId>().map_err(|error| unreadable(&error))?,
            evidence: it.evidence,
            expected_version: it.expected_version,
            actor: it.actor,
        }
        .into(),
        StoredAction::Post(StoredPost { actor, event, reference, variables, effective_at }) => {
            let event = LedgerEvent { name: event, reference, variables, effective_at };
            Post { event, actor }.into()
        }
        StoredAction::IssueKey(it) => {
            let digest = bytes(&it.digest).ok_or_else(|| unreadable(&"a digest"))?;
            let StoredKey { actor, name, person, role, merchant, made_by, .. } = it;
            let is_setup = false;
            let change =
                Change::IssueKey { name, person, role, merchant, digest, made_by, is_setup };
            Registration { actor, change }.into()
        }
        StoredAction::RevokeKey { actor, id } => {
            Registration { actor, change: Change::RevokeKey { id } }.into()
        }
    })
}

impl StoredPayout {
    fn summary(&self) -> String {
        let Self { merchant, channel, currency, amount, .. } = self;
        let payee = self.beneficiary.masked(self.beneficiary_id.as_deref());
        let number = payee.account.or(payee.msisdn).unwrap_or_default();
        let bank = payee.bank.map(|bank| format!(" at {bank}")).unwrap_or_default();
        let id = payee.id.map(|id| format!(" ({id})")).unwrap_or_default();
        let at = self.scheduled_at.map(|at| format!(", not before {at}")).unwrap_or_default();
        format!(
            "pay {amount} {currency} from {merchant} to {} {number}{bank}{id} through {channel}{at}",
            payee.name
        )
    }
}

impl From<StoredPayout> for Body {
    fn from(it: StoredPayout) -> Self {
        let payout = NewPayout {
            merchant: it.merchant,
            channel: it.channel,
            currency: it.currency,
            amount: it.amount,
            beneficiary: it.beneficiary,
            beneficiary_id: it.beneficiary_id,
            scheduled_at: it.scheduled_at,
            remarks: it.remarks,
        };
        Create { key: key(it.key), payout, actor: it.actor, workflow: None }.into()
    }
}

impl From<StoredPayIn> for Body {
    fn from(it: StoredPayIn) -> Self {
        NewPayIn {
            key: it.key.map(key),
            actor: it.actor,
            merchant: it.merchant,
            provider: it.provider,
            reference: it.reference,
            currency: it.currency,
            amount: it.amount,
            said: it.said,
            event: it.event,
        }
        .into()
    }
}

/// 32 bytes in hexadecimal.
fn bytes(digits: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if digits.len() != 64 || !digits.is_ascii() {
        return None;
    }
    for (n, byte) in bytes.iter_mut().enumerate() {
        let at = n.checked_mul(2)?;
        *byte = u8::from_str_radix(digits.get(at..at.checked_add(2)?)?, 16).ok()?;
    }
    Some(bytes)
}

impl StoredAction {
    const fn action(&self) -> Action {
        match self {
            Self::CreatePayout(_) => Action::CreatePayout,
            Self::RecordPayIn(_) => Action::RecordPayIn,
            Self::CloseCase(_) => Action::CloseCase,
            Self::Post(_) => Action::Post,
            Self::IssueKey(it) => match it.role {
                Role::Merchant => Action::IssueMerchantKey,
                Role::Operator | Role::Approver | Role::Admin => Action::IssueKey,
            },
            Self::RevokeKey { .. } => Action::RevokeKey,
        }
    }

    /// What it is about, in words, without personal data.
    fn summary(&self) -> String {
        match self {
            Self::CreatePayout(it) => it.summary(),
            Self::RecordPayIn(StoredPayIn {
                merchant,
                provider,
                reference,
                currency,
                amount,
                ..
            }) => format!(
                "record a pay-in of {amount} {currency} for {merchant} from {provider}, reference {reference}"
            ),
            Self::CloseCase(it) => format!("close the case of {}", it.id),
            Self::Post(it) if it.event == REVERT => format!("revert {}", it.reference),
            Self::Post(it) => {
                let effective = it.effective_at.map(|at| format!(", effective {at}"));
                let effective = effective.unwrap_or_default();
                format!("post {}, reference {}{effective}", it.event, it.reference)
            }
            Self::IssueKey(StoredKey { merchant: Some(merchant), .. }) => {
                format!("make a key of the merchant {merchant}")
            }
            Self::IssueKey(it) => {
                format!("make a key of the role {} for {}", it.role.name(), it.person)
            }
            Self::RevokeKey { id, .. } => format!("revoke {id}"),
        }
    }
}

/// The key of a proposal: the same request of the same person is one proposal. `after` is an earlier one that has ended without
/// a decision.
pub fn proposal_key(body: &Body, person: &str, after: Option<&str>) -> Result<Key, Rejection> {
    let text = encode(body)?.text;
    let mut hash = Sha256::new();
    for part in [person, &text, after.unwrap_or_default()] {
        hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        hash.update(part.as_bytes());
    }
    let digest: [u8; 32] = hash.finalize().into();
    Ok(Key::new("approval".to_owned(), hexadecimal(&digest)))
}
