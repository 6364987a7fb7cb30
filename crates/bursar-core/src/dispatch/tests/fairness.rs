//! Who is sent next over many claims.

use std::collections::BTreeMap;

use jiff::SignedDuration;

use super::model::{Model, claim, key, queue};
use crate::dispatch::{Head, Rank, shares};

/// How many of each merchant.
fn by_merchant(taken: &[(String, Rank)]) -> BTreeMap<&str, u32> {
    let mut counts = BTreeMap::new();
    for (merchant, _) in taken {
        *counts.entry(merchant.as_str()).or_default() += 1;
    }
    counts
}

/// Asserts that a count is near what is expected.
fn assert_near(count: u32, expected: u32, by: u32) {
    assert!(count.abs_diff(expected) <= by, "{count} of {expected}");
}

#[test]
fn weights_are_shares() {
    for limit in [1, 7, 64] {
        let mut model = Model::new();
        model.weigh("a", 100);
        model.weigh("b", 300);
        model.add("a", Rank::Interactive, 5_000);
        model.add("b", Rank::Interactive, 5_000);
        let mut taken = Vec::new();
        while taken.len() < 2_000 {
            taken.extend(model.claim(limit));
        }
        let counts = by_merchant(&taken);
        assert_near(counts["b"], counts["a"] * 3, 4);
    }
}

/// More merchants than a claim looks at.
#[test]
fn many_merchants_share_equally() {
    for limit in [1, 10, 100] {
        let mut model = Model::new();
        let names: Vec<String> = (0..30).map(|number| format!("m{number}")).collect();
        for name in &names {
            model.add(name, Rank::Interactive, 300);
        }
        let mut taken = Vec::new();
        while taken.len() < 3_000 {
            taken.extend(model.claim(limit));
        }
        let counts = by_merchant(&taken);
        for name in &names {
            assert_near(counts[name.as_str()], 100, limit.max(4));
        }
    }
}

#[test]
fn a_newcomer_does_not_wait_for_a_long_queue() {
    let mut heads = vec![
        Head { key: key("big", Rank::Interactive), queue: queue(900_000, Some(77_000_000)) },
        Head { key: key("new", Rank::Interactive), queue: queue(3, None) },
    ];
    assert_eq!(shares(&heads, &claim(64, 0), &[]), [61, 3]);
    assert_eq!(shares(&heads, &claim(4, 0), &[]), [2, 2]);
    heads[1].queue.waiting = 900_000;
    assert_eq!(shares(&heads, &claim(64, 0), &[]), [32, 32]);

    let mut model = Model::new();
    model.add("big", Rank::Interactive, 20_000);
    for _ in 0..50 {
        assert_eq!(model.claim(64).len(), 64);
    }
    model.add("new", Rank::Interactive, 3);
    let taken = model.claim(64);
    assert_eq!(by_merchant(&taken)["new"], 3);
    assert!(taken[..7].iter().filter(|(merchant, _)| merchant == "new").count() == 3, "{taken:?}");
}

/// A newcomer owes nothing, and has nothing to its credit: it does not hold up the others.
#[test]
fn a_newcomer_shares_from_its_first_flow_on() {
    let mut model = Model::new();
    model.add("big", Rank::Interactive, 2_000);
    model.singles(500);
    model.add("new", Rank::Interactive, 2_000);
    let counts = model.singles(100);
    assert_near(counts[&("new".to_owned(), Rank::Interactive)], 50, 1);
}

#[test]
fn what_was_sent_before_all_were_asleep_is_forgotten() {
    let mut model = Model::new();
    let later = model.now + SignedDuration::from_hours(1);
    model.add("old", Rank::Scheduled, 3);
    model.claim(1);
    model.charge("old", 10_000_000 * 10_000);
    model.add_at("old", Rank::Scheduled, 500, later);
    model.add_at("new", Rank::Scheduled, 500, later);
    assert_eq!(by_merchant(&model.claim(64)), BTreeMap::from([("old", 2)]));
    assert!(model.queues.values().all(|queue| queue.pass.is_none()), "all are asleep");
    assert_eq!(model.claim(64), [], "none is due");
    model.now = later;
    assert_eq!(by_merchant(&model.claim(64)), BTreeMap::from([("new", 32), ("old", 32)]));
    let counts = model.singles(100);
    assert_near(counts[&("new".to_owned(), Rank::Scheduled)], 50, 1);
}

/// One merchant always has one flow, the other always has many.
#[test]
fn single_flows_and_a_backlog_take_turns() {
    for (single, backlog) in [("a", "b"), ("b", "a")] {
        let mut model = Model::new();
        model.add(backlog, Rank::Interactive, 1_000);
        let mut counts: BTreeMap<String, u32> = BTreeMap::new();
        for _ in 0..400 {
            if model.waiting(single, Rank::Interactive) == 0 {
                model.add(single, Rank::Interactive, 1);
            }
            for (merchant, _) in model.claim(1) {
                *counts.entry(merchant).or_default() += 1;
            }
        }
        assert_near(counts[single], 200, 1);
        assert_near(counts[backlog], 200, 1);
    }
}

/// Ranks with many flows each: the first gets all but the floors of the others.
#[test]
fn each_lower_rank_gets_one_of_twenty() {
    for limit in [1, 3, 20, 64] {
        let mut model = Model::new();
        for (rank, merchant) in Rank::ALL.into_iter().zip(["a", "b", "c", "d"]) {
            model.add(merchant, rank, 3_000);
        }
        let mut taken = Vec::new();
        while taken.len() < 2_000 {
            taken.extend(model.claim(limit));
        }
        for twenty in taken.chunks_exact(20) {
            let counts = by_merchant(twenty);
            assert_eq!(counts, BTreeMap::from([("a", 17), ("b", 1), ("c", 1), ("d", 1)]));
        }
    }
}

