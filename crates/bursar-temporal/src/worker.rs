//! A worker: runs workflows and activities of all task queues until it is stopped, and finishes running activities.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use temporalio_client::Client;
use temporalio_common::telemetry::{
    PrometheusExporterOptions, TelemetryOptions, start_prometheus_metric_exporter,
};
use temporalio_sdk::runtime::RuntimeOptions;
use temporalio_sdk::{Runtime, Worker as SdkWorker, WorkerOptions};
use tokio::sync::oneshot;

use crate::activities::Activities;
use crate::activity_table::ActivityTable;
use crate::cluster::Cluster;
use crate::driver::Driver;
use crate::kinds::{AnyKind, with_kind};
use crate::port::HostPort;
use crate::relay::Relay;
use crate::slots::Slots;

/// A running worker.
pub struct Worker {
    queues: Vec<Queue>,
    _runtime: Arc<Runtime>,
}

/// One task queue. Its workflows run on a thread of their own, its activities on the shared runtime.
struct Queue {
    name: &'static str,
    stop: Box<dyn Fn() + Send + Sync>,
    thread: JoinHandle<()>,
    ended: oneshot::Receiver<Result<(), String>>,
}

impl fmt::Debug for Worker {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Worker").finish_non_exhaustive()
    }
}

/// After so long the cluster gives the workflow of a lost worker to another worker.
const STICKY: Duration = Duration::from_secs(5);

impl Worker {
    /// Starts to poll all queues. Must be called inside the runtime that runs the activities.
    pub async fn start(
        port: Arc<dyn HostPort>,
        cluster: &Cluster,
        relay: Arc<Relay>,
        metrics: Option<SocketAddr>,
    ) -> Result<Self, String> {
        let runtime = Arc::new(runtime(metrics)?);
        let slots = Slots::new(port.rules());
        let is_searchable = cluster.is_searchable;
        let activities = Arc::new(Activities { port, slots, relay, is_searchable });
        let mut queues = Vec::new();
        for kind in AnyKind::ALL {
            let (client, runtime) = (cluster.client.clone(), Arc::clone(&runtime));
            queues.push(Queue::start(*kind, client, runtime, Arc::clone(&activities)).await?);
        }
        Ok(Self { queues, _runtime: runtime })
    }

    /// Takes no new tasks; running activities are finished.
    pub fn stop(&self) {
        for queue in &self.queues {
            (queue.stop)();
        }
    }

    /// Returns when a queue has ended, whether it was stopped or failed.
    pub async fn ended(&mut self) -> Result<(), String> {
        let ended = self.queues.iter_mut().map(|queue| &mut queue.ended);
        let (ended, _, _) = futures_util::future::select_all(ended).await;
        ended.unwrap_or_else(|_| Err("a worker has failed".to_owned()))
    }

    /// Waits for the end of all queues, after `stop`.
    pub async fn join(self) -> Result<(), String> {
        let joined = tokio::task::spawn_blocking(move || {
            for queue in self.queues {
                let name = queue.name;
                queue.thread.join().map_err(|_| format!("the worker of {name} has failed"))?;
            }
            Ok(())
        });
        joined.await.unwrap_or_else(|error| Err(error.to_string()))
    }
}

fn runtime(metrics: Option<SocketAddr>) -> Result<Runtime, String> {
    let exporter = metrics.map(|address| {
        let options = PrometheusExporterOptions::builder().socket_addr(address).build();
        start_prometheus_metric_exporter(options)
            .map_err(|error| format!("metrics cannot be shown at {address}: {error}"))
    });
    let exporter = exporter.transpose()?;
    let telemetry = TelemetryOptions::builder()
        .maybe_metrics(exporter.map(
            |exporter| -> Arc<dyn temporalio_common::telemetry::metrics::CoreMeter> {
                exporter.meter
            },
        ))
        .build();
    let options = RuntimeOptions::builder().telemetry_options(telemetry).build()?;
    Runtime::from_current_tokio(options).map_err(|error| error.to_string())
}

impl Queue {
    async fn start(
        kind: AnyKind,
        client: Client,
        runtime: Arc<Runtime>,
        activities: Arc<Activities>,
    ) -> Result<Self, String> {
        let name = kind.task_queue();
        let (started, is_started) = oneshot::channel();
        let (over, ended) = oneshot::channel();
        let handle = tokio::runtime::Handle::current();
        let run = move || {
            let _inside = handle.enter();
            let mut worker = match worker(kind, client, &runtime, activities) {
                Ok(worker) => worker,
                Err(error) => return drop(started.send(Err(error))),
            };
            let stop: Box<dyn Fn() + Send + Sync> = Box::new(worker.shutdown_handle());
            // If the caller of `start` is gone, no caller can stop the worker either.
            drop(started.send(Ok(stop)));
            let ended = handle.block_on(worker.run()).map_err(|error| error.to_string());
            drop(over.send(ended));
        };
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(run);
        let thread = thread.map_err(|error| error.to_string())?;
        let stop = is_started.await.map_err(|_| "a worker ended before it began".to_owned())??;
        Ok(Self { name, stop, thread, ended })
    }
}

fn worker(
    kind: AnyKind,
    client: Client,
    runtime: &Runtime,
    activities: Arc<Activities>,
) -> Result<SdkWorker, String> {
    let options = WorkerOptions::new(kind.task_queue());
    let options = options.register_activities(ActivityTable(activities));
    let options = with_kind!(kind, K => options.register_workflow::<Driver<K>>());
    let options = options
        .map_err(|error| error.to_string())?
        .sticky_queue_schedule_to_start_timeout(STICKY)
        .build();
    SdkWorker::new(runtime, client, options).map_err(|error| error.to_string())
}
