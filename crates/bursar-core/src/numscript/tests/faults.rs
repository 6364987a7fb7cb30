//! The faults of the first implementation: what safe mode does, and what compat mode repeats.

use super::{Mode, World, send};

/// Runs a program in both modes.
#[track_caller]
fn expect_both(world: &World, script: &str, safe: &str, compat: &str) {
    assert_eq!(world.clone().mode(Mode::Safe).run(script), safe, "safe: {script}");
    assert_eq!(world.clone().mode(Mode::Compat).run(script), compat, "compat: {script}");
}

#[test]
fn a_balance_counts_what_was_there_before_a_credit() {
    expect_both(
        &World::holding("a USD/2 100").with_all(),
        &(send("7", "@world", "@a") + "set_tx_meta(\"v\", balance(@a, USD/2))"),
        "world -> a USD/2 7; tx v=USD/2 107",
        "world -> a USD/2 7; tx v=USD/2 7",
    );
}

#[test]
fn an_overdraft_counts_what_was_owed_before_an_unbounded_send() {
    expect_both(
        &World::holding("a USD/2 -100").with_all(),
        &(send("7", "@a allowing unbounded overdraft", "@z")
            + "set_tx_meta(\"v\", overdraft(@a, USD/2))"),
        "a -> z USD/2 7; tx v=USD/2 107",
        "a -> z USD/2 7; tx v=USD/2 7",
    );
}

#[test]
fn saving_does_not_lift_a_negative_balance() {
    let world = World::holding("neg USD/2 -10");
    let send = |sent| send(sent, "@neg allowing overdraft up to [USD/2 100]", "@z");
    let short = "MissingFunds { asset: USD/2, needed: 95, available: 90, account: Some(neg) }";
    expect_both(&world, &send("95"), short, short);
    expect_both(
        &world,
        &format!("save [USD/2 5] from @neg {}", send("95")),
        short,
        "neg -> z USD/2 95",
    );
}

#[test]
fn a_failed_branch_takes_its_swaps_with_it() {
    expect_both(
        &World::holding("a USD 1, b USD/2 500").with_all(),
        &send("300", "oneof { @a with scaling through @s @b }", "@z"),
        "b -> z USD/2 300",
        "a -> s USD 1; s -> a USD/2 100; b -> z USD/2 300",
    );
}

#[test]
fn two_remaining_are_no_allotment() {
    expect_both(
        &World::empty(),
        &send("10", "@world", "{ 1/2 to @x remaining to @y remaining to @v }"),
        "InvalidAllotmentSum { sum: 1/2 }",
        "world -> x USD/2 5; world -> v USD/2 5",
    );
    expect_both(
        &World::empty(),
        &send("10", "{ remaining from @a remaining from @world }", "@z"),
        "InvalidAllotmentSum { sum: 0/1 }",
        "world -> z USD/2 10",
    );
}

#[test]
fn a_share_above_the_whole_is_refused() {
    expect_both(
        &World::empty(),
        &send("10", "@world", "{ 3/2 to @x remaining to @y }"),
        "InvalidAllotmentSum { sum: 3/2 }",
        "world -> x USD/2 10",
    );
    expect_both(
        &World::empty(),
        &send("10", "@world", "{ -1/2 to @y 3/2 to @x }"),
        "InvalidAllotmentSum { sum: 1/1 }",
        "world -> x USD/2 10",
    );
}

#[test]
fn a_share_of_nothing_gets_no_leftover_unit() {
    expect_both(
        &World::empty(),
        &send("11", "@world", "{ 0/3 to @x 1/2 to @y 1/2 to @v }"),
        "world -> y USD/2 6; world -> v USD/2 5",
        "world -> x USD/2 1; world -> y USD/2 5; world -> v USD/2 5",
    );
}

#[test]
fn a_negative_scale_is_not_swapped() {
    expect_both(
        &World::holding("a USD/4 -100, a USD 1").with_all(),
        &send("50", "@a with scaling through @s", "@z"),
        "a -> s USD 1; s -> a USD/2 100; a -> z USD/2 50",
        "Internal { reason: USD/4 -100 is negative }",
    );
}

#[test]
fn a_line_comment_may_end_the_text() {
    expect_both(&World::empty(), "// the end", "nothing", "Parse");
    expect_both(&World::empty(), "set_tx_meta(\"k\", 1) //", "tx k=1", "Parse");
    expect_both(&World::empty(), "// the end\n", "nothing", "nothing");
}

#[test]
fn no_blank_stands_inside_an_account() {
    for account in ["@a :b", "@a\n\t:b"] {
        let script = send("1", "@world", account);
        expect_both(&World::empty(), &script, "Parse", "world -> a:b USD/2 1");
    }
    expect_both(&World::empty(), &send("1", "@world", "@a: b"), "Parse", "Parse");
}
