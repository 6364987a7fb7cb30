//! GL mappings: the journal lines of each event.

use std::collections::BTreeMap;
use std::fmt;

use crate::ledger::chart::{Chart, GlCode, Side};
use crate::numscript::Name;

/// Dr `debit` / Cr `credit`, for an amount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub debit: GlCode,
    pub credit: GlCode,
    pub amount: Sum,
    pub leg: Leg,
    /// The code that this line may take below zero.
    pub overdraft: Option<GlCode>,
    /// What the line does to the hold that the event's reference names.
    pub hold: Option<HoldEffect>,
}

/// What an event does to a hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HoldEffect {
    Opens,
    Ends,
}

/// A sum of amount variables, such as `gross - fee - vat`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sum {
    terms: Vec<(bool, Name)>,
}

/// The currency of a line: the variable that names it. Most events have one, `currency`; a conversion has
/// `sellCurrency` and `buyCurrency`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Leg(Name);

/// A mapping file that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct MappingError {
    pub line: u64,
    pub reason: String,
}

/// The journal lines of each event.
pub fn parse(text: &str) -> Result<BTreeMap<Name, Vec<Line>>, MappingError> {
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
    let mut events: BTreeMap<Name, Vec<Line>> = BTreeMap::new();
    for record in reader.records() {
        let record = record.map_err(|error| MappingError {
            line: error.position().map_or(1, csv::Position::line),
            reason: error.to_string(),
        })?;
        let line = record.position().map_or(0, csv::Position::line);
        let (event, parsed) =
            parse_line(&record).map_err(|reason| MappingError { line, reason })?;
        events.entry(event).or_default().push(parsed);
    }
    Ok(events)
}

fn parse_line(record: &csv::StringRecord) -> Result<(Name, Line), String> {
    let fields: Vec<&str> = record.iter().collect();
    let [event, debit, credit, amount, leg, overdraft, hold] = fields.as_slice() else {
        return Err("a line is event,debit,credit,amount,currency,overdraft,hold".to_owned());
    };
    let is_event =
        !event.is_empty() && event.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    if !is_event {
        return Err(format!("`{event}` is not an event: use capitals and `_`"));
    }
    let line = Line {
        debit: debit.parse()?,
        credit: credit.parse()?,
        amount: Sum::parse(amount)?,
        leg: Leg::parse(leg)?,
        overdraft: if overdraft.is_empty() { None } else { Some(overdraft.parse()?) },
        hold: match *hold {
            "" => None,
            "opens" => Some(HoldEffect::Opens),
            "ends" => Some(HoldEffect::Ends),
            _ => {
                return Err(format!(
                    "`{hold}` is not something that happens to a hold: opens or ends"
                ));
            }
        },
    };
    if line.overdraft.is_some_and(|code| code != line.debit && code != line.credit) {
        return Err("the overdraft names a code that is not on the line".to_owned());
    }
    Ok((Name::from(*event), line))
}

impl Line {
    /// The codes that the line lowers.
    pub fn falling(&self, chart: &Chart) -> impl Iterator<Item = GlCode> {
        [(self.debit, Side::Debit), (self.credit, Side::Credit)]
            .into_iter()
            .filter(|(code, written)| chart.get(*code).is_some_and(|gl| gl.side() != *written))
            .map(|(code, _)| code)
    }
}

impl Sum {
    fn parse(text: &str) -> Result<Self, String> {
        let error = || format!("`{text}` is not a sum of amounts such as `gross - fee`");
        let mut terms = Vec::new();
        let mut is_plus = true;
        for (index, word) in text.split_whitespace().enumerate() {
            match (index.is_multiple_of(2), word) {
                (true, name) if name.bytes().all(|byte| byte.is_ascii_lowercase()) => {
                    terms.push((is_plus, Name::from(name)));
                }
                (false, "+") => is_plus = true,
                (false, "-") => is_plus = false,
                (true | false, _) => return Err(error()),
            }
        }
        let is_complete =
            text.split_whitespace().count().saturating_add(1) == terms.len().saturating_mul(2);
        if is_complete { Ok(Self { terms }) } else { Err(error()) }
    }

    /// The names of the amounts, in order.
    pub fn names(&self) -> impl Iterator<Item = &Name> {
        self.terms.iter().map(|(_, name)| name)
    }

    /// The sum for given amounts.
    pub fn evaluate(&self, amount: impl Fn(&str) -> i128) -> i128 {
        self.terms.iter().fold(0, |sum: i128, (is_plus, name)| match is_plus {
            true => sum.saturating_add(amount(name)),
            false => sum.saturating_sub(amount(name)),
        })
    }
}

impl Leg {
    fn parse(text: &str) -> Result<Self, String> {
        let is_known = text == "currency"
            || text.strip_suffix("Currency").is_some_and(|leg| {
                !leg.is_empty() && leg.bytes().all(|byte| byte.is_ascii_lowercase())
            });
        if is_known {
            Ok(Self(Name::from(text)))
        } else {
            Err(format!(
                "`{text}` is not a currency variable: use `currency`, or `sellCurrency` and the like"
            ))
        }
    }

    /// The variable that names the currency.
    pub fn variable(&self) -> &Name {
        &self.0
    }

    /// How a template writes the account of a code in this leg: `gl_2004`, or `gl_2004_sell`.
    pub fn account_variable(&self, code: GlCode) -> String {
        match self.0.strip_suffix("Currency") {
            Some(leg) => format!("gl_{code}_{leg}"),
            None => format!("gl_{code}"),
        }
    }
}

impl fmt::Display for Leg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
