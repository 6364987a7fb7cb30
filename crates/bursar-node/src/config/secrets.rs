//! Secrets of the configuration and the environment: short ones can be guessed.

use std::net::SocketAddr;

use bursar_connect::Secret;
use bursar_server::key_digest;

use super::{AuthConfig, Config};
use crate::failure::Failure;

/// The variable with the first admin key.
const ADMIN_KEY: &str = "BURSAR_ADMIN_KEY";
/// Shorter secrets are refused.
const LENGTH_MIN: usize = 4;
/// Shorter secrets are for trying Bursar on one machine: they are warned of, and refused where others reach the API.
const LENGTH_SAFE: usize = 16;

const RANDOM: &str = "use a random one, such as `head -c 24 /dev/urandom | base64`";

/// A secret of the configuration.
pub(super) fn secret(key: &str, text: &str) -> Result<Secret, Failure> {
    check_length(key, text)?;
    Ok(Secret::new(text))
}

fn check_length(name: &str, text: &str) -> Result<(), Failure> {
    if text.chars().count() >= LENGTH_MIN {
        return Ok(());
    }
    Err(Failure::new(format!(
        "the configuration cannot be used: {name} has fewer than {LENGTH_MIN} characters, and can be guessed at once. Nothing was started; {RANDOM}"
    )))
}

fn admin_key_text() -> Option<String> {
    std::env::var(ADMIN_KEY).ok().filter(|key| !key.is_empty())
}

/// The digest of the admin key of the environment, if there is one.
pub fn admin_key() -> Result<Option<[u8; 32]>, Failure> {
    let Some(key) = admin_key_text() else { return Ok(None) };
    check_length(ADMIN_KEY, &key)?;
    Ok(Some(key_digest(&key)))
}

impl Config {
    /// The names of the secrets that can be guessed.
    fn short_secrets(&self) -> Vec<String> {
        let admin_key = admin_key_text();
        let mut secrets: Vec<(String, &str)> = Vec::new();
        secrets.extend(admin_key.as_deref().map(|key| (ADMIN_KEY.to_owned(), key)));
        for (name, channel) in &self.channels {
            let callback = channel.callback_secret.as_deref();
            secrets.extend(callback.map(|text| (format!("channels.{name}.callback_secret"), text)));
            secrets.extend(match &channel.auth {
                AuthConfig::None => None,
                AuthConfig::Bearer(token) => {
                    Some((format!("channels.{name}.auth.bearer"), token.as_str()))
                }
                AuthConfig::Hmac { secret, .. } => {
                    Some((format!("channels.{name}.auth.hmac.secret"), secret.as_str()))
                }
            });
        }
        for (name, provider) in &self.providers {
            let callback = provider.callback_secret.as_deref();
            secrets
                .extend(callback.map(|text| (format!("providers.{name}.callback_secret"), text)));
        }
        let short = secrets.into_iter().filter(|(_, text)| text.chars().count() < LENGTH_SAFE);
        short.map(|(name, _)| name).collect()
    }

    /// Refuses secrets that can be guessed if other machines reach the API.
    pub fn check_secrets(&self, listen: SocketAddr) -> Result<(), Failure> {
        let short = self.short_secrets();
        if listen.ip().is_loopback() || short.is_empty() {
            return Ok(());
        }
        Err(Failure::new(format!(
            "the API would listen on {listen}, where other machines reach it, and {} could be guessed: fewer than {LENGTH_SAFE} characters. Nothing was started; {RANDOM}",
            short.join(", ")
        )))
    }

    pub(super) fn secret_warnings(&self) -> impl Iterator<Item = String> {
        self.short_secrets().into_iter().map(|name| {
            format!("{name} has fewer than {LENGTH_SAFE} characters and could be guessed: {RANDOM} before other machines reach the API")
        })
    }
}
