//! The list of what goes wrong elsewhere, as tests: targets, answers, signatures.

mod policy;
mod seal;
mod sign;
