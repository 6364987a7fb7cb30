//! Whose turn it is: ranks in order, with a floor for each lower one, and within a rank the merchants by stride scheduling.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use jiff::Timestamp;

use super::pace::after;
use super::queue::{Charge, Position, Queue, QueueKey, Rank, TurnChange, WEIGHT};
use super::rate::Rate;
use crate::ids::FlowId;

/// A claim of due flows in the queues of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueClaim {
    pub group: String,
    pub now: Timestamp,
    pub limit: u32,
    /// How many the host has claimed in the group before: floors count from here.
    pub served: u64,
}

impl QueueClaim {
    /// How many queues of each rank a claim looks at: few cost less, many are fairer within one turn.
    pub fn heads(&self) -> u32 {
        self.limit.clamp(4, 64)
    }
}

/// A queue that a claim has read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    pub key: QueueKey,
    pub queue: Queue,
}

/// Of so many flows that are sent, each lower rank with due flows gets at least one.
const FLOOR_EVERY: u64 = 20;

/// What one flow of a merchant with weight 1 costs.
const STRIDE: i64 = 1_000_000;

fn stride(weight: u32) -> i64 {
    STRIDE.checked_div(i64::from(weight)).unwrap_or(STRIDE).max(1)
}

/// How many flows to read of each head, in the order of the heads. Those of frozen merchants are not read.
pub fn shares(heads: &[Head], claim: &QueueClaim, frozen: &[&str]) -> Vec<u32> {
    let mut shares = vec![0_u32; heads.len()];
    let is_frozen = |key: &QueueKey| frozen.contains(&key.merchant.as_str());
    let mut turns = Turns::new(heads.to_vec(), is_frozen);
    for (place, head) in heads.iter().enumerate() {
        let (left, first) = (head.queue.waiting, head.queue.first);
        if let Some(known) = turns.places.get_mut(&head.key) {
            known.first = Some(first);
            known.supply = Supply::Counted { place, left };
        }
    }
    turns.line_up();
    for slot in (claim.served..).take(usize::try_from(claim.limit).unwrap_or(usize::MAX)) {
        let Some(Taken::Counted(place)) = turns.next(slot, None) else { break };
        if let Some(share) = shares.get_mut(place) {
            *share = share.saturating_add(1);
        }
    }
    shares
}

/// The flows that a queue offers.
#[derive(Debug, Clone)]
enum Supply {
    /// Only their number is known.
    Counted {
        place: usize,
        left: i64,
    },
    Flows(VecDeque<Position>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Taken {
    Counted(usize),
    Flow(FlowId),
}

/// The turns of the queues of a group while claims are decided.
#[derive(Debug, Clone, Default)]
pub(crate) struct Turns {
    places: BTreeMap<QueueKey, Place>,
    /// The queues that offer something, in the order of their turns.
    order: BTreeMap<Rank, BTreeSet<Order>>,
    /// What was taken, by merchant.
    charges: BTreeMap<String, i64>,
    limits: BTreeMap<String, Limit>,
    /// Queues of frozen merchants, which must fall asleep, and their least turns.
    left: Vec<QueueKey>,
    left_least: BTreeMap<Rank, i64>,
}

/// The turn, whether it has joined with this claim, and for how long it waits.
type Order = (i64, bool, Option<Position>, QueueKey);

/// The limit of a merchant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limit {
    pub(crate) rate: Rate,
    /// When the next one may be sent.
    pub(crate) next: Timestamp,
    /// Slots are given out up to here.
    pub(crate) until: Timestamp,
}

#[derive(Debug, Clone)]
struct Place {
    limit: Option<Rate>,
    weight: u32,
    pass: i64,
    /// It was asleep, and joins at this turn.
    joined_at: Option<i64>,
    /// Its flows came in this turn: there is no stored queue, or it was not read.
    is_new: bool,
    first: Option<Position>,
    supply: Supply,
}

impl Turns {
    /// Queues that are asleep join nearly one turn behind the least of their rank: the queue of a merchant that sends one flow at
    /// a time was forgotten with its last, and must not come back before those that have waited. Queues of frozen merchants
    /// leave.
    pub(crate) fn new(heads: Vec<Head>, is_frozen: impl Fn(&QueueKey) -> bool) -> Self {
        let mut turns = Self::default();
        let (frozen, open): (Vec<Head>, Vec<Head>) =
            heads.into_iter().partition(|head| is_frozen(&head.key));
        for Head { key, queue } in frozen {
            let Some(pass) = queue.pass else { continue };
            // They count: those that were not read come behind them.
            let least = turns.left_least.entry(key.rank).or_insert(pass);
            *least = pass.min(*least);
            turns.left.push(key);
        }
        let (awake, asleep): (Vec<Head>, Vec<Head>) =
            open.into_iter().partition(|head| head.queue.pass.is_some());
        for Head { key, queue } in awake {
            turns.add(key, (queue.weight, queue.limit), queue.pass, false);
        }
        let least = Rank::ALL.map(|rank| turns.least(rank));
        for Head { key, queue } in asleep {
            turns.join(&key, (queue.weight, queue.limit), &least, false);
        }
        turns
    }

