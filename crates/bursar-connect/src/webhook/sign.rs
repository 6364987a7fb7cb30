//! Signatures of webhooks, and how a receiver checks them.
//!
//! Two are sent: the simple one is the HMAC-SHA256 of the body; that of Standard Webhooks covers `id.timestamp.body`, so
//! that a receiver detects replays, and is sent once for each secret, so that secrets can be rotated.

use std::time::Duration;

use base64::Engine as _;
use hmac::{Hmac, KeyInit as _, Mac as _};
use jiff::Timestamp;
use sha2::Sha256;

use super::BASE64;
use super::secret::SigningSecret;
use crate::signature::{from_hex, hex};

/// How far a timestamp may be from the receiver's clock.
pub const TOLERANCE: Duration = Duration::from_mins(5);

const SIMPLE: &str = "sha256=";
const STANDARD: &str = "v1,";
const ID_MAX: usize = 256;

/// Why something cannot be signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unsignable {
    #[error("an event id is visible characters without a dot: a dot would end it early")]
    Id,
    #[error("there is no secret to sign with; make one for this endpoint")]
    NoSecret,
}

/// Why a webhook is not verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unverified {
    #[error("the event id is empty or has a dot or a space in it; do not act on this request")]
    Id,
    #[error("the timestamp is not a number of seconds; do not act on this request")]
    Timestamp,
    #[error("the request is too old; it may be a replay")]
    TooOld,
    #[error("the request is from the future; look at both clocks")]
    TooNew,
    #[error(
        "no signature fits; look whether the secret is that of this endpoint and the body as it came"
    )]
    Signature,
}

/// The headers that a receiver verifies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Headers<'a> {
    /// `webhook-id`.
    pub id: &'a str,
    /// `webhook-timestamp`.
    pub timestamp: &'a str,
    /// `webhook-signature`: one or more, with spaces between them.
    pub signature: &'a str,
}

/// `sha256=` and the HMAC-SHA256 of the body in hexadecimal.
pub fn simple(secret: &SigningSecret, body: &[u8]) -> String {
    let mac = mac(secret, &[body]).map(|mac| hex(&mac.finalize().into_bytes()));
    format!("{SIMPLE}{}", mac.unwrap_or_default())
}

/// `v1,` and the HMAC-SHA256 of `id.timestamp.body` in base64.
pub fn standard(
    secret: &SigningSecret,
    id: &str,
    unix_seconds: i64,
    body: &[u8],
) -> Result<String, Unsignable> {
    if !is_clear(id) {
        return Err(Unsignable::Id);
    }
    let head = format!("{id}.{unix_seconds}.");
    let mac = mac(secret, &[head.as_bytes(), body]).ok_or(Unsignable::NoSecret)?;
    Ok(format!("{STANDARD}{}", BASE64.encode(mac.finalize().into_bytes())))
}

/// Verifies that a webhook is signed with one of the secrets, and is not old. Compares in constant time. Signatures of
/// other kinds are ignored.
pub fn verify(
    secrets: &[SigningSecret],
    headers: &Headers<'_>,
    body: &[u8],
    now: Timestamp,
    tolerance: Duration,
) -> Result<(), Unverified> {
    let Headers { id, timestamp, signature } = *headers;
    if !is_clear(id) {
        return Err(Unverified::Id);
    }
    let is_number = timestamp.bytes().all(|byte| byte.is_ascii_digit());
    let seconds: i64 = timestamp.parse().map_err(|_| Unverified::Timestamp)?;
    let tolerance = i64::try_from(tolerance.as_secs()).unwrap_or(i64::MAX);
    match now.as_second().saturating_sub(seconds) {
        _ if !is_number => return Err(Unverified::Timestamp),
        age if age > tolerance => return Err(Unverified::TooOld),
        age if age < tolerance.saturating_neg() => return Err(Unverified::TooNew),
        _ => {}
    }
    let head = format!("{id}.{timestamp}.");
    let claims = signature.split(' ').filter_map(|claim| claim.strip_prefix(STANDARD));
    let claims: Vec<Vec<u8>> = claims.filter_map(|claim| BASE64.decode(claim).ok()).collect();
    any(secrets, &[head.as_bytes(), body], &claims)
}

/// Verifies that a body is signed with one of the secrets. Does not detect replays.
pub fn verify_simple(
    secrets: &[SigningSecret],
    signature: &str,
    body: &[u8],
) -> Result<(), Unverified> {
    let claim = signature.trim().strip_prefix(SIMPLE).and_then(from_hex);
    any(secrets, &[body], &Vec::from_iter(claim))
}

fn any(secrets: &[SigningSecret], message: &[&[u8]], claims: &[Vec<u8>]) -> Result<(), Unverified> {
    let mut macs = secrets.iter().filter_map(|secret| mac(secret, message));
    let fits = macs.any(|mac| claims.iter().any(|claim| mac.clone().verify_slice(claim).is_ok()));
    if fits { Ok(()) } else { Err(Unverified::Signature) }
}

/// HMAC takes keys of every length; a secret has at least 24 bytes.
fn mac(secret: &SigningSecret, message: &[&[u8]]) -> Option<Hmac<Sha256>> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.bytes()).ok()?;
    for part in message {
        mac.update(part);
    }
    Some(mac)
}

/// Whether an id has no dot, which would end it early, and fits into a header.
fn is_clear(id: &str) -> bool {
    let is_length = (1..=ID_MAX).contains(&id.len());
    is_length && id.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'.')
}
