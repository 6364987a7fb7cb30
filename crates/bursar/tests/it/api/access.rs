//! Access control: every route of the document for every role, compared with the table.

use std::collections::BTreeSet;

use axum::http::Method;
use bursar_core::registry::Role;
use bursar_server::{Access, access, access_table};
use serde_json::json;

use super::actions::{id, order};
use super::operations::operations;
use super::server::Server;
use crate::caller::Caller;

/// A caller that tries every route.
struct Visitor {
    name: &'static str,
    caller: Caller,
    /// None for a caller without a valid key.
    role: Option<Role>,
}

fn visitors(admin: &Caller) -> Vec<Visitor> {
    let revoked = admin.key("Rosa", "admin", None);
    let keys = admin.get("/v1/keys").is(200);
    let rosa = keys["data"].as_array().unwrap().iter().find(|key| key["name"] == "Rosa").unwrap();
    admin.ask("DELETE", &format!("/v1/keys/{}", id(rosa)), &[], b"").is(200);
    let visitor = |name, caller, role| Visitor { name, caller, role };
    vec![
        visitor("anonymous", admin.without_key(), None),
        visitor("a stranger", admin.with("bk_0123456789"), None),
        visitor("revoked", revoked, None),
        visitor("merchant", admin.key("Mina", "merchant", Some("m1")), Some(Role::Merchant)),
        visitor("operator", admin.key("Olga", "operator", None), Some(Role::Operator)),
        visitor("approver", admin.key("Abid", "approver", None), Some(Role::Approver)),
        visitor("admin", admin.key("Anna", "admin", None), Some(Role::Admin)),
    ]
}

/// A path of the route with existing resources of the merchant.
fn paths(admin: &Caller) -> impl Fn(&str) -> String + use<> {
    let payin = json!({"merchant_id": "m1", "provider": "easypay", "reference": "r", "amount": "1000.00", "currency": "PKR"});
    let payin = id(&admin.post("/v1/payins", &payin).is(201)).to_owned();
    let payout = id(&admin.pay("k", &order("m1", "calm", "10.00")).is(201)).to_owned();
    let beneficiary = json!({"merchant_id": "m1", "name": "Amina", "msisdn": "923001234567"});
    let beneficiary = id(&admin.post("/v1/beneficiaries", &beneficiary).is(201)).to_owned();
    let key = admin.post("/v1/keys", &json!({"name": "Karl", "role": "operator"})).is(201);
    let key = id(&key).to_owned();
    let hooks = json!({"merchant_id": "m1", "url": "https://merchant.invalid/hooks"});
    let endpoint = id(&admin.post("/v1/webhook-endpoints", &hooks).is(201)).to_owned();
    let sent = admin.post(&format!("/v1/webhook-endpoints/{endpoint}/test"), &json!({})).is(202);
    let delivery = id(&sent).to_owned();
    move |route| {
        let id = match route.split('/').nth(2) {
            Some("merchants") => "m1",
            Some("payouts" | "dispatch") => &payout,
            Some("payins") => &payin,
            Some("approvals") => "apr_00000000000000000000000000000001",
            Some("beneficiaries") => &beneficiary,
            Some("keys") => &key,
            Some("webhook-endpoints") => &endpoint,
            Some("deliveries") => &delivery,
            _ => "",
        };
        let route = route.replace("{item_type}", "payout").replace("{channel}", "wallet");
        route.replace("{id}", id).replace("{provider}", "easypay")
    }
}

#[test]
fn every_route_lets_in_whom_the_table_names_and_nobody_else() {
    let server = Server::with("", &["--test-clock"]);
    let admin = server.admin();
    admin.merchant("m1", "0.00");
    let path = paths(&admin);
    let document = admin.get("/openapi.json").is(200);
    let (mut let_in, mut turned_away) = (0, 0);
    let visitors = visitors(&admin);
    for (method, route) in operations(&document) {
        let verb = Method::from_bytes(method.as_bytes()).unwrap();
        for Visitor { name, caller, role } in &visitors {
            // An empty object is enough: access is checked before the body.
            let body: &[u8] = if method == "GET" { b"" } else { b"{}" };
            let answer = caller.ask(&method, &path(&route), &[], body);
            let what = format!("{method} {route} by {name}: {answer:?}");
            assert!(answer.status < 500, "{what}");
            match access(&verb, &route) {
                Access::Open => assert_eq!(answer.status, 200, "{what}"),
                Access::Signed => answer.refused(401, "bad_signature"),
                Access::Roles(roles) => match role {
                    None => answer.refused(401, "unauthenticated"),
                    Some(role) if roles.contains(role) => {
                        assert!(![401, 403].contains(&answer.status), "{what}");
                        let_in += 1;
                    }
                    Some(_) => {
                        answer.refused(403, "forbidden");
                        turned_away += 1;
                    }
                },
            }
        }
    }
    assert!(let_in > 80 && turned_away > 30, "{let_in} let in, {turned_away} turned away");
    admin.books_hold();
}

#[test]
fn the_table_names_the_routes_of_the_document_and_no_others() {
    let server = Server::with("", &["--test-clock"]);
    let document = server.admin().get("/openapi.json").is(200);
    let in_table: BTreeSet<(String, String)> = access_table()
        .iter()
        .map(|(method, route, _)| ((*method).to_owned(), (*route).to_owned()))
        .collect();
    let mut described = operations(&document);
    // The documentation routes are public.
    for route in ["/", "/openapi.json", "/docs", "/metrics"] {
        described.insert(("GET".to_owned(), route.to_owned()));
    }
    assert_eq!(in_table, described);
}

/// Invariants of the table.
#[test]
fn merchants_cannot_decide_and_approvers_cannot_move_money() {
    let lets_in = |method, route, role| match access(&method, route) {
        Access::Roles(roles) => roles.contains(&role),
        Access::Open | Access::Signed => true,
    };
    let house = [
        (Method::POST, "/v1/payouts/{id}/resolve"),
        (Method::POST, "/v1/payins/{id}/case/close"),
        (Method::POST, "/v1/dispatch/freeze"),
        (Method::POST, "/v1/dispatch/unfreeze"),
        (Method::POST, "/v1/payins"),
        (Method::POST, "/v1/merchants"),
        (Method::PATCH, "/v1/merchants/{id}"),
        (Method::POST, "/v1/keys"),
        (Method::POST, "/v1/merchants/{id}/keys"),
        (Method::POST, "/v1/ledger/transactions"),
        (Method::GET, "/v1/audit"),
    ];
    for (method, route) in house {
        assert!(!lets_in(method, route, Role::Merchant), "{route}");
    }
    for route in ["/v1/payouts", "/v1/payouts/{id}/cancel", "/v1/payins", "/v1/beneficiaries"] {
        assert!(!lets_in(Method::POST, route, Role::Approver), "{route}");
    }
    for role in [Role::Merchant, Role::Operator, Role::Approver] {
        assert!(!lets_in(Method::POST, "/v1/keys", role));
        assert!(!lets_in(Method::POST, "/v1/ledger/transactions", role));
        assert!(!lets_in(Method::POST, "/v1/test-clock/advance", role));
    }
    for role in Role::ALL {
        assert!(!lets_in(Method::GET, "/v1/nowhere", role), "what is not named is forbidden");
    }
}
