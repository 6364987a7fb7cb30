//! Fair rounds: how many flows may start now and for which keys, so that no key (an endpoint, a merchant, a channel)
//! delays another. The engine keeps the loads; the domain decides what starts.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::rejection::Rejection;

/// One round over all keys that have something due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Round<K> {
    pub limit: u32,
    /// Cap for each key, so that one key cannot take every slot.
    pub share: u32,
    /// Start behind this key: the round-robin cursor.
    pub after: Option<K>,
    /// Keys with something in flight.
    pub loads: BTreeMap<K, Load>,
    /// Keys that take no part in this round.
    pub skipped: BTreeSet<K>,
    /// Include retries, after all first attempts.
    pub with_retries: bool,
}

impl<K> Default for Round<K> {
    fn default() -> Self {
        Self {
            limit: 0,
            share: 0,
            after: None,
            loads: BTreeMap::new(),
            skipped: BTreeSet::new(),
            with_retries: false,
        }
    }
}

/// The load of a key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Load {
    pub in_flight: u32,
    /// Free slots at the last read; the round loads at most this many flows.
    pub room: u32,
    /// Flows started in this second.
    pub started: u32,
}

/// The result of a round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoundReply<K> {
    pub count: u32,
    /// How many of them are retries.
    pub retries: u32,
    /// The key of the last started flow.
    pub last: Option<K>,
    /// The round stopped at its limit.
    pub is_cut: bool,
    /// Keys that have more due than they have free slots.
    pub full: BTreeSet<K>,
    /// Keys that are blocked until the given time (breaker open).
    pub blocked: BTreeMap<K, Timestamp>,
    /// Flows whose step was rejected; they are deferred, and an operator must look at them.
    pub refused: Vec<(String, Rejection)>,
}

impl<K> Default for RoundReply<K> {
    fn default() -> Self {
        Self {
            count: 0,
            retries: 0,
            last: None,
            is_cut: false,
            full: BTreeSet::new(),
            blocked: BTreeMap::new(),
            refused: Vec::new(),
        }
    }
}
