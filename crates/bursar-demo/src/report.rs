//! The report of the demo.

use bursar_core::money::decimal;
use bursar_node::failure::Failure;
use bursar_node::terminal;

use super::audit::{Cash, Evidence, Finding};
use super::delivery_audit::DeliveryAudit;
use super::receivers::Receivers;

pub(super) struct Report<'r> {
    pub(super) evidence: &'r Evidence<'r>,
    pub(super) findings: &'r [Finding],
    pub(super) cash: &'r [Cash],
    pub(super) delivery_audit: &'r DeliveryAudit,
    pub(super) receivers: &'r Receivers,
    pub(super) seed: u64,
}

impl Report<'_> {
    pub(super) fn print(&self) -> Result<(), Failure> {
        let Evidence { created, payins, merchants, feed, decisions, .. } = self.evidence;
        terminal::say(&format!(
            "{} payouts of {merchants} merchants through two hostile providers (seed {})\n",
            created.len(),
            self.seed
        ))?;
        let counts = feed.counts().into_iter();
        let rows = counts.map(|(status, count)| vec![status.to_owned(), count.to_string()]);
        terminal::say(&terminal::table(&["status", "payouts"], 1, rows.collect()).to_string())?;
        terminal::say(&self.latency())?;
        terminal::say(&format!(
            "{} pay-ins, {} requests repeated under the same key, {merchants} payouts rejected for missing funds, {} events",
            payins.len(),
            self.evidence.repeated().count(),
            feed.events
        ))?;
        terminal::say(&format!(
            "{} stuck payouts resolved by operators from the provider's books: {} paid, {} not paid, {} of them by two people",
            decisions.paid.saturating_add(decisions.not_paid),
            decisions.paid,
            decisions.not_paid,
            decisions.by_two.len()
        ))?;
        for example in decisions.examples.values().rev() {
            terminal::say(example)?;
        }
        terminal::say("\nWebhooks to merchants' own servers, with retries after 1, 1, 2 and 2 s")?;
        terminal::say(&self.delivery_audit.table(self.receivers))?;
        terminal::say(&self.conservation())?;
        self.judge()
    }

    /// Latency from creation to the final status, including decisions of operators.
    fn latency(&self) -> String {
        let histories = self.evidence.feed.histories.values();
        let mut spans: Vec<i128> =
            histories.filter_map(super::feed::PayoutHistory::latency_ms).collect();
        spans.sort_unstable();
        let at = |percent: usize| {
            let last = spans.len().saturating_sub(1);
            let index = last.saturating_mul(percent).checked_div(100).unwrap_or_default();
            let span = spans.get(index).copied().unwrap_or_default();
            format!("{}.{:03} s", span.div_euclid(1_000), span.rem_euclid(1_000))
        };
        format!("from created to final: p50 {}, p99 {}", at(50), at(99))
    }

    fn conservation(&self) -> String {
        let row = |cash: &Cash| {
            let expected = cash.payins.saturating_sub(cash.paid);
            let parts = [cash.payins, cash.paid, cash.bank, cash.bank.saturating_sub(expected)];
            let parts = parts.map(|minor| decimal(minor, cash.currency));
            std::iter::once(cash.currency.to_string()).chain(parts).collect()
        };
        let rows = self.cash.iter().map(row).collect();
        let header = ["", "paid in", "paid out by providers", "at the bank", "difference"];
        terminal::table(&header, 1, rows).to_string()
    }

    fn judge(&self) -> Result<(), Failure> {
        for Finding { promise, checked, failures } in self.findings {
            let mark = if failures.is_empty() { "ok    " } else { "FAILED" };
            terminal::say(&format!("{mark} {promise} ({checked} checked)"))?;
            // The first failures are enough.
            for failure in failures.iter().take(10) {
                terminal::say(&format!("       {}", terminal::printable(failure)))?;
            }
        }
        let broken = self.findings.iter().filter(|finding| !finding.failures.is_empty()).count();
        if broken > 0 {
            return Err(Failure::new(format!(
                "{broken} of {} promises were broken with seed {}. No real money was touched; please report this",
                self.findings.len(),
                self.seed
            )));
        }
        let checked: usize = self.findings.iter().map(|finding| finding.checked).sum();
        terminal::say(&format!("{checked} checks of {} invariants", self.findings.len()))?;
        terminal::say(&format!("{} promises kept, trial balance = 0", self.findings.len()))
    }
}
