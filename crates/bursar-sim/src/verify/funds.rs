//! Anybody's money: amounts decide nothing here.

use bursar_core::funds::Funds;
use bursar_core::money::Money;

#[expect(clippy::expect_used, reason = "a currency of ISO 4217 always reads back")]
pub(super) fn funds() -> Funds {
    let currency = "PKR".parse().expect("PKR is a currency");
    let money = |minor| Money::from_minor(minor, currency);
    let (merchant, bank) = (String::new(), String::new());
    Funds { merchant, bank, amount: money(150_000), fee: money(1_500), vat: money(240) }
}
