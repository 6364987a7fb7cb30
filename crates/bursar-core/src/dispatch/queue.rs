//! Queues: where flows wait to be sent, and what is stored about each queue beside its due rows.

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;

use super::rate::Rate;
use crate::flow::Flow;
use crate::ids::FlowId;
use crate::ledger::to_microseconds;
use crate::turn::FlowWrite;

/// Which flows of a channel go first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rank {
    /// An operator has asked for it.
    Urgent,
    /// A caller waits for it.
    Interactive,
    /// For a time that the caller has chosen.
    Scheduled,
    /// Part of a batch.
    Bulk,
}

impl Rank {
    pub const ALL: [Self; 4] = [Self::Urgent, Self::Interactive, Self::Scheduled, Self::Bulk];

    /// The stored number: lower ranks go first.
    pub const fn number(self) -> u8 {
        match self {
            Self::Urgent => 0,
            Self::Interactive => 1,
            Self::Scheduled => 2,
            Self::Bulk => 3,
        }
    }

    pub fn from_number(number: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|rank| i64::from(rank.number()) == number)
    }

    /// The name in replies.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Urgent => "urgent",
            Self::Interactive => "interactive",
            Self::Scheduled => "scheduled",
            Self::Bulk => "bulk",
        }
    }
}

/// How a flow waits to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waits<'f> {
    pub channel: &'f str,
    pub rank: Rank,
}

/// Prefix of the lanes of all queues.
pub const QUEUES: &str = "submit:";

/// Prefix of the lanes of flows that are being sent, by channel.
pub const LEASES: &str = "lease:";

/// The queues of a kind and a channel together: what a claim names.
pub fn queue_group(kind: &str, channel: &str) -> String {
    format!("{QUEUES}{kind}:{channel}")
}

/// Whether a lane is the name of a group of queues.
pub(crate) fn is_group(lane: &str) -> bool {
    group_parts(lane).is_some_and(|(_, channel)| !channel.contains(':'))
}

/// The kind and the channel of a group of queues.
pub fn group_parts(group: &str) -> Option<(&str, &str)> {
    group.strip_prefix(QUEUES)?.split_once(':')
}

/// A queue: a kind and a channel (the group), a merchant and a rank.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct QueueKey {
    pub group: String,
    pub merchant: String,
    pub rank: Rank,
}

impl QueueKey {
    pub fn new(kind: &str, merchant: &str, waits: Waits<'_>) -> Self {
        let group = queue_group(kind, waits.channel);
        Self { group, merchant: merchant.to_owned(), rank: waits.rank }
    }

    /// The queue with this lane. None for any other lane.
    pub fn parse(lane: &str) -> Option<Self> {
        lane.strip_prefix(QUEUES)?;
        let mut parts = lane.rsplitn(3, ':');
        let (merchant, rank, group) = (parts.next()?, parts.next()?, parts.next()?);
        let rank = Rank::from_number(rank.parse().ok()?)?;
        Some(Self { group: group.to_owned(), merchant: merchant.to_owned(), rank })
    }
}

/// The lane of the queue.
impl fmt::Display for QueueKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.group, self.rank.number(), self.merchant)
    }
}

/// A place in the order of a queue.
pub type Position = (Timestamp, FlowId);

/// The weight of a merchant that has no other.
pub const WEIGHT: u32 = 100;

/// What is stored about a queue. A queue without flows is not stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queue {
    /// The flows that wait in it, due or not.
    pub waiting: i64,
    /// The first of them. A claim begins to read here, so that it does not pass over rows that were removed.
    pub first: Position,
    /// Nothing is taken before this time, because of a limit of the merchant.
    pub parked_until: Option<Timestamp>,
    /// The merchant's turn among the queues of the rank that have due flows: the least goes first. None while the queue is
    /// asleep: when it wakes, it joins at the least turn of the others.
    pub pass: Option<i64>,
    pub weight: u32,
    /// How many of the merchant are sent a second at most.
    pub limit: Option<Rate>,
}

impl Queue {
    /// When its first flow may be taken.
    pub fn ready_at(&self) -> Timestamp {
        let (due, _) = self.first;
        self.parked_until.map_or(due, |until| until.max(due))
    }
}

/// What a commit changes about a queue. The store applies it after all checks, while no other commit can be saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueWrite {
    pub key: QueueKey,
    /// The net number of flows that came.
    pub added: i64,
    /// The first of those that came.
    pub earliest: Option<Position>,
    /// The weight and the limit of the merchant, if its record was read.
    pub share: Option<(u32, Option<Rate>)>,
    pub turn: TurnChange,
}

/// What a claim changes about the turn of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnChange {
    Stays,
    /// It was asleep, and joins the others at this turn.
    Joins(i64),
    /// Its merchant is frozen: it falls asleep.
    Leaves,
    /// Its merchant has reached a limit: it sleeps until then.
    Parks(Timestamp),
}

