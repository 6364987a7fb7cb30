//! The cargo profile that the benchmarks were built in.

use bursar_node::failure::Failure;
use bursar_node::terminal;

/// Set by `build.rs`.
const PROFILE: &str = env!("BURSAR_BENCH_PROFILE");

/// The profile of all figures in `docs/benchmarks.md`.
const COMPARABLE: &str = "dist";

/// Names the profile, and warns if its figures cannot be compared with those of others.
pub(super) fn say() -> Result<(), Failure> {
    if PROFILE != COMPARABLE {
        terminal::note("warning: figures of this profile are not comparable; build with ./dist");
    }
    terminal::say(&format!("profile: {PROFILE}"))
}
