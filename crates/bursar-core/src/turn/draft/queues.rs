//! The queues in a draft: the turns that claims take, and what the commit changes about them.

use std::collections::BTreeMap;

use super::Draft;
use crate::dispatch::{Charge, Head, QueueWrite, Turns, group_parts, queue_writes};
use crate::freezes::Control;
use crate::registry;
use crate::turn::FlowWrite;
use crate::turn::record_cache::RecordCache;

impl Draft<'_> {
    /// The turns of a group of queues, which claims take from.
    pub(crate) fn turns(&mut self, group: &str) -> &mut Turns {
        self.queues.entry(group.to_owned()).or_default()
    }
}

/// The turns of each group of queues that was read.
pub(super) fn turns(heads: Vec<Head>, control: &Control) -> BTreeMap<String, Turns> {
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
pub(super) fn changes(
    flows: &[FlowWrite],
    groups: BTreeMap<String, Turns>,
    records: &RecordCache,
) -> (Vec<QueueWrite>, Vec<Charge>) {
    let (mut writes, mut charges) = (queue_writes(flows), Vec::new());
    for (group, turns) in groups {
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
    (writes.into_values().collect(), charges)
}
