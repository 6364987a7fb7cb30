//! Lists: how much of them, and from where.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::problem::Problem;

/// What every list takes.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Page {
    /// Where to go on: `next_cursor` of the page before.
    pub(super) cursor: Option<String>,
    /// How many, at most 500.
    #[param(minimum = 1, maximum = 500, default = 50)]
    pub(super) limit: Option<u32>,
}

/// A part of a list, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Listed<T> {
    pub(super) data: Vec<T>,
    /// Where the next page begins; none after the last one.
    pub(super) next_cursor: Option<String>,
}

const LIMIT: u32 = 50;
const LIMIT_MAX: u32 = 500;

impl Page {
    pub(super) fn limit(&self) -> Result<u32, Problem> {
        limit(self.limit)
    }

    /// The id that the cursor is.
    pub(super) fn place<T: std::str::FromStr>(&self) -> Result<Option<T>, Problem> {
        self.cursor.as_deref().map(str::parse).transpose().map_err(|_| bad_cursor())
    }
}

pub(super) fn limit(asked: Option<u32>) -> Result<u32, Problem> {
    let limit = asked.unwrap_or(LIMIT);
    if (1..=LIMIT_MAX).contains(&limit) {
        return Ok(limit);
    }
    Err(Problem::bad_request(
        "limit is 1 to 500: nothing was read. Ask for less, and go on with next_cursor",
    ))
}

pub(super) fn bad_cursor() -> Problem {
    Problem::bad_request(
        "the cursor is not one of ours: nothing was read. Use next_cursor of the page before, or none",
    )
}

impl<T> Listed<T> {
    /// Of a page that may be full: the last one's place is where to go on.
    pub(super) fn full(data: Vec<T>, limit: u32, place: impl Fn(&T) -> String) -> Self {
        let is_full = u32::try_from(data.len()).unwrap_or(u32::MAX) >= limit;
        let next_cursor = data.last().filter(|_| is_full).map(place);
        Self { data, next_cursor }
    }
}
