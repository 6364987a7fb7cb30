//! The day: what customers, merchants, providers and the tax office do, hour by hour.

use std::path::Path;

use bursar_core::ids::ReservationId;
use bursar_core::money::{Money, MoneyError};
use bursar_core::reservation::Verdict;
use bursar_core::rules::Rules;
use indicatif::ProgressBar;
use jiff::{SignedDuration, Timestamp};

use super::desk::{Cash, Desk, Expect, Shop};
use super::dice::Dice;
use crate::config::Market;
use crate::failure::Failure;

const SHOPS_PER_MARKET: u64 = 4;
/// Payouts that happen in the same hour.
const PAYOUTS_PER_HOUR: u64 = 500;

pub(super) struct Day<'r> {
    markets: Vec<Market>,
    dice: Dice,
    pub(super) desk: Desk<'r>,
}

/// A payout whose money is put aside.
struct Payout {
    shop: Shop,
    amount: Money,
    id: ReservationId,
}

impl<'r> Day<'r> {
    pub(super) fn new(
        rules: &'r Rules,
        directory: &Path,
        markets: Vec<Market>,
        bank_id: &str,
        seed: u64,
    ) -> Result<Self, Failure> {
        // Any day will do, as long as it is always the same one.
        let morning = Timestamp::UNIX_EPOCH.saturating_add(SignedDuration::from_hours(24 * 20_772));
        let desk = Desk::new(rules, directory, bank_id, morning.unwrap_or_default())?;
        Ok(Self { markets, dice: Dice::new(seed), desk })
    }

    pub(super) fn run(&mut self, payouts: u64, progress: &ProgressBar) -> Result<(), Failure> {
        for market in self.markets.clone() {
            for number in 0..SHOPS_PER_MARKET {
                self.morning(&Shop { market: market.clone(), number })?;
            }
        }
        self.desk.decide_all()?;
        let mut left = payouts;
        while left > 0 {
            let now = left.min(PAYOUTS_PER_HOUR);
            self.hour(now)?;
            progress.inc(now);
            left = left.saturating_sub(now);
        }
        for market in self.markets.clone() {
            self.evening(&Shop { market, number: 0 })?;
        }
        self.desk.decide_all()?;
        Ok(())
    }

    /// Pay-ins, then payouts, then what becomes of them.
    fn hour(&mut self, payouts: u64) -> Result<(), Failure> {
        let mut shops = Vec::new();
        for _ in 0..payouts {
            let shop = self.shop()?;
            self.payin(&shop)?;
            shops.push(shop);
        }
        self.desk.decide_all()?;
        let mut reserved = Vec::new();
        for shop in shops {
            let amount = self.amount(&shop, 40_000);
            let quote = shop.market.payout.quote(amount).map_err(unpriced)?;
            let id = self.desk.reserve(&shop, amount, quote, Expect::DoneIfFunded);
            reserved.push(Payout { shop, amount, id });
        }
        let is_held = self.desk.decide_all()?;
        for (payout, is_held) in reserved.iter().zip(is_held) {
            if is_held {
                self.outcome(payout)?;
            }
        }
        for payout in reserved.iter().step_by(100) {
            self.refund(&payout.shop)?;
            self.dispute(&payout.shop)?;
        }
        self.desk.decide_all()?;
        self.desk.hour_passes()
    }

    fn shop(&mut self) -> Result<Shop, Failure> {
        let count = u64::try_from(self.markets.len()).unwrap_or_default();
        let index = usize::try_from(self.dice.below(count)).unwrap_or_default();
        let market = self.markets.get(index).cloned().ok_or_else(|| {
            Failure::new("the configuration has no markets: add one under [fees]")
        })?;
        Ok(Shop { market, number: self.dice.below(SHOPS_PER_MARKET) })
    }

    /// A card payment that the provider settles, so that every shop starts with money.
    fn morning(&mut self, shop: &Shop) -> Result<(), Failure> {
        let gross = self.amount(shop, 200_000);
        let quote = shop.market.payin.quote(gross).map_err(unpriced)?;
        let cost = gross.basis_points(90).map_err(unpriced)?;
        let net = gross
            .checked_sub(quote.fee)
            .and_then(|rest| rest.checked_sub(quote.vat))
            .map_err(unpriced)?;
        let arrived = gross.checked_sub(cost).map_err(unpriced)?;
        let reference = self.desk.reference("capture");
        let done = || (Expect::Done, Cash::None);
        let parts = [("gross", gross), ("fee", quote.fee), ("vat", quote.vat)];
        self.desk.event(shop, "PAYIN_CAPTURE", &reference, &parts, done())?;
        let parts = [("gross", gross), ("cost", cost)];
        let outcome = (Expect::Done, Cash::Received(arrived));
        self.desk.event(shop, "PROVIDER_SETTLEMENT", &reference, &parts, outcome)?;
        self.desk.event(shop, "FUNDS_AVAILABLE", &reference, &[("amount", net)], done())
    }

