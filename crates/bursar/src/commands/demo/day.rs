//! The day: what customers, merchants, providers and the tax office do, hour by hour.

use bursar_core::money::{Money, MoneyError};
use bursar_core::rulebook::Rulebook;
use indicatif::ProgressBar;
use jiff::{SignedDuration, Timestamp};

use super::desk::{Desk, Expect, Shop};
use super::dice::Dice;
use crate::config::Market;
use crate::failure::Failure;

const SHOPS_PER_MARKET: u64 = 4;

pub(super) struct Day<'r> {
    markets: Vec<Market>,
    dice: Dice,
    pub(super) desk: Desk<'r>,
}

impl<'r> Day<'r> {
    pub(super) fn new(
        rulebook: &'r Rulebook,
        markets: Vec<Market>,
        bank_id: &str,
        seed: u64,
    ) -> Self {
        // Any day will do, as long as it is always the same one.
        let morning = Timestamp::UNIX_EPOCH.saturating_add(SignedDuration::from_hours(24 * 20_772));
        let desk = Desk::new(rulebook, bank_id, morning.unwrap_or_default());
        Self { markets, dice: Dice::new(seed), desk }
    }

    pub(super) fn run(&mut self, payouts: u64, progress: &ProgressBar) -> Result<(), Failure> {
        for market in self.markets.clone() {
            for number in 0..SHOPS_PER_MARKET {
                self.morning(&Shop { market: market.clone(), number })?;
            }
        }
        for number in 0..payouts {
            let index = usize::try_from(number).unwrap_or_default();
            let market = index.checked_rem(self.markets.len()).and_then(|at| self.markets.get(at));
            let Some(market) = market.cloned() else {
                return Err(Failure::new("the configuration has no markets: add one under [fees]"));
            };
            let shop = Shop { market, number: self.dice.below(SHOPS_PER_MARKET) };
            self.payin(&shop)?;
            let paid = self.payout(&shop)?;
            match (number.checked_rem(100), paid) {
                (Some(0), Some(amount)) => self.returned(&shop, amount)?,
                (Some(1), _) => self.refund(&shop)?,
                (Some(2), _) => self.dispute(&shop)?,
                (Some(_) | None, _) => {}
            }
            progress.inc(1);
        }
        for market in self.markets.clone() {
            self.evening(&Shop { market, number: 0 })?;
        }
        Ok(())
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
        let parts = [("gross", gross), ("fee", quote.fee), ("vat", quote.vat)];
        self.desk.post(shop, "PAYIN_CAPTURE", &reference, &parts, Expect::Posted)?;
        let parts = [("gross", gross), ("cost", cost)];
        self.desk.post(shop, "PROVIDER_SETTLEMENT", &reference, &parts, Expect::Posted)?;
        self.desk.received(shop, arrived)?;
        self.desk.post(shop, "FUNDS_AVAILABLE", &reference, &[("amount", net)], Expect::Posted)?;
        Ok(())
    }

    fn payin(&mut self, shop: &Shop) -> Result<(), Failure> {
        let gross = self.amount(shop, 50_000);
        let quote = shop.market.payin.quote(gross).map_err(unpriced)?;
        let reference = self.desk.reference("payin");
        let parts = [("gross", gross), ("fee", quote.fee), ("vat", quote.vat)];
        let is_subscription = self.dice.one_in(20);
        let event =
            if is_subscription { "SUBSCRIPTION_INVOICE_COLLECTION" } else { "PAYIN_COLLECTION" };
        self.desk.post(shop, event, &reference, &parts, Expect::Posted)?;
        self.desk.received(shop, gross)?;
        if self.dice.one_in(10) {
            // The provider tells us twice.
            self.desk.post(shop, event, &reference, &parts, Expect::Repeated)?;
        }
        Ok(())
    }

