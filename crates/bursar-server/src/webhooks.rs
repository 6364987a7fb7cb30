//! Checks of endpoint URLs and headers, and the creation and sealing of secrets.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::http::StatusCode;
use bursar_connect::webhook::{Sender, SigningSecret, Vault, check_header};
use bursar_core::ids::EndpointId;

use crate::problem::Problem;

#[derive(Debug, Clone)]
pub struct WebhookSettings {
    /// The prefix of the webhook headers.
    pub brand: String,
    /// Knows the forbidden targets.
    pub sender: Arc<Sender>,
    /// None without configured keys: endpoints cannot be created.
    pub vault: Option<Arc<Vault>>,
}

/// The maximum number of additional headers.
const HEADERS_MAX: usize = 16;

impl WebhookSettings {
    /// Rejects a URL that the sender would never send to.
    pub(crate) async fn vet(&self, url: &str) -> Result<(), Problem> {
        self.sender.vet(url).await.map_err(|refused| {
            let detail = format!("nothing would be sent there: {refused}. Nothing was changed");
            Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "refused_url", detail)
        })
    }

    pub(crate) fn random<const N: usize>() -> Result<[u8; N], Problem> {
        let mut bytes = [0; N];
        getrandom::fill(&mut bytes)
            .map_err(|_| Problem::internal("this machine gives no randomness: nothing was made"))?;
        Ok(bytes)
    }

    /// A new secret: in plain text for the response, sealed for the store.
    pub(crate) fn new_secret(&self, endpoint: EndpointId) -> Result<(String, String), Problem> {
        let secret = SigningSecret::from_random(Self::random()?);
        let sealed = self.vault()?.seal_secret(endpoint, &secret, Self::random()?);
        Ok((secret.reveal(), sealed.map_err(|error| not_sealed(&error))?))
    }

    /// The header names, and the sealed headers for the store.
    pub(crate) fn seal_headers(
        &self,
        endpoint: EndpointId,
        headers: &BTreeMap<String, String>,
    ) -> Result<(Vec<String>, Option<String>), Problem> {
        let bad = |why: String| {
            let detail = format!("{why}. Nothing was changed; correct the headers");
            Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "bad_header", detail)
        };
        if headers.len() > HEADERS_MAX {
            return Err(bad(format!("an endpoint has at most {HEADERS_MAX} headers")));
        }
        for (name, value) in headers {
            check_header(name, value, &self.brand).map_err(|error| bad(error.to_string()))?;
        }
        if headers.is_empty() {
            return Ok((Vec::new(), None));
        }
        let sealed = self.vault()?.seal_headers(endpoint, headers, Self::random()?);
        let sealed = sealed.map_err(|error| not_sealed(&error))?;
        Ok((headers.keys().cloned().collect(), Some(sealed)))
    }

    fn vault(&self) -> Result<&Vault, Problem> {
        self.vault.as_deref().ok_or_else(|| {
            let detail = "secrets cannot be kept here: nothing was changed. Set BURSAR_SECRET_KEYS for every process, then start them again";
            Problem::new(StatusCode::CONFLICT, "no_secret_keys", detail)
        })
    }
}

fn not_sealed(error: &impl std::fmt::Display) -> Problem {
    Problem::internal(format!("a secret could not be sealed: {error}. Nothing was changed"))
}
