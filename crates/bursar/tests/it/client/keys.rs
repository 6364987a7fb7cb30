//! `bursar key`: keys from the command line.

use super::{Server, text};

#[test]
fn keys_are_issued_listed_and_revoked() {
    let server = Server::new("calm");
    server.funded();
    let issue = ["key", "issue", "--name", "till", "--role", "merchant", "--merchant", "m1"];
    let till = server.json(&issue);
    let secret = text(&till["key"]);
    assert!(server.run_as(secret, &["payout", "list"]).ok().contains("status"));
    let refused = server.run_as(secret, &["audit"]).refused();
    assert!(refused.contains("(forbidden, 403)"), "{refused}");
    assert!(server.table(&issue).contains("bk_"), "it is shown once");
    let listed = server.table(&["key", "list", "--merchant", "m1"]);
    assert!(listed.contains("till") && !listed.contains("bk_"), "{listed}");
    assert_eq!(server.json(&["key", "list"])["data"].as_array().unwrap().len(), 2);
    let revoke = ["key", "revoke", text(&till["id"])];
    assert!(server.json(&revoke)["revoked_at"].is_string());
    assert!(server.table(&revoke).contains("revoked_at"));
}
