//! Which records a batch needs. Two rounds, never more: what the second asks for follows from what the first found.

use std::collections::BTreeSet;

use crate::ids::TransactionId;
use crate::journal::WORLD;
use crate::ledger::{AccountKey, HoldKey, REVERT, Transaction};
use crate::numscript::Name;
use crate::records::ReadSet;
use crate::request::{Admitted, Batch};
use crate::rulebook::Rule;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadPlan {
    /// Event and reference, to answer what was posted before.
    pub references: BTreeSet<(Name, String)>,
    /// Transactions with their postings, to take them back.
    pub transactions: BTreeSet<TransactionId>,
    pub holds: BTreeSet<HoldKey>,
    pub accounts: BTreeSet<AccountKey>,
}

impl ReadPlan {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The hold, and the one that it means if it names an epoch.
    fn add_hold(&mut self, key: HoldKey) {
        self.holds.extend(key.reopened().map(|(key, _)| key));
        self.holds.insert(key);
    }
}

/// The first round: everything that the requests themselves name.
pub fn plan(batch: &Batch<'_>) -> ReadPlan {
    let mut plan = ReadPlan::default();
    for request in batch.requests() {
        match request {
            Admitted::Post(bound, _) => {
                let reference = bound.reference().to_owned();
                if let Some((_, code)) = bound.rule().hold() {
                    plan.add_hold(HoldKey { code, reference: reference.clone() });
                }
                plan.references.insert((Name::clone(bound.rule().event()), reference));
                let accounts = bound.accounts().iter();
                plan.accounts.extend(
                    accounts.map(|account| (Name::clone(&account.address), account.currency)),
                );
            }
            Admitted::Revert(revert, _) => {
                plan.references.insert((REVERT.into(), revert.id.to_string()));
                plan.transactions.insert(revert.id);
            }
            Admitted::Refused(_) => {}
        }
    }
    plan
}

/// The second round: the accounts and holds of the transactions that are taken back, and what was taken back before.
pub fn plan_second(batch: &Batch<'_>, known: &ReadPlan, first: &ReadSet) -> ReadPlan {
    let mut plan = ReadPlan::default();
    let reverted: BTreeSet<TransactionId> = batch.reverted().collect();
    for transaction in first.transactions.iter().filter(|found| reverted.contains(&found.id)) {
        plan.accounts.extend(touched(transaction));
        // Asked once more: whoever took it back since the first round also changed these accounts.
        plan.references.insert((REVERT.into(), transaction.id.to_string()));
        let hold = batch.rulebook().rule(&transaction.event).ok().and_then(Rule::hold);
        if let Some((_, code)) = hold {
            plan.add_hold(HoldKey { code, reference: transaction.reference.clone() });
        }
    }
    // Whether what was posted before still stands.
    let posted = first.references.iter().map(|known| (REVERT.into(), known.id.to_string()));
    plan.references.extend(posted);
    plan.accounts.retain(|key| !known.accounts.contains(key));
    plan.holds.retain(|key| !known.holds.contains(key));
    plan
}

fn touched(transaction: &Transaction) -> impl Iterator<Item = AccountKey> {
    transaction
        .postings
        .iter()
        .flat_map(|posting| {
            [&posting.source, &posting.destination]
                .map(|address| (Name::clone(address), posting.money.currency()))
        })
        .filter(|(address, _)| &**address != WORLD)
}
