//! `send`: every kind of source and destination, and how pieces become postings.

use super::{Feature, World, send};

#[test]
fn an_account_gives_what_it_has() {
    World::holding("a USD/2 10, neg USD/2 -5, a EUR/2 99").expect_from(&[
        ("10", "@a", "a -> z USD/2 10"),
        ("0", "@a", "nothing"),
        ("0", "@neg", "nothing"),
        ("11", "@a", "MissingFunds { asset: USD/2, needed: 11, available: 10, account: Some(a) }"),
        ("1", "@neg", "MissingFunds { asset: USD/2, needed: 1, available: 0, account: Some(neg) }"),
        ("-1", "@a", "NegativeAmount { asset: USD/2, amount: -1 }"),
        ("1", "{ @neg @a }", "a -> z USD/2 1"),
    ]);
}

#[test]
fn an_overdraft_goes_down_to_its_limit() {
    World::holding("a USD/2 10, neg USD/2 -5").expect_from(&[
        ("15", "@a allowing overdraft up to [USD/2 5]", "a -> z USD/2 15"),
        (
            "16",
            "@a allowing overdraft up to [USD/2 5]",
            "MissingFunds { asset: USD/2, needed: 16, available: 15, account: Some(a) }",
        ),
        ("3", "@neg allowing overdraft up to [USD/2 8]", "neg -> z USD/2 3"),
        (
            "1",
            "@neg allowing overdraft up to [USD/2 5]",
            "MissingFunds { asset: USD/2, needed: 1, available: 0, account: Some(neg) }",
        ),
        ("10", "@a allowing overdraft up to [USD/2 -5]", "a -> z USD/2 10"),
        (
            "1",
            "@a allowing overdraft up to [EUR/2 5]",
            "MismatchedCurrency { expected: USD/2, got: EUR/2 }",
        ),
        ("1", "@a allowing overdraft up to 5", "Type { expected: [Monetary], value: Number(5) }"),
        ("7", "@neg allowing unbounded overdraft", "neg -> z USD/2 7"),
        ("7", "@world", "world -> z USD/2 7"),
        ("7", "@world allowing overdraft up to [USD/2 1]", "world -> z USD/2 7"),
    ]);
}

#[test]
fn a_list_is_taken_in_turn() {
    World::holding("a USD/2 4, b USD/2 3").expect_from(&[
        ("3", "{ @a @b }", "a -> z USD/2 3"),
        ("6", "{ @a @b }", "a -> z USD/2 4; b -> z USD/2 2"),
        ("6", "{ @b { @a } }", "b -> z USD/2 3; a -> z USD/2 3"),
        ("9", "{ @a @b @world }", "a -> z USD/2 4; b -> z USD/2 3; world -> z USD/2 2"),
        ("8", "{ @a @b }", "MissingFunds { asset: USD/2, needed: 8, available: 7, account: None }"),
        (
            "8",
            "{ @a @a @b }",
            "MissingFunds { asset: USD/2, needed: 8, available: 7, account: None }",
        ),
    ]);
}

#[test]
fn max_limits_the_source_behind_it() {
    World::holding("a USD/2 4, b USD/2 9").expect_from(&[
        ("5", "{ max [USD/2 2] from @a @b }", "a -> z USD/2 2; b -> z USD/2 3"),
        ("5", "{ max [USD/2 9] from @a @b }", "a -> z USD/2 4; b -> z USD/2 1"),
        ("5", "{ max [USD/2 -9] from @a @b }", "b -> z USD/2 5"),
        ("1", "max [USD/2 9] from @a", "a -> z USD/2 1"),
        (
            "3",
            "max [USD/2 2] from @a",
            "MissingFunds { asset: USD/2, needed: 3, available: 2, account: None }",
        ),
        (
            "3",
            "max [USD/2 2] from max [USD/2 1] from @a",
            "MissingFunds { asset: USD/2, needed: 3, available: 1, account: None }",
        ),
        ("3", "max [EUR/2 2] from @a", "MismatchedCurrency { expected: USD/2, got: EUR/2 }"),
        ("6", "max [USD/2 6] from { @a @b }", "a -> z USD/2 4; b -> z USD/2 2"),
    ]);
}

