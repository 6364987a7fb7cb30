//! The command line.

mod numscript;

use clap::{Parser, Subcommand};

use crate::failure::Failure;

/// Bursar moves money for payment companies and never moves it on a guess.
#[derive(Debug, Parser)]
#[command(name = "bursar", version, about, propagate_version = true, arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run and check Numscript programs
    #[command(subcommand)]
    Numscript(numscript::Command),
}

impl Arguments {
    pub(crate) fn run(self) -> Result<(), Failure> {
        match self.command {
            Command::Numscript(command) => command.run(),
        }
    }
}
