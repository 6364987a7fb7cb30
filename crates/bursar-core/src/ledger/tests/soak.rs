//! Thousands of random events: the books stay double entry, and every hold is accounted for.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::{Desk, HoldState, trial_balance};
use crate::ledger::chart::{GlCode, Side};
use crate::ledger::journal::WORLD;
use crate::ledger::{Posted, REVERT, Transaction};
use crate::money::Currency;

#[derive(Debug, Clone)]
struct Step {
    kind: usize,
    merchant: u8,
    reference: u8,
    amount: u32,
}

const KINDS: [(&str, &str); 19] = [
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
    ("SUBSCRIPTION_INVOICE_COLLECTION", "gross={a} fee={f} vat={v}"),
    ("RECEIVABLE_WRITE_OFF", "amount={a}"),
    ("FX_CONVERSION", "sell={a} buy={f} margin={v}"),
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
        let currencies =
            if step.reference.is_multiple_of(2) { ("PKR", "USD") } else { ("USD", "PKR") };
        for variable in self.rulebook.rule(name).unwrap().variables() {
            let value = match variable.as_str() {
                "merchantId" => format!("m{}", step.merchant),
                "currency" | "sellCurrency" => currencies.0.to_owned(),
                "buyCurrency" => currencies.1.to_owned(),
                _ => continue,
            };
            variables = format!("{variables} {variable}={value}");
        }
        matches!(self.post(name, &format!("r{}", step.reference), &variables), Ok(Posted::New(_)))
    }
}

/// Adds a transaction to balances that are independent of the ledger's. A lowered balance stays above zero, unless the
/// mapping allows an overdraft.
fn replay(
    desk: &Desk,
    transaction: &Transaction,
    balances: &mut BTreeMap<(String, Currency), i128>,
) {
    let mut lowered = BTreeSet::new();
    for posting in &transaction.postings {
        let minor = i128::from(posting.money.minor());
        assert!(minor > 0, "a posting moves something");
        for (address, change) in [(&posting.source, -minor), (&posting.destination, minor)] {
            if &**address == WORLD {
                continue;
            }
            let key = (address.to_string(), posting.money.currency());
            *balances.entry(key.clone()).or_default() += change;
            if change < 0 {
                lowered.insert(key);
            }
        }
    }
    for key in lowered {
        let (_, account) =
            desk.ledger.accounts().find(|(address, _)| ***address == *key.0).unwrap();
        let may_overdraw = desk
            .rulebook
            .rule(&transaction.event)
            .is_ok_and(|rule| rule.may_overdraw(account.metadata.code));
        assert!(
            may_overdraw || balances[&key] >= 0,
            "{} {} {key:?}",
            transaction.event,
            transaction.reference
        );
    }
}

/// The invariants of the ledger, recomputed from the postings and the holds alone.
fn check(desk: &Desk) {
    let trial = trial_balance(&desk.ledger, None);
    assert!(trial.is_balanced);

    let mut recomputed: BTreeMap<(String, Currency), i128> = BTreeMap::new();
    for transaction in desk.ledger.transactions() {
        replay(desk, transaction, &mut recomputed);
    }
    let mut by_code: BTreeMap<(GlCode, Currency), i128> = BTreeMap::new();
    for (address, account) in desk.ledger.accounts() {
        let key = (address.to_string(), account.balance.currency());
        assert_eq!(recomputed.remove(&key), Some(i128::from(account.balance.minor())), "{address}");
        let code = (account.metadata.code, account.balance.currency());
        *by_code.entry(code).or_default() += i128::from(account.balance.minor());
    }
    assert!(recomputed.is_empty(), "no posting without an account");
    for row in &trial.rows {
        assert_eq!(by_code.get(&(row.code, row.currency)), Some(&row.balance), "{}", row.code);
    }

    let mut held: BTreeMap<(GlCode, Currency), i128> = BTreeMap::new();
    for (key, hold) in desk.ledger.holds() {
        if hold.state == HoldState::Open {
            *held.entry((key.code, hold.money.currency())).or_default() +=
                i128::from(hold.money.minor());
        }
    }
    for ((code, currency), balance) in by_code {
        let gl = desk.rulebook.chart().get(code).unwrap();
        if gl.view == "hold" {
            assert_eq!(gl.side(), Side::Credit);
            assert_eq!(
                held.get(&(code, currency)).copied().unwrap_or(0),
                balance,
                "holds on {code}"
            );
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

/// Guards the property above: random steps that are all rejected would prove nothing.
#[test]
fn every_kind_of_event_is_accepted_at_least_once() {
    let mut desk = Desk::new();
    let events: BTreeSet<_> = desk.rulebook.rules().map(|rule| rule.event().to_string()).collect();
    let kinds: BTreeSet<_> = KINDS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(kinds.difference(&events).collect::<Vec<_>>(), [REVERT]);
    assert!(events.is_subset(&kinds), "every event of the rulebook takes part");
    let mut accepted = vec![0_usize; KINDS.len()];
    let mut state = 1_u64;
    for _ in 0..20_000 {
        let mut draw = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let kind = usize::try_from(draw(19)).unwrap();
        let merchant = u8::try_from(draw(3)).unwrap();
        let reference = u8::try_from(draw(250)).unwrap();
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