/// The price of what was taken, which moves every turn of the merchant in the group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Charge {
    pub group: String,
    pub merchant: String,
    pub by: i64,
}

impl QueueWrite {
    /// Where to look for the first flow that waits: nothing waits before.
    pub fn from(&self, before: Option<&Queue>) -> Option<Position> {
        let before = before.map(|queue| queue.first);
        before.into_iter().chain(self.earliest).min()
    }

    /// The queue after the commit; none if nothing waits any more. `first` is the first due row that is there now.
    pub fn after(
        &self,
        before: Option<&Queue>,
        first: Option<Position>,
        now: Timestamp,
    ) -> Option<Queue> {
        let waiting = before.map_or(0, |queue| queue.waiting).saturating_add(self.added);
        // A row that is not found where it must be leaves the queue for verification to report.
        let first = first.or(self.from(before)).filter(|_| waiting > 0)?;
        let before_pass = before.and_then(|queue| queue.pass);
        let parked = before.and_then(|queue| queue.parked_until).filter(|until| *until > now);
        let (pass, parked_until) = match self.turn {
            TurnChange::Stays => (before_pass, parked),
            // Another process may have woken it since it was read.
            TurnChange::Joins(pass) => (before_pass.or(Some(pass)), parked),
            TurnChange::Leaves => (None, parked),
            TurnChange::Parks(until) => (None, Some(until)),
        };
        let known = before.map(|queue| (queue.weight, queue.limit));
        let (weight, limit) = self.share.or(known).unwrap_or((WEIGHT, None));
        let mut queue = Queue { waiting, first, parked_until, pass, weight, limit };
        if queue.ready_at() > now {
            queue.pass = None;
        }
        Some(queue)
    }
}

/// The changes of the queues by changed flows, before any claim adds its turns.
pub(crate) fn queue_writes(flows: &[FlowWrite]) -> BTreeMap<QueueKey, QueueWrite> {
    let mut writes: BTreeMap<QueueKey, QueueWrite> = BTreeMap::new();
    let mut change = |(key, (at, id)): (QueueKey, Position), added: i64| {
        let write = writes.entry(key.clone()).or_insert_with(|| QueueWrite::unchanged(key));
        write.added = write.added.saturating_add(added);
        if added > 0 {
            write.earliest = write.earliest.into_iter().chain([(at, id)]).min();
        }
    };
    for write in flows {
        let (before, after) = (write.before.as_deref().and_then(place), place(&write.after));
        if before != after {
            let places = before.map(|place| (place, -1)).into_iter();
            for (place, added) in places.chain(after.map(|place| (place, 1))) {
                change(place, added);
            }
        }
    }
    writes
}

/// Where a flow waits to be sent.
fn place(flow: &Flow) -> Option<(QueueKey, Position)> {
    // The stores keep microseconds.
    Some((flow.queue()?, (to_microseconds(flow.step_at()?), flow.id)))
}

impl QueueWrite {
    pub(crate) const fn unchanged(key: QueueKey) -> Self {
        Self { key, added: 0, earliest: None, share: None, turn: TurnChange::Stays }
    }
}

/// The queues of flows, all asleep.
pub fn queues_of<'f>(flows: impl IntoIterator<Item = &'f Flow>) -> BTreeMap<QueueKey, Queue> {
    let mut counted = QueueRecount::default();
    flows.into_iter().for_each(|flow| counted.add(flow));
    let queue = |(key, (waiting, first))| {
        (key, Queue { waiting, first, parked_until: None, pass: None, weight: WEIGHT, limit: None })
    };
    counted.0.into_iter().map(queue).collect()
}

/// Queues counted again from the flows.
#[derive(Debug, Default)]
pub(crate) struct QueueRecount(BTreeMap<QueueKey, (i64, Position)>);

impl QueueRecount {
    pub(crate) fn add(&mut self, flow: &Flow) {
        let Some((key, position)) = place(flow) else { return };
        let (waiting, first) = self.0.entry(key).or_insert((0, position));
        *waiting = waiting.saturating_add(1);
        *first = position.min(*first);
    }

    /// The differences to the stored queues.
    pub(crate) fn compare(mut self, stored: &[(QueueKey, Queue)]) -> Vec<String> {
        let mut differences = Vec::new();
        for (key, queue) in stored {
            let (waiting, first) = self.0.remove(key).unzip();
            if waiting != Some(queue.waiting) {
                let (found, waiting) = (queue.waiting, waiting.unwrap_or_default());
                differences
                    .push(format!("the queue {key} counts {found} flows, {waiting} wait in it"));
            } else if first != Some(queue.first) {
                let (at, id) = queue.first;
                differences.push(format!("the queue {key} does not begin with {id} at {at}"));
            }
        }
        for (key, (waiting, _)) in self.0 {
            differences.push(format!("the queue {key} is missing: {waiting} flows are never sent"));
        }
        differences
    }
}
