//! The one place that writes to the terminal.

use std::io::{self, BufWriter, IsTerminal as _, StdoutLock, Write as _};

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

use crate::failure::Failure;

/// Standard output for those who write much.
pub type Out = BufWriter<StdoutLock<'static>>;

pub fn out() -> Out {
    BufWriter::new(io::stdout().lock())
}

/// Logs go to standard error, as `BURSAR_LOG` says; `BURSAR_LOG_FORMAT=json` for programs.
pub fn log() -> Result<(), Failure> {
    let filter = EnvFilter::builder()
        .with_default_directive(LevelFilter::INFO.into())
        .with_env_var("BURSAR_LOG")
        .try_from_env();
    let filter = filter.unwrap_or_else(|_| EnvFilter::new("info"));
    let logger = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr);
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

/// A text from outside, with everything that would steer the terminal made visible.
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

/// Writes a failure to standard error. If that is gone too, there is nobody left to tell.
pub fn complain(failure: &Failure) {
    drop(writeln!(io::stderr().lock(), "{failure}"));
}

/// A progress bar with a rate, hidden unless somebody is watching.
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

/// The same for payouts on their way, with how many stand where.
pub fn status_progress(length: u64) -> ProgressBar {
    let bar = progress(length, "");
    match ProgressStyle::with_template("{bar:40} {pos}/{len} ended, {elapsed}\n{wide_msg}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// The same for a file that is read, with its size.
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

/// Writes a remark to standard error, beside the output.
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
