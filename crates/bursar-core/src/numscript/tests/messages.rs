//! The error messages: each names the place, the reason and the remedy.

use std::collections::BTreeSet;

use super::super::{check, limits, parse};
use super::{Features, Mode, World, send};

/// The messages of the failing programs, in order.
#[derive(Default)]
struct Messages {
    text: String,
    names: BTreeSet<&'static str>,
}

impl Messages {
    fn add(&mut self, world: &World, script: &str) {
        let error = world.try_run(script).unwrap_err();
        assert!(!error.kind.hint().is_empty());
        self.names.insert(error.kind.name());
        self.text.push_str(&error.render(script, "program.num"));
        self.text.push_str("\n\n");
    }

    fn of(rows: &[(World, String)]) -> Self {
        let mut messages = Self::default();
        for (world, script) in rows {
            messages.add(world, script);
        }
        messages
    }
}

fn plain(script: &str) -> (World, String) {
    (World::empty(), script.to_owned())
}

fn all(script: &str) -> (World, String) {
    (World::empty().with_all(), script.to_owned())
}

fn reading() -> Vec<(World, String)> {
    let mut rows: Vec<_> = [
        "send [USD/2 1] (\n  source = @a\n  destination = @b\n",
        "send [USD/2 1] ( source = @a, destination = @b )",
        "send [USD/2 1.5] ( source = @a destination = @b )",
        "pay @a",
        "/* not closed",
        "set_tx_meta(\"not closed)",
        "set_tx_meta(\"k\", @)",
        "set_tx_meta(\"k\", $1)",
        "set_tx_meta(\"k\", é)",
        "vars { monetary amount }",
        "#![feature(oneof)]",
        "#![feature(\"oneof\")]",
    ]
    .map(plain)
    .into();
    rows.push((World::empty().mode(Mode::Compat), "// the end".to_owned()));
    rows.push(plain(&send("1", &"{".repeat(120), "@z")));
    rows.push(plain(&format!("set_tx_meta(\n  \"k\",\n  {}\n)", "9".repeat(1_001))));
    rows
}

fn variables() -> Vec<(World, String)> {
    let given = |kind: &str, text: &str| {
        (World::empty().given("x", text), format!("vars {{\n  {kind} $x\n}}"))
    };
    vec![
        plain("vars {\n  monetary $x\n}"),
        given("money", "1"),
        given("monetary", "USD"),
        given("number", "12.50"),
        given("portion", "a third"),
        given("portion", "120%"),
        given("portion", "1/0"),
        given("account", "@a"),
        given("asset", "usd"),
        given("string", &"x".repeat(limits::STRING_BYTES_MAX + 1)),
        plain("set_tx_meta(\"k\", $x)"),
        plain("vars { number $x = meta(@a, \"k\") }"),
        plain("vars { number $x = 1 }"),
        all("vars { number $x = meta(@a, \"k\") + 1 }"),
        (World::holding("a USD/2 -5"), "vars { monetary $x = balance(@a, USD/2) }".to_owned()),
    ]
}

fn values() -> Vec<(World, String)> {
    vec![
        plain("set_tx_meta(\"k\", 1 + \"one\")"),
        plain("set_tx_meta(\"k\", @a + 1)"),
        plain("set_tx_meta(\"k\", [USD/2 1] + [EUR/2 1])"),
        plain("set_tx_meta(\"k\", 7/0)"),
        plain("set_tx_meta(\"k\")"),
        plain("set_tx_meta(1, 1)"),
        all("vars { asset $x = get_asset(USD/2, 1) }"),
        all("vars { asset $x = get_asset(USD/2) }"),
        all("vars { number $x = sum(1, 2) }"),
        plain("refund(@a)"),
        (
            World::empty().with_all().given("c", "USD/2"),
            "vars { asset $c }\nsend [USD/2 1] ( source = @world destination = @fees:$c )"
                .to_owned(),
        ),
        (
            World::empty().with_all().given("s", "no good"),
            "vars { string $s }\nsend [USD/2 1] ( source = @world destination = @users:$s )"
                .to_owned(),
        ),
        all(&send("1", "@a \\ \"red\"", "@z")),
    ]
}

