//! `bursar verify` from outside: the worlds, the stories of planted mistakes, and what programs read.

use serde_json::Value;

use crate::bursar::bursar;

fn json(line: &str) -> Value {
    serde_json::from_str(line).unwrap()
}

#[test]
fn verify_finds_every_world_clean() {
    let answer = json(&bursar(&["verify", "--json"]).ok());
    let worlds = answer["worlds"].as_array().unwrap();
    assert_eq!(worlds.len(), 13, "{answer}");
    for world in worlds {
        assert!(world["states"].as_u64() > Some(3), "{world}");
        assert!(!world["rules"].as_array().unwrap().is_empty(), "{world}");
    }
    assert!(answer["states"].as_u64() > Some(250_000), "{answer}");
    assert_eq!(answer["every_state_can_end"], true);
}

#[test]
fn a_planted_mistake_is_told_as_a_story() {
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
    let unknown = bursar(&["verify", "--mutate", "nobody-made-it"]).refused();
    assert!(unknown.contains("`bursar verify --mutations` lists them"), "{unknown}");
}
