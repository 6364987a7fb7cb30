//! `save`, metadata, functions, and the effect of each feature.

use super::{Feature, World, send};

const COLORS: Feature = Feature::AssetColors;
const SCALING: Feature = Feature::AssetScaling;

#[test]
fn saving_hides_money_from_the_rest_of_the_program() {
    let all = send("*", "@a", "@z");
    let row = |save: &str| format!("save {save} from @a {all}");
    World::holding("a USD/2 10, a EUR/2 3").expect(&[
        (row("[USD/2 4]"), "a -> z USD/2 6"),
        (row("[USD/2 0]"), "a -> z USD/2 10"),
        (row("[USD/2 11]"), "nothing"),
        (row("[USD/2 *]"), "nothing"),
        (row("[EUR/2 *]"), "a -> z USD/2 10"),
        (row("[USD/2 4] from @a save [USD/2 4]"), "a -> z USD/2 2"),
        (row("[USD/2 -1]"), "NegativeAmount { asset: USD/2, amount: -1 }"),
        (row("4"), "Type { expected: [Monetary], value: Number(4) }"),
        (
            format!("save [USD/2 4] from \"a\" {all}"),
            "Type { expected: [Account], value: String(a) }",
        ),
        (format!("save [USD/2 4] from @b {all}"), "a -> z USD/2 10"),
        (format!("{all} save [USD/2 4] from @a"), "a -> z USD/2 10"),
    ]);
}

#[test]
fn saved_money_does_not_cover_an_overdraft_either() {
    let row = |save: &str| {
        format!("save {save} from @a {}", send("*", "@a allowing overdraft up to [USD/2 5]", "@z"))
    };
    World::holding("a USD/2 10")
        .expect(&[(row("[USD/2 4]"), "a -> z USD/2 11"), (row("[USD/2 *]"), "a -> z USD/2 5")]);
    // A negative balance stays as it is.
    World::holding("a USD/2 -3")
        .expect(&[(row("[USD/2 *]"), "a -> z USD/2 2"), (row("[USD/2 0]"), "a -> z USD/2 2")]);
}

#[test]
fn saving_leaves_colours_and_later_income_alone() {
    World::holding("a USD/2 10, a USD/2 7 RED").with(COLORS).expect(&[
        (
            format!("save [USD/2 *] from @a {}", send("*", "@a \\ \"RED\"", "@z")),
            "a -> z USD/2 7 (RED)",
        ),
        (
            format!(
                "save [USD/2 *] from @a {} {}",
                send("3", "@world", "@a"),
                send("*", "@a", "@z")
            ),
            "world -> a USD/2 3; a -> z USD/2 3",
        ),
    ]);
}

#[test]
fn the_last_write_of_metadata_wins() {
    World::empty().expect(&[
        ("set_tx_meta(\"k\", 1) set_tx_meta(\"k\", @a)", "tx k=a"),
        ("set_tx_meta(\"b\", 1) set_tx_meta(\"a\", 2)", "tx a=2; tx b=1"),
        ("set_account_meta(@a, \"k\", 1) set_account_meta(@a, \"k\", 50%)", "@a k=1/2"),
        (
            "set_account_meta(@b, \"k\", [USD/2 1]) set_account_meta(@a, \"k\", USD)",
            "@a k=USD; @b k=USD/2 1",
        ),
        ("set_tx_meta(\"\", \"\")", "tx ="),
        ("set_tx_meta(1, 1)", "Type { expected: [String], value: Number(1) }"),
        ("set_account_meta(\"a\", \"k\", 1)", "Type { expected: [Account], value: String(a) }"),
        ("set_account_meta(@a, @k, 1)", "Type { expected: [String], value: Account(k) }"),
    ]);
}

