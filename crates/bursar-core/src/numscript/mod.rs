//! Numscript: a small language that says where money comes from and where it goes.
//!
//! `parse` text into a `Script`, `check` it for mistakes, compile it into a `Program`, `run` that against records.
//! All of it is pure; a hostile program is refused within the `limits`.

pub mod amount;
pub mod ast;
mod check;
mod compile;
mod error;
mod feature;
mod lex;
pub mod limits;
mod parse;
mod portion;
mod render;
mod run;
mod span;
mod value;

#[cfg(test)]
mod tests;

pub use check::{Finding, check};
pub use compile::Program;
pub use error::{Error, ErrorKind};
pub use feature::{Feature, Features};
pub use parse::parse;
pub use portion::{Portion, PortionError};
pub use render::Severity;
pub use run::{Inputs, Outcome, Posting, Records, Snapshot};
pub use span::Span;
pub use value::{Monetary, Name, Type, Value, is_address, is_asset};

/// How to behave where the first implementation of the language has faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Never makes or loses money.
    #[default]
    Safe,
    /// The same bytes as upstream, faults included.
    Compat,
}
