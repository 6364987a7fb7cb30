//! Each report on a day that was calculated manually.

mod cash;
mod fees;
mod past;
mod statement;

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{Clock, Period};
use crate::ids::{Seed, TransactionId};
use crate::ledger::rulebook::Rulebook;
use crate::ledger::{Account, Admission, Ledger, LedgerEvent, Posted, Transaction};
use crate::money::{Currency, decimal};
use crate::numscript::Name;

/// Books that grow by one event a second.
struct Desk {
    rulebook: Rulebook,
    ledger: Ledger,
    second: u64,
}

impl Desk {
    fn new() -> Self {
        Self { rulebook: Rulebook::bundled().unwrap(), ledger: Ledger::default(), second: 0 }
    }

    /// `variables` is a list such as `merchantId=m1 amount=1.00`; the currency is filled in where needed.
    fn post(&mut self, name: &str, reference: &str, variables: &str) -> TransactionId {
        self.post_at(None, name, reference, variables)
    }

    fn post_at(
        &mut self,
        effective_second: Option<u64>,
        name: &str,
        reference: &str,
        variables: &str,
    ) -> TransactionId {
        self.second += 1;
        let mut all: BTreeMap<String, String> = variables
            .split_whitespace()
            .map(|pair| pair.split_once('=').unwrap())
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        if name != "REVERT" && !all.contains_key("sellCurrency") {
            all.insert("currency".to_owned(), "PKR".to_owned());
        }
        let event = LedgerEvent {
            name: name.to_owned(),
            reference: reference.to_owned(),
            variables: all,
            effective_at: effective_second.map(at),
        };
        let admission = Admission { now: at(self.second), seed: Seed::from(self.second) };
        match self.ledger.post(&self.rulebook, &event, &admission).unwrap() {
            Posted::New(id) => id,
            Posted::Replayed(id) => panic!("{name} {reference} was only a replay of {id}"),
        }
    }

    /// Pay-ins by bank and by card, a payout, a tax payment, and a reverted pay-in of another merchant.
    fn day() -> Self {
        let mut desk = Self::new();
        desk.post("PAYIN_COLLECTION", "r1", "merchantId=m1 bankId=b1 gross=100 fee=2.90 vat=0.58");
        desk.post("PAYIN_CAPTURE", "r2", "merchantId=m1 providerId=card gross=50 fee=2 vat=0.40");
        desk.post("PROVIDER_SETTLEMENT", "s1", "providerId=card bankId=b1 gross=50 cost=1");
        desk.post("FUNDS_AVAILABLE", "f1", "merchantId=m1 amount=47.60");
        desk.post("PAYOUT_RESERVE", "p1", "merchantId=m1 amount=60 fee=1 vat=0.20");
        desk.post("PAYOUT_SETTLE", "p1", "merchantId=m1 bankId=b1 amount=60 fee=1 vat=0.20");
        let mistake =
            desk.post("PAYIN_COLLECTION", "r3", "merchantId=m2 bankId=b2 gross=30 fee=1 vat=0.20");
        desk.post("VAT_REMITTANCE", "v1", "bankId=b1 amount=0.50");
        desk.post("REVERT", &mistake.to_string(), "");
        desk
    }

    fn accounts(&self) -> Vec<(Name, Account)> {
        let accounts = self.ledger.accounts();
        accounts.map(|(address, account)| (Name::clone(address), account.clone())).collect()
    }

    fn transactions(&self) -> &[Transaction] {
        self.ledger.transactions()
    }
}

fn at(second: u64) -> Timestamp {
    Timestamp::from_second(1_794_700_800 + i64::try_from(second).unwrap()).unwrap()
}

fn between(from: u64, to: u64, clock: Clock) -> Period {
    Period { from: Some(at(from)), to: Some(at(to)), clock }
}

fn pkr(minor: impl Into<i128>) -> String {
    decimal(minor.into(), "PKR".parse::<Currency>().unwrap())
}
