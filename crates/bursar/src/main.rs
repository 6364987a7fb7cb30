//! `bursar`: configuration, composition and commands. Everything that decides about money is in `bursar-core`.

mod commands;
mod config;
mod failure;
mod node;
mod report;
mod signals;
mod terminal;

use std::process::ExitCode;

use clap::Parser as _;

use failure::Failure;

fn main() -> ExitCode {
    let outcome = commands::Arguments::parse().run();
    match outcome {
        Ok(()) | Err(Failure::Unheard) => ExitCode::SUCCESS,
        Err(failure) => {
            terminal::complain(&failure);
            ExitCode::FAILURE
        }
    }
}
