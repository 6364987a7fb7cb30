//! The requests of the demo, derived from the seed.

use std::collections::BTreeMap;

use bursar_core::money::{Currency, Money, MoneyError};
use bursar_node::config::Market;
use bursar_node::failure::Failure;

use super::dice::Dice;

#[derive(Debug)]
pub(super) struct Plan {
    pub(super) merchants: Vec<Merchant>,
    pub(super) payins: Vec<PayIn>,
    pub(super) orders: Vec<Order>,
    /// One payout for each merchant above its total pay-ins.
    pub(super) overdrafts: Vec<Order>,
}

#[derive(Debug, Clone)]
pub(super) struct Merchant {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) currency: Currency,
}

#[derive(Debug)]
pub(super) struct PayIn {
    pub(super) merchant: String,
    pub(super) reference: String,
    pub(super) amount: Money,
    /// The request is sent twice.
    pub(super) is_repeated: bool,
}

/// A payout to create.
#[derive(Debug)]
pub(super) struct Order {
    pub(super) key: String,
    pub(super) merchant: String,
    pub(super) channel: &'static str,
    pub(super) amount: Money,
    pub(super) msisdn: String,
    pub(super) repeat: Repeat,
}

/// Whether the request is repeated under the same key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repeat {
    Never,
    Afterwards,
    /// Twice at the same time.
    AtOnce,
}

const MERCHANTS_PER_MARKET: u64 = 2;
/// Payouts that one pay-in pays for.
const PAYOUTS_PER_PAYIN: u64 = 10;

impl Plan {
    pub(super) fn new(
        markets: &[Market],
        channels: &[&'static str],
        payouts: u64,
        seed: u64,
    ) -> Result<Self, Failure> {
        let mut dice = Dice::new(seed);
        let merchants = (1..=MERCHANTS_PER_MARKET)
            .flat_map(|number| markets.iter().map(move |market| merchant(market, number)));
        let merchants: Vec<(Merchant, &Market)> = merchants.collect();
        let mut plan = Self {
            merchants: merchants.iter().map(|(merchant, _)| merchant.clone()).collect(),
            payins: Vec::new(),
            orders: Vec::new(),
            overdrafts: Vec::new(),
        };
        let nothing = "the configuration has no markets. Nothing was done; add one under [fees]";
        let mut needs: BTreeMap<&str, (Money, u64)> = BTreeMap::new();
        for number in 0..payouts {
            let (merchant, market) =
                dice.one_of(&merchants).ok_or_else(|| Failure::new(nothing))?;
            let amount = amount(&mut dice, merchant.currency);
            let quote = market.payout.quote(amount).map_err(unpriced)?;
            let none = (Money::from_minor(0, merchant.currency), 0);
            let (need, count) = needs.entry(&merchant.id).or_insert(none);
            for part in [amount, quote.fee, quote.vat] {
                *need = need.checked_add(part).map_err(unpriced)?;
            }
            *count = count.saturating_add(1);
            if *count >= PAYOUTS_PER_PAYIN {
                plan.fund(&mut dice, &merchant.id, *need)?;
                (*need, *count) = none;
            }
            plan.orders.push(Order {
                key: format!("demo-{number}"),
                merchant: merchant.id.clone(),
                channel: dice.one_of(channels).copied().unwrap_or_default(),
                amount,
                msisdn: format!("92300{number:07}"),
                repeat: repeat(&mut dice),
            });
        }
        for (merchant, (need, _)) in needs {
            plan.fund(&mut dice, merchant, need)?;
        }
        plan.plan_overdrafts(channels)?;
        Ok(plan)
    }

    /// Adds a pay-in of twice the need, which covers its fee.
    fn fund(&mut self, dice: &mut Dice, merchant: &str, need: Money) -> Result<(), Failure> {
        if need.minor() == 0 {
            return Ok(());
        }
        let number = self.payins.len();
        self.payins.push(PayIn {
            merchant: merchant.to_owned(),
            reference: format!("collection-{number}"),
            amount: need.checked_add(need).map_err(unpriced)?,
            is_repeated: dice.one_in(5),
        });
        Ok(())
    }

    fn plan_overdrafts(&mut self, channels: &[&'static str]) -> Result<(), Failure> {
        for merchant in &self.merchants {
            let mut all = Money::from_minor(1, merchant.currency);
            for payin in self.payins.iter().filter(|payin| payin.merchant == merchant.id) {
                all = all.checked_add(payin.amount).map_err(unpriced)?;
            }
            self.overdrafts.push(Order {
                key: format!("demo-greedy-{}", merchant.id),
                merchant: merchant.id.clone(),
                channel: channels.first().copied().unwrap_or_default(),
                amount: all,
                msisdn: "923000000000".to_owned(),
                repeat: Repeat::Never,
            });
        }
        Ok(())
    }
}

fn merchant(market: &Market, number: u64) -> (Merchant, &Market) {
    let id = format!("{}_{number}", market.name.to_ascii_lowercase());
    let name = format!("Shop {number} in {}", market.name);
    (Merchant { id, name, currency: market.currency }, market)
}

/// 100 to 1,000 units of the currency.
fn amount(dice: &mut Dice, currency: Currency) -> Money {
    let unit = 10_u64.checked_pow(currency.decimals().into()).unwrap_or(1);
    let minor = dice.below(900).saturating_add(100).saturating_mul(unit);
    let minor = minor.saturating_add(dice.below(unit));
    Money::from_minor(i64::try_from(minor).unwrap_or(1), currency)
}

fn repeat(dice: &mut Dice) -> Repeat {
    match dice.below(20) {
        0 => Repeat::AtOnce,
        1 | 2 => Repeat::Afterwards,
        _ => Repeat::Never,
    }
}

#[expect(clippy::needless_pass_by_value, reason = "errors are handed over")]
fn unpriced(error: MoneyError) -> Failure {
    Failure::new(format!("{error}. Nothing was done; ask for fewer payouts"))
}
