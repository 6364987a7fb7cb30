//! Replays holds from the events of their transactions.

use std::collections::BTreeMap;

use super::Verifier;
use crate::ledger::rulebook::{HoldEffect, Rule};
use crate::ledger::{Account, Hold, HoldKey, HoldState, Transaction};
use crate::money::{Currency, decimal};
use crate::numscript::Name;

impl Verifier<'_> {
    /// Replays the effect of the transaction on a hold.
    pub(super) fn hold(&mut self, transaction: &Transaction, place: &str) {
        if let Some(reverted) = transaction.reverts {
            if transaction.reference != reverted.to_string()
                || !self.transaction_ids.contains(&reverted)
            {
                self.differ(format!("{place} takes back a transaction that is not there"));
            }
            if let Some((key, effect)) = self.hold_effects.get(&reverted).cloned() {
                self.change_hold(&key, |hold| match effect {
                    HoldEffect::Opens => hold.state = HoldState::Ended { by: transaction.id },
                    HoldEffect::Ends => {
                        hold.state = HoldState::Open;
                        hold.epoch = hold.epoch.saturating_add(1);
                    }
                });
            }
            return;
        }
        let rule = self.rulebook.rule(&transaction.event);
        let Some((effect, code)) = rule.ok().and_then(Rule::hold) else {
            return;
        };
        let mut key = HoldKey { code, reference: transaction.reference.clone() };
        if !self.holds.contains_key(&key)
            && effect == HoldEffect::Ends
            && let Some((reopened, _)) = key.reopened()
        {
            key = reopened;
        }
        match effect {
            HoldEffect::Opens => match self.opened(transaction, &key) {
                Some(hold) => {
                    self.holds.insert(key.clone(), hold);
                }
                None => self.differ(format!("{place} opens a hold without money")),
            },
            HoldEffect::Ends => {
                let was_open =
                    self.holds.get(&key).is_some_and(|hold| hold.state == HoldState::Open);
                self.change_hold(&key, |hold| hold.state = HoldState::Ended { by: transaction.id });
                if !was_open {
                    self.differ(format!("{place} ends a hold that is not open"));
                }
            }
        }
        if effect == HoldEffect::Ends {
            self.endings.insert(transaction.id, Name::clone(&transaction.event));
        }
        self.hold_effects.insert(transaction.id, (key, effect));
    }

    fn opened(&self, transaction: &Transaction, key: &HoldKey) -> Option<Hold> {
        let mut postings = transaction.postings.iter().filter(|posting| {
            self.metadata.get(&posting.destination).is_some_and(|gl| gl.code == key.code)
        });
        let first = postings.next()?;
        let money =
            postings.try_fold(first.money, |sum, posting| sum.checked_add(posting.money)).ok()?;
        let account = Name::clone(&first.destination);
        Some(Hold { account, money, epoch: 1, state: HoldState::Open })
    }

    fn change_hold(&mut self, key: &HoldKey, change: impl FnOnce(&mut Hold)) {
        if let Some(hold) = self.holds.get_mut(key) {
            change(hold);
        }
    }

    pub(super) fn compare_holds(
        &mut self,
        accounts: &[(Name, Account)],
        holds: &[(HoldKey, Hold)],
    ) {
        let mut held: BTreeMap<(Name, Currency), i128> = BTreeMap::new();
        for (key, hold) in holds {
            let HoldKey { code, reference } = key;
            match self.holds.remove(key) {
                Some(replayed) if replayed == *hold => {}
                Some(replayed) => self.differ(format!(
                    "the hold `{reference}` on {code} is {hold:?}, its events make it {replayed:?}"
                )),
                None => self.differ(format!(
                    "the hold `{reference}` on {code} was never opened by an event"
                )),
            }
            if hold.state == HoldState::Open {
                let sum =
                    held.entry((Name::clone(&hold.account), hold.money.currency())).or_default();
                *sum = sum.saturating_add(i128::from(hold.money.minor()));
            }
        }
        for key in std::mem::take(&mut self.holds).into_keys() {
            self.differ(format!("the hold `{}` on {} is missing", key.reference, key.code));
        }
        for (address, account) in
            accounts.iter().filter(|(_, account)| account.metadata.view == "hold")
        {
            let currency = account.balance.currency();
            let sum = held.remove(&(Name::clone(address), currency)).unwrap_or_default();
            if sum != i128::from(account.balance.minor()) {
                let (balance, sum) = (account.balance, decimal(sum, currency));
                self.differ(format!(
                    "{address} holds {balance} {currency}, its open holds add up to {sum}"
                ));
            }
        }
    }
}
