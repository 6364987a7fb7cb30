//! The loop of a workflow: wait, execute the next activity, handle signals, until the flow is over.

use std::pin::pin;
use std::time::Duration;

use futures_util::FutureExt as _;
use serde_json::{Value, json};
use temporalio_common::search_attributes::SearchAttributeKey;
use temporalio_common::{ActivityDefinition, RetryPolicy};
use temporalio_sdk::workflows::select;
use temporalio_sdk::{
    ActivityExecutionError, ActivityOptions, CancellableFuture as _, ContinueAsNewOptions,
    LocalActivityOptions, TimerOptions, WaitConditionOptions, WorkflowCancellationToken,
    WorkflowContext, WorkflowTermination,
};

use crate::activity_table::turn_limits;
use crate::driver::{Driver, SignalRequest};
use crate::kinds::WorkflowKind;
use crate::message::{Next, Order, Step};

/// A poll that begins no effect.
pub(crate) const CHECK_STATUS: &str = "CheckStatus";
/// A client has cancelled the workflow.
pub(crate) const CANCEL: &str = "Cancel";
/// The relay starts pending workflows at once.
pub(crate) const NOTIFY: &str = "NotifyMerchant";

/// Shows the status in lists, if the cluster has this attribute.
pub(crate) const SEARCH_ATTRIBUTE: &str = "BursarStatus";
const STATUS: SearchAttributeKey<String> = SearchAttributeKey::keyword(SEARCH_ATTRIBUTE);

/// After so long without a heartbeat the worker is lost.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// An activity by its name.
struct Named(String);

impl ActivityDefinition for Named {
    type Input = Order;
    type Output = Step;

    fn name(&self) -> &str {
        &self.0
    }
}

/// What has ended a wait.
enum Waited {
    Timer,
    Event,
    Cancel,
}

/// Whether a client has asked the cluster to cancel the workflow.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CancelState {
    NotRequested,
    Requested,
    /// The outcome of the running effect must be saved first.
    CancelPending,
    /// The flow cannot be cancelled: the workflow goes on.
    Refused,
}

pub(crate) async fn run_loop<K: WorkflowKind>(
    ctx: WorkflowContext<Driver<K>>,
) -> Result<Value, WorkflowTermination> {
    let input = ctx.state(|driver| driver.input().clone());
    let mut workflow = WorkflowLoop { ctx: &ctx, requests: 0, failures: 0, shown: String::new() };
    let mut step = workflow.open(&input).await?;
    let mut cancel = CancelState::NotRequested;
    loop {
        workflow.show(&step);
        if step.notifies {
            // The relay finds the deliveries by itself; this only saves time.
            drop(turn(&ctx, NOTIFY, about(&step)).await);
        }
        // An outcome is saved before any signal is handled: a lost outcome would have to be queried again.
        let is_saved = step.outcome.is_none();
        if is_saved && let Some(signal) = ctx.state_mut(Driver::next_signal) {
            step = workflow.execute_signal(&step, signal).await?;
            continue;
        }
        let Some(next) = step.next.clone() else { return Ok(K::final_result(&input, step.result)) };
        if is_saved && cancel == CancelState::Requested {
            step = workflow.request(CANCEL, &step, Value::Null).await?;
            cancel = if step.refused.is_some() {
                CancelState::Refused
            } else {
                CancelState::CancelPending
            };
            continue;
        }
        if is_saved && cancel != CancelState::CancelPending && ctx.continue_as_new_suggested() {
            ctx.continue_as_new(K::resumed(&input, &step.flow), ContinueAsNewOptions::default())?;
        }
        match wait(&ctx, next.pause_ms, cancel == CancelState::NotRequested).await {
            Waited::Timer => {
                ctx.state_mut(Driver::take_wake);
                step = workflow.work(&next, &step).await?;
                if cancel == CancelState::CancelPending {
                    cancel = CancelState::Requested;
                }
            }
            Waited::Event if ctx.state_mut(Driver::take_wake) => {
                step = turn(&ctx, CHECK_STATUS, about(&step)).await?;
            }
            Waited::Event => {}
            Waited::Cancel => cancel = CancelState::Requested,
        }
    }
}

/// What the loop of one workflow counts.
struct WorkflowLoop<'c, K> {
    ctx: &'c WorkflowContext<Driver<K>>,
    /// Signals and cancellations that were executed.
    requests: u64,
    /// How often in a row the outcome of an effect was lost.
    failures: u32,
    /// The status that lists show.
    shown: String,
}

