//! Figures as programs and people read them: each beside the limit that it was measured against.

use bursar_node::failure::Failure;
use bursar_node::terminal;

use super::ratio;

/// One figure of a benchmark.
#[derive(Debug)]
pub(super) struct Figure {
    pub(super) name: String,
    pub(super) value: u128,
    pub(super) unit: &'static str,
    /// What it is measured against.
    pub(super) limit: u128,
    pub(super) floor: Option<Floor>,
}

/// What must be reached, in hundredths of the limit.
#[derive(Debug, Clone, Copy)]
pub(super) enum Floor {
    AtLeast(u128),
    AtMost(u128),
}

impl Figure {
    /// The line for programs.
    pub(super) fn line(&self) -> String {
        let Self { name, value, unit, limit, .. } = self;
        format!("name={name} value={value} unit={unit} limit={limit} ratio={}", self.ratio())
    }

    pub(super) fn ratio(&self) -> String {
        ratio(self.value, self.limit)
    }

    /// What must be reached, and whether it was.
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

/// Each figure against what must be reached, and last the lines for programs.
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

/// All figures in one table, and what was missed.
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
