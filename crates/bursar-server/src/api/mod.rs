//! The resources, one file each.

mod audit;
mod beneficiaries;
mod callbacks;
mod dead_letters;
mod deliveries;
mod dispatch;
mod endpoints;
mod events;
pub(crate) mod health;
mod keys;
mod ledger;
mod merchants;
mod pages;
mod payins;
mod payouts;
mod story;
mod test_clock;

use std::sync::Arc;

use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use bursar_core::idempotency::FlowReply;
use bursar_core::registry::Record;
use bursar_core::request::{Body, Reply};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::App;
use crate::problem::Problem;

pub(crate) fn routes(has_test_clock: bool) -> OpenApiRouter<App> {
    let mut router = OpenApiRouter::new()
        .routes(routes!(health::healthz))
        .routes(routes!(health::readyz))
        .routes(routes!(merchants::create, merchants::list))
        .routes(routes!(merchants::get, merchants::change))
        .routes(routes!(merchants::balances))
        .routes(routes!(merchants::statement))
        .routes(routes!(keys::issue_for_merchant, keys::list_of_merchant))
        .routes(routes!(keys::issue, keys::list))
        .routes(routes!(keys::revoke))
        .routes(routes!(beneficiaries::create, beneficiaries::list))
        .routes(routes!(beneficiaries::get))
        .routes(routes!(payins::create, payins::list))
        .routes(routes!(payins::get))
        .routes(routes!(callbacks::post, callbacks::put))
        .routes(routes!(payouts::create, payouts::list))
        .routes(routes!(payouts::get))
        .routes(routes!(payouts::cancel))
        .routes(routes!(payouts::resolve))
        .routes(routes!(payouts::timeline))
        .routes(routes!(payouts::explain))
        .routes(routes!(events::list))
        .routes(routes!(endpoints::create, endpoints::list))
        .routes(routes!(endpoints::get, endpoints::change, endpoints::delete))
        .routes(routes!(endpoints::enable))
        .routes(routes!(endpoints::disable))
        .routes(routes!(endpoints::rotate))
        .routes(routes!(endpoints::test))
        .routes(routes!(deliveries::list))
        .routes(routes!(deliveries::get))
        .routes(routes!(deliveries::replay))
        .routes(routes!(dead_letters::list))
        .routes(routes!(dead_letters::replay))
        .routes(routes!(dispatch::freezes))
        .routes(routes!(dispatch::freeze))
        .routes(routes!(dispatch::unfreeze))
        .routes(routes!(ledger::accounts))
        .routes(routes!(ledger::post))
        .routes(routes!(ledger::trial_balance))
        .routes(routes!(ledger::alm))
        .routes(routes!(ledger::chart))
        .routes(routes!(ledger::drift))
        .routes(routes!(ledger::verify))
        .routes(routes!(audit::list));
    if has_test_clock {
        router = router.routes(routes!(test_clock::advance));
    }
    router
}

impl App {
    /// Asks whoever decides.
    async fn ask(&self, body: Body) -> Result<Reply, Problem> {
        Ok(self.0.submit.ask(body).await??)
    }

    /// The same for what is answered with a flow.
    async fn ask_flow(&self, body: Body) -> Result<(FlowReply, bool), Problem> {
        match self.ask(body).await? {
            Reply::Flow { reply, is_replay } => Ok((Arc::unwrap_or_clone(reply), is_replay)),
            Reply::Posted(_)
            | Reply::Woken(_)
            | Reply::Delivering(_)
            | Reply::Driven(_)
            | Reply::Carried(_)
            | Reply::Replayed(_)
            | Reply::Noted { .. }
            | Reply::Registered { .. } => Err(unexpected()),
        }
    }

    /// The same for what is answered with a record.
    async fn ask_record(&self, body: Body) -> Result<(Record, bool), Problem> {
        match self.ask(body).await? {
            Reply::Registered { record, is_new } => Ok((*record, is_new)),
            Reply::Posted(_)
            | Reply::Woken(_)
            | Reply::Delivering(_)
            | Reply::Driven(_)
            | Reply::Carried(_)
            | Reply::Replayed(_)
            | Reply::Noted { .. }
            | Reply::Flow { .. } => Err(unexpected()),
        }
    }
}

/// A bug: it was done, and the answer makes no sense.
fn unexpected() -> Problem {
    Problem::internal(
        "it was done, but answered with something else: look at it before you ask again, and report this",
    )
}

/// An answer, marked if it was given before.
fn answered(status: StatusCode, body: impl IntoResponse, is_replay: bool) -> Response {
    let mut response = (status, body).into_response();
    if is_replay {
        let name = HeaderName::from_static("idempotent-replayed");
        response.headers_mut().insert(name, HeaderValue::from_static("true"));
    }
    response
}
