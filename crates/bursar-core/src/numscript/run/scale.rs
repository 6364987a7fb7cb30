//! Scaling: changing what an account holds in other scales of an asset into the scale that is sent.

use num_bigint::BigInt;
use num_integer::Integer as _;

use super::super::amount::Amount;
use super::super::error::ErrorKind;
use super::super::span::Span;
use super::super::value::Name;
use super::super::{Mode, limits};
use super::outcome::asset_base;
use super::{Posting, Ran, Run};

/// Whole units of another scale, and what they are worth in the scale that is sent.
struct Converted {
    asset: Name,
    units: Amount,
    worth: Amount,
}

impl Run<'_> {
    /// Swaps other scales of the current asset into it, as far as `wanted` needs (all of it if `None`).
    pub(super) fn convert(
        &mut self,
        account: &Name,
        through: &Name,
        wanted: Option<&Amount>,
        span: Span,
    ) -> Ran<()> {
        if !self.balances.knows(account) {
            let name = Name::clone(account);
            return Err(ErrorKind::InvalidUnboundedAddressInScalingAddress { name }.at(span));
        }
        let converted = self.conversions(account, wanted, span)?;
        let mut total = Amount::ZERO;
        for Converted { asset, units, worth } in converted {
            total = total.plus(&worth);
            self.swap(account, through, asset, units);
        }
        if !total.is_zero() {
            let asset = Name::clone(&self.asset);
            self.swap(through, account, asset, total);
        }
        Ok(())
    }

    fn conversions(
        &mut self,
        account: &Name,
        wanted: Option<&Amount>,
        span: Span,
    ) -> Ran<Vec<Converted>> {
        let base = Name::from(asset_base(&self.asset));
        let here = scale(&self.asset, span)?;
        let loaded = self.balances.load_scales(account, &base);
        self.spend(loaded, span)?;
        let mut rows: Vec<(u32, Name, Amount)> = Vec::new();
        let mut held = Amount::ZERO;
        let mut seen = 0_u32;
        for (asset, amount) in self.balances.uncolored(account) {
            seen = seen.saturating_add(1);
            if *asset == self.asset {
                held = amount;
            } else if asset_base(asset) == &*base {
                rows.push((scale(asset, span)?, Name::clone(asset), amount));
            }
        }
        self.spend(seen, span)?;
        rows.sort_by(|(a, ..), (b, ..)| b.cmp(a));
        let mut needed = wanted.map(|wanted| wanted.minus(&held));
        let mut converted = Vec::new();
        for (there, asset, balance) in rows {
            self.spend(8, span)?;
            if needed.as_ref().is_some_and(|needed| needed.is_zero() || needed.is_negative()) {
                break;
            }
            let is_ignored = self.program.mode == Mode::Safe && balance.is_negative();
            if is_ignored || balance.is_zero() {
                continue;
            }
            let factor = Factor::between(here, there, span)?;
            let available = factor.worth_floor(&balance);
            if available.bits() > limits::SCALED_BITS_MAX {
                let what = "scaled amounts of at most 4,900 digits";
                return Err(ErrorKind::ResourceLimit { what }.at(span));
            }
            let taken = needed.clone().map_or(available.clone(), |needed| needed.min(available));
            let units = factor.units_ceiling(&taken);
            if units.is_zero() {
                continue;
            }
            needed = needed.map(|needed| needed.minus(&taken));
            converted.push(Converted { asset, worth: factor.worth_floor(&units), units });
        }
        Ok(converted)
    }

    /// One leg of a swap. The swap account may go below zero: it is a counterparty, not a wallet.
    fn swap(&mut self, source: &Name, destination: &Name, asset: Name, amount: Amount) {
        let debited = self.key(Name::clone(source), Name::clone(&asset));
        let credited = self.key(Name::clone(destination), Name::clone(&asset));
        self.balances.debit(debited, &amount);
        self.balances.credit(credited, &amount);
        self.post(Posting {
            source: Name::clone(source),
            destination: Name::clone(destination),
            asset,
            amount,
            color: Name::clone(&self.no_color),
        });
    }
}

/// How many units of the scale that is sent one unit of another scale is worth, or the other way round.
enum Factor {
    Times(BigInt),
    Over(BigInt),
}

impl Factor {
    fn between(here: u32, there: u32, span: Span) -> Ran<Self> {
        let distance = here.abs_diff(there);
        if distance > limits::SCALE_DISTANCE_MAX {
            return Err(ErrorKind::ResourceLimit { what: "scales at most 1,000 apart" }.at(span));
        }
        let power = BigInt::from(10).pow(distance);
        Ok(if here >= there { Self::Times(power) } else { Self::Over(power) })
    }

    fn worth_floor(&self, units: &Amount) -> Amount {
        Amount::from_big(match self {
            Self::Times(power) => units.to_big() * power,
            Self::Over(power) => units.to_big().div_floor(power),
        })
    }

    fn units_ceiling(&self, worth: &Amount) -> Amount {
        Amount::from_big(match self {
            Self::Times(power) => worth.to_big().div_ceil(power),
            Self::Over(power) => worth.to_big() * power,
        })
    }
}

/// The number behind the stroke; none means zero.
fn scale(asset: &str, span: Span) -> Ran<u32> {
    let Some((_, digits)) = asset.split_once('/') else { return Ok(0) };
    digits.parse().map_err(|_| ErrorKind::InvalidAsset { name: asset.to_owned() }.at(span))
}
