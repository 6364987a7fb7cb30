//! The decision: a batch and the records it asked for in, a commit out. Later requests see what earlier ones did.

mod delivery;
mod drive;
mod endpoint;
mod payin;
mod payout;
mod registry;
mod reservation;
mod shelf;
mod wake;

pub(crate) use payout::epoch_name;

use std::collections::BTreeMap;
use std::sync::Arc;

use self::shelf::Shelf;
use crate::admit::{Admitted, Post, TakeBack};
use crate::commit::{Commit, FlowWrite};
use crate::control::{Control, ControlWrite, Standing, Switch, Turned};
use crate::delivery::Parcel;
use crate::effect::Effect;
use crate::feed::{AuditEntry, FeedEvent};
use crate::flow::{Flow, is_flow_name};
use crate::idempotency::{FlowReply, Key, KeyDigest, KnownKey};
use crate::ids::{EventId, FlowId};
use crate::ledger::{Admission, Ledger, Posted, REVERT};
use crate::records::ReadSet;
use crate::rejection::Rejection;
use crate::request::{Answer, Batch, Reply};
use crate::rules::Rules;
use crate::tracked::Tracked;

/// Decides a batch. Nothing is read and nothing is written: the commit says what must be saved.
pub fn apply(batch: &Batch<'_>, records: ReadSet) -> Commit {
    let mut draft = Draft::new(batch, records);
    let answers = batch
        .requests()
        .iter()
        .map(|request| match request {
            Admitted::Post(post, admission) => draft.post(post, admission),
            Admitted::Revert(back, admission) => draft.revert(back, admission),
            Admitted::Reserve(reserve, admission) => draft.reserve(reserve, admission),
            Admitted::Decide(key, decision, admission) => draft.decide(key, decision, admission),
            Admitted::CreatePayout(create, admission) => draft.create_payout(create, admission),
            Admitted::CancelPayout(key, cancellation, admission) => {
                draft.cancel_payout(key, cancellation, admission)
            }
            Admitted::ResolvePayout(key, resolution, admission) => {
                draft.resolve(key, resolution, admission)
            }
            Admitted::Report(report, admission) => draft.report(report, admission),
            Admitted::Tell(told, admission) => draft.hear(told, admission),
            Admitted::TakePayIn(take, admission) => draft.take_payin(take, admission),
            Admitted::Switch(switch, admission) => draft.switch(switch, admission),
            Admitted::Register(change, admission) => draft.register(change, admission),
            Admitted::Wake(wake, admission) => Ok(draft.wake(wake, admission)),
            Admitted::Mail(mail, admission) => draft.mail(mail, admission),
            Admitted::Drive(drive, admission) => draft.drive(drive, admission),
            Admitted::SetAside(lane, blame, admission) => {
                let first = draft.due(lane, admission.now, 1);
                Ok(draft.set_aside(&first, *blame, admission))
            }
            Admitted::Refused(rejection) => Err(rejection.clone()),
        })
        .collect();
    draft.into_commit(answers)
}

/// A flow as people see it, and the same as text: whoever is told and whoever asked get the same words.
struct Seen {
    reply: Arc<FlowReply>,
    text: String,
}

impl Seen {
    fn new(flow: &Flow) -> Self {
        let reply = FlowReply::new(flow);
        let text = reply.encode();
        Self { reply: Arc::new(reply), text }
    }
}

/// A commit in the making: the records as they are after the requests that were decided so far.
struct Draft<'r> {
    rules: &'r Rules,
    ledger: Ledger,
    flows: Tracked<FlowId, Arc<Flow>>,
    /// Flows that are there and cannot be read.
    unreadable: Vec<FlowId>,
    /// Flows by what they are known by outside; made when somebody asks.
    known_as: Option<BTreeMap<(String, String), FlowId>>,
    keys: BTreeMap<KeyDigest, KnownKey>,
    /// Those that were not known when the records were read.
    new_keys: Vec<KeyDigest>,
    events: Vec<FeedEvent>,
    audit: Vec<AuditEntry>,
    effects: Vec<Effect>,
    parcels: Vec<Parcel>,
    /// The flow whose own workflow asks, or that the relay carries: it need not be told.
    driving: Option<FlowId>,
    /// How many deliveries have begun so far.
    told: usize,
    /// Something is sent that may not be sent when it is frozen.
    is_sent: bool,
    /// The switches as they were read, and as they are now.
    control_before: Control,
    control: Control,
    records: Shelf,
}

