//! Known mistakes about pay-ins.

use bursar_core::payins::{ProviderStatus, State, Step, step};

use super::{StepFn, world};
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

pub(super) fn mutations() -> Vec<Mutation> {
    let planted = |(name, sentence, step)| Mutation::new(name, sentence, vec![world(step)]);
    MISTAKES.into_iter().map(planted).collect()
}
