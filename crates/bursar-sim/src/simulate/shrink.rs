//! Shrinks a failure: fewer faults, payouts and days, as long as the same invariant breaks.

use bursar_core::ledger::rulebook::Rulebook;

use super::fault::Fault;
use super::invariant::Broken;
use super::swarm::Options;
use super::{Outcome, run};

/// The smallest run that was found to break the same invariant, with its trace.
pub fn shrink(options: &Options, broken: &Broken, rulebook: &Rulebook) -> Result<Outcome, String> {
    let breaks = |options: &Options| -> Result<bool, String> {
        let outcome = run(options, rulebook)?;
        Ok(outcome.broken.is_some_and(|found| found.invariant == broken.invariant))
    };
    // Faults first, while there are many payouts that they can strike, and again for the payouts that are left.
    let mut best = fewer_faults(options.clone(), &breaks)?;
    for payouts in fewer(best.payouts) {
        let fewer = Options { payouts, ..best.clone() };
        if payouts < best.payouts && breaks(&fewer)? {
            best = fewer;
        }
    }
    best = fewer_faults(best, &breaks)?;
    for days in fewer(best.days) {
        let fewer = Options { days, ..best.clone() };
        if days < best.days && breaks(&fewer)? {
            best = fewer;
        }
    }
    run(&Options { is_traced: true, ..best }, rulebook)
}

/// Leaves out many faults at once, then fewer: a fault that is left out alone shifts the others, and the failure may not show.
fn fewer_faults(
    mut best: Options,
    breaks: &impl Fn(&Options) -> Result<bool, String>,
) -> Result<Options, String> {
    let mut part = best.faults.len();
    while part > 0 {
        let faults: Vec<Fault> = best.faults.iter().copied().collect();
        for without in faults.chunks(part) {
            let mut fewer = best.clone();
            fewer.faults.retain(|fault| !without.contains(fault));
            if fewer.faults.len() < best.faults.len() && breaks(&fewer)? {
                best = fewer;
            }
        }
        let is_smaller = best.faults.len() < faults.len();
        part = if is_smaller { best.faults.len() } else { part >> 1 };
    }
    Ok(best)
}

/// What is worth a try: halves down to a few, then one less at a time.
fn fewer(from: u64) -> Vec<u64> {
    let halves = (1..64).map(|times| from >> times).take_while(|number| *number > 16);
    halves.chain((1..from.min(17)).rev()).collect()
}
