//! A commit under construction. Its fields are private: domains write through the methods here.

mod approval;
mod control;
mod queues;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::commit::mark_keyed;
use super::record_cache::RecordCache;
use crate::feed::{AuditEntry, FeedEvent};
use crate::flow::{Effect, Flow, FlowView, Kind, Listed};
use crate::freezes::Control;
use crate::idempotency::{Key, KeyDigest, KnownKey};
use crate::ids::{EventId, FlowId, TransactionId};
use crate::ledger::closing::Close;
use crate::ledger::rulebook::Bound;
use crate::ledger::{Admission, Ledger, Posted, Revert, Transaction};
use crate::registry::{self, Content, Record, RecordKey};
use crate::rejection::Rejection;
use crate::rules::Rules;
use crate::turn::tracked::Tracked;
use crate::turn::{Answer, Commit, FlowWrite, Given, ReadSet, TurnInput, tally_changes};
use crate::webhooks;
use jiff::Timestamp;

/// The view of a flow and its JSON: the event and the reply carry the same text.
pub(crate) struct RenderedReply<K: Kind> {
    pub(crate) view: Arc<K::View>,
    pub(crate) text: String,
}

impl<K: Listed> RenderedReply<K> {
    /// None if the flow is of another kind.
    pub(crate) fn new(flow: &Flow) -> Option<Self> {
        let view = Arc::new(K::of(&flow.state)?.view(flow));
        let text = K::into_view(Arc::clone(&view)).encode();
        Some(Self { view, text })
    }
}

/// A commit under construction: the records after the requests that are decided so far.
#[derive(Clone)]
pub(crate) struct Draft<'r> {
    rules: &'r Rules,
    ledger: Ledger,
    flows: Tracked<FlowId, Arc<Flow>>,
    /// Flows that exist but cannot be decoded.
    unreadable: Vec<FlowId>,
    /// Flows by external reference; built at the first lookup.
    known_as: Option<BTreeMap<(String, String), FlowId>>,
    dispatch: queues::Dispatch,
    closings: Vec<Close>,
    keys: BTreeMap<KeyDigest, KnownKey>,
    /// Keys that did not exist when the records were read.
    new_keys: Vec<KeyDigest>,
    events: Vec<FeedEvent>,
    audit: Vec<AuditEntry>,
    effects: Vec<Effect>,
    /// The flow whose own workflow or relay makes the change: it needs no outbox entry to wake it.
    driving: Option<FlowId>,
    /// Number of deliveries created so far.
    deliveries_created: usize,
    /// The turn sends or releases money, which a freeze or a restore may forbid.
    relies_on_control: bool,
    /// What holds payouts back, as it was read, and as it is now.
    control_before: Control,
    control: Control,
    records: RecordCache,
    /// Number and time of the last commit before the turn.
    last_commit: (u64, Option<Timestamp>),
    /// The request that is decided was approved by as many people as it needs.
    is_approved: bool,
}

impl<'r> Draft<'r> {
    pub(crate) fn new(batch: &TurnInput<'r>, mut records: ReadSet) -> Self {
        // Rows are large: allocate about one for each request at once.
        let capacity = batch.requests().len();
        let flows = std::mem::take(&mut records.flows);
        let unreadable = std::mem::take(&mut records.unreadable);
        let keys = std::mem::take(&mut records.keys);
        let control = std::mem::take(&mut records.control).unwrap_or_default();
        let registry = std::mem::take(&mut records.registry);
        let unreadable_records = std::mem::take(&mut records.unreadable_records);
        let last_commit = (records.seq, records.time);
        let dispatch = queues::Dispatch::new(&mut records, &control);
        Self {
            rules: batch.rules(),
            ledger: Ledger::new(records, capacity),
            flows: Tracked::read(flows.into_iter().map(|flow| (flow.id, flow))),
            unreadable,
            known_as: None,
            dispatch,
            closings: Vec::new(),
            keys: keys.into_iter().map(|known| (known.key.digest(), known)).collect(),
            new_keys: Vec::new(),
            events: Vec::with_capacity(capacity),
            audit: Vec::new(),
            effects: Vec::with_capacity(capacity),
            driving: None,
            deliveries_created: 0,
            relies_on_control: false,
            control_before: control.clone(),
            control,
            records: RecordCache::read(registry, unreadable_records),
            last_commit,
            is_approved: false,
        }
    }

