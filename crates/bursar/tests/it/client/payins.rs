//! `bursar payin`: cases of pay-ins from the command line.

use super::{PAYIN, Server, text, words};

#[test]
fn the_case_of_a_pay_in_is_shown_and_closed() {
    let server = Server::new("calm");
    server.funded();
    let payin = server.json(&["payin", "list"])["data"][0].clone();
    let id = text(&payin["id"]);
    let other = PAYIN.replace("5000.00", "4000.00");
    let refused = server.run(&words(&other)).refused();
    assert!(refused.contains("reference_reused, 409"), "{refused}");
    assert!(refused.contains("kept as a case"), "{refused}");
    let shown = server.table(&["payin", "get", id]);
    assert!(shown.contains("The case is open") && shown.contains("4000.00"), "{shown}");
    assert!(server.table(&["review"]).contains(id));
    let version = server.json(&["payin", "get", id])["version"].to_string();
    let evidence = ["--evidence", "a typing error", "--expected-version", &version];
    let closed = server.json(&[&["payin", "close-case", id][..], &evidence].concat());
    assert_eq!(closed["reason"], "amount_differs");
    assert!(server.table(&["payin", "get", id]).contains("The case is closed"));
    assert!(!server.table(&["review"]).contains(id));
}
