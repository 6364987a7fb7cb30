//! The rows of a SQLite database as text, independent of the types that wrote them.
//!
//! Columns are listed by name, so a column of a later migration changes nothing here.

use std::path::Path;

use bursar_core::registry::hexadecimal;
use rusqlite::Connection;
use rusqlite::types::{Value as Sql, ValueRef};
use serde_json::{Value, json};

/// Every table and its columns. A table refers only to tables before it.
pub(crate) const TABLES: [(&str, &str); 20] = [
    ("chart_lines", "line, gl, name, class, address, liquidity, view"),
    ("accounts", "address, currency, balance, version, line, received"),
    ("commits", "seq, id, time, hash, version, digests, archived"),
    ("head", "one, seq, time, end_hash, control_version"),
    (
        "transactions",
        "id, commit_id, n, event, reference, request_hash, rulebook_hash, effective_at, reverts",
    ),
    ("postings", "tx, n, source, destination, currency, amount"),
    ("holds", "gl, reference, account, currency, amount, epoch, ended_by"),
    (
        "flows",
        "id, kind, merchant, status, version, sequence, state, created_at, updated_at, parent",
    ),
    ("due", "lane, due_at, flow"),
    (
        "queues",
        "grp, merchant, rank, waiting, first_due, first_flow, parked_until, pass, weight, limit_milli",
    ),
    ("reviews", "flow, kind, merchant, reason, since"),
    ("tallies", "name, count, minor, entered"),
    ("labels", "label, flow"),
    ("keys", "digest, scope, key, request_hash, flow, reply"),
    ("attempts", "channel, reference, flow"),
    ("events", "commit_id, n, id, kind, resource, merchant, sequence, time, data"),
    ("audit", "commit_id, n, actor, action, resource, note, time"),
    ("freezes", "scope, details"),
    ("registry", "kind, id, merchant, version, content, created_at, updated_at"),
    ("entries", "slice, account, seq, n"),
];

/// The rows of a table in the order of their values, each as a line of JSON: the table, then its columns.
pub(crate) fn rows(directory: &Path, (table, columns): (&str, &str)) -> Vec<String> {
    let connection = open(directory);
    let sql = format!("SELECT {columns} FROM {table} ORDER BY {columns}");
    let mut statement = connection.prepare(&sql).unwrap();
    let count = statement.column_count();
    let mut rows = statement.query([]).unwrap();
    let mut lines = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        let values = (0..count).map(|column| value(row.get_ref(column).unwrap()));
        let line: Vec<Value> = [json!(table)].into_iter().chain(values).collect();
        lines.push(Value::from(line).to_string());
    }
    lines
}

/// Inserts lines of `rows` into an empty database.
pub(crate) fn restore(directory: &Path, lines: &str) {
    let connection = open(directory);
    connection.execute("DELETE FROM head", []).unwrap();
    for line in lines.lines() {
        let row: Vec<Value> = serde_json::from_str(line).unwrap();
        let (name, values) = row.split_first().unwrap();
        let known = TABLES.iter().find(|(table, _)| *name == *table);
        let (table, columns) = known.unwrap_or_else(|| panic!("{name} is no table"));
        let parameters: Vec<&str> = values.iter().map(|_| "?").collect();
        let sql = format!("INSERT INTO {table} ({columns}) VALUES ({})", parameters.join(", "));
        let values = values.iter().map(parameter);
        connection.execute(&sql, rusqlite::params_from_iter(values)).unwrap();
    }
}

fn open(directory: &Path) -> Connection {
    Connection::open(directory.join("bursar.sqlite")).unwrap()
}

fn value(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => json!(number),
        ValueRef::Real(_) => panic!("no table has such a column"),
        ValueRef::Text(text) => json!(str::from_utf8(text).unwrap()),
        ValueRef::Blob(bytes) => json!({ "hex": hexadecimal(bytes) }),
    }
}

fn parameter(value: &Value) -> Sql {
    match value {
        Value::Null => Sql::Null,
        Value::Number(number) => Sql::Integer(number.as_i64().unwrap()),
        Value::String(text) => Sql::Text(text.clone()),
        value => Sql::Blob(bytes(value["hex"].as_str().unwrap())),
    }
}

fn bytes(hex: &str) -> Vec<u8> {
    let pairs = (0..hex.len()).step_by(2).map(|index| &hex[index..index + 2]);
    pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
}
