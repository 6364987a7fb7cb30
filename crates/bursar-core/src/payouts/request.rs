//! The requests of the payout domain, their validation without records, and their replies.

use std::sync::Arc;

use jiff::Timestamp;

use super::beneficiary::Beneficiary;
use super::client_metadata::ClientMetadata;
use super::event::{Decision, When};
use super::state::Terms;
use super::step::RESERVE;
use super::view::View;
use crate::flow::{Accepted, Planners};
use crate::idempotency::Key;
use crate::ids::{FirstReferences, PayoutId};
use crate::ledger::funds::{Funds, parse_money};
use crate::ledger::pricing::{Quote, quote};
use crate::ledger::rulebook::{Bound, RequestHash};
use crate::ledger::{Admission, to_microseconds};
use crate::payouts::attempt::Evidence;
use crate::rejection::Rejection;
use crate::rules::Rules;
use crate::turn::check::{check_actor, check_note};
use crate::turn::{Decide, Draft, Given, Reads, asks};

#[derive(Debug, Clone)]
pub enum Request {
    Create(Box<Create>),
    Cancel(Cancel),
    Resolve(Resolve),
    Callback(Callback),
    AskAgain(AskAgain),
    Reschedule(Reschedule),
}

/// Create a payout.
#[derive(Debug, Clone)]
pub struct Create {
    pub key: Key,
    pub payout: NewPayout,
    /// The person who acts for the merchant, for the audit log and the approval: an operator, or above the limit the holder of
    /// a merchant's key that one person made alone. None for the merchant itself.
    pub actor: Option<String>,
    /// The workflow that requests the payout and drives it.
    pub workflow: Option<String>,
}

#[derive(Debug, Clone)]
pub struct Cancel {
    pub key: Key,
    pub cancellation: Cancellation,
}

/// Decide about a stuck payout.
#[derive(Debug, Clone)]
pub struct Resolve {
    pub key: Key,
    pub resolution: Resolution,
}

/// Ask the channel now what it knows, because a restore holds the payout back and a decision waits for the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AskAgain {
    pub id: PayoutId,
}

/// Send a payout that waits at another time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reschedule {
    pub id: PayoutId,
    pub when: When,
    pub expected_version: Option<u64>,
    pub actor: String,
    pub reason: String,
}

/// Evidence from a channel, by the reference that the channel was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Callback {
    pub channel: String,
    pub reference: String,
    pub evidence: Evidence,
}

/// The content of a payout request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPayout {
    pub merchant: String,
    pub channel: String,
    pub currency: String,
    /// A decimal, as text.
    pub amount: String,
    pub beneficiary: Beneficiary,
    /// The id of the registered beneficiary that the details are of. Not a part of the request hash: the details are.
    pub beneficiary_id: Option<String>,
    pub scheduled_at: Option<Timestamp>,
    pub remarks: ClientMetadata,
}

impl NewPayout {
    /// Validates the request against the channel and quotes the fee; the terms never change afterwards.
    pub(crate) fn terms(&self, rules: &Rules) -> Result<Terms, Rejection> {
        let Some(channel) = rules.channels.get(&self.channel) else {
            let known = rules.channels.keys().cloned().collect();
            return Err(Rejection::UnknownChannel { channel: self.channel.clone(), known });
        };
        let amount = parse_money("amount", &self.amount, &self.currency)?;
        let currency = amount.currency();
        if !channel.currencies.contains(&currency) {
            let channel = self.channel.clone();
            return Err(Rejection::CurrencyOfChannel { channel, currency });
        }
        if amount.minor() <= 0 {
            return Err(Rejection::NothingToPay { amount });
        }
        rules.check_size(amount)?;
        self.beneficiary.check()?;
        self.remarks.check()?;
        let quote = quote(&rules.payout_tariffs, amount)?;
        let Quote { fee, vat } = quote.unwrap_or_else(|| Quote::nothing(currency));
        let (merchant, bank) = (self.merchant.clone(), channel.bank.clone());
        Ok(Terms {
            funds: Funds { merchant, bank, amount, fee, vat },
            channel: self.channel.clone(),
            beneficiary: self.beneficiary.clone(),
            beneficiary_id: self.beneficiary_id.clone(),
            scheduled_at: self.scheduled_at.map(to_microseconds),
            remarks: self.remarks.clone(),
        })
    }

