//! Pay-ins of many merchants at one bank, in a pseudo-random, reproducible order.

use std::collections::BTreeMap;

use bursar_core::ids::Seed;
use bursar_core::ledger::{Admission, LedgerEvent, Post};
use bursar_core::turn::Request;
use jiff::Timestamp;

use crate::measure::mix;

const EVENT: &str = "PAYIN_COLLECTION";
const MERCHANTS: u64 = 1_000;

#[derive(Debug, Default)]
pub(super) struct Payins {
    made: u64,
}

impl Payins {
    /// The next pay-ins, admitted now.
    pub(super) fn next(&mut self, count: u32) -> Vec<Request> {
        (0..count)
            .map(|_| {
                self.made = self.made.saturating_add(1);
                payin(self.made)
            })
            .collect()
    }
}

fn payin(number: u64) -> Request {
    let chance = mix(number);
    let merchant = mix(chance).checked_rem(MERCHANTS).unwrap_or_default();
    let variables: BTreeMap<String, String> = [
        ("merchantId", format!("m{merchant}")),
        ("bankId", "main".to_owned()),
        ("currency", "PKR".to_owned()),
        ("gross", "100.00".to_owned()),
        ("fee", "2.90".to_owned()),
        ("vat", "0.58".to_owned()),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value))
    .collect();
    let event = LedgerEvent {
        name: EVENT.to_owned(),
        // References are chosen by callers, so they are unordered.
        reference: format!("payin-{chance:016x}"),
        variables,
        effective_at: None,
    };
    let admission = Admission { now: Timestamp::now(), seed: Seed::from(chance) };
    Request { admission, body: Post { event, actor: None }.into() }
}
