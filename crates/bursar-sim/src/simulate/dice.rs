//! Random numbers from a seed. Each purpose has its own dice, so that switching one fault off changes as little as
//! possible of the rest.

#[derive(Debug, Clone)]
pub(crate) struct Dice(u64);

/// The odd constant of the splitmix64 sequence.
const STRIDE: u64 = 0x9e37_79b9_7f4a_7c15;

impl Dice {
    pub(crate) fn new(seed: u64, purpose: &str) -> Self {
        let mix = |state: u64, byte: u8| (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        let state = purpose.bytes().fold(seed.wrapping_mul(STRIDE) ^ 0xcbf2_9ce4_8422_2325, mix);
        let mut dice = Self(state);
        dice.throw();
        dice
    }

    fn throw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STRIDE);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `sides`; zero if there are none.
    pub(crate) fn below(&mut self, sides: u64) -> u64 {
        self.throw().checked_rem(sides).unwrap_or_default()
    }

    /// A number from `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low.saturating_add(self.below(high.saturating_sub(low).saturating_add(1)))
    }

    /// True this often in a thousand times.
    pub(crate) fn chance(&mut self, per_mille: u32) -> bool {
        self.below(1_000) < u64::from(per_mille)
    }

    pub(crate) fn pick<'t, T>(&mut self, things: &'t [T]) -> Option<&'t T> {
        let count = u64::try_from(things.len()).unwrap_or_default();
        things.get(usize::try_from(self.below(count)).unwrap_or_default())
    }

    /// One of several, each as likely as its weight says.
    pub(crate) fn weigh<T: Copy>(&mut self, things: &[(u64, T)]) -> Option<T> {
        let mut left = self.below(things.iter().map(|(weight, _)| weight).sum());
        for (weight, thing) in things {
            match left.checked_sub(*weight) {
                None => return Some(*thing),
                Some(less) => left = less,
            }
        }
        None
    }
}
