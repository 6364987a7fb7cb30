//! Queues of flows that wait to be sent.

use bursar_core::dispatch::{
    Charge, Head, Position, Queue, QueueClaim, QueueKey, QueueWrite, Rank, group_parts, shares,
};
use bursar_core::flow::Due;
use bursar_core::ids::FlowId;
use bursar_core::turn::Commit;
use jiff::Timestamp;

use super::{Memory, at_most};

impl Memory {
    /// The queues that a claim looks at.
    pub(super) fn heads(&self, claim: &QueueClaim) -> Vec<Head> {
        let channel = group_parts(&claim.group).map_or("", |(_, channel)| channel);
        let frozen = self.control.merchants_at_rest(channel);
        let limit = at_most(claim.heads());
        let mut heads = Vec::new();
        for rank in Rank::ALL {
            let queues = || {
                let queues = self.queues.iter();
                queues.filter(|(key, _)| key.group == claim.group && key.rank == rank)
            };
            let awake = queues().filter_map(|(key, queue)| Some((queue.pass?, (key, queue))));
            let asleep = queues().filter(|(key, queue)| {
                let is_frozen = frozen.contains(&key.merchant.as_str());
                queue.pass.is_none() && queue.ready_at() <= claim.now && !is_frozen
            });
            let asleep = asleep.map(|(key, queue)| (queue.ready_at(), (key, queue)));
            heads.extend(first(awake, limit));
            heads.extend(first(asleep, limit));
        }
        heads
    }

    /// The flows that a claim reads of its heads.
    pub(super) fn claim_queues(&self, claim: &QueueClaim) -> Vec<FlowId> {
        let heads = self.heads(claim);
        let channel = group_parts(&claim.group).map_or("", |(_, channel)| channel);
        let frozen = self.control.merchants_at_rest(channel);
        let mut claimed = Vec::new();
        for (head, share) in heads.iter().zip(shares(&heads, claim, &frozen)) {
            let due = self.waiting(&head.key, head.queue.first);
            let due = due.take_while(|(at, _)| *at <= claim.now);
            claimed.extend(due.take(at_most(share)).map(|(_, id)| id));
        }
        claimed
    }

    /// The flows that wait in a queue, from a place on.
    fn waiting(&self, key: &QueueKey, from: Position) -> impl Iterator<Item = Position> {
        let lane = key.to_string();
        let first = Due { lane: lane.clone(), at: from.0 };
        let due = self.due.range((first, from.1)..);
        due.take_while(move |(due, _)| due.lane == lane).map(|(due, id)| (due.at, *id))
    }

    /// Applies what a commit changes about queues.
    pub(super) fn change_queues(&mut self, commit: &Commit, now: Timestamp) {
        for write in &commit.queues {
            self.change_queue(write, now);
        }
        for Charge { group, merchant, by } in &commit.charges {
            for (key, queue) in &mut self.queues {
                if key.group == *group && key.merchant == *merchant {
                    queue.pass = queue.pass.map(|pass| pass.saturating_add(*by));
                }
            }
        }
    }

    fn change_queue(&mut self, write: &QueueWrite, now: Timestamp) {
        let before = self.queues.get(&write.key);
        let first = write.from(before).and_then(|from| self.waiting(&write.key, from).next());
        match write.after(before, first, now) {
            Some(queue) => drop(self.queues.insert(write.key.clone(), queue)),
            None => drop(self.queues.remove(&write.key)),
        }
    }
}

/// The first queues of an order.
fn first<'q, O: Ord>(
    queues: impl Iterator<Item = (O, (&'q QueueKey, &'q Queue))>,
    limit: usize,
) -> impl Iterator<Item = Head> {
    let mut queues: Vec<_> = queues.map(|(order, (key, queue))| (order, key, queue)).collect();
    queues.sort_by(|(one, key, _), (other, next, _)| (one, key).cmp(&(other, next)));
    let heads = queues.into_iter().take(limit);
    heads.map(|(_, key, queue)| Head { key: key.clone(), queue: queue.clone() })
}
