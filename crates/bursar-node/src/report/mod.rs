//! A report as a table, as JSON or as CSV: described once, written row by row.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::io::{self, Write as _};

use clap::Args;
use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::Value;

use crate::failure::Failure;
use crate::terminal::{self, Out, printable};

/// A table is laid out from all its rows; a long list is split into several tables to bound memory.
const TABLE_ROWS_MAX: usize = 1_000;

#[derive(Debug, Args)]
pub struct Format {
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    /// Print one part of the report as CSV (RFC 4180) instead of a table: `--csv` its rows, `--csv=totals` its totals
    #[arg(long, conflicts_with = "json", value_name = "PART", num_args = 0..=1, require_equals = true, default_missing_value = "rows")]
    csv: Option<String>,
}

impl Format {
    pub const fn is_table(&self) -> bool {
        !self.json && self.csv.is_none()
    }
}

#[derive(Debug)]
pub struct Column {
    /// The name in JSON and CSV; stable for programs.
    key: &'static str,
    /// The heading in a table; a column without one is omitted there.
    title: Option<&'static str>,
    is_number: bool,
}

impl Column {
    pub const fn text(key: &'static str, title: &'static str) -> Self {
        Self { key, title: Some(title), is_number: false }
    }

    /// Number columns follow all text columns.
    pub const fn number(key: &'static str, title: &'static str) -> Self {
        Self { key, title: Some(title), is_number: true }
    }

    /// A text for JSON and CSV only.
    pub const fn detail(key: &'static str) -> Self {
        Self { key, title: None, is_number: false }
    }
}

/// A part of a report: rows with the same columns.
#[derive(Debug)]
pub struct Section {
    pub key: &'static str,
    pub columns: &'static [Column],
    /// In a table, the rows follow those of the previous section, with this label.
    pub label: Option<&'static str>,
}

/// The text of a cell; none for an empty cell.
pub type Cell = Option<String>;

/// In JSON, a report with one section is an array, and one with several is an object. CSV has one section, so that the sum
/// of a column does not include its own total.
#[derive(Debug)]
pub struct Report {
    sections: &'static [Section],
    current: usize,
    writer: Writer,
}

#[derive(Debug)]
enum Writer {
    Table { out: Out, base: usize, rows: Vec<Vec<String>> },
    Json { out: Out, is_first: bool },
    Csv { out: Box<csv::Writer<Out>>, section: usize },
}

