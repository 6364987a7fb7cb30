//! Connectors: channels by name, the classification of their answers, their callbacks, webhook calls, and an adversarial
//! provider to test them with.
//!
//! A channel classifies answers. An outcome that an answer does not prove is `Unknown`: money never moves on a guess.

pub mod callback;
mod connections;
mod error_map;
mod gsma;
mod guard;
mod http;
mod local_resources;
mod secret;
mod signature;
pub mod simulator;
pub mod webhook;

pub use connections::{Connection, Connections};
pub use error_map::{ErrorMap, Meaning, StatusMeaning, UnknownMeaning};
pub use guard::Guard;
pub use http::{Auth, BadSettings, HttpChannel, HttpSettings, Roots, Target, Tls, escape};
pub use secret::Secret;
pub use simulator::{SimChannel, SimSettings};
