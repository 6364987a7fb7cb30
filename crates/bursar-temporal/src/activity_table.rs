//! The table of activities by name: what each does, and how a worker registers it.

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
use crate::kinds::AnyKind;
use crate::message::{Order, Step};
use crate::signals::WorkflowRef;
use crate::workflow_loop::{CANCEL, CHECK_STATUS, NOTIFY};

/// One activity. Every kind of flow has a table of these.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Activity {
    name: &'static str,
    work: Work,
    /// As a local activity: the timeout of an attempt, and the number of attempts; 0 for no limit.
    timeout: Duration,
    attempts: u32,
}

/// What an activity does.
#[derive(Debug, Clone, Copy)]
enum Work {
    Effect,
    Turn,
    Other(Run),
}

type Run =
    for<'a> fn(&'a Activities, &'a Order, &'a WorkflowRef) -> BoxFuture<'a, Result<Step, Failed>>;

const TIMEOUT: Duration = Duration::from_secs(30);

impl Activity {
    /// Begins an effect, runs it and saves its outcome, with heartbeats.
    pub(crate) const fn effect(name: &'static str) -> Self {
        Self { name, work: Work::Effect, timeout: TIMEOUT, attempts: 0 }
    }

    /// Saves an outcome, or makes the due step.
    pub(crate) const fn turn(name: &'static str) -> Self {
        Self { name, work: Work::Turn, timeout: TIMEOUT, attempts: 0 }
    }

    pub(crate) const fn new(name: &'static str, run: Run) -> Self {
        Self { name, work: Work::Other(run), timeout: TIMEOUT, attempts: 0 }
    }

    pub(crate) const fn within(self, seconds: u64, attempts: u32) -> Self {
        Self { timeout: Duration::from_secs(seconds), attempts, ..self }
    }
}

/// The activities of all kinds.
const SHARED: &[Activity] = &[
    Activity::turn(CHECK_STATUS),
    Activity::new(NOTIFY, |it, order, _| Box::pin(async { Ok(it.notify(order)) })).within(60, 3),
    Activity::new(CANCEL, |it, order, by| Box::pin(it.cancel(order, by))),
];

fn all() -> impl Iterator<Item = &'static Activity> {
    SHARED.iter().chain(AnyKind::ALL.iter().flat_map(|kind| kind.activities()))
}

/// The timeout of a turn, and its number of attempts: without limit (0) where money or a customer may wait for it. A refusal
/// ends it at once, so a retry only repeats what the store could not answer.
pub(crate) fn turn_limits(name: &str) -> (Duration, u32) {
    let known = all().find(|activity| activity.name == name);
    known.map_or((TIMEOUT, 0), |activity| (activity.timeout, activity.attempts))
}

/// The activity at this index of the table: the SDK needs a type for each.
struct At<const N: usize>;

impl<const N: usize> ActivityDefinition for At<N> {
    type Input = Order;
    type Output = Step;

    fn name(&self) -> &str {
        all().nth(N).map_or("", |activity| activity.name)
    }
}

impl<const N: usize> ExecutableActivity for At<N> {
    type Implementer = ActivityTable;
    const REQUIRES_INSTANCE: bool = true;

    fn definition() -> Self {
        Self
    }

    fn execute(
        table: Option<Arc<ActivityTable>>,
        ctx: ActivityContext,
        order: Order,
    ) -> BoxFuture<'static, Result<Step, ActivityError>> {
        async move {
            let (Some(table), Some(activity)) = (table, all().nth(N)) else {
                return Err(refused("unknown_activity", "there is no such activity"));
            };
            table.run(activity.work, &order, &ctx).await
        }
        .boxed()
    }
}

pub(crate) struct ActivityTable(pub(crate) Arc<Activities>);

/// After so many failed attempts of a turn an alert is raised.
const ALERT_AFTER: u32 = 5;
/// The code of the rejection of a turn about a flow that the books do not know, and the failure of its workflow.
pub(crate) const UNKNOWN_FLOW: &str = "unknown_flow";
const FLOW_LOST: &str = "FlowLost";
const FAILS: &str = "turns of workflows fail again and again and are repeated, their money stays where it is: look at the log of this worker, and whether the database answers";

