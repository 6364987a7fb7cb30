//! A node, as the workers and the relay of the Temporal host want it.

use std::sync::Arc;

use bursar_core::delivery::{self, Parcel};
use bursar_core::effect::Effect;
use bursar_core::payout::{self, Beneficiary};
use bursar_core::registry::{Content, Kind, RecordKey};
use bursar_core::rejection::Rejection;
use bursar_core::request::{Answer, Body};
use bursar_core::rules::Rules;
use bursar_engine::{Alert, Channels, Clock, Courier, Handle, run_in_time, send_in_time};
use bursar_store::{AnyStore, Browse as _, Location};
use bursar_temporal::{Office, Promise};
use jiff::Timestamp;
use tokio::sync::Mutex;
use tokio::time::Instant;

pub struct NodeOffice {
    pub handle: Handle,
    pub clock: Arc<dyn Clock>,
    pub channels: Arc<dyn Channels>,
    pub courier: Arc<dyn Courier>,
    pub rules: Arc<Rules>,
    /// Where effects run.
    pub runtime: tokio::runtime::Handle,
    pub reader: Reader,
}

impl std::fmt::Debug for NodeOffice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NodeOffice").finish_non_exhaustive()
    }
}

/// One connection for looking things up, made when it is first needed, and again when it has failed.
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
                    None => location.reader().await?,
                };
                let record = store.record(&key).await?;
                *kept = Some(store);
                Ok(record)
            })
        });
        let record = reading.await.map_err(|error| error.to_string())?;
        let record = record.map_err(|error: bursar_store::StoreError| error.to_string())?;
        Ok(record.and_then(|record| match record.content {
            Content::Beneficiary(payee) if payee.merchant == merchant => Some(payee.details),
            Content::Beneficiary(_)
            | Content::Merchant(_)
            | Content::ApiKey(_)
            | Content::Alert(_)
            | Content::Endpoint(_) => None,
        }))
    }
}

impl Office for NodeOffice {
    fn ask(&self, body: Body) -> Promise<'_, Result<Answer, String>> {
        Box::pin(async move { self.handle.ask(body).await.map_err(|error| error.to_string()) })
    }

    fn call(&self, effect: Effect, deadline: Instant) -> Promise<'_, payout::Event> {
        let (channels, channel) = (Arc::clone(&self.channels), effect.channel.clone());
        Box::pin(async move {
            let call = run_in_time(channels, effect, deadline, &self.runtime);
            self.handle.calling(&channel, call).await
        })
    }

    fn send(&self, parcel: Parcel, deadline: Instant) -> Promise<'_, delivery::Event> {
        let courier = Arc::clone(&self.courier);
        let send = send_in_time(courier, parcel, deadline, &self.runtime);
        Box::pin(self.handle.sending(send))
    }

    fn beneficiary<'p>(
        &'p self,
        merchant: &'p str,
        id: &'p str,
    ) -> Promise<'p, Result<Option<Beneficiary>, String>> {
        Box::pin(self.reader.beneficiary(merchant, id))
    }

    fn alarm(&self, words: String) {
        tracing::error!(words, "somebody must look");
        self.handle.alert(self.now(), Alert::Beside(words));
    }

    fn refused(&self, flow: String, rejection: Rejection) {
        tracing::error!(flow, %rejection, "what must be done is refused: somebody must look");
        self.handle.alert(self.now(), Alert::Refused { flow, rejection });
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn rules(&self) -> &Rules {
        &self.rules
    }
}
