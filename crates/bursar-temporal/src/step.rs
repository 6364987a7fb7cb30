//! Where a flow stands, in the words of workflows: what queries show, which activity comes next, what it all ended with.

use bursar_core::channel::LEASE_SLACK;
use bursar_core::delivery::{self, Deadlettered, Delivery};
use bursar_core::drive::{Driven, Move, Next as NextMove};
use bursar_core::flow::{Flow, FlowState};
use bursar_core::ids::EventId;
use bursar_core::payout::Payout;
use bursar_core::rules::Rules;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::deliveries::DELIVER;
use crate::drive::LOOK;
use crate::message::{DisbursementResult, Next, Step, WebhookDeliveryResult};

/// What a step is seen with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'r> {
    pub(crate) rules: &'r Rules,
    pub(crate) now: Timestamp,
}

/// The name under which the cluster knows a move.
const fn activity(r#move: Move) -> &'static str {
    match r#move {
        Move::Submit => "SubmitToChannel",
        Move::Ask => "PollChannelStatus",
        Move::Settle => "UpdateLedger",
        Move::Release => "ReleaseBalance",
        Move::Stick => "MarkAsStuck",
        Move::Deliver => DELIVER,
        Move::Bury => "SendToDLQ",
        Move::Note => LOOK,
    }
}

impl Place<'_> {
    pub(crate) fn step(&self, driven: &Driven) -> Step {
        let flow = &driven.flow;
        let (lane, status, result) = match &flow.state {
            FlowState::Payout(payout) => (
                payout.terms.channel.clone(),
                payout_status(flow, payout),
                payout_result(flow, payout),
            ),
            FlowState::Delivery(delivery) => (
                delivery.terms.endpoint.to_string(),
                delivery_status(delivery),
                delivery_result(flow, delivery),
            ),
            // Nobody outside drives these.
            FlowState::Reservation(_) | FlowState::PayIn(_) => {
                (String::new(), json!({ "Status": flow.state.status() }), Value::Null)
            }
        };
        let next = driven.next.as_ref().map(|next| self.next(flow, next));
        let result = if next.is_none() { result } else { Value::Null };
        Step {
            flow: flow.name(),
            version: flow.version,
            lane,
            status,
            next,
            news: None,
            tells: driven.tells,
            refused: None,
            result,
            is_searchable: false,
        }
    }

    fn next(&self, flow: &Flow, next: &NextMove) -> Next {
        let pause = milliseconds(next.at.duration_since(self.now));
        let timeout = next.r#move.is_job().then(|| milliseconds(self.timeout(flow, next.r#move)));
        Next { activity: activity(next.r#move).to_owned(), pause, timeout }
    }

    /// As long as the lease lasts, and two turns besides. Whoever has not come back by then is not coming.
    fn timeout(&self, flow: &Flow, r#move: Move) -> SignedDuration {
        let channel = flow.state.payout().and_then(|it| self.rules.channels.get(&it.terms.channel));
        let clocks = channel.map(|channel| &channel.clocks);
        let job = match r#move {
            Move::Submit => clocks.map(|clocks| clocks.submit_timeout),
            Move::Ask => clocks.map(|clocks| clocks.query_timeout),
            Move::Deliver => Some(self.rules.deliveries.lease),
            Move::Settle | Move::Release | Move::Stick | Move::Bury | Move::Note => None,
        };
        let job = job.unwrap_or(SignedDuration::from_secs(30));
        job.saturating_add(LEASE_SLACK).saturating_add(TURNS)
    }
}

/// What two turns and the wait for a free hand may take.
const TURNS: SignedDuration = SignedDuration::from_secs(40);

fn milliseconds(duration: SignedDuration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(0)
}

/// What the channel knows a payout by: its own name for it, or else ours.
fn channel_ref(payout: &Payout) -> String {
    let mut attempts = payout.attempts.iter().rev();
    let theirs = attempts.find_map(|attempt| attempt.provider_reference());
    theirs.unwrap_or_else(|| payout.reference()).to_owned()
}

fn payout_status(flow: &Flow, payout: &Payout) -> Value {
    json!({
        "DisbursementID": flow.name(),
        "Status": payout.state.status(),
        "Version": flow.version,
        "ChannelRef": channel_ref(payout),
        "LastError": payout.reason(),
    })
}

fn payout_result(flow: &Flow, payout: &Payout) -> Value {
    let funds = &payout.terms.funds;
    let result = DisbursementResult {
        disbursement_id: flow.name(),
        status: payout.state.status().to_owned(),
        channel_ref: channel_ref(payout),
        completed_at: flow.updated_at,
        fee: funds.fee.decimal(),
        net_amount: funds.amount.decimal(),
        reason: payout.reason().map(str::to_owned),
    };
    result.to_value()
}

fn delivery_status(delivery: &Delivery) -> Value {
    json!({
        "EventID": event_id(delivery.terms.event),
        "Status": delivery.state.status(),
        "Attempts": delivery.attempts,
        "LastError": delivery.last_error(),
    })
}

fn delivery_result(flow: &Flow, delivery: &Delivery) -> Value {
    let final_status = match &delivery.state {
        delivery::State::Dlq { reason, .. } => match reason {
            Deadlettered::Exhausted => "DLQ",
            Deadlettered::SerialisationFailed | Deadlettered::SigningFailed => reason.name(),
        },
        state @ (delivery::State::Pending { .. }
        | delivery::State::Delivering { .. }
        | delivery::State::WaitingRetry { .. }
        | delivery::State::Delivered
        | delivery::State::Cancelled { .. }) => state.status(),
    };
    let delivered = delivery.state == delivery::State::Delivered;
    let result = WebhookDeliveryResult {
        event_id: event_id(delivery.terms.event),
        delivered,
        attempts: delivery.attempts,
        final_status: final_status.to_owned(),
        last_error: delivery.last_error().filter(|_| !delivered).unwrap_or_default(),
        completed_at: flow.updated_at,
    };
    result.to_value()
}

fn event_id(event: EventId) -> String {
    event.to_string()
}
