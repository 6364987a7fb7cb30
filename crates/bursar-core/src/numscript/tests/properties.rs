//! The properties of every program: money is conserved, floors are kept, and no text makes the engine panic.

use std::collections::BTreeMap;

use num_bigint::BigInt;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;

use super::super::portion::{Share, allot};
use super::super::{Mode, Outcome, Portion, check, parse};
use super::model::{Balance, Program, balances, floors, program};
use super::{Features, World, describe, oracle};

fn world(balances: &[Balance]) -> World {
    let mut world = World::empty().with_all();
    for Balance { key: (account, asset, color), amount } in balances {
        world.records.set_balance(account, asset, color, (*amount).into());
    }
    world
}

/// The balances of all accounts afterwards.
fn ends(balances: &[Balance], outcome: &Outcome) -> BTreeMap<(String, String, String), BigInt> {
    let mut ends = BTreeMap::new();
    for Balance { key: (account, asset, color), amount } in balances {
        let key = ((*account).to_owned(), (*asset).to_owned(), (*color).to_owned());
        ends.insert(key, BigInt::from(*amount));
    }
    for posting in &outcome.postings {
        let key = |account: &str| {
            (account.to_owned(), posting.asset.to_string(), posting.color.to_string())
        };
        *ends.entry(key(&posting.source)).or_default() -= posting.amount.to_big();
        *ends.entry(key(&posting.destination)).or_default() += posting.amount.to_big();
    }
    ends
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn money_is_conserved_and_moves_forward(program in program(), balances in balances()) {
        let Ok(outcome) = world(&balances).try_run(&program.to_string()) else { return Ok(()) };
        for posting in &outcome.postings {
            prop_assert!(!posting.amount.is_zero() && !posting.amount.is_negative(), "{posting:?}");
        }
        let mut sums = BTreeMap::<(String, String), BigInt>::new();
        for ((_, asset, color), end) in ends(&balances, &outcome) {
            *sums.entry((asset, color)).or_default() += end;
        }
        for Balance { key: (_, asset, color), amount } in &balances {
            *sums.entry(((*asset).to_owned(), (*color).to_owned())).or_default() -= *amount;
        }
        prop_assert!(sums.values().all(|sum| *sum == BigInt::ZERO), "{sums:?}");
    }

    #[test]
    fn no_account_goes_below_its_floor(program in program(), balances in balances()) {
        let Ok(outcome) = world(&balances).try_run(&program.to_string()) else { return Ok(()) };
        let ends = ends(&balances, &outcome);
        let floors = floors(&program);
        for Balance { key: (account, asset, color), amount } in &balances {
            let Some(allowed) = floors.get(&(*account, *asset, *color)).copied().unwrap_or(Some(0)) else {
                continue;
            };
            let floor = BigInt::from((*amount).min(-allowed));
            let end = &ends[&((*account).to_owned(), (*asset).to_owned(), (*color).to_owned())];
            prop_assert!(*end >= floor, "@{account} {asset} {color} ends at {end}, below {floor}");
        }
    }

    #[test]
    fn a_send_moves_its_amount_and_no_more(program in program(), balances in balances()) {
        let Ok(outcome) = world(&balances).try_run(&program.to_string()) else { return Ok(()) };
        for (asset, sent) in program.sent() {
            let postings = outcome.postings.iter().filter(|posting| &*posting.asset == asset);
            let moved: BigInt = postings.map(|posting| posting.amount.to_big()).sum();
            let Some(sent) = sent else { continue };
            prop_assert!(moved <= BigInt::from(sent), "{moved} of {sent} {asset}");
            if !program.keeps() {
                prop_assert_eq!(moved, BigInt::from(sent));
            }
        }
    }

    #[test]
    fn the_engine_does_what_a_naive_reading_of_the_rules_does(program in program(), balances in balances()) {
        let found = world(&balances).try_run(&program.to_string()).map(|outcome| describe(&outcome));
        let expected = oracle::run(&program, &balances).map(|postings| oracle::describe(&postings));
        prop_assert_eq!(found.ok(), expected);
    }

    #[test]
    fn both_modes_agree_where_upstream_has_no_fault(program in program(), balances in balances()) {
        let world = world(&balances);
        let script = program.without_saves().to_string();
        prop_assert_eq!(world.run(&script), world.clone().mode(Mode::Compat).run(&script));
    }

    #[test]
    fn a_checked_program_has_no_static_error(program in program()) {
        let script = parse(&program.to_string(), Mode::Safe).unwrap();
        let findings = check(&script, Features::ALL, Mode::Safe);
        let surprising = findings.iter().find(|finding| {
            !matches!(
                finding.code,
                "unbounded-in-send-all" | "allotment-in-send-all" | "unreachable-source" | "emptied-account"
            )
        });
        prop_assert!(surprising.is_none(), "{surprising:?}");
    }

    #[test]
    fn a_split_is_the_whole(
        total in 0_i64..=i64::MAX,
        weights in prop::collection::vec(0_u32..1_000, 1..12),
        remaining in any::<prop::sample::Index>(),
    ) {
        let sum = BigInt::from(weights.iter().sum::<u32>().max(1));
        let mut shares: Vec<Share> = weights
            .iter()
            .map(|weight| Share::Portion(Portion::new(BigInt::from(*weight), sum.clone()).unwrap()))
            .collect();
        shares[remaining.index(weights.len())] = Share::Remaining;
        let parts = allot(&total.into(), &shares, Mode::Safe).unwrap();
        prop_assert_eq!(parts.len(), shares.len());
        prop_assert_eq!(parts.iter().map(super::super::amount::Amount::to_big).sum::<BigInt>(), BigInt::from(total));
        for (at, (part, weight)) in parts.iter().zip(&weights).enumerate() {
            if at != remaining.index(weights.len()) {
                let over = part.to_big() * &sum - BigInt::from(total) * *weight;
                prop_assert!(-&sum < over && over <= sum, "no part is more than one unit from its share");
            }
        }
    }

    #[test]
    fn no_text_makes_the_engine_panic(text in any::<String>()) {
        exercise(&text);
    }

    #[test]
    fn no_heap_of_words_makes_the_engine_panic(words in prop::collection::vec(prop::sample::select(WORDS), 0..40)) {
        exercise(&words.join(" "));
    }

    #[test]
    fn no_edit_of_a_good_program_makes_the_engine_panic(text in edited()) {
        exercise(&text);
    }
}

