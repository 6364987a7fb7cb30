//! Secrets of the configuration and the environment: short ones can be guessed.

use bursar_connect::Secret;
use bursar_server::key_digest;

use crate::failure::Failure;

/// The variable with the first admin key.
const ADMIN_KEY: &str = "BURSAR_ADMIN_KEY";
/// Shorter secrets are refused.
const LENGTH_MIN: usize = 8;

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
        "the configuration cannot be used: {name} has fewer than {LENGTH_MIN} characters, and could be guessed. Nothing was started; use a random one, such as `head -c 24 /dev/urandom | base64`"
    )))
}

/// The digest of the admin key of the environment, if there is one.
pub fn admin_key() -> Result<Option<[u8; 32]>, Failure> {
    let Some(key) = std::env::var(ADMIN_KEY).ok().filter(|key| !key.is_empty()) else {
        return Ok(None);
    };
    check_length(ADMIN_KEY, &key)?;
    Ok(Some(key_digest(&key)))
}
