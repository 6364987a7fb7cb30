//! Programs that try to exhaust the stack, the memory or the time. Each ends soon, with a value or a refusal.

use std::fmt::Write as _;

use super::super::{check, limits, parse};
use super::{Features, Mode, World, send};

/// Parses, checks and runs in both modes; returns the result of safe mode.
fn survive(world: &World, script: &str) -> String {
    for mode in [Mode::Safe, Mode::Compat] {
        if let Ok(parsed) = parse(script, mode) {
            check(&parsed, Features::ALL, Mode::Safe);
        }
    }
    world.clone().mode(Mode::Compat).run(script);
    world.run(script)
}

/// `count` lines made by `line`, as one text.
fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).fold(String::new(), |mut text, at| {
        writeln!(text, "{}", line(at)).unwrap();
        text
    })
}

/// A name of letters only, different for each number.
fn name(mut at: usize) -> String {
    let mut text = String::new();
    for _ in 0..4 {
        text.push(char::from(b'a' + u8::try_from(at % 26).unwrap()));
        at = at.div_euclid(26);
    }
    text
}

#[test]
fn deep_nesting_is_refused() {
    let deep = |open: &str| open.repeat(100_000);
    for script in [
        send("1", &deep("{"), "@z"),
        send("1", "@world", &deep("{ remaining to ")),
        send("1", &deep("oneof { "), "@z"),
        send("1", &"max [USD/2 1] from ".repeat(50_000), "@z"),
        send("1", "@world", &deep("{ 1/2 to ")),
        send(&deep("("), "@world", "@z"),
        send(&deep("-"), "@world", "@z"),
        send(&(deep("-") + "1"), "@world", "@z"),
        send("1", &deep("("), "@z"),
        format!("send {}", deep("[")),
        format!("send {}", deep("[USD/2 ")),
        format!("set_tx_meta(\"k\", {}", deep("f(")),
        format!("set_tx_meta(\"k\", {}", deep("overdraft(")),
        format!("vars {{ number $a = {}", deep("-(")),
    ] {
        let found = survive(&World::empty().with_all(), &script);
        assert!(found == "Parse" || found.starts_with("ResourceLimit"), "{found}");
    }
}

#[test]
fn nesting_within_the_limit_runs() {
    let depth = limits::DEPTH_MAX - 10;
    let source = "{".repeat(depth - 1) + "@world" + &"}".repeat(depth - 1);
    let number = "(".repeat(depth - 1) + "1" + &")".repeat(depth - 1);
    let destination = "{ remaining to ".repeat(depth - 1) + "@z" + &"}".repeat(depth - 1);
    for script in [
        send("1", &source, "@z"),
        send(&number, "@world", "@z"),
        send(&("-".repeat(depth & !1) + "1"), "@world", "@z"),
        send("1", "@world", &destination),
    ] {
        assert_eq!(survive(&World::empty(), &script), "world -> z USD/2 1");
    }
}

#[test]
fn block_comments_nest_without_a_stack() {
    let (open, close) = ("/*".repeat(100_000), "*/".repeat(100_000));
    assert_eq!(survive(&World::empty(), &format!("{open}{close}")), "nothing");
    assert_eq!(survive(&World::empty(), &open), "Parse");
    assert_eq!(survive(&World::empty(), &close), "Parse");
}

#[test]
fn long_sums_and_quotients_are_flat() {
    let world = World::empty();
    let sum = format!("1{}", "+1".repeat(50_000));
    assert_eq!(survive(&world, &send(&sum, "@world", "@z")), "world -> z USD/2 50001");
    let ratio = format!("set_tx_meta(\"k\", 1{})", "/1".repeat(50_000));
    assert_eq!(survive(&world, &ratio), "Type { expected: [Number], value: Portion(1/1) }");
    let alternating = format!("1{}", "- -1".repeat(50_000));
    assert_eq!(survive(&world, &send(&alternating, "@world", "@z")), "world -> z USD/2 50001");
}

#[test]
fn long_numbers_are_refused_everywhere() {
    let digits = "9".repeat(1_000_000);
    let world = World::empty();
    assert_eq!(survive(&world, &send(&digits, "@world", "@z")), "Parse");
    assert_eq!(survive(&world, &format!("set_tx_meta(\"k\", {digits}%)")), "Parse");
    assert_eq!(survive(&world, &format!("set_tx_meta(\"k\", 0.{digits}%)")), "Parse");
    let underscores = "9_".repeat(500_000) + "9";
    assert_eq!(survive(&world, &send(&underscores, "@world", "@z")), "Parse");
    for (kind, text) in [
        ("number", digits.clone()),
        ("number", format!("-{digits}")),
        ("monetary", format!("USD/2 {digits}")),
        ("portion", format!("{digits}%")),
        ("portion", format!("1/{digits}")),
        ("account", digits.clone()),
        ("asset", format!("USD/{digits}")),
        ("string", digits.clone()),
    ] {
        let found = world.clone().given("x", &text).run(&format!("vars {{ {kind} $x }}"));
        assert_eq!(found, "ResourceLimit { what: a string of at most 64 KiB }", "{kind}");
    }
}

