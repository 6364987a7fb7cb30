//! `bursar approval`: two people from the command line.

use super::{Server, text, words};

#[test]
fn what_one_person_may_not_do_is_proposed_and_approved_from_the_command_line() {
    let server = Server::new("calm");
    let issue = |name: &str, role: &str| {
        let issued = server.json(&["key", "issue", "--name", name, "--role", role]);
        text(&issued["key"]).to_owned()
    };
    let (anna, cem) = (issue("anna", "admin"), issue("cem", "approver"));
    // From now on a key that may approve needs two people.
    let line = "key issue --name dora --role approver --person d.dorn --reason holiday --json";
    let proposed = server.run_as(&anna, &words(line)).ok();
    let proposed: serde_json::Value = serde_json::from_str(&proposed).unwrap();
    let id = text(&proposed["approval_id"]);
    let listed = server.run_as(&cem, &["approval", "list", "--status", "PROPOSED"]).ok();
    assert!(listed.contains(id) && listed.contains("key.issue"), "{listed}");
    let alone = server.run_as(&anna, &["approval", "approve", id]).refused();
    assert!(alone.contains("second_person_needed, 409"), "{alone}");
    let shown = server.run_as(&cem, &["approval", "get", id]).ok();
    assert!(shown.contains("make a key of the role approver for d.dorn"), "{shown}");
    let done = server.run_as(&cem, &["approval", "approve", id, "--note", "she started"]).ok();
    assert!(done.contains("APPROVED") && done.contains("she started"), "{done}");
    let again = server.run_as(&cem, &["approval", "reject", id]).refused();
    assert!(again.contains("not_proposed, 409"), "{again}");

    let keys = server.json(&["key", "list"]);
    let key = keys["data"].as_array().unwrap().iter().find(|key| key["name"] == "cem").unwrap();
    let revoke = ["key", "revoke", text(&key["id"])];
    let run = server.run_as(&anna, &revoke);
    assert!(run.stderr.contains("another person must approve it"), "{}", run.stderr);
    let list = server.run_as(&anna, &["approval", "list", "--json"]).ok();
    let list: serde_json::Value = serde_json::from_str(&list).unwrap();
    let withdrawn = ["approval", "withdraw", text(&list["data"][0]["id"])];
    assert!(server.run_as(&anna, &withdrawn).ok().contains("WITHDRAWN"));
    let stolen = [&revoke[..], &["--break-glass", "--reason", "stolen"]].concat();
    assert!(server.run_as(&anna, &stolen).ok().contains("BREAK_GLASS"));
}
