//! The guarantees and timeouts of a channel.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use crate::money::Currency;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Channel {
    pub name: String,
    pub currencies: BTreeSet<Currency>,
    /// The bank account that its payouts are paid from.
    pub bank: String,
    /// The same reference may be sent again: the channel pays it once.
    pub submit_is_idempotent: bool,
    /// After the visibility window, a reference that the channel does not know will never be paid.
    pub not_found_is_final: bool,
    pub visibility_window: SignedDuration,
    /// A failure that the channel reports is final. If not, a second attempt needs an operator.
    pub failed_is_final: bool,
    pub reports_amount: ReportsAmount,
    /// Maximum number of submissions in flight.
    pub concurrency: u32,
    pub clocks: Clocks,
}

impl Channel {
    /// When the channel shows everything that was sent before this time: leases last until then, and clocks may run a tenth
    /// too fast.
    pub fn shown_at(&self, time: Timestamp) -> Timestamp {
        let lease = self.clocks.submit_timeout.saturating_add(LEASE_SLACK);
        let wait = lease.saturating_add(self.visibility_window);
        let tenth = wait.checked_div(10).unwrap_or_default();
        let wait = wait.saturating_add(tenth).saturating_add(LEASE_SLACK);
        time.saturating_add(wait).unwrap_or(Timestamp::MAX)
    }
}

/// Whether the channel names the amount that it paid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReportsAmount {
    /// Without an amount, a report that it paid is no proof.
    Required,
    /// An amount that it names is compared.
    #[default]
    IfPresent,
    /// What it names is not the amount of the payment, such as an amount with its own fee.
    Never,
}

/// Timeouts, retries and polling intervals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clocks {
    pub submit_timeout: SignedDuration,
    pub query_timeout: SignedDuration,
    /// Maximum number of tries of one attempt, as long as every try is proven not to have been sent.
    pub tries_max: u32,
    pub first_retry: SignedDuration,
    pub last_retry: SignedDuration,
    /// Maximum number of attempts of a payout after retryable refusals.
    pub attempts_max: u32,
    /// Pauses between queries about an unknown outcome; their number is the maximum.
    pub requeries: Vec<SignedDuration>,
    pub poll_interval: SignedDuration,
    pub poll_deadline: SignedDuration,
}

/// Slack on top of a timeout before the lease ends, because the outcome may still be on its way back.
pub const LEASE_SLACK: SignedDuration = SignedDuration::from_secs(15);

/// The longest poll interval.
const POLL_LAST: SignedDuration = SignedDuration::from_mins(2);
/// Poll interval of a stuck payout, in case the channel decides before the operator.
const REVIEW_POLL: SignedDuration = SignedDuration::from_hours(1);

impl Clocks {
    /// The defaults of a kind of channel.
    pub fn of(kind: &str) -> Self {
        let seconds = SignedDuration::from_secs;
        let (submit_timeout, tries_max, first_retry, last_retry) = match kind {
            "mobile_wallet" => (seconds(60), 5, seconds(2), seconds(30)),
            "bank_transfer" => (seconds(300), 3, seconds(5), seconds(120)),
            "agent_network" => (seconds(180), 4, seconds(3), seconds(60)),
            _ => (seconds(120), 3, seconds(1), seconds(100)),
        };
        let requeries = [5, 15, 30, 60, 120, 240, 300, 300, 360, 360];
        Self {
            submit_timeout,
            query_timeout: seconds(5),
            tries_max,
            first_retry,
            last_retry,
            attempts_max: 3,
            requeries: requeries.into_iter().map(seconds).collect(),
            poll_interval: seconds(15),
            poll_deadline: seconds(1_800),
        }
    }

    /// The pause after this many tries that were not sent.
    pub fn retry_after(&self, tries: u32) -> SignedDuration {
        doubled(self.first_retry, tries.saturating_sub(1)).min(self.last_retry)
    }

    /// The pause after this many polls.
    pub fn poll_after(&self, polls: u32) -> SignedDuration {
        // Eight polls at the first interval, then doubling.
        let doublings = polls.saturating_sub(8).min(8);
        doubled(self.poll_interval, doublings).min(POLL_LAST.max(self.poll_interval))
    }

    pub fn review_poll(&self) -> SignedDuration {
        REVIEW_POLL.max(self.poll_interval)
    }
}

fn doubled(duration: SignedDuration, times: u32) -> SignedDuration {
    let factor = 1_i32.checked_shl(times).unwrap_or(i32::MAX).max(1);
    duration.checked_mul(factor).unwrap_or(SignedDuration::MAX)
}
