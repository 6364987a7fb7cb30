//! Assets and liabilities at past moments.

use super::{Desk, at, pkr};
use crate::ledger::views::{Alm, AsOf, Balance, BalanceFold, Clock, alm};

fn alm_as_of(desk: &Desk, second: u64, clock: Clock) -> Alm {
    let as_of = AsOf { time: at(second), clock };
    let mut fold = BalanceFold::new(desk.ledger.accounts(), as_of);
    desk.transactions().iter().for_each(|transaction| fold.add(transaction).unwrap());
    alm(fold.balances(), ">T30")
}

fn lines(alm: &Alm) -> Vec<String> {
    let row = |row: &crate::ledger::views::AlmRow| {
        let [assets, liabilities, gap] = [row.assets, row.liabilities, row.gap].map(pkr);
        format!("{} {assets} {liabilities} {gap}", row.bucket)
    };
    alm.rows.iter().map(row).collect()
}

#[test]
fn the_past_is_folded_from_the_postings() {
    let mut desk = Desk::day();
    desk.post_at(
        Some(1),
        "PAYIN_COLLECTION",
        "late",
        "merchantId=m1 bankId=b1 gross=10 fee=0 vat=0",
    );
    // After the capture, before the provider settled.
    assert_eq!(
        lines(&alm_as_of(&desk, 2, Clock::Inserted)),
        ["T0 100.00 96.52 3.48", "T1-T3 50.00 47.60 2.40", "T30 0.00 0.98 -0.98"]
    );
    assert_eq!(
        lines(&alm_as_of(&desk, 2, Clock::Effective)),
        ["T0 110.00 106.52 3.48", "T1-T3 50.00 47.60 2.40", "T30 0.00 0.98 -0.98"]
    );
    assert_eq!(lines(&alm_as_of(&desk, 0, Clock::Effective)), [""; 0]);
}

#[test]
fn as_of_the_end_is_what_the_accounts_say() {
    let mut desk = Desk::day();
    desk.post("CHARGEBACK_HOLD", "d1", "merchantId=m1 amount=90");
    let accounts = desk.ledger.accounts();
    let now = alm(accounts.map(|(_, account)| Balance::of(account)), ">T30");
    assert_eq!(now.summaries.len(), 1);
    // 82.92 - 90.00 is owed by the merchant.
    assert_eq!(pkr(now.summaries[0].merchant_receivable), "7.08");
    assert_eq!(alm_as_of(&desk, desk.second, Clock::Inserted), now);
}
