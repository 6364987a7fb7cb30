//! Known mistakes about pay-ins.

use bursar_core::payins::{Case, ProviderStatus, State, Step, keep_report, step};

use super::{KeepFn, Machine, SHIPPED, StepFn, world};
use crate::verify::Mutation;

const MISTAKES: [(&str, &str, StepFn); 3] = [
    (
        "payin-booked-twice",
        "A pay-in that was denied and is confirmed again is credited again.",
        |state, said| match (state, said) {
            (State::Contradicted, ProviderStatus::Completed) => {
                Step::Moves { state: State::Collected, is_booked: true }
            }
            (state, said) => step(state, said),
        },
    ),
    (
        "payin-failed-is-final",
        "A pay-in that failed stays failed although it was paid after all.",
        |state, said| match (state, said) {
            (State::Failed, ProviderStatus::Completed) => Step::Stays,
            (state, said) => step(state, said),
        },
    ),
    ("payin-denied-in-vain", "A denial after the booking is ignored.", |state, said| {
        match (state, said) {
            (State::Collected, ProviderStatus::Failed) => Step::Stays,
            (state, said) => step(state, said),
        }
    }),
];

/// Mistakes about reports of another amount.
const IN_CASES: [(&str, &str, KeepFn); 3] = [
    (
        "payin-other-amount-dropped",
        "A report of another amount is rejected and forgotten.",
        |_, _| None,
    ),
    (
        "payin-case-stays-closed",
        "Another amount that is reported after the case was closed opens it no more.",
        |case, report| {
            let is_closed = case.is_some_and(|case| case.is_closed);
            keep_report(case, report).map(|kept| Case { is_closed, ..kept })
        },
    ),
    (
        "payin-case-never-ends",
        "The same report again opens the case that an operator has closed.",
        |case, report| {
            let open = case.map(|case| Case { is_closed: false, ..case.clone() });
            keep_report(case, report).or_else(|| open.filter(|open| Some(open) != case))
        },
    ),
];

pub(super) fn mutations() -> Vec<Mutation> {
    let planted = |(name, sentence, machine)| Mutation::new(name, sentence, vec![world(machine)]);
    let in_steps =
        MISTAKES.map(|(name, sentence, step)| (name, sentence, Machine { step, ..SHIPPED }));
    let in_cases =
        IN_CASES.map(|(name, sentence, keep)| (name, sentence, Machine { keep, ..SHIPPED }));
    in_steps.into_iter().chain(in_cases).map(planted).collect()
}
