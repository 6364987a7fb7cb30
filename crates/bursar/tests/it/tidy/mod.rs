//! The rules of CONTRIBUTING.md, as tests.

mod domains;
mod words;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Which of our crates each crate may use. A crate that is not listed fails the test, so that its arrows are chosen
/// and not found.
const ARROWS: [(&str, &[&str]); 11] = [
    ("bursar-core", &[]),
    ("bursar-store", &["bursar-core"]),
    ("bursar-connect", &["bursar-core"]),
    ("bursar-engine", &["bursar-core", "bursar-store"]),
    ("bursar-server", &["bursar-connect", "bursar-core", "bursar-store"]),
    ("bursar-temporal", &["bursar-core"]),
    ("bursar-sim", &["bursar-core", "bursar-engine", "bursar-store"]),
    (
        "bursar-node",
        &[
            "bursar-connect",
            "bursar-core",
            "bursar-engine",
            "bursar-server",
            "bursar-store",
            "bursar-temporal",
        ],
    ),
    (
        "bursar-bench",
        &[
            "bursar-connect",
            "bursar-core",
            "bursar-engine",
            "bursar-node",
            "bursar-server",
            "bursar-store",
            "bursar-temporal",
        ],
    ),
    (
        "bursar-demo",
        &["bursar-connect", "bursar-core", "bursar-node", "bursar-server", "bursar-store"],
    ),
    (
        "bursar",
        &[
            "bursar-bench",
            "bursar-connect",
            "bursar-core",
            "bursar-demo",
            "bursar-node",
            "bursar-server",
            "bursar-sim",
            "bursar-store",
            "bursar-temporal",
        ],
    ),
];

/// What the core may depend on: nothing that reads, waits, draws or logs.
const CORE_DEPENDENCIES: [&str; 12] = [
    "annotate-snippets",
    "csv",
    "iso_currency",
    "jiff",
    "num-bigint",
    "num-integer",
    "num-traits",
    "serde",
    "serde_json",
    "sha2",
    "thiserror",
    "uuid",
];

const LINES_MAX: usize = 400;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// All Rust files, with their paths from the root.
fn sources() -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![root().join("crates")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(root()).unwrap().display().to_string();
                found.push((name, std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    assert!(found.len() > 20, "the sources are where this test looks for them");
    found.sort();
    found
}

fn manifest(name: &str) -> toml::Table {
    let path = root().join("crates").join(name).join("Cargo.toml");
    std::fs::read_to_string(path).unwrap().parse().unwrap()
}

/// Everything that a crate depends on, in sections of this kind, whatever the platform.
fn dependencies(manifest: &toml::Table, section: &str) -> BTreeSet<String> {
    let targets = manifest.get("target").and_then(toml::Value::as_table).into_iter().flatten();
    let of_targets = targets.filter_map(|(_, target)| target.get(section));
    let tables = manifest.get(section).into_iter().chain(of_targets);
    tables.flat_map(|table| table.as_table().unwrap().keys().cloned()).collect()
}

#[test]
fn crates_depend_only_downwards() {
    let mut folders: Vec<String> = std::fs::read_dir(root().join("crates"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    folders.sort();
    let mut known: Vec<&str> = ARROWS.iter().map(|(name, _)| *name).collect();
    known.sort_unstable();
    assert_eq!(folders, known, "every crate has its arrows in this test");
    for (name, allowed) in ARROWS {
        let manifest = manifest(name);
        let ours: Vec<String> = ["dependencies", "dev-dependencies", "build-dependencies"]
            .iter()
            .flat_map(|section| dependencies(&manifest, section))
            .filter(|dependency| known.contains(&dependency.as_str()))
            .collect();
        for dependency in &ours {
            assert!(
                allowed.contains(&dependency.as_str()),
                "{name} must not depend on {dependency}"
            );
        }
    }
}

/// `bulk` writes rows without a decision and without a check.
#[test]
fn only_benchmarks_write_rows_in_bulk() {
    for (name, text) in sources() {
        let may = name.starts_with("crates/bursar-bench/") || name.ends_with("/tidy/mod.rs");
        assert!(
            may || !text.contains("bursar_store::bulk"),
            "{name} must not use bursar_store::bulk"
        );
    }
}

#[test]
fn the_core_depends_on_values_only() {
    let expected: BTreeSet<String> =
        CORE_DEPENDENCIES.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(dependencies(&manifest("bursar-core"), "dependencies"), expected);
}

#[test]
fn files_stay_small() {
    for (name, text) in sources() {
        let lines = text.lines().count();
        assert!(lines <= LINES_MAX, "{name} has {lines} lines: look for the second idea in it");
    }
}

#[test]
fn every_module_says_what_it_is_for() {
    for (name, text) in sources() {
        assert!(
            text.starts_with("//! "),
            "{name} does not begin with a line that says what it is for"
        );
    }
}

#[test]
fn no_file_is_named_after_nothing() {
    for (name, _) in sources() {
        let stem = Path::new(&name).file_stem().unwrap().to_str().unwrap().to_owned();
        let vague = ["utils", "util", "helpers", "helper", "common", "manager", "types", "misc"];
        assert!(!vague.contains(&stem.as_str()), "{name}: name the file after what is in it");
    }
}

#[test]
fn nothing_is_left_for_later() {
    let marks =
        [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X:"), concat!("#[ig", "nore")];
    for (name, text) in sources() {
        for mark in marks {
            assert!(
                !text.contains(mark),
                "{name} contains {mark}: do it now, or write it down as an issue"
            );
        }
    }
}

#[test]
fn snapshots_belong_to_a_test() {
    let all_sources: String = sources().into_iter().map(|(_, text)| text).collect();
    let mut folders = vec![root().join("crates")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if path.is_dir() {
                folders.push(path);
            } else if let Some(stem) = name.strip_suffix(".snap") {
                let function = stem.rsplit("__").next().unwrap();
                let function = function.split('-').next().unwrap();
                assert!(all_sources.contains(&format!("fn {function}")), "{name} has no test");
            }
        }
    }
}

/// The walk and the invariants cite files and tests; both must be there.
#[test]
fn the_map_names_what_exists() {
    let map = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let all_sources: String = sources().into_iter().map(|(_, text)| text).collect();
    let mut cited = 0;
    for word in map.split('`').skip(1).step_by(2) {
        // `core/src/…` is short for `crates/bursar-core/src/…`.
        let path = match word.split_once("/src") {
            Some(("bursar", rest)) => format!("crates/bursar/src{rest}"),
            Some((name, rest)) if !name.contains('/') => format!("crates/bursar-{name}/src{rest}"),
            _ => word.to_owned(),
        };
        if path.starts_with("crates/") {
            cited += 1;
            assert!(
                root().join(&path).exists(),
                "ARCHITECTURE.md cites {word}, which is not there"
            );
        } else if word.matches('_').count() >= 3 {
            cited += 1;
            assert!(
                all_sources.contains(&format!("fn {word}")),
                "ARCHITECTURE.md cites the test {word}, which is not there"
            );
        }
    }
    assert!(cited > 80, "the map cites its files and tests in backticks");
}
