//! The day: what customers, merchants, providers and the tax office do, hour by hour.

use std::collections::BTreeMap;

use bursar_core::ids::Seed;
use bursar_core::ledger::{Admission, Event, Ledger, Posted};
use bursar_core::money::{Money, MoneyError};
use bursar_core::rejection::Rejection;
use bursar_core::rulebook::Rulebook;
use indicatif::ProgressBar;
use jiff::{SignedDuration, Timestamp};

use super::audit::World;
use super::dice::Dice;
use crate::config::Market;
use crate::failure::Failure;

const MERCHANTS_PER_MARKET: u64 = 4;

pub(super) struct Day<'r> {
    rulebook: &'r Rulebook,
    markets: Vec<Market>,
    bank_id: String,
    dice: Dice,
    now: Timestamp,
    sequence: u64,
    pub(super) ledger: Ledger,
    /// What really happened at the bank, kept apart from the ledger.
    pub(super) world: World,
    pub(super) tally: Tally,
}

/// How each event was answered.
#[derive(Debug, Default)]
pub(super) struct Tally(BTreeMap<String, Count>);

#[derive(Debug, Default)]
pub(super) struct Count {
    pub(super) posted: u64,
    pub(super) replayed: u64,
    pub(super) refused: u64,
}

impl Tally {
    pub(super) fn rows(&self) -> impl Iterator<Item = (&str, &Count)> {
        self.0.iter().map(|(event, count)| (event.as_str(), count))
    }
}

impl<'r> Day<'r> {
    pub(super) fn new(
        rulebook: &'r Rulebook,
        markets: Vec<Market>,
        bank_id: &str,
        seed: u64,
    ) -> Self {
        Self {
            rulebook,
            markets,
            bank_id: bank_id.to_owned(),
            dice: Dice::new(seed),
            now: Timestamp::UNIX_EPOCH
                .saturating_add(SignedDuration::from_hours(24 * 20_772))
                .unwrap_or_default(),
            sequence: 0,
            ledger: Ledger::default(),
            world: World::default(),
            tally: Tally::default(),
        }
    }

    pub(super) fn run(&mut self, payouts: u64, progress: &ProgressBar) -> Result<(), Failure> {
        for market in self.markets.clone() {
            for merchant in 0..MERCHANTS_PER_MARKET {
                self.morning(&market, merchant)?;
            }
        }
        for number in 0..payouts {
            let index = usize::try_from(number).unwrap_or_default();
            let Some(market) =
                index.checked_rem(self.markets.len()).and_then(|at| self.markets.get(at)).cloned()
            else {
                return Err(Failure::new("the configuration has no markets: add one under [fees]"));
            };
            let merchant = self.dice.below(MERCHANTS_PER_MARKET);
            self.payin(&market, merchant)?;
            self.payout(&market, merchant, number)?;
            progress.inc(1);
        }
        for market in self.markets.clone() {
            self.evening(&market)?;
        }
        Ok(())
    }

    /// Card payments that the provider settles, so that every merchant starts with money.
    fn morning(&mut self, market: &Market, merchant: u64) -> Result<(), Failure> {
        let gross = self.amount(market, 200_000);
        let quote = market.payin.quote(gross).map_err(|error| money(&error))?;
        let cost = gross.basis_points(90).map_err(|error| money(&error))?;
        let net = gross
            .checked_sub(quote.fee)
            .and_then(|rest| rest.checked_sub(quote.vat))
            .map_err(|error| money(&error))?;
        let arrived = gross.checked_sub(cost).map_err(|error| money(&error))?;
        let reference = self.reference("capture");
        let parts = [("gross", gross), ("fee", quote.fee), ("vat", quote.vat)];
        self.post(market, Some(merchant), "PAYIN_CAPTURE", &reference, &parts)?;
        self.post(
            market,
            None,
            "PROVIDER_SETTLEMENT",
            &reference,
            &[("gross", gross), ("cost", cost)],
        )?;
        self.world.received(&self.bank_id, arrived);
        self.post(market, Some(merchant), "FUNDS_AVAILABLE", &reference, &[("amount", net)])?;
        Ok(())
    }

