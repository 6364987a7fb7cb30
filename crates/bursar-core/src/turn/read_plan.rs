//! The records that a batch needs, in at most two rounds: the second round follows from the records of the first.

use std::collections::BTreeSet;

use crate::dispatch::QueueClaim;
use crate::flow::{Machine as _, Planners, each_plan};
use crate::freezes::Restore;
use crate::idempotency::KeyDigest;
use crate::ids::{FlowId, KeyRange, TransactionId};
use crate::ledger::funds::Funds;
use crate::ledger::rulebook::{Bound, Rulebook};
use crate::ledger::{AccountKey, HoldKey, REVERT};
use crate::numscript::Name;
use crate::registry::RecordKey;
use crate::rules::Rules;
use crate::turn::{Decide as _, ReadSet, TurnInput};

use super::claim::{DueClaim, FairClaim};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadPlan {
    /// Event and reference, to find events that were posted before.
    pub references: BTreeSet<(Name, String)>,
    /// Transactions with their postings, to revert them.
    pub transactions: BTreeSet<TransactionId>,
    pub holds: BTreeSet<HoldKey>,
    pub accounts: BTreeSet<AccountKey>,
    pub flows: BTreeSet<FlowId>,
    /// Flows by external reference: channel or provider, and reference.
    pub attempts: BTreeSet<(String, String)>,
    /// Flows by the key that they were made under: those whose first reference follows from it have no other index. More
    /// may be found than are meant.
    pub made_under: BTreeSet<KeyRange>,
    pub keys: BTreeSet<KeyDigest>,
    pub due: Vec<DueClaim>,
    pub fair: Vec<FairClaim>,
    /// They need the freezes: queues of frozen merchants are passed over.
    pub queues: Vec<QueueClaim>,
    /// Tallies by name.
    pub tallies: BTreeSet<String>,
    /// What holds payouts back: freezes, and a restore of the books.
    pub control: bool,
    /// Registry records: merchants, beneficiaries, API keys, alerts, endpoints.
    pub registry: BTreeSet<RecordKey>,
}

impl ReadPlan {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// All records that posting an event may touch.
    pub(crate) fn add_bound(&mut self, bound: &Bound<'_>) {
        let reference = bound.reference().to_owned();
        if let Some((_, code)) = bound.rule().hold() {
            self.add_hold(HoldKey { code, reference: reference.clone() });
        }
        self.references.insert((Name::clone(bound.rule().event()), reference));
        self.add_accounts(bound);
    }

    pub(crate) fn add_accounts(&mut self, bound: &Bound<'_>) {
        let accounts = bound.accounts().iter();
        self.accounts
            .extend(accounts.map(|account| (Name::clone(&account.address), account.currency)));
    }

    pub(crate) fn add_booking(
        &mut self,
        rulebook: &Rulebook,
        rule: &str,
        name: &str,
        funds: &Funds,
    ) {
        let rule = rulebook.rule(rule);
        // An event that cannot be bound is rejected at booking and needs no records.
        if let Ok(bound) = rule.and_then(|rule| rule.bind(name, funds, None)) {
            self.add_bound(&bound);
        }
    }

    /// The hold, and the reopened hold that it means if it names an epoch.
    pub(crate) fn add_hold(&mut self, key: HoldKey) {
        self.holds.extend(key.reopened().map(|(key, _)| key));
        self.holds.insert(key);
    }
}

/// A read plan under construction, and the rules that determine the bookings.
#[derive(Debug)]
pub(crate) struct Reads<'r> {
    pub(crate) rules: &'r Rules,
    /// The last restore of the books, in the second round.
    pub(crate) restore: Option<&'r Restore>,
    pub(crate) plan: ReadPlan,
}

/// The first round: the records that the requests name themselves.
pub fn plan(batch: &TurnInput<'_>) -> ReadPlan {
    let rules = batch.rules();
    let mut reads = Reads { rules, restore: None, plan: ReadPlan::default() };
    let mut planners = Planners::new(rules);
    for (admission, ready) in batch.ready() {
        ready.plan(admission, &mut planners, &mut reads);
    }
    let mut plan = reads.plan;
    // Earlier requests of the batch may end flows of the lane, so the claim reads that many more.
    let named = plan.flows.len().saturating_add(plan.attempts.len());
    let named = u32::try_from(named).unwrap_or(u32::MAX);
    let claims = plan.due.iter_mut().map(|claim| &mut claim.limit);
    for limit in claims.chain(plan.queues.iter_mut().map(|claim| &mut claim.limit)) {
        *limit = limit.saturating_add(named);
    }
    plan
}

/// The second round: the records that flows may book on, the accounts and holds of transactions to revert, and earlier
/// reverts.
pub fn plan_second(batch: &TurnInput<'_>, known: &ReadPlan, first: &ReadSet) -> ReadPlan {
    if batch.only_quarantines() {
        return ReadPlan::default();
    }
    let rules = batch.rules();
    let restore = first.control.as_ref().and_then(|control| control.restore.as_ref());
    let mut reads = Reads { rules, restore, plan: ReadPlan::default() };
    for (_, ready) in batch.ready() {
        ready.plan_second(first, &mut reads);
    }
    let mut planners = Planners::new(rules);
    for flow in &first.flows {
        each_plan!(&flow.state, planners, (it, planner) => it.plan(flow, planner, &mut reads));
        // The merchant record holds the event filters, which also change when an endpoint is disabled.
        reads.plan.registry.insert(RecordKey::merchant(&flow.merchant));
    }
    let mut plan = reads.plan;
    // Whether earlier postings are reverted.
    let posted = first.references.iter().map(|known| (REVERT.into(), known.id.to_string()));
    plan.references.extend(posted);
    plan.accounts.retain(|key| !known.accounts.contains(key));
    plan.holds.retain(|key| !known.holds.contains(key));
    plan.registry.retain(|key| !known.registry.contains(key));
    plan
}
