//! The activities by name, as workers register them.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use temporalio_common::ActivityDefinition;
use temporalio_sdk::ApplicationFailure;
use temporalio_sdk::activities::{
    ActivityContext, ActivityDefinitions, ActivityError, ActivityImplementer, ExecutableActivity,
};

use crate::activities::{Activities, Failed};
use crate::message::{Order, Step};
use crate::people::Asker;

/// What an activity does.
#[derive(Debug, Clone, Copy)]
enum Work {
    Validate,
    Reserve,
    Job,
    Turn,
    Notify,
    Resolve,
    Cancel,
}

const ALL: [(&str, Work); 13] = [
    ("ValidateRequest", Work::Validate),
    ("ReserveBalance", Work::Reserve),
    ("SubmitToChannel", Work::Job),
    ("PollChannelStatus", Work::Job),
    ("UpdateLedger", Work::Turn),
    ("ReleaseBalance", Work::Turn),
    ("MarkAsStuck", Work::Turn),
    ("NotifyMerchant", Work::Notify),
    ("CheckStatus", Work::Turn),
    ("ResolveManually", Work::Resolve),
    ("Cancel", Work::Cancel),
    ("DeliverWebhook", Work::Job),
    ("SendToDLQ", Work::Turn),
];

/// The activity in this place of the table: the worker wants a type for each.
struct At<const N: usize>;

impl<const N: usize> ActivityDefinition for At<N> {
    type Input = Order;
    type Output = Step;

    fn name(&self) -> &str {
        ALL.get(N).map_or("", |(name, _)| name)
    }
}

impl<const N: usize> ExecutableActivity for At<N> {
    type Implementer = Registry;
    const REQUIRES_INSTANCE: bool = true;

    fn definition() -> Self {
        Self
    }

    fn execute(
        registry: Option<Arc<Registry>>,
        ctx: ActivityContext,
        order: Order,
    ) -> BoxFuture<'static, Result<Step, ActivityError>> {
        let work = ALL.get(N).map(|(_, work)| *work);
        async move {
            let (Some(registry), Some(work)) = (registry, work) else {
                return Err(refused("unknown_activity", "there is no such activity"));
            };
            registry.run(work, &order, &ctx).await
        }
        .boxed()
    }
}

pub(crate) struct Registry(pub(crate) Arc<Activities>);

/// After so many failures of a turn somebody should look.
const ALERT_AFTER: u32 = 5;
const FAILS: &str = "turns of workflows fail again and again and are repeated, their money stays where it is: look at the log of this worker, and whether the database answers";

impl Registry {
    async fn run(
        &self,
        work: Work,
        order: &Order,
        ctx: &ActivityContext,
    ) -> Result<Step, ActivityError> {
        let info = ctx.info();
        let asker = || Asker {
            workflow: info.workflow_id.clone().unwrap_or_default(),
            run: info.workflow_run_id.clone().unwrap_or_default(),
        };
        let activities = &self.0;
        let done = match work {
            Work::Validate => activities.validate(order).await,
            Work::Reserve => activities.reserve(order, &asker()).await,
            Work::Job => alive(ctx, activities.work(order)).await,
            Work::Turn => activities.turn(order).await,
            Work::Notify => Ok(activities.notify(order)),
            Work::Resolve => activities.resolve(order, &asker()).await,
            Work::Cancel => activities.cancel(order, &asker()).await,
        };
        done.map_err(|failed| match failed {
            // A turn with news that was refused is tried again: what a channel said must not be lost.
            Failed::Refused { code, message } if order.news.is_none() => refused(&code, &message),
            Failed::Refused { message, .. } | Failed::Unavailable(message) => {
                if info.attempt >= ALERT_AFTER {
                    let (activity, flow) = (&info.activity_type, &order.flow);
                    tracing::error!(%activity, %flow, attempt = info.attempt, %message, "a turn fails");
                    activities.office.alarm(FAILS.to_owned());
                }
                ActivityError::from(ApplicationFailure::new(message))
            }
        })
    }
}

/// Tells the cluster again and again that the job is being done.
async fn alive<T>(ctx: &ActivityContext, job: impl Future<Output = T>) -> T {
    let mut job = std::pin::pin!(job);
    loop {
        match tokio::time::timeout(BEAT, &mut job).await {
            Ok(done) => return done,
            // Whoever is not heard is given up; the lease sees to it that nothing is sent then.
            Err(_) => drop(ctx.record_heartbeat(()).await),
        }
    }
}

const BEAT: Duration = Duration::from_secs(4);

fn refused(code: &str, message: &str) -> ActivityError {
    let failure = ApplicationFailure::builder(message.to_owned());
    ActivityError::from(failure.type_name(code.to_owned()).non_retryable(true).build())
}

impl ActivityImplementer for Registry {
    fn register_all(self: Arc<Self>, activities: &mut ActivityDefinitions) {
        activities
            .register_activity::<At<0>>(Arc::clone(&self))
            .register_activity::<At<1>>(Arc::clone(&self))
            .register_activity::<At<2>>(Arc::clone(&self))
            .register_activity::<At<3>>(Arc::clone(&self))
            .register_activity::<At<4>>(Arc::clone(&self))
            .register_activity::<At<5>>(Arc::clone(&self))
            .register_activity::<At<6>>(Arc::clone(&self))
            .register_activity::<At<7>>(Arc::clone(&self))
            .register_activity::<At<8>>(Arc::clone(&self))
            .register_activity::<At<9>>(Arc::clone(&self))
            .register_activity::<At<10>>(Arc::clone(&self))
            .register_activity::<At<11>>(Arc::clone(&self))
            .register_activity::<At<12>>(self);
    }
}