    pub(crate) fn into_commit(self, answers: Vec<Answer>) -> Commit {
        let control = self.control_write();
        let Self { ledger, flows, closings, mut keys, events, audit, effects, .. } = self;
        let flows = flows.into_changed();
        let write = |(_, before, after)| FlowWrite { before, after, is_keyed: false };
        let mut flows: Vec<_> = flows.map(write).collect();
        let tallies = tally_changes(&flows);
        let queues::Changes { queues, charges, cycles } =
            queues::changes(&flows, self.dispatch, &self.records);
        let (records, relied_on) = self.records.into_writes();
        let mut new_keys = Vec::with_capacity(self.new_keys.len());
        new_keys.extend(self.new_keys.iter().filter_map(|digest| keys.remove(digest)));
        mark_keyed(&mut flows, &new_keys, self.rules.books);
        let rest = ledger.into_commit(answers);
        let keys = new_keys;
        Commit {
            flows,
            tallies,
            queues,
            charges,
            cycles,
            closings,
            keys,
            events,
            audit,
            control,
            records,
            relied_on,
            effects,
            ..rest
        }
    }

    pub(crate) fn rules(&self) -> &'r Rules {
        self.rules
    }

    pub(crate) fn post_bound(
        &mut self,
        bound: &Bound<'_>,
        at: &Admission,
    ) -> Result<Posted, Rejection> {
        self.ledger.post_bound(bound, at)
    }

    pub(crate) fn revert(&mut self, revert: &Revert, at: &Admission) -> Result<Posted, Rejection> {
        self.ledger.revert(&self.rules.rulebook, revert, at)
    }

    pub(crate) fn transaction(&self, id: TransactionId) -> Option<&Transaction> {
        self.ledger.transaction(id)
    }

    /// Saves a part of a closing.
    pub(crate) fn close(&mut self, part: Close, at: &Admission) {
        self.mark_written(at);
        self.closings.push(part);
    }

    /// The commit is not empty, even if it saves only a key or an audit entry.
    pub(crate) fn mark_written(&mut self, at: &Admission) {
        self.ledger.mark_written(at.now);
    }

    /// Rolls the ledger back if `book` fails.
    pub(crate) fn all_or_nothing<T>(
        &mut self,
        book: impl FnOnce(&mut Self) -> Result<T, Rejection>,
    ) -> Result<T, Rejection> {
        let before = self.ledger.clone();
        let booked = book(self);
        if booked.is_err() {
            self.ledger = before;
        }
        booked
    }

    /// Whether a flow existed when the turn began, so that everything that its plan names was read.
    pub(crate) fn was_read(&self, id: FlowId) -> bool {
        self.flows.was_read(&id)
    }

    /// Number and time of the last commit before the turn.
    pub(crate) fn last_commit(&self) -> (u64, Option<Timestamp>) {
        self.last_commit
    }

    /// The transactions that are posted so far.
    pub(crate) fn transactions(&self) -> &[Transaction] {
        self.ledger.transactions()
    }

    /// Adds an effect to run after the commit is saved.
    pub(crate) fn send(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    /// Takes the effect of this flow's step out of the commit: the workflow runs it instead of the engine.
    pub(crate) fn take_effect(&mut self, id: FlowId) -> Option<Effect> {
        self.effects.pop_if(|effect| effect.flow == id)
    }

    pub(crate) fn unreadable(&self) -> &[FlowId] {
        &self.unreadable
    }

    /// The changes of `act` come from the flow's own workflow or from the relay, so they create no outbox entry to wake
    /// it.
    pub(crate) fn as_driver<T>(&mut self, id: FlowId, act: impl FnOnce(&mut Self) -> T) -> T {
        self.driving = Some(id);
        let done = act(self);
        self.driving = None;
        done
    }

    pub(crate) fn deliveries_created(&self) -> usize {
        self.deliveries_created
    }

    pub(crate) fn count_delivery(&mut self) {
        self.deliveries_created = self.deliveries_created.saturating_add(1);
    }

    pub(crate) fn record(&self, kind: registry::Kind, id: &str) -> Option<&Record> {
        self.records.get(kind, id)
    }

    /// Same, for a decision that depends on the record: its version becomes a precondition of the commit.
    pub(crate) fn rely_on(&mut self, kind: registry::Kind, id: &str) -> Option<&Record> {
        self.records.rely_on(kind, id)
    }

    /// Saves a new or changed record, visible to later requests of the turn.
    pub(crate) fn put_record(
        &mut self,
        key: RecordKey,
        content: Content,
        at: &Admission,
    ) -> Record {
        self.ledger.mark_written(at.now);
        self.records.put(key, content, at.now).clone()
    }

    /// Fails for an unreadable record, which must not count as missing.
    pub(crate) fn check_readable(&self, kind: registry::Kind, id: &str) -> Result<(), Rejection> {
        if self.records.is_unreadable(kind, id) {
            return Err(Rejection::Unreadable { id: format!("{kind} {id}") });
        }
        Ok(())
    }

    /// Adds an event to the feed only; no endpoint receives it.
    pub(crate) fn publish(&mut self, event: FeedEvent) {
        self.events.push(event);
    }

    /// The stored reply for this key, if there is one.
    pub(crate) fn replay<K: Listed>(
        &self,
        key: &Key,
        request_hash: [u8; 32],
    ) -> Option<Result<Given<K::View>, Rejection>> {
        let known = self.keys.get(&key.digest())?;
        Some(known.replay(key, request_hash).and_then(|reply| {
            let reused = || Rejection::KeyReused { key: key.value().to_owned() };
            let view = K::from_view(reply).map(Arc::clone).ok_or_else(reused)?;
            Ok(Given { view, is_replay: true })
        }))
    }

    /// Stores the reply in the same commit as the work.
    pub(crate) fn answer<K: Listed>(
        &mut self,
        key: &Key,
        request_hash: [u8; 32],
        flow: FlowId,
        rendered: RenderedReply<K>,
    ) -> Given<K::View> {
        let (digest, RenderedReply { view, text }) = (key.digest(), rendered);
        let reply = K::into_view(Arc::clone(&view));
        let known = KnownKey { key: key.clone(), request_hash, flow, reply: Some(reply), text };
        self.keys.insert(digest, known);
        self.new_keys.push(digest);
        Given { view, is_replay: false }
    }

    /// Same, with the current view of the flow.
    pub(crate) fn answer_about<K: Listed>(
        &mut self,
        key: &Key,
        request_hash: [u8; 32],
        id: FlowId,
    ) -> Result<Given<K::View>, Rejection> {
        let rendered = self.flow(id).and_then(RenderedReply::<K>::new);
        let rendered = rendered.ok_or_else(|| Rejection::UnknownFlow { id: id.to_string() })?;
        Ok(self.answer(key, request_hash, id, rendered))
    }

    /// Saves a changed flow, visible to later requests of the turn.
    pub(crate) fn put(&mut self, mut flow: Flow, admission: &Admission) {
        let id = flow.id;
        if self.driving != Some(id) {
            flow.host.wake(admission.now);
        }
        self.ledger.mark_written(admission.now);
        if let Some(known_as) = &mut self.known_as {
            known_as.extend(references(&flow));
        }
        self.flows.put(id, Arc::new(flow));
    }

    /// Same as `flow`, but shared, so that the caller can write to the draft meanwhile.
    pub(crate) fn shared(&self, id: FlowId) -> Option<Arc<Flow>> {
        self.flows.get(&id).map(Arc::clone)
    }

    pub(crate) fn flow(&self, id: FlowId) -> Option<&Flow> {
        self.flows.get(&id).map(|flow| &**flow)
    }

    /// All flows that this turn has read or created.
    pub(crate) fn flows(&self) -> impl Iterator<Item = &Flow> {
        self.flows.iter().map(|(_, flow)| &**flow)
    }

    /// The flow to which a channel or a provider gave this reference.
    pub(crate) fn known_as(&mut self, issuer: &str, reference: &str) -> Option<&Flow> {
        let flows = &self.flows;
        let known = self
            .known_as
            .get_or_insert_with(|| flows.iter().flat_map(|(_, flow)| references(flow)).collect());
        let id = known.get(&(issuer.to_owned(), reference.to_owned()))?;
        flows.get(id).map(|flow| &**flow)
    }

    /// Emits the event of a changed flow to the feed and to the merchant's endpoints.
    pub(crate) fn emit(&mut self, flow: &Flow, admission: &Admission) {
        self.emit_as(flow, FlowView::new(flow).encode(), admission);
    }

    /// Same, with the JSON that the caller has already rendered.
    pub(crate) fn emit_as(&mut self, flow: &Flow, data: String, admission: &Admission) {
        let Some(kind) = flow.state.event() else { return };
        let resource = flow.name();
        let seed = admission.seed.child([&resource, &flow.sequence.to_string()]);
        let event = FeedEvent {
            id: EventId::new(admission.now, &seed, 0),
            kind: kind.to_owned(),
            resource,
            merchant: flow.merchant.clone(),
            sequence: flow.sequence,
            time: admission.now,
            data,
        };
        webhooks::fan_out(self, &event, admission);
        self.events.push(event);
    }

    /// The rejection for a flow that was not read: it does not exist, or it cannot be decoded.
    pub(crate) fn missing(&self, id: FlowId, name: String) -> Rejection {
        if self.unreadable.contains(&id) {
            return Rejection::Unreadable { id: name };
        }
        Rejection::UnknownFlow { id: name }
    }

    pub(crate) fn note(
        &mut self,
        (actor, action): (&str, &str),
        resource: &str,
        note: &str,
        admission: &Admission,
    ) {
        self.audit.push(AuditEntry {
            actor: actor.to_owned(),
            action: action.to_owned(),
            resource: resource.to_owned(),
            note: note.to_owned(),
            time: admission.now,
        });
    }
}

fn references(flow: &Flow) -> impl Iterator<Item = ((String, String), FlowId)> {
    let id = flow.id;
    flow.references().map(move |(issuer, name)| ((issuer.into_owned(), name.to_owned()), id))
}
