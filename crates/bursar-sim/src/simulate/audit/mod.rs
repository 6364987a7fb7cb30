//! An independent auditor. It sees only what was saved, what channels and receivers got, and what was answered, keeps
//! books of its own, and checks every invariant at every event.

mod answers;
mod commits;
mod end;
mod money;

use std::collections::{BTreeMap, BTreeSet};

use bursar_core::flow::Flow;
use bursar_core::freezes::Scope;
use bursar_core::ids::{FlowId, TransactionId};
use bursar_core::money::Currency;
use bursar_core::rules::Rules;
use jiff::Timestamp;

use super::invariant::{Broken, Invariant};
use super::kinds::Kind;
use super::payouts::channel::Name;
use super::payouts::dispatch;
use super::{approvals, webhooks};

pub(crate) use answers::Shown;
pub(crate) use money::{Order, minor};

/// Whose money, in which currency.
type Purse = (String, Currency);

#[derive(Debug, Default)]
pub(crate) struct Audit {
    pub(crate) counts: BTreeMap<Invariant, u64>,
    pub(crate) broken: Option<Broken>,
    /// Flows as they were saved last, and their short names.
    pub(crate) flows: BTreeMap<FlowId, Flow>,
    names: BTreeMap<FlowId, String>,
    /// The same, by their public names.
    pub(crate) resources: BTreeMap<String, String>,
    pub(crate) due: BTreeSet<(Timestamp, FlowId)>,
    /// The flow of each reference.
    references: BTreeMap<Name, FlowId>,
    /// Which attempts of a flow were paid.
    pub(crate) paid: BTreeMap<FlowId, BTreeSet<String>>,
    balances: BTreeMap<(String, Currency), money::Balance>,
    transactions: BTreeSet<TransactionId>,
    sequences: BTreeMap<String, u64>,
    pub(crate) frozen: BTreeSet<Scope>,
    /// What was answered under each key.
    replies: BTreeMap<(String, String), answers::Given>,
    /// What payouts and pay-ins should cost, by what was asked for.
    pub(crate) orders: BTreeMap<FlowId, Order>,
    /// Pay-ins whose provider has reported them complete.
    pub(crate) completed: BTreeSet<FlowId>,
    /// What postings by hand have done to merchants, by their references.
    by_hand: BTreeMap<(String, String), (Purse, i128)>,
    /// Who decided about a payout.
    pub(crate) deciders: BTreeMap<String, BTreeSet<String>>,
    pub(crate) webhooks: webhooks::Books,
    pub(crate) approvals: approvals::Books,
    pub(crate) dispatch: dispatch::Books,
    pub(crate) commits: u64,
}

impl Audit {
    pub(crate) fn new(rules: &Rules) -> Self {
        let pauses = u32::try_from(rules.deliveries.pauses.len()).unwrap_or(u32::MAX);
        let mut audit = Self::default();
        audit.webhooks.attempts_max = pauses.saturating_add(1);
        audit.approvals.rules.clone_from(&rules.approvals);
        audit.dispatch = dispatch::Books::new(rules);
        audit
    }

    /// Checks one invariant. The first that does not hold is reported.
    pub(crate) fn check(
        &mut self,
        invariant: Invariant,
        about: &str,
        holds: bool,
        what: impl FnOnce() -> String,
    ) {
        let count = self.counts.entry(invariant).or_default();
        *count = count.saturating_add(1);
        if !holds && self.broken.is_none() {
            self.broken = Some(Broken { invariant, about: about.to_owned(), what: what() });
        }
    }

    /// The short name of a flow, the same in every run.
    pub(crate) fn name(&self, id: FlowId) -> String {
        self.names.get(&id).cloned().unwrap_or_default()
    }

    pub(crate) fn about(&self, name: &Name) -> String {
        self.references.get(name).map(|id| self.name(*id)).unwrap_or_default()
    }

    pub(crate) fn flow_of(&self, name: &Name) -> Option<FlowId> {
        self.references.get(name).copied()
    }

    /// Remembers a flow as it was saved.
    fn keep(&mut self, flow: &Flow) {
        if !self.names.contains_key(&flow.id) {
            let letter = Kind::of(&flow.state).letter;
            let number = self.names.len().saturating_add(1);
            let name = format!("{letter}{number}");
            self.resources.insert(flow.name(), name.clone());
            self.names.insert(flow.id, name);
        }
        let before = self.flows.get(&flow.id).and_then(Flow::due);
        if let Some(due) = before {
            self.due.remove(&(due.at, flow.id));
        }
        if !is_over(flow) {
            self.due.extend(flow.due().map(|due| (due.at, flow.id)));
        }
        for (speaker, name) in flow.references() {
            self.references.insert((speaker.into_owned(), name.to_owned()), flow.id);
        }
        self.flows.insert(flow.id, flow.clone());
    }
}

/// Dead letters and cancelled deliveries are never claimed: only an operator request reopens them.
fn is_over(flow: &Flow) -> bool {
    flow.state.delivery().is_some_and(|delivery| delivery.state.is_over())
}
