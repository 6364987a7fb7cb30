//! The counterexample of a seed that broke an invariant.

use bursar_core::ledger::rulebook::Rulebook;
use bursar_node::failure::Failure;
use bursar_node::terminal;
use bursar_sim::simulate::{Broken, Fault, Options, Outcome, StoreChoice, shrink};

/// Prints the broken invariant, the command that repeats it, and the trace of the smallest seed that still breaks it.
pub(super) fn print(
    outcome: &Outcome,
    broken: &Broken,
    rulebook: &Rulebook,
) -> Result<(), Failure> {
    terminal::say(&format!(
        "\nseed {} breaks {}: {}",
        outcome.options.seed,
        broken.invariant.name(),
        broken.invariant.meaning()
    ))?;
    terminal::say(&format!("{} {}", broken.about, broken.what))?;
    terminal::say(&format!("repeat it: {}", command(&outcome.options)))?;
    let small = shrink(&outcome.options, broken, rulebook).map_err(Failure::new)?;
    terminal::say(&format!("as small as it gets: {}", command(&small.options)))?;
    let Some(broken) = &small.broken else { return Ok(()) };
    terminal::say(&format!("{} {}\n", broken.about, broken.what))?;
    let is_about =
        |about: &str| broken.about.is_empty() || about.is_empty() || about == broken.about;
    // Only lines about the flow, and lines about no flow in particular.
    for line in small.trace.iter().filter(|line| is_about(&line.about)) {
        terminal::say(&line.to_string())?;
    }
    Ok(())
}

fn command(options: &Options) -> String {
    let Options { seed, payouts, days, faults, store, processes, injected_bug, .. } = options;
    let names: Vec<&str> = faults.iter().map(|fault| fault.name()).collect();
    let names = match names.len() {
        0 => "none".to_owned(),
        count if count == Fault::ALL.len() => "all".to_owned(),
        _ => names.join(","),
    };
    let mut text =
        format!("bursar simulate --seed {seed} --payouts {payouts} --days {days} --faults {names}");
    match store {
        StoreChoice::Memory => text.push_str(" --store memory"),
        StoreChoice::Sqlite => text.push_str(" --store sqlite"),
        StoreChoice::Mixed => {}
    }
    let processes = processes.map(|count| format!(" --processes {count}"));
    let injected = injected_bug.map(|bug| format!(" --plant {}", bug.name()));
    text.extend(processes.into_iter().chain(injected));
    text
}
