//! Commands that call a running server, one file for each resource, and what they share.
//!
//! A new resource is a file with a `Command` that implements [`RemoteCommand`], and its variant in `commands/mod.rs`. Its
//! list and get commands are [`ListArgs`], [`GetArgs`] and a [`Resource`].

pub(crate) mod approval;
pub(crate) mod audit;
pub(crate) mod beneficiary;
pub(crate) mod dispatch;
pub(crate) mod events;
pub(crate) mod key;
pub(crate) mod merchant;
pub(crate) mod payin;
pub(crate) mod payout;
mod payout_explained;
mod resource;
pub(crate) mod restore;
pub(crate) mod review;
mod server;
pub(crate) mod webhook;

use bursar_node::failure::Failure;
use clap::{Args, Subcommand};

use self::resource::{Filter, GetArgs, ListArgs, MerchantFilter, Resource};
use self::server::{IdempotencyArgs, Server, fields, given, list, pair, rows};

/// A command with subcommands, and the server that they call.
#[derive(Debug, Args)]
pub(crate) struct Remote<C: Subcommand> {
    #[command(flatten)]
    server: Server,
    #[command(subcommand)]
    command: C,
}

/// A subcommand that calls a server.
pub(crate) trait RemoteCommand: Subcommand {
    fn run(self, server: &Server) -> Result<(), Failure>;
}

impl<C: RemoteCommand> Remote<C> {
    pub(crate) fn run(self) -> Result<(), Failure> {
        self.command.run(&self.server)
    }
}
