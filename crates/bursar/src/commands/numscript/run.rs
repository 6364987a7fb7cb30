//! Runs one program with inputs from files.

use std::path::Path;
use std::{fs, io};

use bursar_core::numscript::{Inputs, Program};
use bursar_node::failure::Failure;
use bursar_node::terminal::{self, printable, to_json};
use serde::de::DeserializeOwned;

use super::RunArguments;
use super::case::{Answer, Balances, Variables, snapshot};

pub(super) fn run(path: &Path, arguments: &RunArguments) -> Result<(), Failure> {
    let source = read(path)?;
    let vars: Variables = read_json(arguments.vars.as_deref())?;
    let vars = vars.into_texts();
    let balances: Balances = read_json(arguments.balances.as_deref())?;
    let metadata = read_json(arguments.metadata.as_deref())?;
    let snapshot = snapshot(balances, &metadata).map_err(Failure::new)?;
    let outcome = Program::new(&source, arguments.language.features(), arguments.language.mode())
        .and_then(|program| program.run(&Inputs::Text(&vars), &snapshot))
        .map_err(|error| Failure::Rendered(error.render(&source, &path.display().to_string())))?;
    let answer = Answer::new(None, Ok(outcome));
    if arguments.json {
        return terminal::say(&to_json(&answer)?);
    }
    show(&answer)
}

fn show(answer: &Answer) -> Result<(), Failure> {
    let Answer::Done { postings, tx_metadata, accounts_metadata, .. } = answer else {
        return Ok(());
    };
    let rows = postings
        .iter()
        .map(|posting| {
            vec![
                posting.source.clone(),
                posting.destination.clone(),
                posting.color.clone(),
                posting.asset.clone(),
                posting.amount.clone(),
            ]
        })
        .collect();
    let header = ["source", "destination", "colour", "asset", "amount"];
    terminal::say(&terminal::table(&header, 4, rows).to_string())?;
    for (key, value) in tx_metadata {
        terminal::say(&printable(&format!("transaction: {key} = {value}")))?;
    }
    for (account, entries) in accounts_metadata {
        for (key, value) in entries {
            terminal::say(&printable(&format!("@{account}: {key} = {value}")))?;
        }
    }
    Ok(())
}

/// The text of a file, or of standard input for `-`.
pub(super) fn read(path: &Path) -> Result<String, Failure> {
    let text = if path == Path::new("-") {
        io::read_to_string(io::stdin())
    } else {
        fs::read_to_string(path)
    };
    text.map_err(|error| Failure::reading(path, &error))
}

/// The file's content, or nothing if no file was named.
fn read_json<T: DeserializeOwned + Default>(path: Option<&Path>) -> Result<T, Failure> {
    let Some(path) = path else { return Ok(T::default()) };
    serde_json::from_str(&read(path)?).map_err(|error| {
        Failure::new(format!("{}: {error}. Nothing was run; correct the file", path.display()))
    })
}
