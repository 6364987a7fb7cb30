//! The small worlds that are explored: what the channel promises, and how operators decide.

use bursar_core::payouts::channel::{Channel, Clocks, ReportsAmount};
use jiff::SignedDuration;

use super::small::Stage;

/// Who decides what is stuck.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::verify) enum Operators {
    /// One operator, who knows what is true and decides at once.
    Prompt,
    /// One operator, who decides later.
    Slow,
    /// Two must agree. One of them may propose anything.
    Two,
    /// One operator, who may be wrong.
    Wrong,
}

#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is a promise or a mistake of its own")]
pub(in crate::verify) struct Profile {
    pub(in crate::verify) name: &'static str,
    pub(super) submit_is_idempotent: bool,
    pub(super) not_found_is_final: bool,
    pub(super) failed_is_final: bool,
    pub(super) attempts_max: u32,
    pub(in crate::verify) operators: Operators,
    /// Whether nothing at all may go wrong. A wrong decision moves money wrongly; then that must at least be seen.
    pub(super) is_truthful: bool,
    pub(super) freezes: bool,
    /// The channel may pay what it said has failed.
    pub(in crate::verify) flips: bool,
    /// The channel may pay another amount.
    pub(super) pays_other: bool,
    /// This machine may have no files or ports left.
    pub(super) lacks_resources: bool,
    /// The books may be put back to a copy.
    pub(super) restores: bool,
    /// Mistakes outside the machine.
    pub(in crate::verify) sends_before_saving: bool,
    pub(in crate::verify) sends_after_lease: bool,
}

const PLAIN: Profile = Profile {
    name: "a channel that promises nothing",
    submit_is_idempotent: false,
    not_found_is_final: false,
    failed_is_final: true,
    attempts_max: 2,
    operators: Operators::Prompt,
    is_truthful: true,
    freezes: false,
    flips: false,
    pays_other: false,
    lacks_resources: false,
    restores: false,
    sends_before_saving: false,
    sends_after_lease: false,
};

pub(in crate::verify) const PROFILES: [Profile; 14] = [
    PLAIN,
    Profile {
        name: "a channel that pays a reference once",
        submit_is_idempotent: true,
        attempts_max: 1,
        ..PLAIN
    },
    Profile {
        name: "both promises",
        submit_is_idempotent: true,
        not_found_is_final: true,
        attempts_max: 1,
        ..PLAIN
    },
    Profile {
        name: "a channel that may pay what failed",
        failed_is_final: false,
        flips: true,
        ..PLAIN
    },
    Profile { name: "a channel that pays another amount", pays_other: true, ..PLAIN },
    Profile { name: "a machine without files", lacks_resources: true, ..PLAIN },
    Profile { name: "a freeze at any moment", freezes: true, ..PLAIN },
    Profile { name: "operators who decide late", operators: Operators::Slow, ..PLAIN },
    Profile { name: "two operators, one of them wrong", operators: Operators::Two, ..PLAIN },
    Profile { name: "a channel whose “not found” is final", not_found_is_final: true, ..PLAIN },
    Profile {
        name: "one operator, who is wrong",
        operators: Operators::Wrong,
        is_truthful: false,
        ..PLAIN
    },
    Profile { name: "books that are put back", not_found_is_final: true, restores: true, ..PLAIN },
    Profile { name: "books that are put back, without a promise", restores: true, ..PLAIN },
    Profile {
        name: "books that are put back, and references that are paid once",
        submit_is_idempotent: true,
        restores: true,
        ..PLAIN
    },
];

impl Profile {
    /// A payout is scheduled where the books or a freeze may change before its time.
    pub(super) const fn first_stage(&self) -> Stage {
        if self.freezes || self.restores { Stage::Scheduled } else { Stage::Ready }
    }

    /// Two tries, two attempts, two questions; fewer where two lives of a payout are multiplied.
    pub(super) fn channel(&self) -> Channel {
        let clocks = Clocks {
            // A try that this machine could not send does not count.
            tries_max: if self.lacks_resources || self.restores { 1 } else { 2 },
            attempts_max: self.attempts_max,
            requeries: vec![SignedDuration::from_secs(5); if self.restores { 1 } else { 2 }],
            ..Clocks::of("mobile_wallet")
        };
        Channel {
            name: String::new(),
            currencies: [].into(),
            bank: String::new(),
            submit_is_idempotent: self.submit_is_idempotent,
            not_found_is_final: self.not_found_is_final,
            visibility_window: SignedDuration::from_secs(30),
            failed_is_final: self.failed_is_final,
            reports_amount: ReportsAmount::default(),
            concurrency: 1,
            clocks,
        }
    }
}
