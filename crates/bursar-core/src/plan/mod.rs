//! Which records a batch needs. Two rounds, never more: what the second asks for follows from what the first found.

mod claim;

use std::collections::BTreeSet;

use crate::admit::Admitted;
use crate::apply::epoch_name;
use crate::chart::{GlAccount, GlCode};
use crate::flow::FlowState;
use crate::funds::Funds;
use crate::idempotency::{Key, KeyDigest};
use crate::ids::{FlowId, TransactionId};
use crate::journal::WORLD;
use crate::ledger::{AccountKey, Admission, HoldKey, REVERT, Transaction};
use crate::money::Currency;
use crate::numscript::Name;
use crate::payin;
use crate::payout::Payout;
use crate::records::ReadSet;
use crate::registry::{Change, Content, RecordKey};
use crate::request::{Batch, Wake};
use crate::reservation::Booking;
use crate::rulebook::{Bound, Rule, Rulebook};

pub use claim::{DueClaim, FairClaim};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadPlan {
    /// Event and reference, to answer what was posted before.
    pub references: BTreeSet<(Name, String)>,
    /// Transactions with their postings, to take them back.
    pub transactions: BTreeSet<TransactionId>,
    pub holds: BTreeSet<HoldKey>,
    pub accounts: BTreeSet<AccountKey>,
    pub flows: BTreeSet<FlowId>,
    /// Flows by channel and reference of one of their attempts.
    pub attempts: BTreeSet<(String, String)>,
    pub keys: BTreeSet<KeyDigest>,
    pub due: Vec<DueClaim>,
    pub fair: Vec<FairClaim>,
    /// The switches that people throw.
    pub control: bool,
    /// Merchants, beneficiaries and keys.
    pub registry: BTreeSet<RecordKey>,
}

impl ReadPlan {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Everything that an event may touch.
    fn add_bound(&mut self, bound: &Bound<'_>) {
        let reference = bound.reference().to_owned();
        if let Some((_, code)) = bound.rule().hold() {
            self.add_hold(HoldKey { code, reference: reference.clone() });
        }
        self.references.insert((Name::clone(bound.rule().event()), reference));
        self.add_accounts(bound);
    }

    fn add_accounts(&mut self, bound: &Bound<'_>) {
        let accounts = bound.accounts().iter();
        self.accounts
            .extend(accounts.map(|account| (Name::clone(&account.address), account.currency)));
    }

    /// What a reservation may book, whatever is decided about it.
    fn add_reservation(&mut self, rulebook: &Rulebook, name: &str, funds: &Funds) {
        for booking in [Booking::Settle, Booking::Release] {
            self.add_booking(rulebook, booking.rule(), name, funds);
        }
    }

    /// What a payout may book as long as it is not over. Its hold says whether it was settled or released before, and
    /// nothing else books under its name, so there is no reference to be known.
    fn add_live_payout<'r>(
        &mut self,
        bookings: &mut PayoutBookings<'r>,
        name: &str,
        funds: &'r Funds,
    ) {
        let holds = bookings.hold.map(|code| HoldKey { code, reference: name.to_owned() });
        self.holds.extend(holds);
        self.accounts.extend(bookings.accounts(funds));
    }

    /// The same for a payout that is over. A correction opens its hold once more.
    fn add_payout(&mut self, rulebook: &Rulebook, name: &str, payout: &Payout) {
        let epoch = payout.hold_epoch;
        for epoch in [epoch, epoch.saturating_add(1)] {
            let name = epoch_name(name, epoch);
            for rule in PAYOUT_BOOKINGS {
                self.add_booking(rulebook, rule, &name, &payout.terms.funds);
            }
        }
        self.transactions.extend(payout.released_by);
        let revert = |id: TransactionId| (Name::from(REVERT), id.to_string());
        self.references.extend(payout.released_by.map(revert));
    }

    fn add_booking(&mut self, rulebook: &Rulebook, rule: &str, name: &str, funds: &Funds) {
        let rule = rulebook.rule(rule);
        // What cannot be bound is refused when it is booked; it needs no records for that.
        if let Ok(bound) = rule.and_then(|rule| rule.bind(name, funds, None)) {
            self.add_bound(&bound);
        }
    }

    fn add_change(&mut self, change: &Change, admission: &Admission) {
        self.registry.insert(change.target(admission));
        let merchants = change.owner().into_iter().chain(change.subscriber());
        self.registry.extend(merchants.map(RecordKey::merchant));
    }

    /// The hold, and the one that it means if it names an epoch.
    fn add_hold(&mut self, key: HoldKey) {
        self.holds.extend(key.reopened().map(|(key, _)| key));
        self.holds.insert(key);
    }
}

