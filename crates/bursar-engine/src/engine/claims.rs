//! The claims of the next turn: from which lanes, how many due flows of each, and what the replies say of the lanes.

use bursar_core::dispatch::{Blocked, QueueClaim, Rest};
use bursar_core::flow::{ClaimDue, KINDS, LaneScope};
use bursar_core::turn::{Answer, Ask as _, Body, DueClaim, FairClaim, ReadPlan};
use jiff::{SignedDuration, Timestamp};

use super::bisect::Origin;
use super::{Engine, WEBHOOKS};
use crate::stats::Alert;

/// How long a group of queues is left alone at most. Another process may lift a freeze or change settings meanwhile.
const REST_MAX: SignedDuration = SignedDuration::from_secs(1);

/// A group of queues in which a claim has found nothing more to send.
#[derive(Debug, Clone, Copy)]
pub(super) struct Resting {
    pub(super) why: Blocked,
    since: Timestamp,
    /// When there is something again, if that is known.
    until: Option<Timestamp>,
}

impl Resting {
    /// A claim that comes earlier finds nothing. A clock that was set back ends it.
    fn is_on(&self, now: Timestamp, pause: SignedDuration) -> bool {
        let again = self.since.saturating_add(pause).unwrap_or(Timestamp::MAX);
        let until = self.until.map_or(again, |until| until.min(again));
        self.since <= now && now < until
    }
}

impl Engine {
    /// The claims of the next turn: lanes of channels only with free slots, and nothing new when stopping.
    pub(super) fn due_claims(&mut self, now: Timestamp) -> Vec<(String, Origin, Body)> {
        // A clock that was set back does not stop the claims.
        let since = self.claimed_at.map(|time| now.duration_since(time));
        let is_long =
            |since: SignedDuration| since.is_negative() || since >= self.limits.claim_every;
        let is_time = self.tick_pending && since.is_none_or(is_long);
        let is_time = self.wake_up(now) || is_time;
        if self.is_stopping || !(is_time || self.has_backlog) {
            return Vec::new();
        }
        self.claimed_at = Some(now);
        self.tick_pending = false;
        self.has_backlog = false;
        let claim = |(lane, free): (String, u32)| {
            let free = if self.limited.contains(&lane) { u32::MAX } else { free };
            let throttle = self.bisection.throttle(&lane).unwrap_or(free);
            // One flow shows whether the channel is still frozen, disabled or closed.
            let probe = match self.resting.get(&lane).map(|rest| rest.why) {
                Some(Blocked::Frozen | Blocked::Disabled | Blocked::Closed) => 1,
                Some(Blocked::Rate | Blocked::Concurrency) | None => free,
            };
            let limit = self.limits.claim_max.min(free).min(throttle).min(probe);
            let origin = Origin::Claim { lane: lane.clone(), limit };
            // A claim that is run again after a failure finds the same flows.
            let is_throttled = self.bisection.throttle(&lane).is_some();
            let served = self.served.get(&lane).filter(|_| !is_throttled);
            let served = served.copied().unwrap_or_default();
            (limit > 0).then(|| (lane.clone(), origin, ClaimDue { lane, limit, served }.into()))
        };
        let lanes = self.lanes(now).filter(|(lane, _)| !self.is_left_alone(lane, now));
        let mut claims: Vec<_> = lanes.filter_map(claim).collect();
        claims.extend(self.delivery_claim(now));
        claims
    }

    /// Whether nothing could be claimed in the lane a moment ago.
    fn is_left_alone(&self, lane: &str, now: Timestamp) -> bool {
        self.resting.get(lane).is_some_and(|rest| match rest.why {
            // Outcomes at other processes make room, too.
            Blocked::Concurrency => rest.is_on(now, self.limits.claim_every),
            Blocked::Frozen | Blocked::Disabled | Blocked::Closed | Blocked::Rate => {
                rest.is_on(now, REST_MAX)
            }
        })
    }

    /// Ends the rests whose time has come. Returns whether there is one.
    fn wake_up(&mut self, now: Timestamp) -> bool {
        let resting = self.resting.len();
        self.resting.retain(|_, rest| rest.until.is_none_or(|until| now < until));
        self.resting.len() < resting
    }

    /// When the next claim is worth it, if that is known.
    pub(crate) fn wakes_at(&self, now: Timestamp) -> Option<Timestamp> {
        let known = self.resting.values().filter_map(|rest| rest.until);
        known.filter(|until| now < *until).min()
    }

