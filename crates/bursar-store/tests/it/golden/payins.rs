//! Pay-ins: every state, and every word of a provider.

use bursar_core::payin::{Heard, PayIn, Said, State, Terms};

use super::payouts::funds;
use crate::adapter::stored::at;

pub(super) fn all() -> Vec<PayIn> {
    let said = |words: &[(&str, Said)]| {
        let heard = |(name, said): &(&str, Said), second| {
            ((*name).to_owned(), Heard { said: *said, at: at(second) })
        };
        words.iter().zip(1..).map(|(word, second)| heard(word, second)).collect()
    };
    let payin = |state, words| PayIn { terms: terms(), state, said: said(words) };
    let (pending, completed) = (("e-1", Said::Pending), ("e-2", Said::Completed));
    let failed = ("9f86d081884c7d65", Said::Failed);
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