#[test]
fn arity_is_reported_before_types() {
    World::empty().with_all().expect(&[
        ("set_tx_meta()", "BadArity { expected: 2, given: 0 }"),
        ("set_tx_meta(1)", "BadArity { expected: 2, given: 1 }"),
        ("set_tx_meta(\"k\", 1, 2)", "BadArity { expected: 2, given: 3 }"),
        ("set_account_meta(1, 2)", "BadArity { expected: 3, given: 2 }"),
        ("vars { number $n = meta(1) }", "BadArity { expected: 2, given: 1 }"),
        ("vars { monetary $n = balance(1) }", "BadArity { expected: 2, given: 1 }"),
        ("vars { monetary $n = overdraft(1, 2, 3) }", "BadArity { expected: 2, given: 3 }"),
        ("vars { asset $n = get_asset() }", "BadArity { expected: 1, given: 0 }"),
        ("vars { number $n = get_amount(1, 2) }", "BadArity { expected: 1, given: 2 }"),
        (
            "vars { monetary $n = balance(USD, USD) }",
            "Type { expected: [Account], value: Asset(USD) }",
        ),
        ("vars { monetary $n = balance(@a, @b) }", "Type { expected: [Asset], value: Account(b) }"),
        ("vars { asset $n = get_asset(USD) }", "Type { expected: [Monetary], value: Asset(USD) }"),
        ("vars { number $n = nonsense(1) }", "UnboundFunction { name: nonsense }"),
        ("vars { number $n = set_tx_meta(\"k\", 1) }", "UnboundFunction { name: set_tx_meta }"),
        ("balance(@a, USD/2)", "UnboundFunction { name: balance }"),
    ]);
}

#[test]
fn meta_is_read_as_the_declared_type() {
    let world = World::empty()
        .metadata("a", "n", "12")
        .metadata("a", "m", "USD/2 5")
        .metadata("a", "to", "b:c")
        .given("who", "a");
    let row = |kind: &str, key: &str| {
        format!("vars {{ account $who {kind} $x = meta($who, \"{key}\") }} set_tx_meta(\"v\", $x)")
    };
    world.expect(&[
        (row("number", "n"), "tx v=12"),
        (row("string", "n"), "tx v=12"),
        (row("monetary", "m"), "tx v=USD/2 5"),
        (row("account", "to"), "tx v=b:c"),
        (row("monetary", "n"), "InvalidMonetaryLiteral { text: 12 }"),
        (row("portion", "n"), "BadPortionParsing { text: 12, reason: Format }"),
        (row("asset", "n"), "InvalidAsset { name: 12 }"),
        (row("nonsense", "n"), "InvalidType { name: nonsense }"),
        (row("number", "none"), "MetadataNotFound { account: a, key: none }"),
    ]);
}

#[test]
fn meta_stands_alone() {
    let world = World::empty().metadata("a", "n", "12").with_all();
    world.expect(&[
        ("vars { number $x = meta(@a, \"n\") + 1 }", "InvalidNestedMeta"),
        ("vars { number $x = get_amount(meta(@a, \"n\")) }", "InvalidNestedMeta"),
        ("vars { number $x = -meta(@a, \"n\") }", "InvalidNestedMeta"),
        ("set_tx_meta(\"v\", meta(@a, \"n\"))", "InvalidNestedMeta"),
    ]);
    // It reads the records, not the metadata that this program sets.
    world.expect(&[("vars { number $x = meta(@a, \"n\") } set_account_meta(@a, \"n\", 1) set_tx_meta(\"v\", $x)", "tx v=12; @a n=1")]);
}

#[test]
fn balance_is_what_the_account_has() {
    let world = World::holding("a USD/2 10, neg USD/2 -4, a USD/2 7 RED");
    let row = |account: &str| {
        format!("vars {{ monetary $x = balance({account}, USD/2) }} set_tx_meta(\"v\", $x)")
    };
    world.expect(&[
        (row("@a"), "tx v=USD/2 10"),
        (row("@unknown"), "tx v=USD/2 0"),
        (row("@world"), "tx v=USD/2 0"),
        (row("@neg"), "NegativeBalance { account: neg, amount: -4 }"),
    ]);
    world.with(Feature::MidScriptFunctionCall).expect(&[
        (
            send("1", "@a", "@z") + "set_tx_meta(\"v\", balance(@a, USD/2))",
            "a -> z USD/2 1; tx v=USD/2 9",
        ),
        (
            send("1", "@a", "@z") + "set_tx_meta(\"v\", balance(@z, USD/2))",
            "a -> z USD/2 1; tx v=USD/2 1",
        ),
        (
            send("1", "@a", "@z") + "send balance(@a, USD/2) ( source = @a destination = @y )",
            "a -> z USD/2 1; a -> y USD/2 9",
        ),
    ]);
}