    /// A hash of the request without its fee, because tariffs and channels may change between a request and its
    /// repetition.
    pub(crate) fn request_hash(&self) -> Result<[u8; 32], Rejection> {
        let amount = parse_money("amount", &self.amount, &self.currency)?;
        let Beneficiary { name, account, msisdn, bank } = &self.beneficiary;
        let scheduled_at = self.scheduled_at.map(to_microseconds);
        let mut hash = RequestHash::new("payout", &self.merchant, scheduled_at);
        hash.add("channel", &self.channel);
        hash.add("currency", amount.currency().code());
        hash.add("amount", &amount.minor().to_string());
        hash.add("name", name);
        for (field, value) in [("account", account), ("msisdn", msisdn), ("bank", bank)] {
            hash.add(field, value.as_deref().unwrap_or_default());
        }
        hash.add("trace_id", self.remarks.trace_id.as_deref().unwrap_or_default());
        for (name, value) in &self.remarks.metadata {
            hash.add("metadata", name);
            hash.add("value", value);
        }
        // Only if present: a request without them has the hash that earlier versions stored.
        let ClientMetadata { external_id, description, .. } = &self.remarks;
        for (field, value) in [("external_id", external_id), ("description", description)] {
            if let Some(value) = value {
                hash.add(field, value);
            }
        }
        Ok(hash.finish())
    }
}

/// A request to cancel a payout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cancellation {
    pub id: PayoutId,
    pub expected_version: Option<u64>,
    pub actor: String,
}

/// An operator's decision about a stuck payout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolution {
    pub id: PayoutId,
    pub decision: Decision,
    pub evidence: String,
    pub expected_version: u64,
    pub actor: String,
    /// Whether the actor may be the approver of the two.
    pub is_approver: bool,
    /// The people who made the actor's key alone.
    pub made_by: Vec<String>,
}

impl Cancellation {
    pub(crate) fn request_hash(&self) -> [u8; 32] {
        let version = self.expected_version.map_or(String::new(), |version| version.to_string());
        let mut hash = RequestHash::new("payout.cancel", &self.id.to_string(), None);
        hash.add("expected_version", &version);
        hash.add("actor", &self.actor);
        hash.finish()
    }
}

impl Resolution {
    pub(crate) fn request_hash(&self) -> [u8; 32] {
        let mut hash = RequestHash::new(self.action(), &self.id.to_string(), None);
        hash.add("expected_version", &self.expected_version.to_string());
        hash.add("actor", &self.actor);
        hash.add("evidence", &self.evidence);
        hash.finish()
    }

