//! Mistakes that are planted around the product, one at a time, to see that they are found. Nothing of the product is
//! touched: each is a store or a host that does its own part wrong.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use bursar_core::commit::{AccountWrite, Commit, FlowWrite, HoldWrite};
use bursar_core::ids::{CommitId, Seed, TransactionId};
use bursar_core::ledger::Transaction;
use bursar_core::money::Money;
use bursar_core::numscript::Name;
use bursar_core::plan::ReadPlan;
use bursar_core::records::ReadSet;
use bursar_store::{StoreError, Turn};

use super::faulty::{Saw, Side};

/// One line makes a plant: its name, within how many seeds it is found, and what is wrong.
macro_rules! plants {
    ($($plant:ident, $name:literal, $within:literal, $meaning:literal;)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Plant {
            $(#[doc = $meaning] $plant,)*
        }

        impl Plant {
            pub const ALL: &[Self] = &[$(Self::$plant,)*];

            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$plant => $name,)*
                }
            }

            pub const fn meaning(self) -> &'static str {
                match self {
                    $(Self::$plant => $meaning,)*
                }
            }

            /// Seeds 0 up to this are enough to find it.
            pub const fn within(self) -> u64 {
                match self {
                    $(Self::$plant => $within,)*
                }
            }
        }
    };
}

plants! {
    StoreForgetsVersions, "store-forgets-versions", 20, "a store of several processes that writes whatever it is given";
    StoreLosesCommits, "store-loses-commits", 20, "a store that says it has saved and has not";
    StoreSavesTwice, "store-saves-twice", 40, "a store that saves once more if nobody said whether it had saved";
    StoreDropsEvents, "store-drops-events", 20, "a store that loses what merchants are to be told";
    StoreLosesDeliveries, "store-loses-deliveries", 20, "a store that loses what is to be mailed about what it has saved";
    HostForgetsMail, "host-forgets-mail", 20, "a host that loses what endpoints say";
    HostTakesAnyAnswer, "host-takes-any-answer", 20, "a host that takes any answer of an endpoint for a good one";
    HostMailsBeforeSave, "host-mails-before-save", 20, "a host that mails what is not saved yet";
    HostIgnoresLeases, "host-ignores-leases", 120, "a host that sends however late it is";
    HostSendsBeforeSave, "host-sends-before-save", 20, "a host that sends what is not saved yet";
    HostAnswersBeforeSave, "host-answers-before-save", 20, "a host that answers what is not saved yet";
    HostResendsOnRestart, "host-resends-on-restart", 40, "a host that sends again what was in flight when it died";
    HostCallsUnknownFailed, "host-calls-unknown-failed", 20, "a host that takes silence for a refusal";
}

impl Plant {
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|plant| plant.name() == name)
    }

    /// Whether it shows only where several processes share the books.
    pub(crate) fn needs_two(self) -> bool {
        self == Self::StoreForgetsVersions
    }

    /// Whether the host acts when it is decided, not when it is saved.
    pub(crate) fn is_hasty(self) -> bool {
        matches!(
            self,
            Self::HostSendsBeforeSave | Self::HostAnswersBeforeSave | Self::HostMailsBeforeSave
        )
    }
}

/// Saves in the real store, unless something else was planted; writes down what was really saved.
pub(crate) async fn save<T: Turn>(
    mut inner: T,
    id: CommitId,
    commit: &Commit,
    side: &Rc<RefCell<Side>>,
    is_lost_from_sight: bool,
) -> Result<(), StoreError> {
    let plant = side.borrow().plant;
    let mut saved = commit.clone();
    match plant {
        Some(Plant::StoreLosesCommits) if side.borrow_mut().plant_dice.chance(30) => {
            return Ok(());
        }
        Some(Plant::StoreDropsEvents) if side.borrow_mut().plant_dice.chance(100) => {
            saved.events.pop();
        }
        Some(Plant::StoreLosesDeliveries) if side.borrow_mut().plant_dice.chance(100) => {
            let is_new_delivery = |write: &FlowWrite| {
                write.before.is_none() && write.after.state.delivery().is_some()
            };
            let new = saved.flows.iter().position(is_new_delivery);
            new.map(|new| saved.flows.remove(new));
        }
        Some(Plant::StoreSavesTwice) if is_lost_from_sight => double(&mut saved),
        Some(Plant::StoreForgetsVersions) => {
            let found = inner.load(&needed(commit)).await?;
            overwrite(&mut saved, &found);
        }
        Some(_) | None => {}
    }
    inner.save(id, &saved).await?;
    side.borrow_mut().saw.push(Saw::Saved(Box::new(saved)));
    Ok(())
}

/// Every posting once more, under other names.
fn double(commit: &mut Commit) {
    let again = |(transaction, number): (&Transaction, u64)| Transaction {
        id: TransactionId::new(transaction.inserted_at, &Seed::from(number), number),
        reference: format!("{}-again", transaction.reference),
        ..transaction.clone()
    };
    let again: Vec<Transaction> = commit.transactions.iter().zip(1..).map(again).collect();
    commit.transactions.extend(again);
    for write in &mut commit.accounts {
        let money = write.after.balance;
        let minor = money.minor().saturating_add(write.delta);
        write.after.balance = Money::from_minor(minor, money.currency());
        write.delta = write.delta.saturating_mul(2);
        write.least_opening = None;
    }
}

/// Everything that a commit writes, as it is now.
fn needed(commit: &Commit) -> ReadPlan {
    let account =
        |write: &AccountWrite| (Name::clone(&write.address), write.after.balance.currency());
    ReadPlan {
        accounts: commit.accounts.iter().map(account).collect(),
        flows: commit.flows.iter().map(|write| write.after.id).collect(),
        holds: commit.holds.iter().map(|write| write.key.clone()).collect(),
        registry: commit.records.iter().map(|write| write.after.key()).collect(),
        control: true,
        ..ReadPlan::default()
    }
}

/// As if the decision had been made on what is there now.
fn overwrite(commit: &mut Commit, found: &ReadSet) {
    let balances: BTreeMap<_, _> = found
        .accounts
        .iter()
        .map(|(address, account)| {
            ((Name::clone(address), account.balance.currency()), account.balance.minor())
        })
        .collect();
    for AccountWrite { address, after, delta, least_opening } in &mut commit.accounts {
        let currency = after.balance.currency();
        let opening = balances.get(&(Name::clone(address), currency)).copied().unwrap_or_default();
        after.balance = Money::from_minor(opening.saturating_add(*delta), currency);
        *least_opening = None;
    }
    for FlowWrite { before, after } in &mut commit.flows {
        *before = found.flows.iter().find(|flow| flow.id == after.id).cloned();
    }
    for HoldWrite { key, before, .. } in &mut commit.holds {
        *before = found.holds.iter().find(|(known, _)| known == key).map(|(_, hold)| hold.clone());
    }
    for write in &mut commit.records {
        let key = write.after.key();
        let known = found.registry.iter().find(|record| record.key() == key);
        write.before = known.map(|record| record.version);
    }
    if let (Some(write), Some(control)) = (&mut commit.control, &found.control) {
        write.version = control.version;
    }
    commit.relied_on.clear();
}
