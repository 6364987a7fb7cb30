//! Pay-ins: every state, every status that a provider reports, and cases.

use bursar_core::payins::{Case, OtherReport, PayIn, ProviderReport, ProviderStatus, State, Terms};

use super::payouts::funds;
use crate::adapter::stored::at;

pub(super) fn all() -> Vec<PayIn> {
    let reports = |statuses: &[(&str, ProviderStatus)]| {
        let report = |(name, status): &(&str, ProviderStatus), second| {
            ((*name).to_owned(), ProviderReport { said: *status, at: at(second) })
        };
        statuses.iter().zip(1..).map(|(status, second)| report(status, second)).collect()
    };
    let payin =
        |state, statuses| PayIn { terms: terms(), state, said: reports(statuses), case: None };
    let (pending, completed) =
        (("e-1", ProviderStatus::Pending), ("e-2", ProviderStatus::Completed));
    let failed = ("9f86d081884c7d65", ProviderStatus::Failed);
    vec![
        payin(State::Pending, &[pending]),
        payin(State::Collected, &[pending, completed]),
        payin(State::Contradicted, &[pending, completed, failed]),
        payin(State::Failed, &[failed]),
        payin(State::Collected, &[]),
        PayIn { case: Some(case(false)), ..payin(State::Collected, &[pending, completed]) },
        PayIn { case: Some(case(true)), ..payin(State::Pending, &[pending]) },
    ]
}

fn case(is_closed: bool) -> Case {
    let report = |(amount, currency): (&str, &str), said, second| OtherReport {
        merchant: "m2".to_owned(),
        amount: amount.to_owned(),
        currency: currency.to_owned(),
        said,
        event: format!("e-{second}"),
        at: at(second),
    };
    let reports = vec![
        report(("90.00", "PKR"), ProviderStatus::Pending, 5),
        report(("1e2", "rupees"), ProviderStatus::Completed, 6),
    ];
    Case { reports, is_closed }
}

fn terms() -> Terms {
    Terms { funds: funds(), provider: "easypaisa".to_owned(), reference: "ep-1".to_owned() }
}
