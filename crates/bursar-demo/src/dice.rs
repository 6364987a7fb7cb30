//! Deterministic random numbers from a seed.

use bursar_core::ids::Seed;

pub(super) struct Dice {
    seed: Seed,
    thrown: u64,
}

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self { seed: seed.into(), thrown: 0 }
    }

    /// A number below `sides`.
    pub(super) fn below(&mut self, sides: u64) -> u64 {
        let bytes = self.seed.derive("dice", self.thrown);
        self.thrown = self.thrown.saturating_add(1);
        let number = bytes.first_chunk().map_or(0, |chunk| u64::from_be_bytes(*chunk));
        number.checked_rem(sides).unwrap_or_default()
    }

    /// True once in `times`, on average.
    pub(super) fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    pub(super) fn one_of<'t, T>(&mut self, things: &'t [T]) -> Option<&'t T> {
        let count = u64::try_from(things.len()).unwrap_or_default();
        things.get(usize::try_from(self.below(count)).unwrap_or_default())
    }
}
