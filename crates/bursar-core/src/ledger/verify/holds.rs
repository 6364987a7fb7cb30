//! Replays holds from the events of their transactions.

use std::collections::{BTreeMap, BTreeSet};

use super::Verifier;
use crate::ids::TransactionId;
use crate::ledger::chart::GlCode;
use crate::ledger::rulebook::HoldEffect;
use crate::ledger::{Account, Hold, HoldKey, HoldState, REVERT, Transaction};
use crate::money::decimal;
use crate::numscript::Name;

/// A hold that was opened more often is reported as different: its stored epoch must not decide how much is read.
const EPOCHS_MAX: u32 = 100;

/// A page of holds while its transactions are replayed.
#[derive(Default)]
struct Replay {
    holds: BTreeMap<HoldKey, Hold>,
    /// The effect of each transaction, in case it is reverted.
    effects: BTreeMap<TransactionId, (HoldKey, HoldEffect)>,
}

impl Verifier<'_> {
    /// The events and references of all transactions that may have opened or ended these holds.
    pub fn hold_references(&self, holds: &[(HoldKey, Hold)]) -> BTreeSet<(Name, String)> {
        let mut events: BTreeMap<GlCode, Vec<(&Name, HoldEffect)>> = BTreeMap::new();
        for rule in self.rulebook.rules() {
            if let Some((effect, code)) = rule.hold() {
                events.entry(code).or_default().push((rule.event(), effect));
            }
        }
        let mut references = BTreeSet::new();
        for (HoldKey { code, reference }, hold) in holds {
            for (event, effect) in events.get(code).into_iter().flatten() {
                references.insert((Name::clone(event), reference.clone()));
                if *effect == HoldEffect::Ends {
                    let epochs = (1..=hold.epoch.min(EPOCHS_MAX))
                        .map(|epoch| format!("{reference}#{epoch}"));
                    references.extend(epochs.map(|reference| (Name::clone(event), reference)));
                }
            }
        }
        references
    }

    /// The events and references of the transactions that may have reverted these.
    pub fn revert_references<'t>(
        transactions: impl Iterator<Item = &'t Transaction>,
    ) -> BTreeSet<(Name, String)> {
        transactions.map(|transaction| (REVERT.into(), transaction.id.to_string())).collect()
    }

    /// Adds a page of stored holds and all their transactions, in the order they were saved.
    pub fn add_holds<'t>(
        &mut self,
        holds: &[(HoldKey, Hold)],
        transactions: impl Iterator<Item = &'t Transaction>,
    ) {
        let mut replay = Replay::default();
        for transaction in transactions {
            self.replay(transaction, &mut replay);
        }
        self.report.holds =
            self.report.holds.saturating_add(u64::try_from(holds.len()).unwrap_or(u64::MAX));
        for (key, hold) in holds {
            let HoldKey { code, reference } = key;
            match replay.holds.remove(key) {
                Some(replayed) if replayed == *hold => {}
                Some(replayed) => self.differ(format!(
                    "the hold `{reference}` on {code} is {hold:?}, its events make it {replayed:?}"
                )),
                None => self.differ(format!(
                    "the hold `{reference}` on {code} was never opened by an event"
                )),
            }
            if hold.state == HoldState::Open {
                let key = (Name::clone(&hold.account), hold.money.currency());
                let sum = self.held.entry(key).or_default();
                *sum = sum.saturating_add(i128::from(hold.money.minor()));
            }
        }
    }

    fn replay(&mut self, transaction: &Transaction, replay: &mut Replay) {
        let Replay { holds, effects } = replay;
        if let Some((key, effect)) = transaction.reverts.and_then(|reverted| effects.get(&reverted))
        {
            if let Some(hold) = holds.get_mut(key) {
                match effect {
                    HoldEffect::Opens => hold.state = HoldState::Ended { by: transaction.id },
                    HoldEffect::Ends => {
                        hold.state = HoldState::Open;
                        hold.epoch = hold.epoch.saturating_add(1);
                    }
                }
            }
            return;
        }
        let Some((effect, mut key)) = self.hold_effect(transaction) else { return };
        let place = transaction.id;
        match effect {
            HoldEffect::Opens => match self.opened(transaction, &key) {
                Some(hold) => {
                    holds.insert(key.clone(), hold);
                }
                None => self.differ(format!("{place} opens a hold without money")),
            },
            HoldEffect::Ends => {
                if let Some((reopened, _)) = key.reopened()
                    && !holds.contains_key(&key)
                {
                    key = reopened;
                }
                match holds.get_mut(&key) {
                    Some(hold) if hold.state == HoldState::Open => {
                        hold.state = HoldState::Ended { by: place };
                    }
                    Some(_) | None => {
                        self.differ(format!("{place} ends a hold that is not open"));
                    }
                }
            }
        }
        effects.insert(transaction.id, (key, effect));
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

    /// The accounts of holds have the money of the open ones. All holds must be added before.
    pub(super) fn compare_held(&mut self, accounts: &[(Name, Account)]) {
        for (address, account) in
            accounts.iter().filter(|(_, account)| account.metadata.view == "hold")
        {
            let currency = account.balance.currency();
            let sum = self.held.remove(&(Name::clone(address), currency)).unwrap_or_default();
            if sum != i128::from(account.balance.minor()) {
                let (balance, sum) = (account.balance, decimal(sum, currency));
                self.differ(format!(
                    "{address} holds {balance} {currency}, its open holds add up to {sum}"
                ));
            }
        }
    }
}
