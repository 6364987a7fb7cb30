//! Rates, lanes, what a commit changes about a queue, and how one claim is shared.

mod fairness;
mod model;

use jiff::SignedDuration;
use proptest::prelude::*;

use self::model::{claim, key, position, queue, take};
use super::{
    Head, Queue, QueueKey, QueueWrite, Rank, Rate, TurnChange, Turns, group_parts, is_group, shares,
};

#[test]
fn rates_are_numbers_with_three_decimals() {
    for (text, milli, printed) in [
        ("0.001", 1, "0.001"),
        ("0.1", 100, "0.1"),
        ("1", 1_000, "1"),
        ("1.0", 1_000, "1"),
        ("007.250", 7_250, "7.25"),
        ("100000", 100_000_000, "100000"),
        ("100000.000", 100_000_000, "100000"),
    ] {
        let rate: Rate = text.parse().unwrap();
        assert_eq!((rate.milli(), rate.to_string().as_str()), (milli, printed), "{text}");
    }
    for text in [
        "",
        ".",
        ".5",
        "0",
        "0.000",
        "0.0001",
        "1.0000",
        "100000.001",
        "100001",
        "-1",
        "+1",
        " 1",
        "1 ",
        "1e3",
        "1,5",
        "1.2.3",
        "4294967296",
        "99999999999999999999",
        "NaN",
        "inf",
        "١",
    ] {
        assert!(text.parse::<Rate>().is_err(), "{text}");
    }
}

/// A number in JSON has the same bounds as the text.
#[test]
fn rates_in_json_are_numbers_or_texts() {
    let read = |json: &str| serde_json::from_str::<Rate>(json).ok();
    for json in ["0.25", "\"0.25\"", "0.250"] {
        assert_eq!(read(json), Some(Rate::from_milli(250)), "{json}");
    }
    assert_eq!(read("5.0"), Some(Rate::from_milli(5_000)));
    for json in ["0", "-1", "0.0001", "1e-9", "1e6", "100001", "18446744073709551615", "null"] {
        assert_eq!(read(json), None, "{json}");
    }
    assert_eq!(serde_json::to_string(&Rate::from_milli(250)).unwrap(), "0.25");
    assert_eq!(serde_json::to_string(&Rate::from_milli(4_000)).unwrap(), "4");
}

#[test]
fn lanes_of_queues_are_read_back() {
    for rank in Rank::ALL {
        let key = key("m1", rank);
        assert_eq!(key.to_string(), format!("submit:payout:wallet:{}:m1", rank.number()));
        assert_eq!(QueueKey::parse(&key.to_string()), Some(key.clone()));
        assert_eq!(group_parts(&key.group), Some(("payout", "wallet")));
        assert!(is_group(&key.group) && !is_group(&key.to_string()), "{key}");
    }
    for lane in [
        "payout",
        "lease:wallet",
        "submit:payout:wallet",
        "submit:payout:wallet:4:m1",
        "submit:payout:wallet:-1:m1",
        "submit:payout:wallet::m1",
        "submit:payout:wallet:x:m1",
        "resubmit:payout:wallet:1:m1",
        "",
    ] {
        assert_eq!(QueueKey::parse(lane).map(|key| key.to_string()), None, "{lane}");
    }
}

/// The queue after a change, at second 100.
fn after(write: &QueueWrite, before: Option<&Queue>, first: i64) -> Option<Queue> {
    write.after(before, Some(position(first, 1)), position(100, 0).0)
}

fn change(added: i64, turn: TurnChange) -> QueueWrite {
    QueueWrite { added, turn, ..QueueWrite::unchanged(key("m1", Rank::Interactive)) }
}

#[test]
fn a_queue_exists_while_something_waits() {
    let stays = |added| change(added, TurnChange::Stays);
    let two = queue(2, Some(7));
    assert_eq!(after(&stays(0), None, 50), None, "nothing came");
    assert_eq!(after(&stays(-2), Some(&two), 50), None);
    let lost = stays(1).after(Some(&two), None, position(100, 0).0).unwrap();
    assert_eq!((lost.waiting, lost.first), (3, two.first), "no due row is there: it is kept");
    let new = after(&stays(3), None, 50).unwrap();
    assert_eq!((new.waiting, new.first, new.pass), (3, position(50, 1), None));
    assert_eq!((new.weight, new.limit), (100, None), "no record of the merchant was read");
    let less = after(&stays(-1), Some(&two), 60).unwrap();
    assert_eq!((less.waiting, less.first, less.pass), (1, position(60, 1), Some(7)));
}

