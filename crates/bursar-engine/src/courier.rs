//! Whoever brings parcels to endpoints of merchants, as the host sees it.

use std::future::Future;
use std::pin::Pin;

use bursar_core::delivery::{Event, Outcome, Parcel};
use tokio::time::Instant;

/// Sends a parcel, once, and says what became of it. By the deadline at the latest: whatever comes later is lost, and
/// sent again.
pub trait Courier: Send + Sync + 'static {
    fn send(
        &self,
        parcel: Parcel,
        deadline: Instant,
    ) -> Pin<Box<dyn Future<Output = Event> + Send>>;
}

/// Nobody brings anything anywhere: everything is tried again later.
#[derive(Debug)]
pub(crate) struct Nobody;

impl Courier for Nobody {
    fn send(&self, parcel: Parcel, _: Instant) -> Pin<Box<dyn Future<Output = Event> + Send>> {
        Box::pin(std::future::ready(not_sent(&parcel, "no_sender", "there is nobody to send it")))
    }
}

/// An attempt that came to nothing.
pub fn not_sent(parcel: &Parcel, class: &str, detail: &str) -> Event {
    let outcome = Outcome::Failed { class: class.to_owned(), detail: detail.to_owned() };
    Event::Returned { attempt: parcel.attempt, took_ms: 0, outcome }
}
