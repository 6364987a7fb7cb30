//! Sends the provider's callbacks: signed, with limited concurrency, and with a few retries.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::Request;
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HOST};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::provider::CallbackPayload;
use super::serve::SharedProvider;
use crate::callback::{self, SIGNATURE_HEADER};
use crate::http::wire::{Limits, Wire};
use crate::http::{BadSettings, Roots, Target, Tls};
use crate::secret::Secret;

/// Callbacks in flight at once.
const IN_FLIGHT_MAX: usize = 64;
const TIMEOUT: Duration = Duration::from_secs(5);
/// Pauses before the retries: the receiver may be down for a moment.
const PAUSES_MS: [u64; 4] = [100, 300, 1_000, 3_000];

/// The receiver of callbacks, and the secret that signs them.
#[derive(Debug)]
pub struct Telling {
    wire: Wire,
    target: Target,
    secret: Secret,
}

impl Telling {
    pub fn new(url: &str, secret: Secret) -> Result<Self, BadSettings> {
        let target = Target::parse(url)?;
        let tls = target.is_secure.then(|| Tls::new(&target, &Roots::System)).transpose()?;
        Ok(Self { wire: Wire::new(target.clone(), tls, IN_FLIGHT_MAX), target, secret })
    }

    /// Sends a callback, with retries.
    async fn deliver(&self, callback: CallbackPayload) {
        for pause in PAUSES_MS {
            if self.is_taken(&callback).await {
                return;
            }
            sleep(Duration::from_millis(pause)).await;
        }
        // The last try: providers give up, and the client has to query.
        self.is_taken(&callback).await;
    }

    async fn is_taken(&self, payload: &CallbackPayload) -> bool {
        let Target { authority, path, .. } = &self.target;
        let request = Request::post(if path.is_empty() { "/" } else { path })
            .header(HOST, authority)
            .header(CONTENT_TYPE, "application/json")
            .header(SIGNATURE_HEADER, callback::sign(&self.secret, &payload.body))
            .body(Full::new(Bytes::from(payload.body.clone())));
        let (Ok(request), Some(until)) = (request, Instant::now().checked_add(TIMEOUT)) else {
            return true;
        };
        let limits = Limits { until, lease: until };
        // Any connection may be reused: the answer only acknowledges the callback.
        let answer = self.wire.exchange(request, limits, |_| true).await;
        answer.is_ok_and(|answer| answer.status < 500)
    }
}

/// Sends all callbacks, without end.
pub(super) async fn run(shared: Arc<SharedProvider>, telling: Telling) {
    let telling = Arc::new(telling);
    let mut calls = JoinSet::new();
    loop {
        let (due, next_in) = shared.due_callbacks();
        for callback in due {
            while calls.len() >= IN_FLIGHT_MAX {
                calls.join_next().await;
            }
            let telling = Arc::clone(&telling);
            calls.spawn(async move { telling.deliver(callback).await });
        }
        tokio::select! {
            () = shared.callbacks_changed.notified() => {}
            Some(_) = calls.join_next() => {}
            () = sleep(next_in.unwrap_or_default()), if next_in.is_some() => {}
        }
    }
}