    fn add(&mut self, key: QueueKey, (weight, limit): Share, pass: Option<i64>, is_new: bool) {
        let supply = Supply::Flows(VecDeque::new());
        let (pass, joined_at) = (pass.unwrap_or_default(), None);
        let place = Place { limit, weight, pass, joined_at, is_new, first: None, supply };
        self.places.insert(key, place);
    }

    fn join(&mut self, key: &QueueKey, share: Share, least: &[i64; 4], is_new: bool) {
        let least = least.get(usize::from(key.rank.number())).copied().unwrap_or_default();
        let behind = least.saturating_add(stride(share.0)).saturating_sub(1);
        self.add(key.clone(), share, Some(behind), is_new);
        if let Some(place) = self.places.get_mut(key) {
            place.joined_at = Some(behind);
        }
    }

    /// The least turn of a rank: of those that were awake, or have joined with an earlier claim.
    fn least(&self, rank: Rank) -> i64 {
        let has_claimed = !self.charges.is_empty();
        let awake = self
            .places
            .iter()
            .filter(|(key, place)| key.rank == rank && (place.joined_at.is_none() || has_claimed));
        let awake = awake.map(|(_, place)| place.pass);
        awake.chain(self.left_least.get(&rank).copied()).min().unwrap_or_default()
    }

    /// Whether queues must fall asleep.
    pub(crate) fn has_sleepers(&self) -> bool {
        !self.left.is_empty() || self.places.keys().any(|key| self.parked(key).is_some())
    }

    /// Until when nothing of a merchant can be sent, beyond the slots that are given out now.
    fn parked(&self, key: &QueueKey) -> Option<Timestamp> {
        let limit = self.limits.get(&key.merchant).filter(|limit| limit.next > limit.until)?;
        Some(limit.next)
    }

    /// How often flows of a merchant may be sent, and when the next one may.
    pub(crate) fn limit(&mut self, merchant: String, limit: Limit) {
        self.limits.insert(merchant, limit);
    }

    /// The merchants that have a limit in the queues that were read.
    pub(crate) fn limited(&self) -> BTreeMap<String, Rate> {
        let limited = self.places.iter();
        limited.filter_map(|(key, place)| Some((key.merchant.clone(), place.limit?))).collect()
    }

    /// When the next flow of each merchant with a limit may be sent, if any was taken.
    pub(crate) fn used_limits(&self) -> impl Iterator<Item = (&String, &Limit)> {
        self.limits.iter().filter(|(merchant, _)| self.charges.contains_key(*merchant))
    }

    /// Takes due flows in turn, one for each slot.
    pub(crate) fn take(
        &mut self,
        due: Vec<(QueueKey, Position)>,
        served: u64,
        slots: impl IntoIterator<Item = Timestamp>,
    ) -> Vec<(FlowId, Timestamp)> {
        self.offer(due);
        let mut taken = Vec::new();
        for (slot, at) in (served..).zip(slots) {
            let Some(Taken::Flow(id)) = self.next(slot, Some(at)) else { break };
            taken.push((id, at));
        }
        taken
    }

    /// What the queues offer from now on. A queue that was not read joins as one that was asleep.
    fn offer(&mut self, mut due: Vec<(QueueKey, Position)>) {
        due.sort_unstable();
        let mut offers: BTreeMap<QueueKey, VecDeque<Position>> = BTreeMap::new();
        for (key, position) in due {
            match offers.last_entry().filter(|last| *last.key() == key) {
                Some(mut last) => last.get_mut().push_back(position),
                None => drop(offers.insert(key, VecDeque::from([position]))),
            }
        }
        self.places.retain(|key, place| !place.is_new || offers.contains_key(key));
        let least = Rank::ALL.map(|rank| self.least(rank));
        for place in self.places.values_mut() {
            place.supply = Supply::Flows(VecDeque::new());
        }
        for (key, flows) in offers {
            if !self.places.contains_key(&key) {
                self.join(&key, (WEIGHT, None), &least, true);
            }
            if let Some(place) = self.places.get_mut(&key) {
                place.first = flows.front().copied();
                place.supply = Supply::Flows(flows);
            }
        }
        self.line_up();
    }

