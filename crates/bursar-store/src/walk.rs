//! Iteration over the whole books, page by page, in constant memory.

use std::future::Future;

use bursar_core::feed::Cursor;
use bursar_core::flow::Due;
use bursar_core::ids::FlowId;
use bursar_core::ledger::closing::Closing;
use bursar_core::ledger::journal::JournalError;
use bursar_core::ledger::rulebook::Rulebook;
use bursar_core::ledger::verify::{Report, SinceVerifier};
use bursar_core::ledger::views::{AsOf, BalanceFold, TrialBalance, TrialBalanceFold};
use bursar_core::ledger::{Hold, HoldKey, Transaction};
use bursar_core::numscript::Name;
use bursar_core::turn::SavedCommit;

use crate::verify::verify;
use crate::{Query, StoreError};

/// Target number of transactions per page, estimated from the commits of the page before.
const PAGE: u64 = 5_000;
/// Most commits per page: bounds memory if the estimate is wrong.
const COMMITS: u64 = 64;
/// Rows of a list, or transactions of one merchant, per page.
pub(crate) const ROWS: u32 = 5_000;

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
                commits = page_size(&page);
                page.iter().try_for_each(&mut visit)?;
            }
        }
    }

    /// The latest closing that a report as of a moment may begin with: all transactions before it count.
    fn closing_before(
        &mut self,
        as_of: AsOf,
    ) -> impl Future<Output = Result<Option<Closing>, StoreError>> {
        async move {
            let closings = self.closings().await?;
            Ok(closings.into_iter().rev().find(|closing| as_of.counts_all_before(closing)))
        }
    }

    /// Every commit behind a closing that may have transactions up to a moment. Days without such transactions are not read.
    fn each_commit_until<E: From<StoreError>>(
        &mut self,
        begin: Option<Closing>,
        as_of: AsOf,
        mut visit: impl FnMut(&SavedCommit) -> Result<(), E>,
    ) -> impl Future<Output = Result<(), E>> {
        async move {
            let mut after = begin.map_or(0, |closing| closing.seq);
            let closings = self.closings().await?;
            let later = closings.iter().filter(|closing| closing.seq > after);
            let skipped: Vec<(u64, u64)> = later
                .scan(after, |begin, closing| {
                    let day = (std::mem::replace(begin, closing.seq), closing.seq);
                    Some((day, as_of.counts_none_of(closing)))
                })
                .filter_map(|(day, is_skipped)| is_skipped.then_some(day))
                .collect();
            let mut commits = 1;
            loop {
                if let Some((_, end)) = skipped.iter().find(|(begin, _)| *begin == after) {
                    after = *end;
                    continue;
                }
                let until = skipped.iter().map(|(begin, _)| *begin).find(|begin| *begin > after);
                let page = self.history(after, commits).await?;
                let page: Vec<_> = page
                    .into_iter()
                    .filter(|commit| until.is_none_or(|until| commit.seq <= until))
                    .collect();
                let Some(last) = page.last() else { return Ok(()) };
                after = last.seq;
                commits = page_size(&page);
                let end = page.iter().position(|commit| as_of.ends_before(commit));
                page.iter().take(end.unwrap_or(page.len())).try_for_each(&mut visit)?;
                if end.is_some() {
                    return Ok(());
                }
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

    /// Every hold, in the order of their keys.
    fn holds(&mut self) -> impl Future<Output = Result<Vec<(HoldKey, Hold)>, StoreError>> {
        async move {
            let mut holds = Vec::new();
            loop {
                let page = self.hold_rows(holds.last().map(|(key, _)| key), ROWS).await?;
                if page.is_empty() {
                    return Ok(holds);
                }
                holds.extend(page);
            }
        }
    }

    /// Every due row, by lane and time.
    fn due(&mut self) -> impl Future<Output = Result<Vec<(Due, FlowId)>, StoreError>> {
        async move {
            let mut due = Vec::new();
            loop {
                let page = self.due_rows(due.last(), ROWS).await?;
                if page.is_empty() {
                    return Ok(due);
                }
                due.extend(page);
            }
        }
    }

    /// The trial balance of now, or as of a moment: from the last closing before it, and the commits behind that.
    fn trial_balance(
        &mut self,
        as_of: Option<AsOf>,
    ) -> impl Future<Output = Result<TrialBalance, StoreError>> {
        async move {
            let accounts = self.accounts().await?;
            let known = || accounts.iter().map(|(address, account)| (address, account));
            let Some(moment) = as_of else {
                let now = TrialBalance::of_accounts(accounts.iter().map(|(_, account)| account));
                if let Some(now) = now {
                    return Ok(now);
                }
                let mut fold = TrialBalanceFold::new(known(), None);
                self.each_commit(|commit| all(commit, |transaction| fold.add(transaction))).await?;
                return Ok(fold.finish());
            };
            let closing = self.closing_before(moment).await?;
            let closed = self.closed_accounts(closing.map_or(0, |closing| closing.seq)).await?;
            let fold = || TrialBalanceFold::new(known(), as_of);
            let (mut fold, closing) = match fold().begin(&closed) {
                Some(begun) => (begun, closing),
                // A turnover that does not fit is only in the postings.
                None => (fold(), None),
            };
            let add = |commit: &SavedCommit| all(commit, |transaction| fold.add(transaction));
            self.each_commit_until(closing, moment, add).await?;
            Ok(fold.finish())
        }
    }

    /// The balances as of a moment: from the last closing before it, and the commits behind that.
    fn balances(&mut self, as_of: AsOf) -> impl Future<Output = Result<BalanceFold, StoreError>> {
        async move {
            let accounts = self.accounts().await?;
            let known = accounts.iter().map(|(address, account)| (address, account));
            let closing = self.closing_before(as_of).await?;
            let closed = self.closed_accounts(closing.map_or(0, |closing| closing.seq)).await?;
            let mut fold = BalanceFold::new(known, as_of).begin(&closed);
            let add = |commit: &SavedCommit| all(commit, |transaction| fold.add(transaction));
            self.each_commit_until(closing, as_of, add).await?;
            Ok(fold)
        }
    }

    /// Verifies only what came since the last closing: the chain, and the balances and turnovers of accounts. Memory does not
    /// grow with the history. None if there is no closing. Call `read_at_one_moment` first if another process may write.
    fn verify_since_closing(
        &mut self,
    ) -> impl Future<Output = Result<Option<(Closing, Report)>, StoreError>> {
        async move {
            let Some(closing) = self.closings().await?.last().copied() else { return Ok(None) };
            let mut verifier = SinceVerifier::new(closing);
            let (mut after, mut commits) = (closing.seq, 1);
            loop {
                let page = self.history(after, commits).await?;
                let Some(last) = page.last() else { break };
                after = last.seq;
                commits = page_size(&page);
                for commit in &page {
                    verifier.add(commit);
                }
            }
            let closed = self.closed_accounts(closing.seq).await?;
            let accounts = self.accounts().await?;
            Ok(Some((closing, verifier.finish(&closed, &accounts, &self.head().await?))))
        }
    }

    /// Recomputes the books from their postings. Call `read_at_one_moment` first if another process may write.
    fn verify(&mut self, rulebook: &Rulebook) -> impl Future<Output = Result<Report, StoreError>> {
        verify(self, rulebook, |_| {})
    }

    /// Same, and shows how far it is after each page.
    fn verify_with_progress(
        &mut self,
        rulebook: &Rulebook,
        progress: impl FnMut(&Report),
    ) -> impl Future<Output = Result<Report, StoreError>> {
        verify(self, rulebook, progress)
    }
}

impl<Q: Query> Walk for Q {}

/// Adds all transactions of a commit to a fold over debits and credits.
fn all(
    commit: &SavedCommit,
    add: impl FnMut(&Transaction) -> Result<(), JournalError>,
) -> Result<(), StoreError> {
    commit.transactions.iter().try_for_each(add).map_err(|error| {
        let seq = commit.seq;
        StoreError::Corrupt(format!(
            "commit {seq} is not double entry: {error}. Run `bursar ledger verify`"
        ))
    })
}

/// The number of commits of the next page, estimated from this one.
pub fn page_size(page: &[SavedCommit]) -> u32 {
    let transactions: usize = page.iter().map(|commit| commit.transactions.len()).sum();
    let (transactions, commits) =
        (u64::try_from(transactions).unwrap_or(u64::MAX), u64::try_from(page.len()).unwrap_or(1));
    let next = PAGE.saturating_mul(commits).checked_div(transactions).unwrap_or(PAGE);
    u32::try_from(next.clamp(1, COMMITS)).unwrap_or(1)
}
