//! Payouts and webhooks on a real Temporal server, with its own command line beside it.

mod alerts;
mod command_line;
mod crash_recovery;
mod edge_cases;
mod fixture;
mod parity;
mod temp_cluster;
mod webhooks;
