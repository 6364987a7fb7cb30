//! The access table: which roles may use which route. Each resource owns its rows; a route without a row is forbidden.

use std::sync::LazyLock;

use axum::http::Method;
use bursar_core::registry::Role;

use crate::{api, docs, metrics};

/// What a route demands of its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// No key.
    Open,
    /// A valid signature of the body, and no key.
    Signed,
    /// A key with one of these roles.
    Roles(&'static [Role]),
}

/// Method, path and access of a route.
pub type AccessRow = (&'static str, &'static str, Access);

pub(crate) const EVERY_ROLE: Access =
    Access::Roles(&[Role::Merchant, Role::Operator, Role::Approver, Role::Admin]);
pub(crate) const STAFF: Access = Access::Roles(&[Role::Operator, Role::Approver, Role::Admin]);
pub(crate) const APPROVERS: Access = Access::Roles(&[Role::Approver, Role::Admin]);
pub(crate) const OPERATORS: Access = Access::Roles(&[Role::Operator, Role::Admin]);
pub(crate) const PAYERS: Access = Access::Roles(&[Role::Merchant, Role::Operator, Role::Admin]);
pub(crate) const ADMIN: Access = Access::Roles(&[Role::Admin]);

static TABLE: LazyLock<Vec<AccessRow>> = LazyLock::new(|| {
    let beside_the_api = [metrics::ACCESS, docs::ACCESS];
    beside_the_api.into_iter().chain(api::access()).flatten().copied().collect()
});

/// The rows of all resources. A merchant key sees and moves only what belongs to its merchant, on every route.
pub fn access_table() -> &'static [AccessRow] {
    &TABLE
}

/// The access of a route; a route without a row admits no role.
pub fn access(method: &Method, path: &str) -> Access {
    // HEAD is GET without the body.
    let method = if *method == Method::HEAD { "GET" } else { method.as_str() };
    let known = TABLE.iter().find(|(verb, route, _)| *verb == method && *route == path);
    known.map_or(Access::Roles(&[]), |(.., access)| *access)
}
