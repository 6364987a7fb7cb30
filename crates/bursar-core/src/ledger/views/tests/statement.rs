//! A merchant's statement.

use super::{Desk, between, pkr};
use crate::ledger::views::{Clock, Period, StatementFold, StatementRow};

fn rows(desk: &Desk, merchant: &str, period: Period) -> (Vec<String>, StatementFold) {
    let mut fold = StatementFold::new(&desk.accounts(), merchant, period);
    desk.transactions().iter().for_each(|transaction| fold.open(transaction));
    let opening = fold.balances().into_iter().filter(|_| period.from.is_some());
    let mut lines: Vec<String> =
        opening.map(|line| format!("{} opens at {}", line.account, pkr(line.balance))).collect();
    for transaction in desk.transactions() {
        lines.extend(fold.add(transaction).iter().map(line));
    }
    (lines, fold)
}

fn line(row: &StatementRow) -> String {
    let breakdown = row.breakdown.map_or(String::new(), |parts| {
        let [gross, fee, vat, net] = [parts.gross, parts.fee, parts.vat, parts.net].map(pkr);
        format!(" = {gross} - {fee} - {vat} = {net}")
    });
    let moved = pkr(row.credit - row.debit);
    format!("{} {} {moved} -> {}{breakdown}", row.event, row.account, pkr(row.balance))
}

#[test]
fn a_pay_in_shows_what_became_of_it() {
    let (lines, _) = rows(&Desk::day(), "m1", Period::ALWAYS);
    assert_eq!(
        lines.join("\n"),
        "PAYIN_COLLECTION Merchant available 96.52 -> 96.52 = 100.00 - 2.90 - 0.58 = 96.52\n\
         PAYIN_CAPTURE Merchant pending 47.60 -> 47.60 = 50.00 - 2.00 - 0.40 = 47.60\n\
         FUNDS_AVAILABLE Merchant pending -47.60 -> 0.00\n\
         FUNDS_AVAILABLE Merchant available 47.60 -> 144.12\n\
         PAYOUT_RESERVE Merchant available -61.20 -> 82.92\n\
         PAYOUT_RESERVE Payout holds 61.20 -> 61.20\n\
         PAYOUT_SETTLE Payout holds -60.00 -> 1.20\n\
         PAYOUT_SETTLE Payout holds -1.00 -> 0.20\n\
         PAYOUT_SETTLE Payout holds -0.20 -> 0.00"
    );
}

#[test]
fn a_pay_in_that_is_taken_back_is_shown_as_it_was_booked() {
    let (lines, _) = rows(&Desk::day(), "m2", Period::ALWAYS);
    assert_eq!(
        lines.join("\n"),
        "PAYIN_COLLECTION Merchant available 28.80 -> 28.80 = 30.00 - 1.00 - 0.20 = 28.80\n\
         REVERT Merchant available -28.80 -> 0.00 = -30.00 - -1.00 - -0.20 = -28.80"
    );
}

#[test]
fn the_closing_balances_are_those_of_the_accounts() {
    let mut desk = Desk::day();
    desk.post("CHARGEBACK_HOLD", "d1", "merchantId=m1 amount=85");
    desk.post("CHARGEBACK_LOST", "d1", "merchantId=m1 bankId=b1 amount=85 fee=5 vat=1");
    desk.post("PAYIN_COLLECTION", "r9", "merchantId=m1 bankId=b1 gross=7 fee=0 vat=0");
    let (_, fold) = rows(&desk, "m1", Period::ALWAYS);
    let closing: Vec<String> = fold.balances().iter().map(|line| pkr(line.balance)).collect();
    let theirs = ["holds:dispute:m1:PKR", "holds:payout:m1:PKR", "merchants:m1:available:PKR"];
    let accounts: Vec<String> = theirs
        .into_iter()
        .chain(["merchants:m1:pending:PKR"])
        .map(|address| desk.ledger.balance(address, "PKR".parse().unwrap()).to_string())
        .collect();
    assert_eq!(closing, accounts);
    // 82.92 - 85.00 - 5.00 - 1.00 + 7.00
    assert_eq!(closing, ["0.00", "0.00", "-1.08", "0.00"]);
}

#[test]
fn a_period_opens_with_earlier_money_even_if_it_was_posted_later() {
    let mut desk = Desk::day();
    // Posted last, but it happened first.
    let late = "merchantId=m1 bankId=b1 gross=10 fee=0 vat=0";
    desk.post_at(Some(1), "PAYIN_COLLECTION", "late", late);
    let (by_effect, _) = rows(&desk, "m1", between(4, 6, Clock::Effective));
    assert_eq!(
        by_effect.join("\n"),
        "Payout holds opens at 0.00\n\
         Merchant available opens at 106.52\n\
         Merchant pending opens at 47.60\n\
         FUNDS_AVAILABLE Merchant pending -47.60 -> 0.00\n\
         FUNDS_AVAILABLE Merchant available 47.60 -> 154.12\n\
         PAYOUT_RESERVE Merchant available -61.20 -> 92.92\n\
         PAYOUT_RESERVE Payout holds 61.20 -> 61.20"
    );
    let (by_insertion, _) = rows(&desk, "m1", between(4, 6, Clock::Inserted));
    assert_eq!(by_insertion[1], "Merchant available opens at 96.52");
}

#[test]
fn an_unknown_merchant_has_no_statement() {
    let desk = Desk::day();
    for stranger in ["m3", "", "m1:available:PKR", "world"] {
        assert!(StatementFold::new(&desk.accounts(), stranger, Period::ALWAYS).is_empty());
    }
}
