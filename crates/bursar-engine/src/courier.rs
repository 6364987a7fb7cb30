//! Whoever brings parcels to endpoints of merchants, as the host sees it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use bursar_core::delivery::{Event, Outcome, Parcel};
use tokio::runtime::Handle;
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

/// Brings a parcel, or says that it did not arrive in time.
pub async fn send_in_time(
    courier: Arc<dyn Courier>,
    parcel: Parcel,
    deadline: Instant,
    runtime: &Handle,
) -> Event {
    let failed = not_sent(&parcel, "lost", "the sender failed, or said nothing in time");
    let mut sending = runtime.spawn(async move { courier.send(parcel, deadline).await });
    let sent = tokio::time::timeout_at(deadline, &mut sending).await;
    if sent.is_err() {
        sending.abort();
    }
    sent.ok().and_then(Result::ok).unwrap_or(failed)
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
