//! The command line.

mod bench;
mod check;
mod demo;
mod numscript;

use clap::{Parser, Subcommand};

use crate::failure::Failure;

/// Bursar moves money for payment companies and never moves it on a guess.
#[derive(Debug, Parser)]
#[command(name = "bursar", version, propagate_version = true, arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// A day of pay-ins, payouts, refunds and disputes in five markets, in memory
    Demo(demo::Arguments),
    /// Check the configuration, the chart of accounts, and that every template does what its mapping says
    Check(check::Arguments),
    /// Run and check Numscript programs
    #[command(subcommand)]
    Numscript(numscript::Command),
    /// Measure speed, as ratios within one run
    #[command(subcommand)]
    Bench(bench::Command),
}

impl Arguments {
    pub(crate) fn run(self) -> Result<(), Failure> {
        match self.command {
            Command::Demo(arguments) => arguments.run(),
            Command::Check(arguments) => arguments.run(),
            Command::Numscript(command) => command.run(),
            Command::Bench(command) => command.run(),
        }
    }
}
