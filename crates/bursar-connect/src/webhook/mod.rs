//! Outgoing webhooks: the address policy, signatures, sealed secrets, and the client.
//!
//! Every attempt is one call of [`WebhookClient::send`]. The client never retries; the caller decides.

mod answer;
mod bounded_connection;
mod client;
mod connect;
mod header;
mod policy;
mod read;
mod resolve;
mod seal;
mod secret;
mod sender;
pub mod sign;
#[cfg(test)]
mod tests;
mod vault;

use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

pub use answer::{Answered, Class, NotAnswered, Sent};
pub use client::WebhookClient;
pub use header::{BadHeader, check_header};
pub use policy::{BadPolicy, Place, Policy, RefusedAddress, RefusedUrl};
pub use seal::{BadKeys, CannotOpen, CannotSeal, Keyring, Sealed};
pub use secret::{BadSecret, SigningSecret};
pub use sender::{BadSettings, OpenedCall, Sender, Settings};
pub use vault::Vault;

/// Written with padding, read with or without.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);
