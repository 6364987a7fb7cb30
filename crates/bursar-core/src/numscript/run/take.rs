//! Sources: how much each can give, and the pieces they put into the queue.

use super::super::Mode;
use super::super::amount::Amount;
use super::super::ast::{self, Overdraft, Source, SourceKind};
use super::super::compile::Code;
use super::super::error::ErrorKind;
use super::super::feature::Feature;
use super::super::portion::{AllotError, Share, allot};
use super::super::span::Span;
use super::super::value::Name;
use super::rows::Key;
use super::{Piece, Ran, Run};

/// How far below zero an account may go.
#[derive(Clone)]
enum Limit {
    At(Amount),
    None,
}

impl Run<'_> {
    /// Takes the whole amount or fails.
    pub(super) fn take_exactly(&mut self, source: &Source<Code>, amount: &Amount) -> Ran<()> {
        let taken = self.take_up_to(source, amount)?;
        if taken == *amount {
            return Ok(());
        }
        let account = match &source.kind {
            SourceKind::Account { account, .. } => self.account(account).ok(),
            SourceKind::Scaling { .. }
            | SourceKind::List(_)
            | SourceKind::OneOf(_)
            | SourceKind::Allotment(_)
            | SourceKind::Max { .. } => None,
        };
        Err(ErrorKind::MissingFunds {
            asset: Name::clone(&self.asset),
            needed: amount.clone(),
            available: taken,
            account,
        }
        .at(source.span))
    }

    /// Takes as much of the amount as the source has, and returns how much that was.
    pub(super) fn take_up_to(&mut self, source: &Source<Code>, amount: &Amount) -> Ran<Amount> {
        self.step(source.span)?;
        let amount = &amount.clone().floored();
        match &source.kind {
            SourceKind::Account { account, color, overdraft } => {
                let limit = self.limit(overdraft)?;
                self.require_colors(color.as_ref())?;
                let account = self.account(account)?;
                let color = self.color(color.as_ref())?;
                let limit = if &*account == "world" { Limit::None } else { limit };
                Ok(self.take_account(account, color, &limit, amount))
            }
            SourceKind::Scaling { account, through } => {
                self.require(Feature::AssetScaling, source.span)?;
                let account = self.account(account)?;
                let through = self.account(through)?;
                self.convert(&account, &through, Some(amount), source.span)?;
                let color = Name::clone(&self.no_color);
                Ok(self.take_account(account, color, &Limit::At(Amount::ZERO), amount))
            }
            SourceKind::List(sources) => {
                let mut left = amount.clone();
                for source in sources {
                    let taken = self.take_up_to(source, &left)?;
                    left = left.minus(&taken);
                }
                Ok(amount.minus(&left))
            }
            SourceKind::OneOf(sources) => {
                self.require(Feature::OneOf, source.span)?;
                self.take_one_of(sources, amount)
            }
            SourceKind::Allotment(parts) => {
                let shares = self.shares(parts.iter().map(|(share, _)| share))?;
                let amounts = self.allot(amount, &shares, source.span)?;
                for ((_, source), part) in parts.iter().zip(&amounts) {
                    self.take_exactly(source, part)?;
                }
                Ok(amount.clone())
            }
            SourceKind::Max { cap, source } => {
                let cap = self.amount_here(cap)?.floored();
                self.take_up_to(source, &cap.min(amount.clone()))
            }
        }
    }

    /// Takes everything the source has.
    pub(super) fn take_all(&mut self, source: &Source<Code>) -> Ran<Amount> {
        self.step(source.span)?;
        match &source.kind {
            SourceKind::Account { account, color, overdraft } => {
                let limit = self.limit(overdraft)?;
                self.require_colors(color.as_ref())?;
                let account = self.account(account)?;
                let limit = match limit {
                    Limit::At(limit) if &*account != "world" => limit,
                    Limit::At(_) | Limit::None => {
                        let kind = ErrorKind::InvalidUnboundedInSendAll { name: account };
                        return Err(kind.at(source.span));
                    }
                };
                let color = self.color(color.as_ref())?;
                let available = self.available(&account, &color, &limit);
                Ok(self.take_account(account, color, &Limit::At(limit), &available))
            }
            SourceKind::Scaling { account, through } => {
                self.require(Feature::AssetScaling, source.span)?;
                let account = self.account(account)?;
                let through = self.account(through)?;
                self.convert(&account, &through, None, source.span)?;
                let color = Name::clone(&self.no_color);
                let available = self.available(&account, &color, &Amount::ZERO);
                Ok(self.take_account(account, color, &Limit::At(Amount::ZERO), &available))
            }
            SourceKind::List(sources) => {
                let mut sum = Amount::ZERO;
                for source in sources {
                    sum = sum.plus(&self.take_all(source)?);
                }
                Ok(sum)
            }
            SourceKind::OneOf(sources) => {
                self.require(Feature::OneOf, source.span)?;
                sources.first().map_or(Ok(Amount::ZERO), |first| self.take_all(first))
            }
            SourceKind::Allotment(_) => Err(ErrorKind::InvalidAllotmentInSendAll.at(source.span)),
            SourceKind::Max { cap, source } => {
                let cap = self.amount_here(cap)?.floored();
                self.take_up_to(source, &cap)
            }
        }
    }

    /// The first source that has the whole amount; the last one is taken as it is.
    fn take_one_of(&mut self, sources: &[Source<Code>], amount: &Amount) -> Ran<Amount> {
        let Some((last, leading)) = sources.split_last() else { return Ok(Amount::ZERO) };
        for source in leading {
            let queued = self.queue.len();
            let posted = self.postings.len();
            let mark = self.balances.attempt();
            let taken = self.take_up_to(source, amount)?;
            let is_enough = taken == *amount;
            self.balances.finish(mark, is_enough);
            if is_enough {
                return Ok(taken);
            }
            self.queue.truncate(queued);
            if self.program.mode == Mode::Safe {
                self.postings.truncate(posted);
            }
        }
        self.take_up_to(last, amount)
    }

    fn take_account(
        &mut self,
        account: Name,
        color: Name,
        limit: &Limit,
        amount: &Amount,
    ) -> Amount {
        let taken = match limit {
            Limit::None => amount.clone(),
            Limit::At(limit) => self.available(&account, &color, limit).min(amount.clone()),
        };
        if !taken.is_zero() {
            let key = Key {
                account: Name::clone(&account),
                color: Name::clone(&color),
                asset: Name::clone(&self.asset),
            };
            self.balances.debit(key, &taken);
            self.queue.push_back(Piece { account, color, amount: taken.clone() });
        }
        taken
    }

    /// The balance and the overdraft, or nothing if that is below zero.
    fn available(&mut self, account: &Name, color: &Name, limit: &Amount) -> Amount {
        let key = Key {
            account: Name::clone(account),
            color: Name::clone(color),
            asset: Name::clone(&self.asset),
        };
        self.balances.get(&key).plus(limit).floored()
    }

    fn require_colors(&self, color: Option<&Code>) -> Ran<()> {
        color.map_or(Ok(()), |code| self.require(Feature::AssetColors, code.span))
    }

    fn limit(&mut self, overdraft: &Overdraft<Code>) -> Ran<Limit> {
        match overdraft {
            Overdraft::None => Ok(Limit::At(Amount::ZERO)),
            Overdraft::Unbounded => Ok(Limit::None),
            Overdraft::UpTo(limit) => Ok(Limit::At(self.amount_here(limit)?.floored())),
        }
    }

    pub(super) fn shares<'s>(
        &mut self,
        shares: impl Iterator<Item = &'s ast::Share<Code>>,
    ) -> Ran<Vec<Share>> {
        shares
            .map(|share| match share {
                ast::Share::Portion(code) => {
                    let portion = self.portion(code)?;
                    // Adding up long fractions takes time that grows with their length.
                    self.spend(u32::try_from(portion.bits() >> 3).unwrap_or(u32::MAX), code.span)?;
                    Ok(Share::Portion(portion))
                }
                ast::Share::Remaining(_) => Ok(Share::Remaining),
            })
            .collect()
    }

    pub(super) fn allot(&self, amount: &Amount, shares: &[Share], span: Span) -> Ran<Vec<Amount>> {
        allot(amount, shares, self.program.mode).map_err(|error| {
            match error {
                AllotError::Sum(sum) => ErrorKind::InvalidAllotmentSum { sum },
                AllotError::TooFine => {
                    ErrorKind::ResourceLimit { what: "shares with smaller denominators" }
                }
            }
            .at(span)
        })
    }
}
