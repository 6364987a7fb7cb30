//! Verification of the whole books, page by page: commits, then flows, then holds. What a page names elsewhere is looked up,
//! so that memory does not grow with the history.

use bursar_core::flow::Flow;
use bursar_core::ids::FlowId;
use bursar_core::ledger::Transaction;
use bursar_core::ledger::rulebook::Rulebook;
use bursar_core::ledger::verify::{Derived, FlowRecords, Report, Verifier};

use crate::walk::{ROWS, page_size};
use crate::{Query, StoreError};

/// Flows and holds per page. Each comes with its events and transactions.
const PAGE: u32 = 2_000;
/// More would not help to find the first cause.
const REPEATED_MAX: u32 = 100;

pub(crate) async fn verify(
    store: &mut (impl Query + ?Sized),
    rulebook: &Rulebook,
    mut progress: impl FnMut(&Report),
) -> Result<Report, StoreError> {
    let accounts = store.accounts().await?;
    let mut verifier = Verifier::new(rulebook, &accounts)
        .with(store.indexed_entries().await?)
        .with_closings(&store.closings().await?);
    verify_commits(store, &mut verifier, &mut progress).await?;
    verifier.add_repeated(&store.repeated_references(REPEATED_MAX).await?);
    verify_flows(store, &mut verifier, &mut progress).await?;
    verify_holds(store, &mut verifier, &mut progress).await?;
    let derived = Derived {
        reviews: store.all_reviews().await?,
        tallies: store.tallies("").await?,
        queues: store.queues().await?,
        labels: store.labels().await?,
        end: store.end().await?,
    };
    if verifier.has_other_due(derived.end.due) {
        verify_due(store, &mut verifier).await?;
    }
    Ok(verifier.finish(&accounts, &derived))
}

async fn verify_commits(
    store: &mut (impl Query + ?Sized),
    verifier: &mut Verifier<'_>,
    progress: &mut impl FnMut(&Report),
) -> Result<(), StoreError> {
    let (mut after, mut commits) = (0, 1);
    loop {
        let page = store.history(after, commits).await?;
        let Some(last) = page.last() else { return Ok(()) };
        let closed = store.closed_rows((after.saturating_add(1), last.seq)).await?;
        after = last.seq;
        commits = page_size(&page);
        for commit in &page {
            verifier.add(commit);
            let rows = closed.iter().filter(|(seq, _)| *seq == commit.seq);
            verifier.add_closed(&rows.map(|(_, row)| row).collect::<Vec<_>>());
        }
        let names = verifier.names(&page);
        let found = store.planned(&names.plan).await?;
        let missing = store.missing_flows(&names.flows).await?;
        verifier.check_names(&page, &found, &missing);
        progress(verifier.report());
    }
}

async fn verify_flows(
    store: &mut (impl Query + ?Sized),
    verifier: &mut Verifier<'_>,
    progress: &mut impl FnMut(&Report),
) -> Result<(), StoreError> {
    let mut after = None;
    loop {
        let flows = store.flows(after, PAGE).await?;
        let Some(last) = flows.last() else { return Ok(()) };
        after = Some(last.id);
        let names: Vec<String> = flows.iter().map(Flow::name).collect();
        let planned = store.planned(&verifier.plan_flows(&flows)).await?;
        let records = FlowRecords::new(store.last_events(&names).await?, planned);
        let endings = store.planned(&records.plan_endings()).await?;
        let due: Vec<_> = flows.iter().filter_map(|flow| Some((flow.due()?, flow.id))).collect();
        let records = records.with(endings, store.missing_due(&due).await?);
        verifier.add_flows(&flows, records);
        progress(verifier.report());
    }
}

async fn verify_holds(
    store: &mut (impl Query + ?Sized),
    verifier: &mut Verifier<'_>,
    progress: &mut impl FnMut(&Report),
) -> Result<(), StoreError> {
    let mut last = None;
    loop {
        let holds = store.hold_rows(last.as_ref(), PAGE).await?;
        let Some((key, _)) = holds.last() else { return Ok(()) };
        last = Some(key.clone());
        let mut bookings = store.bookings(&verifier.hold_references(&holds)).await?;
        let reverts = Verifier::revert_references(bookings.iter().map(|(_, booking)| booking));
        bookings.extend(store.bookings(&reverts).await?);
        bookings.sort_by_key(|(cursor, _)| *cursor);
        let transactions: Vec<Transaction> = bookings.into_iter().map(|(_, it)| it).collect();
        verifier.add_holds(&holds, transactions.iter());
        progress(verifier.report());
    }
}

/// Names the due rows that are no flow's.
async fn verify_due(
    store: &mut (impl Query + ?Sized),
    verifier: &mut Verifier<'_>,
) -> Result<(), StoreError> {
    let mut last = None;
    loop {
        let rows = store.due_rows(last.as_ref(), ROWS).await?;
        let ids: Vec<FlowId> = rows.iter().map(|(_, flow)| *flow).collect();
        let flows = store.flows_by_id(&ids).await?;
        verifier.add_due(&rows, &flows);
        last = rows.last().cloned();
        if last.is_none() {
            return Ok(());
        }
    }
}
