//! Numscript against recorded results of the first implementation, through the binary.
//!
//! `generated.jsonl` lives here. Two further files are another project's test data: they are read from
//! `$BURSAR_SHARED` (default `../shared`) and never committed. Without that folder the tests say so; under `CI=true`
//! they fail.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::bursar::bursar;
use crate::scratch::Scratch;

const GENERATED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/generated.jsonl");

/// Cases where the safe behaviour differs from upstream, and the upstream bug that it avoids.
const SAFER: [(&str, &str); 13] = [
    ("gen/2/1078", "7: a zero share gets no leftover unit"),
    ("gen/2/3111", "7: a zero share gets no leftover unit"),
    ("gen/2/3480", "7: a zero share gets no leftover unit"),
    ("gen/2/4488", "8: a negative scale is left alone"),
    ("gen/2/5014", "7: a zero share gets no leftover unit"),
    ("gen/2/5217", "7: a zero share gets no leftover unit"),
    ("gen/3/1257", "7: a zero share gets no leftover unit"),
    ("gen/3/1473", "7: a zero share gets no leftover unit"),
    ("gen/3/269", "7: a zero share gets no leftover unit"),
    ("gen/3/5990", "8: a negative scale is left alone"),
    ("gen/3/945", "7: a zero share gets no leftover unit"),
    ("gen/5/5474", "8: a negative scale is left alone"),
    ("gen/6/4616", "8: a negative scale is left alone"),
];

#[test]
fn generated_programs_give_upstreams_results_with_compat() {
    let cases = read_cases(Path::new(GENERATED));
    assert_eq!(cases.len(), 1_329);
    assert_eq!(differences(Path::new(GENERATED), &["--compat"]), Vec::<String>::new());
}

#[test]
fn without_compat_only_the_known_faults_differ() {
    let expected: Vec<String> = SAFER.iter().map(|(id, _)| (*id).to_owned()).collect();
    assert_eq!(differences(Path::new(GENERATED), &[]), expected);
}

#[test]
fn published_cases_give_upstreams_results() {
    let Some(path) = shared("cases.jsonl") else { return };
    assert_eq!(read_cases(&path).len(), 227);
    assert_eq!(differences(&path, &["--compat"]), Vec::<String>::new());
    assert_eq!(differences(&path, &[]), Vec::<String>::new());
}

#[test]
fn published_portions_are_read_as_upstream_reads_them() {
    let Some(path) = shared("portions.jsonl") else { return };
    let portions = read_cases(&path);
    assert_eq!(portions.len(), 21);
    let lines: Vec<String> = portions
        .iter()
        .map(|portion| {
            let script = "vars { portion $p }\nset_tx_meta(\"p\", $p)\n";
            json!({"id": portion["input"], "script": script, "vars": {"p": portion["input"]}})
                .to_string()
        })
        .collect();
    let scratch = Scratch::new();
    let file = scratch.file("portions.jsonl", &lines.join("\n"));
    let answers = run(Path::new(&file), &["--compat"]);
    for (portion, answer) in portions.iter().zip(&answers) {
        match portion.get("value") {
            Some(value) => assert_eq!(&answer["txMetadata"]["p"], value, "{}", portion["input"]),
            None => {
                assert_eq!(answer["error"]["kind"], "BadPortionParsing", "{}", portion["input"]);
            }
        }
    }
}

/// The ids of the cases whose answer is not the expected one, sorted.
fn differences(path: &Path, options: &[&str]) -> Vec<String> {
    let cases = read_cases(path);
    let answers = run(path, options);
    assert_eq!(cases.len(), answers.len(), "one answer for each case");
    let mut different = Vec::new();
    for (case, answer) in cases.iter().zip(&answers) {
        assert_eq!(case["id"], answer["id"], "answers come in the order of the cases");
        if !fits(&case["expect"], answer) {
            different.push(case["id"].as_str().unwrap().to_owned());
        }
    }
    different.sort();
    different
}

/// Errors are compared by kind; results by the keys that the case lists.
fn fits(expect: &Value, answer: &Value) -> bool {
    if let Some(error) = expect.get("error") {
        return answer["error"]["kind"] == error["kind"];
    }
    answer.get("error").is_none()
        && expect
            .get("postings")
            .is_none_or(|postings| postings_of(postings) == postings_of(&answer["postings"]))
        && ["txMetadata", "accountsMetadata"].iter().all(|key| {
            expect.get(*key).is_none_or(|metadata| metadata.as_object() == answer[*key].as_object())
        })
}

fn postings_of(postings: &Value) -> Vec<BTreeMap<String, String>> {
    let fields = |posting: &Map<String, Value>| {
        posting
            .iter()
            .map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned()))
            .filter(|(name, value)| name != "color" || !value.is_empty())
            .collect()
    };
    postings
        .as_array()
        .unwrap()
        .iter()
        .map(|posting| fields(posting.as_object().unwrap()))
        .collect()
}

fn run(path: &Path, options: &[&str]) -> Vec<Value> {
    let file = path.display().to_string();
    let mut arguments = vec!["numscript", "run", "--cases", &file];
    arguments.extend(options);
    let output = bursar(&arguments).ok();
    output.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn read_cases(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A file of the folder beside the project, if it is there.
fn shared(name: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder =
        std::env::var_os("BURSAR_SHARED").map_or_else(|| root.join("../shared"), PathBuf::from);
    let path = folder.join("data/numscript").join(name);
    if path.exists() {
        return Some(path.canonicalize().unwrap());
    }
    let is_ci = std::env::var_os("CI").is_some_and(|value| value == "true");
    assert!(
        !is_ci,
        "{} is not there: set BURSAR_SHARED to the folder that holds data/numscript",
        path.display()
    );
    println!("{} is not there: its cases were not run", path.display());
    None
}
