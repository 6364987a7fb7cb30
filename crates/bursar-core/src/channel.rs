//! What is known about a channel: what it promises, and how long to wait for it.

use std::collections::BTreeSet;

use jiff::SignedDuration;

use crate::money::Currency;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Channel {
    pub name: String,
    pub currencies: BTreeSet<Currency>,
    /// The bank that its payouts leave from.
    pub bank: String,
    /// The same reference may be sent again: the channel pays it once.
    pub submit_is_idempotent: bool,
    /// A reference that it does not know will never be paid, once it has had the time to see it.
    pub not_found_is_final: bool,
    pub visibility_window: SignedDuration,
    /// What it says has failed stays failed. If not, there is no second attempt without a person.
    pub failed_is_final: bool,
    /// How many submissions may be in flight at once.
    pub concurrency: u32,
    pub clocks: Clocks,
}

/// How long to wait, and how often to ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clocks {
    pub submit_timeout: SignedDuration,
    pub query_timeout: SignedDuration,
    /// How often one attempt may be tried, as long as every try is proven not to have been sent.
    pub tries_max: u32,
    pub first_retry: SignedDuration,
    pub last_retry: SignedDuration,
    /// How often a payout may be attempted anew after a refusal that may pass.
    pub attempts_max: u32,
    /// When to ask about an outcome that is not known; its length is the cap.
    pub requeries: Vec<SignedDuration>,
    pub poll_interval: SignedDuration,
    pub poll_deadline: SignedDuration,
}

/// Slack on top of a timeout before an effect is given up: its outcome may be on its way back.
pub const LEASE_SLACK: SignedDuration = SignedDuration::from_secs(15);

/// Polls grow to this.
const POLL_LAST: SignedDuration = SignedDuration::from_mins(2);
/// Somebody looks into it: ask now and then, in case the channel makes up its mind first.
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

    /// How long to wait after this many tries that were not sent.
    pub fn retry_after(&self, tries: u32) -> SignedDuration {
        doubled(self.first_retry, tries.saturating_sub(1)).min(self.last_retry)
    }

    /// How long to wait for the next poll after this many.
    pub fn poll_after(&self, polls: u32) -> SignedDuration {
        // Eight polls at the first pace, then ever slower.
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
