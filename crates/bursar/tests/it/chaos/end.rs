//! How a run ends: everything comes to rest, and the provider's books, ours and what was promised are held against each
//! other.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::{Duration, Instant};

use super::house::House;
use super::world::{Statuses, World, counts, minor, references};

const LIVE: [&str; 5] = ["SCHEDULED", "READY", "SUBMITTING", "UNCONFIRMED", "PROCESSING"];

/// How long it may take until nothing is left to be done.
pub(super) const REST: Duration = Duration::from_mins(15);

/// The provider heals, every question is answered, and a person looks into its books for what nobody could answer.
pub(super) fn comes_to_rest(world: &World, house: &mut House) {
    world.ask_provider("POST", "/_profile", r#"{"profile":"calm"}"#);
    let started = Instant::now();
    let stuck = loop {
        house.assert_all_live();
        let mut statuses = world.statuses();
        if references(&statuses, &LIVE).is_empty() {
            break statuses.remove("STUCK").unwrap_or_default();
        }
        let counts = counts(&statuses);
        assert!(started.elapsed() < REST, "it does not come to rest: {counts}");
        thread::sleep(Duration::from_millis(500));
    };
    let books = world.books();
    for payout in stuck {
        let id = &payout.id;
        // Lost on its way, or killed between saving and sending: the provider never saw it, and only a person can
        // rule that.
        assert!(!books.contains_key(&payout.reference), "{payout:?} is stuck without a cause");
        let body = format!(
            r#"{{"decision":"confirm_not_paid","evidence":"not in the provider's books","expected_version":{}}}"#,
            payout.version
        );
        let key = format!("resolve-{id}");
        let path = format!("/v1/payouts/{id}/resolve");
        world.insist(0, "POST", &path, &[("idempotency-key", &key)], &body);
    }
}

/// The provider's books and ours are the same to the last payment, and everybody has what was promised.
pub(super) fn agrees_in_the_end(world: &World) {
    let statuses = world.statuses();
    let counts = counts(&statuses);
    println!("{counts}");
    let promised = world.promised.lock().unwrap();
    let ids: BTreeSet<&String> = statuses.values().flatten().map(|payout| &payout.id).collect();
    let answered: BTreeSet<&String> = promised.payouts.keys().collect();
    assert_eq!(ids, answered, "every key has one payout: {counts}");
    let settled = references(&statuses, &["SUCCESS", "LATE_SUCCESS"]);
    assert_eq!(settled, world.paid(), "books = settled: {counts}");
    assert!(statuses.len() > 1, "some fail: {counts}");
    let mut expected = promised.collected.clone();
    for id in settled_ids(&statuses) {
        let (merchant, cost) = &promised.payouts[id];
        *expected.entry(merchant.clone()).or_default() -= cost;
    }
    assert_eq!(balances(world, expected.keys()), expected, "every merchant has what is its own");
    let trial = world.get("/v1/ledger/trial-balance");
    assert_eq!(trial["is_balanced"], true);
    let verified = world.get("/v1/ledger/verify");
    assert_eq!(verified["ok"], true, "{verified}");
}

fn settled_ids(statuses: &Statuses) -> impl Iterator<Item = &String> {
    let settled = ["SUCCESS", "LATE_SUCCESS"].into_iter().filter_map(|status| statuses.get(status));
    settled.flatten().map(|payout| &payout.id)
}

/// What each merchant has, with nothing put aside.
fn balances<'m>(
    world: &World,
    merchants: impl Iterator<Item = &'m String>,
) -> BTreeMap<String, i64> {
    let balance = |merchant: &String| {
        let balances = world.get(&format!("/v1/merchants/{merchant}/balances"));
        let balance = &balances["balances"][0];
        assert_eq!(minor(&balance["held"]), 0, "{balances}");
        (merchant.clone(), minor(&balance["available"]))
    };
    merchants.map(balance).collect()
}
