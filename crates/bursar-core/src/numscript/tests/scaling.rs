//! Scaling: money held in other scales of an asset is swapped into the one that is sent.

use super::{Feature, World, send};

fn holding(balances: &str) -> World {
    World::holding(balances).with(Feature::AssetScaling)
}

const SCALED: &str = "@a with scaling through @s";

#[test]
fn money_at_the_sent_scale_is_used_first() {
    holding("a USD/2 10, a USD/4 1000").expect_from(&[
        ("10", SCALED, "a -> z USD/2 10"),
        ("12", SCALED, "a -> s USD/4 200; s -> a USD/2 2; a -> z USD/2 12"),
        ("20", SCALED, "a -> s USD/4 1000; s -> a USD/2 10; a -> z USD/2 20"),
    ]);
}

#[test]
fn conversion_goes_from_the_finest_scale_down() {
    holding("a USD/4 150, a USD/3 25, a USD 3").expect_from(&[
        ("1", SCALED, "a -> s USD/4 100; s -> a USD/2 1; a -> z USD/2 1"),
        ("3", SCALED, "a -> s USD/4 100; a -> s USD/3 20; s -> a USD/2 3; a -> z USD/2 3"),
        // A coarse unit is swapped whole; the change stays with the account.
        (
            "4",
            SCALED,
            "a -> s USD/4 100; a -> s USD/3 20; a -> s USD 1; s -> a USD/2 103; a -> z USD/2 4",
        ),
        (
            "*",
            SCALED,
            "a -> s USD/4 100; a -> s USD/3 20; a -> s USD 3; s -> a USD/2 303; a -> z USD/2 303",
        ),
    ]);
}

#[test]
fn too_little_in_all_scales_is_missing_funds() {
    holding("a USD/4 150, a EUR/4 999900").expect_from(&[
        ("2", SCALED, "MissingFunds { asset: USD/2, needed: 2, available: 1, account: None }"),
        (
            "2",
            "{ @a with scaling through @s @world }",
            "a -> s USD/4 100; s -> a USD/2 1; a -> z USD/2 1; world -> z USD/2 1",
        ),
    ]);
}

#[test]
fn colours_and_other_assets_are_not_scaled() {
    holding("a USD/2 1, a USD/4 500 RED, a USDX/4 500")
        .with(Feature::AssetColors)
        .expect_from(&[("*", SCALED, "a -> z USD/2 1")]);
}

#[test]
fn only_a_known_account_can_be_scaled() {
    let unknown = "InvalidUnboundedAddressInScalingAddress { name: a }";
    let world = holding("b USD/4 100");
    world.expect_from(&[
        ("1", SCALED, unknown),
        ("0", SCALED, unknown),
        ("*", SCALED, unknown),
        (
            "1",
            "@world with scaling through @s",
            "InvalidUnboundedAddressInScalingAddress { name: world }",
        ),
    ]);
    // A plain use anywhere makes the account known, with an empty balance.
    world.expect(&[(send("0", SCALED, "@z") + &send("0", "@a", "@z"), "nothing")]);
}

#[test]
fn a_later_statement_sees_the_swapped_balances() {
    holding("a USD 2").expect(&[
        (
            send("30", SCALED, "@z") + &send("170", "@a", "@z"),
            "MissingFunds { asset: USD/2, needed: 170, available: 70, account: Some(a) }",
        ),
        (
            send("30", SCALED, "@z") + &send("70", "@a", "@z"),
            "a -> s USD 1; s -> a USD/2 100; a -> z USD/2 30; a -> z USD/2 70",
        ),
        (
            send("30", SCALED, "@z") + &send("71", SCALED, "@z"),
            "a -> s USD 1; s -> a USD/2 100; a -> z USD/2 30; a -> s USD 1; s -> a USD/2 100; a -> z USD/2 71",
        ),
    ]);
}
