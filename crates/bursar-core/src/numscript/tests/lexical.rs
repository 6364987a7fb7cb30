//! The lexical rules: comments, numbers, strings, names, brackets.

use super::super::limits;
use super::{Feature, Mode, World, send};

#[test]
fn blanks_and_line_breaks_have_no_meaning() {
    World::empty().expect(&[
        ("", "nothing"),
        (" \t\r\n ", "nothing"),
        (
            "send[USD/2 1](source=@world\r\n\tdestination=@z)send\n[USD/2\n2](source\n=@world destination=@z)",
            "world -> z USD/2 1; world -> z USD/2 2",
        ),
    ]);
}

#[test]
fn comments_stand_wherever_a_blank_may() {
    World::empty().expect(&[
        ("// alone\n", "nothing"),
        ("/**/", "nothing"),
        ("/* a /* nested */ b */ set_tx_meta(\"k\", 1)", "tx k=1"),
        ("/* // */ set_tx_meta(\"k\", 1)", "tx k=1"),
        ("// /* not open\nset_tx_meta(\"k\", 1)", "tx k=1"),
        ("set_tx_meta(/* key */ \"k\", // value\n 1)", "tx k=1"),
        (
            "set_tx_meta(\"k\", \"// not a comment /* nor this\")",
            "tx k=// not a comment /* nor this",
        ),
        ("/* open", "Parse"),
        ("/* /* one is closed */", "Parse"),
        ("*/", "Parse"),
        ("/*/", "Parse"),
    ]);
}

#[test]
fn numbers_may_group_their_digits() {
    World::empty().expect_value(&[
        ("0", "tx v=0"),
        ("007", "tx v=7"),
        ("1_000_000", "tx v=1000000"),
        ("1_2_3", "tx v=123"),
        ("340282366920938463463374607431768211456", "tx v=340282366920938463463374607431768211456"),
        (
            "-170141183460469231731687303715884105729",
            "tx v=-170141183460469231731687303715884105729",
        ),
        ("1__0", "Parse"),
        ("_1", "Parse"),
        ("1_", "Parse"),
        ("1.5", "Parse"),
        ("+1", "Parse"),
        ("0x10", "Parse"),
        ("1e3", "Parse"),
    ]);
}

#[test]
fn percentages_are_exact() {
    World::empty().expect_value(&[
        ("0%", "tx v=0/1"),
        ("50%", "tx v=1/2"),
        ("12.5%", "tx v=1/8"),
        ("00.10%", "tx v=1/1000"),
        ("100%", "tx v=1/1"),
        ("100.00000000000000000001%", "tx v=10000000000000000000001/10000000000000000000000"),
        ("250%", "tx v=5/2"),
        ("50 %", "Parse"),
        (".5%", "Parse"),
        ("5.%", "Parse"),
        ("1_0%", "Parse"),
        ("1.1_1%", "Parse"),
        ("%", "Parse"),
    ]);
}

