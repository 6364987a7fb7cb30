//! `bursar webhook verify`: checks the signature of a webhook, as its receiver does.

use std::convert::Infallible;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bursar_connect::Secret;
use bursar_connect::webhook::SigningSecret;
use bursar_connect::webhook::sign::{Headers, TOLERANCE, verify, verify_simple};
use bursar_node::failure::Failure;
use bursar_node::terminal;
use clap::Args;
use jiff::Timestamp;
use serde_json::json;

/// Verify the signature of a webhook locally
///
/// The body must be exactly as received. With several secrets, one match is enough, as during a rotation.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The signing secret of the endpoint, whsec_…; may be repeated. Prefer the variable, because other users of this machine
    /// can see arguments; it takes several secrets separated by spaces
    #[arg(long, value_name = "SECRET", required = true, env = "BURSAR_WEBHOOK_SECRET", hide_env_values = true, value_delimiter = ' ', value_parser = hidden)]
    secret: Vec<Secret>,
    /// The header webhook-id
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// The header webhook-timestamp
    #[arg(long, value_name = "SECONDS")]
    timestamp: Option<String>,
    /// The header webhook-signature: one or more of v1,…, separated by spaces
    #[arg(long, value_name = "SIGNATURES", requires_all = ["id", "timestamp"], required_unless_present = "simple_signature")]
    signature: Option<String>,
    /// The header X-Bursar-Signature: sha256=…; it does not cover the time of the request
    #[arg(long, value_name = "SIGNATURE")]
    simple_signature: Option<String>,
    /// The file with the body; - for standard input
    #[arg(long, value_name = "FILE", default_value = "-")]
    body: PathBuf,
    /// The allowed difference between the timestamp and this machine's clock, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = TOLERANCE.as_secs())]
    tolerance: u64,
}

#[expect(clippy::unnecessary_wraps, reason = "the signature of a clap parser")]
fn hidden(text: &str) -> Result<Secret, Infallible> {
    Ok(Secret::new(text))
}

impl Arguments {
    pub(crate) fn run(self, is_json: bool) -> Result<(), Failure> {
        let secrets = self.secrets()?;
        let body = read(&self.body)?;
        match self.check(&secrets, &body) {
            Ok(()) if is_json => terminal::say(&json!({"verified": true}).to_string()),
            Ok(()) if self.signature.is_some() => terminal::say("verified"),
            Ok(()) => terminal::say(
                "verified, but it may be an old one: only webhook-signature has the time in it",
            ),
            Err(why) => {
                if is_json {
                    terminal::say(&json!({"verified": false, "reason": why}).to_string())?;
                }
                Err(Failure::new(format!("not verified: {why}")))
            }
        }
    }

    fn secrets(&self) -> Result<Vec<SigningSecret>, Failure> {
        let given = self.secret.iter().filter(|secret| !secret.reveal().is_empty());
        let parsed = given.map(|secret| SigningSecret::parse(secret.reveal()));
        let secrets: Result<Vec<_>, _> = parsed.collect();
        let secrets = secrets.map_err(|error| {
            Failure::new(format!("a secret cannot be used: {error}. Nothing was checked"))
        })?;
        if secrets.is_empty() {
            return Err(Failure::new(
                "the secret is empty: nothing was checked. Set BURSAR_WEBHOOK_SECRET to the secret of the endpoint",
            ));
        }
        Ok(secrets)
    }

    /// Every given signature must verify.
    fn check(&self, secrets: &[SigningSecret], body: &[u8]) -> Result<(), String> {
        if let Some(signature) = &self.signature {
            let headers = Headers {
                id: self.id.as_deref().unwrap_or_default(),
                timestamp: self.timestamp.as_deref().unwrap_or_default(),
                signature,
            };
            let tolerance = Duration::from_secs(self.tolerance);
            verify(secrets, &headers, body, Timestamp::now(), tolerance)
                .map_err(|why| why.to_string())?;
        }
        if let Some(signature) = &self.simple_signature {
            verify_simple(secrets, signature, body).map_err(|why| why.to_string())?;
        }
        Ok(())
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    if path.as_os_str() != "-" {
        return std::fs::read(path).map_err(|error| Failure::reading(path, &error));
    }
    let mut body = Vec::new();
    std::io::stdin()
        .lock()
        .read_to_end(&mut body)
        .map_err(|error| Failure::reading(path, &error))?;
    Ok(body)
}
