//! Advances a test clock: from one due time to the next, never past a flow that is due before.

use bursar_core::ids::FlowId;
use bursar_core::turn::ReadSet;
use bursar_store::{Store, StoreError, Turn as _};
use jiff::{SignedDuration, Timestamp};

use super::Host;
use crate::engine::Input;
use crate::handle::{Advance, NotAdvanced};

/// An advance of the test clock that is under way.
#[derive(Debug)]
pub(super) struct TestClockAdvance {
    advance: Advance,
    target: Timestamp,
    /// The flow that was due first the last time, and how often in a row.
    first: Option<FlowId>,
    times: u32,
}

/// The smallest step: time never stands still.
const STRIDE: SignedDuration = SignedDuration::from_millis(1);
/// A flow that is still the first due after this many steps no longer holds up the clock.
const POLLS_MAX: u32 = 16;

impl<S: Store> Host<S> {
    /// One step, if everything that was due before is done.
    pub(super) async fn advance_test_clock(&mut self) {
        let current = self.test_clock.take().or_else(|| self.next_advance());
        self.is_advancing.send_if_modified(|it| std::mem::replace(it, current.is_some()) != *it);
        let Some(mut current) = current else { return };
        if !self.engine.is_idle() || self.engine.has_work() {
            self.test_clock = Some(current);
            return;
        }
        let now = self.clock.now();
        match self.next_due(now, current.target).await {
            Err(error) => current.end(Err(NotAdvanced::Unreadable(error.to_string()))),
            Ok(Some(next)) if now < current.target || current.times < POLLS_MAX => {
                self.clock.put_forward(current.step(now, next));
                self.engine.enqueue(Input::TimeJumped);
                self.test_clock = Some(current);
            }
            Ok(_) => {
                self.clock.put_forward(current.target);
                current.end(Ok(self.clock.now()));
            }
        }
    }

    fn next_advance(&mut self) -> Option<TestClockAdvance> {
        let advance = self.advances.try_recv().ok()?;
        let now = self.clock.now();
        let target = now.saturating_add(advance.by).unwrap_or(Timestamp::MAX);
        let current = TestClockAdvance::new(advance, target);
        if self.clock.put_forward(now) {
            return Some(current);
        }
        current.end(Err(NotAdvanced::RealTime));
        None
    }

    /// The next due time, if there is one by then: of a flow, or of an endpoint whose breaker closes. The turn that reads
    /// it is not saved.
    async fn next_due(
        &mut self,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<Option<(Timestamp, Option<FlowId>)>, StoreError> {
        let plan = self.engine.first_due(now, until);
        let mut turn = self.store.begin().await?;
        let ReadSet { flows, queues, .. } = turn.load(&plan).await?;
        let due = flows.iter().filter_map(|flow| Some((flow.due()?.at, Some(flow.id))));
        let queued = queues.iter().map(|head| (head.queue.ready_at(), Some(head.queue.first.1)));
        let due = due.chain(queued);
        let unblocked = self.engine.next_unblocked(now, until).map(|at| (at, None));
        Ok(due.chain(unblocked).min())
    }
}

impl TestClockAdvance {
    pub(super) fn new(advance: Advance, target: Timestamp) -> Self {
        Self { advance, target, first: None, times: 0 }
    }

    /// The next time. If the same flow stays due, the step doubles, so that advancing the test clock ends.
    pub(super) fn step(
        &mut self,
        now: Timestamp,
        (at, flow): (Timestamp, Option<FlowId>),
    ) -> Timestamp {
        let is_again = flow.is_some() && self.first == flow && at <= now;
        self.first = flow;
        self.times = if is_again { self.times.saturating_add(1) } else { 0 };
        let factor = 1_i32.checked_shl(self.times.min(POLLS_MAX)).unwrap_or(1);
        let stride = STRIDE.saturating_mul(factor);
        at.max(now.saturating_add(stride).unwrap_or(Timestamp::MAX))
    }

    fn end(self, result: Result<Timestamp, NotAdvanced>) {
        // The caller may be gone; the clock stays where it is.
        drop(self.advance.waiting.send(result));
    }
}
