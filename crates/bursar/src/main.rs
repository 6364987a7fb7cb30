//! `bursar`: the commands. Everything that decides about money is in `bursar-core`.

mod commands;

use std::process::ExitCode;

use bursar_node::failure::Failure;
use bursar_node::terminal;
use clap::Parser as _;

/// A turn allocates two hundred small values for each payout; with the system allocator that is a third of its time.
/// jemalloc keeps freed memory for the next turn.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let outcome = commands::Arguments::parse().run();
    match outcome {
        Ok(()) | Err(Failure::BrokenPipe) => ExitCode::SUCCESS,
        Err(failure) => {
            terminal::print_failure(&failure);
            ExitCode::FAILURE
        }
    }
}
