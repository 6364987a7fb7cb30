//! Who gets what is told, and how fast: free hands for each endpoint, so that none keeps another waiting.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bursar_core::ids::EndpointId;
use bursar_core::plan::FairClaim;
use bursar_core::request::{Busy, Deliver, Delivering};
use jiff::{SignedDuration, Timestamp};

#[derive(Debug, Default)]
pub(super) struct Mail {
    in_flight: u32,
    loads: BTreeMap<EndpointId, Load>,
    /// Endpoints for whom more waits than may begin, until something of theirs comes back or a second has passed.
    full: BTreeSet<EndpointId>,
    /// The second in which they were found.
    full_in: i64,
    /// Endpoints that are left alone until then.
    blocked: BTreeMap<EndpointId, Timestamp>,
    /// Whose turn it was last.
    after: Option<EndpointId>,
    looked_at: Option<Timestamp>,
    /// When retries were last looked for.
    retried_at: Option<Timestamp>,
    /// There may be retries to begin at once.
    wants_retries: bool,
    /// Endpoints that were switched off: what waits for them is cancelled.
    off: VecDeque<EndpointId>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Load {
    in_flight: u32,
    /// How many it takes at once.
    concurrency: u32,
    /// In which second how many have begun.
    second: i64,
    begun: u32,
}

/// How long a retry may be overlooked: there may be many endpoints that wait for one.
const RETRIES_EVERY: SignedDuration = SignedDuration::from_secs(1);

/// How long an endpoint that is left alone is not looked at.
const BLOCKED_MAX: SignedDuration = SignedDuration::from_secs(5);

impl Mail {
    pub(super) const fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// What may begin now; none if all hands are full.
    pub(super) fn deliver(&mut self, now: Timestamp, limit: u32, most: u32) -> Option<Deliver> {
        let free = most.saturating_sub(self.in_flight);
        let limit = limit.min(free);
        if limit == 0 {
            return None;
        }
        // A quarter of the hands that are free: however many endpoints hang, there is one for the next.
        let share = (free >> 2).max(1);
        self.forget(now);
        self.looked_at = Some(now);
        let since = self.retried_at.map(|at| now.duration_since(at));
        let is_time = since.is_none_or(|since| since.is_negative() || since >= RETRIES_EVERY);
        let with_retries = is_time || self.wants_retries;
        if with_retries {
            self.retried_at = Some(now);
        }
        let busy = |(endpoint, load): (&EndpointId, &Load)| {
            let begun = if load.second == now.as_second() { load.begun } else { 0 };
            let room = load.concurrency.saturating_sub(load.in_flight).min(share);
            (*endpoint, Busy { in_flight: load.in_flight, room, begun })
        };
        Some(Deliver {
            limit,
            share,
            after: self.after,
            busy: self.loads.iter().map(busy).collect(),
            skipped: self.full.iter().chain(self.blocked.keys()).copied().collect(),
            with_retries,
        })
    }

    /// What of it is over.
    fn forget(&mut self, now: Timestamp) {
        let second = now.as_second();
        // If it is longer than it was ever meant to be, the clock was set back.
        let is_over = |until: Timestamp| until <= now || until.duration_since(now) > BLOCKED_MAX;
        self.blocked.retain(|_, until| !is_over(*until));
        // Not before: whoever is full would be looked at again and again, with nothing to do for it.
        if self.full_in != second {
            self.full.clear();
            self.full_in = second;
        }
        self.loads.retain(|_, load| load.in_flight > 0 || load.second == second);
    }

    /// What has begun. Answers whether there may be more at once.
    pub(super) fn begun(&mut self, asked: &Deliver, begun: Delivering) -> bool {
        let is_full = begun.is_cut || begun.count >= asked.limit;
        if asked.with_retries {
            self.wants_retries = is_full || begun.retries > 0 || !begun.full.is_empty();
        }
        // Whoever came behind the last one had a turn; now it is that of those before.
        let was_behind = self.after.is_some();
        self.after = if is_full { begun.last } else { None };
        let known = self.full.len().saturating_add(self.blocked.len());
        self.full.extend(begun.full);
        // Another process may see sooner that it is well again.
        let again = self.looked_at.and_then(|at| at.checked_add(BLOCKED_MAX).ok());
        let soon = |until: Timestamp| again.map_or(until, |again| until.min(again));
        self.blocked.extend(begun.blocked.into_iter().map(|(id, until)| (id, soon(until))));
        // Those who take no more now are passed over with the next look, and whoever is behind them is seen.
        let has_more_to_pass = self.full.len().saturating_add(self.blocked.len()) > known;
        is_full || was_behind || has_more_to_pass
    }

    /// Something is on its way to an endpoint that takes so many at once.
    pub(super) fn sent(&mut self, endpoint: EndpointId, concurrency: u32, at: Timestamp) {
        self.in_flight = self.in_flight.saturating_add(1);
        let load = self.loads.entry(endpoint).or_default();
        load.concurrency = concurrency;
        load.in_flight = load.in_flight.saturating_add(1);
        if load.second != at.as_second() {
            *load = Load { second: at.as_second(), begun: 0, ..*load };
        }
        load.begun = load.begun.saturating_add(1);
    }

    pub(super) fn came_back(&mut self, endpoint: EndpointId) {
        self.in_flight = self.in_flight.saturating_sub(1);
        self.full.remove(&endpoint);
        self.blocked.remove(&endpoint);
        if let Some(load) = self.loads.get_mut(&endpoint) {
            load.in_flight = load.in_flight.saturating_sub(1);
        }
    }

    /// It is on, and nothing is held against it.
    pub(super) fn is_well(&mut self, endpoint: EndpointId) {
        self.blocked.remove(&endpoint);
    }

    /// Retries are looked for with the next turn.
    pub(super) fn want_retries(&mut self) {
        self.wants_retries = true;
    }

    pub(super) fn switched_off(&mut self, endpoint: EndpointId) {
        self.off.push_back(endpoint);
    }

    pub(super) fn next_off(&mut self) -> Option<EndpointId> {
        self.off.pop_front()
    }

    pub(super) fn has_off(&self) -> bool {
        !self.off.is_empty()
    }

    /// The first delivery for each endpoint that is due by then and not left alone.
    pub(super) fn first_due(&self, now: Timestamp, until: Timestamp) -> Vec<FairClaim> {
        let blocked = self.blocked.iter().filter(|(_, until)| now < **until);
        let blocked: Vec<EndpointId> = blocked.map(|(endpoint, _)| *endpoint).collect();
        FairClaim::first_deliveries(until, &blocked).into()
    }

    /// When the first endpoint is tried again that is left alone now.
    pub(super) fn next_unblocked(&self, now: Timestamp, until: Timestamp) -> Option<Timestamp> {
        self.blocked.values().copied().filter(|at| now < *at && *at <= until).min()
    }
}
