//! `bursar simulate-channel`.

use serde_json::Value;

use crate::bursar::bursar;
use crate::process::Process;

struct Simulator(Process);

impl Simulator {
    fn new(arguments: &[&str]) -> Self {
        let simulate = ["simulate-channel", "--listen", "127.0.0.1:0"];
        let process = Process::start(&[&simulate, arguments].concat(), &[]);
        assert!(!process.address.ends_with(":0"), "the port is the real one");
        Self(process)
    }

    fn submit(&self, reference: &str) -> u16 {
        let body = format!(
            r#"{{"amount":"12.50","currency":"PKR","type":"disbursement","requestingOrganisationTransactionReference":"{reference}","creditParty":[]}}"#
        );
        let name = format!("x-correlationid: {reference}");
        self.0.ask("POST", "/transactions", &[&name], &body).status
    }

    fn profile(&self, body: &str) -> u16 {
        self.0.ask("POST", "/_profile", &[], body).status
    }

    fn books(&self) -> Value {
        self.0.ask("GET", "/_books", &[], "").body
    }
}

#[test]
fn the_simulator_pays_keeps_books_and_stops_on_a_signal() {
    for (signal, arguments, times_paid) in [
        ("-TERM", &["--profile", "calm", "--idempotent"][..], 1),
        ("-INT", &["--profile", "calm"], 2),
    ] {
        let simulator = Simulator::new(arguments);
        assert_eq!(simulator.submit("r-1"), 200);
        assert_eq!(simulator.submit("r-1"), 200);
        let entry = &simulator.books()["payments"][0];
        assert_eq!(entry["reference"], "r-1");
        assert_eq!(entry["state"], "paid");
        assert_eq!(entry["submissions"], 2);
        assert_eq!(entry["times_paid"], times_paid);
        assert_eq!(simulator.profile(r#"{"profile":"kind"}"#), 400);
        assert_eq!(simulator.profile(r#"{"profile":"silent"}"#), 200);
        assert_eq!(simulator.books()["payments"].as_array().unwrap().len(), 1);
        assert!(simulator.0.stop(signal).success(), "it stops cleanly");
    }
}

#[test]
fn a_simulator_that_cannot_do_what_is_asked_does_not_start() {
    for arguments in [
        &["--profile", "kind"][..],
        &["--callback-url", "http://127.0.0.1:1"],
        &["--callback-url", "nowhere", "--callback-secret", "s"],
        &["--listen", "203.0.113.1:1"],
    ] {
        let complaint = bursar(&[&["simulate-channel"], arguments].concat()).refused();
        assert!(!complaint.contains("panicked"), "{complaint}");
    }
}
