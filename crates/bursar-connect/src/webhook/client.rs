//! Between the core and the wire: opens the sealed secrets of a webhook call, sends it, and maps the result to an outcome.

use std::sync::Arc;

use bursar_core::webhooks::delivery::{Event, Outcome, Response, Unsendable, WebhookCall};
use jiff::SignedDuration;
use tokio::time::Instant;

use super::answer::{Answered, Class, NotAnswered};
use super::seal::CannotOpen;
use super::sender::{OpenedCall, Sender};
use super::vault::Vault;

/// Sends webhook calls to endpoints.
#[derive(Debug, Clone)]
pub struct WebhookClient {
    sender: Arc<Sender>,
    /// None if no keys are configured.
    vault: Option<Arc<Vault>>,
}

impl WebhookClient {
    pub const fn new(sender: Arc<Sender>, vault: Option<Arc<Vault>>) -> Self {
        Self { sender, vault }
    }

    /// One attempt, by the deadline.
    pub async fn send(&self, call: WebhookCall, attempt: u32, deadline: Instant) -> Event {
        let returned = |took_ms, outcome| Event::Returned { attempt, took_ms, outcome };
        let opened = match self.open(call, attempt) {
            Ok(opened) => opened,
            Err((what, detail)) => return returned(0, Outcome::Unsendable { what, detail }),
        };
        let sent = self.sender.send(opened, deadline).await;
        let took_ms = u64::try_from(sent.latency.as_millis()).unwrap_or(u64::MAX);
        returned(took_ms, outcome(sent.result))
    }

    fn open(&self, call: WebhookCall, attempt: u32) -> Result<OpenedCall, (Unsendable, String)> {
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
        let secrets = call.secrets.iter().map(|sealed| vault.open_secret(call.endpoint, sealed));
        let secrets = secrets.collect::<Result<Vec<_>, _>>().map_err(said)?;
        // The newest comes first; the simple header has room for one signature, by the oldest secret that is still valid.
        let Some(simple_secret) = secrets.last().cloned() else {
            return Err((
                Unsendable::Signing,
                "it has no secret to sign with; rotate it".to_owned(),
            ));
        };
        let headers =
            call.headers.as_deref().map(|sealed| vault.open_headers(call.endpoint, sealed));
        let headers = headers.transpose().map_err(said)?.unwrap_or_default();
        Ok(OpenedCall {
            url: call.url,
            body: call.body.into_bytes(),
            event_id: call.event.to_string(),
            event_type: call.kind,
            attempt,
            at: call.at,
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
        Err(NotAnswered { class: Class::LocalResourceExhausted, detail }) => {
            Outcome::Unsendable { what: Unsendable::LocalResourceExhausted, detail }
        }
        Err(NotAnswered { class, detail }) => {
            Outcome::Failed { class: class.name().to_owned(), detail }
        }
    }
}
