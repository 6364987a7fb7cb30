//! Whose turn it is: ranks in order, with a floor for each lower one, and within a rank the merchants by stride scheduling.

use std::collections::{BTreeMap, VecDeque};

use jiff::Timestamp;

use super::pace::after;
use super::queue::{Charge, Position, Queue, QueueKey, Rank, TurnChange};
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
        (self.limit >> 4).clamp(4, 64)
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

/// How many flows to read of each head, in the order of the heads.
pub fn shares(heads: &[Head], claim: &QueueClaim) -> Vec<u32> {
    let mut shares = vec![0_u32; heads.len()];
    let mut turns = Turns::new(heads.to_vec(), |_| false);
    for (place, head) in heads.iter().enumerate() {
        let left = head.queue.waiting;
        turns.offer(&head.key, Supply::Counted { place, left });
    }
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
    Flows(VecDeque<FlowId>),
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
    /// What was taken, by merchant.
    charges: BTreeMap<String, i64>,
    limits: BTreeMap<String, Limit>,
    /// Queues of frozen merchants, which must fall asleep.
    left: Vec<QueueKey>,
}

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
    supply: Option<Supply>,
}

impl Turns {
    /// Queues that are asleep join at the least turn of their rank. Queues of frozen merchants leave.
    pub(crate) fn new(heads: Vec<Head>, is_frozen: impl Fn(&QueueKey) -> bool) -> Self {
        // Frozen ones count: those that were not read come behind them.
        let mut least: BTreeMap<Rank, i64> = BTreeMap::new();
        for head in &heads {
            let Some(pass) = head.queue.pass else { continue };
            let least = least.entry(head.key.rank).or_insert(pass);
            *least = pass.min(*least);
        }
        let (frozen, open): (Vec<Head>, Vec<Head>) =
            heads.into_iter().partition(|head| is_frozen(&head.key));
        let awake = frozen.into_iter().filter(|head| head.queue.pass.is_some());
        let place = |Head { key, queue }: Head| {
            let least = least.get(&key.rank).copied().unwrap_or_default();
            let joined_at = queue.pass.is_none().then_some(least);
            let (pass, weight) = (queue.pass.unwrap_or(least), queue.weight);
            (key, Place { limit: queue.limit, weight, pass, joined_at, supply: None })
        };
        Self {
            left: awake.map(|head| head.key).collect(),
            places: open.into_iter().map(place).collect(),
            charges: BTreeMap::new(),
            limits: BTreeMap::new(),
        }
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

    /// What a queue offers from now on.
    fn offer(&mut self, key: &QueueKey, supply: Supply) {
        if let Some(place) = self.places.get_mut(key) {
            place.supply = Some(supply);
        }
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

    /// Takes due flows in turn, one for each slot: of the queues that were read, then of others, which came in this turn.
    pub(crate) fn take(
        &mut self,
        mut due: Vec<(QueueKey, Position)>,
        served: u64,
        slots: impl IntoIterator<Item = Timestamp>,
    ) -> Vec<(FlowId, Timestamp)> {
        due.sort_unstable();
        let mut guests: Vec<(Rank, Position)> = Vec::new();
        let mut offers: BTreeMap<QueueKey, VecDeque<FlowId>> = BTreeMap::new();
        for (key, position) in due {
            if self.places.contains_key(&key) {
                offers.entry(key).or_default().push_back(position.1);
            } else {
                guests.push((key.rank, position));
            }
        }
        for (key, flows) in offers {
            self.offer(&key, Supply::Flows(flows));
        }
        guests.sort_unstable();
        let mut guests = guests.into_iter();
        let mut taken = Vec::new();
        for (slot, at) in (served..).zip(slots) {
            let next = match self.next(slot, Some(at)) {
                Some(Taken::Flow(id)) => Some(id),
                Some(Taken::Counted(_)) | None => guests.next().map(|(_, (_, id))| id),
            };
            let Some(id) = next else { break };
            taken.push((id, at));
        }
        taken
    }

    /// Takes the next flow, for a slot with this number and time.
    fn next(&mut self, slot: u64, at: Option<Timestamp>) -> Option<Taken> {
        let is_free = |key: &QueueKey| {
            let limit = self.limits.get(&key.merchant);
            limit.is_none_or(|limit| at.is_none_or(|at| limit.next <= at))
        };
        let with_more =
            || self.places.iter().filter(|(key, place)| place.has_more() && is_free(key));
        let floor = floor_of(slot).filter(|rank| with_more().any(|(key, _)| key.rank == *rank));
        let rank = floor.or_else(|| with_more().map(|(key, _)| key.rank).min())?;
        let next = with_more().filter(|(key, _)| key.rank == rank);
        // Of equal turns, those that have waited longer go first.
        let next = next.min_by_key(|(_, place)| (place.pass, place.joined_at.is_some()));
        let key = next.map(|(key, _)| key.clone())?;
        let place = self.places.get_mut(&key)?;
        let (taken, by) = (place.take()?, stride(place.weight));
        for (other, place) in &mut self.places {
            if other.merchant == key.merchant {
                place.pass = place.pass.saturating_add(by);
            }
        }
        if let (Some(limit), Some(at)) = (self.limits.get_mut(&key.merchant), at) {
            limit.next = after(at.max(limit.next), limit.rate.interval());
        }
        let charge = self.charges.entry(key.merchant).or_default();
        *charge = charge.saturating_add(by);
        Some(taken)
    }

    /// What the claims change about the turns.
    pub(crate) fn into_changes(self, group: &str) -> (Vec<(QueueKey, TurnChange)>, Vec<Charge>) {
        let mut changes: Vec<(QueueKey, TurnChange)> = Vec::new();
        for (key, place) in &self.places {
            let joined = place.joined_at.filter(|_| !self.charges.is_empty());
            let parked = self.parked(key).map(TurnChange::Parks);
            let change = parked.or(joined.map(TurnChange::Joins));
            changes.extend(change.map(|change| (key.clone(), change)));
        }
        changes.extend(self.left.into_iter().map(|key| (key, TurnChange::Leaves)));
        let charge = |(merchant, by)| Charge { group: group.to_owned(), merchant, by };
        (changes, self.charges.into_iter().map(charge).collect())
    }
}

impl Place {
    fn has_more(&self) -> bool {
        match &self.supply {
            Some(Supply::Counted { left, .. }) => *left > 0,
            Some(Supply::Flows(flows)) => !flows.is_empty(),
            None => false,
        }
    }

    fn take(&mut self) -> Option<Taken> {
        match self.supply.as_mut()? {
            Supply::Counted { place, left } => {
                *left = left.saturating_sub(1);
                Some(Taken::Counted(*place))
            }
            Supply::Flows(flows) => flows.pop_front().map(Taken::Flow),
        }
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
