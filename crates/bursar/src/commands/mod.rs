//! The command line.

mod check;
mod keys;
mod ledger;
mod numscript;
mod remote;
mod serve;
mod simulate;
mod simulate_channel;
mod verify;
mod webhook_verify;
mod worker;

use std::path::PathBuf;

use bursar_node::failure::Failure;
use clap::{Parser, Subcommand};

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
    Demo(bursar_demo::Arguments),
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
    Worker(worker::Arguments),
    Simulate(simulate::Arguments),
    SimulateChannel(simulate_channel::Arguments),
    Verify(verify::Arguments),
    /// Payouts of a running server: asked for, looked at, cancelled, decided
    Payout(remote::payout::Arguments),
    /// Merchants of a running server: who they are, what they have, and how it came about
    Merchant(remote::merchant::Arguments),
    /// Whom a merchant of a running server pays again and again
    Beneficiary(remote::beneficiary::Arguments),
    /// What customers have paid to merchants of a running server
    Payin(remote::payin::Arguments),
    /// Keys that open a running server
    Key(remote::key::Arguments),
    /// The keys that secrets are sealed with
    #[command(subcommand)]
    Keys(keys::Command),
    /// Webhooks of a running server: where merchants are told, what was told, and all of it once more
    Webhook(remote::webhook::Arguments),
    /// What a running server sends, and what is frozen
    Dispatch(remote::dispatch::Arguments),
    /// Everything that a running server has told, in order
    Events(remote::events::Arguments),
    /// What people did on a running server
    Audit(remote::audit::Arguments),
    Bench(bursar_bench::Arguments),
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
            Command::Worker(arguments) => arguments.run(config),
            Command::Simulate(arguments) => arguments.run(),
            Command::SimulateChannel(arguments) => arguments.run(),
            Command::Verify(arguments) => arguments.run(),
            Command::Payout(arguments) => arguments.run(),
            Command::Merchant(arguments) => arguments.run(),
            Command::Beneficiary(arguments) => arguments.run(),
            Command::Payin(arguments) => arguments.run(),
            Command::Key(arguments) => arguments.run(),
            Command::Keys(command) => command.run(config),
            Command::Webhook(arguments) => arguments.run(),
            Command::Dispatch(arguments) => arguments.run(),
            Command::Events(arguments) => arguments.run(),
            Command::Audit(arguments) => arguments.run(),
            Command::Bench(arguments) => arguments.run(),
        }
    }
}