impl Report {
    /// `facts` are fields of the whole report, in JSON only.
    pub fn begin(
        format: &Format,
        sections: &'static [Section],
        facts: &[(&'static str, Value)],
    ) -> Result<Self, Failure> {
        let mut out = terminal::out();
        let writer = if format.json {
            begin_json(&mut out, sections, facts)?;
            Writer::Json { out, is_first: true }
        } else if let Some(key) = &format.csv {
            let section = chosen(sections, key)?;
            let terminator = csv::Terminator::CRLF;
            let mut out = csv::WriterBuilder::new().terminator(terminator).from_writer(out);
            let header = columns(sections, section).iter().map(|column| column.key);
            out.write_record(header).map_err(csv_failure)?;
            Writer::Csv { out: Box::new(out), section }
        } else {
            Writer::Table { out, base: 0, rows: Vec::new() }
        };
        Ok(Self { sections, current: 0, writer })
    }

    /// The rows that follow belong to the next section.
    pub fn next_section(&mut self) -> Result<(), Failure> {
        self.current = self.current.saturating_add(1);
        assert!(self.current < self.sections.len(), "a report names all its sections");
        let section = self.sections.get(self.current);
        match &mut self.writer {
            Writer::Table { out, base, rows } => {
                if section.is_none_or(|section| section.label.is_none()) {
                    write_table(out, columns(self.sections, *base), rows)?;
                    *base = self.current;
                }
            }
            Writer::Json { out, is_first } => {
                let key = section.map_or("", |section| section.key);
                write!(out, "],\"{key}\":[")?;
                *is_first = true;
            }
            Writer::Csv { .. } => {}
        }
        Ok(())
    }

    /// One cell for every column of the section.
    pub fn row(&mut self, cells: &[Cell]) -> Result<(), Failure> {
        let Some(section) = self.sections.get(self.current) else { return Ok(()) };
        assert_eq!(cells.len(), section.columns.len(), "a row has a cell for every column");
        match &mut self.writer {
            Writer::Table { out, base, rows } => {
                let base = columns(self.sections, *base);
                if rows.len() >= TABLE_ROWS_MAX {
                    write_table(out, base, rows)?;
                }
                rows.push(table_row(base, section, cells));
            }
            Writer::Json { out, is_first } => {
                if !std::mem::replace(is_first, false) {
                    out.write_all(b",")?;
                }
                let object = Object { columns: section.columns, cells };
                serde_json::to_writer(out, &object).map_err(io::Error::from)?;
            }
            Writer::Csv { out, section: chosen } => {
                if *chosen == self.current {
                    let record = section.columns.iter().zip(cells).map(csv_cell);
                    out.write_record(record.map(Cow::into_owned)).map_err(csv_failure)?;
                }
            }
        }
        Ok(())
    }

    /// `facts` are fields of the whole report that are known after its rows, in JSON only.
    pub fn end(self, facts: &[(&'static str, Value)]) -> Result<(), Failure> {
        match self.writer {
            Writer::Table { mut out, base, mut rows } => {
                write_table(&mut out, columns(self.sections, base), &mut rows)?;
                out.flush()?;
            }
            Writer::Json { mut out, .. } => {
                out.write_all(b"]")?;
                if self.sections.len() > 1 {
                    for (key, value) in facts {
                        write!(out, ",\"{key}\":{value}")?;
                    }
                    out.write_all(b"}")?;
                }
                out.write_all(b"\n")?;
                out.flush()?;
            }
            Writer::Csv { mut out, .. } => out.flush()?,
        }
        Ok(())
    }
}

/// Lays out JSON objects as a table. The key of a column may be a path, `data/status`, or several of which the first that
/// exists counts: `account|msisdn`.
pub fn table_of(columns: &[Column], rows: &[Value]) -> String {
    let shown = || columns.iter().filter(|column| column.title.is_some());
    let cell = |row: &Value, column: &Column| {
        let mut paths = column.key.split('|');
        paths.find_map(|path| row.pointer(&format!("/{path}"))).map(text).unwrap_or_default()
    };
    let rows = rows.iter().map(|row| shown().map(|column| cell(row, column)).collect());
    let numbers_from = shown().take_while(|column| !column.is_number).count();
    let header: Vec<&str> = shown().filter_map(|column| column.title).collect();
    terminal::table(&header, numbers_from, rows.collect()).to_string()
}

/// A JSON value as text for a terminal.
pub fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => printable(text),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            printable(&value.to_string())
        }
    }
}

fn columns(sections: &'static [Section], index: usize) -> &'static [Column] {
    sections.get(index).map_or(&[], |section| section.columns)
}

fn table_row(base: &[Column], section: &Section, cells: &[Cell]) -> Vec<String> {
    let mut label = section.label;
    let shown = base.iter().filter(|column| column.title.is_some());
    let text = |column: &Column| {
        let mut pairs = section.columns.iter().zip(cells);
        match pairs.find(|(own, _)| own.key == column.key) {
            Some((_, cell)) => printable(cell.as_deref().unwrap_or_default()),
            None => label.take().unwrap_or_default().to_owned(),
        }
    };
    shown.map(text).collect()
}

fn write_table(
    out: &mut Out,
    columns: &[Column],
    rows: &mut Vec<Vec<String>>,
) -> Result<(), Failure> {
    let shown = columns.iter().filter(|column| column.title.is_some());
    let numbers_from = shown.clone().take_while(|column| !column.is_number).count();
    let header: Vec<&str> = shown.filter_map(|column| column.title).collect();
    let table = terminal::table(&header, numbers_from, std::mem::take(rows));
    writeln!(out, "{table}")?;
    Ok(())
}

fn begin_json(
    out: &mut Out,
    sections: &[Section],
    facts: &[(&'static str, Value)],
) -> Result<(), Failure> {
    if let [first, _, ..] = sections {
        out.write_all(b"{")?;
        for (key, value) in facts {
            write!(out, "\"{key}\":{value},")?;
        }
        write!(out, "\"{}\":", first.key)?;
    }
    out.write_all(b"[")?;
    Ok(())
}

/// A row as a JSON object.
struct Object<'a> {
    columns: &'a [Column],
    cells: &'a [Cell],
}

impl Serialize for Object<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.cells.len()))?;
        for (column, cell) in self.columns.iter().zip(self.cells) {
            map.serialize_entry(column.key, cell)?;
        }
        map.end()
    }
}

fn chosen(sections: &[Section], key: &str) -> Result<usize, Failure> {
    let place = sections.iter().position(|section| section.key == key);
    place.ok_or_else(|| {
        let known: Vec<String> =
            sections.iter().map(|section| format!("--csv={}", section.key)).collect();
        Failure::new(format!(
            "this report has no part `{}`: nothing was printed. Use {}",
            printable(key),
            known.join(" or ")
        ))
    })
}

fn csv_cell<'c>((column, cell): (&Column, &'c Cell)) -> Cow<'c, str> {
    let text = cell.as_deref().unwrap_or_default();
    if column.is_number { Cow::Borrowed(text) } else { escape_formula(text) }
}

/// CSV injection: a spreadsheet evaluates text that looks like a formula, and references are chosen by callers. A leading
/// apostrophe keeps it text.
fn escape_formula(text: &str) -> Cow<'_, str> {
    let runs = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];
    if text.starts_with(runs) { Cow::Owned(format!("'{text}")) } else { Cow::Borrowed(text) }
}

fn csv_failure(error: csv::Error) -> Failure {
    let message = error.to_string();
    if let csv::ErrorKind::Io(error) = error.into_kind() {
        return Failure::from(error);
    }
    Failure::new(format!("cannot write CSV: {message}"))
}