impl<K: WorkflowKind> WorkflowLoop<'_, K> {
    /// Runs until the flow exists. A refusal ends the workflow: nothing was done.
    async fn open(&mut self, input: &Value) -> Result<Step, WorkflowTermination> {
        let (mut next, order) = K::opening(input);
        loop {
            if next.timeout_ms.is_some() {
                return self.work(&next, &Step::unknown(&order)).await;
            }
            let step = match turn(self.ctx, &next.activity, order.clone()).await {
                Ok(step) => step,
                Err(refused) => {
                    self.show_refused(&refused);
                    return Err(refused.into());
                }
            };
            match &step.next {
                Some(following) if step.flow.is_empty() => next = following.clone(),
                Some(_) | None => return Ok(step),
            }
        }
    }

    /// Executes the next activity. An effect has one attempt: if its outcome is lost, a poll of the flow says what to do.
    /// Signals are executed meanwhile.
    async fn work(&mut self, next: &Next, step: &Step) -> Result<Step, WorkflowTermination> {
        let ctx = self.ctx;
        let order = Order { outcome: step.outcome.clone(), ..about(step) };
        let Some(timeout) = next.timeout_ms else {
            return Ok(turn(ctx, &next.activity, order).await?);
        };
        let once = RetryPolicy::builder().maximum_attempts(1).build();
        let options = ActivityOptions::with_start_to_close_timeout(Duration::from_millis(timeout))
            .cancellation_token(WorkflowCancellationToken::new())
            .heartbeat_timeout(HEARTBEAT)
            .retry_policy(once)
            .build();
        let mut effect = pin!(ctx.execute_activity(Named(next.activity.clone()), order, options));
        loop {
            let mut signal =
                pin!(ctx.wait_condition_with_options(Driver::has_signal, uncancelled()));
            let done = select! {
                done = effect => Some(done),
                _ = signal => None,
            };
            match done {
                Some(Ok(step)) => {
                    self.failures = 0;
                    return Ok(step);
                }
                Some(Err(_)) => return self.after_failure(step).await,
                None => {
                    if let Some(signal) = ctx.state_mut(Driver::next_signal) {
                        let step = self.execute_signal(step, signal).await?;
                        self.show(&step);
                    }
                }
            }
        }
    }

    /// The outcome of an effect is lost: a poll of the flow says what to do, with a pause that doubles.
    async fn after_failure(&mut self, step: &Step) -> Result<Step, WorkflowTermination> {
        self.failures = self.failures.saturating_add(1);
        let mut step = turn(self.ctx, CHECK_STATUS, about(step)).await?;
        let pause = 1_000_u64.checked_shl(self.failures.min(8)).unwrap_or(u64::MAX);
        if let Some(next) = &mut step.next {
            next.pause_ms = next.pause_ms.max(pause);
        }
        Ok(step)
    }

    /// A signal decides about the flow as it is, not as it was before the signal came.
    async fn execute_signal(
        &mut self,
        step: &Step,
        signal: SignalRequest,
    ) -> Result<Step, WorkflowTermination> {
        let seen = turn(self.ctx, CHECK_STATUS, about(step)).await?;
        self.request(signal.activity, &seen, signal.input).await
    }

    async fn request(
        &mut self,
        activity: &str,
        step: &Step,
        input: Value,
    ) -> Result<Step, WorkflowTermination> {
        self.requests = self.requests.saturating_add(1);
        let order = Order { input, number: self.requests, ..about(step) };
        Ok(turn(self.ctx, activity, order).await?)
    }

    /// Nothing was done, and the query says why.
    fn show_refused(&self, refused: &ActivityExecutionError) {
        let reason = refused.reason().map_or_else(|| refused.to_string(), ToString::to_string);
        let status = json!({ "Status": "REFUSED" });
        self.ctx.state_mut(|driver| driver.show(status, Some(reason)));
    }

    /// Updates the answer of the query, and the search attribute.
    fn show(&mut self, step: &Step) {
        self.ctx.state_mut(|driver| driver.show(step.status.clone(), step.refused.clone()));
        let status = step.status.get("Status").and_then(Value::as_str).unwrap_or_default();
        if step.is_searchable && self.shown != status {
            status.clone_into(&mut self.shown);
            self.ctx.upsert_search_attributes([STATUS.value_set(status.to_owned())]);
        }
    }
}

/// A turn: a local activity, because it only uses the store.
async fn turn<K: WorkflowKind>(
    ctx: &WorkflowContext<Driver<K>>,
    name: &str,
    order: Order,
) -> Result<Step, ActivityExecutionError> {
    let (timeout, attempts) = turn_limits(name);
    let retry = RetryPolicy::builder()
        .initial_interval(Duration::from_millis(500))
        .maximum_interval(Duration::from_secs(30))
        .maximum_attempts(attempts)
        .build();
    let options = LocalActivityOptions::builder()
        .cancellation_token(WorkflowCancellationToken::new())
        .start_to_close_timeout(timeout)
        // Longer pauses are timers of the cluster: a worker that keeps the workflow task would fill the history.
        .timer_backoff_threshold(Duration::from_secs(5))
        .retry_policy(retry)
        .build();
    ctx.execute_local_activity(Named(name.to_owned()), order, options).await
}

/// Waits for the pause, a signal or a cancellation.
async fn wait<K: WorkflowKind>(
    ctx: &WorkflowContext<Driver<K>>,
    pause_ms: u64,
    may_be_cancelled: bool,
) -> Waited {
    if may_be_cancelled && ctx.cancellation_token().is_cancelled() {
        return Waited::Cancel;
    }
    if pause_ms == 0 {
        return Waited::Timer;
    }
    let never = WorkflowCancellationToken::new();
    let options = TimerOptions::builder(Duration::from_millis(pause_ms));
    let mut timer = pin!(ctx.timer(options.cancellation_token(never.clone()).build()));
    let mut event = pin!(ctx.wait_condition_with_options(Driver::has_event, uncancelled()));
    let token = if may_be_cancelled { ctx.cancellation_token() } else { never };
    let mut cancelled = pin!(token.cancelled().fuse());
    let waited = select! {
        _ = event => Waited::Event,
        () = cancelled => Waited::Cancel,
        _ = timer => return Waited::Timer,
    };
    timer.cancel();
    waited
}

/// The wait for a signal does not end when the workflow is cancelled.
fn uncancelled() -> WaitConditionOptions {
    WaitConditionOptions::builder().cancellation_token(WorkflowCancellationToken::new()).build()
}

fn about(step: &Step) -> Order {
    let Step { flow, lane, version, .. } = step;
    Order { flow: flow.clone(), lane: lane.clone(), version: *version, ..Order::default() }
}
