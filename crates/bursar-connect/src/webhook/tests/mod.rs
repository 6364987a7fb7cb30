//! The list of what goes wrong elsewhere, as tests: targets, answers, signatures.

mod answers;
mod dns;
mod header;
mod kept;
mod names;
mod policy;
mod request;
mod seal;
mod server;
mod sign;
mod tls;
