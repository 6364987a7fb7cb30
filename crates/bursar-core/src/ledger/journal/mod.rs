//! Postings read as debits and credits, and the rules that make them double entry.
//!
//! Every account shows a positive balance on its normal side; `@world` is the bridge between the two sides. Money
//! into a debit-normal account is a debit, out of it a credit; for a credit-normal account it is the reverse.

#[cfg(test)]
mod tests;

use crate::ledger::chart::{GlAccount, GlCode, Side};
use crate::money::{Currency, Money, decimal};
use crate::numscript::Name;

/// The outside: where money comes from and goes to.
pub const WORLD: &str = "world";

/// Money that moves from one account to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Posting {
    pub source: Name,
    pub destination: Name,
    pub money: Money,
}

/// One end of a posting, as a debit or a credit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leg<'a> {
    pub address: &'a Name,
    pub code: GlCode,
    pub side: Side,
    pub money: Money,
}

/// Postings that are not double entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    #[error("the account `{address}` belongs to no code of the chart")]
    UnknownAccount { address: Name },
    #[error("a posting from `{from}` to `{to}` crosses the two sides of the books")]
    CrossSide { from: Name, to: Name },
    #[error("debits of {} {currency} meet credits of {} {currency}", decimal(*.debits, *.currency), decimal(*.credits, *.currency))]
    Unbalanced { currency: Currency, debits: i128, credits: i128 },
}

/// Reads postings back as journal legs. Rejects postings that are not double entry.
pub fn legs<'a, 'c>(
    postings: &'a [Posting],
    classify: impl Fn(&Name) -> Option<&'c GlAccount>,
) -> Result<Vec<Leg<'a>>, JournalError> {
    let mut legs = Vec::with_capacity(postings.len().saturating_mul(2));
    let end = |address: &'a Name| -> Result<Option<&'c GlAccount>, JournalError> {
        if &**address == WORLD {
            return Ok(None);
        }
        let account = classify(address);
        account
            .map(Some)
            .ok_or_else(|| JournalError::UnknownAccount { address: Name::clone(address) })
    };
    for posting in postings {
        let source = end(&posting.source)?;
        let destination = end(&posting.destination)?;
        if let (Some(from), Some(to)) = (source, destination)
            && from.side() != to.side()
        {
            let (from, to) = (Name::clone(&posting.source), Name::clone(&posting.destination));
            return Err(JournalError::CrossSide { from, to });
        }
        if let Some(account) = source {
            let side = account.side().opposite();
            legs.push(Leg {
                address: &posting.source,
                code: account.code,
                side,
                money: posting.money,
            });
        }
        if let Some(account) = destination {
            let side = account.side();
            legs.push(Leg {
                address: &posting.destination,
                code: account.code,
                side,
                money: posting.money,
            });
        }
    }
    balance(&legs)?;
    Ok(legs)
}

/// The accounts that postings touch, each once, in order, without `@world`.
pub fn touched(postings: &[Posting]) -> Vec<&Name> {
    let mut touched: Vec<&Name> = postings
        .iter()
        .flat_map(|posting| [&posting.source, &posting.destination])
        .filter(|address| &***address != WORLD)
        .collect();
    touched.sort_unstable();
    touched.dedup();
    touched
}

/// Debits equal credits in each currency. `@world` alone would hide any mistake; this check makes the postings double
/// entry.
fn balance(legs: &[Leg<'_>]) -> Result<(), JournalError> {
    // There are few: a list is faster than a tree.
    let mut sums: Vec<(Currency, i128, i128)> = Vec::with_capacity(1);
    for leg in legs {
        let (currency, minor) = (leg.money.currency(), i128::from(leg.money.minor()));
        let (debit, credit) = match leg.side {
            Side::Debit => (minor, 0),
            Side::Credit => (0, minor),
        };
        match sums.iter_mut().find(|(known, ..)| *known == currency) {
            Some((_, debits, credits)) => {
                *debits = debits.saturating_add(debit);
                *credits = credits.saturating_add(credit);
            }
            None => sums.push((currency, debit, credit)),
        }
    }
    // Of several unbalanced currencies, the error names the first.
    let unbalanced = sums.into_iter().filter(|(_, debits, credits)| debits != credits);
    match unbalanced.min_by_key(|(currency, ..)| *currency) {
        Some((currency, debits, credits)) => {
            Err(JournalError::Unbalanced { currency, debits, credits })
        }
        None => Ok(()),
    }
}
