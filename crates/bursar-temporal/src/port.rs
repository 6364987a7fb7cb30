//! What workers and the relay need of the process that they run in: somebody who decides, and somebody who touches the
//! world. They do not know who that is.

use std::future::Future;
use std::pin::Pin;

use bursar_core::delivery::{self, Parcel};
use bursar_core::effect::Effect;
use bursar_core::payout::{self, Beneficiary};
use bursar_core::rejection::Rejection;
use bursar_core::request::{Answer, Body};
use bursar_core::rules::Rules;
use jiff::Timestamp;
use tokio::time::Instant;

pub type Promise<'p, T> = Pin<Box<dyn Future<Output = T> + Send + 'p>>;

pub trait Office: Send + Sync + 'static {
    /// Answers once it is saved; or says why there is no answer, and what that means.
    fn ask(&self, body: Body) -> Promise<'_, Result<Answer, String>>;

    /// Does what an effect says, once, before the deadline or not at all.
    fn call(&self, effect: Effect, deadline: Instant) -> Promise<'_, payout::Event>;

    /// Brings a parcel, once.
    fn send(&self, parcel: Parcel, deadline: Instant) -> Promise<'_, delivery::Event>;

    /// Whom a merchant pays, by the name under which they were added.
    fn beneficiary<'p>(
        &'p self,
        merchant: &'p str,
        id: &'p str,
    ) -> Promise<'p, Result<Option<Beneficiary>, String>>;

    /// Somebody must look at this. The same words again are the same trouble.
    fn alarm(&self, words: String);

    /// What a flow must do is refused, and it is set aside for a while: somebody must look.
    fn refused(&self, flow: String, rejection: Rejection);

    /// The time by the clock that decides.
    fn now(&self) -> Timestamp;

    fn rules(&self) -> &Rules;
}
