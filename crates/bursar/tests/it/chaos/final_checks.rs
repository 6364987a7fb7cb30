//! The end of a run: drains all flows, then compares the provider's books, the ledger and the acknowledged requests.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use super::load::{Accepted, Load, Statuses, counts, minor, references};
use super::processes::Processes;

const LIVE: [&str; 5] = ["SCHEDULED", "READY", "SUBMITTING", "UNCONFIRMED", "PROCESSING"];

/// How long draining may take.
pub(super) const REST: Duration = Duration::from_mins(15);

/// The provider becomes calm, flows end, and an operator resolves stuck payouts from the provider's books.
pub(super) fn drain_and_resolve(load: &Load, processes: &mut Processes) {
    load.call_provider("POST", "/_profile", r#"{"profile":"calm"}"#);
    let started = Instant::now();
    let stuck = loop {
        processes.assert_all_live();
        let mut statuses = load.statuses();
        if references(&statuses, &LIVE).is_empty() {
            break statuses.remove("STUCK").unwrap_or_default();
        }
        let counts = counts(&statuses);
        assert!(started.elapsed() < REST, "it does not come to rest: {counts}");
        thread::sleep(Duration::from_millis(500));
    };
    let books = load.books();
    for payout in stuck {
        let id = &payout.id;
        // Lost in transit, or killed between saving and sending: the provider never received it, and only an operator can
        // decide that.
        assert!(!books.contains_key(&payout.reference), "{payout:?} is stuck without a cause");
        resolve(load, id);
    }
}

/// An operator decides; above the limit an approver must agree.
fn resolve(load: &Load, id: &str) {
    for (name, by) in [("first", &load.staff.operator), ("second", &load.staff.approver)] {
        let payout = load.get(&format!("/v1/payouts/{id}"));
        if payout["status"] != "STUCK" {
            return;
        }
        let body = json!({
            "decision": "confirm_not_paid", "evidence": "not in the provider's books",
            "expected_version": payout["version"],
        });
        let (key, path) = (format!("{name}-{id}"), format!("/v1/payouts/{id}/resolve"));
        let headers = [("idempotency-key", key.as_str())];
        let answer = load.ask_until_answered(by, 0, ("POST", &path), &headers, &body.to_string());
        assert!(answer.status < 300, "{answer:?}");
    }
}

/// The provider's books equal the ledger, and every merchant has its acknowledged balance.
pub(super) fn assert_books_agree(load: &Load) {
    let statuses = load.statuses();
    let counts = counts(&statuses);
    println!("{counts}");
    let acknowledged = load.acknowledged.lock().unwrap();
    let ids: BTreeSet<&String> = statuses.values().flatten().map(|payout| &payout.id).collect();
    let accepted: BTreeMap<&String, &Accepted> =
        acknowledged.payouts.values().map(|accepted| (&accepted.id, accepted)).collect();
    let answered: BTreeSet<&String> = accepted.keys().copied().collect();
    assert_eq!(ids, answered, "every key has one payout: {counts}");
    let settled = references(&statuses, &["SUCCESS", "LATE_SUCCESS"]);
    assert_eq!(settled, load.paid(), "books = settled: {counts}");
    assert!(statuses.len() > 1, "some fail: {counts}");
    let mut expected = BTreeMap::<String, i64>::new();
    for (merchant, net) in acknowledged.payins.values() {
        *expected.entry(merchant.clone()).or_default() += net;
    }
    for id in settled_ids(&statuses) {
        let Accepted { merchant, cost, .. } = accepted[id];
        *expected.entry(merchant.clone()).or_default() -= cost;
    }
    assert_eq!(
        balances(load, expected.keys()),
        expected,
        "every merchant has its expected balance"
    );
    let trial = load.get("/v1/ledger/trial-balance");
    assert_eq!(trial["is_balanced"], true);
    let verified = load.get("/v1/ledger/verify");
    assert_eq!(verified["ok"], true, "{verified}");
}

fn settled_ids(statuses: &Statuses) -> impl Iterator<Item = &String> {
    let settled = ["SUCCESS", "LATE_SUCCESS"].into_iter().filter_map(|status| statuses.get(status));
    settled.flatten().map(|payout| &payout.id)
}

/// The available balance of each merchant; nothing may be held.
fn balances<'m>(load: &Load, merchants: impl Iterator<Item = &'m String>) -> BTreeMap<String, i64> {
    let balance = |merchant: &String| {
        let balances = load.get(&format!("/v1/merchants/{merchant}/balances"));
        let balance = &balances["balances"][0];
        assert_eq!(minor(&balance["held"]), 0, "{balances}");
        (merchant.clone(), minor(&balance["available"]))
    };
    merchants.map(balance).collect()
}