/// Everything that may be booked for a payout once its money is on hold.
const PAYOUT_BOOKINGS: [&str; 3] = ["PAYOUT_SETTLE", "PAYOUT_RELEASE", "PAYOUT_RETURN"];

/// Where payouts are booked: the same lines of the chart for all of them.
struct PayoutBookings<'r> {
    lines: Vec<&'r GlAccount>,
    hold: Option<GlCode>,
    /// Those whose accounts were asked for: merchant, bank and currency.
    parties: BTreeSet<(&'r str, &'r str, Currency)>,
    /// Where addresses are written.
    place: String,
}

impl<'r> PayoutBookings<'r> {
    fn new(rulebook: &'r Rulebook) -> Self {
        let rules = || PAYOUT_BOOKINGS.into_iter().filter_map(|rule| rulebook.rule(rule).ok());
        let mut lines: Vec<&GlAccount> = rules().flat_map(Rule::accounts).collect();
        lines.sort_by_key(|line| line.code);
        lines.dedup_by_key(|line| line.code);
        let hold = rules().find_map(Rule::hold).map(|(_, code)| code);
        Self { lines, hold, parties: BTreeSet::new(), place: String::new() }
    }

    /// None if they were asked for before.
    fn accounts(&mut self, funds: &'r Funds) -> impl Iterator<Item = AccountKey> {
        let currency = funds.amount.currency();
        let is_new = self.parties.insert((&funds.merchant, &funds.bank, currency));
        let lines = if is_new { self.lines.as_slice() } else { &[] };
        let place = &mut self.place;
        lines.iter().filter_map(move |line| {
            let pattern = line.pattern.as_ref()?;
            let value = |placeholder: &str| match placeholder {
                "merchantId" => funds.merchant.as_str(),
                "bankId" => funds.bank.as_str(),
                "currency" => currency.code(),
                // What nobody can fill is refused when it is booked; it needs no records for that.
                _ => "",
            };
            Some((pattern.fill_in(place, value), currency))
        })
    }
}

/// The first round: everything that the requests themselves name.
pub fn plan(batch: &Batch<'_>) -> ReadPlan {
    let mut plan = ReadPlan::default();
    let mut bookings = PayoutBookings::new(&batch.rules().rulebook);
    for request in batch.requests() {
        match request {
            Admitted::Post(post, _) => plan.add_bound(&post.bound),
            Admitted::Revert(back, _) => {
                let revert = &back.revert;
                plan.references.insert((REVERT.into(), revert.id.to_string()));
                plan.transactions.insert(revert.id);
            }
            Admitted::Reserve(reserve, _) => {
                plan.keys.insert(reserve.key.digest());
                plan.add_bound(&reserve.bound);
                // A later request of the same batch may decide about it.
                let name = reserve.id.to_string();
                plan.add_reservation(&batch.rules().rulebook, &name, &reserve.terms.funds);
            }
            Admitted::Decide(key, decision, _) => {
                plan.keys.insert(key.digest());
                plan.flows.insert(FlowId::from(decision.id));
            }
            Admitted::CreatePayout(create, _) => {
                // Its id is new, unless the key is known: nothing can be on hold or booked under it yet.
                plan.keys.insert(create.key.digest());
                if let Ok((terms, bound)) = &create.terms {
                    plan.add_accounts(bound);
                    plan.registry.insert(RecordKey::merchant(&terms.funds.merchant));
                    // A later request of the same batch may book for it.
                    plan.accounts.extend(bookings.accounts(&terms.funds));
                }
            }
            Admitted::CancelPayout(key, cancellation, _) => {
                plan.keys.insert(key.digest());
                plan.flows.insert(FlowId::from(cancellation.id));
            }
            Admitted::ResolvePayout(key, resolution, _) => {
                plan.keys.insert(key.digest());
                plan.flows.insert(FlowId::from(resolution.id));
            }
            Admitted::Report(report, _) => {
                plan.flows.insert(report.flow);
            }
            Admitted::Tell(told, _) => {
                plan.attempts.insert((told.channel.clone(), told.reference.clone()));
            }
            Admitted::TakePayIn(take, _) => {
                plan.keys.extend(take.payin.key.as_ref().map(Key::digest));
                plan.add_bound(&take.bound);
                plan.registry.insert(RecordKey::merchant(&take.terms.funds.merchant));
                let provider = payin::lookup(&take.terms.provider);
                plan.attempts.insert((provider, take.terms.reference.clone()));
            }
            Admitted::Register(registration, admission) => {
                plan.add_change(&registration.change, admission);
            }
            Admitted::Switch(..) => plan.control = true,
            Admitted::Wake(wake, admission) => plan.add_wake(wake, admission.now),
            Admitted::Mail(mail, admission) => plan.add_mail(mail, admission.now),
            Admitted::Drive(drive, admission) => plan.add_drive(drive, admission.now),
            Admitted::SetAside(lane, _, admission) => {
                plan.add_claim(&Wake { lane: (*lane).to_owned(), limit: 1 }, admission.now);
            }
            Admitted::Refused(_) => {}
        }
    }
    // As many more as other requests of the batch may end before it comes to the claim.
    let named = plan.flows.len().saturating_add(plan.attempts.len());
    let named = u32::try_from(named).unwrap_or(u32::MAX);
    for claim in &mut plan.due {
        claim.limit = claim.limit.saturating_add(named);
    }
    plan
}

