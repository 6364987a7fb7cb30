//! Records that people keep: made, changed, and looked up by whoever needs them to be in order.

use super::Draft;
use crate::feed::{ALERT, FeedEvent};
use crate::flow::to_json;
use crate::ids::EventId;
use crate::ledger::Admission;
use crate::registry::{Alert, Change, Content, MerchantStatus, Record, RecordKey, Registration};
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
        self.check_readable(&key)?;
        let before = self.records.get(&key);
        let content = change.apply(before.map(|record| &record.content), &key, admission.now)?;
        if let Some(known) = before.filter(|known| known.content == content) {
            return Ok(Reply::Registered { record: Box::new(known.clone()), is_new: false });
        }
        let is_new = before.is_none();
        if let (Change::Endpoint { id, .. }, Content::Endpoint(endpoint)) = (change, &content) {
            self.subscribe(*id, endpoint, admission)?;
        }
        let record = self.put_record(key, content, admission);
        match &record.content {
            Content::Alert(alert) => self.tell_alert(&record, alert, change.action(), admission),
            Content::Merchant(_)
            | Content::Beneficiary(_)
            | Content::ApiKey(_)
            | Content::Endpoint(_) => {
                self.note((actor, change.action()), &record.id, "", admission);
            }
        }
        Ok(Reply::Registered { record: Box::new(record), is_new })
    }

    /// Puts a record that was made or has changed where later requests find it.
    pub(super) fn put_record(
        &mut self,
        key: RecordKey,
        content: Content,
        admission: &Admission,
    ) -> Record {
        let (before, now) = (self.records.get(&key), admission.now);
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
        record
    }

    /// An alert that changes is told; its versions number its events.
    fn tell_alert(&mut self, record: &Record, alert: &Alert, kind: &str, admission: &Admission) {
        let seed = admission.seed.child([&record.id, &record.version.to_string()]);
        self.events.push(FeedEvent {
            id: EventId::new(admission.now, &seed, 0),
            kind: kind.to_owned(),
            resource: format!("{ALERT}{}", record.id),
            merchant: String::new(),
            sequence: record.version,
            time: admission.now,
            data: to_json(alert),
        });
    }

    /// A record that cannot be read is not taken for one that is not there.
    pub(super) fn check_readable(&self, key: &RecordKey) -> Result<(), Rejection> {
        if self.unreadable_records.contains(key) {
            return Err(Rejection::Unreadable { id: format!("{} {}", key.kind, key.id) });
        }
        Ok(())
    }

    /// Nothing new begins for a merchant that is not there or closed.
    pub(super) fn merchant_is_open(&mut self, id: &str) -> Result<(), Rejection> {
        let key = RecordKey::merchant(id);
        self.check_readable(&key)?;
        let found = self.records.get(&key);
        if let Some(record) = found {
            self.relied_on.entry(key).or_insert(record.version);
        }
        match found.map(|record| &record.content) {
            Some(Content::Merchant(merchant)) => match merchant.status {
                MerchantStatus::Open => Ok(()),
                MerchantStatus::Closed => {
                    Err(Rejection::MerchantClosed { merchant: id.to_owned() })
                }
            },
            Some(
                Content::Beneficiary(_)
                | Content::ApiKey(_)
                | Content::Alert(_)
                | Content::Endpoint(_),
            )
            | None => Err(Rejection::UnknownMerchant { merchant: id.chars().take(80).collect() }),
        }
    }
}
