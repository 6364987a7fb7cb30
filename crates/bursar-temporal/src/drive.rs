//! The loop of a workflow: look, do, wait, until there is nothing to come.

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

use crate::disbursements::{RESERVE, VALIDATE};
use crate::driver::{Driver, Kind};
use crate::message::{Next, Order, Step};

/// A turn without a job: only a look at where the flow stands.
pub(crate) const LOOK: &str = "CheckStatus";
/// Turns for people who decide through the cluster.
pub(crate) const RESOLVE: &str = "ResolveManually";
pub(crate) const CANCEL: &str = "Cancel";
/// The relay is told to hurry.
pub(crate) const NOTIFY: &str = "NotifyMerchant";

/// Shows the status in lists, where the cluster has such an attribute.
pub(crate) const SEARCH_ATTRIBUTE: &str = "BursarStatus";
const STATUS: SearchAttributeKey<String> = SearchAttributeKey::keyword(SEARCH_ATTRIBUTE);

/// A worker that says nothing for so long has lost what it was doing.
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

/// What a wait has ended with.
enum Waited {
    Time,
    News,
    Cancel,
}

/// Whether somebody has asked the cluster to cancel the workflow.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cancel {
    NotAsked,
    Asked,
    /// What is on its way must come back first.
    AskedInVain,
    /// It cannot be cancelled: it goes on as if nobody had asked.
    Refused,
}

pub(crate) async fn drive<K: Kind>(
    ctx: WorkflowContext<Driver<K>>,
) -> Result<Value, WorkflowTermination> {
    let input = ctx.state(|driver| driver.input().clone());
    let mut desk = Desk { ctx: &ctx, wishes: 0, failures: 0, shown: String::new() };
    let mut step = desk.open(&input).await?;
    let mut cancel = Cancel::NotAsked;
    loop {
        desk.show(&step);
        if step.tells {
            // The relay finds it by itself; this only saves time.
            drop(turn(&ctx, NOTIFY, about(&step)).await);
        }
        // What a job brought back is saved before anybody else is heard, or it would have to be asked for again.
        let is_saved = step.news.is_none();
        if is_saved && let Some(wish) = ctx.state_mut(Driver::next_signal) {
            step = desk.resolve(&step, wish).await?;
            continue;
        }
        let Some(next) = step.next.clone() else { return Ok(K::result(&input, step.result)) };
        if is_saved && cancel == Cancel::Asked {
            step = desk.wish(CANCEL, &step, Value::Null).await?;
            cancel = if step.refused.is_some() { Cancel::Refused } else { Cancel::AskedInVain };
            continue;
        }
        if is_saved && cancel != Cancel::AskedInVain && ctx.continue_as_new_suggested() {
            ctx.continue_as_new(K::resumed(&input, &step.flow), ContinueAsNewOptions::default())?;
        }
        match wait(&ctx, next.pause, cancel == Cancel::NotAsked).await {
            Waited::Time => {
                ctx.state_mut(Driver::take_wake);
                step = desk.work(&next, &step).await?;
                if cancel == Cancel::AskedInVain {
                    cancel = Cancel::Asked;
                }
            }
            Waited::News if ctx.state_mut(Driver::take_wake) => {
                step = turn(&ctx, LOOK, about(&step)).await?;
            }
            Waited::News => {}
            Waited::Cancel => cancel = Cancel::Asked,
        }
    }
}

/// Where everything is done for one workflow.
struct Desk<'c, K> {
    ctx: &'c WorkflowContext<Driver<K>>,
    /// How many people have wanted something.
    wishes: u64,
    /// How often in a row nobody came back from a job.
    failures: u32,
    /// The status that lists show.
    shown: String,
}

