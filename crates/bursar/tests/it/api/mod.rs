//! API tests: a real server process, channels over sockets, and HTTP callers.

mod access;
pub(crate) mod actions;
mod auditor;
mod bodies;
mod callbacks;
mod crash_recovery;
mod dispatch;
mod document;
mod freezes;
mod idempotency;
mod lists;
mod operations;
mod payin_events;
mod postgres;
mod receivers;
mod refusals;
mod review;
mod scopes;
pub(crate) mod scripted_channel;
pub(crate) mod server;
mod shown_beneficiaries;
mod test_clock;
mod verifiers;
mod webhook_faults;
mod webhooks;
