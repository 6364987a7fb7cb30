//! Measurements of each variant, and slicing of the work, so that noise of the machine affects all variants equally.

use std::future::Future;
use std::time::{Duration, Instant};

use bursar_node::failure::Failure;
use bursar_store::StoreError;

use crate::baseline::Baseline;

/// The amount of work, and the batch size.
#[derive(Debug, Clone, Copy)]
pub(super) struct Work {
    pub(super) count: u32,
    pub(super) batch: u32,
}

/// The work and the cost of one variant.
#[derive(Debug, Default)]
pub(super) struct Lane {
    pub(super) done: u32,
    pub(super) time: Duration,
    pub(super) written: Option<u64>,
    pub(super) stored: Option<u64>,
}

const SLICES: u32 = 10;

impl Work {
    /// Sizes of batches, in slices.
    pub(super) fn slices(self) -> Vec<Vec<u32>> {
        let full = self.count.checked_div(self.batch).unwrap_or_default();
        let rest = self.count.checked_rem(self.batch).unwrap_or_default();
        let mut sizes = vec![self.batch; usize::try_from(full).unwrap_or_default()];
        sizes.extend((rest > 0).then_some(rest));
        let length = sizes.len().div_ceil(usize::try_from(SLICES).unwrap_or(1)).max(1);
        sizes.chunks(length).map(<[u32]>::to_vec).collect()
    }
}

impl Lane {
    /// Work per second.
    pub(super) fn rate(&self) -> u128 {
        let done = u128::from(self.done).saturating_mul(1_000_000_000);
        done.checked_div(self.time.as_nanos().max(1)).unwrap_or_default()
    }

    /// Bytes per item; a dash if none are counted.
    pub(super) fn each(&self, bytes: Option<u64>) -> String {
        let done = u64::from(self.done).max(1);
        bytes
            .and_then(|bytes| bytes.checked_div(done))
            .map_or("–".to_owned(), |bytes| bytes.to_string())
    }

    /// Runs work, and measures its time and the bytes written.
    pub(super) async fn measure<B: Baseline, T>(
        &mut self,
        books: &mut B,
        work: impl AsyncFnOnce(&mut B, &mut Duration) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let before = books.written_bytes().await.map_err(|error| failed(&error))?;
        let done = work(books, &mut self.time).await?;
        let after = books.written_bytes().await.map_err(|error| failed(&error))?;
        self.add_written(before, after);
        Ok(done)
    }

    pub(super) fn add_written(&mut self, before: Option<u64>, after: Option<u64>) {
        if let (Some(before), Some(after)) = (before, after) {
            let written = self.written.unwrap_or_default();
            self.written = Some(written.saturating_add(after.saturating_sub(before)));
        }
    }
}

pub(super) async fn timed<T>(
    time: &mut Duration,
    work: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, Failure> {
    let started = Instant::now();
    let done = work.await;
    *time = time.saturating_add(started.elapsed());
    done.map_err(|error| failed(&error))
}

pub(super) fn failed(error: &StoreError) -> Failure {
    Failure::new(error.to_string())
}

/// A bijection on numbers (the finalizer of `SplitMix64`).
pub(super) fn mix(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
