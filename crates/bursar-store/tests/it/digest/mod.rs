//! A digest of the rows that the differential workload stores in SQLite, and of its answers.
//!
//! `digest/steps.txt` has the steps of several samples, `workload::some_steps` among them, without reservations. A line
//! that begins with `#` starts a sample, and each sample runs on new books. Random steps depend on the list of kinds,
//! which changes; these are fixed. `digest/digest.txt` has one line per table, one for the answers and one for the calls.

use bursar_store::{Sqlite, Walk as _};

use crate::adapter::{assert_golden, golden, sha256, text};
use crate::raw::{TABLES, rows};
use crate::scratch::Scratch;
use crate::workload::{Step, block_on, rules, run};

fn line(what: &str, rows: &[String]) -> String {
    format!("{what} {} {}\n", rows.len(), sha256(&rows.join("\n")))
}

#[test]
fn the_fixed_workload_matches_its_digest() {
    let rules = rules();
    let mut found: Vec<Vec<String>> = TABLES.map(|_| Vec::new()).into();
    let (mut answers, mut calls) = (Vec::new(), Vec::new());
    for sample in golden("digest/steps.txt").split("# ").skip(1) {
        let steps: Vec<Step> = sample.lines().skip(1).map(Step::parse).collect();
        let scratch = Scratch::new();
        let mut store = Sqlite::open(scratch.path()).unwrap().with_index_slice(25);
        let books = run(&mut store, &rules, &steps, &[1, 7, 20, 3]);
        let report = block_on(store.verify(&rules.rulebook)).unwrap();
        assert_eq!(report.differences, Vec::<String>::new());
        for (found, table) in found.iter_mut().zip(TABLES) {
            found.extend(rows(scratch.path(), table));
        }
        answers.extend(books.answers.iter().map(text::answer));
        calls.extend(books.effects.iter().map(text::call));
    }
    assert!(calls.len() > 10, "only {} calls", calls.len());
    calls.sort();
    let tables = TABLES.iter().zip(&found).map(|((table, _), rows)| line(table, rows));
    let rest = [line("answers", &answers), line("calls", &calls)];
    assert_golden("digest/digest.txt", &tables.chain(rest).collect::<String>());
}