#[test]
fn an_allotment_of_sources_needs_every_part_in_full() {
    World::holding("a USD/2 4, b USD/2 9").with(Feature::OneOf).expect_from(&[
        ("8", "{ 1/2 from @a 1/2 from @b }", "a -> z USD/2 4; b -> z USD/2 4"),
        (
            "9",
            "{ 1/2 from @a 1/2 from @b }",
            "MissingFunds { asset: USD/2, needed: 5, available: 4, account: Some(a) }",
        ),
        ("10", "{ 1/5 from @a remaining from { @a @b } }", "a -> z USD/2 4; b -> z USD/2 6"),
        // The shortage of one part ends the program, whatever surrounds it.
        (
            "9",
            "{ { 1/2 from @a 1/2 from @b } @world }",
            "MissingFunds { asset: USD/2, needed: 5, available: 4, account: Some(a) }",
        ),
        (
            "9",
            "oneof { { 1/2 from @a 1/2 from @b } @world }",
            "MissingFunds { asset: USD/2, needed: 5, available: 4, account: Some(a) }",
        ),
    ]);
}

#[test]
fn one_of_the_sources_gives_everything() {
    let world = World::holding("a USD/2 4, b USD/2 9").with(Feature::OneOf);
    world.expect_from(&[
        ("4", "oneof { @a @b }", "a -> z USD/2 4"),
        ("5", "oneof { @a @b }", "b -> z USD/2 5"),
        (
            "5",
            "oneof { @a }",
            "MissingFunds { asset: USD/2, needed: 5, available: 4, account: None }",
        ),
        (
            "10",
            "oneof { @a @b }",
            "MissingFunds { asset: USD/2, needed: 10, available: 9, account: None }",
        ),
        ("10", "{ oneof { @b @a } @world }", "a -> z USD/2 4; world -> z USD/2 6"),
        // A failed branch gives back what it had taken.
        (
            "13",
            "oneof { { @a max [USD/2 1] from @b } { @b @a } }",
            "b -> z USD/2 9; a -> z USD/2 4",
        ),
        ("13", "oneof { oneof { @a @b } { @a @b } }", "a -> z USD/2 4; b -> z USD/2 9"),
        ("0", "oneof { @empty @b }", "nothing"),
    ]);
    // Money that a branch sends to the account it came from would be there twice if it were not undone.
    let twice = format!("{} {}", send("5", "oneof { @a @b }", "@z"), send("4", "@a", "@z"));
    world.expect(&[(twice, "b -> z USD/2 5; a -> z USD/2 4")]);
}

#[test]
fn sending_all_empties_each_kind_of_source() {
    let world = World::holding("a USD/2 4, b USD/2 3, neg USD/2 -5").with(Feature::OneOf);
    world.expect_from(&[
        ("*", "@a", "a -> z USD/2 4"),
        ("*", "@neg", "nothing"),
        ("*", "@unknown", "nothing"),
        ("*", "@a allowing overdraft up to [USD/2 6]", "a -> z USD/2 10"),
        ("*", "@neg allowing overdraft up to [USD/2 6]", "neg -> z USD/2 1"),
        ("*", "@a allowing unbounded overdraft", "InvalidUnboundedInSendAll { name: a }"),
        ("*", "@world", "InvalidUnboundedInSendAll { name: world }"),
        ("*", "{ @a @world }", "InvalidUnboundedInSendAll { name: world }"),
        ("*", "{ 1/2 from @a 1/2 from @b }", "InvalidAllotmentInSendAll"),
        ("*", "{ @a { 1/2 from @a 1/2 from @b } }", "InvalidAllotmentInSendAll"),
        ("*", "max [USD/2 7] from @world", "world -> z USD/2 7"),
        ("*", "max [USD/2 2] from @a", "a -> z USD/2 2"),
        ("*", "max [USD/2 9] from @a", "a -> z USD/2 4"),
        ("*", "max [USD/2 -9] from @a", "nothing"),
        (
            "*",
            "max [USD/2 6] from { 1/2 from @b remaining from @world }",
            "b -> z USD/2 3; world -> z USD/2 3",
        ),
        ("*", "{ @a @b @neg }", "a -> z USD/2 4; b -> z USD/2 3"),
        ("*", "oneof { @b @a }", "b -> z USD/2 3"),
        ("*", "oneof { @neg @a }", "nothing"),
    ]);
}