impl ActivityTable {
    async fn run(
        &self,
        work: Work,
        order: &Order,
        ctx: &ActivityContext,
    ) -> Result<Step, ActivityError> {
        let (info, activities) = (ctx.info(), &*self.0);
        let done = match work {
            Work::Effect => with_heartbeat(ctx, activities.run_effect(order)).await,
            Work::Turn => activities.turn(order).await,
            Work::Other(run) => {
                let workflow = WorkflowRef {
                    id: info.workflow_id.clone().unwrap_or_default(),
                    run: info.workflow_run_id.clone().unwrap_or_default(),
                };
                run(activities, order, &workflow).await
            }
        };
        done.map_err(|failed| match failed {
            // The books were restored from a copy that does not know the flow: the workflow ends, without effect.
            Failed::Refused { code, message } if code == UNKNOWN_FLOW => {
                refused(FLOW_LOST, &message)
            }
            // A refused turn with an outcome is retried: the outcome must not be lost.
            Failed::Refused { code, message } if order.outcome.is_none() => {
                refused(&code, &message)
            }
            Failed::Refused { message, .. } | Failed::Unavailable(message) => {
                if info.attempt >= ALERT_AFTER {
                    let (activity, flow) = (&info.activity_type, &order.flow);
                    tracing::error!(%activity, %flow, attempt = info.attempt, %message, "a turn fails");
                    activities.port.raise_alert(FAILS.to_owned());
                }
                ActivityError::from(ApplicationFailure::new(message))
            }
        })
    }
}

/// Sends heartbeats to the cluster while the effect runs.
async fn with_heartbeat<T>(ctx: &ActivityContext, effect: impl Future<Output = T>) -> T {
    let mut effect = std::pin::pin!(effect);
    loop {
        match tokio::time::timeout(BEAT, &mut effect).await {
            Ok(done) => return done,
            // Without heartbeats the cluster gives the activity up; the lease ends before anything is sent again.
            Err(_) => drop(ctx.record_heartbeat(()).await),
        }
    }
}

const BEAT: Duration = Duration::from_secs(4);

fn refused(code: &str, message: &str) -> ActivityError {
    let failure = ApplicationFailure::builder(message.to_owned());
    ActivityError::from(failure.type_name(code.to_owned()).non_retryable(true).build())
}

/// `places! { 0 1 2 … }`: registers the activity at each index. The table may not have more activities than indexes.
macro_rules! places {
    ($($n:literal)*) => {
        const PLACES: usize = [$($n),*].len();

        impl ActivityImplementer for ActivityTable {
            fn register_all(self: Arc<Self>, activities: &mut ActivityDefinitions) {
                $(
                    if $n < COUNT {
                        activities.register_activity::<At<$n>>(Arc::clone(&self));
                    }
                )*
            }
        }
    };
}

places! { 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 }

const COUNT: usize = SHARED.len().saturating_add(AnyKind::ACTIVITY_COUNT);
const _: () = assert!(COUNT <= PLACES, "add indexes to `places!`");

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    use super::{COUNT, all};

    #[test]
    fn every_activity_has_a_name_of_its_own() {
        let names: BTreeSet<_> = all().map(|activity| activity.name).collect();
        assert_eq!(names.len(), COUNT);
        assert!(!names.contains(""));
    }

    /// The core names activities in the `machine.rs` of each kind: `activity: SUBMIT`, with `const SUBMIT: &str`.
    #[test]
    fn every_activity_that_the_core_names_is_in_the_table() {
        let core = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bursar-core/src");
        let mut named = 0;
        for machine in machines(&core) {
            let text = std::fs::read_to_string(&machine).unwrap();
            for constant in text.split("activity: ").skip(1) {
                let constant = constant.split([' ', ',', '}']).next().unwrap();
                let value = text.split(&format!("const {constant}: &str = \"")).nth(1);
                let value = value.unwrap_or_else(|| panic!("{}: {constant}", machine.display()));
                let name = value.split('"').next().unwrap();
                assert!(all().any(|activity| activity.name == name), "{name} is not in the table");
                named += 1;
            }
        }
        assert!(named >= 7, "the machines are where this test looks for them");
    }

    fn machines(folder: &Path) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                found.extend(machines(&path));
            } else if path.ends_with("machine.rs") {
                found.push(path);
            }
        }
        found
    }
}