impl<'r> Draft<'r> {
    fn new(batch: &Batch<'r>, mut records: ReadSet) -> Self {
        // Rows are large: room for about as many as there are requests is made at once.
        let room = batch.requests().len();
        let flows = std::mem::take(&mut records.flows);
        let unreadable = std::mem::take(&mut records.unreadable);
        let keys = std::mem::take(&mut records.keys);
        let control = std::mem::take(&mut records.control).unwrap_or_default();
        let registry = std::mem::take(&mut records.registry);
        let unreadable_records = std::mem::take(&mut records.unreadable_records);
        Self {
            rules: batch.rules(),
            ledger: Ledger::new(records, room),
            flows: Tracked::read(flows.into_iter().map(|flow| (flow.id, flow))),
            unreadable,
            known_as: None,
            keys: keys.into_iter().map(|known| (known.key.digest(), known)).collect(),
            new_keys: Vec::new(),
            events: Vec::with_capacity(room),
            audit: Vec::new(),
            effects: Vec::with_capacity(room),
            parcels: Vec::new(),
            driving: None,
            told: 0,
            is_sent: false,
            control_before: control.clone(),
            control,
            records: Shelf::read(registry, unreadable_records),
        }
    }

    fn into_commit(self, answers: Vec<Answer>) -> Commit {
        let control = self.control_write();
        let Self { ledger, flows, mut keys, events, audit, effects, parcels, .. } = self;
        let (records, relied_on) = self.records.into_writes();
        let flows = flows.into_changed();
        let flows = flows.map(|(_, before, after)| FlowWrite { before, after }).collect();
        let mut new_keys = Vec::with_capacity(self.new_keys.len());
        new_keys.extend(self.new_keys.iter().filter_map(|digest| keys.remove(digest)));
        let rest = ledger.into_commit(answers);
        let keys = new_keys;
        Commit { flows, keys, events, audit, control, records, relied_on, effects, parcels, ..rest }
    }

    /// Whoever saves must find the switches as they were read, if anything is sent or a switch was thrown.
    fn control_write(&self) -> Option<ControlWrite> {
        let is_changed = self.control != self.control_before;
        let freezes = is_changed.then(|| self.control.freezes.clone());
        let version = self.control_before.version;
        (self.is_sent || is_changed).then_some(ControlWrite { version, freezes })
    }

    fn switch(&mut self, switch: &Switch, admission: &Admission) -> Answer {
        let before = self.control.clone();
        let standing = self.control.throw(switch, admission.now)?;
        let name = switch.scope.to_string();
        if self.control != before {
            let (action, note) = match &switch.turn {
                Turned::Freeze { reason } => ("freeze", reason.as_str()),
                Turned::Unfreeze { reason } if standing == Standing::Proposed => {
                    ("unfreeze.propose", reason.as_str())
                }
                Turned::Unfreeze { reason } => ("unfreeze", reason.as_str()),
            };
            self.ledger.touch(admission.now);
            self.note((&switch.actor, action), &name, note, admission);
        }
        Ok(Reply::Noted { name, status: standing.status() })
    }

    /// An event from outside. What belongs to a flow is booked by the flow alone, or the two would drift apart.
    fn post(&mut self, post: &Post<'_>, admission: &Admission) -> Answer {
        let Post { bound, actor } = post;
        if is_flow_name(bound.reference()) {
            return Err(Rejection::BelongsToFlow { name: bound.reference().to_owned() });
        }
        let posted = self.ledger.post_bound(bound, admission)?;
        self.note_posted(*actor, bound.rule().event(), posted, admission);
        Ok(Reply::Posted(posted))
    }

