//! Iteration over the whole books, page by page, in constant memory.

use std::future::Future;

use bursar_core::feed::Cursor;
use bursar_core::flow::Flow;
use bursar_core::ledger::Transaction;
use bursar_core::ledger::rulebook::Rulebook;
use bursar_core::ledger::verify::{Derived, Report, Verifier};
use bursar_core::numscript::Name;
use bursar_core::turn::SavedCommit;

use crate::{Query, StoreError};

/// Target number of transactions per page, estimated from the commits of the page before.
const PAGE: u64 = 5_000;
/// Most commits per page: bounds memory if the estimate is wrong.
const COMMITS: u64 = 64;
/// Flows, or transactions of one merchant, per page.
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

    /// The rows that the store derived from the commits.
    fn derived(&mut self) -> impl Future<Output = Result<Derived, StoreError>> {
        async move {
            Ok(Derived {
                holds: self.holds().await?,
                due: self.due().await?,
                reviews: self.all_reviews().await?,
                tallies: self.tallies("").await?,
                labels: self.labels().await?,
                end: self.end().await?,
            })
        }
    }

    /// Recomputes the books from their postings. Call `read_at_one_moment` first if another process may write.
    fn verify(&mut self, rulebook: &Rulebook) -> impl Future<Output = Result<Report, StoreError>> {
        async move {
            let accounts = self.accounts().await?;
            let mut verifier =
                Verifier::new(rulebook, &accounts).with(self.indexed_entries().await?);
            let add = |commit: &SavedCommit| {
                verifier.add(commit);
                Ok::<(), StoreError>(())
            };
            self.each_commit(add).await?;
            self.each_flow(|flow| verifier.add_flow(flow)).await?;
            Ok(verifier.finish(&accounts, &self.derived().await?))
        }
    }
}

impl<Q: Query> Walk for Q {}

/// The size of the next page, estimated from this one.
fn next_page(page: &[SavedCommit]) -> u32 {
    let transactions: usize = page.iter().map(|commit| commit.transactions.len()).sum();
    let (transactions, commits) =
        (u64::try_from(transactions).unwrap_or(u64::MAX), u64::try_from(page.len()).unwrap_or(1));
    let next = PAGE.saturating_mul(commits).checked_div(transactions).unwrap_or(PAGE);
    u32::try_from(next.clamp(1, COMMITS)).unwrap_or(1)
}
