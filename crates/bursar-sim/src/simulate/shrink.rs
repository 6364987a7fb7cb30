//! Makes a failure small: less of everything, as long as the same invariant breaks.

use bursar_core::rulebook::Rulebook;

use super::invariant::Broken;
use super::swarm::Options;
use super::{Outcome, run};

/// The smallest run that was found to break the same invariant, with its trace.
pub fn shrink(options: &Options, broken: &Broken, rulebook: &Rulebook) -> Result<Outcome, String> {
    let breaks = |options: &Options| -> Result<Option<Outcome>, String> {
        let outcome = run(options, rulebook)?;
        let is_same =
            outcome.broken.as_ref().is_some_and(|found| found.invariant == broken.invariant);
        Ok(is_same.then_some(outcome))
    };
    let mut best = options.clone();
    for fault in options.faults.clone() {
        let mut fewer = best.clone();
        fewer.faults.remove(&fault);
        if breaks(&fewer)?.is_some() {
            best = fewer;
        }
    }
    for payouts in smaller(options.payouts) {
        let fewer = Options { payouts, ..best.clone() };
        if breaks(&fewer)?.is_some() {
            best = fewer;
        }
    }
    for days in smaller(options.days) {
        let fewer = Options { days, ..best.clone() };
        if breaks(&fewer)?.is_some() {
            best = fewer;
        }
    }
    run(&Options { is_traced: true, ..best }, rulebook)
}

/// Half, a quarter and so on, then one less at a time from the other end would find little more.
fn smaller(from: u64) -> Vec<u64> {
    let mut found = Vec::new();
    let mut number = from >> 1;
    while number > 0 {
        found.push(number);
        number >>= 1;
    }
    // The smallest comes last and wins.
    found
}
