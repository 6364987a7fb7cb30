//! Figures with the limits that they are measured against, as a table and as JSON lines.

use bursar_node::failure::Failure;
use bursar_node::terminal;

use super::ratio;

/// One figure of a benchmark.
#[derive(Debug)]
pub(super) struct Figure {
    pub(super) name: String,
    pub(super) value: u128,
    pub(super) unit: &'static str,
    /// The limit that it is measured against.
    pub(super) limit: u128,
    pub(super) floor: Option<Floor>,
}

/// The required value, in hundredths of the limit.
#[derive(Debug, Clone, Copy)]
pub(super) enum Floor {
    AtLeast(u128),
    AtMost(u128),
}

impl Figure {
    /// The machine-readable line.
    pub(super) fn line(&self) -> String {
        let Self { name, value, unit, limit, .. } = self;
        format!("name={name} value={value} unit={unit} limit={limit} ratio={}", self.ratio())
    }

    pub(super) fn ratio(&self) -> String {
        ratio(self.value, self.limit)
    }

    /// The required value, and whether it was reached.
    pub(super) fn verdict(&self) -> Option<String> {
        let value = self.value.saturating_mul(100);
        let base = |hundredths: u128| self.limit.saturating_mul(hundredths);
        let (words, hundredths, is_reached) = match self.floor? {
            Floor::AtLeast(least) => ("floor", least, value >= base(least)),
            Floor::AtMost(most) => ("ceiling", most, value <= base(most)),
        };
        let verdict = if is_reached { "reached" } else { "missed" };
        Some(format!("{words} {} {verdict}", ratio(hundredths, 100)))
    }
}

/// Prints each figure with its required value, then the machine-readable lines.
pub(super) fn say_each(figures: &[Figure]) -> Result<(), Failure> {
    for figure in figures {
        let verdict = figure.verdict().unwrap_or_default();
        terminal::say(&format!("{}: {}, {verdict}", figure.name, figure.ratio()))?;
    }
    for figure in figures {
        terminal::say(&figure.line())?;
    }
    Ok(())
}

/// Prints all figures in one table, and those that missed their required value.
pub(super) fn say(figures: &[Figure]) -> Result<(), Failure> {
    let row = |figure: &Figure| {
        vec![
            figure.name.clone(),
            format!("{} {}", figure.value, figure.unit),
            figure.limit.to_string(),
            figure.ratio(),
            figure.verdict().unwrap_or_default(),
        ]
    };
    let header = ["figure", "value", "limit", "× limit", "must"];
    let table = terminal::table(&header, 1, figures.iter().map(row).collect());
    terminal::say(&table.to_string())
}
