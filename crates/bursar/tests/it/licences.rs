//! Every dependency has a licence that `deny.toml` allows, and none is banned there.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

#[test]
fn every_dependency_has_an_allowed_licence() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let rules: toml::Table =
        std::fs::read_to_string(root.join("deny.toml")).unwrap().parse().unwrap();
    let allowed: Vec<&str> = rules["licenses"]["allow"]
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap())
        .collect();
    let banned: Vec<&str> = rules["bans"]["deny"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|ban| ban.get("wrappers").is_none())
        .map(|ban| ban["name"].as_str().unwrap())
        .collect();
    let clarified: BTreeMap<&str, &str> = rules["licenses"]["clarify"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["name"].as_str().unwrap(), it["expression"].as_str().unwrap()))
        .collect();
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version",
            "1",
            "--locked",
            "--filter-platform",
            "x86_64-unknown-linux-gnu",
        ])
        .current_dir(&root)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 30, "the dependencies were listed");
    for package in packages {
        let name = package["name"].as_str().unwrap();
        let said = package["license"].as_str();
        let licence = said.or(clarified.get(name).copied()).unwrap_or("none");
        assert!(
            is_allowed(licence, &allowed),
            "{name} is licensed {licence}, which deny.toml does not allow"
        );
        assert!(!banned.contains(&name), "{name} is banned by deny.toml");
    }
    let names: BTreeMap<&str, &str> = packages
        .iter()
        .map(|package| (package["id"].as_str().unwrap(), package["name"].as_str().unwrap()))
        .collect();
    for ban in rules["bans"]["deny"].as_array().unwrap() {
        let Some(wrappers) = ban.get("wrappers").and_then(toml::Value::as_array) else { continue };
        for node in metadata["resolve"]["nodes"].as_array().unwrap() {
            let name = names[node["id"].as_str().unwrap()];
            let mut needed = node["deps"].as_array().unwrap().iter();
            let uses = needed
                .any(|it| names[it["pkg"].as_str().unwrap()] == ban["name"].as_str().unwrap());
            let may = wrappers.iter().any(|wrapper| wrapper.as_str() == Some(name));
            assert!(!uses || may, "{name} uses {}, which deny.toml does not allow", ban["name"]);
        }
    }
}

#[test]
fn licence_expressions_are_read_as_they_are_meant() {
    let allowed = ["MIT", "Apache-2.0"];
    for (expression, expected) in [
        ("MIT", true),
        ("GPL-3.0", false),
        ("GPL-3.0 OR MIT", true),
        ("GPL-3.0/MIT", true),
        ("GPL-3.0 AND MIT", false),
        ("(GPL-3.0 OR MIT) AND Apache-2.0", true),
        ("(GPL-3.0 OR MIT) AND GPL-2.0", false),
        ("MIT OR Apache-2.0 WITH LLVM-exception", true),
        ("", false),
    ] {
        assert_eq!(is_allowed(expression, &allowed), expected, "{expression}");
    }
}

/// An SPDX expression: `OR` binds looser than `AND`.
fn is_allowed(expression: &str, allowed: &[&str]) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    any_of(&words, allowed)
}

fn any_of(words: &[&str], allowed: &[&str]) -> bool {
    split(words, "OR").into_iter().any(|choice| all_of(choice, allowed))
}

fn all_of(words: &[&str], allowed: &[&str]) -> bool {
    split(words, "AND").into_iter().all(|part| match part {
        ["(", inner @ .., ")"] => any_of(inner, allowed),
        [name] => allowed.contains(name),
        _ => false,
    })
}

/// Cuts at a word, but not inside parentheses.
fn split<'w>(words: &'w [&'w str], at: &str) -> Vec<&'w [&'w str]> {
    let mut depth = 0_i32;
    words
        .split(|word| {
            depth += i32::from(*word == "(") - i32::from(*word == ")");
            depth == 0 && *word == at
        })
        .collect()
}
