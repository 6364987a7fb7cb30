//! Checks of every commit, at the moment at which it is saved.

use std::collections::BTreeSet;

use bursar_core::money::Currency;
use bursar_core::turn::{Commit, FlowWrite};

use super::super::calls::Calls;
use super::super::invariant::Invariant;
use super::super::kinds::{Kind, status_of};
use super::super::payouts::channel::Channels;
use super::Audit;

impl Audit {
    /// A commit was saved, with or without an answer to the caller.
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
            self.look_at_case(write, commit);
        }
        let calls = Calls::new(commit.effects.iter().cloned());
        self.follow_webhooks(commit, &calls.webhooks, times);
        self.follow_money(commit);
        // Requests come before claims: a freeze holds for its own commit too.
        if let Some(after) = commit.control.as_ref().and_then(|write| write.after.as_ref()) {
            self.frozen = after.freezes.keys().cloned().collect();
        }
        for call in &calls.channels {
            self.look_at_call(call);
            self.look_at_slot(call);
        }
        self.count_sending(commit);
        self.follow_decisions(commit);
        self.follow_approvals(commit);
    }

    /// Events are numbered without gaps, and follow the arrows.
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
            let emitted = self.sequences.get(&write.after.name()).copied().unwrap_or_default();
            let about = self.name(write.after.id);
            self.check(
                Invariant::EventsWithoutGap,
                &about,
                emitted == write.after.sequence,
                || format!("{} events are counted, {emitted} were emitted", write.after.sequence),
            );
            self.look_at_arrows(write, commit);
        }
    }

    fn look_at_arrows(&mut self, write: &FlowWrite, commit: &Commit) {
        let resource = write.after.name();
        let emitted = commit.events.iter().filter(|event| event.resource == resource);
        let emitted: Vec<String> = emitted.map(|event| status_of(&event.kind)).collect();
        let kind = Kind::of(&write.after.state);
        let mut status = write.before.as_ref().map(|flow| flow.state.status().to_owned());
        let about = self.name(write.after.id);
        for next in emitted {
            // A case may be opened where nothing else changes.
            let is_listed = status
                .as_ref()
                .is_none_or(|status| *status == next || kind.next(status).contains(&next.as_str()));
            let from = status.replace(next.clone()).unwrap_or_default();
            self.check(Invariant::ListedTransition, &about, is_listed, || {
                format!("{from} became {next}")
            });
        }
        let now = write.after.state.status();
        if !write.after.state.info().notifies() {
            self.look_at_unnotified(kind, &about, (status.as_deref(), now));
            return;
        }
        self.check(Invariant::EventsWithoutGap, &about, status.as_deref() == Some(now), || {
            format!("it became {now}, without an event")
        });
    }

    /// A flow without events of its own: a commit may hold two steps of it.
    fn look_at_unnotified(&mut self, kind: &Kind, about: &str, step: (Option<&str>, &str)) {
        let (before, now) = step;
        let reaches = |from: &str, to: &str| kind.next(from).contains(&to);
        let is_listed = match before {
            // A new flow may make its first step at once.
            None => {
                kind.arrows.first().is_some_and(|(first, _)| *first == now || reaches(first, now))
            }
            Some(from) => {
                let mut one = kind.next(from).iter();
                from == now || one.any(|step| *step == now || reaches(step, now))
            }
        };
        self.check(Invariant::ListedTransition, about, is_listed, || {
            format!("{} became {now}", before.unwrap_or("nothing"))
        });
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
}
