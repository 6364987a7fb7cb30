//! A whole database: the rows that a short story leaves in SQLite, events, audit entries and freezes among them.
//!
//! `database.jsonl` is written by the story, and read back into an empty database: what an earlier version stored is
//! verified, browsed and carried on.

use bursar_core::control::{Scope, Switch, Turned};
use bursar_core::ids::PayoutId;
use bursar_core::payout::{Cancellation, Event, Outcome, submit_lane};
use bursar_core::registry::{Change, EndpointChange, Role};
use bursar_core::request::Body;
use bursar_store::{Browse as _, FlowFilter, Query as _, Sqlite};

use crate::adapter::text::{planned, written};
use crate::adapter::{assert_golden, golden, lines, requests};
use crate::desk::Desk;
use crate::office::{add, change, endpoint_id};
use crate::payout_steps::{NAMES_OF_WORDS, new_payout, payin};
use crate::payouts::key;
use crate::raw::{TABLES, restore, rows};
use crate::scratch::Scratch;
use crate::workload::{block_on, rules};

const DATABASE: &str = "golden/database.jsonl";

fn texts(scratch: &Scratch) -> String {
    lines(TABLES.iter().flat_map(|table| rows(scratch.path(), *table)))
}

#[test]
fn a_short_story_leaves_the_rows_that_it_always_left() {
    let scratch = Scratch::new();
    let rules = rules();
    block_on(async {
        let mut desk = Desk::new(&rules, Sqlite::open(scratch.path()).unwrap(), 0);
        tell(&mut desk).await;
        desk.assert_sound().await;
    });
    let found = texts(&scratch);
    for table in ["events", "audit", "freezes", "keys", "registry", "flows", "due"] {
        let is_of = |line: &&str| line.starts_with(&format!("[\"{table}\""));
        assert!(found.lines().filter(is_of).count() > 1, "{table}: there are rows");
    }
    assert_golden(DATABASE, &found);
}

#[test]
fn a_stored_database_is_carried_on() {
    let scratch = Scratch::new();
    let rules = rules();
    // Opened once, so that there are tables.
    drop(Sqlite::open(scratch.path()).unwrap());
    restore(scratch.path(), &golden(DATABASE));
    assert_eq!(texts(&scratch), golden(DATABASE), "all of it is there");
    block_on(async {
        let mut desk = Desk::new(&rules, Sqlite::open(scratch.path()).unwrap(), 9);
        desk.assert_sound().await;
        let control = desk.store.control().await.unwrap();
        assert_eq!(control.freezes.len(), 2, "freezes are read");
        for kind in ["payout", "payin", "delivery"] {
            let filter = FlowFilter { kind, ..FlowFilter::default() };
            let page = desk.store.flows_back(&filter, None, 10).await.unwrap();
            assert!(page.flows.len() > 1, "{kind}: flows are listed");
        }
        // The same request under the same key has the same reply, and what was stored goes on.
        let again = requests::create_payout(key("one"), new_payout("m1", "10"), None);
        let commit = desk.commit(again).await;
        assert!(crate::adapter::text::answer(&commit.answers[0]).ends_with(",true]"));
        let woken = desk.wake(&submit_lane("wallet"), 10).await;
        assert_eq!(woken.refused, []);
        desk.ask(requests::deliver(10, true)).await.unwrap();
        desk.assert_sound().await;
    });
}

/// A merchant with two endpoints is funded, pays and is paid; somebody freezes, and somebody wants it lifted.
async fn tell(desk: &mut Desk<'_, Sqlite>) {
    desk.fund().await;
    desk.open_merchant().await;
    desk.ask(add(endpoint_id(1), &["*"])).await.unwrap();
    desk.ask(add(endpoint_id(2), &["payout.success"])).await.unwrap();
    let disable = EndpointChange::Disable { reason: "it is moved".to_owned() };
    desk.ask(change(endpoint_id(2), disable)).await.unwrap();
    for change in changes() {
        desk.ask(requests::register("ops", change)).await.unwrap();
    }
    for (number, _) in (0..).zip(NAMES_OF_WORDS) {
        desk.ask(requests::payin(payin(number, 1, 100))).await.unwrap();
    }
    desk.ask(requests::payin(payin(0, 4, 100))).await.unwrap();
    for words in ["one", "two", "three"] {
        let actor = (words == "two").then_some("ops");
        let body = requests::create_payout(key(words), new_payout("m1", "10"), actor);
        desk.ask(body).await.unwrap();
    }
    let sent = desk.commit(requests::wake(&submit_lane("wallet"), 1)).await;
    let call = planned(&sent).0[0];
    let outcome = Outcome::Paid { provider_reference: Some("px-1".to_owned()) };
    let event = Event::Submitted { attempt: call.attempt, r#try: 1, outcome };
    desk.ask(requests::payout_outcome(call.flow, event)).await.unwrap();
    let fourth = requests::create_payout(key("four"), new_payout("m1", "10"), None);
    let flows = written(&desk.commit(fourth).await);
    let (flow, ..) = flows.iter().find(|(_, kind, ..)| *kind == "payout").unwrap();
    let id = PayoutId::from_uuid(flow.uuid());
    let cancellation = Cancellation { id, expected_version: Some(1), actor: "m1".to_owned() };
    desk.ask(requests::cancel_payout(key("five"), cancellation)).await.unwrap();
    for body in switches() {
        desk.ask(body).await.unwrap();
    }
    desk.ask(requests::deliver(1, true)).await.unwrap();
}

fn changes() -> [Change; 5] {
    let text = |text: &str| text.to_owned();
    let details = new_payout("", "").beneficiary;
    let digest = [7; 32];
    let (role, merchant) = (Role::Merchant, Some(text("m1")));
    [
        Change::AddBeneficiary { merchant: text("m1"), details },
        Change::IssueKey { name: text("till 7"), role, merchant, digest },
        Change::RevokeKey { id: bursar_core::registry::ApiKey::id_of(&digest).to_string() },
        Change::SetAlert { name: text("stuck"), is_raised: true, detail: text("1 payout") },
        Change::SetAlert { name: text("stuck"), is_raised: false, detail: String::new() },
    ]
}

fn switches() -> [Body; 3] {
    let text = |text: &str| text.to_owned();
    let throw = |scope: &Scope, actor: &str, turn| {
        let (scope, actor) = (scope.clone(), text(actor));
        requests::switch(Switch { scope, actor, is_approver: true, turn })
    };
    let (merchant, channel) = (Scope::Merchant(text("m9")), Scope::Channel(text("bank")));
    let freeze = || Turned::Freeze { reason: text("a leak") };
    [
        throw(&merchant, "ops1", freeze()),
        throw(&channel, "ops1", freeze()),
        throw(&channel, "ops2", Turned::Unfreeze { reason: text("mended") }),
    ]
}