#[test]
fn a_rank_without_flows_gives_its_floor_to_the_first() {
    let mut model = Model::new();
    model.add("a", Rank::Interactive, 300);
    model.add("b", Rank::Bulk, 300);
    for twenty in model_claims(&mut model, 10).chunks_exact(20) {
        assert_eq!(by_merchant(twenty), BTreeMap::from([("a", 19), ("b", 1)]));
    }
    let mut model = Model::new();
    model.add("b", Rank::Bulk, 300);
    assert_eq!(model.claim(40).len(), 40, "a rank that is alone gets everything");
}

fn model_claims(model: &mut Model, count: u32) -> Vec<(String, Rank)> {
    (0..count).flat_map(|_| model.claim(20)).collect()
}

/// A merchant has one share for all its ranks.
#[test]
fn what_a_merchant_sends_alone_is_charged_to_its_batch() {
    let mut model = Model::new();
    model.add("a", Rank::Bulk, 2_000);
    model.add("b", Rank::Bulk, 2_000);
    model.add("a", Rank::Interactive, 100);
    // Nothing but floors is left for the batches meanwhile.
    let counts = model.singles(105);
    assert_eq!(counts[&("a".to_owned(), Rank::Interactive)], 100);
    let counts = model.singles(195);
    let batch = |merchant: &str| counts.get(&(merchant.to_owned(), Rank::Bulk)).copied();
    let (of_a, of_b) = (batch("a").unwrap_or_default(), batch("b").unwrap());
    // 300 in all, 150 for each.
    assert_near(of_a, 50, 5);
    assert_near(of_b, 145, 5);
}

/// Also within one claim.
#[test]
fn a_claim_charges_all_ranks_of_a_merchant() {
    let mut model = Model::new();
    model.add("a", Rank::Interactive, 100);
    model.add("a", Rank::Bulk, 100);
    model.add("b", Rank::Bulk, 100);
    let taken = model.claim(60);
    let batch: Vec<&(String, Rank)> =
        taken.iter().filter(|(_, rank)| *rank == Rank::Bulk).collect();
    assert_eq!(batch.len(), 3);
    assert!(batch.iter().all(|(merchant, _)| merchant == "b"), "{batch:?}");
}

#[test]
fn a_frozen_merchant_is_passed_over() {
    let mut model = Model::new();
    for merchant in ["a", "b", "c"] {
        model.add(merchant, Rank::Interactive, 200);
    }
    model.claim(30);
    model.frozen.insert("b".to_owned());
    model.claim(30);
    assert_eq!(model.queues[&key("b", Rank::Interactive)].pass, None);
    assert_eq!(by_merchant(&model.claim(30)), BTreeMap::from([("a", 15), ("c", 15)]));
    model.frozen.clear();
    assert_eq!(by_merchant(&model.claim(30)), BTreeMap::from([("a", 10), ("b", 10), ("c", 10)]));
}

/// All queues that a claim looks at are frozen, and one wakes: it does not go before those that were not looked at.
#[test]
fn a_queue_that_wakes_beside_frozen_ones_has_no_credit() {
    let mut model = Model::new();
    let names = ["a", "b", "c", "d", "e"];
    for name in names {
        model.add(name, Rank::Interactive, 1_000);
    }
    for _ in 0..100 {
        model.claim(20);
    }
    let pass = |model: &Model, name| model.queues[&key(name, Rank::Interactive)].pass;
    let mut awake = names;
    awake.sort_by_key(|name| pass(&model, *name));
    model.frozen = awake[..4].iter().map(|name| (*name).to_owned()).collect();
    model.add("new", Rank::Interactive, 1_000);
    model.claim(20);
    let taken: Vec<_> = (0..10).flat_map(|_| model.claim(20)).collect();
    let counts = by_merchant(&taken);
    let other = counts.get(awake[4]).copied().unwrap_or_default();
    assert_near(other, 100, 20);
}

/// Merchants that always have one flow, more of them than a claim takes: each gets its part, and so does the backlog.
#[test]
fn many_single_flows_do_not_starve_a_backlog() {
    for (singles, limit, fair) in [(1, 1, 500), (2, 1, 333), (5, 1, 166), (12, 3, 76), (40, 4, 24)]
    {
        let mut model = Model::new();
        model.add("backlog", Rank::Interactive, 2_000);
        let names: Vec<String> = (0..singles).map(|number| format!("m{number}")).collect();
        let mut taken = Vec::new();
        while taken.len() < 1_000 {
            for name in &names {
                if model.waiting(name, Rank::Interactive) == 0 {
                    model.add(name, Rank::Interactive, 1);
                }
            }
            taken.extend(model.claim(limit));
        }
        let counts = by_merchant(&taken);
        let found = counts.get("backlog").copied().unwrap_or_default();
        assert!(found * 2 >= fair, "{found} of {fair}, {singles} beside it, claims of {limit}");
        for name in &names {
            assert!(counts[name.as_str()] * 2 >= fair, "{counts:?}");
        }
    }
}

/// A merchant does not get more by sending one flow at a time.
#[test]
fn single_flows_have_the_weight_of_their_merchant() {
    let mut model = Model::new();
    model.weigh("light", 10);
    model.add("heavy", Rank::Interactive, 2_000);
    let mut taken = Vec::new();
    while taken.len() < 1_100 {
        if model.waiting("light", Rank::Interactive) == 0 {
            model.add("light", Rank::Interactive, 1);
        }
        taken.extend(model.claim(1));
    }
    assert_near(by_merchant(&taken)["light"], 100, 10);
}