fn movements() -> Vec<(World, String)> {
    let held = || World::holding("a USD/2 3").with_all();
    vec![
        (held(), send("10", "@a", "@z")),
        (
            held(),
            "send [USD/2 10] (\n  source = {\n    @a\n    @b\n  }\n  destination = @z\n)"
                .to_owned(),
        ),
        (held(), send("10", "{ 1/2 from @a 1/2 from @world }", "@z")),
        (held(), send("-1", "@a", "@z")),
        (held(), "save [USD/2 -1] from @a".to_owned()),
        (held(), send("1", "max [EUR/2 1] from @a", "@z")),
        (held(), send("9", "@world", "{ 1/3 to @x 1/3 to @y }")),
        (held(), send("9", "@world", "{ 3/2 to @x remaining to @y }")),
        (held(), send("9", "@world", "{ remaining to @x remaining to @y }")),
        (held(), send("*", "{ 1/2 from @a 1/2 from @b }", "@z")),
        (held(), send("*", "{ @a @world }", "@z")),
        (held(), send("1", "@none with scaling through @s", "@z")),
        plain(&send("1", "oneof { @a @b }", "@z")),
        plain(
            "set_tx_meta(\"k\", 1)\nsend [ABCDEFGHIJKLMNOPQR 1] (\n  source = @world\n  destination = @z\n)",
        ),
    ]
}

fn limits_of_a_run() -> Vec<(World, String)> {
    let long = World::empty().with_all().given("n", &"9".repeat(1_000));
    let lines: Vec<_> = (0..25).map(|at| format!("  1/($n - {at}) to @x\n")).collect();
    let shared = send("1", "@world", &format!("{{\n{}}}", lines.concat()));
    let ratios = "  portion $p = $n/($n - 1)\n".repeat(5_000);
    let texts = "set_tx_meta(\"k\", $n)\n".repeat(1_100);
    let scaled = || World::holding("a USD/2000 1, b USD 1").with_all();
    let steps: Vec<_> = ["@b", "@c", "@d", "@e", "@f", "@g"]
        .windows(2)
        .zip(1..)
        .map(|(pair, at)| {
            let (from, to, scale) = (pair[0], pair[1], at * 1_000);
            let source = format!("{from} with scaling through @s");
            format!("send [USD/{scale} *] ( source = {source} destination = {to} )\n")
        })
        .collect();
    vec![
        plain(&" ".repeat(limits::SOURCE_BYTES_MAX + 1)),
        (long.clone(), format!("vars {{ number $n }}\n{shared}")),
        (long.clone(), format!("vars {{\n  number $n\n{ratios}}}\n")),
        (long, format!("vars {{ number $n }}\n{texts}")),
        (scaled(), send("1", "@a with scaling through @s", "@z")),
        (scaled(), steps.concat()),
    ]
}

#[test]
fn a_program_that_cannot_be_read_says_where() {
    insta::assert_snapshot!(Messages::of(&reading()).text);
}

#[test]
fn a_variable_that_cannot_be_bound_says_why() {
    insta::assert_snapshot!(Messages::of(&variables()).text);
}

#[test]
fn a_value_that_does_not_fit_says_what_would() {
    insta::assert_snapshot!(Messages::of(&values()).text);
}

#[test]
fn a_movement_that_is_refused_says_what_it_means_for_the_money() {
    insta::assert_snapshot!(Messages::of(&movements()).text);
}

#[test]
fn a_program_beyond_the_limits_says_which() {
    // The text that is too long is not shown.
    insta::assert_snapshot!(Messages::of(&limits_of_a_run()[1..]).text);
}

#[test]
fn every_kind_of_error_has_its_message_here() {
    let rows = [reading(), variables(), values(), movements(), limits_of_a_run()].concat();
    let names: Vec<_> = Messages::of(&rows).names.into_iter().collect();
    insta::assert_snapshot!(names.join("\n"));
}