    /// Reserved, then settled or released, exactly once. Says what was paid out, if it was.
    fn payout(&mut self, shop: &Shop) -> Result<Option<Money>, Failure> {
        let amount = self.amount(shop, 40_000);
        let quote = shop.market.payout.quote(amount).map_err(unpriced)?;
        let parts = [("amount", amount), ("fee", quote.fee), ("vat", quote.vat)];
        let reference = self.desk.reference("payout");
        if !self.desk.post(shop, "PAYOUT_RESERVE", &reference, &parts, Expect::PostedIfFunded)? {
            return Ok(None);
        }
        match self.dice.below(100) {
            0..90 => {
                self.desk.post(shop, "PAYOUT_SETTLE", &reference, &parts, Expect::Posted)?;
                self.desk.paid(shop, amount)?;
                // Somebody tries to give the money back as well.
                let refused = Expect::Refused("hold_ended");
                self.desk.post(shop, "PAYOUT_RELEASE", &reference, &parts, refused)?;
                Ok(Some(amount))
            }
            90..98 => {
                self.desk.post(shop, "PAYOUT_RELEASE", &reference, &parts, Expect::Posted)?;
                Ok(None)
            }
            // The channel has not answered yet: the money stays on hold.
            _ => Ok(None),
        }
    }

    /// The receiving bank sends a payout back.
    fn returned(&mut self, shop: &Shop, amount: Money) -> Result<(), Failure> {
        let reference = self.desk.reference("return");
        self.desk.post(shop, "PAYOUT_RETURN", &reference, &[("amount", amount)], Expect::Posted)?;
        self.desk.received(shop, amount)
    }

    fn refund(&mut self, shop: &Shop) -> Result<(), Failure> {
        let amount = self.amount(shop, 10_000);
        let reference = self.desk.reference("refund");
        if self.desk.post(
            shop,
            "REFUND",
            &reference,
            &[("amount", amount)],
            Expect::PostedIfFunded,
        )? {
            self.desk.paid(shop, amount)?;
        }
        Ok(())
    }

    fn dispute(&mut self, shop: &Shop) -> Result<(), Failure> {
        let amount = self.amount(shop, 20_000);
        let reference = self.desk.reference("dispute");
        let account = self.desk.address("2004", shop)?;
        self.desk.world.disputed(account);
        let parts = [("amount", amount)];
        self.desk.post(shop, "CHARGEBACK_HOLD", &reference, &parts, Expect::Posted)?;
        if self.dice.one_in(2) {
            self.desk.post(shop, "CHARGEBACK_WON", &reference, &parts, Expect::Posted)?;
            return Ok(());
        }
        let quote = shop.market.payout.quote(amount).map_err(unpriced)?;
        let parts = [("amount", amount), ("fee", quote.fee), ("vat", quote.vat)];
        if self.desk.post(shop, "CHARGEBACK_LOST", &reference, &parts, Expect::PostedIfFunded)? {
            self.desk.paid(shop, amount)?;
        }
        Ok(())
    }

    /// The tax office gets what was collected for it, and one shop gets goodwill and asks for more than it has.
    fn evening(&mut self, shop: &Shop) -> Result<(), Failure> {
        let nothing = Money::from_minor(0, shop.market.currency);
        let owed = self.desk.balance("2100", shop)?;
        let reference = self.desk.reference("vat");
        if owed > nothing
            && self.desk.post(
                shop,
                "VAT_REMITTANCE",
                &reference,
                &[("amount", owed)],
                Expect::PostedIfFunded,
            )?
        {
            self.desk.paid(shop, owed)?;
        }
        let goodwill = self.amount(shop, 1_000);
        let reference = self.desk.reference("goodwill");
        self.desk.post(
            shop,
            "ADJUSTMENT_CREDIT",
            &reference,
            &[("amount", goodwill)],
            Expect::Posted,
        )?;
        let unit = Money::from_minor(1, shop.market.currency);
        let all = self.desk.balance("2004", shop)?.max(nothing);
        let too_much = all.checked_add(unit).map_err(unpriced)?;
        let parts = [("amount", too_much), ("fee", nothing), ("vat", nothing)];
        let reference = self.desk.reference("too-much");
        self.desk.post(
            shop,
            "PAYOUT_RESERVE",
            &reference,
            &parts,
            Expect::Refused("missing_funds"),
        )?;
        Ok(())
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
