//! Values: operators and types, how variables are read, and in which order everything is evaluated.

use super::super::{Inputs, Mode, Program, Type, Value};
use super::{Feature, World, send};

#[test]
fn sums_take_two_numbers_or_two_amounts_of_one_asset() {
    World::empty().expect_value(&[
        ("1 + 2", "tx v=3"),
        ("1 - 2", "tx v=-1"),
        ("[USD/2 1] + [USD/2 2]", "tx v=USD/2 3"),
        ("[USD/2 1] - [USD/2 2]", "tx v=USD/2 -1"),
        ("[USD/2 1] + [EUR/2 2]", "MismatchedCurrency { expected: USD/2, got: EUR/2 }"),
        ("[USD/2 1] - [USD 2]", "MismatchedCurrency { expected: USD/2, got: USD }"),
        (
            "1 + [USD/2 2]",
            "Type { expected: [Number], value: Monetary(Monetary { asset: USD/2, amount: 2 }) }",
        ),
        ("[USD/2 2] + 1", "Type { expected: [Monetary], value: Number(1) }"),
        ("\"a\" + 1", "Type { expected: [Monetary, Number], value: String(a) }"),
        ("1/2 + 1/2", "Type { expected: [Monetary, Number], value: Portion(1/2) }"),
        ("@a - 1", "Type { expected: [Monetary, Number], value: Account(a) }"),
        ("USD + 1", "Type { expected: [Monetary, Number], value: Asset(USD) }"),
    ]);
}

#[test]
fn a_sum_leaves_the_machine_word_and_comes_back() {
    let most = i128::MAX;
    World::empty().expect_value(&[
        (&format!("{most} + 1"), "tx v=170141183460469231731687303715884105728"),
        (&format!("{most} + 1 - 1"), "tx v=170141183460469231731687303715884105727"),
        (&format!("-{most} - 2"), "tx v=-170141183460469231731687303715884105729"),
        (&format!("-(-{most} - 1)"), "tx v=170141183460469231731687303715884105728"),
    ]);
}

#[test]
fn minus_takes_numbers_and_amounts() {
    World::empty().expect_value(&[
        ("-0", "tx v=0"),
        ("-[USD/2 -3]", "tx v=USD/2 3"),
        ("-\"a\"", "Type { expected: [Monetary, Number], value: String(a) }"),
        ("-50%", "Type { expected: [Monetary, Number], value: Portion(1/2) }"),
        ("-@a", "Type { expected: [Monetary, Number], value: Account(a) }"),
    ]);
}

#[test]
fn division_makes_a_portion_of_two_numbers() {
    World::empty().expect_value(&[
        ("2/4", "tx v=1/2"),
        ("0/7", "tx v=0/1"),
        ("3/2", "tx v=3/2"),
        ("7/0", "DivideByZero { numerator: 7 }"),
        ("1/2/3", "Type { expected: [Number], value: Portion(1/2) }"),
        (
            "[USD/2 1]/2",
            "Type { expected: [Number], value: Monetary(Monetary { asset: USD/2, amount: 1 }) }",
        ),
        ("1/50%", "Type { expected: [Number], value: Portion(1/2) }"),
        ("1/\"2\"", "Type { expected: [Number], value: String(2) }"),
    ]);
}

#[test]
fn metadata_shows_every_type_as_text() {
    let world = World::empty();
    world.expect_value(&[
        ("@a:b", "tx v=a:b"),
        ("USD/2", "tx v=USD/2"),
        ("-12", "tx v=-12"),
        ("\"text\"", "tx v=text"),
        ("2/6", "tx v=1/3"),
        ("[USD/2 100]", "tx v=USD/2 100"),
    ]);
    let outcome = world.try_run("set_tx_meta(\"v\", 2/6)").unwrap();
    assert_eq!(outcome.tx_metadata["v"].kind(), Type::Portion, "the value keeps its type");
}

/// The reading of a text by each type: the value as text, or the kind of the error.
fn read(kind: Type, text: &str) -> String {
    match kind.parse(text) {
        Ok(value) => {
            assert_eq!(value.kind(), kind);
            value.to_string()
        }
        Err(error) => error.name().to_owned(),
    }
}

