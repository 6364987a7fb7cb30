//! A store of queues in memory, without flows: only their places. Claims take the path of a turn.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use crate::dispatch::{
    Charge, Head, Position, Queue, QueueClaim, QueueKey, QueueWrite, Rank, TurnChange, Turns,
    Waits, queue_group, shares,
};
use crate::ids::FlowId;

/// The queue of a merchant in the only group.
pub(super) fn key(merchant: &str, rank: Rank) -> QueueKey {
    QueueKey::new("payout", merchant, Waits { channel: "wallet", rank })
}

/// The place of a flow, by the number of seconds.
pub(super) fn position(second: i64, number: u128) -> Position {
    (Timestamp::from_second(second).unwrap(), FlowId::from_uuid(Uuid::from_u128(number)))
}

/// A queue that is awake at this turn, or asleep.
pub(super) fn queue(waiting: i64, pass: Option<i64>) -> Queue {
    Queue { waiting, first: position(0, 1), parked_until: None, pass, weight: 100, limit: None }
}

pub(super) fn claim(limit: u32, served: u64) -> QueueClaim {
    let group = queue_group("payout", "wallet");
    QueueClaim { group, now: Timestamp::UNIX_EPOCH, limit, served }
}

/// The queues, and the places of the flows that wait in each, in order.
pub(super) struct Model {
    pub(super) queues: BTreeMap<QueueKey, Queue>,
    waiting: BTreeMap<QueueKey, VecDeque<Position>>,
    owners: BTreeMap<FlowId, QueueKey>,
    weights: BTreeMap<String, u32>,
    pub(super) frozen: BTreeSet<String>,
    pub(super) now: Timestamp,
    served: u64,
    made: u128,
}

impl Model {
    pub(super) fn new() -> Self {
        Self {
            queues: BTreeMap::new(),
            waiting: BTreeMap::new(),
            owners: BTreeMap::new(),
            weights: BTreeMap::new(),
            frozen: BTreeSet::new(),
            now: Timestamp::UNIX_EPOCH,
            served: 0,
            made: 0,
        }
    }

    pub(super) fn weigh(&mut self, merchant: &str, weight: u32) {
        self.weights.insert(merchant.to_owned(), weight);
    }

    /// New flows, which are due now.
    pub(super) fn add(&mut self, merchant: &str, rank: Rank, count: u32) {
        self.add_at(merchant, rank, count, self.now);
    }

    /// New flows. Those of one queue must come in the order of their times.
    pub(super) fn add_at(&mut self, merchant: &str, rank: Rank, count: u32, at: Timestamp) {
        let key = key(merchant, rank);
        let mut earliest = None;
        for _ in 0..count {
            self.made += 1;
            let place = (at, FlowId::from_uuid(Uuid::from_u128(self.made)));
            earliest = earliest.or(Some(place));
            self.waiting.entry(key.clone()).or_default().push_back(place);
            self.owners.insert(place.1, key.clone());
        }
        let weight = self.weights.get(merchant).copied().unwrap_or(100);
        let added = i64::from(count);
        let share = Some((weight, None));
        self.write(&QueueWrite { key, added, earliest, share, turn: TurnChange::Stays });
    }

    pub(super) fn waiting(&self, merchant: &str, rank: Rank) -> i64 {
        self.queues.get(&key(merchant, rank)).map_or(0, |queue| queue.waiting)
    }

    pub(super) fn charge(&mut self, merchant: &str, by: i64) {
        for (key, queue) in &mut self.queues {
            if key.merchant == merchant {
                queue.pass = queue.pass.map(|pass| pass.saturating_add(by));
            }
        }
    }

