//! The resources, one file each. A resource owns its routes and its rows of the access table.

mod approvals;
mod audit;
mod beneficiaries;
mod callbacks;
mod dead_letters;
mod deliveries;
mod dispatch;
mod dispatch_why;
mod endpoints;
mod events;
mod find;
mod freezes;
pub(crate) mod health;
mod keys;
mod ledger;
mod lists;
mod merchants;
mod overview;
mod payin_cases;
mod payins;
mod payout_decisions;
mod payout_explain;
mod payout_schedule;
mod payout_view;
mod payouts;
mod pending_decisions;
mod restore;
mod statements;
mod test_clock;

use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use bursar_core::ids::PayoutId;
use bursar_core::payouts::AskAgain;
use bursar_core::turn::Ask;
use utoipa_axum::router::OpenApiRouter;

use crate::access::AccessRow;
use crate::port::Unanswered;
use crate::problem::Problem;
use crate::{App, waiting};

type Resource = (&'static [AccessRow], fn() -> OpenApiRouter<App>);

/// A resource is one line here and its module.
const RESOURCES: &[Resource] = &[
    (health::ACCESS, health::routes),
    (merchants::ACCESS, merchants::routes),
    (statements::ACCESS, statements::routes),
    (keys::ACCESS, keys::routes),
    (beneficiaries::ACCESS, beneficiaries::routes),
    (payins::ACCESS, payins::routes),
    (payin_cases::ACCESS, payin_cases::routes),
    (callbacks::ACCESS, callbacks::routes),
    (payouts::ACCESS, payouts::routes),
    (payout_decisions::ACCESS, payout_decisions::routes),
    (payout_schedule::ACCESS, payout_schedule::routes),
    (events::ACCESS, events::routes),
    (endpoints::ACCESS, endpoints::routes),
    (deliveries::ACCESS, deliveries::routes),
    (dead_letters::ACCESS, dead_letters::routes),
    (freezes::ACCESS, freezes::routes),
    (dispatch::ACCESS, dispatch::routes),
    (restore::ACCESS, restore::routes),
    (approvals::ACCESS, approvals::routes),
    (ledger::ACCESS, ledger::routes),
    (audit::ACCESS, audit::routes),
    (overview::ACCESS, overview::routes),
    (find::ACCESS, find::routes),
];

/// Only where the clock can be moved.
const TEST_CLOCK: Resource = (test_clock::ACCESS, test_clock::routes);

pub(crate) fn routes(has_test_clock: bool) -> OpenApiRouter<App> {
    let test_clock = has_test_clock.then_some(&TEST_CLOCK);
    let resources = RESOURCES.iter().chain(test_clock);
    resources.fold(OpenApiRouter::new(), |router, (_, routes)| router.merge(routes()))
}

/// The rows of the access table, resource by resource.
pub(crate) fn access() -> impl Iterator<Item = &'static [AccessRow]> {
    RESOURCES.iter().chain([&TEST_CLOCK]).map(|(rows, _)| *rows)
}

impl App {
    /// Submits a request to the host and returns the reply that belongs to it.
    pub(crate) async fn ask<A: Ask>(&self, ask: A) -> Result<A::Reply, Problem> {
        let late = || Unanswered::NotSaved("the turn is not over in time".to_owned());
        let reply = waiting::within(self.0.host.ask(ask.into())).await.ok_or_else(late)???;
        A::reply(reply).ok_or_else(unexpected)
    }

    /// The same for a decision about a payout. If a restore holds the payout back, its channel is asked now, so that the
    /// decision can be repeated soon.
    async fn decide<A: Ask>(&self, id: PayoutId, ask: A) -> Result<A::Reply, Problem> {
        let decided = self.ask(ask).await;
        if decided.as_ref().is_err_and(|problem| problem.code() == RECHECKING) {
            drop(self.ask(AskAgain { id }).await);
        }
        decided
    }
}

/// The code of the rejection of a decision that waits for what a channel says after a restore.
const RECHECKING: &str = "rechecking";

/// A bug: the request was saved, and its reply has another shape.
fn unexpected() -> Problem {
    Problem::internal(
        "it was done, but answered with something else: look at it before you ask again, and report this",
    )
}

/// A response, with a header if it repeats an earlier one.
fn answered(status: StatusCode, body: impl IntoResponse, is_replay: bool) -> Response {
    let mut response = (status, body).into_response();
    if is_replay {
        let name = HeaderName::from_static("idempotent-replayed");
        response.headers_mut().insert(name, HeaderValue::from_static("true"));
    }
    response
}