    /// The reply to a claim.
    pub(super) fn claimed(
        &mut self,
        lane: &str,
        (answer, limit): (Answer, u32),
        has_effects: bool,
        now: Timestamp,
    ) {
        let Some(reply) = answer.ok().and_then(ClaimDue::reply) else {
            self.has_backlog = true;
            return;
        };
        let was_frozen = self.resting.remove(lane).is_some_and(|it| it.why == Blocked::Frozen);
        if let Some(Rest { why, until }) = reply.rest {
            self.resting.insert(lane.to_owned(), Resting { why, since: now, until });
            if why == Blocked::Frozen {
                return;
            }
        }
        self.has_backlog |= was_frozen;
        if reply.is_limited {
            self.limited.insert(lane.to_owned());
        } else {
            self.limited.remove(lane);
        }
        let count = reply.flows.len().saturating_add(reply.refused.len());
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        let is_throttled = self.bisection.throttle(lane).is_some();
        if let Some(served) = self.served.get_mut(lane) {
            *served = served.saturating_add(u64::from(count));
            // A claim reads so many of each queue, due or not: there may be more in others.
            self.has_backlog |= count > 0 && has_effects;
        }
        self.has_backlog |= count >= limit && (has_effects || is_throttled);
        self.bisection.ramp_up(lane, (count, limit), self.limits.claim_max);
        for (flow, rejection) in reply.refused {
            self.stats.alert(now, Alert::Refused { flow, rejection });
        }
    }

    fn delivery_claim(&mut self, now: Timestamp) -> Option<(String, Origin, Body)> {
        if self.bisection.is_paused(WEBHOOKS, now) {
            return None;
        }
        let limit = self.bisection.throttle(WEBHOOKS).unwrap_or(self.limits.claim_max);
        let round = self.webhooks.round(now, limit, self.limits.deliveries_max)?;
        Some((WEBHOOKS.to_owned(), Origin::StartDeliveries(round.clone()), round.into()))
    }

    /// The lanes of all kinds that are not paused, and how many flows of each may be claimed.
    fn lanes(&self, now: Timestamp) -> impl Iterator<Item = (String, u32)> {
        let (mut shared, mut by_channel) = (Vec::new(), Vec::new());
        for lane in KINDS.iter().flat_map(|kind| kind.lanes) {
            match lane.scope {
                LaneScope::Kind => shared.push((lane.name.to_owned(), u32::MAX)),
                LaneScope::Channel | LaneScope::Queue => {
                    let takes_slot = lane.scope == LaneScope::Queue;
                    let limit = |free: &u32| if takes_slot { *free } else { u32::MAX };
                    let slots = self.free_slots.iter();
                    let lanes =
                        slots.map(|(name, free)| (format!("{}{name}", lane.name), limit(free)));
                    by_channel.extend(lanes);
                }
            }
        }
        let lanes = shared.into_iter().chain(by_channel);
        lanes.filter(move |(lane, _)| !self.bisection.is_paused(lane, now))
    }

    /// The first flow of each lane that is due by then. What rests waits, whatever its time.
    pub(crate) fn first_due(&self, now: Timestamp, until: Timestamp) -> ReadPlan {
        let lanes = self.lanes(now).filter(|(lane, _)| !self.resting.contains_key(lane));
        let (groups, lanes): (Vec<_>, Vec<_>) =
            lanes.map(|(lane, _)| lane).partition(|lane| self.served.contains_key(lane));
        let claim = |lane| DueClaim { lane, now: until, limit: 1 };
        let due = lanes.into_iter().map(claim).collect();
        // Without flows: the queues say when their first is due.
        let claim = |group| QueueClaim { group, now: until, limit: 0, served: 0 };
        let queues = groups.into_iter().map(claim).collect();
        let fair = FairClaim::first_deliveries(until, &self.webhooks.blocked(now)).into();
        ReadPlan { due, fair, queues, control: true, ..ReadPlan::default() }
    }

    /// When the first breaker of an endpoint closes, or a group of queues has something again, by then.
    pub(crate) fn next_unblocked(&self, now: Timestamp, until: Timestamp) -> Option<Timestamp> {
        let woken = self.wakes_at(now).filter(|at| *at <= until);
        self.webhooks.next_unblocked(now, until).into_iter().chain(woken).min()
    }
}
