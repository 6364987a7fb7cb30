//! The loop of a workflow: look, do, wait, until there is nothing to come.

use std::pin::pin;
use std::time::Duration;

use futures_util::FutureExt as _;
use serde_json::Value;
use temporalio_common::search_attributes::SearchAttributeKey;
use temporalio_common::{ActivityDefinition, RetryPolicy};
use temporalio_sdk::workflows::select;
use temporalio_sdk::{
    ActivityExecutionError, ActivityOptions, CancellableFuture as _, ContinueAsNewOptions,
    LocalActivityOptions, TimerOptions, WaitConditionOptions, WorkflowCancellationToken,
    WorkflowContext, WorkflowTermination,
};

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
    let mut step = open::<K>(&ctx, &input).await?;
    let (mut wishes, mut cancel, mut shown) = (0_u64, Cancel::NotAsked, String::new());
    loop {
        show(&ctx, &step, &mut shown);
        if step.tells {
            // The relay finds it by itself; this only saves time.
            drop(turn(&ctx, NOTIFY, about(&step)).await);
        }
        let Some(next) = step.next.clone() else { return Ok(K::result(&input, step.result)) };
        wishes = wishes.saturating_add(1);
        if let Some(wish) = ctx.state_mut(Driver::next_signal) {
            // They decide about what is, not about what was before the signal came.
            step = insist(&ctx, LOOK, about(&step)).await?;
            let order = Order { input: wish, number: wishes, ..about(&step) };
            step = insist(&ctx, RESOLVE, order).await?;
            continue;
        }
        if cancel == Cancel::Asked {
            step = insist(&ctx, CANCEL, Order { number: wishes, ..about(&step) }).await?;
            cancel = if step.refused.is_some() { Cancel::Refused } else { Cancel::AskedInVain };
            continue;
        }
        if step.news.is_none() && ctx.continue_as_new_suggested() {
            ctx.continue_as_new(K::resumed(&step.flow), ContinueAsNewOptions::default())?;
        }
        match wait(&ctx, next.pause, cancel == Cancel::NotAsked).await {
            Waited::Time => {
                ctx.state_mut(Driver::take_wake);
                step = work(&ctx, &next, &step).await?;
                if cancel == Cancel::AskedInVain {
                    cancel = Cancel::Asked;
                }
            }
            Waited::News if ctx.state_mut(Driver::take_wake) => {
                step = insist(&ctx, LOOK, about(&step)).await?;
            }
            Waited::News => {}
            Waited::Cancel => cancel = Cancel::Asked,
        }
    }
}

/// Until there is a flow. What is refused here ends the workflow: nothing was done.
async fn open<K: Kind>(
    ctx: &WorkflowContext<Driver<K>>,
    input: &Value,
) -> Result<Step, WorkflowTermination> {
    let (mut next, order) = K::opening(input);
    loop {
        let step = if next.timeout.is_some() {
            let waiting = Step { next: Some(next.clone()), ..Step::unknown(&order) };
            return work(ctx, &next, &waiting).await;
        } else {
            turn(ctx, &next.activity, order.clone()).await?
        };
        match &step.next {
            Some(following) if step.flow.is_empty() => next = following.clone(),
            Some(_) | None => return Ok(step),
        }
    }
}

/// What comes next. A job is done once: if nobody knows what became of it, a look at the flow says what to do.
async fn work<K: Kind>(
    ctx: &WorkflowContext<Driver<K>>,
    next: &Next,
    step: &Step,
) -> Result<Step, WorkflowTermination> {
    let order = Order { news: step.news.clone(), ..about(step) };
    let Some(timeout) = next.timeout else { return insist(ctx, &next.activity, order).await };
    let once = RetryPolicy::builder().maximum_attempts(1).build();
    let options = ActivityOptions::with_start_to_close_timeout(Duration::from_millis(timeout))
        .cancellation_token(WorkflowCancellationToken::new())
        .retry_policy(once)
        .build();
    match ctx.execute_activity(Named(next.activity.clone()), order, options).await {
        Ok(step) => Ok(step),
        Err(_) => insist(ctx, LOOK, about(step)).await,
    }
}

/// A turn that must be made, however long it takes: there is nowhere to go without it.
async fn insist<K: Kind>(
    ctx: &WorkflowContext<Driver<K>>,
    name: &str,
    order: Order,
) -> Result<Step, WorkflowTermination> {
    Ok(turn(ctx, name, order).await?)
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
        .retry_policy(retry)
        .build();
    ctx.execute_local_activity(Named(name.to_owned()), order, options).await
}

/// How long a turn may take, and how often it is tried; for ever, where money or a customer waits for it.
fn patience(name: &str) -> (Duration, u32) {
    let (seconds, attempts) = match name {
        "ValidateRequest" => (10, 3),
        "ReserveBalance" => (15, 3),
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
    let apart = || WorkflowCancellationToken::new();
    let options = TimerOptions::builder(Duration::from_millis(pause));
    let mut timer = pin!(ctx.timer(options.cancellation_token(apart()).build()));
    let options = WaitConditionOptions::builder().cancellation_token(apart()).build();
    let mut news = pin!(ctx.wait_condition_with_options(Driver::has_news, options));
    let token = if may_be_cancelled { ctx.cancellation_token() } else { apart() };
    let mut cancelled = pin!(token.cancelled().fuse());
    let waited = select! {
        _ = news => Waited::News,
        () = cancelled => Waited::Cancel,
        _ = timer => return Waited::Time,
    };
    timer.cancel();
    waited
}

/// What queries and lists show.
fn show<K: Kind>(ctx: &WorkflowContext<Driver<K>>, step: &Step, shown: &mut String) {
    ctx.state_mut(|driver| driver.show(step.status.clone(), step.refused.clone()));
    let status = step.status.get("Status").and_then(Value::as_str).unwrap_or_default();
    if step.is_searchable && shown != status {
        status.clone_into(shown);
        ctx.upsert_search_attributes([STATUS.value_set(status.to_owned())]);
    }
}

fn about(step: &Step) -> Order {
    let Step { flow, lane, version, .. } = step;
    Order { flow: flow.clone(), lane: lane.clone(), version: *version, ..Order::default() }
}