#[test]
fn destinations_in_order_fill_up_one_after_the_other() {
    World::empty().expect_to(&[
        ("9", "@x", "world -> x USD/2 9"),
        ("9", "{ max [USD/2 4] to @x remaining to @y }", "world -> x USD/2 4; world -> y USD/2 5"),
        ("3", "{ max [USD/2 4] to @x remaining to @y }", "world -> x USD/2 3"),
        ("3", "{ max [USD/2 -4] to @x remaining to @y }", "world -> y USD/2 3"),
        ("3", "{ max [EUR/2 4] to @x remaining to @y }", "MismatchedCurrency { expected: USD/2, got: EUR/2 }"),
        // Nothing is left, so the second cap is not evaluated.
        ("3", "{ max [USD/2 4] to @x max [EUR/2 4] to @y remaining to @y }", "world -> x USD/2 3"),
        ("0", "{ max [EUR/2 4] to @x remaining to @y }", "nothing"),
        (
            "9",
            "{ max [USD/2 6] to { 1/2 to @x 1/2 to @y } remaining to { max [USD/2 1] kept remaining to @v } }",
            "world -> x USD/2 3; world -> y USD/2 3; world -> v USD/2 2",
        ),
    ]);
}

#[test]
fn destinations_in_shares_split_the_amount() {
    World::empty().expect_to(&[
        ("9", "{ 1/3 to @x remaining to @y }", "world -> x USD/2 3; world -> y USD/2 6"),
        ("9", "{ 1/3 kept remaining to @y }", "world -> y USD/2 6"),
        ("1", "{ 1/2 to @x 1/2 to @y }", "world -> x USD/2 1"),
        ("9", "{ 1/3 to @x 1/3 to @y }", "InvalidAllotmentSum { sum: 2/3 }"),
        ("9", "{ \"a\" to @x remaining to @y }", "Type { expected: [Portion], value: String(a) }"),
    ]);
}

#[test]
fn one_of_the_destinations_takes_everything() {
    World::empty().with(Feature::OneOf).expect_to(&[
        ("4", "oneof { max [USD/2 4] to @x remaining to @y }", "world -> x USD/2 4"),
        ("5", "oneof { max [USD/2 4] to @x remaining to @y }", "world -> y USD/2 5"),
        (
            "5",
            "oneof { max [USD/2 4] to @x max [USD/2 9] to @v remaining to @y }",
            "world -> v USD/2 5",
        ),
        ("5", "oneof { max [USD/2 4] to @x remaining kept }", "nothing"),
        ("5", "oneof { remaining to @y }", "world -> y USD/2 5"),
        (
            "5",
            "oneof { max [EUR/2 4] to @x remaining to @y }",
            "MismatchedCurrency { expected: USD/2, got: EUR/2 }",
        ),
    ]);
}

#[test]
fn kept_money_can_be_sent_again() {
    World::holding("a USD/2 10").expect(&[
        (
            format!(
                "{} {}",
                send("10", "@a", "{ max [USD/2 4] to @x remaining kept }"),
                send("*", "@a", "@y")
            ),
            "a -> x USD/2 4; a -> y USD/2 6",
        ),
        (
            format!("{} {}", send("10", "@a", "{ 1/2 kept 1/2 to @x }"), send("6", "@a", "@y")),
            "MissingFunds { asset: USD/2, needed: 6, available: 5, account: Some(a) }",
        ),
        // `kept` comes first, so the first sender keeps its money.
        (
            send("12", "{ @a @world }", "{ max [USD/2 11] kept remaining to @x }"),
            "world -> x USD/2 1",
        ),
    ]);
}

