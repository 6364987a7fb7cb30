//! Known failures and attacks of webhook senders, as tests: targets, answers, signatures.

mod answers;
mod dns;
mod header;
mod names;
mod policy;
mod request;
mod reuse;
mod seal;
mod server;
mod sign;
mod tls;
