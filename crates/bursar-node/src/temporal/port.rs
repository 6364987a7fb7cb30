//! A node as the port of the Temporal host.

use std::sync::Arc;

use bursar_core::flow::{Effect, Outcome};
use bursar_core::payouts::Beneficiary;
use bursar_core::registry::{Content, Kind, RecordKey};
use bursar_core::rejection::Rejection;
use bursar_core::rules::Rules;
use bursar_core::turn::{Answer, Body};
use bursar_engine::{Alert, Clock, Handle, Outside, run_in_time};
use bursar_store::{AnyStore, Browse as _, Location};
use bursar_temporal::{HostPort, Promise};
use jiff::Timestamp;
use tokio::sync::Mutex;
use tokio::time::Instant;

pub struct NodePort {
    pub handle: Handle,
    pub clock: Arc<dyn Clock>,
    pub outside: Arc<dyn Outside>,
    pub rules: Arc<Rules>,
    /// The runtime for effects.
    pub runtime: tokio::runtime::Handle,
    pub reader: Reader,
}

impl std::fmt::Debug for NodePort {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NodePort").finish_non_exhaustive()
    }
}

/// A read connection, opened on first use and reopened after a failure.
#[derive(Debug)]
pub struct Reader {
    location: Location,
    store: Arc<Mutex<Option<AnyStore>>>,
}

impl Reader {
    pub fn new(location: Location) -> Self {
        Self { location, store: Arc::default() }
    }

    async fn beneficiary(&self, merchant: &str, id: &str) -> Result<Option<Beneficiary>, String> {
        let (location, store) = (self.location.clone(), Arc::clone(&self.store));
        let key = RecordKey { kind: Kind::Beneficiary, id: id.to_owned() };
        let runtime = tokio::runtime::Handle::current();
        // Reading SQLite blocks.
        let reading = tokio::task::spawn_blocking(move || {
            runtime.block_on(async {
                let mut kept = store.lock().await;
                let mut store = match kept.take() {
                    Some(store) => store,
                    None => location.bounded_reader().await?,
                };
                let record = store.record(&key).await?;
                *kept = Some(store);
                Ok(record)
            })
        });
        let record = reading.await.map_err(|error| error.to_string())?;
        let record = record.map_err(|error: bursar_store::StoreError| error.to_string())?;
        Ok(record.and_then(|record| match record.content {
            Content::Beneficiary(record) if record.merchant == merchant => Some(record.details),
            Content::Beneficiary(_)
            | Content::Merchant(_)
            | Content::ApiKey(_)
            | Content::Alert(_)
            | Content::Anchor(_)
            | Content::ReportedPayment(_)
            | Content::DispatchSettings(_)
            | Content::DispatchState(_)
            | Content::Endpoint(_) => None,
        }))
    }
}

impl HostPort for NodePort {
    fn ask(&self, body: Body) -> Promise<'_, Result<Answer, String>> {
        Box::pin(async move { self.handle.ask(body).await.map_err(|error| error.to_string()) })
    }

    fn run(&self, effect: Effect, deadline: Instant) -> Promise<'_, Outcome> {
        let outside = Arc::clone(&self.outside);
        Box::pin(async move {
            let run = run_in_time(outside, effect.clone(), deadline, &self.runtime);
            self.handle.running(&effect, run).await
        })
    }

    fn beneficiary<'p>(
        &'p self,
        merchant: &'p str,
        id: &'p str,
    ) -> Promise<'p, Result<Option<Beneficiary>, String>> {
        Box::pin(self.reader.beneficiary(merchant, id))
    }

    fn raise_alert(&self, message: String) {
        tracing::error!(message, "alert raised");
        self.handle.alert(self.now(), Alert::External(message));
    }

    fn refused(&self, flow: String, rejection: Rejection) {
        tracing::error!(flow, %rejection, "a due step was rejected: an operator must look");
        self.handle.alert(self.now(), Alert::Refused { flow, rejection });
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn rules(&self) -> &Rules {
        &self.rules
    }
}
