//! Fees and VAT.

use super::{Desk, between, pkr};
use crate::ledger::views::{Clock, Fees, FeesFold, Period};

fn fees(desk: &Desk, merchant: Option<&str>, period: Period) -> Fees {
    let mut fold = FeesFold::new(&desk.accounts(), merchant, period);
    desk.transactions().iter().for_each(|transaction| fold.add(transaction).unwrap());
    fold.finish()
}

fn rows(fees: &Fees) -> Vec<String> {
    let row = |row: &crate::ledger::views::FeeRow| {
        let [credit, debit, net] = [row.credit, row.debit, row.net].map(pkr);
        format!("{} {} +{credit} -{debit} = {net}", row.code, row.event)
    };
    fees.rows.iter().map(row).collect()
}

fn totals(fees: &Fees) -> Vec<String> {
    let total = |total: &crate::ledger::views::FeeTotal| {
        let numbers = [total.opening, total.credit, total.debit, total.closing].map(pkr);
        let [opening, credit, debit, closing] = numbers;
        format!("{} {opening} +{credit} -{debit} = {closing}", total.code)
    };
    fees.totals.iter().map(total).collect()
}

#[test]
fn fees_and_vat_are_counted_by_code_and_event() {
    let fees = fees(&Desk::day(), None, Period::ALWAYS);
    assert_eq!(
        rows(&fees),
        [
            "2100 PAYIN_CAPTURE +0.40 -0.00 = 0.40",
            "2100 PAYIN_COLLECTION +0.78 -0.00 = 0.78",
            "2100 PAYOUT_SETTLE +0.20 -0.00 = 0.20",
            "2100 REVERT +0.00 -0.20 = -0.20",
            "2100 VAT_REMITTANCE +0.00 -0.50 = -0.50",
            "4000 PAYIN_CAPTURE +2.00 -0.00 = 2.00",
            "4000 PAYIN_COLLECTION +3.90 -0.00 = 3.90",
            "4000 REVERT +0.00 -1.00 = -1.00",
            "4010 PAYOUT_SETTLE +1.00 -0.00 = 1.00",
        ]
    );
    assert_eq!(
        totals(&fees),
        [
            "2100 0.00 +1.38 -0.70 = 0.68",
            "4000 0.00 +5.90 -1.00 = 4.90",
            "4010 0.00 +1.00 -0.00 = 1.00"
        ]
    );
}

#[test]
fn vat_is_shown_as_a_part_of_the_fee() {
    let mut desk = Desk::day();
    desk.post("ADJUSTMENT_DEBIT", "a1", "merchantId=m1 amount=0.03 vat=0.02");
    let fees = fees(&desk, None, Period::ALWAYS);
    let rates = fees.rates.iter().map(|rate| (rate.event.to_string(), rate.vat_basis_points));
    let rates: Vec<(String, Option<i128>)> = rates.collect();
    let expected = [
        // 2 in 3, rounded up.
        ("ADJUSTMENT_DEBIT", Some(6_667)),
        ("PAYIN_CAPTURE", Some(2_000)),
        ("PAYIN_COLLECTION", Some(2_000)),
        ("PAYOUT_SETTLE", Some(2_000)),
        ("REVERT", Some(2_000)),
        ("VAT_REMITTANCE", None),
    ];
    assert_eq!(rates, expected.map(|(event, points)| (event.to_owned(), points)));
}

#[test]
fn periods_that_meet_count_everything_once() {
    let desk = Desk::day();
    let first = fees(&desk, None, between(1, 6, Clock::Effective));
    assert_eq!(totals(&first), ["2100 0.00 +0.98 -0.00 = 0.98", "4000 0.00 +4.90 -0.00 = 4.90"]);
    let second = fees(&desk, None, between(6, 10, Clock::Effective));
    assert_eq!(
        totals(&second),
        [
            "2100 0.98 +0.40 -0.70 = 0.68",
            "4000 4.90 +1.00 -1.00 = 4.90",
            "4010 0.00 +1.00 -0.00 = 1.00"
        ]
    );
}

#[test]
fn one_merchant_is_counted_alone() {
    let desk = Desk::day();
    let fees = fees(&desk, Some("m2"), Period::ALWAYS);
    assert_eq!(
        rows(&fees),
        [
            "2100 PAYIN_COLLECTION +0.20 -0.00 = 0.20",
            "2100 REVERT +0.00 -0.20 = -0.20",
            "4000 PAYIN_COLLECTION +1.00 -0.00 = 1.00",
            "4000 REVERT +0.00 -1.00 = -1.00",
        ]
    );
    assert!(FeesFold::new(&desk.accounts(), Some("m3"), Period::ALWAYS).is_empty());
}
