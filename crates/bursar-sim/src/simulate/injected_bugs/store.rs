//! Stores that do their part wrong.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use bursar_core::approvals::State;
use bursar_core::ids::{CommitId, Seed, TransactionId};
use bursar_core::ledger::Transaction;
use bursar_core::money::Money;
use bursar_core::numscript::Name;
use bursar_core::turn::{AccountWrite, Commit, FlowWrite, HoldWrite, ReadPlan, ReadSet};
use bursar_store::{StoreError, Turn};

use super::InjectedBug;
use crate::simulate::faulty::{Saw, Side};

/// Saves in the real store, unless a bug is injected; records what was really saved.
pub(crate) async fn save<T: Turn>(
    mut inner: T,
    id: CommitId,
    commit: &Commit,
    side: &Rc<RefCell<Side>>,
    is_lost_from_sight: bool,
) -> Result<(), StoreError> {
    let bug = side.borrow().bug;
    let mut saved = commit.clone();
    match bug {
        Some(InjectedBug::StoreLosesCommits) if side.borrow_mut().bug_dice.chance(30) => {
            return Ok(());
        }
        Some(InjectedBug::StoreDropsEvents) if side.borrow_mut().bug_dice.chance(100) => {
            saved.events.pop();
        }
        Some(InjectedBug::StoreLosesDeliveries) if side.borrow_mut().bug_dice.chance(100) => {
            let is_new_delivery = |write: &FlowWrite| {
                write.before.is_none() && write.after.state.delivery().is_some()
            };
            let new = saved.flows.iter().position(is_new_delivery);
            new.map(|new| saved.flows.remove(new));
        }
        Some(InjectedBug::StoreForgetsDecisions) => forget(&mut saved, is_decision),
        Some(InjectedBug::StoreSavesDecisionsAlone) if saved.flows.iter().any(is_decision) => {
            forget(&mut saved, |write| !is_decision(write));
            saved.transactions.clear();
            saved.accounts.clear();
            saved.holds.clear();
            saved.records.clear();
        }
        Some(InjectedBug::StoreSavesTwice) if is_lost_from_sight => double(&mut saved),
        Some(InjectedBug::StoreCountsTwice) if is_lost_from_sight => {
            for (_, change) in &mut saved.tallies {
                *change = change.plus(*change);
            }
        }
        Some(InjectedBug::StoreForgetsSlots) => {
            saved.records.retain(|write| write.after.content.dispatch_state().is_none());
        }
        Some(InjectedBug::StoreSharesSlots) => {
            let found = inner.load(&needed(commit)).await?;
            for write in &mut saved.records {
                let known = found.registry.iter().find(|record| record.key() == write.after.key());
                if write.after.content.dispatch_state().is_some() {
                    write.before = known.map(|record| record.version);
                }
            }
        }
        Some(InjectedBug::StoreForgetsVersions) => {
            let found = inner.load(&needed(commit)).await?;
            overwrite(&mut saved, &found);
        }
        Some(_) | None => {}
    }
    inner.save(id, &saved).await?;
    side.borrow_mut().saw.push(Saw::Saved(Box::new(saved)));
    Ok(())
}

/// Whether a flow is an approval whose request is done in the same commit.
fn is_decision(write: &FlowWrite) -> bool {
    let approval = write.after.state.approval();
    approval.is_some_and(|approval| matches!(approval.state, State::Approved { .. }))
}

/// Drops flows with their events and keys.
fn forget(commit: &mut Commit, is_forgotten: impl Fn(&FlowWrite) -> bool) {
    let forgotten: Vec<FlowWrite> =
        commit.flows.iter().filter(|write| is_forgotten(write)).cloned().collect();
    let is_of = |name: &str| forgotten.iter().any(|write| write.after.name() == name);
    commit.flows.retain(|write| !is_forgotten(write));
    commit.events.retain(|event| !is_of(&event.resource));
    commit.keys.retain(|key| forgotten.iter().all(|write| write.after.id != key.flow));
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
        write.after.received = write.after.received.saturating_add(write.received);
        write.received = write.received.saturating_mul(2);
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
    let openings: BTreeMap<_, _> = found
        .accounts
        .iter()
        .map(|(address, account)| {
            let key = (Name::clone(address), account.balance.currency());
            (key, (account.balance.minor(), account.received))
        })
        .collect();
    for AccountWrite { address, after, delta, received, least_opening } in &mut commit.accounts {
        let currency = after.balance.currency();
        let opening = openings.get(&(Name::clone(address), currency)).copied();
        let (minor, received_before) = opening.unwrap_or_default();
        after.balance = Money::from_minor(minor.saturating_add(*delta), currency);
        after.received = received_before.saturating_add(*received);
        *least_opening = None;
    }
    for FlowWrite { before, after, .. } in &mut commit.flows {
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
