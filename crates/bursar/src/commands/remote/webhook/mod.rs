//! `bursar webhook`: endpoints, deliveries, dead letters and replays.

mod deliveries;
mod endpoints;
mod replay;

use bursar_node::failure::Failure;
use clap::Subcommand;

use super::{GetArgs, ListArgs, RemoteCommand, Server};
use crate::commands::webhook_verify;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Manage webhook endpoints
    #[command(subcommand)]
    Endpoints(endpoints::Command),
    /// List deliveries, newest first
    Deliveries(ListArgs<deliveries::DeliveryFilter>),
    /// Show one delivery (dlv_…) and its attempts
    Delivery(GetArgs),
    /// List dead-lettered deliveries, newest first
    DeadLetters(ListArgs<deliveries::DeadLetterFilter>),
    Replay(replay::Replay),
    Verify(webhook_verify::Arguments),
}

impl RemoteCommand for Command {
    fn run(self, server: &Server) -> Result<(), Failure> {
        match self {
            Self::Endpoints(command) => command.run(server),
            Self::Deliveries(arguments) => deliveries::DELIVERIES.list(server, &arguments),
            Self::Delivery(delivery) => deliveries::get(server, &delivery),
            Self::DeadLetters(arguments) => deliveries::dead_letters(server, &arguments),
            Self::Replay(replay) => replay.run(server),
            // A local check: no server is called.
            Self::Verify(arguments) => arguments.run(server.json),
        }
    }
}
