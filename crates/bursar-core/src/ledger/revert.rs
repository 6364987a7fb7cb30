//! Reverts: the mirror image of a transaction, linked to it, once.

use jiff::Timestamp;

use super::hold::{Claim, HoldKey};
use super::post::{Changes, Moved, move_balances};
use super::{Admission, Hold, Ledger, LedgerEvent, Posted, Transaction, to_microseconds};
use crate::ids::TransactionId;
use crate::ledger::chart::GlCode;
use crate::ledger::journal::{Posting, WORLD};
use crate::ledger::rulebook::{HoldEffect, RequestHash, Rulebook};
use crate::money::{Currency, Money};
use crate::numscript::Name;
use crate::rejection::Rejection;

/// The event name of a revert; its reference is the id of the reverted transaction.
pub const REVERT: &str = "REVERT";

/// Whether a revert may take an account below zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RevertOverdraft {
    Refused,
    /// For a late success: the money has left, so its release must be reverted whatever the merchant's balance is. It
    /// applies only where the transaction ended a hold; every other revert refuses overdraft.
    Allowed,
}

/// The transaction to revert, and how.
#[derive(Debug, Clone, Copy)]
pub struct Revert {
    pub id: TransactionId,
    pub overdraft: RevertOverdraft,
    pub effective_at: Option<Timestamp>,
}

impl Revert {
    /// A revert as an event names the transaction and refuses overdraft.
    pub(crate) fn from_event(event: &LedgerEvent) -> Result<Self, Rejection> {
        if let Some(name) = event.variables.keys().next() {
            return Err(Rejection::UnknownVariable {
                event: REVERT.into(),
                name: name.chars().take(64).collect(),
                known: Vec::new(),
            });
        }
        let id = event.reference.parse().map_err(|_| Rejection::UnknownTransaction {
            reference: event.reference.chars().take(80).collect(),
        })?;
        let effective_at = event.effective_at.map(to_microseconds);
        Ok(Self { id, overdraft: RevertOverdraft::Refused, effective_at })
    }
}

impl Ledger {
    /// Reverts a transaction. A repeated request gets the first revert.
    pub fn revert(
        &mut self,
        rulebook: &Rulebook,
        revert: &Revert,
        admission: &Admission,
    ) -> Result<Posted, Rejection> {
        let Revert { id, overdraft, effective_at } = *revert;
        let reference = id.to_string();
        let Some(original) = self.transaction(id) else {
            return Err(Rejection::UnknownTransaction { reference });
        };
        let event = Name::from(REVERT);
        let request_hash = RequestHash::new(&event, &reference, effective_at).finish();
        if let Some(known) = self.known(&event, &reference) {
            return self.replay(known, &event, &reference, request_hash);
        }
        if original.reverts.is_some() {
            return Err(Rejection::RevertOfRevert { id });
        }
        let postings: Vec<Posting> = original.postings.iter().rev().map(mirror).collect();
        let revert_id = admission.transaction_id(&event, &reference);
        let hold_effect = rulebook.rule(&original.event)?.hold();
        let effect = hold_effect.map(|(effect, _)| effect);
        let hold = self.revert_hold(hold_effect, original, revert_id)?;
        let mut accounts = move_balances(&postings, |address, currency| {
            let known = self.accounts.get(&(Name::clone(address), currency));
            known.map(|entry| entry.account.clone())
        })?;
        // Of several accounts without funds, the error names the first.
        accounts.sort_by(|(one, _), (other, _)| one.cmp(other));
        for ((address, currency), moved) in &mut accounts {
            // A mirror image is checked as a whole: only its net change must be funded.
            moved.lowest = Some(moved.change).filter(|change| *change < 0);
            match (overdraft, effect) {
                (RevertOverdraft::Allowed, Some(HoldEffect::Ends)) => moved.lowest = None,
                (RevertOverdraft::Allowed | RevertOverdraft::Refused, _) => {
                    refuse_overdraft(address, *currency, moved)?;
                }
            }
        }
        let transaction = Transaction {
            id: revert_id,
            event,
            reference,
            request_hash,
            rulebook_hash: rulebook.hash(),
            effective_at: effective_at.unwrap_or(admission.now),
            inserted_at: self.next_time(admission.now),
            reverts: Some(id),
            postings,
        };
        Ok(Posted::New(self.apply(Changes { transaction, accounts, hold })))
    }

    /// A hold that the original opened ends; a hold that it ended is reopened.
    fn revert_hold(
        &self,
        effect: Option<(HoldEffect, GlCode)>,
        original: &Transaction,
        by: TransactionId,
    ) -> Result<Option<(HoldKey, Hold)>, Rejection> {
        let Some((effect, code)) = effect else { return Ok(None) };
        let mut key = HoldKey { code, reference: original.reference.clone() };
        if self.holds.get(&key).is_none()
            && let Some((reopened, _)) = key.reopened()
        {
            key = reopened;
        }
        let Some(hold) = self.holds.get(&key) else {
            return Err(Rejection::HoldNotFound { code, reference: original.reference.clone() });
        };
        let hold = match effect {
            HoldEffect::Opens => {
                let claim = Claim { account: Name::clone(&hold.account), money: hold.money };
                hold.end(&key, &claim, by)?
            }
            HoldEffect::Ends => hold.reopen(&key, original.id)?,
        };
        Ok(Some((key, hold)))
    }
}

fn refuse_overdraft(address: &Name, currency: Currency, moved: &Moved) -> Result<(), Rejection> {
    if moved.change >= 0 || !moved.after.balance.is_negative() {
        return Ok(());
    }
    let money = |minor: i64| Money::from_minor(minor, currency);
    let available = moved.after.balance.minor().saturating_sub(moved.change).max(0);
    Err(Rejection::MissingFunds {
        account: Name::clone(address),
        needed: money(moved.change.saturating_neg()),
        available: money(available),
    })
}

fn mirror(posting: &Posting) -> Posting {
    debug_assert!(
        &*posting.source != WORLD || &*posting.destination != WORLD,
        "a posting touches an account"
    );
    Posting {
        source: Name::clone(&posting.destination),
        destination: Name::clone(&posting.source),
        money: posting.money,
    }
}
