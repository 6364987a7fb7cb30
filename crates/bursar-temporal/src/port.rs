//! The port to the process that hosts workers and the relay: turns of the engine, effects, alerts, the clock.

use std::future::Future;
use std::pin::Pin;

use bursar_core::flow::{Effect, Outcome};
use bursar_core::payouts::Beneficiary;
use bursar_core::rejection::Rejection;
use bursar_core::rules::Rules;
use bursar_core::turn::{Answer, Body};
use jiff::Timestamp;
use tokio::time::Instant;

pub type Promise<'p, T> = Pin<Box<dyn Future<Output = T> + Send + 'p>>;

pub trait HostPort: Send + Sync + 'static {
    /// Answers once the turn is saved. The error says why there is no answer, and what that means.
    fn ask(&self, body: Body) -> Promise<'_, Result<Answer, String>>;

    /// Runs an effect once, before the deadline or not at all.
    fn run(&self, effect: Effect, deadline: Instant) -> Promise<'_, Outcome>;

    /// The beneficiary of a merchant, by id.
    fn beneficiary<'p>(
        &'p self,
        merchant: &'p str,
        id: &'p str,
    ) -> Promise<'p, Result<Option<Beneficiary>, String>>;

    /// Raises an alert for operators. The same text again is the same alert.
    fn raise_alert(&self, text: String);

    /// The due step of a flow was rejected and the flow is deferred: an operator must look at it.
    fn refused(&self, flow: String, rejection: Rejection);

    /// The time by the clock of the engine.
    fn now(&self) -> Timestamp;

    fn rules(&self) -> &Rules;
}
