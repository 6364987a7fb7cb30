//! A poll reply as a workflow step: status for queries, next activity, result.

use bursar_core::flow::Flow;
use bursar_core::flow::host::{self, NextAction, PollReply};
use bursar_core::payouts::channel::LEASE_SLACK;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::kinds::{self, Facts, with_kind};
use crate::message::{Next, Step};
use crate::workflow_loop::CHECK_STATUS;

#[derive(Debug, Clone, Copy)]
pub(crate) struct StepContext {
    pub(crate) now: Timestamp,
}

impl StepContext {
    pub(crate) fn step(self, reply: &PollReply) -> Step {
        let flow = &reply.flow;
        let Facts { lane, status, result } = facts(flow);
        let next = reply.next.map(|next| self.next(next));
        let result = if next.is_none() { result } else { Value::Null };
        Step {
            flow: flow.name(),
            version: flow.version,
            lane,
            status,
            next,
            outcome: None,
            notifies: reply.notifies,
            refused: None,
            result,
            is_searchable: false,
        }
    }

    fn next(self, next: host::Next) -> Next {
        let (activity, timeout) = match next.action {
            NextAction::Effect { activity, timeout } => (activity, Some(timeout)),
            NextAction::Turn { activity } => (activity, None),
            NextAction::Record => (CHECK_STATUS, None),
        };
        Next {
            activity: activity.to_owned(),
            pause_ms: milliseconds(next.at.duration_since(self.now)),
            timeout_ms: timeout.map(|timeout| milliseconds(activity_timeout(timeout))),
        }
    }
}

fn facts(flow: &Flow) -> Facts {
    let known = kinds::of_flow(flow);
    let facts = known.and_then(|kind| with_kind!(kind, K => Facts::of::<K>(flow)));
    // No workflow drives flows of other kinds.
    facts.unwrap_or_else(|| Facts {
        lane: String::new(),
        status: json!({ "Status": flow.state.status() }),
        result: Value::Null,
    })
}

/// The lease of the effect, and two turns besides. A worker that has not reported by then is lost.
fn activity_timeout(effect: SignedDuration) -> SignedDuration {
    effect.saturating_add(LEASE_SLACK).saturating_add(TURNS)
}

/// The time for two turns and for the wait for a free slot.
const TURNS: SignedDuration = SignedDuration::from_secs(40);

fn milliseconds(duration: SignedDuration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(0)
}