#[test]
fn a_receiver_can_spend_in_a_later_statement_only() {
    World::holding("a USD/2 10, b USD/2 1").expect(&[
        (
            format!("{} {}", send("10", "@a", "@b"), send("11", "@b", "@z")),
            "a -> b USD/2 10; b -> z USD/2 11",
        ),
        (
            format!("{} {}", send("3", "@world", "@new"), send("*", "@new", "@z")),
            "world -> new USD/2 3; new -> z USD/2 3",
        ),
        (
            format!("{} {}", send("2", "@b", "@z"), send("10", "@a", "@b")),
            "MissingFunds { asset: USD/2, needed: 2, available: 1, account: Some(b) }",
        ),
        (
            send("12", "{ @a @b }", "@b"),
            "MissingFunds { asset: USD/2, needed: 12, available: 11, account: None }",
        ),
        (
            format!("{} {}", send("10", "@a", "@a"), send("10", "@a", "@z")),
            "a -> a USD/2 10; a -> z USD/2 10",
        ),
    ]);
}

#[test]
fn zero_amounts_make_no_posting() {
    World::holding("a USD/2 10").expect(&[
        (send("0", "@world", "@z"), "nothing"),
        (send("0", "{ 1/2 from @world 1/2 from @a }", "{ 1/2 to @x 1/2 to @y }"), "nothing"),
        (
            send("1", "{ 0/1 from @a 1/1 from @world }", "{ 0% to @x 100% to @y }"),
            "world -> y USD/2 1",
        ),
        (
            send(
                "1",
                "{ max [USD/2 0] from @a @world }",
                "{ max [USD/2 0] to @x remaining to @y }",
            ),
            "world -> y USD/2 1",
        ),
    ]);
}

#[test]
fn equal_neighbours_in_the_queue_are_one_posting() {
    World::holding("a USD/2 10, b USD/2 10").with(Feature::AssetColors).expect_from(&[
        ("10", "{ max [USD/2 4] from @world max [USD/2 6] from @world }", "world -> z USD/2 10"),
        (
            "9",
            "{ max [USD/2 3] from @a max [USD/2 3] from @b @a }",
            "a -> z USD/2 3; b -> z USD/2 3; a -> z USD/2 3",
        ),
        (
            "9",
            "{ max [USD/2 3] from @world \\ \"RED\" max [USD/2 3] from @world @world }",
            "world -> z USD/2 3 (RED); world -> z USD/2 6",
        ),
        ("9", "{ 1/3 from @a 1/3 from @a 1/3 from @b }", "a -> z USD/2 6; b -> z USD/2 3"),
    ]);
}

#[test]
fn nothing_else_is_merged_and_the_order_is_that_of_the_text() {
    World::holding("a USD/2 10, b USD/2 10").expect(&[
        (send("4", "@a", "{ 1/2 to @z 1/2 to @z }"), "a -> z USD/2 2; a -> z USD/2 2"),
        (
            format!("{} {}", send("1", "@a", "@z"), send("1", "@a", "@z")),
            "a -> z USD/2 1; a -> z USD/2 1",
        ),
        (
            format!(
                "{} {}",
                send("15", "{ @b @a }", "{ 2/3 to @y remaining to @x }"),
                send("5", "@a", "@w")
            ),
            "b -> y USD/2 10; a -> x USD/2 5; a -> w USD/2 5",
        ),
        (
            send("15", "{ @a @b }", "{ max [USD/2 12] to @y remaining to @x }"),
            "a -> y USD/2 10; b -> y USD/2 2; b -> x USD/2 3",
        ),
    ]);
}
