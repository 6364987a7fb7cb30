//! An independent auditor. It learns only what was saved, what channels got and paid, and what was answered, keeps books
//! of its own, and looks at every invariant whenever something happens.

mod answers;
mod commits;
mod end;
mod mail;
mod money;

use std::collections::{BTreeMap, BTreeSet};

use bursar_core::control::Scope;
use bursar_core::flow::{Flow, FlowState};
use bursar_core::ids::{FlowId, TransactionId};
use bursar_core::money::Currency;
use bursar_core::rules::Rules;
use jiff::Timestamp;

use super::channel::Name;
use super::invariant::{Broken, Invariant};

pub(crate) use money::{minor, price};

/// Whose money, in which currency.
type Purse = (String, Currency);

#[derive(Debug, Default)]
pub(crate) struct Audit {
    pub(crate) counts: BTreeMap<Invariant, u64>,
    pub(crate) broken: Option<Broken>,
    /// Flows as they were saved last, and what they are called here.
    pub(crate) flows: BTreeMap<FlowId, Flow>,
    names: BTreeMap<FlowId, String>,
    /// The same, by the names under which people know them.
    resources: BTreeMap<String, String>,
    pub(crate) due: BTreeSet<(Timestamp, FlowId)>,
    /// Who is meant by a reference.
    references: BTreeMap<Name, FlowId>,
    /// Which attempts of a flow were paid.
    paid: BTreeMap<FlowId, BTreeSet<String>>,
    balances: BTreeMap<(String, Currency), money::Balance>,
    transactions: BTreeSet<TransactionId>,
    sequences: BTreeMap<String, u64>,
    frozen: BTreeSet<Scope>,
    /// What was answered under each key.
    replies: BTreeMap<(String, String), answers::Given>,
    /// What payouts and pay-ins should cost, by what was asked for.
    pub(crate) orders: BTreeMap<FlowId, money::Order>,
    /// Pay-ins that their provider has said to be complete, and was heard.
    completed: BTreeSet<FlowId>,
    /// What postings by hand have done to merchants, by their references.
    by_hand: BTreeMap<(String, String), (Purse, i128)>,
    /// Who decided about a payout.
    deciders: BTreeMap<String, BTreeSet<String>>,
    pub(crate) mail: mail::Books,
    pub(crate) commits: u64,
}

impl Audit {
    pub(crate) fn new(rules: &Rules) -> Self {
        let pauses = u32::try_from(rules.deliveries.pauses.len()).unwrap_or(u32::MAX);
        let mut audit = Self::default();
        audit.mail.attempts_max = pauses.saturating_add(1);
        audit
    }

    /// Looks at one invariant. The first that does not hold is what is reported.
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

    /// What a flow is called here: short, and the same in every run.
    pub(crate) fn name(&self, id: FlowId) -> String {
        self.names.get(&id).cloned().unwrap_or_default()
    }

    pub(crate) fn about(&self, name: &Name) -> String {
        self.references.get(name).map(|id| self.name(*id)).unwrap_or_default()
    }

    pub(crate) fn flow_of(&self, name: &Name) -> Option<FlowId> {
        self.references.get(name).copied()
    }

    /// A channel got a submission.
    pub(crate) fn arrived(&mut self, name: &Name, r#try: u32, is_allowed: bool) {
        let about = self.about(name);
        let flow = self.references.get(name).and_then(|id| self.flows.get(id));
        let is_planned = flow.and_then(|flow| flow.state.payout()).is_some_and(|payout| {
            let mut attempts = payout.attempts.iter();
            attempts.any(|attempt| attempt.reference == name.1 && attempt.tries >= r#try)
        });
        self.check(Invariant::SavedBeforeSent, &about, is_planned, || {
            format!("{} got a submission that the books do not know", name.0)
        });
        self.check(Invariant::SentOnce, &about, is_allowed, || {
            format!("{} got one reference twice, and promises nothing about that", name.0)
        });
    }

    /// A channel has paid.
    pub(crate) fn paid(&mut self, name: &Name, times: u32) {
        let about = self.about(name);
        let mut all = usize::try_from(times).unwrap_or(usize::MAX);
        if let Some(id) = self.flow_of(name) {
            let paid = self.paid.entry(id).or_default();
            paid.insert(name.1.clone());
            all = all.max(paid.len());
        }
        self.check(Invariant::PaidOnce, &about, all == 1, || {
            format!("{} has paid, {all} times in all", name.0)
        });
    }

    /// Remembers a flow as it was saved.
    fn keep(&mut self, flow: &Flow) {
        if !self.names.contains_key(&flow.id) {
            let letter = match flow.state {
                FlowState::Payout(_) => 'P',
                FlowState::PayIn(_) => 'I',
                FlowState::Reservation(_) => 'R',
                FlowState::Delivery(_) => 'D',
            };
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

/// Nobody wakes dead letters and what was cancelled: they only wait for people.
fn is_over(flow: &Flow) -> bool {
    flow.state.delivery().is_some_and(|delivery| delivery.state.is_over())
}
