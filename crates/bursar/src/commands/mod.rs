//! The command line.

mod backup;
mod check;
mod init;
mod ledger;
mod numscript;
mod remote;
mod secret_keys;
mod serve;
mod simulate;
mod simulate_channel;
mod verify;
mod webhook_verify;
mod worker;

use std::path::PathBuf;

use bursar_node::failure::Failure;
use clap::{Parser, Subcommand};

use self::remote::Remote;

/// Bursar moves money for payment companies and never moves it on a guess.
#[derive(Debug, Parser)]
#[command(name = "bursar", version, propagate_version = true, arg_required_else_help = true)]
pub(crate) struct Arguments {
    /// The configuration file [default: bursar.toml, if it exists]
    #[arg(long, global = true, value_name = "FILE", env = "BURSAR_CONFIG")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Demo(bursar_demo::Arguments),
    /// Check the configuration, the chart of accounts, and every template against its mapping
    Check(check::Arguments),
    Init(init::Arguments),
    Backup(backup::Arguments),
    Restore(remote::restore::Arguments),
    /// Migrate the schema of existing books
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
    /// Create, inspect, cancel and resolve payouts
    Payout(Remote<remote::payout::Command>),
    /// Manage merchants; show their balances and statements
    Merchant(Remote<remote::merchant::Command>),
    /// Manage beneficiaries
    Beneficiary(Remote<remote::beneficiary::Command>),
    /// Record and inspect pay-ins
    Payin(Remote<remote::payin::Command>),
    /// Decide what one person may not do alone
    Approval(Remote<remote::approval::Command>),
    /// Manage API keys
    Key(Remote<remote::key::Command>),
    /// Manage encryption keys
    #[command(subcommand, alias = "keys")]
    SecretKeys(secret_keys::Command),
    /// Manage webhook endpoints and deliveries
    Webhook(Remote<remote::webhook::Command>),
    /// Show what waits to be sent and why; freeze and unfreeze submissions to channels
    Dispatch(Remote<remote::dispatch::Command>),
    /// Read the event feed
    Events(remote::events::Arguments),
    /// List what waits for a person, the longest waiting first
    Review(remote::review::Arguments),
    /// Find anything by an id, a reference or a trace id
    Find(remote::review::Find),
    /// Read the audit log
    Audit(remote::audit::Arguments),
    Bench(bursar_bench::Arguments),
}

impl Arguments {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let config = self.config.as_deref();
        match self.command {
            Command::Demo(arguments) => arguments.run(config),
            Command::Check(arguments) => arguments.run(config),
            Command::Init(arguments) => arguments.run(config),
            Command::Backup(arguments) => arguments.run(),
            Command::Restore(arguments) => arguments.run(config),
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
            Command::Approval(arguments) => arguments.run(),
            Command::Key(arguments) => arguments.run(),
            Command::SecretKeys(command) => command.run(config),
            Command::Webhook(arguments) => arguments.run(),
            Command::Dispatch(arguments) => arguments.run(),
            Command::Events(arguments) => arguments.run(),
            Command::Review(arguments) => arguments.run(),
            Command::Find(arguments) => arguments.run(),
            Command::Audit(arguments) => arguments.run(),
            Command::Bench(arguments) => arguments.run(),
        }
    }
}
