//! An explained payout for a terminal.

use bursar_node::report::{Column, table_of, text};
use serde_json::Value;

use super::rows;

const EVIDENCE: &[Column] = &[
    Column::text("at", "time"),
    Column::text("source", "source"),
    Column::text("verdict", "verdict"),
    Column::text("detail", "detail"),
];

/// How the channel and the caller name a payout.
const NAMES: [(&str, &str); 3] = [
    ("provider_reference", "Provider reference"),
    ("external_id", "External id"),
    ("description", "Description"),
];

/// Whom an explained payout pays: name, account or telephone number, bank and id, those that it has.
fn beneficiary(explanation: &Value) -> String {
    let field = |name| explanation.pointer(&format!("/beneficiary/{name}")).map(text);
    let fields = ["name", "account", "msisdn", "bank", "id"].into_iter().filter_map(field);
    format!("Beneficiary: {}", fields.collect::<Vec<_>>().join(", "))
}

pub(super) fn explained(explanation: &Value) -> String {
    let part = |name: &str| explanation.get(name).map(text).unwrap_or_default();
    let mut lines = vec![
        format!("{} {} (version {})", part("id"), part("status"), part("version")),
        beneficiary(explanation),
    ];
    for (name, title) in NAMES {
        if explanation.get(name).is_some() {
            lines.push(format!("{title}: {}", part(name)));
        }
    }
    lines.extend([part("summary"), format!("Money: {}.", part("money"))]);
    if explanation.get("next_at").is_some() {
        lines.push(format!(
            "Next check at {}, unless new evidence arrives earlier.",
            part("next_at")
        ));
    }
    for attempt in rows(explanation, "attempts") {
        let part = |name: &str| attempt.get(name).map(text).unwrap_or_default();
        let theirs = match attempt.get("provider_reference") {
            Some(reference) => format!(", provider reference {}", text(reference)),
            None => String::new(),
        };
        lines.push(format!(
            "\nAttempt {} as {}: sent {} times, {}{theirs}",
            part("number"),
            part("reference"),
            part("tries"),
            part("knowledge")
        ));
        lines.push(table_of(EVIDENCE, rows(attempt, "evidence")));
    }
    lines.join("\n")
}