    /// The name of the action in the audit log.
    pub(crate) const fn action(&self) -> &'static str {
        match self.decision {
            Decision::ConfirmPaid => "payout.confirm_paid",
            Decision::ConfirmNotPaid => "payout.confirm_not_paid",
            Decision::KeepWaiting => "payout.keep_waiting",
            Decision::NewAttempt => "payout.new_attempt",
            Decision::CloseCase => "payout.close_case",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    Payout(Given<View>),
    Accepted(Accepted),
}

asks! {
    Payouts {
        Create => Payout(Given<View>),
        Cancel => Payout(Given<View>),
        Resolve => Payout(Given<View>),
        Callback => Accepted(Accepted),
        AskAgain => Accepted(Accepted),
        Reschedule => Payout(Given<View>),
    }
}

#[derive(Debug)]
pub(crate) enum Ready<'r> {
    Create(Box<ReadyCreate<'r>>),
    Cancel(&'r Cancel),
    Resolve(&'r Resolve),
    Callback(&'r Callback),
    AskAgain(&'r AskAgain),
    Reschedule(&'r Reschedule),
}

#[derive(Debug)]
pub(crate) struct ReadyCreate<'r> {
    pub(super) create: &'r Create,
    pub(super) id: PayoutId,
    pub(super) request_hash: [u8; 32],
    /// The terms and the reservation, or the rejection. A repeated request gets its stored reply even if it would be
    /// rejected now.
    pub(super) terms: Result<(Arc<Terms>, Bound<'r>), Rejection>,
}

impl Request {
    pub(crate) fn admit<'r>(
        &'r self,
        rules: &'r Rules,
        at: &Admission,
    ) -> Result<Ready<'r>, Rejection> {
        match self {
            Self::Create(it) => Ok(Ready::Create(Box::new(it.admit(rules, at)?))),
            Self::Cancel(it) => {
                it.key.check()?;
                check_actor(&it.cancellation.actor)?;
                Ok(Ready::Cancel(it))
            }
            Self::Resolve(it) => {
                it.key.check()?;
                check_actor(&it.resolution.actor)?;
                check_note(&it.resolution.evidence)?;
                Ok(Ready::Resolve(it))
            }
            Self::Callback(it) => Ok(Ready::Callback(it)),
            Self::AskAgain(it) => Ok(Ready::AskAgain(it)),
            Self::Reschedule(it) => {
                check_actor(&it.actor)?;
                check_note(&it.reason)?;
                Ok(Ready::Reschedule(it))
            }
        }
    }
}

impl Create {
    fn admit<'r>(&'r self, rules: &'r Rules, at: &Admission) -> Result<ReadyCreate<'r>, Rejection> {
        self.key.check()?;
        let request_hash = self.payout.request_hash()?;
        let id = PayoutId::new(at.now, &at.seed, 0);
        let terms = self.payout.terms(rules).and_then(|terms| {
            let rule = rules.rulebook.rule(RESERVE)?;
            let bound = rule.bind(&id.to_string(), &terms.funds, None)?;
            Ok((Arc::new(terms), bound))
        });
        self.actor.as_deref().map_or(Ok(()), check_actor)?;
        Ok(ReadyCreate { create: self, id, request_hash, terms })
    }
}

impl Decide for Ready<'_> {
    type Reply = Reply;

    fn plan<'p>(&'p self, _: &Admission, planners: &mut Planners<'p>, reads: &mut Reads<'_>) {
        let bookings = &mut planners.payout;
        // Money may be released, which a restore may forbid.
        reads.plan.control |= !matches!(self, Self::Create(_));
        match self {
            Self::Create(it) => it.plan(bookings, reads),
            Self::Cancel(it) => {
                reads.plan.keys.insert(it.key.digest());
                reads.plan.flows.insert(it.cancellation.id.into());
            }
            Self::Resolve(it) => {
                reads.plan.keys.insert(it.key.digest());
                reads.plan.flows.insert(it.resolution.id.into());
            }
            Self::Callback(it) => {
                reads.plan.attempts.insert((it.channel.clone(), it.reference.clone()));
                let keys = FirstReferences::of(reads.rules.books).keys(&it.reference);
                reads.plan.made_under.extend(keys);
            }
            Self::AskAgain(it) => {
                reads.plan.flows.insert(it.id.into());
            }
            Self::Reschedule(it) => {
                reads.plan.flows.insert(it.id.into());
            }
        }
    }

    fn apply(&self, draft: &mut Draft<'_>, at: &Admission) -> Result<Reply, Rejection> {
        match self {
            Self::Create(it) => it.apply(draft, at).map(Reply::Payout),
            Self::Cancel(it) => it.apply(draft, at).map(Reply::Payout),
            Self::Resolve(it) => it.apply(draft, at).map(Reply::Payout),
            Self::Callback(it) => it.apply(draft, at).map(Reply::Accepted),
            Self::AskAgain(it) => it.apply(draft, at).map(Reply::Accepted),
            Self::Reschedule(it) => it.apply(draft, at).map(Reply::Payout),
        }
    }
}
