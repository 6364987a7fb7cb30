//! Known mistakes about approvals.

use bursar_core::approvals::{Approval, Event, Signed, State, Step, step};

use super::{StepFn, worlds};
use crate::verify::Mutation;

const MISTAKES: [(&str, &str, StepFn); 5] = [
    (
        "approval-by-its-maker",
        "A person approves the own proposal with another key.",
        |approval, event, now| match event {
            Event::Approves { by, note } if approval.state == State::Proposed => {
                let mut signed = approval.clone();
                let (by, note) = (by.clone(), note.clone());
                signed.signed.push(Signed { by, note, at: now });
                Ok(Step::Executes(signed))
            }
            Event::Approves { .. } | Event::TurnsDown { .. } | Event::Expires => {
                step(approval, event, now)
            }
        },
    ),
    (
        "approval-counts-keys",
        "Two keys of one approver count as two people.",
        |approval, event, now| {
            let alone = Approval { signed: Vec::new(), ..approval.clone() };
            let stepped = step(&alone, event, now)?;
            let together = |after: Approval| {
                let signed = approval.signed.iter().chain(&after.signed).cloned().collect();
                Approval { signed, ..after }
            };
            Ok(match stepped {
                Step::To(after) => {
                    let after = together(after);
                    let people = u32::try_from(after.signed.len()).unwrap_or(u32::MAX);
                    let is_open = after.state == State::Proposed;
                    if is_open && people.saturating_add(1) >= after.quorum {
                        Step::Executes(after)
                    } else {
                        Step::To(after)
                    }
                }
                Step::Executes(after) => Step::Executes(together(after)),
            })
        },
    ),
    (
        "approval-by-a-minted-key",
        "A key that the maker made alone approves.",
        |approval, event, now| match event {
            Event::Approves { by, note } => {
                let mut by = by.clone();
                by.made_by.clear();
                step(approval, &Event::Approves { by, note: note.clone() }, now)
            }
            Event::TurnsDown { .. } | Event::Expires => step(approval, event, now),
        },
    ),
    (
        "approval-done-twice",
        "A second approval carries the request out again.",
        |approval, event, now| {
            let open = match approval.state {
                State::Approved { .. } => Approval { state: State::Proposed, ..approval.clone() },
                State::Proposed
                | State::BreakGlass { .. }
                | State::Rejected { .. }
                | State::Withdrawn
                | State::Expired
                | State::Stale { .. } => approval.clone(),
            };
            step(&open, event, now)
        },
    ),
    ("approval-never-too-late", "A proposal is approved after a day.", |approval, event, _| {
        let begin = approval.expires_at.saturating_sub(jiff::SignedDuration::from_hours(1));
        step(approval, event, begin.unwrap_or(approval.expires_at))
    }),
];

pub(super) fn mutations() -> Vec<Mutation> {
    let planted = |(name, sentence, step)| Mutation::new(name, sentence, worlds(step));
    MISTAKES.into_iter().map(planted).collect()
}
