//! Thousands of random events: whatever is asked, the books stay double entry and every hold is accounted for.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{Desk, HoldState};
use crate::chart::{GlCode, Side};
use crate::journal::WORLD;
use crate::ledger::{Posted, REVERT};
use crate::money::Currency;
use crate::views::trial_balance;

#[derive(Debug, Clone)]
struct Step {
    kind: usize,
    merchant: u8,
    reference: u8,
    amount: u32,
}

const KINDS: [(&str, &str); 16] = [
    ("PAYIN_COLLECTION", "gross={a} fee={f} vat={v}"),
    ("PAYIN_CAPTURE", "providerId=p1 gross={a} fee={f} vat={v}"),
    ("PROVIDER_SETTLEMENT", "providerId=p1 gross={a} cost={f}"),
    ("FUNDS_AVAILABLE", "amount={a}"),
    ("PAYOUT_RESERVE", "amount={a} fee={f} vat={v}"),
    ("PAYOUT_SETTLE", "amount={a} fee={f} vat={v}"),
    ("PAYOUT_RELEASE", "amount={a} fee={f} vat={v}"),
    ("PAYOUT_RETURN", "amount={a}"),
    ("REFUND", "amount={a}"),
    ("CHARGEBACK_HOLD", "amount={a}"),
    ("CHARGEBACK_LOST", "amount={a} fee={f} vat={v}"),
    ("CHARGEBACK_WON", "amount={a}"),
    ("VAT_REMITTANCE", "amount={a}"),
    ("ADJUSTMENT_CREDIT", "amount={a}"),
    ("ADJUSTMENT_DEBIT", "amount={a} vat={v}"),
    (REVERT, ""),
];

fn step() -> impl Strategy<Value = Step> {
    (0..KINDS.len(), 0..3_u8, 0..40_u8, prop::sample::select(vec![1_u32, 7, 100, 100, 2_500]))
        .prop_map(|(kind, merchant, reference, amount)| Step { kind, merchant, reference, amount })
}

impl Desk {
    fn take(&mut self, step: &Step) -> bool {
        let (name, pattern) = KINDS[step.kind];
        if name == REVERT {
            let index = usize::from(step.reference);
            let Some(transaction) = self.ledger.transactions().get(index) else { return false };
            let id = transaction.id.to_string();
            return self.post(REVERT, &id, "").is_ok();
        }
        let mut variables = pattern
            .replace("{a}", &step.amount.to_string())
            .replace("{f}", &step.amount.div_euclid(10).to_string())
            .replace("{v}", &step.amount.div_euclid(50).to_string());
        let takes_merchant = self
            .rulebook
            .rule(name)
            .unwrap()
            .variables()
            .iter()
            .any(|variable| variable == "merchantId");
        if takes_merchant {
            variables = format!("{variables} merchantId=m{}", step.merchant);
        }
        matches!(self.post(name, &format!("r{}", step.reference), &variables), Ok(Posted::New(_)))
    }
}

/// The promises of the ledger, recomputed from nothing but the postings and the holds.
fn check(desk: &Desk) {
    let trial = trial_balance(&desk.ledger, None).unwrap();
    assert!(trial.is_balanced);

    let mut recomputed: BTreeMap<(String, Currency), i128> = BTreeMap::new();
    for posting in desk.ledger.transactions().iter().flat_map(|transaction| &transaction.postings) {
        let minor = i128::from(posting.money.minor());
        assert!(minor > 0, "a posting moves something");
        for (address, change) in [(&posting.source, -minor), (&posting.destination, minor)] {
            if &**address != WORLD {
                *recomputed.entry((address.to_string(), posting.money.currency())).or_default() +=
                    change;
            }
        }
    }
    let mut by_code: BTreeMap<GlCode, i128> = BTreeMap::new();
    for (address, account) in desk.ledger.accounts() {
        let key = (address.to_string(), account.balance.currency());
        assert_eq!(recomputed.remove(&key), Some(i128::from(account.balance.minor())), "{address}");
        *by_code.entry(account.metadata.code).or_default() += i128::from(account.balance.minor());
        let code = account.metadata.code.to_string();
        let may_be_negative = code == "2004" || code == "1000";
        assert!(may_be_negative || !account.balance.is_negative(), "{address} {}", account.balance);
    }
    assert!(recomputed.is_empty(), "no posting without an account");
    for row in &trial.rows {
        assert_eq!(by_code.get(&row.code), Some(&row.balance), "{}", row.code);
    }

    let mut held: BTreeMap<GlCode, i128> = BTreeMap::new();
    for (key, hold) in desk.ledger.holds() {
        if hold.state == HoldState::Open {
            *held.entry(key.code).or_default() += i128::from(hold.money.minor());
        }
    }
    for (code, balance) in by_code {
        let gl = desk.rulebook.chart().get(code).unwrap();
        if gl.view == "hold" {
            assert_eq!(gl.side(), Side::Credit);
            assert_eq!(held.get(&code).copied().unwrap_or(0), balance, "holds on {code}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn the_books_hold_whatever_is_posted(steps in prop::collection::vec(step(), 1..200)) {
        let mut desk = Desk::new();
        for step in &steps {
            desk.take(step);
        }
        check(&desk);
    }
}

/// Guards the property above: random steps that are all refused would prove nothing.
#[test]
fn every_kind_of_event_is_accepted_at_least_once() {
    let mut desk = Desk::new();
    let mut accepted = vec![0_usize; KINDS.len()];
    let mut state = 1_u64;
    for _ in 0..20_000 {
        let mut draw = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let kind = usize::try_from(draw(16)).unwrap();
        let merchant = u8::try_from(draw(3)).unwrap();
        let reference = u8::try_from(draw(200)).unwrap();
        let amount = [1, 7, 100, 2_500][usize::try_from(draw(4)).unwrap()];
        if desk.take(&Step { kind, merchant, reference, amount }) {
            accepted[kind] += 1;
        }
    }
    for ((name, _), count) in KINDS.iter().zip(&accepted) {
        assert!(*count > 0, "{name} was never accepted");
    }
    check(&desk);
}