#[test]
fn a_queue_is_asleep_until_its_first_flow_is_due() {
    let awake = queue(2, Some(7));
    let pass =
        |turn, before: &Queue, first| after(&change(0, turn), Some(before), first).unwrap().pass;
    assert_eq!(pass(TurnChange::Stays, &awake, 100), Some(7), "due at this moment");
    assert_eq!(pass(TurnChange::Stays, &awake, 101), None, "its next flow is not due");
    assert_eq!(pass(TurnChange::Joins(9), &queue(2, None), 50), Some(9));
    assert_eq!(pass(TurnChange::Joins(9), &queue(2, None), 101), None);
    assert_eq!(pass(TurnChange::Joins(3), &awake, 50), Some(7), "another process has woken it");
    assert_eq!(pass(TurnChange::Leaves, &awake, 50), None);
    let now = position(100, 0).0;
    let until = now + SignedDuration::from_secs(5);
    let parked = after(&change(0, TurnChange::Parks(until)), Some(&awake), 50).unwrap();
    assert_eq!((parked.parked_until, parked.pass), (Some(until), None));
    assert_eq!(parked.ready_at(), until);
    assert_eq!(pass(TurnChange::Joins(9), &parked, 50), None, "it is parked");
    let still = after(&change(1, TurnChange::Stays), Some(&parked), 50).unwrap();
    assert_eq!(still.parked_until, Some(until));
    let later = change(1, TurnChange::Joins(9)).after(Some(&parked), Some(position(50, 1)), until);
    let later = later.unwrap();
    assert_eq!((later.parked_until, later.pass), (None, Some(9)), "the time is over");
}

#[test]
fn the_share_of_the_merchant_is_kept_until_its_record_is_read() {
    let rate = Some(Rate::from_milli(5));
    let before = Queue { weight: 7, limit: rate, ..queue(1, Some(3)) };
    let mut write = change(1, TurnChange::Stays);
    let kept = after(&write, Some(&before), 50).unwrap();
    assert_eq!((kept.weight, kept.limit), (7, rate));
    write.share = Some((9, None));
    let read = after(&write, Some(&before), 50).unwrap();
    assert_eq!((read.weight, read.limit), (9, None), "a limit that was removed is removed");
}

#[test]
fn the_first_flow_is_looked_for_from_the_earliest_place() {
    let mut write = change(0, TurnChange::Stays);
    assert_eq!(write.from(None), None);
    let known = Queue { first: position(20, 2), ..queue(1, None) };
    assert_eq!(write.from(Some(&known)), Some(position(20, 2)));
    write.earliest = Some(position(20, 1));
    assert_eq!(write.from(Some(&known)), Some(position(20, 1)));
    write.earliest = Some(position(21, 1));
    assert_eq!(write.from(Some(&known)), Some(position(20, 2)));
    assert_eq!(write.from(None), Some(position(21, 1)));
}

/// A head of one of few merchants, each with one weight. Turns may be equal.
fn heads() -> impl Strategy<Value = Vec<Head>> {
    let pass = prop::option::of(prop::sample::select(vec![0_i64, 1, 10_000, 50_000, 9_000_000]));
    let heads = prop::collection::vec((1..200_i64, pass, 0..4_usize), 0..24);
    heads.prop_map(|queues| {
        let queues = queues.into_iter().enumerate();
        let heads = queues.map(|(place, (waiting, pass, rank))| {
            let key = key(&format!("m{place}"), Rank::ALL[rank]);
            Head { key, queue: queue_of(waiting, pass, place) }
        });
        heads.collect()
    })
}

fn queue_of(waiting: i64, pass: Option<i64>, place: usize) -> Queue {
    let weight = [100, 100, 1, 300, 0, u32::MAX][place % 6];
    Queue { weight, ..queue(waiting, pass) }
}

