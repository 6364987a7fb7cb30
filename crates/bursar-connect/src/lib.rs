//! The outside world: channels by name, what they answer, what they tell unasked, and an adversarial provider to hold
//! them against.
//!
//! A channel classifies. Whatever it cannot prove is `Unknown`: money is never moved on a guess.

pub mod callback;
mod connections;
mod error_map;
mod gsma;
mod http;
mod secret;
mod signature;
pub mod simulator;
pub mod webhook;

pub use connections::{Connection, Connections};
pub use error_map::{ErrorMap, Meaning, StatusMeaning, UNMAPPED, UnknownMeaning};
pub use http::{Auth, BadSettings, HttpChannel, HttpSettings, Roots, Target, Tls, escape};
pub use secret::Secret;
pub use simulator::{SimChannel, SimSettings};
