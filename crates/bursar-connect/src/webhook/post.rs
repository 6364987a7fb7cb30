//! Between the core and the wire: what was decided is opened, signed and sent, and what came of it is said in its words.

use std::sync::Arc;

use bursar_core::delivery::{self, Event, Outcome, Response, Unsendable};
use jiff::SignedDuration;
use tokio::time::Instant;

use super::answer::{Answered, Class, NotAnswered};
use super::seal::CannotOpen;
use super::sender::{Parcel, Sender};
use super::vault::Vault;

/// Brings parcels to endpoints.
#[derive(Debug, Clone)]
pub struct Post {
    sender: Arc<Sender>,
    /// None if nothing was ever sealed here.
    vault: Option<Arc<Vault>>,
}

impl Post {
    pub const fn new(sender: Arc<Sender>, vault: Option<Arc<Vault>>) -> Self {
        Self { sender, vault }
    }

    /// One attempt, by the deadline.
    pub async fn send(&self, parcel: delivery::Parcel, deadline: Instant) -> Event {
        let attempt = parcel.attempt;
        let returned = |took_ms, outcome| Event::Returned { attempt, took_ms, outcome };
        let opened = match self.open(parcel) {
            Ok(opened) => opened,
            Err((what, detail)) => return returned(0, Outcome::Unsendable { what, detail }),
        };
        let sent = self.sender.send(opened, deadline).await;
        let took_ms = u64::try_from(sent.latency.as_millis()).unwrap_or(u64::MAX);
        returned(took_ms, outcome(sent.result))
    }

    fn open(&self, parcel: delivery::Parcel) -> Result<Parcel, (Unsendable, String)> {
        let Some(vault) = &self.vault else {
            let detail = "there are no keys to open its secrets with; set BURSAR_SECRET_KEYS";
            return Err((Unsendable::NoKey, detail.to_owned()));
        };
        let said = |error: CannotOpen| match error {
            CannotOpen::UnknownKey(_) => (Unsendable::NoKey, error.to_string()),
            CannotOpen::Unreadable | CannotOpen::Changed => {
                (Unsendable::Signing, error.to_string())
            }
        };
        let secrets =
            parcel.secrets.iter().map(|sealed| vault.open_secret(parcel.endpoint, sealed));
        let secrets = secrets.collect::<Result<Vec<_>, _>>().map_err(said)?;
        // The newest comes first; the header that has room for one has the oldest that still counts.
        let Some(simple_secret) = secrets.last().cloned() else {
            return Err((
                Unsendable::Signing,
                "it has no secret to sign with; rotate it".to_owned(),
            ));
        };
        let headers =
            parcel.headers.as_deref().map(|sealed| vault.open_headers(parcel.endpoint, sealed));
        let headers = headers.transpose().map_err(said)?.unwrap_or_default();
        Ok(Parcel {
            url: parcel.url,
            body: parcel.body.into_bytes(),
            event_id: parcel.event.to_string(),
            event_type: parcel.kind,
            attempt: parcel.attempt,
            at: parcel.at,
            headers: headers.into_iter().collect(),
            simple_secret,
            secrets,
        })
    }
}

fn outcome(result: Result<Answered, NotAnswered>) -> Outcome {
    match result {
        Ok(Answered { status, retry_after, body, .. }) => {
            let retry_after = retry_after.map(SignedDuration::try_from);
            let retry_after = retry_after.and_then(Result::ok);
            Outcome::Answered { status, retry_after, response: Response::new(&body) }
        }
        Err(NotAnswered { class: Class::Signing, detail }) => {
            Outcome::Unsendable { what: Unsendable::Signing, detail }
        }
        Err(NotAnswered { class: Class::NoMeans, detail }) => {
            Outcome::Unsendable { what: Unsendable::NoMeans, detail }
        }
        Err(NotAnswered { class, detail }) => {
            Outcome::Failed { class: class.name().to_owned(), detail }
        }
    }
}
