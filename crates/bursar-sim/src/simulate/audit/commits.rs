//! What is looked at in the moment in which a commit is saved.

use std::collections::BTreeSet;

use bursar_core::commit::{Commit, FlowWrite};
use bursar_core::control::Scope;
use bursar_core::effect::{Call, Effect};
use bursar_core::flow::FlowState;
use bursar_core::money::Currency;
use bursar_core::payout::Payout;

use super::super::channel::Channels;
use super::super::invariant::Invariant;
use super::Audit;

/// The arrows of the diagrams. A commit may hold several steps of one flow; then each step is an arrow.
const PAYOUT_ARROWS: [(&str, &[&str]); 11] = [
    ("SCHEDULED", &["READY", "CANCELLED"]),
    ("READY", &["SUBMITTING", "CANCELLED", "PROCESSING", "SUCCESS", "RETURNED", "FAILED", "STUCK"]),
    (
        "SUBMITTING",
        &["READY", "UNCONFIRMED", "PROCESSING", "STUCK", "SUCCESS", "RETURNED", "FAILED"],
    ),
    ("UNCONFIRMED", &["READY", "PROCESSING", "STUCK", "SUCCESS", "RETURNED", "FAILED"]),
    ("PROCESSING", &["READY", "STUCK", "SUCCESS", "RETURNED", "FAILED"]),
    ("STUCK", &["READY", "SUCCESS", "RETURNED", "FAILED"]),
    ("SUCCESS", &["RETURNED"]),
    ("FAILED", &["LATE_SUCCESS", "RETURNED"]),
    ("CANCELLED", &["LATE_SUCCESS", "RETURNED"]),
    ("LATE_SUCCESS", &["RETURNED"]),
    ("RETURNED", &[]),
];
const DELIVERY_ARROWS: [(&str, &[&str]); 6] = [
    ("PENDING", &["DELIVERING", "CANCELLED", "DELIVERED"]),
    ("DELIVERING", &["DELIVERED", "WAITING_RETRY", "PENDING", "DLQ", "CANCELLED"]),
    ("WAITING_RETRY", &["DELIVERING", "CANCELLED", "DELIVERED"]),
    ("DLQ", &["PENDING", "DELIVERED"]),
    ("CANCELLED", &["PENDING", "DELIVERED"]),
    ("DELIVERED", &["PENDING"]),
];
const PAYIN_ARROWS: [(&str, &[&str]); 4] = [
    ("PENDING", &["COLLECTED", "FAILED"]),
    ("FAILED", &["COLLECTED"]),
    ("COLLECTED", &["CONTRADICTED"]),
    ("CONTRADICTED", &[]),
];

impl Audit {
    /// Something was saved, whatever anybody was told about it.
    pub(crate) fn saw(&mut self, commit: &Commit, channels: &Channels, times: (u64, u64)) {
        self.commits = self.commits.saturating_add(1);
        self.follow_events(commit);
        for write in &commit.flows {
            let id = write.after.id;
            let known = self.flows.get(&id);
            let is_latest = known == write.before.as_deref();
            self.keep(&write.after);
            let about = self.name(id);
            self.check(Invariant::DecidedOnLatest, &about, is_latest, || {
                "a commit changed a flow that was not as it was read".to_owned()
            });
        }
        for write in &commit.flows {
            self.look_at_payout(write, channels);
        }
        self.follow_mail(commit, times);
        self.follow_money(commit);
        // Whoever asks comes before whatever is woken: a freeze holds for its own commit too.
        if let Some(freezes) = commit.control.as_ref().and_then(|write| write.freezes.as_ref()) {
            self.frozen = freezes.keys().cloned().collect();
        }
        for effect in &commit.effects {
            self.look_at_effect(effect);
        }
        for entry in &commit.audit {
            if entry.action == "payout.propose" || sends_or_books(&entry.action) {
                let who = self.deciders.entry(entry.resource.clone()).or_default();
                // Two keys of one person are one person.
                let person = entry.actor.rsplit_once('/').map_or(&*entry.actor, |(name, _)| name);
                who.insert(person.to_owned());
            }
        }
        self.look_at_decisions(commit);
    }

    /// What is told has numbers without gaps, and goes along the arrows.
    fn follow_events(&mut self, commit: &Commit) {
        for event in &commit.events {
            let last = self.sequences.insert(event.resource.clone(), event.sequence);
            let expected = last.unwrap_or_default().saturating_add(1);
            let about = self.resources.get(&event.resource).cloned().unwrap_or_default();
            self.check(Invariant::EventsWithoutGap, &about, event.sequence == expected, || {
                format!("event {} comes where {expected} is missing", event.sequence)
            });
        }
        for write in &commit.flows {
            let told = self.sequences.get(&write.after.name()).copied().unwrap_or_default();
            let about = self.name(write.after.id);
            self.check(Invariant::EventsWithoutGap, &about, told == write.after.sequence, || {
                format!("{} events are counted, {told} were told", write.after.sequence)
            });
            self.look_at_arrows(write, commit);
        }
    }

