//! Checks when a process reopens the books, and when the world has come to rest.

use std::collections::{BTreeMap, BTreeSet};

use bursar_core::flow::Flow;
use bursar_core::ids::FlowId;
use bursar_core::ledger::HoldState;
use bursar_core::ledger::rulebook::Rulebook;
use bursar_store::{Query, StoreError, Walk as _};

use super::super::invariant::Invariant;
use super::super::payouts::channel::Channels;
use super::super::payouts::truths;
use super::{Audit, Purse};
use crate::truth::Truth;

impl Audit {
    /// The books say what was saved, after a crash as well.
    pub(crate) async fn look_again(&mut self, books: &mut impl Query) -> Result<(), StoreError> {
        let flows = books.flows(None, u32::MAX).await?;
        let found: BTreeMap<FlowId, &Flow> = flows.iter().map(|flow| (flow.id, flow)).collect();
        let differs = |(id, flow): &(&FlowId, &Flow)| found.get(*id) != Some(flow);
        let wrong = self.flows.iter().find(differs).map(|(id, _)| self.name(*id));
        let is_same = wrong.is_none() && found.len() == self.flows.len();
        self.check(Invariant::BooksSurvive, &wrong.unwrap_or_default(), is_same, || {
            "a flow is not as it was saved".to_owned()
        });
        let mut wrong = None;
        for (address, account) in books.accounts().await? {
            let own = self.balance(&address, account.balance.currency());
            if own != i128::from(account.balance.minor()) {
                wrong = Some(format!("{address} has {}, was saved as {own}", account.balance));
            }
        }
        self.check(Invariant::BooksSurvive, "", wrong.is_none(), || wrong.unwrap_or_default());
        let commits = books.head().await?.seq;
        let saved = self.commits;
        self.check(Invariant::BooksSurvive, "", commits == saved, || {
            format!("{commits} commits are there, {saved} were saved")
        });
        Ok(())
    }

    /// Everything has come to rest: the ledger is what the world did.
    pub(crate) async fn close(
        &mut self,
        books: &mut impl Query,
        rulebook: &Rulebook,
        channels: &Channels,
    ) -> Result<(), StoreError> {
        self.look_again(books).await?;
        let holds = books.holds().await?;
        let open = holds.iter().filter(|(_, hold)| hold.state == HoldState::Open).count();
        self.check(Invariant::EveryFlowEnds, "", open == 0, || format!("{open} holds are open"));
        let flows: Vec<Flow> = self.flows.values().cloned().collect();
        for flow in &flows {
            let about = self.name(flow.id);
            let status = flow.state.status();
            let is_ended = flow.due().is_none() || super::is_over(flow);
            self.check(Invariant::EveryFlowEnds, &about, is_ended, || {
                format!("it is still {status}")
            });
            self.compare(flow, channels);
        }
        self.compare_merchants(&flows, channels);
        let report = books.verify(rulebook).await?;
        self.check(Invariant::Verified, "", report.difference_count == 0, || {
            report.differences.join("; ")
        });
        Ok(())
    }

    /// Every merchant has what came in less what went out, by our own arithmetic.
    fn compare_merchants(&mut self, flows: &[Flow], channels: &Channels) {
        let mut expected: BTreeMap<Purse, i128> = BTreeMap::new();
        let mut add = |purse: &Purse, minor: i128| {
            let sum = expected.entry(purse.clone()).or_default();
            *sum = sum.saturating_add(minor);
        };
        for (purse, minor) in self.by_hand.values() {
            add(purse, *minor);
        }
        for flow in flows {
            let Some(order) = self.orders.get(&flow.id) else { continue };
            let charges = order.fee.saturating_add(order.vat);
            if let Some(payout) = flow.state.payout() {
                let truths = truths(payout, channels);
                let is_returned = truths.contains(&Truth::Returned);
                if truths.iter().any(|truth| truth.is_paid()) {
                    add(&order.purse, order.amount.saturating_add(charges).saturating_neg());
                }
                if is_returned {
                    add(&order.purse, order.amount);
                }
            } else if self.completed.contains(&flow.id) {
                add(&order.purse, order.amount.saturating_sub(charges));
            }
        }
        let known: BTreeSet<Purse> = self
            .balances
            .keys()
            .filter_map(|(address, currency)| {
                let merchant = address.strip_prefix("merchants:")?.split(':').next()?;
                Some((merchant.to_owned(), *currency))
            })
            .collect();
        for purse in known.into_iter().chain(expected.keys().cloned()) {
            let (merchant, currency) = &purse;
            let wanted = expected.get(&purse).copied().unwrap_or_default();
            let has =
                self.balance(&format!("merchants:{merchant}:available:{currency}"), *currency);
            self.check(Invariant::MerchantsHave, "", has == wanted, || {
                format!("{merchant} has {has} {currency}, should have {wanted}")
            });
        }
    }
}