    /// The queues of what is claimed, in order. One second passes.
    pub(super) fn claim(&mut self, limit: u32) -> Vec<(String, Rank)> {
        self.now += SignedDuration::from_secs(1);
        let claim = QueueClaim { now: self.now, ..claim(limit, self.served) };
        let heads = self.heads(&claim);
        let shares = shares(&heads, &claim, &[]);
        assert!(shares.iter().sum::<u32>() <= limit);
        let mut due = Vec::new();
        for (head, share) in heads.iter().zip(shares) {
            let waiting = self.waiting[&head.key].iter().take(usize::try_from(share).unwrap());
            let waiting = waiting.take_while(|(at, _)| *at <= self.now);
            due.extend(waiting.map(|place| (head.key.clone(), *place)));
        }
        due.retain(|(key, _)| !self.frozen.contains(&key.merchant));
        let mut turns = Turns::new(heads, |key| self.frozen.contains(&key.merchant));
        let taken = take(&mut turns, due, self.served, usize::try_from(limit).unwrap());
        self.served += u64::try_from(taken.len()).unwrap();
        self.apply(turns, &taken)
    }

    /// Claims of one until so many are taken: how many of each merchant and rank.
    pub(super) fn singles(&mut self, count: u32) -> BTreeMap<(String, Rank), u32> {
        let mut counts = BTreeMap::new();
        for _ in 0..count {
            for taken in self.claim(1) {
                *counts.entry(taken).or_default() += 1;
            }
        }
        counts
    }

    fn heads(&self, claim: &QueueClaim) -> Vec<Head> {
        let limit = usize::try_from(claim.heads()).unwrap();
        let mut heads = Vec::new();
        for rank in Rank::ALL {
            let of_rank = self.queues.iter().filter(|(key, _)| key.rank == rank);
            let (mut awake, mut asleep) = (Vec::new(), Vec::new());
            for (key, queue) in of_rank {
                let head = Head { key: key.clone(), queue: queue.clone() };
                match queue.pass {
                    Some(pass) => awake.push((pass, head)),
                    None if self.frozen.contains(&key.merchant) => {}
                    None if queue.ready_at() <= claim.now => asleep.push((queue.ready_at(), head)),
                    None => {}
                }
            }
            awake.sort_by_key(|(pass, _)| *pass);
            asleep.sort_by_key(|(ready, _)| *ready);
            heads.extend(awake.into_iter().map(|(_, head)| head).take(limit));
            heads.extend(asleep.into_iter().map(|(_, head)| head).take(limit));
        }
        heads
    }

    fn apply(&mut self, turns: Turns, taken: &[FlowId]) -> Vec<(String, Rank)> {
        let mut writes: BTreeMap<QueueKey, QueueWrite> = BTreeMap::new();
        let mut names = Vec::new();
        for id in taken {
            let key = self.owners.remove(id).unwrap();
            let first = self.waiting.get_mut(&key).unwrap().pop_front();
            assert_eq!(first.map(|(_, id)| id), Some(*id), "the queue is taken in its order");
            names.push((key.merchant.clone(), key.rank));
            let new = || QueueWrite::unchanged(key.clone());
            writes.entry(key.clone()).or_insert_with(new).added -= 1;
        }
        let (moves, charges) = turns.into_changes(&queue_group("payout", "wallet"));
        for (key, turn) in moves {
            let new = || QueueWrite::unchanged(key.clone());
            writes.entry(key.clone()).or_insert_with(new).turn = turn;
        }
        for write in writes.values() {
            self.write(write);
        }
        for Charge { merchant, by, .. } in charges {
            self.charge(&merchant, by);
        }
        names
    }

    fn write(&mut self, write: &QueueWrite) {
        let first = self.waiting.get(&write.key).and_then(|waiting| waiting.front().copied());
        let after = write.after(self.queues.get(&write.key), first, self.now);
        match after {
            Some(queue) => drop(self.queues.insert(write.key.clone(), queue)),
            None => drop(self.queues.remove(&write.key)),
        }
    }
}

/// What turns take, at one moment.
pub(super) fn take(
    turns: &mut Turns,
    due: Vec<(QueueKey, Position)>,
    served: u64,
    limit: usize,
) -> Vec<FlowId> {
    let slots = std::iter::repeat_n(Timestamp::UNIX_EPOCH, limit);
    turns.take(due, served, slots).into_iter().map(|(id, _)| id).collect()
}