#[test]
fn variables_are_read_by_their_type() {
    for (kind, text, expected) in [
        (Type::Number, "12", "12"),
        (Type::Number, "-12", "-12"),
        (Type::Number, "+12", "12"),
        (Type::Number, "0012", "12"),
        (Type::Number, "", "InvalidNumberLiteral"),
        (Type::Number, "-", "InvalidNumberLiteral"),
        (Type::Number, "1_000", "InvalidNumberLiteral"),
        (Type::Number, "1.0", "InvalidNumberLiteral"),
        (Type::Number, " 1", "InvalidNumberLiteral"),
        (Type::Number, "--1", "InvalidNumberLiteral"),
        (Type::Number, "١", "InvalidNumberLiteral"),
        (Type::Monetary, "USD/2 100", "USD/2 100"),
        (Type::Monetary, "USD/2 -100", "USD/2 -100"),
        (Type::Monetary, "USD  100", "InvalidMonetaryLiteral"),
        (Type::Monetary, " USD 100", "InvalidMonetaryLiteral"),
        (Type::Monetary, "USD 100 ", "InvalidMonetaryLiteral"),
        (Type::Monetary, "USD", "InvalidMonetaryLiteral"),
        (Type::Monetary, "", "InvalidMonetaryLiteral"),
        (Type::Monetary, "USD\t100", "InvalidMonetaryLiteral"),
        (Type::Monetary, "USD x", "InvalidNumberLiteral"),
        (Type::Monetary, "USD ", "InvalidNumberLiteral"),
        (Type::Monetary, "usd 1", "InvalidAsset"),
        (Type::Account, "a", "a"),
        (Type::Account, "A-1:b_2", "A-1:b_2"),
        (Type::Account, "", "InvalidAccountName"),
        (Type::Account, "@a", "InvalidAccountName"),
        (Type::Account, "a:", "InvalidAccountName"),
        (Type::Account, ":a", "InvalidAccountName"),
        (Type::Account, "a::b", "InvalidAccountName"),
        (Type::Account, "a b", "InvalidAccountName"),
        (Type::Account, "a\n", "InvalidAccountName"),
        (Type::String, "", ""),
        (Type::String, "any \"text\"\n", "any \"text\"\n"),
        (Type::Portion, "1/3", "1/3"),
        (Type::Portion, "x", "BadPortionParsing"),
    ] {
        assert_eq!(read(kind, text), expected, "{kind} {text:?}");
    }
}

#[test]
fn assets_have_a_code_a_suffix_and_a_scale() {
    for text in [
        "A",
        "USD",
        "USD/2",
        "USD/0",
        "USD/999999",
        "B2",
        "ABCDEFGHIJKLMNOPQ",
        "USD_X",
        "USD_ABCDEFGHIJKLMNOP/6",
    ] {
        assert_eq!(read(Type::Asset, text), text);
    }
    for text in [
        "",
        "usd",
        "2B",
        "USD/",
        "USD/1234567",
        "USD/x",
        "USD/-1",
        "USD/2/2",
        "USD_",
        "_USD",
        "USD_2",
        "USD_x",
        "USD_A_B",
        "USD 2",
        "ÄÖ",
        "ABCDEFGHIJKLMNOPQR",
        "USD_ABCDEFGHIJKLMNOPQ",
    ] {
        assert_eq!(read(Type::Asset, text), "InvalidAsset", "{text:?}");
    }
}

#[test]
fn an_asset_literal_is_checked_when_it_is_posted() {
    let long = "ABCDEFGHIJKLMNOPQR";
    World::empty().expect(&[
        (format!("set_tx_meta(\"v\", {long})"), "tx v=ABCDEFGHIJKLMNOPQR"),
        (
            format!("send [{long} 1] ( source = @world destination = @z )"),
            "Internal { reason: `ABCDEFGHIJKLMNOPQR` is not an asset }",
        ),
        (format!("send [{long} 0] ( source = @world destination = @z )"), "nothing"),
    ]);
}

#[test]
fn inputs_are_needed_once_and_extra_ones_are_ignored() {
    let world = World::empty().given("a", "1").given("unknown", "?");
    world.expect(&[
        ("vars { number $a } set_tx_meta(\"v\", $a)", "tx v=1"),
        ("vars { number $b } set_tx_meta(\"v\", 1)", "MissingVariable { name: b }"),
        ("vars { whatever $a }", "InvalidType { name: whatever }"),
        ("vars { monetary $a }", "InvalidMonetaryLiteral { text: 1 }"),
        ("set_tx_meta(\"v\", $a)", "UnboundVariable { name: a }"),
    ]);
}

#[test]
fn the_last_declaration_of_a_name_wins() {
    let world = World::empty().given("a", "1").with(Feature::MidScriptFunctionCall);
    world.expect(&[
        ("vars { number $a number $a = $a + 1 } set_tx_meta(\"v\", $a)", "tx v=2"),
        (
            "vars { number $a string $a } set_tx_meta(\"v\", $a + 1)",
            "Type { expected: [Monetary, Number], value: String(1) }",
        ),
    ]);
}

