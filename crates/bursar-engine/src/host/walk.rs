//! How a test clock is put forward: from one due time to the next, never past anything that must happen before.

use bursar_core::ids::FlowId;
use bursar_store::{Store, StoreError, Turn as _};
use jiff::{SignedDuration, Timestamp};

use super::Host;
use crate::engine::Input;
use crate::handle::{Advance, NotAdvanced};

/// Time on its way to where somebody wants it.
#[derive(Debug)]
pub(super) struct Walk {
    advance: Advance,
    target: Timestamp,
    /// The flow that was due first the last time, and how often in a row.
    first: Option<FlowId>,
    times: u32,
}

/// The smallest step: time never stands still.
const STRIDE: SignedDuration = SignedDuration::from_millis(1);
/// A flow that is still the first after this many looks does not hold up time any more.
const LOOKS_MAX: u32 = 16;

impl<S: Store> Host<S> {
    /// One step, if everything that was due before is done.
    pub(super) async fn walk(&mut self) {
        let Some(mut walk) = self.walk.take().or_else(|| self.next_walk()) else { return };
        if !self.engine.is_idle() || self.engine.is_eager() {
            self.walk = Some(walk);
            return;
        }
        let now = self.clock.now();
        match self.next_due(now, walk.target).await {
            Err(error) => walk.end(Err(NotAdvanced::Unreadable(error.to_string()))),
            Ok(Some(next)) if now < walk.target || walk.times < LOOKS_MAX => {
                self.clock.put_forward(walk.step(now, next));
                self.engine.enqueue(Input::TimeJumped);
                self.walk = Some(walk);
            }
            Ok(_) => {
                self.clock.put_forward(walk.target);
                walk.end(Ok(self.clock.now()));
            }
        }
    }

    fn next_walk(&mut self) -> Option<Walk> {
        let advance = self.advances.try_recv().ok()?;
        let now = self.clock.now();
        let target = now.saturating_add(advance.by).unwrap_or(Timestamp::MAX);
        let walk = Walk::new(advance, target);
        if self.clock.put_forward(now) {
            return Some(walk);
        }
        walk.end(Err(NotAdvanced::RealTime));
        None
    }

    /// What happens next, if anything does by then: a flow is due, or an endpoint is tried again. A turn that is not
    /// saved has not happened.
    async fn next_due(
        &mut self,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<Option<(Timestamp, Option<FlowId>)>, StoreError> {
        let plan = self.engine.first_due(now, until);
        let mut turn = self.store.begin().await?;
        let flows = turn.load(&plan).await?.flows;
        let due = flows.iter().filter_map(|flow| Some((flow.due()?.at, Some(flow.id))));
        let unblocked = self.engine.next_unblocked(now, until).map(|at| (at, None));
        Ok(due.chain(unblocked).min())
    }
}

impl Walk {
    pub(super) fn new(advance: Advance, target: Timestamp) -> Self {
        Self { advance, target, first: None, times: 0 }
    }

    /// Where to go from here. A flow that is due again and again lets time go ever faster, so that the walk ends.
    pub(super) fn step(
        &mut self,
        now: Timestamp,
        (at, flow): (Timestamp, Option<FlowId>),
    ) -> Timestamp {
        let is_again = flow.is_some() && self.first == flow && at <= now;
        self.first = flow;
        self.times = if is_again { self.times.saturating_add(1) } else { 0 };
        let factor = 1_i32.checked_shl(self.times.min(LOOKS_MAX)).unwrap_or(1);
        let stride = STRIDE.saturating_mul(factor);
        at.max(now.saturating_add(stride).unwrap_or(Timestamp::MAX))
    }

    fn end(self, result: Result<Timestamp, NotAdvanced>) {
        // Whoever asked may have gone; time is where it is.
        drop(self.advance.waiting.send(result));
    }
}
