//! A stored reply that this version cannot read: the request that uses its key is rejected, and no other is affected.

use std::sync::Arc;

use bursar_core::ids::Seed;
use bursar_engine::{Clock, Host, Limits};
use bursar_store::{Sqlite, Walk as _};
use futures_util::future::join_all;
use jiff::Timestamp;

use crate::outside::{channel, pays};
use crate::request::{block_on, create, fund, open_merchant, rules};
use crate::scratch::Scratch;

#[derive(Debug)]
struct Still;

impl Clock for Still {
    fn now(&self) -> Timestamp {
        Timestamp::constant(1_794_700_800, 0)
    }
}

#[test]
fn an_unreadable_reply_leaves_every_other_request_answered() {
    let scratch = Scratch::new();
    block_on(async {
        let store = Sqlite::open(scratch.path()).unwrap();
        let (shared, outside) = (Arc::new(rules()), Arc::new(channel(pays)));
        let settings = (Limits::default(), Seed::from(7));
        let (host, handle) = Host::new(store, shared, outside, Arc::new(Still), settings);
        let running = tokio::task::spawn_local(host.run());
        for body in [open_merchant("m1"), fund("m1"), create("m1", 0)] {
            handle.ask(body).await.unwrap().unwrap();
        }
        let connection = rusqlite::Connection::open(scratch.path().join("bursar.sqlite")).unwrap();
        // As if the version that stored it knew no VAT.
        let sql = "UPDATE keys SET reply = replace(reply, '\"vat\"', '\"tax\"') WHERE key = '0'";
        assert_eq!(connection.execute(sql, []).unwrap(), 1);

        let answers = join_all((0..200).map(|number| handle.ask(create("m1", number)))).await;
        for (number, answer) in (0..).zip(answers) {
            // Unanswered would be 503.
            let answer = answer.unwrap();
            let expected = (number == 0).then_some("unreadable_reply");
            let code = answer.err().map(|rejection| rejection.code());
            assert_eq!(code, expected, "request {number}");
        }
        assert_eq!(handle.stats().alerts, 0, "there is nothing that an operator must restore");
        handle.stop();
        let report = running.await.unwrap().verify(&rules().rulebook).await.unwrap();
        assert_eq!(report.differences, Vec::<String>::new());
    });
}
