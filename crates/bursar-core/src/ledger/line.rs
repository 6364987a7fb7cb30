//! A ledger event as a JSON line of a file.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;

use super::LedgerEvent;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    event: String,
    reference: String,
    #[serde(default)]
    vars: BTreeMap<String, String>,
    #[serde(default, rename = "effectiveAt")]
    effective_at: Option<String>,
}

impl LedgerEvent {
    /// Reads `{"event","reference","vars":{…},"effectiveAt"?}`, or returns the error.
    pub fn from_line(line: &str) -> Result<Self, String> {
        let line: Line =
            serde_json::from_str(line).map_err(|error| format!("it is not an event: {error}"))?;
        let effective_at = line.effective_at.map(|text| text.parse::<Timestamp>()).transpose();
        let effective_at =
            effective_at.map_err(|error| format!("effectiveAt is not RFC 3339: {error}"))?;
        Ok(Self { name: line.event, reference: line.reference, variables: line.vars, effective_at })
    }
}
