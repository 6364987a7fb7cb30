//! Checks closings against the postings up to their commits.

use std::collections::BTreeSet;

use super::Verifier;
use crate::ledger::closing::{ClosedAccount, Closing, Moved, SinceClosing};
use crate::money::{Currency, decimal};
use crate::numscript::Name;

impl Verifier<'_> {
    /// Names all closings of the store.
    #[must_use]
    pub fn with_closings(self, closings: &[Closing]) -> Self {
        Self { closings: closings.iter().map(|closing| (closing.seq, *closing)).collect(), ..self }
    }

    /// Compares the rows of closings as of the commit that was added last.
    pub fn add_closed(&mut self, rows: &[&ClosedAccount]) {
        let seq = self.report.commits;
        for row in rows {
            let ClosedAccount { address, currency, balance, received } = row;
            let key = (Name::clone(address), *currency);
            let Moved { balance: sum, received: into } =
                self.sums.get(&key).copied().unwrap_or_default();
            let into = into.min(i128::from(i64::MAX));
            if (i128::from(*balance), i128::from(*received)) != (sum, into) {
                let [closed, received, sum, into] =
                    [(*balance).into(), (*received).into(), sum, into]
                        .map(|it| decimal(it, *currency));
                self.differ(format!(
                    "the closing as of commit {seq} says that {address} has {closed} {currency} and received {received}, its postings say {sum} and {into}"
                ));
            }
        }
        let Some(stored) = self.closings.remove(&seq) else { return };
        let rows: BTreeSet<(&Name, Currency)> =
            rows.iter().map(|row| (&row.address, row.currency)).collect();
        let since = std::mem::replace(&mut self.since, SinceClosing::new(Some(stored)));
        if since.closing() != Some(stored) {
            self.differ(format!(
                "the closing as of commit {seq} has another hash or other times than its commits"
            ));
        }
        let moved =
            since.moved.keys().filter(|(address, currency)| !rows.contains(&(address, *currency)));
        for (address, currency) in moved {
            self.differ(format!(
                "{address} moved before commit {seq}, and its closing has no row for it in {currency}"
            ));
        }
    }

    pub(super) fn compare_closings(&mut self) {
        for seq in std::mem::take(&mut self.closings).into_keys() {
            self.differ(format!("there is a closing as of commit {seq}, and no such commit"));
        }
    }
}
