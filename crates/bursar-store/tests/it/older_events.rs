//! Events of earlier versions have fewer fields than the current view: verification compares the fields that an event has.

use bursar_core::payins::ProviderStatus;
use bursar_core::rules::Rules;
use bursar_core::turn::{Link, SavedCommit, chain};
use bursar_store::{Memory, Query as _, Walk as _};

use crate::adapter::requests;
use crate::desk::Desk;
use crate::payout_steps::payin;
use crate::workload::{block_on, rules};

/// The differences that verification finds after the last event of a pay-in is edited and the chain is recomputed.
async fn differences(rules: &Rules, edit: impl Fn(&str) -> String) -> Vec<String> {
    let mut desk = Desk::new(rules, Memory::default(), 0);
    desk.open_merchant().await;
    let statuses = ProviderStatus::ALL.len();
    for number in 0..u8::try_from(statuses).unwrap() {
        desk.accepted(requests::payin(payin(number, 1, 100))).await;
    }
    let mut history = desk.store.history(0, u32::MAX).await.unwrap();
    let event = history.last_mut().unwrap().events.last_mut().unwrap();
    let edited = edit(&event.data);
    event.data = edited;
    relink(&mut history);
    desk.store.overwrite_history(history);
    desk.store.verify(&rules.rulebook).await.unwrap().differences
}

/// Recomputes the hash chain.
fn relink(history: &mut [SavedCommit]) {
    let mut last = [0; 32];
    for commit in history {
        let digests = commit.appended().digests();
        commit.link = Link::new(digests);
        commit.hash = chain(last, commit.time, &digests);
        last = commit.hash;
    }
}

/// The event without this field.
fn without(data: &str, field: &str) -> String {
    let mut event: serde_json::Map<String, serde_json::Value> = serde_json::from_str(data).unwrap();
    event.shift_remove(field).unwrap();
    serde_json::to_string(&event).unwrap()
}

/// The event with another value in this field.
fn with(data: &str, field: &str, value: &str) -> String {
    let mut event: serde_json::Map<String, serde_json::Value> = serde_json::from_str(data).unwrap();
    event.insert(field.to_owned(), value.into());
    serde_json::to_string(&event).unwrap()
}

#[test]
fn an_event_without_a_later_field_is_no_difference() {
    let rules = rules();
    block_on(async {
        assert_eq!(differences(&rules, str::to_owned).await, Vec::<String>::new());
        for field in ["net", "fee", "vat", "provider", "reference"] {
            let found = differences(&rules, |data| without(data, field)).await;
            assert_eq!(found, Vec::<String>::new(), "{field}");
        }
        let found =
            differences(&rules, |data| with(data, "note", "a field of a later version")).await;
        assert_eq!(found, Vec::<String>::new());
    });
}

#[test]
fn an_event_with_another_fact_is_a_difference() {
    let rules = rules();
    block_on(async {
        let facts = ["kind", "id", "status", "merchant_id", "amount", "currency"];
        for field in facts.into_iter().chain(["net", "fee", "reference"]) {
            let found = differences(&rules, |data| with(data, field, "other")).await;
            assert_eq!(found.len(), 1, "{field}: {found:?}");
        }
        for field in facts {
            let found = differences(&rules, |data| without(data, field)).await;
            assert_eq!(found.len(), 1, "without {field}: {found:?}");
        }
        let found = differences(&rules, |_| "not JSON".to_owned()).await;
        assert_eq!(found.len(), 1, "{found:?}");
    });
}