    fn look_at_arrows(&mut self, write: &FlowWrite, commit: &Commit) {
        let resource = write.after.name();
        let told = commit.events.iter().filter(|event| event.resource == resource);
        let told = told.filter_map(|event| event.kind.split_once('.'));
        let told = told.map(|(of, status)| match (of, status) {
            ("payin", "success") => "COLLECTED".to_owned(),
            _ => status.to_ascii_uppercase(),
        });
        let mut status = write.before.as_ref().map(|flow| flow.state.status().to_owned());
        let about = self.name(write.after.id);
        for next in told.collect::<Vec<_>>() {
            let arrows: &[(&str, &[&str])] = match write.after.state {
                FlowState::Payout(_) => &PAYOUT_ARROWS,
                FlowState::PayIn(_) => &PAYIN_ARROWS,
                FlowState::Reservation(_) | FlowState::Delivery(_) => &[],
            };
            let is_listed = status.as_ref().is_none_or(|status| {
                // A case may be opened where nothing else changes.
                let mut from = arrows.iter().filter(|(from, _)| from == status);
                *status == next || from.any(|(_, to)| to.contains(&next.as_str()))
            });
            let from = status.replace(next.clone()).unwrap_or_default();
            self.check(Invariant::ListedTransition, &about, is_listed, || {
                format!("{from} became {next}")
            });
        }
        let now = write.after.state.status();
        if write.after.state.delivery().is_some() {
            self.look_at_delivery_arrows(&about, status.as_deref(), now);
            return;
        }
        self.check(Invariant::EventsWithoutGap, &about, status.as_deref() == Some(now), || {
            format!("it became {now}, and nobody was told")
        });
    }

    /// Nobody is told about deliveries, and a commit may hold two steps of one.
    fn look_at_delivery_arrows(&mut self, about: &str, before: Option<&str>, now: &str) {
        let next = |from: &str| {
            let arrows = DELIVERY_ARROWS.iter().find(|(status, _)| *status == from);
            arrows.map_or(&[][..], |(_, to)| to)
        };
        let is_listed = match before {
            // What is told may be sent at once.
            None => now == "PENDING" || next("PENDING").contains(&now),
            Some(from) => {
                let mut one = next(from).iter();
                from == now || one.any(|step| *step == now || next(step).contains(&now))
            }
        };
        self.check(Invariant::ListedTransition, about, is_listed, || {
            format!("{} became {now}", before.unwrap_or("nothing"))
        });
    }

    fn look_at_payout(&mut self, write: &FlowWrite, channels: &Channels) {
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
        }
        let is_over = |payout: &Payout| matches!(payout.state.status(), "FAILED" | "CANCELLED");
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

    /// Accounts are what the postings make them, and the sides are equal.
    fn follow_money(&mut self, commit: &Commit) {
        for transaction in &commit.transactions {
            self.post(transaction);
            self.transactions.insert(transaction.id);
        }
        let mut touched: BTreeSet<Currency> = BTreeSet::new();
        for write in &commit.accounts {
            let currency = write.after.balance.currency();
            touched.insert(currency);
            let key = (write.address.to_string(), currency);
            let balance = self.balances.entry(key).or_default();
            balance.class = Some(write.after.metadata.class);
            let (own, booked) = (balance.minor, i128::from(write.after.balance.minor()));
            self.check(Invariant::Balanced, "", own == booked, || {
                format!("{} has {booked}, its postings make {own}", write.address)
            });
        }
        for currency in touched {
            let difference = self.difference(currency);
            self.check(Invariant::Balanced, "", difference == 0, || {
                format!("debits and credits of {currency} are {difference} apart")
            });
        }
        let is_forced = commit.transactions.iter().any(|transaction| {
            transaction.reverts.is_some() || transaction.event.starts_with("CHARGEBACK")
        });
        for write in commit.flows.iter().filter(|write| write.before.is_none() && !is_forced) {
            let Some(funds) = write.after.state.funds() else { continue };
            let currency = funds.amount.currency();
            let address = format!("merchants:{}:available:{currency}", funds.merchant);
            let left = self.balance(&address, currency);
            let about = self.name(write.after.id);
            let is_payout = write.after.state.payout().is_some();
            self.check(Invariant::NotBelowZero, &about, !is_payout || left >= 0, || {
                format!("{} has {left} left", funds.merchant)
            });
        }
    }

    /// What is planned to be sent is not frozen by anything that was saved before.
    fn look_at_effect(&mut self, effect: &Effect) {
        if !matches!(effect.call, Call::Submit { .. }) {
            return;
        }
        let merchant = self.flows.get(&effect.flow).map(|flow| flow.merchant.clone());
        let scopes = [
            Scope::Global,
            Scope::Channel(effect.channel.clone()),
            Scope::Merchant(merchant.unwrap_or_default()),
        ];
        let frozen = scopes.iter().find(|scope| self.frozen.contains(scope)).cloned();
        let about = self.name(effect.flow);
        self.check(Invariant::FrozenIsNotSent, &about, frozen.is_none(), || {
            let scope = frozen.map(|scope| scope.to_string()).unwrap_or_default();
            format!("planned to be sent, and {scope} is frozen")
        });
    }

    fn look_at_decisions(&mut self, commit: &Commit) {
        let decided = commit.audit.iter().filter(|entry| sends_or_books(&entry.action));
        let decided: Vec<&str> = decided.map(|entry| entry.resource.as_str()).collect();
        for resource in decided {
            let flow = commit.flows.iter().find(|write| write.after.name() == resource);
            let Some(flow) = flow.map(|write| &write.after) else { continue };
            let Some(funds) = flow.state.funds() else { continue };
            let amount = funds.amount;
            let unit = 10_i64.saturating_pow(u32::from(amount.currency().decimals()));
            let limit = super::super::swarm::FOUR_EYES_ABOVE.saturating_mul(unit);
            let people = self.deciders.get(resource).map_or(0, BTreeSet::len);
            let about = self.name(flow.id);
            let is_enough = people >= 2 || amount.minor() <= limit;
            self.check(Invariant::TwoPeople, &about, is_enough, || {
                format!("{amount} was decided by {people}")
            });
        }
    }
}

/// Whether a decision moves money, and so needs two people if it is much.
fn sends_or_books(action: &str) -> bool {
    matches!(action, "payout.confirm_paid" | "payout.confirm_not_paid" | "payout.new_attempt")
}