#[test]
fn overdraft_is_what_the_account_owes() {
    let world = World::holding("a USD/2 10, neg USD/2 -4").with(Feature::OverdraftFunction);
    let row = |account: &str| {
        format!("vars {{ monetary $x = overdraft({account}, USD/2) }} set_tx_meta(\"v\", $x)")
    };
    world.expect(&[
        (row("@neg"), "tx v=USD/2 4"),
        (row("@a"), "tx v=USD/2 0"),
        (row("@unknown"), "tx v=USD/2 0"),
    ]);
}

#[test]
fn getters_take_an_amount_apart() {
    World::empty().with_all().expect_value(&[
        ("get_asset([USD/2 5])", "tx v=USD/2"),
        ("get_amount([USD/2 -5])", "tx v=-5"),
        ("[get_asset([EUR 1]) get_amount([USD/2 7]) + 1]", "tx v=EUR 8"),
    ]);
}

/// A program for each place that needs a feature, and its result with it.
fn feature_rows() -> Vec<(Feature, String, &'static str)> {
    let vars = |origin: &str| format!("vars {{ string $s monetary $m {origin} }}");
    vec![
        (Feature::OverdraftFunction, vars("monetary $x = overdraft(@a, USD/2)"), "nothing"),
        (Feature::GetAssetFunction, vars("asset $x = get_asset($m)"), "nothing"),
        (Feature::GetAmountFunction, vars("number $x = get_amount($m)"), "nothing"),
        (Feature::OneOf, send("1", "oneof { @a @world }", "@z"), "a -> z USD/2 1"),
        (Feature::OneOf, send("*", "oneof { @a }", "@z"), "a -> z USD/2 10"),
        (Feature::OneOf, send("1", "@a", "oneof { remaining to @z }"), "a -> z USD/2 1"),
        (Feature::AccountInterpolation, vars("") + &send("1", "@a", "@z:$s"), "a -> z:s1 USD/2 1"),
        (Feature::AccountInterpolation, vars("") + &send("0", "@z:$s", "@z"), "nothing"),
        (Feature::MidScriptFunctionCall, vars("number $x = 1"), "nothing"),
        (
            Feature::MidScriptFunctionCall,
            "set_tx_meta(\"v\", balance(@a, USD/2))".to_owned(),
            "tx v=USD/2 10",
        ),
        (
            Feature::MidScriptFunctionCall,
            "send balance(@a, USD/2) ( source = @a destination = @z )".to_owned(),
            "a -> z USD/2 10",
        ),
        (COLORS, send("1", "@a \\ \"RED\"", "@z"), "a -> z USD/2 1 (RED)"),
        (COLORS, send("*", "@a \\ \"RED\"", "@z"), "a -> z USD/2 7 (RED)"),
        (COLORS, send("1", "@a \\ \"\" allowing unbounded overdraft", "@z"), "a -> z USD/2 1"),
        (SCALING, send("1", "@a with scaling through @swap", "@z"), "a -> z USD/2 1"),
        (SCALING, send("*", "@a with scaling through @swap", "@z"), "a -> z USD/2 10"),
    ]
}

#[test]
fn each_feature_is_off_until_the_caller_or_the_header_turns_it_on() {
    let world = World::holding("a USD/2 10, a USD/2 7 RED").given("s", "s1").given("m", "USD/2 1");
    for (feature, script, expected) in feature_rows() {
        let refused = format!("ExperimentalFeature {{ flag: {feature:?} }}");
        assert_eq!(world.run(&script), refused, "{script}");
        assert_eq!(world.clone().with(feature).run(&script), expected, "{script}");
        let header = format!("#![feature(\"{feature}\")] {script}");
        assert_eq!(world.run(&header), expected, "{header}");
        let others = Feature::ALL.into_iter().filter(|other| *other != feature);
        let mut without = world.clone();
        without.features = others.collect();
        assert_eq!(without.run(&script), refused, "{script}");
    }
}

