//! The changes of registry records.

use jiff::Timestamp;

use super::{
    Alert, Anchor, ApiKey, BeneficiaryRecord, Content, DispatchShare, Kind, Merchant,
    MerchantStatus, RecordKey, Role, hexadecimal,
};
use crate::dispatch::Settings;
use crate::four_eyes::{Action, check_person, person_of};
use crate::ids::{BeneficiaryId, EndpointId};
use crate::ledger::Admission;
use crate::payouts::Beneficiary;
use crate::rejection::Rejection;
use crate::turn::check::check_id;
use crate::webhooks::EndpointChange;

/// An operator or merchant changes a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registration {
    pub actor: String,
    pub change: Change,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    OpenMerchant {
        id: String,
        name: String,
    },
    AlterMerchant {
        id: String,
        name: Option<String>,
        status: Option<MerchantStatus>,
    },
    AddBeneficiary {
        merchant: String,
        details: Beneficiary,
    },
    IssueKey {
        name: String,
        /// The person behind the key.
        person: String,
        role: Role,
        merchant: Option<String>,
        digest: [u8; 32],
        /// The person of the creator's key, and those who made that key alone.
        made_by: Vec<String>,
        /// The first set-up: there are not yet two people who may approve, and a person gets the first key.
        is_setup: bool,
    },
    RevokeKey {
        id: String,
    },
    /// The share of a merchant in the channels.
    SetShare {
        merchant: String,
        share: DispatchShare,
    },
    /// The settings of the dispatch of a kind and a channel, instead of those of the record before.
    SetDispatch {
        id: String,
        settings: Box<Settings>,
        /// The version that the caller has seen; zero if there was no record.
        expected_version: Option<u64>,
    },
    SetAlert {
        name: String,
        is_raised: bool,
        detail: String,
    },
    Endpoint {
        id: EndpointId,
        merchant: String,
        change: EndpointChange,
    },
    /// Publishes a commit; one that is not behind the last anchor changes nothing.
    SetAnchor {
        sequence: u64,
        hash: [u8; 32],
    },
}

