//! Balances and holds when events are posted, rejected, repeated and reverted.

mod revert;
mod soak;

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{Admission, HoldState, Ledger, LedgerEvent, Posted};
use crate::ids::{Seed, TransactionId};
use crate::ledger::rulebook::Rulebook;
use crate::ledger::views::{AsOf, Clock, TrialBalance, TrialBalanceFold};
use crate::money::{Currency, Money};
use crate::rejection::Rejection;

/// A ledger with its rulebook and a clock that moves one second with every event.
struct Desk {
    rulebook: Rulebook,
    ledger: Ledger,
    ticks: u64,
    admitted: u64,
}

impl Desk {
    fn new() -> Self {
        Self {
            rulebook: Rulebook::bundled().unwrap(),
            ledger: Ledger::default(),
            ticks: 0,
            admitted: 0,
        }
    }

    fn admission(&mut self) -> Admission {
        self.ticks += 1;
        self.admitted += 1;
        Admission { now: at(self.ticks), seed: Seed::from(self.admitted) }
    }

    /// `variables` is a list such as `merchantId=m1 amount=1.00`; market and bank are filled in where needed.
    fn post(&mut self, name: &str, reference: &str, variables: &str) -> Result<Posted, Rejection> {
        let mut all: BTreeMap<String, String> = variables
            .split_whitespace()
            .map(|pair| pair.split_once('=').unwrap())
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        if let Ok(rule) = self.rulebook.rule(name) {
            for (variable, value) in [("merchantId", "m1"), ("bankId", "b1"), ("currency", "PKR")] {
                if rule.variables().iter().any(|known| known == variable) {
                    all.entry(variable.to_owned()).or_insert_with(|| value.to_owned());
                }
            }
        }
        let event = LedgerEvent {
            name: name.to_owned(),
            reference: reference.to_owned(),
            variables: all,
            effective_at: None,
        };
        let admission = self.admission();
        self.ledger.post(&self.rulebook, &event, &admission)
    }

    fn must(&mut self, name: &str, reference: &str, variables: &str) -> TransactionId {
        match self.post(name, reference, variables).unwrap() {
            Posted::New(id) => id,
            Posted::Replayed(id) => panic!("{name} {reference} was only a replay of {id}"),
        }
    }

    /// A merchant with 1000.00 from one pay-in without fees.
    fn funded() -> Self {
        let mut desk = Self::new();
        desk.must("PAYIN_COLLECTION", "seed", "gross=1000.00 fee=0 vat=0");
        desk
    }

    fn balances(&self) -> String {
        let lines = self
            .ledger
            .accounts()
            .map(|(address, account)| format!("{address} {}", account.balance));
        lines.collect::<Vec<_>>().join("\n")
    }

    fn balance(&self, address: &str) -> String {
        self.ledger.balance(address, pkr()).to_string()
    }

    /// The message of a rejection that must change nothing.
    fn refuse(&mut self, name: &str, reference: &str, variables: &str) -> String {
        let before = self.ledger.clone();
        let rejection = self.post(name, reference, variables).unwrap_err();
        assert_eq!(self.ledger, before, "a refusal changes nothing");
        format!("{}: {rejection}", rejection.code())
    }
}

fn trial_balance(ledger: &Ledger, as_of: Option<AsOf>) -> TrialBalance {
    let mut fold = TrialBalanceFold::new(ledger.accounts(), as_of);
    for transaction in ledger.transactions() {
        fold.add(transaction).unwrap();
    }
    let trial = fold.finish();
    if as_of.is_none() {
        let of_accounts = TrialBalance::of_accounts(ledger.accounts().map(|(_, account)| account));
        assert_eq!(
            of_accounts.as_ref(),
            Some(&trial),
            "turnovers of accounts are those of the postings"
        );
    }
    trial
}

fn at(second: u64) -> Timestamp {
    Timestamp::from_second(1_794_700_800 + i64::try_from(second).unwrap()).unwrap()
}

fn pkr() -> Currency {
    "PKR".parse().unwrap()
}

#[test]
fn a_pay_in_shows_the_gross_at_the_bank_and_the_net_at_the_merchant() {
    let mut desk = Desk::new();
    let id = desk.must("PAYIN_COLLECTION", "r-1", "gross=100.00 fee=2.90 vat=0.58");
    assert_eq!(
        desk.balances(),
        "assets:bank:b1:PKR 100.00\n\
         liabilities:vat:PKR 0.58\n\
         merchants:m1:available:PKR 96.52\n\
         revenue:payin:PKR 2.90"
    );
    let transaction = desk.ledger.transaction(id).unwrap();
    assert_eq!(transaction.postings.len(), 4);
    assert_eq!(transaction.rulebook_hash, desk.rulebook.hash());
}

