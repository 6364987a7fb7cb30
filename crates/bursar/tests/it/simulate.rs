//! `bursar simulate`.

use crate::bursar::bursar;

/// The seeds of CI: every invariant holds, and together they cover everything that is expected.
#[test]
fn two_hundred_seeds_hold_and_meet_everything_that_is_expected() {
    let output = bursar(&["simulate", "--seeds", "0..200", "--coverage"]).ok();
    let last = output.lines().last().unwrap();
    assert!(last.starts_with("200 seeds, "), "{last}");
    assert!(last.ends_with(" checks: every invariant held"), "{last}");
}

#[test]
fn a_seed_is_traced_line_by_line_and_again_the_same() {
    let arguments =
        ["simulate", "--seed", "7", "--payouts", "3", "--days", "1", "--faults", "all", "--trace"];
    let (first, second) = (bursar(&arguments).ok(), bursar(&arguments).ok());
    assert_eq!(first, second);
    assert!(first.lines().count() > 20 && first.contains("saves new -> "), "{first}");
}

#[test]
fn seeds_are_reported_in_order_as_json() {
    let output = bursar(&["simulate", "--seeds", "20..26", "--payouts", "2", "--json"]).ok();
    let lines: Vec<serde_json::Value> =
        output.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let seeds: Vec<u64> = lines.iter().filter_map(|line| line["seed"].as_u64()).collect();
    assert_eq!(seeds, [20, 21, 22, 23, 24, 25]);
    assert_eq!(lines.last().unwrap()["seeds"], 6);
    assert!(
        lines
            .iter()
            .all(|line| line["broken"].is_null() || line["broken"] == serde_json::json!([]))
    );
}

#[test]
fn an_injected_bug_is_printed_with_its_command_and_a_short_trace() {
    let run = bursar(&["simulate", "--seeds", "0..40", "--plant", "store-drops-events"]);
    assert_eq!(run.code, 1);
    for words in
        ["breaks events-without-gap", "repeat it: bursar simulate --seed ", "as small as it gets: "]
    {
        assert!(run.stdout.contains(words), "{words}: {}", run.stdout);
    }
    let small =
        run.stdout.lines().find_map(|line| line.strip_prefix("as small as it gets: bursar "));
    let again = bursar(&small.unwrap().split(' ').collect::<Vec<_>>());
    assert!(again.stdout.contains("breaks events-without-gap"), "{}", again.stdout);
    assert!(again.refused().contains("No real money was touched"));
}

#[test]
fn what_can_go_wrong_is_listed_and_what_is_not_listed_is_refused() {
    assert!(bursar(&["simulate", "--plant", "list"]).ok().contains("host-ignores-leases"));
    assert!(bursar(&["simulate", "--faults", "list"]).ok().contains("crash-before-save"));
    for arguments in [["--faults", "rain"], ["--plant", "weeds"]] {
        let refused = bursar(&[&["simulate"], &arguments[..]].concat()).refused();
        assert!(refused.contains("there is no ") && refused.contains("`list`"), "{refused}");
    }
    let refused = bursar(&["simulate", "--seeds", "9..3"]).refused();
    assert!(refused.contains("0..200"), "{refused}");
}

/// Too few seeds cannot cover everything.
#[test]
fn a_run_that_has_not_met_what_is_expected_fails() {
    let refused = bursar(&["simulate", "--seed", "1", "--payouts", "1", "--coverage"]).refused();
    assert!(refused.contains("did not meet ") && refused.contains("fault "), "{refused}");
}
