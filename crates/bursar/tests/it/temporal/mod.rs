//! Payouts and webhooks on a real Temporal server, with its own command line beside it.

mod command_line;
mod killed;
mod parity;
mod shop;
mod strange;
mod visit;
mod watched;
mod webhooks;
