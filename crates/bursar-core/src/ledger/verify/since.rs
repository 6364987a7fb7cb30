//! Verification from a closing on, in memory that does not grow with the history.

use std::collections::BTreeMap;

use super::{ChainEnd, Head, Report};
use crate::ledger::closing::{ClosedAccount, Closing, SinceClosing};
use crate::ledger::{Account, AccountKey};
use crate::money::decimal;
use crate::numscript::Name;
use crate::turn::SavedCommit;

/// Checks the chain, and the balances and turnovers of accounts, behind a closing that is taken for granted.
#[derive(Debug)]
pub struct SinceVerifier {
    since: SinceClosing,
    chain: ChainEnd,
    report: Report,
}

impl SinceVerifier {
    pub fn new(closing: Closing) -> Self {
        Self {
            since: SinceClosing::new(Some(closing)),
            chain: ChainEnd::after(closing.hash),
            report: Report { commits: closing.seq, ..Report::default() },
        }
    }

    /// The next commit, in order.
    pub fn add(&mut self, commit: &SavedCommit) {
        let expected = self.report.commits.saturating_add(1);
        if commit.seq != expected {
            self.report
                .differ(format!("commit {expected} is missing: commit {} follows", commit.seq));
        }
        if self.since.last.is_some_and(|(.., time)| commit.time < time) {
            self.report.differ(format!("commit {} is dated before the one it follows", commit.seq));
        }
        for difference in self.chain.link(commit) {
            self.report.differ(difference);
        }
        let count = |rows: usize| u64::try_from(rows).unwrap_or(u64::MAX);
        let postings =
            commit.transactions.iter().map(|transaction| transaction.postings.len()).sum();
        let report = &mut self.report;
        report.commits = commit.seq;
        report.transactions = report.transactions.saturating_add(count(commit.transactions.len()));
        report.postings = report.postings.saturating_add(count(postings));
        report.events = report.events.saturating_add(count(commit.events.len()));
        report.audit = report.audit.saturating_add(count(commit.audit.len()));
        self.since.add(commit);
    }

    /// Compares with the accounts as of the closing and as of now.
    pub fn finish(
        mut self,
        closed: &[ClosedAccount],
        accounts: &[(Name, Account)],
        head: &Head,
    ) -> Report {
        if (head.seq, head.hash) != (self.report.commits, self.chain.hash) {
            self.report.differ(format!(
                "the head names commit {}, but the last one is {}: commits were removed or added",
                head.seq, self.report.commits
            ));
        }
        let key = |row: &ClosedAccount| (Name::clone(&row.address), row.currency);
        let closed: BTreeMap<AccountKey, &ClosedAccount> =
            closed.iter().map(|row| (key(row), row)).collect();
        self.report.accounts = u64::try_from(accounts.len()).unwrap_or(u64::MAX);
        for (address, account) in accounts {
            let currency = account.balance.currency();
            let key = (Name::clone(address), currency);
            let moved = self.since.moved.remove(&key).unwrap_or_default();
            let expected = moved.close(&key, closed.get(&key).copied());
            if (expected.balance, expected.received) != (account.balance.minor(), account.received)
            {
                let [balance, received] = [expected.balance, expected.received];
                let [balance, received] =
                    [balance, received].map(|it| decimal(it.into(), currency));
                let stored = decimal(account.received.into(), currency);
                self.report.differ(format!(
                    "{address} has {} {currency} and received {stored}, its closing and the postings behind it say {balance} and {received}",
                    account.balance
                ));
            }
        }
        for (address, currency) in std::mem::take(&mut self.since.moved).into_keys() {
            self.report.differ(format!("{address} has postings in {currency} and no account"));
        }
        self.report
    }
}
