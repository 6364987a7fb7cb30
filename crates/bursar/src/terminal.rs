//! The one place that writes to the terminal.

use std::io::{self, IsTerminal as _, Write as _};

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use crate::failure::Failure;

/// Writes a block of text to standard output.
pub(crate) fn say(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")?;
    Ok(())
}

/// Writes a failure to standard error. If that is gone too, there is nobody left to tell.
pub(crate) fn complain(failure: &Failure) {
    let prefix = if failure.is_rendered { "" } else { "error: " };
    drop(writeln!(io::stderr().lock(), "{prefix}{failure}"));
}

/// Whether somebody is watching, so that progress is worth showing.
pub(crate) fn is_interactive() -> bool {
    io::stderr().is_terminal()
}

/// A table with a header; columns from `numbers_from` on are aligned to the right.
pub(crate) fn table(header: &[&str], numbers_from: usize, rows: Vec<Vec<String>>) -> Table {
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
