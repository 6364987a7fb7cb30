//! Checks every step of a delivery against the rules.

use bursar_core::webhooks::delivery::Step;

use super::small::ROUND;
use super::{Breaker, Broken, Power, Rule, Said, Stage, Taken, World};

/// What was reported, and whether it was about the attempt that is under way.
type Report = Option<(Said, bool)>;

pub(super) fn check(
    before: &World,
    after: &World,
    (step, report): (&Step, Report),
) -> Result<(), Broken> {
    if matches!(step, Step::Sends(_)) {
        check_sent(before, after)?;
    }
    if after.stage == before.stage {
        return Ok(());
    }
    let broken = |rule, what: &str| Err(Broken::new(rule, what));
    match after.stage {
        Stage::Delivered if after.taken == Taken::Never => {
            broken(Rule::D1, "it is DELIVERED, and the receiver has not accepted it")
        }
        Stage::Dlq if after.sent < ROUND && !is_unsendable(report) => {
            broken(Rule::D3, "it is a dead letter, and there were attempts left")
        }
        Stage::Cancelled if before.power == Power::On && after.power == Power::On => {
            broken(Rule::D4, "it is cancelled, and the endpoint is enabled")
        }
        Stage::Pending
        | Stage::Delivering
        | Stage::WaitingRetry
        | Stage::Delivered
        | Stage::Dlq
        | Stage::Cancelled => Ok(()),
    }
}

fn check_sent(before: &World, after: &World) -> Result<(), Broken> {
    let broken = |rule, what: &str| Err(Broken::new(rule, what));
    if before.taken == Taken::Known {
        return broken(Rule::D2, "it was accepted, that is known, and it is sent again");
    }
    if after.sent > ROUND {
        return broken(Rule::D5, "it is sent more often than its retry policy says");
    }
    if before.power != Power::On {
        return broken(Rule::D6, "the endpoint is disabled, and is called");
    }
    if matches!(before.breaker, Breaker::Open | Breaker::Trying) {
        return broken(Rule::D6, "the breaker of the endpoint is open, and it is called");
    }
    if before.stage == Stage::Delivering && !before.is_time {
        return broken(Rule::D8, "it is in flight, and is sent again");
    }
    Ok(())
}

fn is_unsendable(report: Report) -> bool {
    report == Some((Said::Unsendable, true))
}
