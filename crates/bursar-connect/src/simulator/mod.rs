//! An adversarial provider with its own books. It fails in the ways of real providers, and the same seed and references
//! reproduce the same behaviour.
//!
//! `provider` is the provider as a value: no clock, no sockets. `behaviour` has the tables of its behaviour. `channel` is
//! the provider in this process, `serve` the same over HTTP, and `callbacks` sends its callbacks.
//!
//! It never lies: a reference is found by queries at most five seconds after it was processed, a failed payment stays
//! failed, and a calm provider answers every query correctly.

mod behaviour;
mod callbacks;
mod channel;
mod dice;
mod payment;
mod provider;
mod serve;
#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;

pub use callbacks::Telling;
pub use channel::{SimChannel, SimSettings};
pub use payment::{Books, Entry, State};
pub use provider::{Action, CallbackPayload, Order, Provider, Reply};
pub use serve::{ServeOptions, serve};

/// How badly it behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// Pays at once and says so; pending payments are finished within five seconds.
    Calm,
    /// Mostly fine.
    Flaky,
    /// Every failure that providers have.
    Hostile,
    /// Takes nothing and answers nothing.
    Silent,
    /// Pays another amount than was ordered, and says so.
    WrongAmount,
}

impl Profile {
    const ALL: [Self; 5] =
        [Self::Calm, Self::Flaky, Self::Hostile, Self::Silent, Self::WrongAmount];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Calm => "calm",
            Self::Flaky => "flaky",
            Self::Hostile => "hostile",
            Self::Silent => "silent",
            Self::WrongAmount => "wrong_amount",
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a profile. Nothing was changed; choose calm, flaky, hostile, silent or wrong_amount"
)]
pub struct UnknownProfile(String);

impl FromStr for Profile {
    type Err = UnknownProfile;

    fn from_str(name: &str) -> Result<Self, UnknownProfile> {
        let known = Self::ALL.into_iter().find(|profile| profile.name() == name);
        known.ok_or_else(|| UnknownProfile(crate::gsma::excerpt(name)))
    }
}

/// The configuration of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    pub seed: u64,
    pub profile: Profile,
    /// The same reference is paid once and answered as before. If not, every submission of it is paid again.
    pub is_idempotent: bool,
}
