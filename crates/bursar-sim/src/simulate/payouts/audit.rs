//! What the auditor checks about payouts.

use std::collections::BTreeSet;

use bursar_core::flow::Flow;
use bursar_core::freezes::Scope;
use bursar_core::payouts::attempt::{Attempt, Source};
use bursar_core::payouts::{Order, Payout};
use bursar_core::turn::{Commit, FlowWrite};

use super::ChannelCall;
use super::channel::{Case, Channels, Name};
use crate::simulate::audit::Audit;
use crate::simulate::invariant::Invariant;
use crate::simulate::swarm::FOUR_EYES_ABOVE;
use crate::truth::Truth;

impl Audit {
    pub(crate) fn look_at_payout(&mut self, write: &FlowWrite, channels: &Channels) {
        let Some(payout) = write.after.state.payout() else { return };
        let before = write.before.as_ref().and_then(|flow| flow.state.payout());
        let about = self.name(write.after.id);
        let live = payout.attempts.iter().filter(|attempt| attempt.is_live()).count();
        self.check(Invariant::OneLiveAttempt, &about, live <= 1, || {
            format!("{live} attempts may be paid")
        });
        if payout.settled.is_some() && before.is_none_or(|before| before.settled.is_none()) {
            let settled =
                payout.attempts.iter().find(|attempt| Some(attempt.number) == payout.settled);
            let is_paid = settled.is_some_and(|attempt| {
                let name = (payout.terms.channel.clone(), attempt.reference.clone());
                channels.truth(&name).is_paid()
            });
            self.check(Invariant::SettledIsPaid, &about, is_paid, || {
                "settled, and the channel has not paid".to_owned()
            });
            let is_other = truths(payout, channels).contains(&Truth::PaidOther);
            let mut evidence = settled.into_iter().flat_map(Attempt::evidence);
            let is_decided = evidence.any(|(evidence, _)| evidence.source == Source::Operator);
            self.check(Invariant::AmountIsAsked, &about, !is_other || is_decided, || {
                "settled without a person, and the channel has paid another amount".to_owned()
            });
        }
        let is_over =
            |payout: &Payout| matches!(payout.state.status(), "FAILED" | "CANCELLED" | "EXPIRED");
        if is_over(payout) && !before.is_some_and(is_over) {
            let wrong = payout.attempts.iter().find_map(|attempt| {
                let name = (payout.terms.channel.clone(), attempt.reference.clone());
                let is_paid = channels.truth(&name).is_paid();
                (is_paid || channels.may_be_paid(&name)).then_some((attempt.number, is_paid))
            });
            self.check(Invariant::ReleasedIsNotPaid, &about, wrong.is_none(), || {
                let (number, is_paid) = wrong.unwrap_or_default();
                let how = if is_paid { "was paid" } else { "may still be paid" };
                format!("released, and attempt {number} {how}")
            });
        }
    }

    /// What is planned to be sent is not frozen by anything that was saved before.
    pub(crate) fn look_at_call(&mut self, call: &ChannelCall) {
        if !matches!(call.call.order, Order::Submit { .. }) {
            return;
        }
        let flow = call.effect.flow;
        let merchant = self.flows.get(&flow).map(|flow| flow.merchant.clone());
        let scopes = [
            Scope::Global,
            Scope::Channel(call.call.channel.clone()),
            Scope::Merchant(merchant.unwrap_or_default()),
        ];
        let frozen = scopes.iter().find(|scope| self.frozen.contains(scope)).cloned();
        let about = self.name(flow);
        self.check(Invariant::FrozenIsNotSent, &about, frozen.is_none(), || {
            let scope = frozen.map(|scope| scope.to_string()).unwrap_or_default();
            format!("planned to be sent, and {scope} is frozen")
        });
    }

    /// Who decided, and whether they were enough.
    pub(crate) fn follow_decisions(&mut self, commit: &Commit) {
        for entry in &commit.audit {
            if entry.action == "payout.propose" || sends_or_books(&entry.action) {
                let who = self.deciders.entry(entry.resource.clone()).or_default();
                // Two keys of one person are one person.
                let person = entry.actor.rsplit_once('/').map_or(&*entry.actor, |(name, _)| name);
                who.insert(person.to_owned());
            }
        }
        let decided = commit.audit.iter().filter(|entry| sends_or_books(&entry.action));
        let decided: Vec<&str> = decided.map(|entry| entry.resource.as_str()).collect();
        for resource in decided {
            let flow = commit.flows.iter().find(|write| write.after.name() == resource);
            let Some(flow) = flow.map(|write| &write.after) else { continue };
            let Some(funds) = flow.state.funds() else { continue };
            let amount = funds.amount;
            let unit = 10_i64.saturating_pow(u32::from(amount.currency().decimals()));
            let limit = FOUR_EYES_ABOVE.saturating_mul(unit);
            let people = self.deciders.get(resource).map_or(0, BTreeSet::len);
            let about = self.name(flow.id);
            let is_enough = people >= 2 || amount.minor() <= limit;
            self.check(Invariant::TwoPeople, &about, is_enough, || {
                format!("{amount} was decided by {people}")
            });
        }
    }

    /// A channel got a submission.
    pub(crate) fn arrived(&mut self, name: &Name, r#try: u32, is_allowed: bool) {
        let about = self.about(name);
        let flow = self.flow_of(name).and_then(|id| self.flows.get(&id));
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

    /// At the end: one payout against the channel's own books.
    pub(crate) fn compare(&mut self, flow: &Flow, channels: &Channels) {
        let Some(payout) = flow.state.payout() else { return };
        let channel = &payout.terms.channel;
        let truths = truths(payout, channels);
        let status = flow.state.status();
        let is_right = if truths.contains(&Truth::Returned) {
            status == "RETURNED"
        } else if truths.iter().any(|truth| truth.is_paid()) {
            matches!(status, "SUCCESS" | "LATE_SUCCESS")
        } else {
            matches!(status, "FAILED" | "CANCELLED" | "EXPIRED")
        };
        let about = self.name(flow.id);
        self.check(Invariant::LedgerIsWorld, &about, is_right, || {
            format!("it is {status}, and {channel} has {truths:?}")
        });
        let asked = self.orders.get(&flow.id).map(|order| order.amount);
        for attempt in &payout.attempts {
            let case = channels.cases.get(&(channel.clone(), attempt.reference.clone()));
            let as_asked = |case: &&Case| matches!(case.truth, Truth::Paid | Truth::Returned);
            let paid = case.filter(as_asked).map(|case| case.amount.minor());
            let is_right = paid.is_none_or(|paid| Some(i128::from(paid)) == asked);
            self.check(Invariant::LedgerIsWorld, &about, is_right, || {
                format!("{channel} paid {paid:?}, {asked:?} was asked for")
            });
        }
    }
}

/// What the channel has really done with each attempt.
pub(crate) fn truths(payout: &Payout, channels: &Channels) -> Vec<Truth> {
    let channel = &payout.terms.channel;
    let name = |reference: &str| (channel.clone(), reference.to_owned());
    payout.attempts.iter().map(|attempt| channels.truth(&name(&attempt.reference))).collect()
}

/// Whether a decision moves money, and so needs two people above the limit.
fn sends_or_books(action: &str) -> bool {
    matches!(action, "payout.confirm_paid" | "payout.confirm_not_paid" | "payout.new_attempt")
}