#[test]
fn an_origin_sees_only_what_stands_above_it() {
    let world = World::empty().with(Feature::MidScriptFunctionCall);
    world.expect(&[
        ("vars { number $a = 1 number $b = $a + 1 } set_tx_meta(\"v\", $b)", "tx v=2"),
        ("vars { number $b = $a number $a = 1 }", "UnboundVariable { name: a }"),
        ("vars { number $a = $a }", "UnboundVariable { name: a }"),
    ]);
}

#[test]
fn an_origin_keeps_its_own_type() {
    let world = World::empty().with(Feature::MidScriptFunctionCall);
    world.expect(&[
        ("vars { number $a = \"text\" } set_tx_meta(\"v\", $a)", "tx v=text"),
        ("vars { account $a = balance(@b, USD/2) } set_tx_meta(\"v\", $a)", "tx v=USD/2 0"),
        ("vars { whatever $a = 1 } set_tx_meta(\"v\", $a)", "tx v=1"),
    ]);
}

#[test]
fn an_origin_other_than_a_call_needs_its_feature() {
    let flag = "ExperimentalFeature { flag: MidScriptFunctionCall }";
    World::empty().expect(&[
        ("vars { number $a = 1 }", flag),
        ("vars { number $a = (1) }", flag),
        ("vars { account $a = @b }", flag),
        ("vars { monetary $a = balance(@b, USD/2) }", "nothing"),
        ("vars { monetary $a = balance(@b, USD/2) + [USD/2 1] }", flag),
    ]);
}

#[test]
fn the_header_is_checked_before_the_variables() {
    World::empty().expect(&[(
        "#![feature(\"nonsense\")] vars { number $missing }",
        "InvalidFeature { name: nonsense }",
    )]);
}

#[test]
fn amounts_and_source_addresses_fail_before_the_first_statement() {
    let poor = send("9", "@poor", "@z");
    let missing = "MissingFunds { asset: USD/2, needed: 9, available: 0, account: Some(poor) }";
    let unbound = "UnboundVariable { name: no }";
    World::empty().with(Feature::AssetColors).expect(&[
        (format!("{poor} {}", send("1/0", "@world", "@z")), "DivideByZero { numerator: 1 }"),
        (format!("{poor} {}", send("1", "$no", "@z")), unbound),
        (format!("{poor} {}", send("1", "{ @a max [USD/2 1] from $no }", "@z")), unbound),
        (format!("{poor} {}", send("1", "{ 1/2 from @a remaining from $no }", "@z")), unbound),
        (format!("{poor} {}", send("1", "@world \\ $no", "@z")), unbound),
        (format!("{poor} save [USD/2 $no] from @a"), unbound),
        (format!("{poor} save [USD/2 1] from $no"), unbound),
        // An expression that the balances do not depend on is evaluated later.
        (format!("{poor} {}", send("1", "@world", "$no")), missing),
        (format!("{poor} {}", send("1", "max $no from @a", "@z")), missing),
        (format!("{poor} {}", send("1", "{ $no from @a }", "@z")), missing),
        (format!("{poor} {}", send("1", "$no allowing unbounded overdraft", "@z")), missing),
        (format!("{poor} {}", send("1", "@a allowing overdraft up to $no", "@z")), missing),
        (format!("{poor} {}", send("-1", "@a", "@z")), missing),
        (format!("{poor} set_tx_meta($no, 1)"), missing),
    ]);
}

#[test]
fn the_first_error_leaves_nothing_behind() {
    World::empty().expect(&[(
        format!("set_tx_meta(\"k\", 1) {} {}", send("1", "@world", "@a"), send("2", "@a", "@z")),
        "MissingFunds { asset: USD/2, needed: 2, available: 1, account: Some(a) }",
    )]);
}

#[test]
fn typed_inputs_are_taken_in_the_order_of_the_program() {
    let source = "vars { number $b monetary $m = balance(@x, USD/2) account $a }
        send [USD/2 $b] ( source = @world destination = $a )";
    let world = World::empty();
    let program = Program::new(source, world.features, Mode::Safe).unwrap();
    assert_eq!(program.inputs().collect::<Vec<_>>(), [("b", "number"), ("a", "account")]);
    let values = [Value::Number(7_i64.into()), Value::Account("y".into())];
    let outcome = program.run(&Inputs::Values(&values), &world.records).unwrap();
    assert_eq!(super::describe(&outcome), "world -> y USD/2 7");
    let error = program.run(&Inputs::Values(&values[..1]), &world.records).unwrap_err();
    assert_eq!(super::describe_error(&error.kind), "MissingVariable { name: a }");
}
