//! When it is time to file transactions under their accounts. A statement looks into every slice, and through everything
//! behind the last: small slices make it look often, large ones make it look long, and a turn wait.

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