    fn payin(&mut self, market: &Market, merchant: u64) -> Result<(), Failure> {
        let gross = self.amount(market, 50_000);
        let quote = market.payin.quote(gross).map_err(|error| money(&error))?;
        let reference = self.reference("payin");
        let parts = [("gross", gross), ("fee", quote.fee), ("vat", quote.vat)];
        let event = if self.dice.one_in(20) {
            "SUBSCRIPTION_INVOICE_COLLECTION"
        } else {
            "PAYIN_COLLECTION"
        };
        if self.post(market, Some(merchant), event, &reference, &parts)? {
            self.world.received(&self.bank_id, gross);
        }
        if self.dice.one_in(10) {
            // The provider tells us twice.
            self.post(market, Some(merchant), event, &reference, &parts)?;
        }
        Ok(())
    }

    /// Reserved, then settled or released, exactly once; a few come back days later.
    fn payout(&mut self, market: &Market, merchant: u64, number: u64) -> Result<(), Failure> {
        let amount = self.amount(market, 40_000);
        let quote = market.payout.quote(amount).map_err(|error| money(&error))?;
        let parts = [("amount", amount), ("fee", quote.fee), ("vat", quote.vat)];
        let reference = self.reference("payout");
        if !self.post(market, Some(merchant), "PAYOUT_RESERVE", &reference, &parts)? {
            return Ok(());
        }
        match self.dice.below(100) {
            0..90 => {
                self.post(market, Some(merchant), "PAYOUT_SETTLE", &reference, &parts)?;
                self.world.paid(&self.bank_id, amount);
                // Somebody tries to give the money back as well: the hold has ended.
                self.post(market, Some(merchant), "PAYOUT_RELEASE", &reference, &parts)?;
            }
            90..98 => {
                self.post(market, Some(merchant), "PAYOUT_RELEASE", &reference, &parts)?;
            }
            // The channel has not answered yet: the money stays on hold.
            _ => return Ok(()),
        }
        let rest = number.checked_rem(100).unwrap_or_default();
        match rest {
            0 => self.returned(market, merchant, amount),
            1 => self.refund(market, merchant),
            2 => self.dispute(market, merchant),
            _ => Ok(()),
        }
    }

    fn returned(&mut self, market: &Market, merchant: u64, amount: Money) -> Result<(), Failure> {
        let reference = self.reference("return");
        if self.post(market, Some(merchant), "PAYOUT_RETURN", &reference, &[("amount", amount)])? {
            self.world.received(&self.bank_id, amount);
        }
        Ok(())
    }

    fn refund(&mut self, market: &Market, merchant: u64) -> Result<(), Failure> {
        let amount = self.amount(market, 10_000);
        let reference = self.reference("refund");
        if self.post(market, Some(merchant), "REFUND", &reference, &[("amount", amount)])? {
            self.world.paid(&self.bank_id, amount);
        }
        Ok(())
    }

    fn dispute(&mut self, market: &Market, merchant: u64) -> Result<(), Failure> {
        let amount = self.amount(market, 20_000);
        let reference = self.reference("dispute");
        if !self.post(
            market,
            Some(merchant),
            "CHARGEBACK_HOLD",
            &reference,
            &[("amount", amount)],
        )? {
            return Ok(());
        }
        if self.dice.one_in(2) {
            self.post(market, Some(merchant), "CHARGEBACK_WON", &reference, &[("amount", amount)])?;
            return Ok(());
        }
        let quote = market.payout.quote(amount).map_err(|error| money(&error))?;
        let parts = [("amount", amount), ("fee", quote.fee), ("vat", quote.vat)];
        if self.post(market, Some(merchant), "CHARGEBACK_LOST", &reference, &parts)? {
            self.world.paid(&self.bank_id, amount);
        }
        Ok(())
    }