#[test]
fn strings_keep_every_byte_between_their_quotes() {
    World::empty().expect_value(&[
        (r#""""#, "tx v="),
        (r#"" two  blanks ""#, "tx v= two  blanks "),
        (r#""żółw 🐢""#, "tx v=żółw 🐢"),
        (r#""a \" b""#, r#"tx v=a \" b"#),
        (r#""\n""#, r"tx v=\n"),
        (r#""\\""#, r"tx v=\\"),
        ("\"open", "Parse"),
        ("\"two\nlines\"", "Parse"),
        ("'single'", "Parse"),
    ]);
}

#[test]
fn accounts_are_segments_joined_by_colons() {
    let row = |account: &str| send("1", "@world", account);
    World::empty().expect(&[
        (row("@a"), "world -> a USD/2 1"),
        (row("@A-b_9:0:-"), "world -> A-b_9:0:- USD/2 1"),
        (row("@7"), "world -> 7 USD/2 1"),
        (row("@ a"), "Parse"),
        (row("@"), "Parse"),
        (row("@a:"), "Parse"),
        (row("@:a"), "Parse"),
        (row("@a::b"), "Parse"),
        (row("@a: b"), "Parse"),
        (row("@a.b"), "Parse"),
        (row("@é"), "Parse"),
        (row("@a$b"), "Parse"),
        (row("a"), "Parse"),
    ]);
}

#[test]
fn variables_are_lower_case() {
    let row = |name: &str| format!("vars {{ number {name} }} set_tx_meta(\"v\", {name})");
    World::empty().given("a_1", "7").given("_", "8").given("a", "9").expect(&[
        (row("$a_1"), "tx v=7"),
        (row("$_"), "tx v=8"),
        (row("$a"), "tx v=9"),
        (row("$A"), "Parse"),
        (row("$aB"), "Parse"),
        (row("$1"), "Parse"),
        (row("$"), "Parse"),
        (row("$ a"), "Parse"),
    ]);
}

#[test]
fn assets_take_the_longest_match() {
    World::empty().expect_value(&[
        ("USD", "tx v=USD"),
        ("U", "tx v=U"),
        ("B2B/18", "tx v=B2B/18"),
        ("USD/2/2", "Type { expected: [Number], value: Asset(USD/2) }"),
        ("1/2", "tx v=1/2"),
        ("usd", "Parse"),
        ("USD/", "Parse"),
        ("USD/x", "Parse"),
        ("USD_X", "Parse"),
    ]);
}

#[test]
fn unary_minus_binds_tighter_than_division_and_that_tighter_than_sums() {
    World::empty().expect_value(&[
        ("10 - 4 - 3", "tx v=3"),
        ("10 - (4 - 3)", "tx v=9"),
        ("1 - -1", "tx v=2"),
        ("--1", "tx v=1"),
        ("-(2 + 3)", "tx v=-5"),
        ("-1/2", "tx v=-1/2"),
        ("1/-2", "tx v=-1/2"),
        ("(1 + 1)/(2 + 1)", "tx v=2/3"),
        ("1 + 1/2", "Type { expected: [Number], value: Portion(1/2) }"),
        ("2 * 3", "Parse"),
        ("(1", "Parse"),
        ("1)", "Parse"),
        ("()", "Parse"),
    ]);
}

#[test]
fn a_monetary_is_an_asset_and_a_whole_expression() {
    World::empty().expect_value(&[
        ("[EUR/2 -100]", "tx v=EUR/2 -100"),
        ("[USD/2 5 - 3]", "tx v=USD/2 2"),
        ("[USD/2 (5)]", "tx v=USD/2 5"),
        ("[ USD 1_000 ]", "tx v=USD 1000"),
        ("[USD/2 1] - [USD/2 4]", "tx v=USD/2 -3"),
        ("-[USD/2 1]", "tx v=USD/2 -1"),
        ("[5 USD/2]", "Type { expected: [Asset], value: Number(5) }"),
        ("[USD/2]", "Parse"),
        ("[USD/2 1 2]", "Parse"),
        ("[USD/2, 1]", "Parse"),
        ("[USD/2 *]", "Parse"),
        ("[]", "Parse"),
    ]);
}

#[test]
fn a_lone_remaining_fits_both_forms_of_destination() {
    World::empty().expect_to(&[
        ("5", "{ remaining to @x }", "world -> x USD/2 5"),
        ("5", "{ remaining kept }", "nothing"),
        ("5", "{ max [USD/2 2] to @x remaining to @y }", "world -> x USD/2 2; world -> y USD/2 3"),
        ("4", "{ 1/2 to @x remaining to @y }", "world -> x USD/2 2; world -> y USD/2 2"),
        ("4", "{ remaining to @x 1/2 to @y }", "world -> x USD/2 2; world -> y USD/2 2"),
        ("5", "{ }", "Parse"),
        ("5", "{ @x }", "Parse"),
        ("5", "{ max [USD/2 2] to @x }", "Parse"),
        ("5", "{ max [USD/2 2] to @x 1/2 to @y }", "Parse"),
        ("5", "{ 1/2 to @x max [USD/2 2] to @y }", "Parse"),
        ("5", "{ remaining to @x max [USD/2 2] to @y }", "Parse"),
        ("5", "{ remaining @x }", "Parse"),
        ("5", "kept", "Parse"),
        ("5", "max [USD/2 2] to @x", "Parse"),
    ]);
}

#[test]
fn a_list_of_sources_may_be_empty_and_an_allotment_may_not_mix() {
    World::empty().with(Feature::OneOf).expect_from(&[
        ("0", "{ }", "nothing"),
        ("*", "{ }", "nothing"),
        ("1", "{ }", "MissingFunds { asset: USD/2, needed: 1, available: 0, account: None }"),
        (
            "2",
            "{ 1/2 from @world remaining from { } }",
            "MissingFunds { asset: USD/2, needed: 1, available: 0, account: None }",
        ),
        ("1", "{ remaining from @world }", "world -> z USD/2 1"),
        ("1", "{ @world 1/2 from @a }", "Parse"),
        ("1", "{ 1/2 from @world @a }", "Parse"),
        ("1", "oneof { }", "Parse"),
        ("1", "oneof @world", "Parse"),
        ("1", "max [USD/2 1] @world", "Parse"),
        ("1", "@world allowing overdraft", "Parse"),
        ("1", "@world allowing unbounded", "Parse"),
        ("1", "@world overdraft up to [USD/2 1]", "Parse"),
        ("1", "@world with scaling", "Parse"),
        ("1", "@world \\", "Parse"),
    ]);
}

#[test]
fn a_program_is_header_variables_statements_in_that_order() {
    let header = "#![feature(\"experimental-oneof\")]";
    let send = send("1", "@world", "@z");
    World::empty().expect(&[
        (format!("{header} vars {{ }} {send}"), "world -> z USD/2 1"),
        (format!("#![feature()] {send}"), "world -> z USD/2 1"),
        (format!("# ! [feature()] {send}"), "Parse"),
        (format!("#![feature(\"experimental-oneof\",)] {send}"), "Parse"),
        (format!("#![feature(experimental-oneof)] {send}"), "Parse"),
        (format!("{header}{header}"), "Parse"),
        (format!("vars {{ }} {header}"), "Parse"),
        (format!("{send} vars {{ }}"), "Parse"),
        (format!("vars {{ }} vars {{ }} {send}"), "Parse"),
        ("vars { number $a, number $b }".to_owned(), "Parse"),
        ("vars { $a }".to_owned(), "Parse"),
        ("vars { number $a".to_owned(), "Parse"),
    ]);
}

#[test]
fn malformed_statements_are_rejected() {
    World::empty().expect(&[
        ("send [USD/2 1] ( destination = @z source = @world )", "Parse"),
        ("send [USD/2 1] ( source = @world )", "Parse"),
        ("send [USD/2 1] ( source = @world destination = @z", "Parse"),
        ("send [USD/2 1] { source = @world destination = @z }", "Parse"),
        ("send ( source = @world destination = @z )", "Parse"),
        ("save [USD/2 1]", "Parse"),
        ("save from @a", "Parse"),
        ("1", "Parse"),
        ("print 1", "Parse"),
        ("set_tx_meta", "Parse"),
        ("set_tx_meta(\"k\", 1,)", "Parse"),
        ("set_tx_meta(\"k\" 1)", "Parse"),
        ("set_tx_meta(,)", "Parse"),
        ("unknown()", "UnboundFunction { name: unknown }"),
        ("overdraft(@a, USD/2)", "UnboundFunction { name: overdraft }"),
    ]);
}

#[test]
fn keywords_are_not_names() {
    for keyword in ["vars", "max", "source", "send", "from", "kept", "feature", "oneof", "with"] {
        assert_eq!(World::empty().run(&format!("{keyword}()")), "Parse", "{keyword}");
    }
}

#[test]
fn the_text_has_a_longest_length() {
    let blank = " ".repeat(limits::SOURCE_BYTES_MAX);
    for mode in [Mode::Safe, Mode::Compat] {
        assert_eq!(World::empty().mode(mode).run(&blank), "nothing");
        assert_eq!(
            World::empty().mode(mode).run(&format!("{blank} ")),
            "ResourceLimit { what: 1 MiB of program text }"
        );
    }
}
