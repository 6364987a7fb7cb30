//! Cash movements.

use super::{Desk, between, pkr};
use crate::ledger::views::{CashFold, CashTotal, Clock, Period};

fn fold(desk: &Desk, bank: Option<&str>, period: Period) -> (Vec<String>, Vec<CashTotal>) {
    let mut fold = CashFold::new(desk.ledger.accounts(), bank, period);
    desk.transactions().iter().for_each(|transaction| fold.open(transaction));
    let mut lines = Vec::new();
    for transaction in desk.transactions() {
        for row in fold.add(transaction) {
            assert_eq!(row.transaction, transaction.id);
            let [into, out, balance] = [row.into.into(), row.out.into(), row.balance].map(pkr);
            lines.push(format!("{} {} +{into} -{out} {balance}", row.account, row.event));
        }
    }
    (lines, fold.finish())
}

fn total(total: &CashTotal) -> String {
    let CashTotal { account, opening, into, out, closing, .. } = total;
    let [opening, into, out, closing] = [*opening, *into, *out, *closing].map(pkr);
    format!("{account} {opening} +{into} -{out} {closing}")
}

#[test]
fn every_movement_at_a_bank_is_listed_with_the_balance_after_it() {
    let (lines, totals) = fold(&Desk::day(), None, Period::ALWAYS);
    assert_eq!(
        lines.join("\n"),
        "assets:bank:b1:PKR PAYIN_COLLECTION +100.00 -0.00 100.00\n\
         assets:bank:b1:PKR PROVIDER_SETTLEMENT +49.00 -0.00 149.00\n\
         assets:bank:b1:PKR PAYOUT_SETTLE +0.00 -60.00 89.00\n\
         assets:bank:b2:PKR PAYIN_COLLECTION +30.00 -0.00 30.00\n\
         assets:bank:b1:PKR VAT_REMITTANCE +0.00 -0.50 88.50\n\
         assets:bank:b2:PKR REVERT +0.00 -30.00 0.00"
    );
    assert_eq!(
        totals.iter().map(total).collect::<Vec<_>>(),
        [
            "assets:bank:b1:PKR 0.00 +149.00 -60.50 88.50",
            "assets:bank:b2:PKR 0.00 +30.00 -30.00 0.00"
        ]
    );
}

#[test]
fn one_bank_in_a_period_opens_with_what_was_there() {
    let (lines, totals) = fold(&Desk::day(), Some("b1"), between(3, 8, Clock::Inserted));
    assert_eq!(
        lines.join("\n"),
        "assets:bank:b1:PKR PROVIDER_SETTLEMENT +49.00 -0.00 149.00\n\
         assets:bank:b1:PKR PAYOUT_SETTLE +0.00 -60.00 89.00"
    );
    assert_eq!(
        totals.iter().map(total).collect::<Vec<_>>(),
        ["assets:bank:b1:PKR 100.00 +49.00 -60.00 89.00"]
    );
    assert!(CashFold::new(Desk::day().ledger.accounts(), Some("b3"), Period::ALWAYS).is_empty());
}
