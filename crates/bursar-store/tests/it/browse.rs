//! Reads every list of a store page by page to its end.

use std::collections::BTreeMap;

use bursar_core::dispatch::{Queue, QueueKey};
use bursar_core::feed::{AuditEntry, FeedEvent};
use bursar_core::flow::{Flow, Review};
use bursar_core::ledger::Account;
use bursar_core::numscript::Name;
use bursar_core::registry::{Kind, Record};
use bursar_core::turn::Tally;
use bursar_store::{AuditCursor, Browse, FlowFilter, Live, ReviewFilter, WaitingReviews};

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Lists {
    payouts: Vec<Flow>,
    of_one_merchant: Vec<Flow>,
    stuck: Vec<Flow>,
    timeline: Vec<FeedEvent>,
    /// Without cursors: the commit of an entry depends on the batch boundaries, the entry does not.
    audit: Vec<AuditEntry>,
    records: Vec<Record>,
    accounts: Vec<(Name, Account)>,
    tallies: BTreeMap<String, Tally>,
    queues: Vec<(QueueKey, Queue)>,
    reviews: Vec<(Review, Option<Flow>)>,
    waiting_reviews: Vec<WaitingReviews>,
    live: Vec<Live>,
    live_channels: Vec<String>,
}

pub(crate) async fn read_lists(store: &mut impl Browse) -> Lists {
    let payouts = FlowFilter { kind: "payout", ..FlowFilter::default() };
    let merchant = FlowFilter { merchant: Some("m1".to_owned()), ..payouts.clone() };
    let stuck = FlowFilter { status: Some("STUCK".to_owned()), ..payouts.clone() };
    let payouts = flows(store, &payouts).await;
    let name = payouts.first().map(Flow::name).unwrap_or_default();
    let mut records = Vec::new();
    for kind in Kind::ALL {
        records.extend(all_records(store, kind).await);
    }
    for record in &records {
        assert_eq!(store.record(&record.key()).await.unwrap().as_ref(), Some(record));
    }
    let accounts = store.accounts().await.unwrap();
    let addresses: Vec<Name> =
        accounts.iter().map(|(name, _)| Name::clone(name)).step_by(2).collect();
    Lists {
        of_one_merchant: flows(store, &merchant).await,
        stuck: flows(store, &stuck).await,
        timeline: store.events_of(&name, 1, 3).await.unwrap(),
        audit: audit(store).await,
        records,
        accounts: store.accounts_at(&addresses).await.unwrap(),
        tallies: store.tallies("").await.unwrap(),
        queues: store.queues().await.unwrap(),
        reviews: store.reviews(&ReviewFilter::default(), None, 100).await.unwrap(),
        waiting_reviews: store.waiting_reviews().await.unwrap(),
        live: store.live().await.unwrap(),
        live_channels: store.live_channels().await.unwrap(),
        payouts,
    }
}

/// In pages of three.
async fn flows(store: &mut impl Browse, filter: &FlowFilter) -> Vec<Flow> {
    let mut found = Vec::new();
    let mut before = None;
    loop {
        let page = store.list_flows_desc(filter, before, 3).await.unwrap();
        found.extend(page.flows);
        before = page.next;
        if before.is_none() {
            return found;
        }
    }
}

async fn audit(store: &mut impl Browse) -> Vec<AuditEntry> {
    let mut found: Vec<(AuditCursor, AuditEntry)> = Vec::new();
    loop {
        let before = found.last().map(|(cursor, _)| *cursor);
        let page = store.audit_back(before, 2).await.unwrap();
        if page.is_empty() {
            let mut entries: Vec<_> = found.into_iter().map(|(_, entry)| entry).collect();
            entries.sort_by(|one, other| {
                (one.time, &one.action, &one.resource).cmp(&(
                    other.time,
                    &other.action,
                    &other.resource,
                ))
            });
            return entries;
        }
        found.extend(page);
    }
}

async fn all_records(store: &mut impl Browse, kind: Kind) -> Vec<Record> {
    let mut found: Vec<Record> = Vec::new();
    loop {
        let before = found.last().map(|record| record.id.clone());
        let page = store.records(kind, None, before.as_deref(), 2).await.unwrap().records;
        if page.is_empty() {
            return found;
        }
        found.extend(page);
    }
}
