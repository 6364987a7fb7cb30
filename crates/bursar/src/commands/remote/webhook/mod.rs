//! `bursar webhook`: where merchants are told, what was told, what nobody took, and all of it once more.

mod deliveries;
mod endpoints;
mod replay;

use bursar_node::failure::Failure;
use clap::{Args, Subcommand};

use super::Server;
use crate::commands::webhook_verify;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    server: Server,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Where merchants want to be told
    #[command(subcommand)]
    Endpoints(endpoints::Command),
    /// What was told to whom, newest first
    Deliveries(deliveries::List),
    /// One delivery with every attempt
    Delivery(deliveries::Named),
    /// What nobody took, the latest first
    DeadLetters(deliveries::DeadLetters),
    Replay(replay::Replay),
    Verify(webhook_verify::Arguments),
}

impl Arguments {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let server = self.server;
        match self.command {
            Command::Endpoints(command) => command.run(&server),
            Command::Deliveries(list) => list.run(&server),
            Command::Delivery(delivery) => delivery.run(&server),
            Command::DeadLetters(list) => list.run(&server),
            Command::Replay(replay) => replay.run(&server),
            // It asks nobody.
            Command::Verify(arguments) => arguments.run(server.json),
        }
    }
}
