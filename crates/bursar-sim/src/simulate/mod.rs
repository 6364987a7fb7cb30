//! A deterministic world around the real core, the real engine loop and the real stores: hostile channels, merchants,
//! providers and operators, with faults at every point, in virtual time. Everything follows from a seed.
//!
//! `world` is the event loop, `scene` the shared state; `process`, `turns` and `restarts` are one process around the
//! engine, `faulty` is its store. `payouts`, `payins`, `webhooks` and `approvals` are the domains: their actors, the systems
//! outside, the calls to them, and what the auditor checks; `kinds` and `calls` list them. `actors` are callers across
//! domains. `audit` keeps books of its own. `fault`, `invariant` and `injected_bugs` are lists; `swarm` is what a seed
//! draws, `shrink` makes a failure small.

mod actors;
mod approvals;
mod audit;
mod books;
mod calls;
mod coverage;
mod dice;
mod expected;
mod fault;
mod faulty;
mod injected_bugs;
mod invariant;
mod kinds;
mod payins;
mod payouts;
mod process;
mod restarts;
mod scene;
mod shrink;
mod swarm;
#[cfg(test)]
mod tests;
mod trace;
mod turns;
mod webhooks;
mod world;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use bursar_core::ledger::rulebook::Rulebook;

pub use coverage::Coverage;
pub use expected::{UNEXPECTED, missing};
pub use fault::Fault;
pub use injected_bugs::InjectedBug;
pub use invariant::{Broken, Invariant};
pub use shrink::shrink;
pub use swarm::{Options, StoreChoice};
pub use trace::Line;

use swarm::Settings;
use world::World;

/// The outcome of one seed.
#[derive(Debug)]
pub struct Outcome {
    pub options: Options,
    pub is_sqlite: bool,
    pub processes: u64,
    pub broken: Option<Broken>,
    /// Microseconds of virtual time.
    pub lasted: u64,
    /// Lines of the trace, kept or not.
    pub steps: u64,
    pub digest: u64,
    pub trace: Vec<Line>,
    pub commits: u64,
    /// The hash of the last commit: it follows from every row that was appended, and from no name in the code.
    pub chain: [u8; 32],
    pub payouts: u64,
    pub faults: BTreeMap<Fault, u64>,
    pub checks: BTreeMap<Invariant, u64>,
    pub coverage: Coverage,
}

/// Runs one seed. Fails only if the world itself cannot be set up.
pub fn run(options: &Options, rulebook: &Rulebook) -> Result<Outcome, String> {
    let mut world = World::new(Settings::new(options), rulebook.clone())?;
    let ended = catch_unwind(AssertUnwindSafe(|| world.run()));
    match ended {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            world.scene.audit.check(Invariant::BooksReadable, "", false, || error.to_string());
        }
        Err(_) => {
            let what = || "see the panic message above".to_owned();
            world.scene.audit.check(Invariant::NoPanic, "", false, what);
        }
    }
    let chain = world.head().map_err(|error| error.to_string())?.hash;
    let scene = world.scene;
    let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    Ok(Outcome {
        options: options.clone(),
        is_sqlite: scene.settings.is_sqlite,
        processes: count(scene.settings.processes),
        broken: scene.audit.broken,
        lasted: scene.now,
        steps: scene.trace.steps,
        digest: scene.trace.digest,
        trace: scene.trace.lines,
        commits: scene.audit.commits,
        chain,
        payouts: count(
            scene.audit.flows.values().filter(|flow| flow.state.payout().is_some()).count(),
        ),
        faults: scene.faults,
        checks: scene.audit.counts,
        coverage: world.coverage,
    })
}
