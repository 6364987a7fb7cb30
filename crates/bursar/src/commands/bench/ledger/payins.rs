//! Pay-ins of many merchants at one bank, in an order that looks like chance and is always the same.

use std::collections::BTreeMap;

use bursar_core::ids::Seed;
use bursar_core::ledger::{Admission, Event};
use bursar_core::request::{Body, Request};
use jiff::Timestamp;

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
    let event = Event {
        name: EVENT.to_owned(),
        // Whoever pays in names it, so references come in no order.
        reference: format!("payin-{chance:016x}"),
        variables,
        effective_at: None,
    };
    let admission = Admission { now: Timestamp::now(), seed: Seed::from(chance) };
    Request { admission, body: Body::Post(event) }
}

/// Another number for each number (the finalizer of `SplitMix64`).
fn mix(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
