//! The machine of the server has no files left while payouts are due: none fails, and none is sent twice.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use crate::api::actions::{id, order};
use crate::api::scripted_channel::Channel;
use crate::api::server::Server;
use crate::caller::until;

#[test]
fn payouts_are_due_while_the_process_has_no_file_descriptors() {
    let channel = Channel::new();
    channel.say("completed");
    let clocks = "tries_max = 2\nfirst_retry_s = 0.2\nlast_retry_s = 0.5\n";
    let server = Server::with(&format!("{}{clocks}", channel.config("wallet")), &[]);
    let admin = server.admin();
    admin.merchant("m1", "10000.00");
    let due = Timestamp::now() + SignedDuration::from_secs(3);
    let payouts: Vec<_> = (0..20)
        .map(|number| {
            let mut body = order("m1", "wallet", "100.00");
            body["scheduled_at"] = json!(due.to_string());
            admin.pay(&format!("k{number}"), &body).is(201)
        })
        .collect();
    assert!(Timestamp::now() < due, "all are scheduled before the first is due");
    server.limit_files(3);
    // More than enough for all tries that a channel would get.
    std::thread::sleep(Duration::from_secs(7));
    assert_eq!(channel.submitted(), Vec::<String>::new(), "nothing could be sent");
    server.limit_files(1_024);
    for payout in &payouts {
        let found = until("the server answers, and it is paid", || {
            let path = format!("/v1/payouts/{}", id(payout));
            let answer = admin.try_ask("GET", &path, &[], b"")?;
            (answer.status == 200 && answer.text.contains("\"SUCCESS\"")).then_some(answer.text)
        });
        assert!(found.contains("\"SUCCESS\""), "{found}");
    }
    let mut references = channel.submitted();
    references.sort();
    references.dedup();
    assert_eq!((channel.submitted().len(), references.len()), (20, 20), "each was sent once");
    admin.books_hold();
}
