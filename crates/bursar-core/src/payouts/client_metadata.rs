//! What a merchant says about a payout for its own use.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::rejection::Rejection;

/// Data of the merchant for its own use; no decision depends on it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientMetadata {
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    /// The caller's own id of the payout. Several payouts may have the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

impl ClientMetadata {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub(crate) fn check(&self) -> Result<(), Rejection> {
        let is_short = |text: &str, most: usize| text.len() <= most && !text.contains('\0');
        let is_good = self.metadata.len() <= 20
            && self.metadata.iter().all(|(name, value)| {
                !name.is_empty() && is_short(name, 64) && is_short(value, 500)
            })
            && self.trace_id.as_deref().is_none_or(|trace| is_short(trace, 128))
            && self.description.as_deref().is_none_or(|text| is_short(text, 500));
        if !is_good {
            return Err(Rejection::BadRemarks);
        }
        let is_id = |id: &str| (1..=128).contains(&id.len()) && !id.contains(char::is_control);
        if self.external_id.as_deref().is_none_or(is_id) {
            return Ok(());
        }
        Err(Rejection::BadExternalId)
    }
}
