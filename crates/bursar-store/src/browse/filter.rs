//! Filters of lists.

use bursar_core::flow::{Flow, ReviewReason};
use bursar_core::ids::FlowId;
use bursar_core::money::Money;
use bursar_core::payouts::Payout;
use bursar_core::payouts::attempt::Attempt;
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

/// A filter of flows. The kind, the merchant, the parent, the time of creation, references, trace id and external id are
/// found by an index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FlowFilter {
    pub kind: &'static str,
    pub merchant: Option<String>,
    /// What the flow belongs to, such as the endpoint of a delivery.
    pub parent: Option<Uuid>,
    /// Created at this time or later.
    pub from: Option<Timestamp>,
    /// Created before this time.
    pub until: Option<Timestamp>,
    pub status: Option<String>,
    pub channel: Option<String>,
    pub currency: Option<String>,
    /// A decimal.
    pub amount: Option<String>,
    /// The channel's own reference of a payment.
    pub provider_reference: Option<String>,
    /// A reference that Bursar gave a channel, or that a provider gave a pay-in.
    pub reference: Option<String>,
    pub trace_id: Option<String>,
    /// The caller's own id of a payout.
    pub external_id: Option<String>,
    /// Any reference, or any text that a caller gave the flow.
    pub known_as: Option<String>,
}

/// A filter of reviews.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReviewFilter {
    /// Kind and reason.
    pub of: Option<(&'static str, ReviewReason)>,
    pub merchant: Option<String>,
}

impl FlowFilter {
    pub fn admits(&self, flow: &Flow) -> bool {
        let is = |wanted: &Option<String>, found: Option<&str>| {
            wanted.is_none() || wanted.as_deref() == found
        };
        let money = flow.state.funds().map(|funds| funds.amount);
        flow.state.kind() == self.kind
            && is(&self.status, Some(flow.state.status()))
            && is(&self.merchant, Some(&flow.merchant))
            && self.parent.is_none_or(|parent| flow.state.parent() == Some(parent))
            && self.from.is_none_or(|from| flow.created_at >= from)
            && self.until.is_none_or(|until| flow.created_at < until)
            && is(&self.channel, flow.state.channel())
            && is(&self.currency, money.as_ref().map(Money::code))
            && self.amount.as_ref().is_none_or(|amount| is_amount(money, amount))
            && self.provider_reference.as_ref().is_none_or(|wanted| {
                flow.state.payout().is_some_and(|payout| has_provider_reference(payout, wanted))
            })
            && self.admits_names(flow)
    }

    /// Whether the flow has the references, trace id and external id that are wanted.
    fn admits_names(&self, flow: &Flow) -> bool {
        let remarks = flow.state.payout().map(|payout| &payout.terms.remarks);
        let is = |wanted: &Option<String>, found: Option<&String>| {
            wanted.is_none() || wanted.as_ref() == found
        };
        let has_reference =
            |wanted: &String| flow.state.references().any(|(_, reference)| reference == wanted);
        let is_known_as = |wanted: &String| {
            has_reference(wanted) || flow.state.labels().any(|label| label == wanted)
        };
        self.reference.as_ref().is_none_or(has_reference)
            && self.known_as.as_ref().is_none_or(is_known_as)
            && is(&self.trace_id, remarks.and_then(|remarks| remarks.trace_id.as_ref()))
            && is(&self.external_id, remarks.and_then(|remarks| remarks.external_id.as_ref()))
    }

    /// A text by which the matching flows are known, if the filter names one.
    pub(super) fn name(&self) -> Option<&str> {
        let Self { reference, trace_id, external_id, known_as, .. } = self;
        let mut names = [reference, external_id, trace_id, known_as].into_iter();
        names.find_map(Option::as_deref)
    }

    /// Whether every row of the index matches.
    pub(super) fn is_indexed(&self) -> bool {
        let Self { kind: _, merchant, parent, from, until, .. } = self;
        let Self { status, channel, currency, amount, provider_reference, .. } = self;
        let others = [status, channel, currency, amount, provider_reference];
        others.into_iter().all(Option::is_none)
            && self.name().is_none()
            && from.is_none()
            && until.is_none()
            && (merchant.is_none() || parent.is_none())
    }

    /// The ids to scan: below the first, from the second on. The times of creation are at the beginning of the ids.
    pub(super) fn range(&self, before: Option<FlowId>) -> (FlowId, FlowId) {
        let below = self.until.map(|until| {
            // Flows of the same millisecond may be earlier.
            let next = until.checked_add(SignedDuration::from_millis(1));
            FlowId::first_at(next.unwrap_or(Timestamp::MAX))
        });
        let last = FlowId::from_uuid(Uuid::max());
        let below = below.unwrap_or(last).min(before.unwrap_or(last));
        let first = FlowId::from_uuid(Uuid::nil());
        (below, self.from.map_or(first, FlowId::first_at))
    }
}

fn is_amount(found: Option<Money>, wanted: &str) -> bool {
    found.is_some_and(|found| Money::parse(wanted, found.currency()) == Ok(found))
}

fn has_provider_reference(payout: &Payout, wanted: &str) -> bool {
    let mut evidence = payout.attempts.iter().flat_map(Attempt::evidence);
    evidence.any(|(evidence, _)| evidence.provider_reference.as_deref() == Some(wanted))
}
