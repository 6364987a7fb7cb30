//! Plain technical English: words without a technical subject, and names that were retired.

use std::path::Path;

use super::{root, sources};

/// The subject of a sentence is a part of the system or a role.
const VAGUE: [&str; 4] = ["whoever", "nobody", "somebody", "anybody"];

/// Names of an earlier vocabulary that have a term of the field now.
const RETIRED: [&str; 21] = [
    "Apart",
    "Blame",
    "CameBack",
    "Carried",
    "CalledOff",
    "Courier",
    "Deadlettered",
    "Driven",
    "Errand",
    "ErrandKind",
    "FlowReply",
    "HOUSE",
    "Lifter",
    "NodeOffice",
    "Office",
    "Parcel",
    "Parked",
    "Payee",
    "Ruling",
    "Shelf",
    "Woken",
];

/// How often a word occurs as a word of its own.
fn count(text: &str, word: &str) -> usize {
    let is_part = |it: Option<char>| it.is_some_and(|it| it.is_alphanumeric() || it == '_');
    let found = text.match_indices(word).filter(|(start, _)| {
        let before = text.get(..*start).and_then(|text| text.chars().next_back());
        let after = text.get(start + word.len()..).and_then(|text| text.chars().next());
        !is_part(before) && !is_part(after)
    });
    found.count()
}

/// The documents, with their paths from the root.
fn documents() -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut paths: Vec<_> =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs", "examples"]
            .map(|name| root().join(name))
            .into();
    while let Some(path) = paths.pop() {
        if path.is_dir() {
            paths.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            let name = path.strip_prefix(root()).unwrap().display().to_string();
            found.push((name, std::fs::read_to_string(&path).unwrap()));
        }
    }
    assert!(found.len() > 20, "the documents are where this test looks for them");
    found
}

fn is_this_test(name: &str) -> bool {
    Path::new(name).ends_with("tidy/words.rs")
}

#[test]
fn sentences_have_a_technical_subject() {
    for (name, text) in documents().into_iter().chain(sources()) {
        if is_this_test(&name) {
            continue;
        }
        let text = text.to_lowercase();
        let number: usize = VAGUE.iter().map(|word| count(&text, word)).sum();
        assert_eq!(number, 0, "{name}: name the part of the system or the role");
    }
}

#[test]
fn retired_names_do_not_come_back() {
    for (name, text) in documents().into_iter().chain(sources()) {
        if is_this_test(&name) {
            continue;
        }
        for word in RETIRED {
            assert_eq!(count(&text, word), 0, "{name} says {word}, which has another name now");
        }
    }
}
