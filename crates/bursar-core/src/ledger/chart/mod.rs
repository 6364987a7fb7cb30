//! The chart of accounts: the codes, their meaning, and the address patterns of their accounts.

mod pattern;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

pub use pattern::{Pattern, PatternError};

/// The code of a general-ledger account, such as 2004.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GlCode(u32);

impl GlCode {
    pub const fn number(self) -> u32 {
        self.0
    }
}

/// Which side of the books an account grows on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    Debit,
    Credit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    Asset,
    Liability,
    Equity,
    Revenue,
    Expense,
}

/// One line of the chart. Every account made from its pattern carries it as metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GlAccount {
    pub code: GlCode,
    pub name: String,
    pub class: Class,
    /// None for codes that exist in reports only.
    pub pattern: Option<Pattern>,
    pub liquidity: String,
    pub view: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chart {
    accounts: BTreeMap<GlCode, Arc<GlAccount>>,
}

/// A chart that cannot be used, with the place and the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{reason}", if *line > 0 { format!("line {line}: ") } else { String::new() })]
pub struct ChartError {
    /// Zero if the error is not about one line.
    pub line: u64,
    pub reason: String,
}

/// The columns of a chart file, in order.
pub const COLUMNS: [&str; 7] = ["gl", "name", "class", "normal", "address", "liquidity", "view"];
/// When money of an account is due.
pub const LIQUIDITY_BUCKETS: [&str; 6] = ["none", "T0", "T0-T1", "T1-T3", "T30", ">T30"];

/// The reports and rules that an account takes part in. `hold` is more than a report: such accounts carry holds.
pub const VIEWS: [&str; 9] = [
    "cash",
    "receivable",
    "presentation-only",
    "merchant",
    "hold",
    "tax",
    "position",
    "equity",
    "pnl",
];

impl Chart {
    /// Reads the finance team's CSV.
    pub fn parse(text: &str) -> Result<Self, ChartError> {
        // Spreadsheets write a byte-order mark and carriage returns, which would spoil names and line numbers.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
        let mut reader =
            csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
        let header = reader.headers().map_err(|error| csv_error(&error))?;
        if header.iter().ne(COLUMNS) {
            let reason = format!("the header must be `{}`", COLUMNS.join(","));
            return Err(ChartError { line: 1, reason });
        }
        let mut chart = Self { accounts: BTreeMap::new() };
        for record in reader.records() {
            let record = record.map_err(|error| csv_error(&error))?;
            let line = record.position().map_or(0, csv::Position::line);
            let account =
                GlAccount::from_record(&record).map_err(|reason| ChartError { line, reason })?;
            chart.add(account).map_err(|reason| ChartError { line, reason })?;
        }
        if chart.accounts.is_empty() {
            return Err(ChartError {
                line: 2,
                reason: "the chart has no accounts: add them".to_owned(),
            });
        }
        Ok(chart)
    }

    pub fn get(&self, code: GlCode) -> Option<&Arc<GlAccount>> {
        self.accounts.get(&code)
    }

    /// The liquidity bucket of merchants' debts, from the line that exists for reports only.
    pub fn receivable_bucket(&self) -> &str {
        let line = self.accounts().find(|gl| gl.view == "presentation-only");
        line.map_or(">T30", |gl| &gl.liquidity)
    }

    pub fn accounts(&self) -> impl Iterator<Item = &Arc<GlAccount>> {
        self.accounts.values()
    }

    fn add(&mut self, account: GlAccount) -> Result<(), String> {
        let code = account.code;
        if self.accounts.contains_key(&code) {
            return Err(format!("the code {code} is used twice: give each account its own"));
        }
        // An address must lead to exactly one code, or the books would be ambiguous.
        let clash = self.accounts.values().find(|other| match (&account.pattern, &other.pattern) {
            (Some(pattern), Some(other)) => pattern.overlaps(other),
            (Some(_) | None, _) => false,
        });
        if let Some(other) = clash {
            return Err(format!(
                "an address could belong to both {code} and {}: make one part of their patterns differ",
                other.code
            ));
        }
        self.accounts.insert(code, Arc::new(account));
        Ok(())
    }
}

impl GlAccount {
    pub const fn side(&self) -> Side {
        self.class.side()
    }

    fn from_record(record: &csv::StringRecord) -> Result<Self, String> {
        let mut fields = record.iter();
        let mut field = || fields.next().unwrap_or_default();
        let code: GlCode = field().parse()?;
        let name = field();
        let class: Class = field().parse()?;
        let normal = field();
        let address = field();
        let liquidity = field();
        let view = field();
        if name.is_empty() {
            return Err(format!("{code} needs a name"));
        }
        if !VIEWS.contains(&view) {
            return Err(format!("`{view}` is not a view: use one of {}", VIEWS.join(", ")));
        }
        let side = class.side();
        if normal != side.name() {
            return Err(format!(
                "{code} is an account of class {class}, so its normal side is `{side}`, not `{normal}`"
            ));
        }
        if !LIQUIDITY_BUCKETS.contains(&liquidity) {
            let buckets = LIQUIDITY_BUCKETS.join(", ");
            return Err(format!("`{liquidity}` is not a liquidity bucket: use one of {buckets}"));
        }
        let pattern = if address.is_empty() {
            None
        } else {
            Some(address.parse().map_err(|error: PatternError| error.to_string())?)
        };
        Ok(Self {
            code,
            name: name.to_owned(),
            class,
            pattern,
            liquidity: liquidity.to_owned(),
            view: view.to_owned(),
        })
    }
}

impl Class {
    pub const ALL: [Self; 5] =
        [Self::Asset, Self::Liability, Self::Equity, Self::Revenue, Self::Expense];

    pub const fn side(self) -> Side {
        match self {
            Self::Asset | Self::Expense => Side::Debit,
            Self::Liability | Self::Equity | Self::Revenue => Side::Credit,
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Asset => "asset",
            Self::Liability => "liability",
            Self::Equity => "equity",
            Self::Revenue => "revenue",
            Self::Expense => "expense",
        }
    }
}

impl FromStr for Class {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|class| class.name() == text).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.into_iter().map(Self::name).collect();
            format!("`{text}` is not a class: use one of {}", names.join(", "))
        })
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Side {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Debit => "debit",
            Self::Credit => "credit",
        }
    }

    #[must_use]
    pub const fn opposite(self) -> Self {
        match self {
            Self::Debit => Self::Credit,
            Self::Credit => Self::Debit,
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for GlCode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_code =
            (1..=9).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        match text.parse() {
            Ok(code) if is_code && !text.starts_with('0') => Ok(Self(code)),
            _ => Err(format!("`{text}` is not a GL code: use up to nine digits, such as 2004")),
        }
    }
}

impl fmt::Display for GlCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

fn csv_error(error: &csv::Error) -> ChartError {
    let line = error.position().map_or(1, csv::Position::line);
    let reason = if let csv::ErrorKind::UnequalLengths { expected_len, len, .. } = error.kind() {
        format!(
            "it has {len} fields instead of {expected_len}: are all commas there, and texts with commas quoted?"
        )
    } else {
        format!("it is not CSV: {error}")
    };
    ChartError { line, reason }
}