impl Change {
    /// The name of the action in the audit log.
    pub(crate) const fn action(&self) -> &'static str {
        match self {
            Self::OpenMerchant { .. } => "merchant.open",
            Self::AlterMerchant { status: Some(MerchantStatus::Closed), .. } => "merchant.close",
            Self::AlterMerchant { .. } => "merchant.change",
            Self::SetShare { .. } => "merchant.dispatch",
            Self::SetDispatch { .. } => "dispatch.config",
            Self::AddBeneficiary { .. } => "beneficiary.add",
            Self::IssueKey { .. } => "key.issue",
            Self::RevokeKey { .. } => "key.revoke",
            Self::SetAlert { is_raised: true, .. } => "alert.raised",
            Self::SetAlert { is_raised: false, .. } => "alert.cleared",
            Self::Endpoint { change, .. } => change.action(),
            Self::SetAnchor { .. } => "books.anchored",
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
            Self::SetShare { merchant, share } => {
                check_id(merchant)?;
                share.check().map_err(|reason| Rejection::BadSettings { reason })
            }
            Self::SetDispatch { settings, .. } => {
                settings.check().map_err(|reason| Rejection::BadSettings { reason })
            }
            Self::AddBeneficiary { details, .. } => details.check(),
            Self::IssueKey { name, person, role, merchant, .. } => {
                check_name(name)?;
                if *role != Role::Merchant {
                    check_person(person)?;
                }
                let has_scope = merchant.is_some();
                if has_scope == (*role == Role::Merchant) {
                    Ok(())
                } else {
                    Err(Rejection::BadScope)
                }
            }
            Self::RevokeKey { id } | Self::SetAlert { name: id, .. } => check_id(id),
            Self::Endpoint { merchant, change, .. } => {
                check_id(merchant)?;
                change.check()
            }
            Self::SetAnchor { .. } => Ok(()),
        }
    }

    /// What one person may not do alone, if the change is that.
    pub(super) fn guarded(&self, actor: &str, before: Option<&Content>) -> Option<Action> {
        match (self, before) {
            (Self::IssueKey { role: Role::Merchant, .. }, _) => Some(Action::IssueMerchantKey),
            (Self::IssueKey { role, is_setup, .. }, _) => {
                (role.may_approve() && !is_setup).then_some(Action::IssueKey)
            }
            (Self::RevokeKey { .. }, Some(Content::ApiKey(key))) => {
                let is_own = key.person() == person_of(actor);
                (key.role.may_approve() && !is_own).then_some(Action::RevokeKey)
            }
            (
                Self::RevokeKey { .. }
                | Self::OpenMerchant { .. }
                | Self::AlterMerchant { .. }
                | Self::SetShare { .. }
                | Self::SetDispatch { .. }
                | Self::AddBeneficiary { .. }
                | Self::SetAlert { .. }
                | Self::Endpoint { .. }
                | Self::SetAnchor { .. },
                _,
            ) => None,
        }
    }

    /// The record that the change creates or updates.
    pub(crate) fn target(&self, admission: &Admission) -> RecordKey {
        let (kind, id) = match self {
            Self::OpenMerchant { id, .. }
            | Self::AlterMerchant { id, .. }
            | Self::SetShare { merchant: id, .. } => (Kind::Merchant, id.clone()),
            Self::SetDispatch { id, .. } => (Kind::DispatchSettings, id.clone()),
            Self::AddBeneficiary { .. } => {
                let id = BeneficiaryId::new(admission.now, &admission.seed, 0);
                (Kind::Beneficiary, id.to_string())
            }
            Self::IssueKey { digest, .. } => (Kind::ApiKey, ApiKey::id_of(digest).to_string()),
            Self::RevokeKey { id } => (Kind::ApiKey, id.clone()),
            Self::SetAlert { name, .. } => (Kind::Alert, name.clone()),
            Self::Endpoint { id, .. } => return RecordKey::endpoint(*id),
            Self::SetAnchor { .. } => return RecordKey::anchor(),
        };
        RecordKey { kind, id }
    }

    /// The merchant that must exist and be open.
    pub(crate) fn owner(&self) -> Option<&str> {
        match self {
            Self::IssueKey { merchant, .. } => merchant.as_deref(),
            Self::AddBeneficiary { merchant, .. }
            | Self::Endpoint { merchant, change: EndpointChange::Add { .. }, .. } => Some(merchant),
            Self::OpenMerchant { .. }
            | Self::AlterMerchant { .. }
            | Self::SetShare { .. }
            | Self::SetDispatch { .. }
            | Self::RevokeKey { .. }
            | Self::SetAlert { .. }
            | Self::SetAnchor { .. }
            | Self::Endpoint { .. } => None,
        }
    }

    /// The merchant whose `event_filters` change with the record.
    pub(crate) fn filtered_merchant(&self) -> Option<&str> {
        match self {
            Self::Endpoint { merchant, .. } => Some(merchant),
            Self::OpenMerchant { .. }
            | Self::AlterMerchant { .. }
            | Self::SetShare { .. }
            | Self::SetDispatch { .. }
            | Self::AddBeneficiary { .. }
            | Self::IssueKey { .. }
            | Self::RevokeKey { .. }
            | Self::SetAnchor { .. }
            | Self::SetAlert { .. } => None,
        }
    }

    /// The merchant after the change.
    fn merchant(
        &self,
        known: Option<&Merchant>,
        target: &RecordKey,
    ) -> Result<Merchant, Rejection> {
        match (self, known) {
            (Self::OpenMerchant { name, .. }, None) => Ok(Merchant {
                name: name.clone(),
                status: MerchantStatus::Open,
                event_filters: Vec::new(),
                dispatch: DispatchShare::default(),
            }),
            // A repeated request: the merchant already exists with this name.
            (Self::OpenMerchant { name, .. }, Some(known)) if known.name == *name => {
                Ok(known.clone())
            }
            (Self::AlterMerchant { name, status, .. }, Some(known)) => {
                let name = name.as_ref().unwrap_or(&known.name).clone();
                let status = status.unwrap_or(known.status);
                Ok(Merchant { name, status, ..known.clone() })
            }
            (Self::SetShare { share, .. }, Some(known)) => {
                Ok(Merchant { dispatch: share.clone(), ..known.clone() })
            }
            (_, None) => Err(Rejection::UnknownRecord { kind: target.kind, id: target.id.clone() }),
            (_, Some(_)) => {
                Err(Rejection::RecordExists { kind: target.kind, id: target.id.clone() })
            }
        }
    }

    /// The record after the change.
    pub(crate) fn apply(
        &self,
        before: Option<&Content>,
        target: &RecordKey,
        now: Timestamp,
    ) -> Result<Content, Rejection> {
        let unknown = || Rejection::UnknownRecord { kind: target.kind, id: target.id.clone() };
        let taken = || Rejection::RecordExists { kind: target.kind, id: target.id.clone() };
        match (self, before) {
            (
                Self::OpenMerchant { .. } | Self::AlterMerchant { .. } | Self::SetShare { .. },
                None | Some(Content::Merchant(_)),
            ) => {
                let known = before.and_then(Content::merchant);
                self.merchant(known, target).map(Content::Merchant)
            }
            (Self::SetDispatch { settings, .. }, None | Some(Content::DispatchSettings(_))) => {
                Ok(Content::DispatchSettings(settings.clone()))
            }
            (Self::AddBeneficiary { merchant, details }, None) => {
                let (merchant, details) = (merchant.clone(), details.clone());
                Ok(Content::Beneficiary(BeneficiaryRecord { merchant, details }))
            }
            (Self::IssueKey { name, person, role, merchant, digest, made_by, .. }, None) => {
                Ok(Content::ApiKey(ApiKey {
                    name: name.clone(),
                    person: Some(person.clone()).filter(|person| person != name),
                    made_by: made_by.clone(),
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
            (Self::SetAnchor { sequence, .. }, Some(Content::Anchor(known)))
                if known.sequence >= *sequence =>
            {
                Ok(Content::Anchor(known.clone()))
            }
            (Self::SetAnchor { sequence, hash }, _) => {
                Ok(Content::Anchor(Anchor { sequence: *sequence, hash: hexadecimal(hash) }))
            }
            (Self::Endpoint { merchant, change, .. }, known) => {
                let known = known.and_then(Content::endpoint);
                let changed = change.apply(merchant, known, now).ok_or_else(unknown)?;
                changed.settings.check()?;
                Ok(Content::Endpoint(Box::new(changed)))
            }
            (
                Self::OpenMerchant { .. } | Self::AddBeneficiary { .. } | Self::IssueKey { .. },
                Some(_),
            ) => Err(taken()),
            (
                Self::AlterMerchant { .. }
                | Self::SetShare { .. }
                | Self::SetDispatch { .. }
                | Self::RevokeKey { .. },
                _,
            ) => Err(unknown()),
        }
    }
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
