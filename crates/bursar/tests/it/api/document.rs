//! The API document: valid, and consistent with the server for generated requests.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::json;

use super::server::{ADMIN_KEY, Server};
use crate::cluster::Cluster;
use crate::scratch::Scratch;

/// A program of the private environment. A missing one is a failure: `./test` installs them.
fn program(name: &str) -> PathBuf {
    let usual = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/venv");
    let venv = std::env::var_os("BURSAR_TEST_VENV").map_or(usual, PathBuf::from);
    let program = venv.join("bin").join(name);
    assert!(program.exists(), "no {} here: run ./test, which installs it", program.display());
    program
}

fn succeeded(output: &Output) {
    let (stdout, stderr) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stdout}\n{stderr}");
}

#[test]
fn the_document_is_valid() {
    let server = Server::with("", &["--test-clock"]);
    let document = server.admin().without_key().get("/openapi.json");
    assert_eq!(document.json()["openapi"].as_str().map(|version| &version[..3]), Some("3.1"));
    let scratch = Scratch::new();
    let file = scratch.file("openapi.json", &document.text);
    succeeded(&Command::new(program("openapi-spec-validator")).arg(file).output().unwrap());
}

#[test]
fn the_root_leads_to_the_documentation() {
    let server = Server::new();
    let visitor = server.admin().without_key();
    let root = visitor.get("/");
    assert_eq!((root.status, root.header("location")), (303, Some("/docs")), "{root:?}");
    let page = visitor.get("/docs");
    assert_eq!(page.status, 200);
    assert!(page.text.contains("/v1/payouts"), "{}", page.text);
}

/// Two schemas with the same name would overwrite each other.
#[test]
fn the_document_tells_requests_from_answers() {
    let server = Server::new();
    let document = server.admin().get("/openapi.json").is(200);
    let schemas = &document["components"]["schemas"];
    let wanted = |name: &str| {
        let schema = &schemas[name];
        assert!(schema.is_object(), "{name}: {schemas}");
        schema["required"].to_string()
    };
    assert!(wanted("Beneficiary").contains("created_at"));
    assert!(!wanted("PayeeDetails").contains("created_at"));
    assert!(schemas["MerchantStatus"].to_string().contains("closed"));
    assert!(schemas["ProviderStatus"].to_string().contains("completed"));
    let operations = &document["paths"];
    assert_eq!(operations["/healthz"]["get"]["security"], json!([]), "it takes no key");
    let refusal = &operations["/v1/payouts"]["post"]["responses"]["422"]["content"];
    assert!(refusal["application/problem+json"].is_object(), "{refusal}");
}

/// All checks except that valid input is accepted: missing funds are rejected.
fn make_up(server: &Server, phases: &str) {
    let admin = server.admin();
    admin.merchant("m1", "1000.00");
    let scratch = Scratch::new();
    let output = Command::new(program("schemathesis"))
        .current_dir(scratch.path())
        .arg("run")
        .arg(format!("http://{}/openapi.json", server.address()))
        .args(["--header", &format!("Authorization: Bearer {ADMIN_KEY}")])
        .args(["--checks", "all", "--exclude-checks", "positive_data_acceptance"])
        .args(["--max-examples", "10", "--seed", "1", "--no-color", "--phases", phases])
        .output()
        .unwrap();
    succeeded(&output);
    admin.books_hold();
}

#[test]
fn nothing_that_a_machine_makes_up_makes_the_server_fail() {
    make_up(&Server::with("", &["--test-clock"]), "examples,coverage,fuzzing,stateful");
}

#[test]
fn nothing_that_a_machine_makes_up_makes_a_server_on_postgres_fail() {
    let cluster = Cluster::start();
    make_up(&Server::on_postgres(&cluster.url(), &["--test-clock"]), "coverage,fuzzing");
}