/// The second round: what flows may book, the accounts and holds of the transactions that are taken back, and what was
/// taken back before.
pub fn plan_second(batch: &Batch<'_>, known: &ReadPlan, first: &ReadSet) -> ReadPlan {
    let mut plan = ReadPlan::default();
    if batch.only_sets_aside() {
        return plan;
    }
    let reverted: BTreeSet<TransactionId> = batch.reverted().collect();
    for transaction in first.transactions.iter().filter(|found| reverted.contains(&found.id)) {
        plan.accounts.extend(touched(transaction));
        // Asked once more: whoever took it back since the first round also changed these accounts.
        plan.references.insert((REVERT.into(), transaction.id.to_string()));
        let hold = batch.rules().rulebook.rule(&transaction.event).ok().and_then(Rule::hold);
        if let Some((_, code)) = hold {
            plan.add_hold(HoldKey { code, reference: transaction.reference.clone() });
        }
    }
    let mut bookings = PayoutBookings::new(&batch.rules().rulebook);
    for flow in &first.flows {
        let (rulebook, name) = (&batch.rules().rulebook, flow.name());
        match &flow.state {
            FlowState::Reservation(reservation) => {
                plan.add_reservation(rulebook, &name, &reservation.terms.funds);
            }
            FlowState::Payout(payout) if payout.state.is_final() => {
                plan.add_payout(rulebook, &name, payout);
            }
            FlowState::Payout(payout) => {
                plan.add_live_payout(&mut bookings, &name, &payout.terms.funds);
            }
            FlowState::PayIn(payin) => {
                plan.add_booking(rulebook, payin::BOOKING, &name, &payin.terms.funds);
            }
            FlowState::Delivery(delivery) => {
                plan.registry.insert(RecordKey::endpoint(delivery.terms.endpoint));
            }
        }
        // Whoever is told has subscribed there; and an endpoint that is switched off is taken from there.
        plan.registry.insert(RecordKey::merchant(&flow.merchant));
    }
    if batch.delivers() {
        // What is told in this batch may be sent in it.
        plan.registry.extend(
            first
                .registry
                .iter()
                .flat_map(|record| match &record.content {
                    Content::Merchant(merchant) => merchant.subscriptions.as_slice(),
                    Content::Beneficiary(_)
                    | Content::ApiKey(_)
                    | Content::Alert(_)
                    | Content::Endpoint(_) => &[],
                })
                .map(|subscription| RecordKey::endpoint(subscription.endpoint)),
        );
    }
    // Whether what was posted before still stands.
    let posted = first.references.iter().map(|known| (REVERT.into(), known.id.to_string()));
    plan.references.extend(posted);
    plan.accounts.retain(|key| !known.accounts.contains(key));
    plan.holds.retain(|key| !known.holds.contains(key));
    plan.registry.retain(|key| !known.registry.contains(key));
    plan
}

fn touched(transaction: &Transaction) -> impl Iterator<Item = AccountKey> {
    transaction
        .postings
        .iter()
        .flat_map(|posting| {
            [&posting.source, &posting.destination]
                .map(|address| (Name::clone(address), posting.money.currency()))
        })
        .filter(|(address, _)| &**address != WORLD)
}
