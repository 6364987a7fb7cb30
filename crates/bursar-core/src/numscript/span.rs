//! A place in the program text, in bytes.

use std::ops::Range;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    pub start: u32,
    pub end: u32,
}

impl Span {
    /// Positions fit because the text is limited to far less than 4 GiB.
    pub fn new(start: usize, end: usize) -> Self {
        Self {
            start: u32::try_from(start).unwrap_or(u32::MAX),
            end: u32::try_from(end).unwrap_or(u32::MAX),
        }
    }

    /// From the beginning of this span to the end of a later one.
    #[must_use]
    pub const fn to(self, last: Self) -> Self {
        Self { start: self.start, end: last.end }
    }

    pub fn range(self) -> Range<usize> {
        let position = |at| usize::try_from(at).unwrap_or(usize::MAX);
        position(self.start)..position(self.end)
    }
}
