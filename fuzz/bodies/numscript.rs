//! Programs: whatever the text, it is read, checked and run without failing, and no safe run moves less than nothing.

use std::collections::BTreeMap;

use bursar_core::numscript::{Features, Inputs, Mode, Program, Snapshot, check, parse};

pub(crate) fn run(data: &[u8]) {
    let Ok(source) = std::str::from_utf8(data) else { return };
    let mut records = Snapshot::default();
    for (account, asset, amount) in [
        ("alice", "USD/2", 1_000_i64),
        ("bob", "USD/2", 7),
        ("alice", "EUR/2", 50),
        ("carol", "USD/4", -3),
    ] {
        records.set_balance(account, asset, "", amount.into());
    }
    records.set_metadata("alice", "rate", "1/3");
    let named =
        [("amount", "USD/2 100"), ("account", "alice"), ("portion", "1/3"), ("number", "-4")];
    let named = named.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let variables: BTreeMap<String, String> = named.into();
    for mode in [Mode::Safe, Mode::Compat] {
        if let Ok(script) = parse(source, mode) {
            for finding in check(&script, Features::ALL, mode) {
                finding.render(source, "fuzz.num");
            }
        }
        let ran = Program::new(source, Features::ALL, mode)
            .and_then(|program| program.run(&Inputs::Text(&variables), &records));
        match ran {
            Ok(outcome) => {
                let below = outcome.postings.iter().any(|posting| posting.amount.is_negative());
                assert!(mode == Mode::Compat || !below, "less than nothing is moved: {outcome:?}");
            }
            Err(error) => assert!(!error.render(source, "fuzz.num").is_empty()),
        }
    }
}