/// Parses, checks, runs and renders the text.
fn exercise(text: &str) -> bool {
    let mut parses = false;
    for mode in [Mode::Safe, Mode::Compat] {
        let world = World::holding("a USD/2 100, b USD/2 -5, a USD 3, c USD/2 7 RED")
            .with_all()
            .mode(mode)
            .metadata("a", "k", "12")
            .given("n", "3")
            .given("m", "USD/2 10")
            .given("who", "a")
            .given("p", "1/3");
        if let Ok(script) = parse(text, mode) {
            parses = true;
            for finding in check(&script, Features::NONE, Mode::Safe) {
                finding.render(text, "a.num");
            }
        }
        if let Err(error) = world.try_run(text) {
            error.render(text, "a.num");
        }
    }
    parses
}

const WORDS: &[&str] = &[
    "send",
    "save",
    "source",
    "destination",
    "=",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    "*",
    "-",
    "+",
    "/",
    "\\",
    ",",
    "from",
    "to",
    "max",
    "remaining",
    "kept",
    "oneof",
    "allowing",
    "unbounded",
    "overdraft",
    "up",
    "with",
    "scaling",
    "through",
    "vars",
    "number",
    "monetary",
    "$n",
    "$m",
    "@a",
    "@b",
    "@world",
    "@a:$n",
    "USD/2",
    "1",
    "1/2",
    "50%",
    "\"RED\"",
    "set_tx_meta",
    "balance",
    "meta",
    "#!",
    "feature",
    "//",
    "/*",
    "*/",
    "\n",
];

