//! The provider in this process, as a channel.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bursar_core::money::Money;
use bursar_core::payouts::{Answer, Outcome};
use tokio::time::{Instant, sleep_until, timeout_at};

use super::payment::Books;
use super::provider::{Action, Order, Provider, Reply};
use super::{Options, Profile};
use crate::error_map::ErrorMap;
use crate::http::classify::{self, HttpAnswer};
use crate::http::limits;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimSettings {
    pub options: Options,
    pub submit_timeout: Duration,
    pub query_timeout: Duration,
}

impl SimSettings {
    pub const fn new(profile: Profile, seed: u64) -> Self {
        Self {
            options: Options { seed, profile, is_idempotent: false },
            submit_timeout: Duration::from_mins(1),
            query_timeout: Duration::from_secs(5),
        }
    }
}

/// It has no network, and so it sends no callbacks. Its answers are classified as those of the HTTP channel.
#[derive(Debug)]
pub struct SimChannel {
    provider: Mutex<Provider>,
    settings: SimSettings,
    errors: ErrorMap,
    /// The start of its time; the first call sets it, so that a channel can be made without a runtime.
    start: Mutex<Option<Instant>>,
}

impl SimChannel {
    pub fn new(settings: SimSettings) -> Self {
        let provider = Mutex::new(Provider::new(settings.options, false));
        Self { provider, settings, errors: ErrorMap::default(), start: Mutex::new(None) }
    }

    pub fn books(&self) -> Books {
        self.provider().books()
    }

    pub fn set_profile(&self, profile: Profile) {
        self.provider().set_profile(self.now(), profile);
    }

    pub(crate) async fn submit(&self, reference: &str, amount: Money, lease: Instant) -> Outcome {
        if Instant::now() >= lease {
            let detail = "the lease has ended, so it was not sent".to_owned();
            return Outcome::NotSent { detail, is_ours: true };
        }
        let order = Order {
            reference: reference.to_owned(),
            amount: amount.to_string(),
            currency: amount.currency().to_string(),
        };
        let reply = self.provider().submit(self.now(), &order);
        match receive(reply, reference, limits(self.settings.submit_timeout, lease).until).await {
            Ok(answer) => classify::submission(&self.errors, reference, &answer),
            Err(detail) => Outcome::Unknown { detail },
        }
    }

    pub(crate) async fn query(&self, reference: &str, lease: Instant) -> Answer {
        if Instant::now() >= lease {
            return Answer::Failed { detail: "the lease has ended".to_owned() };
        }
        let reply = self.provider().query(self.now(), reference);
        match receive(reply, reference, limits(self.settings.query_timeout, lease).until).await {
            Ok(answer) => classify::query(&self.errors, reference, &answer),
            Err(detail) => Answer::Failed { detail },
        }
    }

    fn now(&self) -> Duration {
        let mut start = self.start.lock().unwrap_or_else(PoisonError::into_inner);
        start.get_or_insert_with(Instant::now).elapsed()
    }

    /// The provider, after all that is due is done.
    fn provider(&self) -> MutexGuard<'_, Provider> {
        let mut provider = self.provider.lock().unwrap_or_else(PoisonError::into_inner);
        provider.advance(self.now());
        provider
    }
}

/// The answer as the caller receives it, or why it receives none.
async fn receive(reply: Reply, reference: &str, until: Instant) -> Result<HttpAnswer, String> {
    let late = || "no answer in time".to_owned();
    timeout_at(until, tokio::time::sleep(reply.after)).await.map_err(|_| late())?;
    match reply.action {
        Action::Answer { status, body } => {
            Ok(HttpAnswer { status, echo: Some(reference.to_owned()), body, is_reused: false })
        }
        Action::HangUp => Err("the connection was closed".to_owned()),
        Action::Hold => {
            sleep_until(until).await;
            Err(late())
        }
    }
}
