//! Webhooks on their way out: where they may go, how they are signed, and how one of them is sent.
//!
//! Every attempt is one call of [`Post::send`]. Nothing is retried from here: what to do next is the caller's.

mod answer;
mod connect;
mod header;
mod line;
mod policy;
mod post;
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
pub use header::{BadHeader, check_header};
pub use policy::{BadPolicy, Place, Policy, RefusedAddress, RefusedUrl};
pub use post::Post;
pub use seal::{BadKeys, CannotOpen, CannotSeal, Keyring, Sealed};
pub use secret::{BadSecret, SigningSecret};
pub use sender::{BadSettings, Parcel, Sender, Settings};
pub use vault::Vault;

/// Written with padding, read with or without: people copy what they are shown.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);
