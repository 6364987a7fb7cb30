//! Adapter between the golden tests (`golden`, `histories`, `digest`) and types of the core that may be renamed.
//!
//! `stored` decodes and encodes stored texts, `requests` makes requests, `text` writes a commit as lines. All texts are
//! stored forms, ids, codes and fixed words; none is the `Debug` form of a type. A redesign of the core changes these
//! files, and no golden file.

pub(crate) mod requests;
pub(crate) mod stored;
pub(crate) mod text;

use std::path::PathBuf;

use sha2::{Digest as _, Sha256};

/// SHA-256 in hexadecimal.
pub(crate) fn sha256(text: &str) -> String {
    let bytes: [u8; 32] = Sha256::digest(text.as_bytes()).into();
    bursar_core::registry::hexadecimal(&bytes)
}

/// Texts as lines.
pub(crate) fn lines(texts: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let mut lines = String::new();
    for text in texts {
        lines.push_str(text.as_ref());
        lines.push('\n');
    }
    lines
}

/// Compares a text with a golden file under `tests/it`. With `BURSAR_BLESS=1` it writes the file instead; review the
/// difference before committing it.
pub(crate) fn assert_golden(file: &str, found: &str) {
    let path = golden_path(file);
    if std::env::var_os("BURSAR_BLESS").is_some() {
        std::fs::write(&path, found).unwrap();
        return;
    }
    let expected = golden(file);
    for (number, (found, expected)) in (1..).zip(found.lines().zip(expected.lines())) {
        assert_eq!(
            found, expected,
            "{file}, line {number}: what was stored before must not change"
        );
    }
    assert_eq!(found.lines().count(), expected.lines().count(), "{file}: lines");
}

/// A golden file as text.
pub(crate) fn golden(file: &str) -> String {
    let path = golden_path(file);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn golden_path(file: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it").join(file)
}