    /// Whoever posts by hand is on the record, once.
    fn note_posted(
        &mut self,
        actor: Option<&str>,
        event: &str,
        posted: Posted,
        admission: &Admission,
    ) {
        if let (Some(actor), Posted::New(id)) = (actor, posted) {
            self.note((actor, "ledger.post"), &id.to_string(), event, admission);
        }
    }

    fn revert(&mut self, back: &TakeBack<'_>, admission: &Admission) -> Answer {
        let TakeBack { revert, actor } = back;
        let original = self.ledger.transaction(revert.id);
        if let Some(name) =
            original.map(|original| &original.reference).filter(|name| is_flow_name(name))
        {
            return Err(Rejection::BelongsToFlow { name: name.clone() });
        }
        let posted = self.ledger.revert(&self.rules.rulebook, revert, admission)?;
        self.note_posted(*actor, REVERT, posted, admission);
        Ok(Reply::Posted(posted))
    }

    /// The reply that was given under this key, if there was one.
    fn replay(&self, key: &Key, request_hash: [u8; 32]) -> Option<Answer> {
        let known = self.keys.get(&key.digest())?;
        let replayed = known.replay(key, request_hash);
        Some(replayed.map(|reply| Reply::Flow { reply, is_replay: true }))
    }

    /// Remembers the reply with the commit that it belongs to.
    fn answer(&mut self, key: &Key, request_hash: [u8; 32], flow: FlowId, seen: Seen) -> Reply {
        let (digest, Seen { reply, text }) = (key.digest(), seen);
        let given = Arc::clone(&reply);
        let known = KnownKey { key: key.clone(), request_hash, flow, reply, text };
        self.keys.insert(digest, known);
        self.new_keys.push(digest);
        Reply::Flow { reply: given, is_replay: false }
    }

    /// The same about a flow as it is now.
    fn answer_about(&mut self, key: &Key, request_hash: [u8; 32], id: FlowId) -> Answer {
        let seen = self.flow(id).map(Seen::new);
        let seen = seen.ok_or_else(|| Rejection::UnknownFlow { id: id.to_string() })?;
        Ok(self.answer(key, request_hash, id, seen))
    }

    /// Puts a flow that has changed where later requests find it.
    fn put(&mut self, mut flow: Flow, admission: &Admission) {
        let id = flow.id;
        if self.driving != Some(id) {
            flow.host.wake(admission.now);
        }
        self.ledger.touch(admission.now);
        if let Some(known_as) = &mut self.known_as {
            known_as.extend(references(&flow));
        }
        self.flows.put(id, Arc::new(flow));
    }

    fn flow(&self, id: FlowId) -> Option<&Flow> {
        self.flows.get(&id).map(|flow| &**flow)
    }

    /// All flows that were read or made.
    fn flows(&self) -> impl Iterator<Item = &Flow> {
        self.flows.iter().map(|(_, flow)| &**flow)
    }

    /// The flow that a channel or a provider speaks about when it names a reference.
    fn known_as(&mut self, speaker: &str, reference: &str) -> Option<&Flow> {
        let flows = &self.flows;
        let known = self
            .known_as
            .get_or_insert_with(|| flows.iter().flat_map(|(_, flow)| references(flow)).collect());
        let id = known.get(&(speaker.to_owned(), reference.to_owned()))?;
        flows.get(id).map(|flow| &**flow)
    }

    /// Tells the merchant about a flow that has changed.
    fn tell(&mut self, flow: &Flow, admission: &Admission) {
        self.tell_as(flow, FlowReply::new(flow).encode(), admission);
    }

    /// The same in words that somebody has already found.
    fn tell_as(&mut self, flow: &Flow, data: String, admission: &Admission) {
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
        self.fan_out(&event, admission);
        self.events.push(event);
    }

    /// A flow that is not among those that were read: it is not there, or cannot be read.
    fn missing(&self, id: FlowId, name: String) -> Rejection {
        if self.unreadable.contains(&id) {
            return Rejection::Unreadable { id: name };
        }
        Rejection::UnknownFlow { id: name }
    }

    fn note(
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
    flow.references().map(move |(speaker, name)| ((speaker.into_owned(), name.to_owned()), id))
}
