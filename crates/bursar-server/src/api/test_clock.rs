//! The clock of a test: moved by hand, never backwards.

use axum::Json as Reply;
use axum::extract::State;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::App;
use crate::extract::Json;
use crate::problem::Problem;

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

/// Let time pass. Answers when everything that became due on the way has come to rest.
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
    Ok(Reply(Now { now: app.0.submit.advance(request.seconds).await? }))
}