const FLAWED: [&str; 25] = [
    "vars {\n  number $unused\n}",
    "vars {\n  number $x\n  number $x\n}\nset_tx_meta(\"k\", $x)",
    "set_tx_meta(\"k\", $none)",
    "vars {\n  money $x\n}\nset_tx_meta(\"k\", $x)",
    "send 10 ( source = @a destination = @b )",
    "vars {\n  number $x\n}\nsend [USD/2 1] ( source = $x destination = @b )",
    "vars {\n  asset $x\n}\nsend [USD/2 1] ( source = @a destination = @fees:$x )",
    "set_tx_meta(\"k\", [USD/2 1] + [EUR/2 1])",
    "send [USD/2 1] ( source = max [EUR/2 1] from @a destination = @b )",
    "set_tx_meta(\"k\")",
    "set_tx_meta(\"k\", sum(1, 2))",
    "balance(@a, USD/2)",
    "refund(@a)",
    "vars {\n  number $x = meta(@a, \"k\") + 1\n}\nset_tx_meta(\"k\", $x)",
    "#![feature(\"oneof\")]",
    "send [USD/2 1] ( source = { @world @a } destination = @b )",
    "send [USD/2 1] ( source = { @a @b @a } destination = @c )",
    "send [USD/2 1] ( source = @world destination = { 1/3 to @x 1/3 to @y } )",
    "send [USD/2 1] ( source = @world destination = { 3/2 to @x remaining to @y } )",
    "send [USD/2 1] ( source = @world destination = { remaining to @x 1/3 to @y remaining to @z } )",
    "send [USD/2 1] ( source = @world destination = { remaining to @x 1/3 to @y } )",
    "send [USD/2 1] ( source = @world destination = { 1/3 to @x 2/3 to @y remaining to @z } )",
    "send [USD/2 *] ( source = { @a @world } destination = @b )",
    "send [USD/2 *] ( source = @a allowing unbounded overdraft destination = @b )",
    "send [USD/2 *] ( source = { 1/2 from @a 1/2 from @b } destination = @c )",
];

const EXPERIMENTAL: [&str; 7] = [
    "send [USD/2 1] ( source = oneof { @a @b } destination = @c )",
    "send [USD/2 1] ( source = @a destination = oneof { max [USD/2 1] to @b remaining kept } )",
    "send [USD/2 1] ( source = @a \\ \"RED\" destination = @b )",
    "send [USD/2 1] ( source = @a with scaling through @s destination = @b )",
    "vars {\n  string $x\n}\nsend [USD/2 1] ( source = @a destination = @fees:$x )",
    "set_tx_meta(\"k\", balance(@a, USD/2))",
    "vars {\n  asset $x = get_asset([USD/2 1])\n  monetary $y = overdraft(@a, USD/2)\n}\nset_tx_meta(\"k\", $x)\nset_tx_meta(\"l\", $y)",
];

fn findings(scripts: &[&str], features: Features) -> (String, BTreeSet<&'static str>) {
    let mut text = String::new();
    let mut codes = BTreeSet::new();
    for script in scripts {
        let findings = check(&parse(script, Mode::Safe).unwrap(), features, Mode::Safe);
        assert!(!findings.is_empty(), "{script}");
        for finding in findings {
            codes.insert(finding.code);
            text.push_str(&finding.render(script, "program.num"));
            text.push_str("\n\n");
        }
    }
    (text, codes)
}

#[test]
fn the_checker_says_what_is_wrong_with_a_program() {
    insta::assert_snapshot!(findings(&FLAWED, Features::ALL).0);
}

#[test]
fn the_checker_names_the_feature_that_is_missing() {
    insta::assert_snapshot!(findings(&EXPERIMENTAL, Features::NONE).0);
}

#[test]
fn every_finding_of_the_checker_is_shown_here() {
    let mut codes = findings(&FLAWED, Features::ALL).1;
    codes.extend(findings(&EXPERIMENTAL, Features::NONE).1);
    assert_eq!(
        codes.into_iter().collect::<Vec<_>>(),
        [
            "allotment-in-send-all",
            "allotment-sum",
            "asset-mismatch",
            "duplicate-remaining",
            "duplicate-variable",
            "emptied-account",
            "misplaced-remaining",
            "missing-feature",
            "nested-meta",
            "redundant-remaining",
            "type-mismatch",
            "unbound-variable",
            "unbounded-in-send-all",
            "unknown-feature",
            "unknown-function",
            "unknown-type",
            "unreachable-source",
            "unused-variable",
            "wrong-arity",
        ]
    );
}

#[test]
fn a_sound_program_has_no_findings() {
    let script = "vars { monetary $m account $to }
        send $m ( source = { @a @b allowing overdraft up to [USD/2 5] @world } destination = { 1/3 to $to remaining kept } )
        save [USD/2 *] from @a
        set_tx_meta(\"k\", $m)";
    assert_eq!(check(&parse(script, Mode::Safe).unwrap(), Features::NONE, Mode::Safe), []);
}
