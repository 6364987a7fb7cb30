//! Records that people keep: made, changed, and looked up by whoever needs them to be in order.

use super::Draft;
use crate::ledger::Admission;
use crate::registry::{Content, MerchantStatus, Record, RecordKey, Registration};
use crate::rejection::Rejection;
use crate::request::{Answer, Reply};

impl Draft<'_> {
    pub(super) fn register(
        &mut self,
        registration: &Registration,
        admission: &Admission,
    ) -> Answer {
        let Registration { actor, change } = registration;
        if let Some(merchant) = change.owner() {
            self.merchant_is_open(merchant)?;
        }
        let key = change.target(admission);
        let before = self.records.get(&key);
        let content = change.apply(before.map(|record| &record.content), &key, admission.now)?;
        if let Some(known) = before.filter(|known| known.content == content) {
            return Ok(Reply::Registered { record: Box::new(known.clone()), is_new: false });
        }
        let now = admission.now;
        let record = Record {
            id: key.id.clone(),
            version: before.map_or(0, |record| record.version).saturating_add(1),
            created_at: before.map_or(now, |record| record.created_at),
            updated_at: now,
            content,
        };
        let before = before.map(|record| record.version);
        self.records_before.entry(key.clone()).or_insert(before);
        self.records.insert(key, record.clone());
        self.ledger.touch(now);
        self.note((actor, change.action()), &record.id, "", admission);
        Ok(Reply::Registered { record: Box::new(record), is_new: before.is_none() })
    }

    /// Nothing new begins for a merchant that is not there or closed.
    pub(super) fn merchant_is_open(&self, id: &str) -> Result<(), Rejection> {
        let found = self.records.get(&RecordKey::merchant(id)).map(|record| &record.content);
        match found {
            Some(Content::Merchant(merchant)) => match merchant.status {
                MerchantStatus::Open => Ok(()),
                MerchantStatus::Closed => {
                    Err(Rejection::MerchantClosed { merchant: id.to_owned() })
                }
            },
            Some(Content::Beneficiary(_) | Content::ApiKey(_)) | None => {
                Err(Rejection::UnknownMerchant { merchant: id.chars().take(80).collect() })
            }
        }
    }
}
