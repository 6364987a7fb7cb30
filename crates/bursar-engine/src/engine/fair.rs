//! Fair scheduler: concurrency and rate limits for each key, so that a slow key does not delay the others. Webhooks use it
//! by endpoint.

use std::collections::{BTreeMap, BTreeSet};

use bursar_core::flow::{Load, Round, RoundReply};
use jiff::{SignedDuration, Timestamp};

#[derive(Debug)]
pub(super) struct FairScheduler<K> {
    in_flight: u32,
    loads: BTreeMap<K, KeyLoad>,
    /// Keys that have more due than free slots, until an effect of theirs is done or a second has passed.
    full: BTreeSet<K>,
    /// The second in which they were found.
    full_in: i64,
    blocked: BTreeMap<K, Timestamp>,
    /// The round-robin cursor.
    after: Option<K>,
    round_at: Option<Timestamp>,
    retries_at: Option<Timestamp>,
    /// There may be due retries: the next round claims them without waiting for `RETRIES_EVERY`.
    wants_retries: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct KeyLoad {
    in_flight: u32,
    concurrency: u32,
    /// How many have started in which second.
    second: i64,
    started: u32,
}

/// How late a retry may be claimed: each look for retries probes the lane of every key.
const RETRIES_EVERY: SignedDuration = SignedDuration::from_secs(1);

/// How long a blocked key is skipped at most.
const BLOCKED_MAX: SignedDuration = SignedDuration::from_secs(5);

impl<K> Default for FairScheduler<K> {
    fn default() -> Self {
        Self {
            in_flight: 0,
            loads: BTreeMap::new(),
            full: BTreeSet::new(),
            full_in: 0,
            blocked: BTreeMap::new(),
            after: None,
            round_at: None,
            retries_at: None,
            wants_retries: false,
        }
    }
}

impl<K: Ord + Copy> FairScheduler<K> {
    pub(super) const fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// The next round; none if every slot is taken.
    pub(super) fn round(&mut self, now: Timestamp, limit: u32, slots: u32) -> Option<Round<K>> {
        let free = slots.saturating_sub(self.in_flight);
        let limit = limit.min(free);
        if limit == 0 {
            return None;
        }
        // A quarter of the free slots: however many keys hang, there is a slot for the next.
        let share = (free >> 2).max(1);
        self.expire(now);
        self.round_at = Some(now);
        let since = self.retries_at.map(|at| now.duration_since(at));
        let is_time = since.is_none_or(|since| since.is_negative() || since >= RETRIES_EVERY);
        let with_retries = is_time || self.wants_retries;
        if with_retries {
            self.retries_at = Some(now);
        }
        let load = |(key, load): (&K, &KeyLoad)| {
            let started = if load.second == now.as_second() { load.started } else { 0 };
            let room = load.concurrency.saturating_sub(load.in_flight).min(share);
            (*key, Load { in_flight: load.in_flight, room, started })
        };
        Some(Round {
            limit,
            share,
            after: self.after,
            loads: self.loads.iter().map(load).collect(),
            skipped: self.full.iter().chain(self.blocked.keys()).copied().collect(),
            with_retries,
        })
    }

    fn expire(&mut self, now: Timestamp) {
        let second = now.as_second();
        // A block that lasts longer than it ever could means that the clock was set back.
        let is_over = |until: Timestamp| until <= now || until.duration_since(now) > BLOCKED_MAX;
        self.blocked.retain(|_, until| !is_over(*until));
        // Not before: a full key would be claimed for again and again in vain.
        if self.full_in != second {
            self.full.clear();
            self.full_in = second;
        }
        self.loads.retain(|_, load| load.in_flight > 0 || load.second == second);
    }

    /// Takes the reply of a round. Returns whether there may be more to start at once.
    pub(super) fn on_started(&mut self, round: &Round<K>, reply: RoundReply<K>) -> bool {
        let is_full = reply.is_cut || reply.count >= round.limit;
        if round.with_retries {
            self.wants_retries = is_full || reply.retries > 0 || !reply.full.is_empty();
        }
        // The cursor reached the end: the next round continues with the keys before it.
        let was_behind = self.after.is_some();
        self.after = if is_full { reply.last } else { None };
        let skipped = self.full.len().saturating_add(self.blocked.len());
        self.full.extend(reply.full);
        // Another process may find the endpoint healthy before the block ends.
        let again = self.round_at.and_then(|at| at.checked_add(BLOCKED_MAX).ok());
        let soon = |until: Timestamp| again.map_or(until, |again| until.min(again));
        self.blocked.extend(reply.blocked.into_iter().map(|(key, until)| (key, soon(until))));
        // The next round skips the keys that are full now and reaches those behind them.
        let skips_more = self.full.len().saturating_add(self.blocked.len()) > skipped;
        is_full || was_behind || skips_more
    }

    /// An effect for this key starts.
    pub(super) fn start(&mut self, key: K, concurrency: u32, at: Timestamp) {
        self.in_flight = self.in_flight.saturating_add(1);
        let load = self.loads.entry(key).or_default();
        load.concurrency = concurrency;
        load.in_flight = load.in_flight.saturating_add(1);
        if load.second != at.as_second() {
            *load = KeyLoad { second: at.as_second(), started: 0, ..*load };
        }
        load.started = load.started.saturating_add(1);
    }

    pub(super) fn done(&mut self, key: K) {
        self.in_flight = self.in_flight.saturating_sub(1);
        self.full.remove(&key);
        self.blocked.remove(&key);
        if let Some(load) = self.loads.get_mut(&key) {
            load.in_flight = load.in_flight.saturating_sub(1);
        }
    }

    pub(super) fn unblock(&mut self, key: K) {
        self.blocked.remove(&key);
    }

    /// The next round claims retries.
    pub(super) fn want_retries(&mut self) {
        self.wants_retries = true;
    }

    pub(super) fn blocked(&self, now: Timestamp) -> Vec<K> {
        let blocked = self.blocked.iter().filter(|(_, until)| now < **until);
        blocked.map(|(key, _)| *key).collect()
    }

    pub(super) fn next_unblocked(&self, now: Timestamp, until: Timestamp) -> Option<Timestamp> {
        self.blocked.values().copied().filter(|at| now < *at && *at <= until).min()
    }
}