proptest! {
    #[test]
    fn every_rate_is_read_back(milli in 1..=100_000_000_u32) {
        let rate = Rate::from_milli(milli);
        prop_assert_eq!(rate.to_string().parse::<Rate>(), Ok(rate));
        let json = serde_json::to_string(&rate).unwrap();
        prop_assert_eq!(serde_json::from_str::<Rate>(&json).unwrap(), rate);
        // So many intervals do not fit into less than a thousand seconds.
        let span = rate.interval().as_nanos() * i128::from(milli);
        prop_assert!(span >= 1_000_000_000_000);
        prop_assert!(rate.interval() >= Rate::MAX.interval());
    }

    /// A claim reads what it needs, and no more: all that waits, or as much as it may.
    #[test]
    fn shares_add_up(heads in heads(), limit in 0..300_u32, served in any::<u32>()) {
        let shares = shares(&heads, &claim(limit, u64::from(served)), &[]);
        prop_assert_eq!(shares.len(), heads.len());
        let total: i64 = heads.iter().map(|head| head.queue.waiting).sum();
        let sum: i64 = shares.iter().map(|share| i64::from(*share)).sum();
        prop_assert_eq!(sum, total.min(i64::from(limit)));
        for (head, share) in heads.iter().zip(&shares) {
            prop_assert!(i64::from(*share) <= head.queue.waiting);
        }
    }

    /// What is read is what is taken, if all of it is due.
    #[test]
    fn a_claim_takes_its_shares(heads in heads(), limit in 0..300_u32, served in any::<u32>()) {
        let shares = shares(&heads, &claim(limit, u64::from(served)), &[]);
        let mut due = Vec::new();
        for (place, (head, share)) in heads.iter().zip(&shares).enumerate() {
            for number in 0..*share {
                let id = u128::try_from(place).unwrap() * 1_000 + u128::from(number);
                due.push((head.key.clone(), position(i64::from(number), id)));
            }
        }
        let mut turns = Turns::new(heads, |_| false);
        let taken = take(&mut turns, due.clone(), u64::from(served), usize::try_from(limit).unwrap());
        prop_assert_eq!(taken.len(), due.len());
    }

    #[test]
    fn equal_merchants_get_equal_shares(count in 1..20_u32, limit in 0..400_u32, pass in any::<i32>()) {
        let head = |number| Head {
            key: key(&format!("m{number}"), Rank::Bulk),
            queue: queue(1_000, Some(i64::from(pass))),
        };
        let heads: Vec<Head> = (0..count).map(head).collect();
        let shares = shares(&heads, &claim(limit, 0), &[]);
        let (least, most) = (shares.iter().min().unwrap(), shares.iter().max().unwrap());
        prop_assert!(most - least <= 1, "{:?}", shares);
    }
}

/// The greatest turn does not overflow.
#[test]
fn turns_stay_at_the_greatest() {
    let heads = [Head { key: key("m1", Rank::Bulk), queue: queue(9, Some(i64::MAX)) }];
    assert_eq!(shares(&heads, &claim(5, 0), &[]), [5]);
    assert_eq!(shares(&[], &claim(5, 0), &[]), Vec::<u32>::new());
}

/// Queues wake when something is taken: a claim without flows saves nothing.
#[test]
fn a_claim_that_takes_nothing_changes_nothing() {
    let heads = vec![
        Head { key: key("m1", Rank::Bulk), queue: queue(9, None) },
        Head { key: key("m2", Rank::Bulk), queue: queue(9, Some(5)) },
    ];
    let mut turns = Turns::new(heads.clone(), |_| false);
    assert_eq!((take(&mut turns, vec![], 0, 10), turns.has_sleepers()), (vec![], false));
    assert_eq!(turns.into_changes("g"), (vec![], vec![]));
    let frozen = Turns::new(heads, |_| true);
    assert!(frozen.has_sleepers());
    let left = vec![(key("m2", Rank::Bulk), TurnChange::Leaves)];
    assert_eq!(frozen.into_changes("g"), (left, vec![]), "the other is asleep already");
}

#[test]
fn a_claim_looks_at_few_queues_of_each_rank() {
    let heads = [0, 1, 64, 79, 80, 1_024, u32::MAX].map(|limit| claim(limit, 0).heads());
    assert_eq!(heads, [4, 4, 64, 64, 64, 64, 64]);
}