const CORPUS: &[&str] = &[
    "send [USD/2 10] ( source = @a destination = @b )",
    "vars { monetary $m account $who } send $m ( source = { $who @world } destination = { 1/2 to @x remaining kept } )",
    "#![feature(\"experimental-oneof\")] send [USD/2 9] ( source = oneof { @b @a allowing overdraft up to [USD/2 5] } destination = oneof { max [USD/2 3] to @x remaining to @y } )",
    "vars { number $n = meta(@a, \"k\") portion $p } send [USD/2 $n] ( source = @world destination = { $p to @x remaining to @y:$n } )",
    "save [USD/2 5] from @a send [USD/2 *] ( source = { max [USD/2 4] from @a @c \\ \"RED\" } destination = @z ) // end\n",
    "set_tx_meta(\"k\", balance(@a, USD/2) - [USD/2 1]) set_account_meta(@a, \"k\", -(1 + 2)) /* /* */ */",
    "send [USD/2 350] ( source = { @a with scaling through @s @world } destination = { max [USD/2 1_00] to @x remaining to @y } )",
    "send [USD/2 6] ( source = { 1/3 from @a 33.3% from @world remaining from @b allowing unbounded overdraft } destination = @z )",
];

/// A program of the corpus with some bytes removed, repeated, replaced or exchanged for a keyword.
fn edited() -> impl Strategy<Value = String> {
    let places = (any::<prop::sample::Index>(), 0_usize..12);
    let edit = (places, prop::sample::select(WORDS), any::<u8>(), 0_u8..8);
    let edits = prop::collection::vec(edit, 1..4);
    (prop::sample::select(CORPUS), edits).prop_map(|(script, edits)| {
        let mut bytes = script.as_bytes().to_vec();
        for ((at, length), word, byte, kind) in edits {
            let start = at.index(bytes.len().max(1)).min(bytes.len());
            let end = (start + if kind < 4 { length } else { 1 }).min(bytes.len());
            let new = match kind {
                0 => Vec::new(),
                1 => bytes[start..end].repeat(2),
                2 => vec![byte],
                3 => word.as_bytes().to_vec(),
                _ => bytes[start..end].iter().map(|old| alike(*old, byte)).collect(),
            };
            bytes.splice(start..end, new);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Another byte of the same sort, so that a good share of the edits still parses.
fn alike(old: u8, other: u8) -> u8 {
    match old {
        b'0'..=b'9' => b'0' + other % 10,
        b'A'..=b'Z' => b'A' + other % 26,
        b'a'..=b'z' => b'a' + other % 26,
        b' ' => b'\n',
        b'+' | b'-' | b'/' => [b'+', b'-', b'/'][usize::from(other) % 3],
        _ => old,
    }
}

/// The share of a hundred generated values that satisfy the test.
fn percentage<T: std::fmt::Debug>(
    strategy: impl Strategy<Value = T>,
    test: impl Fn(&T) -> bool,
) -> usize {
    let mut runner = TestRunner::deterministic();
    let hits =
        (0..1_000).filter(|_| test(&strategy.new_tree(&mut runner).unwrap().current())).count();
    hits.div_euclid(10)
}

#[test]
fn a_good_share_of_the_generated_programs_succeeds() {
    let runs = |(program, balances): &(Program, Vec<Balance>)| {
        world(balances)
            .try_run(&program.to_string())
            .is_ok_and(|outcome| !outcome.postings.is_empty())
    };
    let succeed = percentage((program(), balances()), runs);
    assert!((25..=95).contains(&succeed), "{succeed} of 100");
}

#[test]
fn a_good_share_of_the_edited_programs_parses() {
    let parses = percentage(edited(), |text| exercise(text));
    assert!((10..=90).contains(&parses), "{parses} of 100");
}

#[test]
fn the_corpus_parses() {
    for script in CORPUS {
        assert!(exercise(script), "{script}");
    }
}
