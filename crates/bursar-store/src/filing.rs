//! When it is time to file transactions under their accounts. Each slice is sorted: the larger it is, the fewer pages are
//! written for each transaction, the longer a turn waits for it, and the more a statement has to look through.

/// Transactions of a slice.
const SLICE: usize = 8_192;

/// What this process has saved since it last filed.
#[derive(Debug)]
pub(crate) struct Filing {
    slice: usize,
    gathered: usize,
}

impl Default for Filing {
    fn default() -> Self {
        Self::every(SLICE)
    }
}

impl Filing {
    /// Whoever was here before may have left something to be filed.
    pub(crate) const fn every(slice: usize) -> Self {
        Self { slice, gathered: slice }
    }

    pub(crate) const fn is_time(&self) -> bool {
        self.gathered >= self.slice
    }

    pub(crate) const fn add(&mut self, transactions: usize) {
        self.gathered = self.gathered.saturating_add(transactions);
    }

    pub(crate) const fn done(&mut self) {
        self.gathered = 0;
    }
}