#[test]
fn headers_name_known_features_only() {
    World::empty().expect(&[
        ("#![feature(\"experimental-oneof\", \"experimental-oneof\")]", "nothing"),
        ("#![feature(\"oneof\")]", "InvalidFeature { name: oneof }"),
        ("#![feature(\"experimental-oneof\", \"\")]", "InvalidFeature { name:  }"),
    ]);
}

#[test]
fn addresses_are_composed_of_accounts_strings_and_numbers() {
    let world = World::empty()
        .with(Feature::AccountInterpolation)
        .given("a", "x:y")
        .given("s", "text")
        .given("n", "42")
        .given("p", "1/2")
        .given("m", "USD/2 1")
        .given("c", "USD/2")
        .given("bad", "no good");
    let row = |account: &str| {
        let vars =
            "vars { account $a string $s number $n portion $p monetary $m asset $c string $bad }";
        format!("{vars} {}", send("1", "@world", account))
    };
    world.expect(&[
        (row("@$a"), "world -> x:y USD/2 1"),
        (row("@users:$s:$n:wallet"), "world -> users:text:42:wallet USD/2 1"),
        (row("@$s:$s"), "world -> text:text USD/2 1"),
        (row("@u:$p"), "CannotCastToString { value: Portion(1/2) }"),
        (
            row("@u:$m"),
            "CannotCastToString { value: Monetary(Monetary { asset: USD/2, amount: 1 }) }",
        ),
        (row("@u:$c"), "CannotCastToString { value: Asset(USD/2) }"),
        (row("@u:$bad"), "InvalidAccountName { name: u:no good }"),
        (row("@u:$none"), "UnboundVariable { name: none }"),
    ]);
    let negative = "vars { number $n } send [USD/2 1] ( source = @world destination = @u:$n )";
    assert_eq!(world.given("n", "-7").run(negative), "world -> u:-7 USD/2 1");
}

#[test]
fn an_empty_segment_is_no_address() {
    let world = World::empty().with(Feature::AccountInterpolation).given("s", "");
    let row = |account: &str| format!("vars {{ string $s }} {}", send("1", "@world", account));
    world.expect(&[
        (row("@$s"), "InvalidAccountName { name:  }"),
        (row("@a:$s"), "InvalidAccountName { name: a: }"),
        (row("@$s:a"), "InvalidAccountName { name: :a }"),
        (row("@a:$s:b"), "InvalidAccountName { name: a::b }"),
    ]);
}

#[test]
fn colours_are_kept_apart_and_travel_with_the_money() {
    let world = World::holding("a USD/2 10, a USD/2 7 RED, a USD/2 2 BLUE").with(COLORS);
    world.expect_from(&[
        ("7", "@a \\ \"RED\"", "a -> z USD/2 7 (RED)"),
        (
            "8",
            "@a \\ \"RED\"",
            "MissingFunds { asset: USD/2, needed: 8, available: 7, account: Some(a) }",
        ),
        ("10", "@a \\ \"\"", "a -> z USD/2 10"),
        ("9", "{ @a \\ \"RED\" @a \\ \"BLUE\" }", "a -> z USD/2 7 (RED); a -> z USD/2 2 (BLUE)"),
        ("9", "@a \\ \"RED\" allowing overdraft up to [USD/2 2]", "a -> z USD/2 9 (RED)"),
        ("1", "@world \\ \"GREEN\"", "world -> z USD/2 1 (GREEN)"),
        ("1", "@a \\ \"red\"", "InvalidColor { color: red }"),
        ("1", "@a \\ \"RED1\"", "InvalidColor { color: RED1 }"),
        ("1", "@a \\ 1", "Type { expected: [String], value: Number(1) }"),
    ]);
    world.expect(&[
        (send("7", "@a \\ \"RED\"", "@b") + &send("*", "@b", "@z"), "a -> b USD/2 7 (RED)"),
        (
            send("7", "@a \\ \"RED\"", "@b") + &send("*", "@b \\ \"RED\"", "@z"),
            "a -> b USD/2 7 (RED); b -> z USD/2 7 (RED)",
        ),
    ]);
}
