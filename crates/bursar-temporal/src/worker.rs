//! A worker: runs workflows and activities of both task queues until it is stopped, and finishes what it has begun.

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
use crate::cluster::Cluster;
use crate::deliveries::Delivery;
use crate::disbursements::Disbursement;
use crate::driver::Driver;
use crate::hands::Hands;
use crate::port::Office;
use crate::registry::Registry;
use crate::relay::Relay;
use crate::{PAYOUT_QUEUE, WEBHOOK_QUEUE};

/// A worker that runs.
pub struct Worker {
    queues: Vec<Queue>,
    _runtime: Arc<Runtime>,
}

/// One task queue, on a thread of its own: all its workflows run there, its activities where everything else does.
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

/// How long a workflow waits for a worker that is gone before another one takes it.
const STICKY: Duration = Duration::from_secs(5);

impl Worker {
    /// Starts to poll both queues. Must be called inside the runtime that runs the activities.
    pub async fn start(
        office: Arc<dyn Office>,
        cluster: &Cluster,
        relay: Arc<Relay>,
        metrics: Option<SocketAddr>,
    ) -> Result<Self, String> {
        let runtime = Arc::new(runtime(metrics)?);
        let hands = Hands::new(office.rules());
        let is_searchable = cluster.is_searchable;
        let activities = Arc::new(Activities { office, hands, relay, is_searchable });
        let mut queues = Vec::new();
        for name in [PAYOUT_QUEUE, WEBHOOK_QUEUE] {
            let (client, runtime) = (cluster.client.clone(), Arc::clone(&runtime));
            queues.push(Queue::start(name, client, runtime, Arc::clone(&activities)).await?);
        }
        Ok(Self { queues, _runtime: runtime })
    }

    /// Takes nothing new; what is under way is finished.
    pub fn stop(&self) {
        for queue in &self.queues {
            (queue.stop)();
        }
    }

    /// Ends when a queue has ended, whether it was stopped or failed.
    pub async fn ended(&mut self) -> Result<(), String> {
        let ended = self.queues.iter_mut().map(|queue| &mut queue.ended);
        let (ended, _, _) = futures_util::future::select_all(ended).await;
        ended.unwrap_or_else(|_| Err("a worker has failed".to_owned()))
    }

    /// Once it was stopped: waits for the end of all queues.
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
        name: &'static str,
        client: Client,
        runtime: Arc<Runtime>,
        activities: Arc<Activities>,
    ) -> Result<Self, String> {
        let (started, is_started) = oneshot::channel();
        let (over, ended) = oneshot::channel();
        let handle = tokio::runtime::Handle::current();
        let run = move || {
            let _inside = handle.enter();
            let mut worker = match worker(name, client, &runtime, activities) {
                Ok(worker) => worker,
                Err(error) => return drop(started.send(Err(error))),
            };
            let stop: Box<dyn Fn() + Send + Sync> = Box::new(worker.shutdown_handle());
            // Whoever waited may have gone; then nobody stops it either.
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
    queue: &str,
    client: Client,
    runtime: &Runtime,
    activities: Arc<Activities>,
) -> Result<SdkWorker, String> {
    let options = WorkerOptions::new(queue).register_activities(Registry(activities));
    let options = if queue == PAYOUT_QUEUE {
        options.register_workflow::<Driver<Disbursement>>()
    } else {
        options.register_workflow::<Driver<Delivery>>()
    };
    let options = options
        .map_err(|error| error.to_string())?
        .sticky_queue_schedule_to_start_timeout(STICKY)
        .build();
    SdkWorker::new(runtime, client, options).map_err(|error| error.to_string())
}
