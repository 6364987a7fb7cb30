//! Pay-ins: every state, and every status that a provider reports.

use bursar_core::payins::{PayIn, ProviderReport, ProviderStatus, State, Terms};

use super::payouts::funds;
use crate::adapter::stored::at;

pub(super) fn all() -> Vec<PayIn> {
    let reports = |statuses: &[(&str, ProviderStatus)]| {
        let report = |(name, status): &(&str, ProviderStatus), second| {
            ((*name).to_owned(), ProviderReport { said: *status, at: at(second) })
        };
        statuses.iter().zip(1..).map(|(status, second)| report(status, second)).collect()
    };
    let payin = |state, statuses| PayIn { terms: terms(), state, said: reports(statuses) };
    let (pending, completed) =
        (("e-1", ProviderStatus::Pending), ("e-2", ProviderStatus::Completed));
    let failed = ("9f86d081884c7d65", ProviderStatus::Failed);
    vec![
        payin(State::Pending, &[pending]),
        payin(State::Collected, &[pending, completed]),
        payin(State::Contradicted, &[pending, completed, failed]),
        payin(State::Failed, &[failed]),
        payin(State::Collected, &[]),
    ]
}

fn terms() -> Terms {
    Terms { funds: funds(), provider: "easypaisa".to_owned(), reference: "ep-1".to_owned() }
}
