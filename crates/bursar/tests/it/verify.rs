//! `bursar verify`: exploration, counterexamples of injected bugs, and JSON output.

use serde_json::Value;

use crate::bursar::bursar;

fn json(line: &str) -> Value {
    serde_json::from_str(line).unwrap()
}

#[test]
fn verify_finds_every_world_clean() {
    let answer = json(&bursar(&["verify", "--json"]).ok());
    let worlds = answer["worlds"].as_array().unwrap();
    assert_eq!(worlds.len(), 21, "{answer}");
    for world in worlds {
        assert!(world["states"].as_u64() > Some(3), "{world}");
        assert!(!world["rules"].as_array().unwrap().is_empty(), "{world}");
    }
    assert!(answer["states"].as_u64() > Some(250_000), "{answer}");
    assert_eq!(answer["every_state_can_end"], true);
}

#[test]
fn an_injected_bug_is_printed_as_a_counterexample() {
    insta::assert_snapshot!(bursar(&["verify", "--mutate", "release-on-timeout"]).ok());
    let flips = bursar(&["verify", "--mutate", "channel-flips"]).ok();
    assert!(flips.contains("No machine can prevent this"), "{flips}");
    let twice = json(&bursar(&["verify", "--mutate", "payin-booked-twice", "--json"]).ok());
    assert_eq!(twice["breaks"], "P1");
    assert_eq!(twice["story"].as_array().unwrap().len(), 3);
}

#[test]
fn every_mistake_has_a_name_and_a_sentence() {
    let list = bursar(&["verify", "--mutations"]).ok();
    assert_eq!(list, bursar(&["verify", "--mutate", "list"]).ok());
    insta::assert_snapshot!(list);
    let unknown = bursar(&["verify", "--mutate", "no-such-bug"]).refused();
    assert!(unknown.contains("`bursar verify --mutations` lists them"), "{unknown}");
}