#[test]
fn the_longest_numbers_still_work() {
    let digits = "9".repeat(limits::DIGITS_MAX);
    let found = survive(&World::empty(), &send(&digits, "@world", "@z"));
    assert_eq!(found, format!("world -> z USD/2 {digits}"));
    let found = World::empty().given("x", &format!("{digits}9")).run("vars { number $x }");
    assert!(found.starts_with("InvalidNumberLiteral"), "{found}");
}

#[test]
fn an_error_about_a_long_text_is_short() {
    let long = "x".repeat(60_000);
    let given = ["number", "monetary", "portion", "account", "asset"]
        .map(|kind| format!("vars {{ {kind} $x }}"));
    let written = [
        format!("set_tx_meta(\"k\", 1 + \"{long}\")"),
        format!("send \"{long}\" \"{long}\""),
        format!("#![feature(\"{long}\")]"),
        send("1", &format!("@{long}"), "@z"),
        send("1", &format!("@a \\ \"{long}\""), "@z"),
        format!("vars {{ number $n = meta(@a, \"{long}\") }}"),
    ];
    for script in given.iter().chain(&written) {
        let world = World::empty().with_all().given("x", &long);
        let message = world.try_run(script).unwrap_err().render(script, "a.num");
        assert!(message.len() < 2_000, "{} bytes: {message:.300}", message.len());
    }
}

#[test]
fn shares_with_huge_distinct_denominators_are_refused() {
    let shares = lines(900, |at| format!("1/{}{:04} from @world", "7".repeat(990), at * 2 + 1));
    let found = survive(&World::empty(), &send("1", &format!("{{ {shares} }}"), "@z"));
    assert_eq!(found, "ResourceLimit { what: shares with smaller denominators }");
}

#[test]
fn many_shares_with_huge_denominators_cost_steps() {
    let mut world = World::empty().with_all();
    let mut vars = String::new();
    for at in 0..15 {
        let text = format!("1/{}{:04}", "7".repeat(990), at * 2 + 1);
        world = world.given(&name(at), &text);
        write!(vars, "portion ${} ", name(at)).unwrap();
    }
    let shares = lines(50_000, |at| format!("${} from @world", name(at % 15)));
    let script = format!("vars {{ {vars} }} {}", send("1", &format!("{{ {shares} }}"), "@z"));
    let found = survive(&world, &script);
    assert_eq!(found, "ResourceLimit { what: 2,000,000 steps }");
}

#[test]
fn many_small_shares_run() {
    let shares = lines(20_000, |_| "1/20000 to @x".to_owned());
    let found = survive(&World::empty(), &send("20000", "@world", &format!("{{ {shares} }}")));
    assert_eq!(found.matches("world -> x USD/2 1").count(), 20_000);
}

#[test]
fn reducing_long_fractions_costs_steps() {
    let (numerator, denominator) = ("7".repeat(999), "3".repeat(999));
    let world = World::empty().with_all().given("n", &numerator).given("d", &denominator);
    let script = lines(40_000, |_| "set_tx_meta(\"k\",$n/$d)".to_owned());
    let found = survive(&world, &format!("vars {{ number $n number $d }} {script}"));
    assert!(found.starts_with("ResourceLimit"), "{found}");
}

#[test]
fn far_scales_are_refused() {
    for balances in ["a USD/999999 5", "a USD 5, b USD/999999 1", "a USD/4294967295 1"] {
        let world = World::holding(balances).with_all();
        for asset in ["USD/2", "USD/999999", "USD/99999999999999999999"] {
            for sent in ["1", "*"] {
                let script = format!(
                    "send [{asset} {sent}] ( source = @a with scaling through @s destination = @z )"
                );
                survive(&world, &script);
            }
        }
    }
    let found = World::holding("a USD 5")
        .with_all()
        .run("send [USD/999999 1] ( source = @a with scaling through @s destination = @z )");
    assert_eq!(found, "ResourceLimit { what: scales at most 1,000 apart }");
}

#[test]
fn scaling_in_steps_does_not_grow_without_end() {
    let script = lines(900, |at| {
        let (here, next) = (name(at), name(at + 1));
        let scale = (at + 1) * 1_000;
        format!("send [USD/{scale} *] (source=@{here} with scaling through @s destination=@{next})")
    });
    let found = survive(&World::holding("aaaa USD 1").with_all(), &script);
    assert!(found.starts_with("ResourceLimit"), "{}", found.len());
}

#[test]
fn many_rows_of_a_scaled_account_cost_steps() {
    let credits = lines(2_000, |at| format!("send [A{at} 1] (source=@world destination=@a)"));
    let scaled = lines(2_000, |_| {
        "send [USD/2 0] (source=@a with scaling through @s destination=@z)".to_owned()
    });
    let found = survive(&World::holding("a USD/2 1").with_all(), &(credits + &scaled));
    assert!(found.starts_with("ResourceLimit"), "{}", found.len());
}