#[test]
fn every_account_carries_what_the_chart_says() {
    let mut desk = Desk::new();
    desk.must("PAYIN_COLLECTION", "r-1", "gross=1 fee=0 vat=0");
    let (_, bank) = desk.ledger.accounts().next().unwrap();
    let metadata = &bank.metadata;
    assert_eq!(
        (
            metadata.code.to_string(),
            metadata.class.name(),
            metadata.liquidity.as_str(),
            metadata.view.as_str()
        ),
        ("1000".to_owned(), "asset", "T0", "cash")
    );
}

#[test]
fn a_payout_is_held_and_then_settled() {
    let mut desk = Desk::funded();
    desk.must("PAYOUT_RESERVE", "p1", "amount=100 fee=5 vat=1");
    assert_eq!(desk.balance("merchants:m1:available:PKR"), "894.00");
    assert_eq!(desk.balance("holds:payout:m1:PKR"), "106.00");
    desk.must("PAYOUT_SETTLE", "p1", "amount=100 fee=5 vat=1");
    assert_eq!(
        desk.balances(),
        "assets:bank:b1:PKR 900.00\n\
         holds:payout:m1:PKR 0.00\n\
         liabilities:vat:PKR 1.00\n\
         merchants:m1:available:PKR 894.00\n\
         revenue:payout:PKR 5.00"
    );
}

#[test]
fn a_released_payout_leaves_no_trace_in_the_balances() {
    let mut desk = Desk::funded();
    desk.must("PAYOUT_RESERVE", "p1", "amount=100 fee=5 vat=1");
    desk.must("PAYOUT_RELEASE", "p1", "amount=100 fee=5 vat=1");
    assert_eq!(desk.balance("merchants:m1:available:PKR"), "1000.00");
    assert_eq!(desk.balance("holds:payout:m1:PKR"), "0.00");
}

#[test]
fn a_hold_ends_once_whole_and_for_its_owner() {
    let mut desk = Desk::funded();
    desk.must("PAYIN_COLLECTION", "seed2", "merchantId=m2 gross=500 fee=0 vat=0");
    desk.must("PAYOUT_RESERVE", "p1", "amount=100 fee=0 vat=0");
    desk.must("PAYOUT_RESERVE", "p2", "amount=100 fee=0 vat=0");
    desk.must("PAYOUT_RESERVE", "p3", "merchantId=m2 amount=100 fee=0 vat=0");
    desk.must("PAYOUT_SETTLE", "p2", "amount=100 fee=0 vat=0");
    let answers = [
        // The account has enough for each of these; only the hold shows the error.
        desk.refuse("PAYOUT_SETTLE", "p9", "amount=100 fee=0 vat=0"),
        desk.refuse("PAYOUT_RELEASE", "p2", "amount=100 fee=0 vat=0"),
        desk.refuse("PAYOUT_SETTLE", "p1", "amount=99 fee=0 vat=0"),
        desk.refuse("PAYOUT_RELEASE", "p3", "amount=100 fee=0 vat=0"),
        desk.refuse("CHARGEBACK_WON", "p1", "amount=100"),
    ];
    let answers = answers.join("\n");
    let id = desk.ledger.holds().find_map(|(_, hold)| match hold.state {
        HoldState::Ended { by } => Some(by.to_string()),
        HoldState::Open => None,
    });
    insta::assert_snapshot!(answers.replace(&id.unwrap(), "[id]"));
}

#[test]
fn money_that_is_not_there_is_not_moved() {
    let mut desk = Desk::funded();
    let answers = [
        desk.refuse("PAYOUT_RESERVE", "p1", "amount=1000 fee=0.01 vat=0"),
        desk.refuse("REFUND", "f1", "amount=1000.01"),
        desk.refuse("REFUND", "f2", "bankId=other amount=1"),
        desk.refuse("PAYIN_COLLECTION", "r2", "gross=1 fee=1 vat=0.01"),
        desk.refuse("FUNDS_AVAILABLE", "a1", "amount=0"),
        desk.refuse("REFUND", "f3", "amount=92233720368547758.07"),
    ];
    insta::assert_snapshot!(answers.join("\n"));
}

#[test]
fn a_balance_never_wraps_around() {
    let mut desk = Desk::new();
    desk.must("ADJUSTMENT_CREDIT", "c1", "amount=92233720368547758.07");
    insta::assert_snapshot!(desk.refuse("ADJUSTMENT_CREDIT", "c2", "amount=0.01"));
    let mut desk = Desk::new();
    desk.must("ADJUSTMENT_CREDIT", "c1", "amount=50000000000000000");
    let answer = desk.refuse("PAYOUT_RESERVE", "p1", "amount=92233720368547758.07 fee=0.01 vat=0");
    assert!(answer.starts_with("balance_too_large"), "{answer}");
}

