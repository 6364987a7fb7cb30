//! All output to the terminal.

use std::io::{self, BufWriter, IsTerminal as _, StdoutLock, Write as _};

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

use crate::failure::Failure;

/// Buffered standard output, for reports.
pub type Out = BufWriter<StdoutLock<'static>>;

pub fn out() -> Out {
    BufWriter::new(io::stdout().lock())
}

/// Logs to standard error. `BURSAR_LOG` is the filter; `BURSAR_LOG_FORMAT=json` selects JSON.
pub fn log() -> Result<(), Failure> {
    let filter = EnvFilter::builder()
        .with_default_directive(LevelFilter::INFO.into())
        .with_env_var("BURSAR_LOG")
        .try_from_env();
    let filter = filter.unwrap_or_else(|_| EnvFilter::new("info"));
    let logger =
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).with_ansi(false);
    let is_json = std::env::var("BURSAR_LOG_FORMAT").is_ok_and(|format| format == "json");
    let set = if is_json { logger.json().try_init() } else { logger.try_init() };
    set.map_err(|error| Failure::new(format!("cannot log: {error}. Nothing was started")))
}

/// Writes a block of text to standard output.
pub fn say(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")?;
    Ok(())
}

/// Escapes control characters in a text from outside.
pub fn printable(text: &str) -> String {
    let show = |character: char| -> String {
        if character.is_control() {
            character.escape_default().to_string()
        } else {
            character.to_string()
        }
    };
    text.chars().map(show).collect()
}

/// A value as one line of JSON.
pub fn to_json(value: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string(value)
        .map_err(|error| Failure::new(format!("cannot write JSON: {error}")))
}

/// Writes a failure to standard error. A closed standard error is ignored.
pub fn print_failure(failure: &Failure) {
    drop(writeln!(io::stderr().lock(), "{failure}"));
}

/// A progress bar with a rate, hidden unless standard error is a terminal.
pub fn progress(length: u64, what: &'static str) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} {msg} ({per_sec}, {eta} left)");
    let bar = ProgressBar::new(length).with_message(what);
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// The same for payouts in progress, with a count per status.
pub fn status_progress(length: u64) -> ProgressBar {
    let bar = progress(length, "");
    match ProgressStyle::with_template("{bar:40} {pos}/{len} ended, {elapsed}\n{wide_msg}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// The same for reading a file, in bytes.
pub fn byte_progress(length: u64) -> ProgressBar {
    let bar = progress(length, "");
    let style = ProgressStyle::with_template(
        "{bar:40} {bytes}/{total_bytes} ({bytes_per_sec}, {eta} left)",
    );
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// Writes a note to standard error.
pub fn note(text: &str) {
    drop(writeln!(io::stderr().lock(), "{}", printable(text)));
}

/// A table with a header; columns from `numbers_from` on are aligned to the right.
pub fn table(header: &[&str], numbers_from: usize, rows: Vec<Vec<String>>) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_BORDERS_ONLY)
        .set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header.to_vec());
    table.add_rows(rows);
    for column in table.column_iter_mut().skip(numbers_from) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}