impl<K: Kind> Desk<'_, K> {
    /// Until there is a flow. What is refused here ends the workflow: nothing was done.
    async fn open(&mut self, input: &Value) -> Result<Step, WorkflowTermination> {
        let (mut next, order) = K::opening(input);
        loop {
            if next.timeout.is_some() {
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

    /// What comes next. A job is done once: if nobody knows what became of it, a look at the flow says what to do.
    /// Whoever signals meanwhile is heard at once.
    async fn work(&mut self, next: &Next, step: &Step) -> Result<Step, WorkflowTermination> {
        let ctx = self.ctx;
        let order = Order { news: step.news.clone(), ..about(step) };
        let Some(timeout) = next.timeout else {
            return Ok(turn(ctx, &next.activity, order).await?);
        };
        let once = RetryPolicy::builder().maximum_attempts(1).build();
        let options = ActivityOptions::with_start_to_close_timeout(Duration::from_millis(timeout))
            .cancellation_token(WorkflowCancellationToken::new())
            .heartbeat_timeout(HEARTBEAT)
            .retry_policy(once)
            .build();
        let mut job = pin!(ctx.execute_activity(Named(next.activity.clone()), order, options));
        loop {
            let mut signal = pin!(ctx.wait_condition_with_options(Driver::has_signal, apart()));
            let done = select! {
                done = job => Some(done),
                _ = signal => None,
            };
            match done {
                Some(Ok(step)) => {
                    self.failures = 0;
                    return Ok(step);
                }
                Some(Err(_)) => return self.after_failure(step).await,
                None => {
                    if let Some(wish) = ctx.state_mut(Driver::next_signal) {
                        let step = self.resolve(step, wish).await?;
                        self.show(&step);
                    }
                }
            }
        }
    }

    /// Nobody knows what became of a job: the flow says what to do, but ever more slowly.
    async fn after_failure(&mut self, step: &Step) -> Result<Step, WorkflowTermination> {
        self.failures = self.failures.saturating_add(1);
        let mut step = turn(self.ctx, LOOK, about(step)).await?;
        let pause = 1_000_u64.checked_shl(self.failures.min(8)).unwrap_or(u64::MAX);
        if let Some(next) = &mut step.next {
            next.pause = next.pause.max(pause);
        }
        Ok(step)
    }

    /// Somebody has signalled a decision: about what is, not about what was before the signal came.
    async fn resolve(&mut self, step: &Step, wish: Value) -> Result<Step, WorkflowTermination> {
        let seen = turn(self.ctx, LOOK, about(step)).await?;
        self.wish(RESOLVE, &seen, wish).await
    }

    async fn wish(
        &mut self,
        name: &str,
        step: &Step,
        wish: Value,
    ) -> Result<Step, WorkflowTermination> {
        self.wishes = self.wishes.saturating_add(1);
        let order = Order { input: wish, number: self.wishes, ..about(step) };
        Ok(turn(self.ctx, name, order).await?)
    }

    /// Nothing was done, and queries say why.
    fn show_refused(&self, refused: &ActivityExecutionError) {
        let reason = refused.reason().map_or_else(|| refused.to_string(), ToString::to_string);
        let status = json!({ "Status": "REFUSED" });
        self.ctx.state_mut(|driver| driver.show(status, Some(reason)));
    }

    /// What queries and lists show.
    fn show(&mut self, step: &Step) {
        self.ctx.state_mut(|driver| driver.show(step.status.clone(), step.refused.clone()));
        let status = step.status.get("Status").and_then(Value::as_str).unwrap_or_default();
        if step.is_searchable && self.shown != status {
            status.clone_into(&mut self.shown);
            self.ctx.upsert_search_attributes([STATUS.value_set(status.to_owned())]);
        }
    }
}

/// A turn, made where the workflow runs: it touches nothing but the books.
async fn turn<K: Kind>(
    ctx: &WorkflowContext<Driver<K>>,
    name: &str,
    order: Order,
) -> Result<Step, ActivityExecutionError> {
    let (timeout, attempts) = patience(name);
    let retry = RetryPolicy::builder()
        .initial_interval(Duration::from_millis(500))
        .maximum_interval(Duration::from_secs(30))
        .maximum_attempts(attempts)
        .build();
    let options = LocalActivityOptions::builder()
        .cancellation_token(WorkflowCancellationToken::new())
        .start_to_close_timeout(timeout)
        // Longer pauses are timers of the cluster: a worker that holds on to the task would fill the history.
        .timer_backoff_threshold(Duration::from_secs(5))
        .retry_policy(retry)
        .build();
    ctx.execute_local_activity(Named(name.to_owned()), order, options).await
}

/// How long a turn may take, and how often it is tried. For ever, where money or a customer may wait for it: a refusal
/// ends it at once, so what is repeated is only what the books could not answer.
fn patience(name: &str) -> (Duration, u32) {
    let (seconds, attempts) = match name {
        VALIDATE => (10, 0),
        RESERVE => (15, 0),
        NOTIFY => (60, 3),
        _ => (30, 0),
    };
    (Duration::from_secs(seconds), attempts)
}

/// As long as it takes, or until somebody says something.
async fn wait<K: Kind>(
    ctx: &WorkflowContext<Driver<K>>,
    pause: u64,
    may_be_cancelled: bool,
) -> Waited {
    if may_be_cancelled && ctx.cancellation_token().is_cancelled() {
        return Waited::Cancel;
    }
    if pause == 0 {
        return Waited::Time;
    }
    let nobody = WorkflowCancellationToken::new();
    let options = TimerOptions::builder(Duration::from_millis(pause));
    let mut timer = pin!(ctx.timer(options.cancellation_token(nobody.clone()).build()));
    let mut news = pin!(ctx.wait_condition_with_options(Driver::has_news, apart()));
    let token = if may_be_cancelled { ctx.cancellation_token() } else { nobody };
    let mut cancelled = pin!(token.cancelled().fuse());
    let waited = select! {
        _ = news => Waited::News,
        () = cancelled => Waited::Cancel,
        _ = timer => return Waited::Time,
    };
    timer.cancel();
    waited
}

/// Waiting for people ends with what they say, not with the workflow being cancelled.
fn apart() -> WaitConditionOptions {
    WaitConditionOptions::builder().cancellation_token(WorkflowCancellationToken::new()).build()
}

fn about(step: &Step) -> Order {
    let Step { flow, lane, version, .. } = step;
    Order { flow: flow.clone(), lane: lane.clone(), version: *version, ..Order::default() }
}
