//! `bursar ledger import`: posts a file of events in batches. A rejected line is reported and does not stop the rest.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use bursar_core::ledger::{LedgerEvent, Posted};
use bursar_node::failure::Failure;
use bursar_node::terminal;
use clap::Args;

use super::StoreArguments;
use super::books::Books;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The events, one JSON object per line: {"event","reference","vars":{…},"effectiveAt"?}; `-` reads standard input
    #[arg(value_name = "FILE.ndjson")]
    file: PathBuf,
    /// Events per commit
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    batch: u32,
    #[command(flatten)]
    store: StoreArguments,
}

#[derive(Debug, Default)]
struct Counts {
    posted: u64,
    repeated: u64,
    refused: u64,
}

pub(super) fn run(arguments: &Arguments, config: Option<&Path>) -> Result<(), Failure> {
    let path = &arguments.file;
    let (reader, length) = source(path)?;
    let mut books = Books::open(&arguments.store, config)?;
    let progress = terminal::byte_progress(length);
    let mut counts = Counts::default();
    let mut pending: Vec<(u64, LedgerEvent)> = Vec::new();
    let batch = usize::try_from(arguments.batch).unwrap_or(1);
    for (line, number) in reader.lines().zip(1_u64..) {
        let line = line.map_err(|error| Failure::reading(path, &error))?;
        progress.inc(u64::try_from(line.len()).unwrap_or_default().saturating_add(1));
        if line.trim().is_empty() {
            continue;
        }
        match LedgerEvent::from_line(&line) {
            Ok(event) => pending.push((number, event)),
            Err(reason) => refuse(&mut counts, number, &format!("{reason}. Nothing was posted")),
        }
        if pending.len() >= batch {
            post(&mut books, &mut pending, &mut counts)?;
        }
    }
    post(&mut books, &mut pending, &mut counts)?;
    progress.finish_and_clear();
    let Counts { posted, repeated, refused } = counts;
    terminal::say(&format!(
        "{posted} posted, {repeated} had been posted before, {refused} refused"
    ))?;
    if refused > 0 {
        return Err(Failure::new(format!(
            "{refused} lines of {} were refused; everything else is posted. Correct them and import the file again",
            path.display()
        )));
    }
    Ok(())
}

/// The input, and its size in bytes if known.
fn source(path: &Path) -> Result<(Box<dyn BufRead>, u64), Failure> {
    if path == Path::new("-") {
        return Ok((Box::new(BufReader::new(io::stdin())), 0));
    }
    let file = File::open(path).map_err(|error| Failure::reading(path, &error))?;
    let length = file.metadata().map(|metadata| metadata.len()).unwrap_or_default();
    Ok((Box::new(BufReader::new(file)), length))
}

fn post(
    books: &mut Books,
    pending: &mut Vec<(u64, LedgerEvent)>,
    counts: &mut Counts,
) -> Result<(), Failure> {
    if pending.is_empty() {
        return Ok(());
    }
    let (numbers, events): (Vec<u64>, Vec<LedgerEvent>) =
        std::mem::take(pending).into_iter().unzip();
    let posted = counts.posted;
    let answers = books.post(events).map_err(|failure| {
        failure.and(&format!(
            "{posted} events of the file were posted before that; import it again: nothing is posted twice"
        ))
    })?;
    for (number, answer) in numbers.into_iter().zip(&answers) {
        match answer {
            Ok(Posted::New(_)) => counts.posted = counts.posted.saturating_add(1),
            Ok(Posted::Replayed(_)) => counts.repeated = counts.repeated.saturating_add(1),
            Err(rejection) => refuse(counts, number, &rejection.to_string()),
        }
    }
    Ok(())
}

fn refuse(counts: &mut Counts, number: u64, reason: &str) {
    counts.refused = counts.refused.saturating_add(1);
    terminal::note(&format!("line {number}: {reason}"));
}
