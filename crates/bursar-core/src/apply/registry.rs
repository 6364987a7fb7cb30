//! Records that people keep: made, changed, and looked up by whoever needs them to be in order.

use super::Draft;
use crate::feed::{ALERT, FeedEvent};
use crate::flow::to_json;
use crate::ids::EventId;
use crate::ledger::Admission;
use crate::registry::{
    Alert, Change, Content, Kind, MerchantStatus, Record, RecordKey, Registration,
};
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
        self.check_readable(key.kind, &key.id)?;
        let before = self.records.get(key.kind, &key.id);
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
        self.ledger.touch(admission.now);
        self.records.put(key, content, admission.now).clone()
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
    pub(super) fn check_readable(&self, kind: Kind, id: &str) -> Result<(), Rejection> {
        if self.records.is_unreadable(kind, id) {
            return Err(Rejection::Unreadable { id: format!("{kind} {id}") });
        }
        Ok(())
    }

    /// Nothing new begins for a merchant that is not there or closed.
    pub(super) fn merchant_is_open(&mut self, id: &str) -> Result<(), Rejection> {
        self.check_readable(Kind::Merchant, id)?;
        let found = self.records.rely_on(Kind::Merchant, id);
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
