//! Shares: how portions are read, when they add up to the whole, and which part gets the odd units.

use super::super::portion::{AllotError, Share, allot};
use super::super::{Mode, Portion, PortionError};
use super::{Feature, World};

fn portion(text: &str) -> Result<String, PortionError> {
    Portion::parse(text).map(|portion| portion.to_string())
}

#[test]
fn portions_are_read_as_percentage_or_fraction() {
    for (text, expected) in [
        ("0%", "0/1"),
        ("1%", "1/100"),
        ("12.5%", "1/8"),
        ("0.0001%", "1/1000000"),
        ("100%", "1/1"),
        ("100.00%", "1/1"),
        ("007%", "7/100"),
        ("1/3", "1/3"),
        ("2/6", "1/3"),
        ("0/5", "0/1"),
        ("5/5", "1/1"),
        ("1 / 3", "1/3"),
        ("1 /3", "1/3"),
        ("1/ 3", "1/3"),
        ("1\t/\n3", "1/3"),
        ("01/03", "1/3"),
    ] {
        assert_eq!(portion(text).as_deref(), Ok(expected), "{text:?}");
    }
}

#[test]
fn malformed_portions_are_rejected() {
    for text in [
        "",
        "%",
        "/",
        "1",
        "0.5",
        "1/",
        "/2",
        "1//2",
        "1/2/3",
        "1  / 3",
        "1 /  3",
        " 1/3",
        "1/3 ",
        "-1/3",
        "1/-3",
        "+1/3",
        "-5%",
        "+5%",
        "5 %",
        "5%%",
        ".5%",
        "5.%",
        "1.2.3%",
        "1_0%",
        "1,5%",
        "1/3%",
        "1/0",
        "0/0",
        "½",
        "٣%",
        "1\u{a0}/3",
        "1/\u{2003}3",
        "1\u{b}/3",
    ] {
        assert_eq!(portion(text), Err(PortionError::Format), "{text:?}");
    }
}

#[test]
fn a_portion_is_at_most_the_whole() {
    for text in ["101%", "100.0001%", "3/2", "2/1", "999999999999999999999/1"] {
        assert_eq!(portion(text), Err(PortionError::OutOfRange), "{text:?}");
    }
    World::empty()
        .given("p", "3/2")
        .expect(&[("vars { portion $p }", "BadPortionParsing { text: 3/2, reason: OutOfRange }")]);
}

/// `1/3` and `12%` are portions, `*` is `remaining`.
fn split(total: i64, shares: &str, mode: Mode) -> Result<Vec<String>, AllotError> {
    let shares: Vec<Share> = shares
        .split(' ')
        .map(|share| match share {
            "*" => Share::Remaining,
            text => Share::Portion(Portion::parse(text).unwrap()),
        })
        .collect();
    let parts = allot(&total.into(), &shares, mode)?;
    Ok(parts.iter().map(ToString::to_string).collect())
}

#[test]
fn leftover_units_go_one_each_to_the_first_shares() {
    for (total, shares, expected) in [
        (11, "1/3 1/3 *", "4 4 3"),
        (10, "1/3 1/3 1/3", "4 3 3"),
        (11, "* 1/3 1/3", "4 4 3"),
        (2, "1/3 1/3 1/3", "1 1 0"),
        (0, "1/3 1/3 1/3", "0 0 0"),
        (1, "1% 99%", "1 0"),
        (100, "12.5% 87.5%", "13 87"),
        (7, "1/2 1/4 1/4", "4 2 1"),
        (5, "1/1", "5"),
        (5, "*", "5"),
        (5, "100% *", "5 0"),
        (999, "1/7 1/7 1/7 1/7 1/7 1/7 1/7", "143 143 143 143 143 142 142"),
    ] {
        for mode in [Mode::Safe, Mode::Compat] {
            let parts = split(total, shares, mode).unwrap().join(" ");
            assert_eq!(parts, expected, "{total} as {shares}");
        }
    }
}

#[test]
fn shares_are_exactly_the_whole() {
    for (shares, sum) in [
        ("1/3 1/3", "2/3"),
        ("50% 49.99%", "9999/10000"),
        ("50% 50.01%", "10001/10000"),
        ("1/3 33.33%", "19999/30000"),
    ] {
        for mode in [Mode::Safe, Mode::Compat] {
            let Err(AllotError::Sum(found)) = split(10, shares, mode) else {
                panic!("{shares} is no whole");
            };
            assert_eq!(found.to_string(), sum, "{shares}");
        }
    }
}

#[test]
fn both_sides_of_a_send_split_alike() {
    let world = World::empty();
    world.expect_from(&[
        ("11", "{ 1/3 from @world 1/3 from @world remaining from @world }", "world -> z USD/2 11"),
        (
            "11",
            "{ 1/3 from @a allowing unbounded overdraft 1/3 from @b allowing unbounded overdraft remaining from @world }",
            "a -> z USD/2 4; b -> z USD/2 4; world -> z USD/2 3",
        ),
        ("11", "{ 1/3 from @world 1/3 from @world }", "InvalidAllotmentSum { sum: 2/3 }"),
    ]);
    world.expect_to(&[
        (
            "11",
            "{ 1/3 to @x 1/3 to @y remaining to @v }",
            "world -> x USD/2 4; world -> y USD/2 4; world -> v USD/2 3",
        ),
        ("11", "{ 1/3 to @x 1/3 kept remaining to @v }", "world -> x USD/2 4; world -> v USD/2 3"),
        ("0", "{ 1/3 to @x 1/3 to @y }", "InvalidAllotmentSum { sum: 2/3 }"),
    ]);
}

#[test]
fn a_share_may_be_computed() {
    let world =
        World::empty().given("p", "1/4").given("n", "3").with(Feature::MidScriptFunctionCall);
    let rows = [
        ("$p", "world -> x USD/2 3; world -> y USD/2 7"),
        ("1/$n", "world -> x USD/2 4; world -> y USD/2 6"),
        ("$n/(4 + 1)", "world -> x USD/2 6; world -> y USD/2 4"),
        ("($p)", "world -> x USD/2 3; world -> y USD/2 7"),
        ("$n", "Type { expected: [Portion], value: Number(3) }"),
        ("1/($n - 3)", "DivideByZero { numerator: 1 }"),
    ];
    let table = rows.map(|(share, expected)| {
        let destination = format!("{{ {share} to @x remaining to @y }}");
        let send = super::send("10", "@world", &destination);
        (format!("vars {{ portion $p number $n }} {send}"), expected)
    });
    world.expect(&table);
}
