//! The rulebook of a command: the bundled one, or one with the finance team's chart.

use std::path::Path;

use bursar_core::ledger::rulebook::{Rulebook, RulebookError};

use crate::failure::Failure;

/// Loads the bundled rulebook, with another chart if one is given. The failure lists every drift.
pub fn load_rulebook(chart: Option<&Path>) -> Result<Rulebook, Failure> {
    let loaded = match chart {
        Some(path) => {
            let text =
                std::fs::read_to_string(path).map_err(|error| Failure::reading(path, &error))?;
            Rulebook::with_chart(&text)
        }
        None => Rulebook::bundled(),
    };
    loaded.map_err(|error| match &error {
        RulebookError::Drift(drifts) => {
            let lines: Vec<String> = drifts.iter().map(|drift| format!("  {drift}")).collect();
            Failure::new(format!(
                "{error}. Nothing can be posted with them\n{}\ndrift={}",
                lines.join("\n"),
                drifts.len()
            ))
        }
        RulebookError::Chart(_) | RulebookError::Mappings(_) => {
            let name =
                chart.map_or("the bundled chart".to_owned(), |path| path.display().to_string());
            Failure::new(format!("{name}: {error}. Nothing can be posted with it"))
        }
    })
}