    /// The tax office gets what was collected for it, and one merchant gets goodwill.
    fn evening(&mut self, market: &Market) -> Result<(), Failure> {
        let address = format!("liabilities:vat:{}", market.currency);
        let owed = self.ledger.balance(&address, market.currency);
        let reference = self.reference("vat");
        if self.post(market, None, "VAT_REMITTANCE", &reference, &[("amount", owed)])? {
            self.world.paid(&self.bank_id, owed);
        }
        let goodwill = self.amount(market, 1_000);
        let reference = self.reference("goodwill");
        self.post(market, Some(0), "ADJUSTMENT_CREDIT", &reference, &[("amount", goodwill)])?;
        // One pay-in more than there is: a payout of everything and a unit on top must be refused.
        let available =
            format!("merchants:{}:available:{}", merchant_id(market, 0), market.currency);
        let all = self.ledger.balance(&available, market.currency);
        let unit = Money::from_minor(1, market.currency);
        let too_much = all.checked_add(unit).map_err(|error| money(&error))?;
        let nothing = Money::from_minor(0, market.currency);
        let parts = [("amount", too_much), ("fee", nothing), ("vat", nothing)];
        let reference = self.reference("too-much");
        self.post(market, Some(0), "PAYOUT_RESERVE", &reference, &parts)?;
        Ok(())
    }

    /// Posts an event and says whether it moved money now.
    fn post(
        &mut self,
        market: &Market,
        merchant: Option<u64>,
        name: &str,
        reference: &str,
        amounts: &[(&str, Money)],
    ) -> Result<bool, Failure> {
        let mut variables: BTreeMap<String, String> =
            amounts.iter().map(|(name, money)| ((*name).to_owned(), money.to_string())).collect();
        let rule = self.rulebook.rule(name).map_err(|rejection| unexpected(&rejection))?;
        for variable in rule.variables() {
            let value = match variable.as_str() {
                "merchantId" => merchant_id(market, merchant.unwrap_or_default()),
                "bankId" => self.bank_id.clone(),
                "providerId" => format!("acquirer_{}", market.name),
                "currency" => market.currency.to_string(),
                _ => continue,
            };
            variables.insert(variable.clone(), value);
        }
        self.now = self.now.saturating_add(SignedDuration::from_millis(200)).unwrap_or(self.now);
        self.sequence = self.sequence.saturating_add(1);
        let admission = Admission { now: self.now, seed: Seed::from(self.sequence) };
        let event = Event {
            name: name.to_owned(),
            reference: reference.to_owned(),
            variables,
            effective_at: None,
        };
        let count = self.tally.0.entry(name.to_owned()).or_default();
        match self.ledger.post(self.rulebook, &event, &admission) {
            Ok(Posted::New(_)) => count.posted = count.posted.saturating_add(1),
            Ok(Posted::Replayed(_)) => {
                count.replayed = count.replayed.saturating_add(1);
                return Ok(false);
            }
            Err(
                Rejection::MissingFunds { .. }
                | Rejection::HoldEnded { .. }
                | Rejection::NothingMoves { .. },
            ) => {
                count.refused = count.refused.saturating_add(1);
                return Ok(false);
            }
            Err(rejection) => return Err(unexpected(&rejection)),
        }
        Ok(true)
    }

    /// Between a hundredth of `most` units and all of them.
    fn amount(&mut self, market: &Market, most: u64) -> Money {
        let least = most.checked_div(100).unwrap_or_default();
        let major = self.dice.below(most.saturating_sub(least)).saturating_add(least);
        let minor_per_major = 10_u64.saturating_pow(u32::from(market.currency.decimals()));
        let minor =
            major.saturating_mul(minor_per_major).saturating_add(self.dice.below(minor_per_major));
        Money::from_minor(i64::try_from(minor).unwrap_or(i64::MAX), market.currency)
    }

    fn reference(&mut self, kind: &str) -> String {
        format!("{kind}-{}", self.sequence)
    }
}

fn merchant_id(market: &Market, number: u64) -> String {
    format!("{}_shop_{number}", market.name.to_lowercase())
}

fn money(error: &MoneyError) -> Failure {
    Failure::new(format!("the demo cannot price an event: {error}"))
}

fn unexpected(rejection: &Rejection) -> Failure {
    Failure::new(format!("the demo was refused something that it may do: {rejection}"))
}