    fn line_up(&mut self) {
        self.order.clear();
        for (key, place) in self.places.iter().filter(|(_, place)| place.has_more()) {
            self.order.entry(key.rank).or_default().insert(place.order(key));
        }
    }

    /// Takes the next flow, for a slot with this number and time.
    fn next(&mut self, slot: u64, at: Option<Timestamp>) -> Option<Taken> {
        let is_free = |(.., key): &&Order| {
            let limit = self.limits.get(&key.merchant);
            limit.is_none_or(|limit| at.is_none_or(|at| limit.next <= at))
        };
        let ranks = floor_of(slot).into_iter().chain(Rank::ALL);
        let mut first = ranks.filter_map(|rank| self.order.get(&rank)?.iter().find(is_free));
        let (.., key) = first.next()?.clone();
        let taken = self.places.get_mut(&key)?.take()?;
        let by = self.charge(&key);
        if let (Some(limit), Some(at)) = (self.limits.get_mut(&key.merchant), at) {
            limit.next = after(at.max(limit.next), limit.rate.interval());
        }
        let charge = self.charges.entry(key.merchant).or_default();
        *charge = charge.saturating_add(by);
        Some(taken)
    }

    /// Moves every queue of the merchant back by the price of what was taken from one of them.
    fn charge(&mut self, key: &QueueKey) -> i64 {
        let by = self.places.get(key).map_or(0, |place| stride(place.weight));
        for rank in Rank::ALL {
            if rank != key.rank && !self.order.contains_key(&rank) {
                continue;
            }
            let key = QueueKey { rank, ..key.clone() };
            let Some(place) = self.places.get_mut(&key) else { continue };
            let before = place.order(&key);
            place.pass = place.pass.saturating_add(by);
            let order = self.order.entry(rank).or_default();
            order.remove(&before);
            if place.has_more() {
                order.insert(place.order(&key));
            }
        }
        by
    }

    /// What the claims change about the turns.
    pub(crate) fn into_changes(self, group: &str) -> (Vec<(QueueKey, TurnChange)>, Vec<Charge>) {
        let mut turns: Vec<(QueueKey, TurnChange)> = Vec::new();
        let mut waiting: BTreeSet<&str> = BTreeSet::new();
        // A queue whose flows came and went in this turn leaves nothing behind.
        let stored = self.places.iter().filter(|(_, place)| !place.is_new || place.has_more());
        for (key, place) in stored {
            waiting.insert(&key.merchant);
            let joined = place.joined_at.filter(|_| !self.charges.is_empty());
            let parked = self.parked(key).map(TurnChange::Parks);
            let change = parked.or(joined.map(TurnChange::Joins));
            turns.extend(change.map(|change| (key.clone(), change)));
        }
        let charges =
            self.charges.iter().filter(|(merchant, _)| waiting.contains(merchant.as_str()));
        let charge = |(merchant, by): (&String, &i64)| Charge {
            group: group.to_owned(),
            merchant: merchant.clone(),
            by: *by,
        };
        let charges = charges.map(charge).collect();
        turns.extend(self.left.into_iter().map(|key| (key, TurnChange::Leaves)));
        (turns, charges)
    }
}

/// The weight and the limit of a merchant.
type Share = (u32, Option<Rate>);

impl Place {
    fn has_more(&self) -> bool {
        match &self.supply {
            Supply::Counted { left, .. } => *left > 0,
            Supply::Flows(flows) => !flows.is_empty(),
        }
    }

    fn take(&mut self) -> Option<Taken> {
        match &mut self.supply {
            Supply::Counted { place, left } => {
                *left = left.saturating_sub(1);
                Some(Taken::Counted(*place))
            }
            Supply::Flows(flows) => flows.pop_front().map(|(_, id)| Taken::Flow(id)),
        }
    }

    /// Of equal turns, those that have waited longer go first.
    fn order(&self, key: &QueueKey) -> Order {
        (self.pass, self.joined_at.is_some(), self.first, key.clone())
    }
}

/// The rank that goes first in a slot, if it is not the first: three in every twenty, one for each lower rank.
fn floor_of(slot: u64) -> Option<Rank> {
    match slot.checked_rem(FLOOR_EVERY)? {
        6 => Some(Rank::Interactive),
        13 => Some(Rank::Scheduled),
        19 => Some(Rank::Bulk),
        _ => None,
    }
}
