//! `bursar`: the commands. Everything that decides about money is in `bursar-core`.

mod commands;

use std::process::ExitCode;

use bursar_node::failure::Failure;
use bursar_node::terminal;
use clap::Parser as _;

/// A turn makes and drops two hundred small values for each payout; the system's allocator takes a third of its time. This one
/// does not give back within a second what the next turn asks for again.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

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
