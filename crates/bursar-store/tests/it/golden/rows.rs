//! A whole database: the rows that a fixed scenario stores in SQLite, with events, audit entries and freezes.
//!
//! The scenario writes `database.jsonl`. Another test loads that file into an empty database, verifies and lists it, and
//! continues from it: this is how a new version uses a database of an earlier one.

use bursar_core::four_eyes::Signature;
use bursar_core::freezes::{FreezeAction, FreezeChange, Scope};
use bursar_core::ids::PayoutId;
use bursar_core::payouts::{Cancellation, Event, Outcome, submit_lane};
use bursar_core::registry::{Change, Role};
use bursar_core::turn::Body;
use bursar_core::webhooks::EndpointChange;
use bursar_store::{Browse as _, FlowFilter, Query as _, Sqlite};

use crate::adapter::text::{planned, written};
use crate::adapter::{assert_golden, golden, lines, requests};
use crate::desk::Desk;
use crate::endpoints::{add, change, endpoint_id};
use crate::payout_steps::{PROVIDER_NAMES, new_payout, payin};
use crate::payouts::key;
use crate::raw::{TABLES, restore, rows};
use crate::scratch::Scratch;
use crate::workload::{block_on, rules};

const DATABASE: &str = "golden/database.jsonl";

fn texts(scratch: &Scratch) -> String {
    lines(TABLES.iter().flat_map(|table| rows(scratch.path(), *table)))
}

#[test]
fn a_fixed_scenario_stores_the_same_rows() {
    let scratch = Scratch::new();
    let rules = rules();
    block_on(async {
        let mut desk = Desk::new(&rules, Sqlite::open(scratch.path()).unwrap(), 0);
        run_scenario(&mut desk).await;
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
fn a_stored_database_can_be_continued() {
    let scratch = Scratch::new();
    let rules = rules();
    // Creates the tables.
    drop(Sqlite::open(scratch.path()).unwrap());
    restore(scratch.path(), &golden(DATABASE));
    assert_eq!(texts(&scratch), golden(DATABASE), "all rows are restored");
    block_on(async {
        let mut desk = Desk::new(&rules, Sqlite::open(scratch.path()).unwrap(), 9);
        desk.assert_sound().await;
        let control = desk.store.control().await.unwrap();
        assert_eq!(control.freezes.len(), 2, "freezes are read");
        for kind in ["payout", "payin", "delivery"] {
            let filter = FlowFilter { kind, ..FlowFilter::default() };
            let page = desk.store.list_flows_desc(&filter, None, 10).await.unwrap();
            assert!(page.flows.len() > 1, "{kind}: flows are listed");
        }
        // The same request under the same key has the same reply, and stored flows proceed.
        let again = requests::create_payout(key("one"), new_payout("m1", "10"), None);
        let commit = desk.commit(again).await;
        assert!(crate::adapter::text::answer(&commit.answers[0]).ends_with(",true]"));
        let claimed = desk.claim(&submit_lane("wallet"), 10).await;
        assert_eq!(claimed.refused, []);
        desk.accepted(requests::start_deliveries(10, true)).await;
        desk.assert_sound().await;
    });
}

/// A merchant with two endpoints is funded, pays and is paid; operators freeze, and one of them proposes to unfreeze.
async fn run_scenario(desk: &mut Desk<'_, Sqlite>) {
    desk.fund().await;
    desk.open_merchant().await;
    desk.ask(add(endpoint_id(1), &["*"])).await.unwrap();
    desk.ask(add(endpoint_id(2), &["payout.success"])).await.unwrap();
    let disable = EndpointChange::Disable { reason: "it is moved".to_owned() };
    desk.ask(change(endpoint_id(2), disable)).await.unwrap();
    for change in changes() {
        desk.accepted(requests::register("ops", change)).await;
    }
    for (number, _) in (0..).zip(PROVIDER_NAMES) {
        desk.accepted(requests::payin(payin(number, 1, 100))).await;
    }
    desk.accepted(requests::payin(payin(0, 4, 100))).await;
    for name in ["one", "two", "three"] {
        let actor = (name == "two").then_some("ops");
        let body = requests::create_payout(key(name), new_payout("m1", "10"), actor);
        desk.accepted(body).await;
    }
    let sent = desk.commit(requests::claim_due(&submit_lane("wallet"), 1)).await;
    let call = planned(&sent).0[0];
    let outcome = Outcome::Paid { provider_reference: Some("px-1".to_owned()), reported: None };
    let event = Event::Submitted { attempt: call.attempt, r#try: 1, outcome };
    desk.accepted(requests::payout_outcome(call.flow, event)).await;
    let fourth = requests::create_payout(key("four"), new_payout("m1", "10"), None);
    let flows = written(&desk.commit(fourth).await);
    let (flow, ..) = flows.iter().find(|(_, kind, ..)| *kind == "payout").unwrap();
    let id = PayoutId::from_uuid(flow.uuid());
    let cancellation = Cancellation { id, expected_version: Some(1), actor: "m1".to_owned() };
    desk.accepted(requests::cancel_payout(key("five"), cancellation)).await;
    for body in freeze_changes() {
        desk.accepted(body).await;
    }
    desk.accepted(requests::start_deliveries(1, true)).await;
}

fn changes() -> [Change; 5] {
    let text = |text: &str| text.to_owned();
    let details = new_payout("", "").beneficiary;
    let digest = [7; 32];
    let (role, merchant) = (Role::Merchant, Some(text("m1")));
    [
        Change::AddBeneficiary { merchant: text("m1"), details },
        Change::IssueKey {
            name: text("till 7"),
            person: text("till 7"),
            role,
            merchant,
            digest,
            made_by: vec![],
            is_setup: false,
        },
        Change::RevokeKey { id: bursar_core::registry::ApiKey::id_of(&digest).to_string() },
        Change::SetAlert { name: text("stuck"), is_raised: true, detail: text("1 payout") },
        Change::SetAlert { name: text("stuck"), is_raised: false, detail: String::new() },
    ]
}

fn freeze_changes() -> [Body; 3] {
    let text = |text: &str| text.to_owned();
    let change = |scope: &Scope, actor: &str, action| {
        let (scope, actor) = (scope.clone(), text(actor));
        let by = Signature::new(&actor, true);
        requests::freeze_change(FreezeChange { scope, by, action })
    };
    let (merchant, channel) = (Scope::Merchant(text("m9")), Scope::Channel(text("bank")));
    let freeze = || FreezeAction::Freeze { reason: text("a leak") };
    [
        change(&merchant, "ops1", freeze()),
        change(&channel, "ops1", freeze()),
        change(&channel, "ops2", FreezeAction::Unfreeze { reason: text("mended") }),
    ]
}
