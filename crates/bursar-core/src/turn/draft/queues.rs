//! The queues in a draft: the turns that claims take, and what the commit changes about them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Draft;
use crate::dispatch::{
    Charge, CycleRow, Head, LEASES, QueueWrite, SendTime, Turns, group_parts, queue_writes,
};
use crate::flow::Flow;
use crate::freezes::Control;
use crate::registry;
use crate::turn::record_cache::RecordCache;
use crate::turn::{FlowWrite, ReadSet};

/// What the claims of a turn know and say about dispatch.
#[derive(Clone)]
pub(super) struct Dispatch {
    /// The turns in the queues that claims have read, by group.
    turns: BTreeMap<String, Turns>,
    /// The counts of tallies, as they were read.
    tallies: BTreeMap<String, i64>,
    /// When the flow of the step that is made now is sent, if not at once.
    send_time: Option<SendTime>,
    /// The flows whose leases were over, by lane.
    recovered: BTreeMap<String, u64>,
    cycles: Vec<CycleRow>,
}

/// What a commit changes about dispatch.
pub(super) struct Changes {
    pub(super) queues: Vec<QueueWrite>,
    pub(super) charges: Vec<Charge>,
    pub(super) cycles: Vec<CycleRow>,
}

impl Dispatch {
    pub(super) fn new(records: &mut ReadSet, control: &Control) -> Self {
        Self {
            turns: turns(std::mem::take(&mut records.queues), control),
            tallies: std::mem::take(&mut records.tallies).into_iter().collect(),
            send_time: None,
            recovered: BTreeMap::new(),
            cycles: Vec::new(),
        }
    }
}

impl Draft<'_> {
    /// When the flow of the step that is made now is sent, if not at once.
    pub(crate) fn send_time(&self) -> Option<SendTime> {
        self.dispatch.send_time
    }

    pub(crate) fn set_send_time(&mut self, time: Option<SendTime>) {
        self.dispatch.send_time = time;
    }

    /// The count of a tally, as it was read.
    pub(crate) fn tally(&self, name: &str) -> i64 {
        self.dispatch.tallies.get(name).copied().unwrap_or_default()
    }

    /// By how much this turn has changed the number of flows of a kind and a channel with these statuses.
    pub(crate) fn change_of(&self, kind: &str, channel: &str, statuses: &[&str]) -> i64 {
        let counts = |flow: &Arc<Flow>| {
            let state = &flow.state;
            let is_meant = state.kind() == kind && state.channel() == Some(channel);
            i64::from(is_meant && statuses.contains(&state.status()))
        };
        let changes = self.flows.changed();
        let change = |(before, now): (Option<&Arc<Flow>>, &Arc<Flow>)| {
            counts(now).saturating_sub(before.map_or(0, counts))
        };
        changes.map(change).sum()
    }

    /// A claim in a lane has found so many flows.
    pub(crate) fn count_recovered(&mut self, lane: &str, flows: usize) {
        if flows > 0 && lane.starts_with(LEASES) {
            let count = u64::try_from(flows).unwrap_or(u64::MAX);
            self.dispatch.recovered.insert(lane.to_owned(), count);
        }
    }

    /// How many flows of a channel an earlier claim of the turn has found without an outcome.
    pub(crate) fn recovered(&self, channel: &str) -> u64 {
        let lane = format!("{LEASES}{channel}");
        self.dispatch.recovered.get(&lane).copied().unwrap_or_default()
    }

    /// A cycle of dispatch is over.
    pub(crate) fn add_cycle(&mut self, row: CycleRow) {
        self.dispatch.cycles.push(row);
    }

    /// The turns of a group of queues, which claims take from.
    pub(crate) fn turns(&mut self, group: &str) -> &mut Turns {
        self.dispatch.turns.entry(group.to_owned()).or_default()
    }
}

/// The turns of each group of queues that was read.
fn turns(heads: Vec<Head>, control: &Control) -> BTreeMap<String, Turns> {
    let mut groups: BTreeMap<String, Vec<Head>> = BTreeMap::new();
    for head in heads {
        groups.entry(head.key.group.clone()).or_default().push(head);
    }
    let turns = |(group, heads): (String, Vec<Head>)| {
        let channel = group_parts(&group).map_or("", |(_, channel)| channel);
        let frozen = control.merchants_at_rest(channel);
        let turns = Turns::new(heads, |key| frozen.contains(&key.merchant.as_str()));
        (group, turns)
    };
    groups.into_iter().map(turns).collect()
}

/// What the commit changes about queues: by flows that come and go, and by claims.
pub(super) fn changes(flows: &[FlowWrite], dispatch: Dispatch, records: &RecordCache) -> Changes {
    let (mut writes, mut charges) = (queue_writes(flows), Vec::new());
    for (group, turns) in dispatch.turns {
        let (turns, price) = turns.into_changes(&group);
        charges.extend(price);
        for (key, turn) in turns {
            let write = writes.entry(key.clone()).or_insert_with(|| QueueWrite::unchanged(key));
            write.turn = turn;
        }
    }
    for (key, write) in &mut writes {
        let merchant = records.get(registry::Kind::Merchant, &key.merchant);
        let dispatch = merchant.and_then(|it| it.content.merchant()).map(|it| &it.dispatch);
        let channel = group_parts(&key.group).map_or("", |(_, channel)| channel);
        write.share = dispatch.map(|it| (it.weight, it.rate_per_s.get(channel).copied()));
    }
    let queues = writes.into_values().collect();
    Changes { queues, charges, cycles: dispatch.cycles }
}
