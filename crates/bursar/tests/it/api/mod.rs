//! The API from outside: a real server, real channels over sockets, and whoever calls them.

mod access;
mod bodies;
mod callbacks;
mod desk;
mod document;
mod freezes;
mod idempotency;
mod killed;
mod lists;
mod operations;
mod payin_events;
mod postgres;
mod refusals;
mod review;
mod scopes;
mod script;
mod server;
mod test_clock;
mod verifiers;
mod webhook_faults;
mod webhooks;
