//! Checks what a page of commits names elsewhere in the books: holds, reverted transactions, flows.

use std::collections::{BTreeMap, BTreeSet};

use super::Verifier;
use crate::feed::{FeedEvent, is_record};
use crate::flow::Flow;
use crate::ids::{EndpointId, FlowId, TransactionId};
use crate::ledger::rulebook::{HoldEffect, Rule};
use crate::ledger::{HoldKey, Transaction};
use crate::turn::{ReadPlan, ReadSet, SavedCommit};

/// What a page of commits names, to be looked up.
#[derive(Debug, Default)]
pub struct CommitNames {
    /// Holds and reverted transactions.
    pub plan: ReadPlan,
    /// The flows of the first events.
    pub flows: Vec<FlowId>,
}

impl Verifier<'_> {
    pub fn names(&self, commits: &[SavedCommit]) -> CommitNames {
        let mut names = CommitNames::default();
        for commit in commits {
            for transaction in &commit.transactions {
                names.plan.transactions.extend(transaction.reverts);
                if let Some((_, key)) = self.hold_effect(transaction) {
                    names.plan.add_hold(key);
                }
            }
            names.flows.extend(commit.events.iter().filter_map(first_of_flow));
        }
        names
    }

    /// Checks a page of commits against what was looked up. The commits must be added before.
    pub fn check_names(&mut self, commits: &[SavedCommit], found: &ReadSet, missing: &[FlowId]) {
        let epochs = found.holds.iter().map(|(key, hold)| (key, hold.epoch)).collect();
        let transactions = found.transactions.iter().map(|transaction| transaction.id).collect();
        let missing: BTreeSet<FlowId> = missing.iter().copied().collect();
        for commit in commits {
            for transaction in &commit.transactions {
                let place = format!("{} in commit {}", transaction.id, commit.seq);
                self.check_revert(transaction, &place, &transactions);
                self.check_hold_exists(transaction, &place, &epochs);
            }
            for event in &commit.events {
                if first_of_flow(event).is_some_and(|flow| missing.contains(&flow)) {
                    self.differ(format!("`{}` has events, but is missing", event.resource));
                }
            }
        }
    }

    fn check_revert(
        &mut self,
        transaction: &Transaction,
        place: &str,
        known: &BTreeSet<TransactionId>,
    ) {
        let Some(reverted) = transaction.reverts else { return };
        if !known.contains(&reverted) || transaction.reference != reverted.to_string() {
            self.differ(format!("{place} takes back a transaction that is not there"));
        }
    }

    /// The hold is replayed later, up to the last epoch that it has.
    fn check_hold_exists(
        &mut self,
        transaction: &Transaction,
        place: &str,
        epochs: &BTreeMap<&HoldKey, u32>,
    ) {
        let Some((effect, key)) = self.hold_effect(transaction) else { return };
        let in_epoch = |(key, epoch)| epochs.get(&key).is_some_and(|last| epoch <= *last);
        match effect {
            _ if epochs.contains_key(&key) => {}
            HoldEffect::Opens => {
                self.differ(format!("the hold `{}` on {} is missing", key.reference, key.code));
            }
            HoldEffect::Ends if key.reopened().is_some_and(in_epoch) => {}
            HoldEffect::Ends => self.differ(format!("{place} ends a hold that is not open")),
        }
    }

    /// What a transaction does to a hold, unless it is a revert.
    pub(super) fn hold_effect(&self, transaction: &Transaction) -> Option<(HoldEffect, HoldKey)> {
        let rule = self.rulebook.rule(&transaction.event).ok();
        let (effect, code) = rule.filter(|_| transaction.reverts.is_none()).and_then(Rule::hold)?;
        Some((effect, HoldKey { code, reference: transaction.reference.clone() }))
    }

    /// The sequence numbers of a resource's events have no gaps. Those of flows are counted with their flow.
    pub(super) fn event(&mut self, seq: u64, event: &FeedEvent) {
        self.report.events = self.report.events.saturating_add(1);
        if Flow::id_in(&event.resource).is_some() {
            return;
        }
        let is_known = is_record(&event.resource) || event.resource.parse::<EndpointId>().is_ok();
        if !is_known && event.sequence == 1 {
            self.differ(format!("`{}` has events, but is missing", event.resource));
        }
        let last = self.sequences.insert(event.resource.clone(), event.sequence).unwrap_or(0);
        if event.sequence != last.saturating_add(1) {
            self.differ(format!(
                "{} in commit {seq}: number {} of `{}` follows number {last}",
                event.id, event.sequence, event.resource
            ));
        }
    }
}

/// The flow of an event, if it is the first about it.
fn first_of_flow(event: &FeedEvent) -> Option<FlowId> {
    (event.sequence == 1).then(|| Flow::id_in(&event.resource)).flatten()
}
