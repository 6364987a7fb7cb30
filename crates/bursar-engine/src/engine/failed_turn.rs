//! Turns that were not saved, or failed: the engine answers every caller, and isolates the request that makes turns fail.

use bursar_core::flow::{self, FailureCause};
use bursar_core::turn::Body;
use bursar_core::webhooks;
use bursar_store::StoreError;
use jiff::Timestamp;

use super::bisect::{Group, Origin};
use super::{Cause, Engine, Failed, OUTCOME_FAILURES_MAX, Output, Unanswered, WEBHOOKS};
use crate::stats::{Alert, add};

impl Engine {
    /// Answers the callers; outcomes of effects stay in the inbox.
    pub(super) fn not_saved(&mut self, error: &StoreError, outputs: &mut Vec<Output>) {
        let Some(turn) = self.turn.take() else { return };
        add(&mut self.stats.not_saved, 1);
        self.stats.not_saved_at = Some(turn.admitted_at);
        self.stats.not_saved_because = Some(error.to_string());
        for origin in turn.origins {
            match origin {
                Origin::Caller(ticket) => {
                    let unanswered = Unanswered::NotSaved(error.to_string());
                    outputs.push(Output::Answer(ticket, Err(unanswered)));
                }
                Origin::Outcome { outcome, .. } => self.outcomes.push_back(outcome),
                Origin::CancelDeliveries(endpoint) => self.disabled.push_back(endpoint),
                Origin::Claim { .. }
                | Origin::Quarantine { .. }
                | Origin::StartDeliveries(_)
                | Origin::QuarantineDelivery => {}
            }
        }
    }

    /// Bisects the turn until the failing request is alone; all others go on.
    pub(super) fn failed(&mut self, failed: Failed, outputs: &mut Vec<Output>) {
        let Some(turn) = self.turn.take() else { return };
        match failed.cause {
            Cause::Panicked => add(&mut self.stats.panics, 1),
            Cause::Conflict => add(&mut self.stats.conflicts, 1),
        }
        let bodies = failed.requests.into_iter().map(|request| request.body);
        let mut group: Group = turn.origins.into_iter().zip(bodies).collect();
        if group.len() > 1 {
            self.bisection.halve(group);
            return;
        }
        let Some((origin, body)) = group.pop() else { return };
        match origin {
            Origin::Caller(ticket) => {
                outputs.push(Output::Answer(ticket, Err(Unanswered::Failed)));
            }
            Origin::Outcome { outcome, failures } => {
                let failures = failures.saturating_add(1);
                if failures < OUTCOME_FAILURES_MAX {
                    self.bisection.push(vec![(Origin::Outcome { outcome, failures }, body)]);
                } else {
                    // Nothing is lost: when its lease ends, the flow queries the channel.
                    add(&mut self.stats.dropped_outcomes, 1);
                    let alert = Alert::DroppedOutcome { flow: outcome.flow };
                    self.stats.alert(turn.admitted_at, alert);
                }
            }
            Origin::Claim { lane, limit } => {
                self.has_backlog = true;
                if limit <= 1 {
                    let cause = match failed.cause {
                        Cause::Panicked => FailureCause::TurnFailed,
                        Cause::Conflict => FailureCause::Other,
                    };
                    let quarantine = flow::Quarantine { lane: lane.clone(), cause };
                    let origin = Origin::Quarantine { lane: lane.clone() };
                    self.bisection.push_front(vec![(origin, quarantine.into())]);
                }
                self.bisection.slow_start(lane);
            }
            Origin::StartDeliveries(round) => {
                self.has_backlog = true;
                // A write conflict is not the delivery's fault: retry without quarantine.
                if round.limit <= 1 && failed.cause == Cause::Panicked {
                    let cause = FailureCause::TurnFailed;
                    let quarantine = webhooks::Quarantine { round, cause };
                    let group = vec![(Origin::QuarantineDelivery, quarantine.into())];
                    self.bisection.push_front(group);
                }
                self.bisection.slow_start(WEBHOOKS.to_owned());
            }
            origin @ (Origin::Quarantine { .. } | Origin::QuarantineDelivery) => {
                self.not_quarantined(origin, &body, turn.admitted_at);
            }
            // Those that wait are cancelled when they are due.
            Origin::CancelDeliveries(_) => {}
        }
    }

    /// If dead-lettering fails too, the flow is deferred; if even that fails, the whole lane is paused.
    fn not_quarantined(&mut self, origin: Origin, body: &Body, now: Timestamp) {
        let deferral = if let Body::Flows(flow::Request::Quarantine(it)) = body
            && it.cause == FailureCause::TurnFailed
        {
            let lane = it.lane.clone();
            Some(flow::Quarantine { lane, cause: FailureCause::Other }.into())
        } else if let Body::Webhooks(webhooks::Request::Quarantine(it)) = body
            && it.cause == FailureCause::TurnFailed
        {
            let round = it.round.clone();
            Some(webhooks::Quarantine { round, cause: FailureCause::Other }.into())
        } else {
            None
        };
        if let Some(deferral) = deferral {
            self.bisection.push_front(vec![(origin, deferral)]);
        } else if let Origin::Quarantine { lane } = origin {
            self.pause_lane(lane, now);
        } else {
            self.pause_lane(WEBHOOKS.to_owned(), now);
        }
    }

    fn pause_lane(&mut self, lane: String, now: Timestamp) {
        self.bisection.pause_lane(lane.clone(), now);
        self.stats.alert(now, Alert::LanePaused { lane });
    }
}
