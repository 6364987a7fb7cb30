//! The decision: a batch and the records it asked for in, a commit out. Later requests see what earlier ones did.

mod reservation;

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::commit::{Commit, FlowWrite};
use crate::feed::{AuditEntry, FeedEvent};
use crate::flow::{Flow, is_flow_name};
use crate::idempotency::{FlowReply, Key, KeyDigest, KnownKey};
use crate::ids::{EventId, FlowId};
use crate::ledger::{Admission, Ledger, Revert};
use crate::records::ReadSet;
use crate::rejection::Rejection;
use crate::request::{Admitted, Answer, Batch, Reply};
use crate::rulebook::{Bound, Rulebook};

/// Decides a batch. Nothing is read and nothing is written: the commit says what must be saved.
pub fn apply(batch: &Batch<'_>, records: ReadSet) -> Commit {
    let mut draft = Draft::new(batch.rulebook(), records);
    let answers = batch
        .requests()
        .iter()
        .map(|request| match request {
            Admitted::Post(bound, admission) => draft.post(bound, admission),
            Admitted::Revert(revert, admission) => draft.revert(revert, admission),
            Admitted::Reserve(reserve, admission) => draft.reserve(reserve, admission),
            Admitted::Decide(decide, admission) => draft.decide(decide, admission),
            Admitted::Wake(wake, admission) => Ok(draft.wake(wake, admission)),
            Admitted::Refused(rejection) => Err(rejection.clone()),
        })
        .collect();
    draft.into_commit(answers)
}

/// A commit in the making: the records as they are after the requests that were decided so far.
struct Draft<'r> {
    rulebook: &'r Rulebook,
    ledger: Ledger,
    flows: BTreeMap<FlowId, Flow>,
    /// What each changed flow was when it was read.
    flows_before: BTreeMap<FlowId, Option<Flow>>,
    keys: BTreeMap<KeyDigest, KnownKey>,
    new_keys: Vec<KnownKey>,
    events: Vec<FeedEvent>,
    audit: Vec<AuditEntry>,
}

impl<'r> Draft<'r> {
    fn new(rulebook: &'r Rulebook, mut records: ReadSet) -> Self {
        let flows = std::mem::take(&mut records.flows);
        let keys = std::mem::take(&mut records.keys);
        Self {
            rulebook,
            ledger: Ledger::new(records),
            flows: flows.into_iter().map(|flow| (flow.id, flow)).collect(),
            flows_before: BTreeMap::new(),
            keys: keys.into_iter().map(|known| (known.key.digest(), known)).collect(),
            new_keys: Vec::new(),
            events: Vec::new(),
            audit: Vec::new(),
        }
    }

    fn into_commit(self, answers: Vec<Answer>) -> Commit {
        let Self { ledger, mut flows, flows_before, new_keys, events, audit, .. } = self;
        let flows = flows_before
            .into_iter()
            .filter_map(|(id, before)| Some(FlowWrite { before, after: flows.remove(&id)? }))
            .collect();
        Commit { flows, keys: new_keys, events, audit, ..ledger.into_commit(answers) }
    }

    /// An event from outside. What belongs to a flow is booked by the flow alone, or the two would drift apart.
    fn post(&mut self, bound: &Bound<'_>, admission: &Admission) -> Answer {
        if is_flow_name(bound.reference()) {
            return Err(Rejection::BelongsToFlow { name: bound.reference().to_owned() });
        }
        self.ledger.post_bound(bound, admission).map(Reply::Posted)
    }

    fn revert(&mut self, revert: &Revert, admission: &Admission) -> Answer {
        let original = self.ledger.transaction(revert.id);
        if let Some(name) =
            original.map(|original| &original.reference).filter(|name| is_flow_name(name))
        {
            return Err(Rejection::BelongsToFlow { name: name.clone() });
        }
        self.ledger.revert(self.rulebook, revert, admission).map(Reply::Posted)
    }

    /// The reply that was given under this key, if there was one.
    fn replay(&self, key: &Key, request_hash: [u8; 32]) -> Option<Answer> {
        let known = self.keys.get(&key.digest())?;
        let replayed = known.replay(key, request_hash);
        Some(replayed.map(|reply| Reply::Flow { reply, is_replay: true }))
    }

    /// Remembers the reply with the commit that it belongs to.
    fn answer(&mut self, key: &Key, request_hash: [u8; 32], flow: &Flow) -> Reply {
        let reply = FlowReply::new(flow);
        let known =
            KnownKey { key: key.clone(), request_hash, flow: flow.id, reply: reply.clone() };
        self.keys.insert(key.digest(), known.clone());
        self.new_keys.push(known);
        Reply::Flow { reply, is_replay: false }
    }

    /// Tells the merchant about a flow that has changed, and puts it where later requests find it.
    fn keep(&mut self, flow: Flow, admission: &Admission) {
        let id = flow.id;
        self.tell(&flow, admission);
        let before = self.flows.insert(id, flow);
        self.flows_before.entry(id).or_insert(before);
    }

    fn tell(&mut self, flow: &Flow, admission: &Admission) {
        let resource = flow.name();
        let seed = admission.seed.child([&resource, &flow.sequence.to_string()]);
        self.events.push(FeedEvent {
            id: EventId::new(admission.now, &seed, 0),
            kind: flow.state.event().to_owned(),
            resource,
            merchant: flow.merchant.clone(),
            sequence: flow.sequence,
            time: admission.now,
            data: FlowReply::new(flow).encode(),
        });
    }

    /// The flows of a lane whose time has come, longest overdue first.
    fn due(&self, lane: &str, now: Timestamp, limit: usize) -> Vec<FlowId> {
        let mut due: Vec<(Timestamp, FlowId)> = self
            .flows
            .values()
            .filter_map(|flow| Some((flow.due().filter(|due| due.lane == lane)?.at, flow.id)))
            .filter(|(at, _)| *at <= now)
            .collect();
        due.sort_unstable();
        due.into_iter().map(|(_, id)| id).take(limit).collect()
    }
}