    fn payin(&mut self, shop: &Shop) -> Result<(), Failure> {
        let gross = self.amount(shop, 50_000);
        let quote = shop.market.payin.quote(gross).map_err(unpriced)?;
        let reference = self.desk.reference("payin");
        let parts = [("gross", gross), ("fee", quote.fee), ("vat", quote.vat)];
        let is_subscription = self.dice.one_in(20);
        let event =
            if is_subscription { "SUBSCRIPTION_INVOICE_COLLECTION" } else { "PAYIN_COLLECTION" };
        let outcome = (Expect::Done, Cash::Received(gross));
        self.desk.event(shop, event, &reference, &parts, outcome)?;
        if self.dice.one_in(10) {
            // The provider tells us twice.
            let outcome = (Expect::Repeated, Cash::None);
            self.desk.event(shop, event, &reference, &parts, outcome)?;
        }
        Ok(())
    }

    /// Settled or released, exactly once; or nobody ever answers, and the reservation expires.
    fn outcome(&mut self, payout: &Payout) -> Result<(), Failure> {
        let Payout { shop, amount, id } = payout;
        match self.dice.below(100) {
            0..90 => {
                let paid = (Expect::Done, Cash::Paid(*amount));
                self.desk.decide(shop, *id, Verdict::Settle, paid)?;
                // Somebody tries to give the money back as well.
                let refused = (Expect::Refused("flow_ended"), Cash::None);
                self.desk.decide(shop, *id, Verdict::Release, refused)?;
                if self.dice.one_in(90) {
                    self.returned(shop, *amount)?;
                }
                Ok(())
            }
            90..98 => self.desk.decide(shop, *id, Verdict::Release, (Expect::Done, Cash::None)),
            _ => Ok(()),
        }
    }

    /// The receiving bank sends a payout back.
    fn returned(&mut self, shop: &Shop, amount: Money) -> Result<(), Failure> {
        let reference = self.desk.reference("return");
        let outcome = (Expect::Done, Cash::Received(amount));
        self.desk.event(shop, "PAYOUT_RETURN", &reference, &[("amount", amount)], outcome)
    }

    fn refund(&mut self, shop: &Shop) -> Result<(), Failure> {
        let amount = self.amount(shop, 10_000);
        let reference = self.desk.reference("refund");
        let outcome = (Expect::DoneIfFunded, Cash::Paid(amount));
        self.desk.event(shop, "REFUND", &reference, &[("amount", amount)], outcome)
    }

    fn dispute(&mut self, shop: &Shop) -> Result<(), Failure> {
        let amount = self.amount(shop, 20_000);
        let reference = self.desk.reference("dispute");
        let account = self.desk.address("2004", shop)?;
        self.desk.world.disputed(account);
        let parts = [("amount", amount)];
        let done = || (Expect::Done, Cash::None);
        self.desk.event(shop, "CHARGEBACK_HOLD", &reference, &parts, done())?;
        if self.dice.one_in(2) {
            return self.desk.event(shop, "CHARGEBACK_WON", &reference, &parts, done());
        }
        let quote = shop.market.payout.quote(amount).map_err(unpriced)?;
        let parts = [("amount", amount), ("fee", quote.fee), ("vat", quote.vat)];
        let outcome = (Expect::DoneIfFunded, Cash::Paid(amount));
        self.desk.event(shop, "CHARGEBACK_LOST", &reference, &parts, outcome)
    }

    /// The tax office gets what was collected for it, and one shop gets goodwill and asks for more than it has.
    fn evening(&mut self, shop: &Shop) -> Result<(), Failure> {
        let nothing = Money::from_minor(0, shop.market.currency);
        let owed = self.desk.balance("2100", shop)?;
        let reference = self.desk.reference("vat");
        if owed > nothing {
            let outcome = (Expect::DoneIfFunded, Cash::Paid(owed));
            self.desk.event(shop, "VAT_REMITTANCE", &reference, &[("amount", owed)], outcome)?;
        }
        let goodwill = self.amount(shop, 1_000);
        let reference = self.desk.reference("goodwill");
        let parts = [("amount", goodwill)];
        let outcome = (Expect::Done, Cash::None);
        self.desk.event(shop, "ADJUSTMENT_CREDIT", &reference, &parts, outcome)?;
        self.desk.decide_all()?;
        let unit = Money::from_minor(1, shop.market.currency);
        let all = self.desk.balance("2004", shop)?.max(nothing);
        let too_much = all.checked_add(unit).map_err(unpriced)?;
        let parts = [("amount", too_much), ("fee", nothing), ("vat", nothing)];
        let reference = self.desk.reference("too-much");
        let outcome = (Expect::Refused("missing_funds"), Cash::None);
        self.desk.event(shop, "PAYOUT_RESERVE", &reference, &parts, outcome)
    }

    /// Between a hundredth of `most` units and all of them.
    fn amount(&mut self, shop: &Shop, most: u64) -> Money {
        let currency = shop.market.currency;
        let least = most.checked_div(100).unwrap_or_default();
        let major = self.dice.below(most.saturating_sub(least)).saturating_add(least);
        let unit = 10_u64.saturating_pow(u32::from(currency.decimals()));
        let minor = major.saturating_mul(unit).saturating_add(self.dice.below(unit));
        Money::from_minor(i64::try_from(minor).unwrap_or(i64::MAX), currency)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "made for map_err")]
fn unpriced(error: MoneyError) -> Failure {
    Failure::new(format!("the demo cannot price an event: {error}"))
}
