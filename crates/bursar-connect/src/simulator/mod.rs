//! An adversarial provider with its own books. It behaves as badly as real ones do, and the same seed and references
//! make it behave the same way again.
//!
//! `provider` is the whole of it as a value: no clock, no sockets. `behaviour` is what it may do, as tables. `channel` is
//! the provider in this process, `serve` the same over HTTP, and `tell` sends its callbacks.
//!
//! Whatever it does, it does not lie: a reference shows up in queries at most five seconds after it was processed, what
//! has failed stays failed, and once it is calm it tells the plain truth about everything.

mod behaviour;
mod channel;
mod dice;
mod payment;
mod provider;
mod serve;
mod tell;
#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;

pub use channel::{SimChannel, SimSettings};
pub use payment::{Books, Entry, State};
pub use provider::{Order, Provider, Reply, Say, Told};
pub use serve::{ServeOptions, serve};
pub use tell::Telling;

/// How badly it behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// Pays at once and says so; whatever was pending is finished within five seconds.
    Calm,
    /// Mostly fine.
    Flaky,
    /// Everything that providers do.
    Hostile,
    /// Takes nothing and answers nothing.
    Silent,
}

impl Profile {
    const ALL: [Self; 4] = [Self::Calm, Self::Flaky, Self::Hostile, Self::Silent];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Calm => "calm",
            Self::Flaky => "flaky",
            Self::Hostile => "hostile",
            Self::Silent => "silent",
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a profile. Nothing was changed; choose calm, flaky, hostile or silent")]
pub struct UnknownProfile(String);

impl FromStr for Profile {
    type Err = UnknownProfile;

    fn from_str(name: &str) -> Result<Self, UnknownProfile> {
        let known = Self::ALL.into_iter().find(|profile| profile.name() == name);
        known.ok_or_else(|| UnknownProfile(crate::gsma::excerpt(name)))
    }
}

/// What a provider is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    pub seed: u64,
    pub profile: Profile,
    /// The same reference is paid once and answered as before. If not, every submission of it is paid again.
    pub is_idempotent: bool,
}
