//! Registry requests: create and change records, and check that a merchant is open.

use super::{Change, Content, Kind, MerchantStatus, Record, RecordKey, Registration};
use crate::feed::{ALERT, BOOKS, FeedEvent};
use crate::flow::{Planners, check_version, to_json};
use crate::ids::EventId;
use crate::ledger::Admission;
use crate::rejection::Rejection;
use crate::rules::Rules;
use crate::turn::check::check_actor;
use crate::turn::{Decide, Draft, Reads, asks};

#[derive(Debug, Clone)]
pub enum Request {
    Registration(Registration),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    Registered(Registered),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registered {
    pub record: Box<Record>,
    /// This request created the record.
    pub is_new: bool,
}

asks! {
    Registry {
        Registration => Registered(Registered),
    }
}

/// This domain binds nothing.
pub(crate) type Ready<'r> = &'r Request;

impl Request {
    pub(crate) fn admit(&self, _: &Rules, _: &Admission) -> Result<Ready<'_>, Rejection> {
        let Self::Registration(registration) = self;
        check_actor(&registration.actor)?;
        registration.change.check()?;
        Ok(self)
    }
}

impl Decide for Ready<'_> {
    type Reply = Reply;

    fn plan<'p>(&'p self, at: &Admission, _: &mut Planners<'p>, reads: &mut Reads<'_>) {
        let Request::Registration(Registration { change, .. }) = self;
        reads.plan.registry.insert(change.target(at));
        let merchants = change.owner().into_iter().chain(change.filtered_merchant());
        reads.plan.registry.extend(merchants.map(RecordKey::merchant));
    }

    fn apply(&self, draft: &mut Draft<'_>, at: &Admission) -> Result<Reply, Rejection> {
        let Request::Registration(registration) = self;
        draft.register(registration, at).map(Reply::Registered)
    }
}

impl Draft<'_> {
    fn register(
        &mut self,
        registration: &Registration,
        admission: &Admission,
    ) -> Result<Registered, Rejection> {
        let Registration { actor, change } = registration;
        if let Some(merchant) = change.owner() {
            self.merchant_is_open(merchant)?;
        }
        let key = change.target(admission);
        self.check_readable(key.kind, &key.id)?;
        let before = self.record(key.kind, &key.id);
        if let Change::SetDispatch { expected_version, .. } = change {
            let found = before.map_or(0, |record| record.version);
            check_version(&key.id, *expected_version, found)?;
        }
        let content = before.map(|record| &record.content);
        let guarded = change.guarded(actor, content);
        let mut content = change.apply(content, &key, admission.now)?;
        // Two people have made the key.
        if let (true, None, Content::ApiKey(key)) = (self.is_approved(), before, &mut content) {
            key.made_by.clear();
        }
        if let Some(known) = before.filter(|known| known.content == content) {
            return Ok(Registered { record: Box::new(known.clone()), is_new: false });
        }
        let is_new = before.is_none();
        guarded.map_or(Ok(()), |action| self.check_alone(action, None))?;
        if let (Change::Endpoint { id, .. }, Content::Endpoint(endpoint)) = (change, &content) {
            self.update_event_filter(*id, endpoint, admission)?;
        }
        let record = self.put_record(key, content, admission);
        match &record.content {
            Content::Alert(alert) => {
                let resource = format!("{ALERT}{}", record.id);
                self.emit_record(&record, (resource, change.action()), to_json(alert), admission);
            }
            Content::Anchor(anchor) => {
                let resource = BOOKS.to_owned();
                self.emit_record(&record, (resource, change.action()), to_json(anchor), admission);
            }
            Content::Merchant(_)
            | Content::Beneficiary(_)
            | Content::ApiKey(_)
            | Content::Endpoint(_)
            | Content::ReportedPayment(_)
            | Content::DispatchSettings(_)
            | Content::DispatchState(_) => {
                self.note((actor, change.action()), &record.id, "", admission);
            }
        }
        Ok(Registered { record: Box::new(record), is_new })
    }

    /// Emits an event for a changed record to the feed; the version of the record is the event sequence.
    fn emit_record(
        &mut self,
        record: &Record,
        (resource, kind): (String, &str),
        data: String,
        admission: &Admission,
    ) {
        let seed = admission.seed.child([&record.id, &record.version.to_string()]);
        self.publish(FeedEvent {
            id: EventId::new(admission.now, &seed, 0),
            kind: kind.to_owned(),
            resource,
            merchant: String::new(),
            sequence: record.version,
            time: admission.now,
            data,
        });
    }

    /// Rejects new work for a merchant that does not exist or is closed.
    pub(crate) fn merchant_is_open(&mut self, id: &str) -> Result<(), Rejection> {
        self.check_readable(Kind::Merchant, id)?;
        let found = self.rely_on(Kind::Merchant, id);
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
                | Content::Anchor(_)
                | Content::Endpoint(_)
                | Content::ReportedPayment(_)
                | Content::DispatchSettings(_)
                | Content::DispatchState(_),
            )
            | None => Err(Rejection::UnknownMerchant { merchant: id.chars().take(80).collect() }),
        }
    }
}