#[test]
fn the_same_event_is_answered_and_not_posted_again() {
    let mut desk = Desk::new();
    let id = desk.must("PAYIN_COLLECTION", "r-1", "gross=100.00 fee=2.90 vat=0.58");
    let before = desk.ledger.clone();
    assert_eq!(
        desk.post("PAYIN_COLLECTION", "r-1", "gross=100 fee=2.9 vat=0.58"),
        Ok(Posted::Replayed(id))
    );
    assert_eq!(desk.ledger, before);
    insta::assert_snapshot!(desk.refuse("PAYIN_COLLECTION", "r-1", "gross=101 fee=2.9 vat=0.58"));
    // The reference is unique per event name, not over all events.
    desk.must("PAYIN_CAPTURE", "r-1", "providerId=p1 gross=100 fee=0 vat=0");
}

#[test]
fn a_lost_chargeback_may_leave_a_debt_that_is_written_off() {
    let mut desk = Desk::new();
    desk.must("PAYIN_COLLECTION", "r1", "gross=100 fee=0 vat=0");
    desk.must("PAYIN_COLLECTION", "r2", "merchantId=m2 gross=500 fee=0 vat=0");
    desk.must("REFUND", "f1", "amount=80");
    desk.must("CHARGEBACK_HOLD", "d1", "amount=100");
    desk.must("CHARGEBACK_LOST", "d1", "amount=100 fee=15 vat=2.70");
    assert_eq!(desk.balance("merchants:m1:available:PKR"), "-97.70");
    assert!(
        desk.refuse("PAYOUT_RESERVE", "p1", "amount=1 fee=0 vat=0").contains("can give 0.00 PKR")
    );
    desk.must("RECEIVABLE_WRITE_OFF", "w1", "amount=97.70");
    assert_eq!(desk.balance("merchants:m1:available:PKR"), "0.00");
    assert_eq!(desk.balance("expenses:writeoff:PKR"), "97.70");
}

#[test]
fn a_conversion_keeps_both_currencies_balanced() {
    let mut desk = Desk::funded();
    desk.must(
        "FX_CONVERSION",
        "x1",
        "sellCurrency=PKR buyCurrency=USD sell=280.00 buy=0.98 margin=0.02",
    );
    let usd: Currency = "USD".parse().unwrap();
    assert_eq!(desk.balance("merchants:m1:available:PKR"), "720.00");
    assert_eq!(desk.ledger.balance("merchants:m1:available:USD", usd), Money::from_minor(98, usd));
    assert_eq!(desk.ledger.balance("liabilities:fx:USD", usd), Money::from_minor(-100, usd));
    let trial = trial_balance(&desk.ledger, None);
    assert!(trial.is_balanced);
    assert_eq!(trial.totals.len(), 2);
}

#[test]
fn the_books_can_be_read_as_of_either_time() {
    let mut desk = Desk::new();
    let mut payin = |reference: &str, effective_at: Option<Timestamp>| {
        let variables = [
            ("merchantId", "m1"),
            ("bankId", "b1"),
            ("currency", "PKR"),
            ("gross", "1"),
            ("fee", "0"),
            ("vat", "0"),
        ];
        let event = LedgerEvent {
            name: "PAYIN_COLLECTION".to_owned(),
            reference: reference.to_owned(),
            variables: variables
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
            effective_at,
        };
        let admission = desk.admission();
        desk.ledger.post(&desk.rulebook, &event, &admission).unwrap();
    };
    payin("a", None);
    payin("b", Some(at(0)));
    payin("c", None);
    let bank = |time, clock| {
        let trial = trial_balance(&desk.ledger, Some(AsOf { time, clock }));
        trial.rows.first().map_or(0, |row| row.balance)
    };
    assert_eq!(bank(at(0), Clock::Effective), 100);
    assert_eq!(bank(at(0), Clock::Inserted), 0);
    assert_eq!(bank(at(1), Clock::Effective), 200);
    assert_eq!(bank(at(1), Clock::Inserted), 100);
    assert_eq!(bank(at(3), Clock::Inserted), 300);
}

#[test]
fn insertion_time_never_goes_back() {
    let mut desk = Desk::new();
    desk.must("ADJUSTMENT_CREDIT", "c1", "amount=1");
    desk.ticks = 0;
    desk.must("ADJUSTMENT_CREDIT", "c2", "amount=1");
    desk.ticks = 9;
    desk.must("ADJUSTMENT_CREDIT", "c3", "amount=1");
    let times: Vec<_> =
        desk.ledger.transactions().iter().map(|transaction| transaction.inserted_at).collect();
    assert_eq!(times, [at(1), at(1), at(10)]);
}

#[test]
fn every_time_that_is_kept_can_be_read_back() {
    for time in [Timestamp::MIN, Timestamp::UNIX_EPOCH, at(1), Timestamp::MAX] {
        let kept = super::to_microseconds(time);
        assert_eq!(Timestamp::from_microsecond(kept.as_microsecond()).unwrap(), kept, "{time}");
    }
}
