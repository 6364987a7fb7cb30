//! Cases for every rule of the language, its properties, and hostile programs.
//!
//! A run is written as text, so that a test is a table of programs and their results.

mod allotment;
mod faults;
mod functions;
mod hostile;
mod lexical;
mod messages;
mod model;
mod movement;
mod oracle;
mod properties;
mod scaling;
mod values;

use std::collections::BTreeMap;

use super::{Error, ErrorKind, Feature, Features, Inputs, Mode, Outcome, Program, Snapshot};

/// The environment of a run: records, variables, features, mode.
#[derive(Clone, Default)]
struct World {
    mode: Mode,
    features: Features,
    records: Snapshot,
    variables: BTreeMap<String, String>,
}

impl World {
    /// Balances as text: `a USD/2 100, b USD/2 -5, c USD/2 7 RED`.
    fn holding(balances: &str) -> Self {
        let mut world = Self::default();
        for line in balances.split(',').filter(|line| !line.trim().is_empty()) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let amount = words[2].parse().unwrap();
            let color = words.get(3).copied().unwrap_or_default();
            world.records.set_balance(words[0], words[1], color, amount);
        }
        world
    }

    fn empty() -> Self {
        Self::default()
    }

    fn with(mut self, feature: Feature) -> Self {
        self.features = self.features.with(feature);
        self
    }

    fn with_all(mut self) -> Self {
        self.features = Features::ALL;
        self
    }

    fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    fn metadata(mut self, account: &str, key: &str, value: &str) -> Self {
        self.records.set_metadata(account, key, value);
        self
    }

    fn given(mut self, name: &str, value: &str) -> Self {
        self.variables.insert(name.to_owned(), value.to_owned());
        self
    }

    fn try_run(&self, script: &str) -> Result<Outcome, Box<Error>> {
        let program = Program::new(script, self.features, self.mode)?;
        program.run(&Inputs::Text(&self.variables), &self.records)
    }

    fn run(&self, script: &str) -> String {
        match self.try_run(script) {
            Ok(outcome) => describe(&outcome),
            Err(error) => describe_error(&error.kind),
        }
    }

    /// Runs every program of the table and compares all of them before it fails.
    #[track_caller]
    fn expect<S: AsRef<str>>(&self, table: &[(S, &str)]) {
        let wrong: Vec<String> = table
            .iter()
            .map(|(script, expected)| (script.as_ref(), *expected, self.run(script.as_ref())))
            .filter(|(_, expected, found)| expected != found)
            .map(|(script, expected, found)| {
                format!("{script}\n  expected: {expected}\n  found:    {found}")
            })
            .collect();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    /// The same for sends of `USD/2` to `@z`: what is sent, the source, what happens.
    #[track_caller]
    fn expect_from(&self, table: &[(&str, &str, &str)]) {
        let table: Vec<_> = table
            .iter()
            .map(|(sent, source, expected)| (send(sent, source, "@z"), *expected))
            .collect();
        self.expect(&table);
    }

    /// The same for sends of `USD/2` from `@world`: what is sent, the destination, what happens.
    #[track_caller]
    fn expect_to(&self, table: &[(&str, &str, &str)]) {
        let table: Vec<_> = table
            .iter()
            .map(|(sent, destination, expected)| (send(sent, "@world", destination), *expected))
            .collect();
        self.expect(&table);
    }

    /// Each expression is stored in the metadata of the transaction and shown from there.
    #[track_caller]
    fn expect_value(&self, table: &[(&str, &str)]) {
        let table: Vec<_> = table
            .iter()
            .map(|(expression, expected)| (format!("set_tx_meta(\"v\", {expression})"), *expected))
            .collect();
        self.expect(&table);
    }
}

fn send(sent: &str, source: &str, destination: &str) -> String {
    format!("send [USD/2 {sent}] ( source = {source} destination = {destination} )")
}

/// `a -> b USD/2 10 (RED); tx key=value; @account key=value`.
fn describe(outcome: &Outcome) -> String {
    let mut lines = Vec::new();
    for posting in &outcome.postings {
        let color = match &*posting.color {
            "" => String::new(),
            color => format!(" ({color})"),
        };
        let (source, destination) = (&posting.source, &posting.destination);
        lines
            .push(format!("{source} -> {destination} {} {}{color}", posting.asset, posting.amount));
    }
    for (key, value) in &outcome.tx_metadata {
        lines.push(format!("tx {key}={value}"));
    }
    for (account, metadata) in &outcome.accounts_metadata {
        for (key, value) in metadata {
            lines.push(format!("@{account} {key}={value}"));
        }
    }
    if lines.is_empty() { "nothing".to_owned() } else { lines.join("; ") }
}

/// The kind with its facts. The messages have their own tests.
fn describe_error(kind: &ErrorKind) -> String {
    if let ErrorKind::Parse { .. } = kind {
        return "Parse".to_owned();
    }
    format!("{kind:?}").replace('"', "")
}
