//! Walking through the whole books, a page at a time: memory does not grow with the history.

use std::future::Future;

use bursar_core::commit::SavedCommit;
use bursar_core::feed::Cursor;
use bursar_core::flow::Flow;
use bursar_core::ledger::Transaction;
use bursar_core::numscript::Name;
use bursar_core::rulebook::Rulebook;
use bursar_core::verify::{Report, Verifier};

use crate::{Query, StoreError};

/// Transactions that are read at once, if the commits are like those before them.
const PAGE: u64 = 5_000;
/// Commits that are read at once at most: bounds the memory of reports when they are not.
const COMMITS: u64 = 64;
/// Flows, or transactions of one merchant, that are read at once.
const ROWS: u32 = 5_000;

pub trait Walk: Query {
    /// Every commit in order.
    fn each_commit<E: From<StoreError>>(
        &mut self,
        mut visit: impl FnMut(&SavedCommit) -> Result<(), E>,
    ) -> impl Future<Output = Result<(), E>> {
        async move {
            let mut after = 0;
            let mut commits = 1;
            loop {
                let page = self.history(after, commits).await?;
                let Some(last) = page.last() else { return Ok(()) };
                after = last.seq;
                commits = next_page(&page);
                page.iter().try_for_each(&mut visit)?;
            }
        }
    }

    /// Every transaction that touches any of these accounts, in the order they were saved.
    fn each_transaction_of<E: From<StoreError>>(
        &mut self,
        addresses: &[Name],
        mut visit: impl FnMut(&Transaction) -> Result<(), E>,
    ) -> impl Future<Output = Result<(), E>> {
        async move {
            let mut after = Cursor::default();
            loop {
                let page = self.transactions_of(addresses, after, ROWS).await?;
                let Some((last, _)) = page.last() else { return Ok(()) };
                after = *last;
                page.iter().try_for_each(|(_, transaction)| visit(transaction))?;
            }
        }
    }

    /// Every flow in order.
    fn each_flow(
        &mut self,
        mut visit: impl FnMut(&Flow),
    ) -> impl Future<Output = Result<(), StoreError>> {
        async move {
            let mut after = None;
            loop {
                let page = self.flows(after, ROWS).await?;
                let Some(last) = page.last() else { return Ok(()) };
                after = Some(last.id);
                page.iter().for_each(&mut visit);
            }
        }
    }

    /// The books recomputed from their postings. Nobody may write meanwhile: read at one moment.
    fn verify(&mut self, rulebook: &Rulebook) -> impl Future<Output = Result<Report, StoreError>> {
        async move {
            let accounts = self.accounts().await?;
            let mut verifier = Verifier::new(rulebook, &accounts).with(self.filed().await?);
            let add = |commit: &SavedCommit| {
                verifier.add(commit);
                Ok::<(), StoreError>(())
            };
            self.each_commit(add).await?;
            self.each_flow(|flow| verifier.add_flow(flow)).await?;
            let (holds, due) = (self.holds().await?, self.due().await?);
            Ok(verifier.finish(&accounts, &holds, &due, &self.end().await?))
        }
    }
}

impl<Q: Query> Walk for Q {}

/// How many commits the next page may have, if they are like these.
fn next_page(page: &[SavedCommit]) -> u32 {
    let transactions: usize = page.iter().map(|commit| commit.transactions.len()).sum();
    let (transactions, commits) =
        (u64::try_from(transactions).unwrap_or(u64::MAX), u64::try_from(page.len()).unwrap_or(1));
    let next = PAGE.saturating_mul(commits).checked_div(transactions).unwrap_or(PAGE);
    u32::try_from(next.clamp(1, COMMITS)).unwrap_or(1)
}
