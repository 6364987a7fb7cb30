//! The records that payouts need.

use std::collections::BTreeSet;

use super::apply::epoch_name;
use super::reported_payment::ReportedPayment;
use super::request::ReadyCreate;
use super::state::Payout;
use super::step::ATTEMPTS_MAX;
use crate::ids::TransactionId;
use crate::ledger::chart::{GlAccount, GlCode};
use crate::ledger::funds::Funds;
use crate::ledger::rulebook::{Rule, Rulebook};
use crate::ledger::{AccountKey, HoldKey, REVERT};
use crate::money::Currency;
use crate::numscript::Name;
use crate::registry::RecordKey;
use crate::turn::Reads;

/// All bookings of a payout after its reservation.
const BOOKINGS: [&str; 3] = ["PAYOUT_SETTLE", "PAYOUT_RELEASE", "PAYOUT_RETURN"];

/// The chart lines that payouts book on, the same for all of them.
#[derive(Debug)]
pub(crate) struct Bookings<'p> {
    lines: Vec<&'p GlAccount>,
    hold: Option<GlCode>,
    /// The merchants, banks and currencies whose accounts are already planned.
    parties: BTreeSet<(&'p str, &'p str, Currency)>,
    /// Buffer for addresses.
    buffer: String,
}

impl<'p> Bookings<'p> {
    pub(super) fn new(rulebook: &'p Rulebook) -> Self {
        let rules = || BOOKINGS.into_iter().filter_map(|rule| rulebook.rule(rule).ok());
        let mut lines: Vec<&GlAccount> = rules().flat_map(Rule::accounts).collect();
        lines.sort_by_key(|line| line.code);
        lines.dedup_by_key(|line| line.code);
        let hold = rules().find_map(Rule::hold).map(|(_, code)| code);
        Self { lines, hold, parties: BTreeSet::new(), buffer: String::new() }
    }

    /// Empty if they are already planned.
    fn accounts(&mut self, funds: &'p Funds) -> impl Iterator<Item = AccountKey> {
        let currency = funds.amount.currency();
        let is_new = self.parties.insert((&funds.merchant, &funds.bank, currency));
        let lines = if is_new { self.lines.as_slice() } else { &[] };
        let buffer = &mut self.buffer;
        lines.iter().filter_map(move |line| {
            let pattern = line.pattern.as_ref()?;
            let value = |placeholder: &str| match placeholder {
                "merchantId" => funds.merchant.as_str(),
                "bankId" => funds.bank.as_str(),
                "currency" => currency.code(),
                // A placeholder without a value is rejected at booking and needs no records.
                _ => "",
            };
            Some((pattern.fill_in(buffer, value), currency))
        })
    }
}

impl ReadyCreate<'_> {
    pub(super) fn plan<'p>(&'p self, bookings: &mut Bookings<'p>, reads: &mut Reads<'_>) {
        // The id is new unless the key is known, so no hold and no booking can exist under it yet.
        reads.plan.keys.insert(self.create.key.digest());
        if let Ok((terms, bound)) = &self.terms {
            reads.plan.add_accounts(bound);
            reads.plan.registry.insert(RecordKey::merchant(&terms.funds.merchant));
            // A later request of the same batch may book for it.
            reads.plan.accounts.extend(bookings.accounts(&terms.funds));
        }
    }
}

impl Payout {
    /// The records that a live payout may book on. Its hold shows whether it was settled or released before, and only
    /// the payout books under its name, so it needs no references.
    pub(super) fn plan_live<'p>(
        &'p self,
        name: String,
        bookings: &mut Bookings<'p>,
        reads: &mut Reads<'_>,
    ) {
        reads.plan.holds.extend(bookings.hold.map(|code| HoldKey { code, reference: name }));
        reads.plan.accounts.extend(bookings.accounts(&self.terms.funds));
    }

    /// What a report lists about its attempts and the next one, if the books were restored and there is a report.
    pub(super) fn plan_recheck(&self, reads: &mut Reads<'_>) {
        let channel = self.terms.channel.as_str();
        let Some(restore) = reads.restore.filter(|restore| restore.is_open_for(channel)) else {
            return;
        };
        if let Some(report) = restore.reports.get(channel) {
            let key =
                |number| ReportedPayment::key(channel, &report.digest, &self.reference_of(number));
            reads.plan.registry.extend((1..=ATTEMPTS_MAX).map(key));
        }
    }

    /// Same, for a finished payout. A correction reopens its hold.
    pub(super) fn plan_over(&self, name: &str, reads: &mut Reads<'_>) {
        let (epoch, plan) = (self.hold_epoch, &mut reads.plan);
        for epoch in [epoch, epoch.saturating_add(1)] {
            let name = epoch_name(name, epoch);
            for rule in BOOKINGS {
                plan.add_booking(&reads.rules.rulebook, rule, &name, &self.terms.funds);
            }
        }
        plan.transactions.extend(self.released_by);
        let revert = |id: TransactionId| (Name::from(REVERT), id.to_string());
        plan.references.extend(self.released_by.map(revert));
    }
}
