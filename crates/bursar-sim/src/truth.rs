//! What a channel has really done with a reference, whatever it reports.

use bursar_core::payouts::attempt::Verdict;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Truth {
    /// It has no record of it.
    Nothing,
    Pending,
    Paid,
    /// It paid another amount than was asked for.
    PaidOther,
    /// For now, or for good.
    Failed {
        is_retryable: bool,
    },
    Returned,
}

impl Truth {
    pub(crate) const fn is_paid(self) -> bool {
        matches!(self, Self::Paid | Self::PaidOther | Self::Returned)
    }

    pub(crate) const fn has_failed(self) -> bool {
        matches!(self, Self::Failed { .. })
    }

    /// What a truthful channel reports, and what follows from it.
    pub(crate) const fn verdict(self) -> Option<Verdict> {
        match self {
            Self::Nothing => None,
            Self::Pending => Some(Verdict::Accepted),
            Self::Paid => Some(Verdict::Paid),
            Self::PaidOther => Some(Verdict::AmountDiffers),
            Self::Failed { is_retryable } => Some(Verdict::NotPaid { is_retryable }),
            Self::Returned => Some(Verdict::Returned),
        }
    }
}
