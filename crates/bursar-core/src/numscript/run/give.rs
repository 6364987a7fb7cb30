//! Destinations: how much each pulls from the queue.

use super::super::amount::Amount;
use super::super::ast::{Clauses, Destination, DestinationKind, Target};
use super::super::compile::Code;
use super::super::feature::Feature;
use super::super::value::Name;
use super::rows::Key;
use super::{Piece, Posting, Ran, Run};

impl Run<'_> {
    pub(super) fn give(&mut self, destination: &Destination<Code>, amount: &Amount) -> Ran<()> {
        self.step(destination.span)?;
        match &destination.kind {
            DestinationKind::Account(account) => {
                let account = self.account(account)?;
                self.give_account(&account, amount);
                Ok(())
            }
            DestinationKind::Allotment(parts) => {
                let shares = self.shares(parts.iter().map(|(share, _)| share))?;
                let amounts = self.allot(amount, &shares, destination.span)?;
                for ((_, target), part) in parts.iter().zip(&amounts) {
                    self.give_target(target, part)?;
                }
                Ok(())
            }
            DestinationKind::InOrder(clauses) => self.give_in_order(clauses, amount),
            DestinationKind::OneOf(clauses) => {
                self.require(Feature::OneOf, destination.span)?;
                for (cap, target) in &clauses.capped {
                    if self.amount_here(cap)? >= *amount {
                        return self.give_target(target, amount);
                    }
                }
                self.give_target(&clauses.remaining, amount)
            }
        }
    }

    /// A destination that would receive nothing is not evaluated.
    fn give_in_order(&mut self, clauses: &Clauses<Code>, amount: &Amount) -> Ran<()> {
        let mut left = amount.clone();
        for (cap, target) in &clauses.capped {
            if left.is_zero() {
                return Ok(());
            }
            let part = self.amount_here(cap)?.floored().min(left.clone());
            if !part.is_zero() {
                self.give_target(target, &part)?;
                left = left.minus(&part);
            }
        }
        if left.is_zero() {
            return Ok(());
        }
        self.give_target(&clauses.remaining, &left)
    }

    fn give_target(&mut self, target: &Target<Code>, amount: &Amount) -> Ran<()> {
        match target {
            Target::To(destination) => self.give(destination, amount),
            Target::DecodedFlow => {
                self.give_back(amount);
                Ok(())
            }
        }
    }

    fn give_account(&mut self, account: &Name, amount: &Amount) {
        let mut left = amount.clone();
        while let Some(piece) = self.pull(&left) {
            left = left.minus(&piece.amount);
            let key = Key {
                account: Name::clone(account),
                color: Name::clone(&piece.color),
                asset: Name::clone(&self.asset),
            };
            self.balances.credit(key, &piece.amount);
            self.post(Posting {
                source: piece.account,
                destination: Name::clone(account),
                asset: Name::clone(&self.asset),
                amount: piece.amount,
                color: piece.color,
            });
        }
    }

    /// `kept`: returns the money to the senders, without a posting.
    fn give_back(&mut self, amount: &Amount) {
        let mut left = amount.clone();
        while let Some(piece) = self.pull(&left) {
            left = left.minus(&piece.amount);
            let asset = Name::clone(&self.asset);
            self.balances
                .credit(Key { account: piece.account, color: piece.color, asset }, &piece.amount);
        }
    }

    /// The next piece from the front of the queue, of at most `most`.
    fn pull(&mut self, most: &Amount) -> Option<Piece> {
        if most.is_zero() || most.is_negative() {
            return None;
        }
        let mut front = self.queue.pop_front()?;
        while let Some(next) = self.queue.front() {
            if next.account != front.account || next.color != front.color {
                break;
            }
            front.amount = front.amount.plus(&next.amount);
            self.queue.pop_front();
        }
        if front.amount > *most {
            let rest = front.amount.minus(most);
            self.queue.push_front(Piece {
                account: Name::clone(&front.account),
                color: Name::clone(&front.color),
                amount: rest,
            });
            front.amount = most.clone();
        }
        Some(front)
    }
}
