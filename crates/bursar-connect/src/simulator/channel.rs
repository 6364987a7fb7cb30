//! The provider in this process, as a channel.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bursar_core::money::Money;
use bursar_core::payout::{Answer, Outcome};
use tokio::time::{Instant, sleep_until, timeout_at};

use super::payment::Books;
use super::provider::{Order, Provider, Reply, Say};
use super::{Options, Profile};
use crate::error_map::ErrorMap;
use crate::http::classify::{self, Heard};
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

/// It has no wire, and so it sends no callbacks; what it answers is read as the real connector reads it.
#[derive(Debug)]
pub struct SimChannel {
    provider: Mutex<Provider>,
    settings: SimSettings,
    errors: ErrorMap,
    /// Time is counted from here; the first call sets it, so that a channel can be made without a runtime.
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
            return Outcome::NotSent { detail };
        }
        let order = Order {
            reference: reference.to_owned(),
            amount: amount.to_string(),
            currency: amount.currency().to_string(),
        };
        let reply = self.provider().submit(self.now(), &order);
        match hear(reply, reference, limits(self.settings.submit_timeout, lease).until).await {
            Ok(heard) => classify::submission(&self.errors, reference, &heard),
            Err(detail) => Outcome::Unknown { detail },
        }
    }

    pub(crate) async fn query(&self, reference: &str, lease: Instant) -> Answer {
        if Instant::now() >= lease {
            return Answer::Failed { detail: "the lease has ended".to_owned() };
        }
        let reply = self.provider().query(self.now(), reference);
        match hear(reply, reference, limits(self.settings.query_timeout, lease).until).await {
            Ok(heard) => classify::query(&self.errors, reference, &heard),
            Err(detail) => Answer::Failed { detail },
        }
    }

    fn now(&self) -> Duration {
        let mut start = self.start.lock().unwrap_or_else(PoisonError::into_inner);
        start.get_or_insert_with(Instant::now).elapsed()
    }

    /// The provider, with everything done that is due.
    fn provider(&self) -> MutexGuard<'_, Provider> {
        let mut provider = self.provider.lock().unwrap_or_else(PoisonError::into_inner);
        provider.advance(self.now());
        provider
    }
}

/// What reaches the caller of a reply, and why nothing does.
async fn hear(reply: Reply, reference: &str, until: Instant) -> Result<Heard, String> {
    let late = || "no answer in time".to_owned();
    timeout_at(until, tokio::time::sleep(reply.after)).await.map_err(|_| late())?;
    match reply.say {
        Say::Answer { status, body } => {
            Ok(Heard { status, echo: Some(reference.to_owned()), body, is_reused: false })
        }
        Say::HangUp => Err("the connection was closed".to_owned()),
        Say::Hold => {
            sleep_until(until).await;
            Err(late())
        }
    }
}