#[test]
fn addresses_do_not_grow_huge() {
    let long = "x".repeat(1_000);
    let world = World::empty().with_all().given("s", &long).given("a", &long);
    let vars = "vars { string $s account $a }";
    let address = format!("@u{}", ":$s".repeat(100_000));
    for script in [send("1", "@world", &address), send("1", &address, "@z")] {
        let found = survive(&world, &format!("{vars} {script}"));
        assert!(found.starts_with("InvalidAccountName"), "{found}");
        assert!(found.len() < 3 * limits::ADDRESS_BYTES_MAX, "{}", found.len());
    }
    let statements = lines(5_000, |at| format!("send[A {at}](source=@world destination=@$a)"));
    let found = survive(&world, &format!("{vars} {statements}"));
    assert_eq!(found.matches(&long).count(), 4_999);
    let literal = send("1", "@world", &format!("@{}", "x".repeat(1_000_000)));
    assert!(survive(&world, &literal).starts_with("InvalidAccountName"));
}

#[test]
fn metadata_bombs_are_refused() {
    let text = "x".repeat(limits::STRING_BYTES_MAX);
    let world = World::empty().with_all().given("s", &text).given("n", &"9".repeat(1_000));
    let vars = "vars { string $s number $n }";
    for line in [
        "set_tx_meta(\"k\", $s)",
        "set_tx_meta($s, 1)",
        "set_account_meta(@a, \"k\", $s)",
        "set_account_meta(@a, $s, $s)",
        "set_tx_meta(\"k\", $n)",
    ] {
        let found = survive(&world, &format!("{vars} {}", lines(2_000, |_| line.to_owned())));
        assert_eq!(found, "ResourceLimit { what: 1 MiB of metadata }", "{line}");
    }
}

#[test]
fn doubling_variables_stay_within_memory() {
    let variables = lines(30_000, |at| match at {
        0 => format!("number ${} = 1", name(0)),
        at => format!("number ${} = ${}+${}", name(at), name(at - 1), name(at - 1)),
    });
    let last = name(29_999);
    let world = World::empty().with_all();
    let found = survive(&world, &format!("vars {{ {variables} }} set_tx_meta(\"k\", ${last})"));
    assert!(found.starts_with("tx k=") || found.starts_with("ResourceLimit"));
    let address = send("1", "@world", &format!("@u:${last}"));
    let found = survive(&world, &format!("vars {{ {variables} }} {address}"));
    assert!(found.starts_with("InvalidAccountName"), "{}", found.len());
}

#[test]
fn programs_of_many_statements_run() {
    let script = lines(20_000, |at| {
        format!(
            "send[A {}](source=@{} destination=@{})",
            1,
            if at == 0 { "world".to_owned() } else { name(at) },
            name(at + 1)
        )
    });
    assert!(script.len() < limits::SOURCE_BYTES_MAX);
    let found = survive(&World::empty(), &script);
    assert_eq!(found.matches("->").count(), 20_000);
    let shared = lines(5_000, |_| "send[A 1](source={@a @b @world}destination=@a)".to_owned());
    assert_eq!(survive(&World::empty(), &shared).matches("->").count(), 5_000);
    let kept = lines(3_000, |_| {
        "send[A 9](source=oneof{@a @b @world}destination={1/2 to@a remaining kept})".to_owned()
    });
    assert_eq!(survive(&World::empty().with_all(), &kept).matches("->").count(), 3_000);
}

#[test]
fn wide_sources_and_destinations_run() {
    let sources = lines(20_000, |at| format!("@{}", name(at)));
    let found = survive(&World::empty(), &send("1", &format!("{{ {sources} @world }}"), "@z"));
    assert_eq!(found, "world -> z USD/2 1");
    let found = survive(
        &World::empty().with_all(),
        &send("1", &format!("oneof {{ {sources} @world }}"), "@z"),
    );
    assert_eq!(found, "world -> z USD/2 1");
    let pieces = lines(10_000, |_| "max[USD/2 1]from@world".to_owned());
    assert_eq!(
        survive(&World::empty(), &send("10000", &format!("{{ {pieces} }}"), "@z")),
        "world -> z USD/2 10000"
    );
    let caps = lines(10_000, |_| "max[USD/2 1]to@z".to_owned());
    let found =
        survive(&World::empty(), &send("10000", "@world", &format!("{{ {caps} remaining kept }}")));
    assert_eq!(found.matches("->").count(), 10_000);
}

#[test]
fn a_message_about_a_huge_program_is_rendered() {
    let long_line = format!("set_tx_meta(\"{}\", $none)", "x".repeat(1_000_000));
    let many_lines = "\n".repeat(1_000_000) + "$";
    for script in [long_line, many_lines, "\u{0}".to_owned(), "é".repeat(100_000)] {
        let error = World::empty().try_run(&script).unwrap_err();
        assert!(error.render(&script, "hostile.num").contains("hostile.num"));
    }
}
