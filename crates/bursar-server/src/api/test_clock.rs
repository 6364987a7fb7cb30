//! The test clock: advanced by request, never set back.

use axum::Json as Reply;
use axum::extract::State;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::App;
use crate::access::{ADMIN, AccessRow};
use crate::extract::Json;
use crate::problem::Problem;

pub(super) const ACCESS: &[AccessRow] = &[("POST", "/v1/test-clock/advance", ADMIN)];

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(advance))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Advance {
    /// At most a year.
    #[schema(minimum = 0, maximum = 31_536_000)]
    seconds: u64,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Now {
    #[schema(value_type = String, format = DateTime)]
    now: Timestamp,
}

const YEAR: u64 = 31_536_000;

/// Advance the test clock.
///
/// Answers when all flows that became due have been processed.
#[utoipa::path(post, path = "/v1/test-clock/advance", tag = "test clock", request_body = Advance,
    responses((status = 200, body = Now), (status = 400, body = Problem)))]
pub(super) async fn advance(
    State(app): State<App>,
    Json(request): Json<Advance>,
) -> Result<Reply<Now>, Problem> {
    if request.seconds > YEAR {
        return Err(Problem::bad_request(
            "a clock is moved by at most a year at once: it was not moved",
        ));
    }
    Ok(Reply(Now { now: app.0.host.advance(request.seconds).await? }))
}
