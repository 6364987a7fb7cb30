//! What happened, in figures, and which promises were kept.

use bursar_core::money::decimal;
use bursar_node::failure::Failure;
use bursar_node::terminal;

use super::audit::{Cash, Evidence, Finding};
use super::letters::Letters;
use super::receivers::Receivers;

pub(super) struct Report<'r> {
    pub(super) evidence: &'r Evidence<'r>,
    pub(super) findings: &'r [Finding],
    pub(super) cash: &'r [Cash],
    pub(super) letters: &'r Letters,
    pub(super) receivers: &'r Receivers,
    pub(super) seed: u64,
}

impl Report<'_> {
    pub(super) fn print(&self) -> Result<(), Failure> {
        let Evidence { made, collected, merchants, feed, rulings, .. } = self.evidence;
        terminal::say(&format!(
            "{} payouts of {merchants} merchants through two hostile providers (seed {})\n",
            made.len(),
            self.seed
        ))?;
        let counts = feed.counts().into_iter();
        let rows = counts.map(|(status, count)| vec![status.to_owned(), count.to_string()]);
        terminal::say(&terminal::table(&["status", "payouts"], 1, rows.collect()).to_string())?;
        terminal::say(&self.latency())?;
        terminal::say(&format!(
            "{} pay-ins, {} requests repeated under the same key, {merchants} payouts refused for want of money, {} events told",
            collected.len(),
            self.evidence.repeated().count(),
            feed.events
        ))?;
        terminal::say(&format!(
            "{} stuck payouts decided by people from the provider's books: {} paid, {} not paid, {} of them by two people\n",
            rulings.paid.saturating_add(rulings.not_paid),
            rulings.paid,
            rulings.not_paid,
            rulings.by_two.len()
        ))?;
        terminal::say("Webhooks to merchants' own servers, with retries after 1, 1, 2 and 2 s")?;
        terminal::say(&self.letters.table(self.receivers))?;
        terminal::say(&self.conservation())?;
        self.judge()
    }

    /// From its making to its end, people's decisions included.
    fn latency(&self) -> String {
        let stories = self.evidence.feed.stories.values();
        let mut spans: Vec<i128> = stories.filter_map(super::feed::Story::latency_ms).collect();
        spans.sort_unstable();
        let at = |percent: usize| {
            let last = spans.len().saturating_sub(1);
            let place = last.saturating_mul(percent).checked_div(100).unwrap_or_default();
            let span = spans.get(place).copied().unwrap_or_default();
            format!("{}.{:03} s", span.div_euclid(1_000), span.rem_euclid(1_000))
        };
        format!("from asked to ended: p50 {}, p99 {}", at(50), at(99))
    }

    fn conservation(&self) -> String {
        let row = |cash: &Cash| {
            let expected = cash.collected.saturating_sub(cash.paid);
            let parts = [cash.collected, cash.paid, cash.bank, cash.bank.saturating_sub(expected)];
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
            // The first ones say enough.
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
