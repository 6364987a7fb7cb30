//! The command line.

mod bench;
mod check;
mod demo;
pub(crate) mod ledger;
mod numscript;
mod serve;
mod simulate_channel;

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::failure::Failure;

/// Bursar moves money for payment companies and never moves it on a guess.
#[derive(Debug, Parser)]
#[command(name = "bursar", version, propagate_version = true, arg_required_else_help = true)]
pub(crate) struct Arguments {
    /// The configuration file [default: bursar.toml, if it is there]
    #[arg(long, global = true, value_name = "FILE", env = "BURSAR_CONFIG")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// A day of pay-ins, payouts, refunds and disputes in five markets, in memory
    Demo(demo::Arguments),
    /// Check the configuration, the chart of accounts, and that every template does what its mapping says
    Check(check::Arguments),
    /// Bring the schema of a data directory up to date
    Migrate(ledger::MigrateArguments),
    /// Post events, and read and verify the books
    #[command(subcommand)]
    Ledger(ledger::Command),
    /// Run and check Numscript programs
    #[command(subcommand)]
    Numscript(numscript::Command),
    Serve(serve::Arguments),
    SimulateChannel(simulate_channel::Arguments),
    /// Measure speed, as ratios within one run
    #[command(subcommand)]
    Bench(bench::Command),
}

impl Arguments {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let config = self.config.as_deref();
        match self.command {
            Command::Demo(arguments) => arguments.run(config),
            Command::Check(arguments) => arguments.run(config),
            Command::Migrate(arguments) => arguments.run(config),
            Command::Ledger(command) => command.run(config),
            Command::Numscript(command) => command.run(),
            Command::Serve(arguments) => arguments.run(config),
            Command::SimulateChannel(arguments) => arguments.run(),
            Command::Bench(command) => command.run(),
        }
    }
}
