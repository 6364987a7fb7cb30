//! Who may do what: one table for every route. What is not in it is forbidden.

use axum::http::Method;
use bursar_core::registry::Role;

/// Who may use a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Anybody, without a key.
    Open,
    /// Whoever signs what they say.
    Signed,
    Roles(&'static [Role]),
}

const EVERYBODY: Access =
    Access::Roles(&[Role::Merchant, Role::Operator, Role::Approver, Role::Admin]);
const HOUSE: Access = Access::Roles(&[Role::Operator, Role::Approver, Role::Admin]);
const OPERATORS: Access = Access::Roles(&[Role::Operator, Role::Admin]);
const PAYERS: Access = Access::Roles(&[Role::Merchant, Role::Operator, Role::Admin]);
const ADMIN: Access = Access::Roles(&[Role::Admin]);

/// Merchants see and move only what is theirs, wherever they are let in.
const TABLE: &[(&str, &str, Access)] = &[
    ("GET", "/healthz", Access::Open),
    ("GET", "/readyz", Access::Open),
    ("GET", "/metrics", Access::Open),
    ("GET", "/openapi.json", Access::Open),
    ("GET", "/docs", Access::Open),
    ("POST", "/v1/providers/{provider}/callbacks", Access::Signed),
    ("PUT", "/v1/providers/{provider}/callbacks", Access::Signed),
    ("POST", "/v1/merchants", ADMIN),
    ("GET", "/v1/merchants", HOUSE),
    ("GET", "/v1/merchants/{id}", EVERYBODY),
    ("PATCH", "/v1/merchants/{id}", ADMIN),
    ("GET", "/v1/merchants/{id}/balances", EVERYBODY),
    ("GET", "/v1/merchants/{id}/statement", EVERYBODY),
    ("POST", "/v1/merchants/{id}/keys", ADMIN),
    ("GET", "/v1/merchants/{id}/keys", ADMIN),
    ("POST", "/v1/keys", ADMIN),
    ("GET", "/v1/keys", ADMIN),
    ("DELETE", "/v1/keys/{id}", ADMIN),
    ("POST", "/v1/beneficiaries", PAYERS),
    ("GET", "/v1/beneficiaries", EVERYBODY),
    ("GET", "/v1/beneficiaries/{id}", EVERYBODY),
    ("POST", "/v1/payins", OPERATORS),
    ("GET", "/v1/payins", EVERYBODY),
    ("GET", "/v1/payins/{id}", EVERYBODY),
    ("POST", "/v1/payouts", PAYERS),
    ("GET", "/v1/payouts", EVERYBODY),
    ("GET", "/v1/payouts/{id}", EVERYBODY),
    ("POST", "/v1/payouts/{id}/cancel", PAYERS),
    ("POST", "/v1/payouts/{id}/resolve", HOUSE),
    ("GET", "/v1/payouts/{id}/timeline", EVERYBODY),
    ("GET", "/v1/payouts/{id}/explain", EVERYBODY),
    ("GET", "/v1/events", EVERYBODY),
    ("POST", "/v1/webhook-endpoints", PAYERS),
    ("GET", "/v1/webhook-endpoints", EVERYBODY),
    ("GET", "/v1/webhook-endpoints/{id}", EVERYBODY),
    ("PATCH", "/v1/webhook-endpoints/{id}", PAYERS),
    ("DELETE", "/v1/webhook-endpoints/{id}", PAYERS),
    ("POST", "/v1/webhook-endpoints/{id}/enable", PAYERS),
    ("POST", "/v1/webhook-endpoints/{id}/disable", PAYERS),
    ("POST", "/v1/webhook-endpoints/{id}/rotate-secret", PAYERS),
    ("POST", "/v1/webhook-endpoints/{id}/test", PAYERS),
    ("GET", "/v1/deliveries", EVERYBODY),
    ("GET", "/v1/deliveries/{id}", EVERYBODY),
    ("POST", "/v1/deliveries/{id}/replay", PAYERS),
    ("GET", "/v1/dead-letters", EVERYBODY),
    ("POST", "/v1/dead-letters/replay", PAYERS),
    ("GET", "/v1/dispatch/freezes", HOUSE),
    ("POST", "/v1/dispatch/freeze", HOUSE),
    ("POST", "/v1/dispatch/unfreeze", HOUSE),
    ("GET", "/v1/ledger/accounts", HOUSE),
    ("POST", "/v1/ledger/transactions", ADMIN),
    ("GET", "/v1/ledger/trial-balance", HOUSE),
    ("GET", "/v1/ledger/alm", HOUSE),
    ("GET", "/v1/ledger/chart", HOUSE),
    ("GET", "/v1/ledger/drift", HOUSE),
    ("GET", "/v1/ledger/verify", HOUSE),
    ("GET", "/v1/audit", HOUSE),
    ("POST", "/v1/test-clock/advance", ADMIN),
];

/// Every route, with its method and who may use it.
pub const fn access_table() -> &'static [(&'static str, &'static str, Access)] {
    TABLE
}

/// Who may use this route; nobody, if it is not known.
pub fn access(method: &Method, path: &str) -> Access {
    // Whoever may read a thing may ask whether it is there.
    let method = if *method == Method::HEAD { "GET" } else { method.as_str() };
    let known = TABLE.iter().find(|(verb, route, _)| *verb == method && *route == path);
    known.map_or(Access::Roles(&[]), |(.., access)| *access)
}
