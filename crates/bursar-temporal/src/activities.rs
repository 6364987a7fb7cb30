//! Activities: turns about a flow, and effects. Each returns what the workflow does next.

use std::sync::Arc;
use std::time::Duration;

use bursar_core::flow::Outcome;
use bursar_core::flow::host::{self, NextAction, Poll, PollReply, predict};
use bursar_core::ids::FlowId;
use bursar_core::rejection::Rejection;
use bursar_core::turn::Ask;
use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

use crate::activity_table::UNKNOWN_FLOW;
use crate::kinds::{self, AnyKind, WorkflowKind, with_kind};
use crate::message::{Order, Step};
use crate::port::HostPort;
use crate::relay::Relay;
use crate::slots::Slots;
use crate::step::StepContext;

/// Why an activity has no step to return.
#[derive(Debug)]
pub(crate) enum Failed {
    /// Every retry would be refused as well.
    Refused { code: String, message: String },
    /// A retry may succeed.
    Unavailable(String),
}

impl From<Rejection> for Failed {
    fn from(rejection: Rejection) -> Self {
        Self::Refused { code: rejection.code().to_owned(), message: rejection.to_string() }
    }
}

/// Everything that activities need.
pub(crate) struct Activities {
    pub(crate) port: Arc<dyn HostPort>,
    pub(crate) slots: Slots,
    pub(crate) relay: Arc<Relay>,
    pub(crate) is_searchable: bool,
}

/// How long an effect waits for a free slot: a waiting activity occupies the worker.
const SLOT_WAIT: Duration = Duration::from_secs(2);
/// How long the workflow waits after that before it tries again.
const SLOT_PAUSE_MS: u64 = 5_000;

impl Activities {
    pub(crate) async fn ask<A: Ask>(&self, request: A) -> Result<A::Reply, Failed> {
        let answer = self.port.ask(request.into()).await.map_err(Failed::Unavailable)?;
        A::reply(answer?).ok_or_else(unexpected)
    }

    /// A turn that saves the outcome, if there is one, and begins no effect.
    pub(crate) async fn turn(&self, order: &Order) -> Result<Step, Failed> {
        let (_, flow) = kind_of(&order.flow)?;
        let reply = self.ask(Poll { flow, outcome: order.outcome.clone(), slots: None }).await?;
        Ok(self.step(&reply))
    }

    fn step(&self, reply: &PollReply) -> Step {
        let context = StepContext { now: self.port.now() };
        let refused = reply.refused.as_ref().map(ToString::to_string);
        if let Some(rejection) = &reply.refused {
            self.port.refused(reply.flow.name(), rejection.clone());
        }
        Step { is_searchable: self.is_searchable, refused, ..context.step(reply) }
    }

    /// An effect: the turn that begins it is saved first, then it runs, then its outcome is saved.
    pub(crate) async fn run_effect(&self, order: &Order) -> Result<Step, Failed> {
        let (kind, flow) = kind_of(&order.flow)?;
        with_kind!(kind, K => self.run_effect_of::<K>(flow, order).await)
    }

    async fn run_effect_of<K: WorkflowKind>(
        &self,
        flow: FlowId,
        order: &Order,
    ) -> Result<Step, Failed> {
        let Some(pool) = K::pool(&order.lane) else { return self.turn(order).await };
        let Ok(slot) = tokio::time::timeout(SLOT_WAIT, self.slots.acquire(pool)).await else {
            return self.turn(order).await.map(later);
        };
        let (instant, time) = (Instant::now(), self.port.now());
        let slots = Some(slot.load(time));
        let mut reply = self.ask(Poll { flow, outcome: None, slots }).await?;
        let Some(effect) = reply.effect.take() else {
            let step = self.step(&reply);
            return Ok(if reply.is_full { later(step) } else { step });
        };
        let _slot = slot.begin(time);
        let deadline = instant_of((instant, time), effect.lease_until);
        let outcome = self.port.run(effect, deadline).await;
        self.save_outcome::<K>(*reply, outcome).await
    }

    /// An outcome that is only recorded is saved at once. An outcome that moves money or ends the flow is saved by a turn of
    /// its own, which the cluster repeats until it is saved; so is an outcome that could not be saved here.
    async fn save_outcome<K: WorkflowKind>(
        &self,
        reply: PollReply,
        outcome: Outcome,
    ) -> Result<Step, Failed> {
        let now = self.port.now();
        let action = predict(self.port.rules(), &reply.flow, &outcome, now);
        if action == NextAction::Record {
            let flow = reply.flow.id;
            let poll = Poll { flow, outcome: Some(outcome.clone()), slots: None };
            match self.ask(poll).await {
                Ok(reply) => return Ok(self.step(&reply)),
                Err(Failed::Refused { .. } | Failed::Unavailable(_)) => {}
            }
        }
        let next = Some(host::Next { at: now, action });
        let step = self.step(&PollReply { next, ..reply });
        Ok(Step { outcome: Some(K::redact(outcome)), ..step })
    }

    /// The relay starts pending workflows now, so that merchants are notified soon.
    pub(crate) fn notify(&self, order: &Order) -> Step {
        self.relay.hurry();
        Step::unknown(order)
    }
}

/// No slot was free: the workflow waits, and other effects go first.
fn later(mut step: Step) -> Step {
    if let Some(next) = &mut step.next {
        next.pause_ms = next.pause_ms.max(SLOT_PAUSE_MS);
    }
    step
}

/// The end of a lease on the monotonic clock.
fn instant_of((instant, time): (Instant, Timestamp), lease_until: Timestamp) -> Instant {
    let left = lease_until.duration_since(time).max(SignedDuration::ZERO);
    instant.checked_add(left.unsigned_abs()).unwrap_or(instant)
}

/// The kind and the id of the flow that an order is about.
pub(crate) fn kind_of(name: &str) -> Result<(AnyKind, FlowId), Failed> {
    kinds::of_name(name).ok_or_else(|| {
        let known: Vec<&str> = AnyKind::ALL.iter().map(|kind| kind.name()).collect();
        let known = known.join(" nor a ");
        let message = format!("{name:?} is neither a {known}: nothing was done");
        Failed::Refused { code: UNKNOWN_FLOW.to_owned(), message }
    })
}

fn unexpected() -> Failed {
    Failed::Unavailable("a turn was answered with something else than was asked for".to_owned())
}
