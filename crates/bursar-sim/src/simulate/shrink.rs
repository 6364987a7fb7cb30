//! Shrinks a failure: fewer payouts, days and faults, as long as the same invariant breaks.

use bursar_core::ledger::rulebook::Rulebook;

use super::invariant::Broken;
use super::swarm::Options;
use super::{Outcome, run};

/// The smallest run that was found to break the same invariant, with its trace.
pub fn shrink(options: &Options, broken: &Broken, rulebook: &Rulebook) -> Result<Outcome, String> {
    let breaks = |options: &Options| -> Result<bool, String> {
        let outcome = run(options, rulebook)?;
        Ok(outcome.broken.is_some_and(|found| found.invariant == broken.invariant))
    };
    let mut best = options.clone();
    for payouts in fewer(options.payouts) {
        let fewer = Options { payouts, ..best.clone() };
        if payouts < best.payouts && breaks(&fewer)? {
            best = fewer;
        }
    }
    for fault in options.faults.clone() {
        let mut fewer = best.clone();
        fewer.faults.remove(&fault);
        if breaks(&fewer)? {
            best = fewer;
        }
    }
    for payouts in fewer(best.payouts) {
        let fewer = Options { payouts, ..best.clone() };
        if payouts < best.payouts && breaks(&fewer)? {
            best = fewer;
        }
    }
    for days in fewer(best.days) {
        let fewer = Options { days, ..best.clone() };
        if days < best.days && breaks(&fewer)? {
            best = fewer;
        }
    }
    run(&Options { is_traced: true, ..best }, rulebook)
}

/// What is worth a try: halves down to a few, then one less at a time.
fn fewer(from: u64) -> Vec<u64> {
    let halves = (1..64).map(|times| from >> times).take_while(|number| *number > 16);
    halves.chain((1..from.min(17)).rev()).collect()
}
