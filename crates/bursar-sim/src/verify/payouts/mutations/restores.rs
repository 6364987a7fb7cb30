//! Mistakes after the books were put back to a copy.

use bursar_core::payouts::{Advance, Context, Event, Payout, Recheck, Stage, advance};
use bursar_core::rejection::Rejection;

use super::{Mistake, Plant, mistake};

pub(super) const MISTAKES: [Mistake; 4] = [
    mistake(
        "restore-unnoticed",
        "Books that were put back go on as if nothing had happened.",
        Plant::Payout(|payout, event, context| advance(payout, event, &unrestored(context))),
    ),
    mistake(
        "recheck-skips-next",
        "After a restore the channel is asked about the attempts that the books know, and not about the next one.",
        Plant::Payout(|payout, event, context| {
            let is_beyond = |payout: &Payout, stage: Stage| match stage {
                Stage::Asking { attempt, .. } => {
                    payout.attempts.iter().all(|known| known.number != attempt)
                }
                Stage::Unproven { .. } | Stage::Asked | Stage::Proven => false,
            };
            proven_where(payout, event, context, is_beyond)
        }),
    ),
    mistake(
        "recheck-believes-absence",
        "After a restore an attempt counts as absent as soon as the channel does not find it.",
        Plant::Payout(|payout, event, context| {
            let is_unproven = |_: &Payout, stage: Stage| matches!(stage, Stage::Unproven { .. });
            proven_where(payout, event, context, is_unproven)
        }),
    ),
    mistake(
        "recheck-guards-sending-only",
        "After a restore a payout may be cancelled before its channel was asked.",
        Plant::Payout(|payout, event, context| match event {
            Event::CancelAsked => advance(payout, event, &unrestored(context)),
            Event::Due
            | Event::Submitted { .. }
            | Event::Queried { .. }
            | Event::EvidenceReceived { .. }
            | Event::CutOff
            | Event::Rescheduled(_)
            | Event::RecheckAsked
            | Event::Decided(_) => advance(payout, event, context),
        }),
    ),
];

fn unrestored<'c>(context: &Context<'c>) -> Context<'c> {
    Context { restored: None, ..*context }
}

/// The recheck counts as done too early.
fn proven_where(
    payout: &Payout,
    event: &Event,
    context: &Context<'_>,
    is_done: fn(&Payout, Stage) -> bool,
) -> Result<Option<Advance>, Rejection> {
    let mut advance = advance(payout, event, context)?;
    if let Some(advance) = &mut advance {
        let next = &mut advance.step.payout;
        let stage = next.recheck.as_ref().map(|recheck| recheck.stage);
        if stage.is_some_and(|stage| is_done(next, stage)) {
            next.recheck = next.recheck.take().map(|it| Recheck { stage: Stage::Proven, ..it });
            advance.step.effect = None;
        }
    }
    Ok(advance)
}
