//! Address patterns such as `merchants:{merchantId}:available:{currency}`.

use std::fmt;
use std::str::FromStr;

use crate::numscript::{Name, is_address};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    segments: Vec<Segment>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Segment {
    Text(Name),
    Placeholder(Name),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not an address pattern: write segments joined by `:`, each either a text of letters, digits, `_` and `-`, or a whole `{{placeholder}}`"
)]
pub struct PatternError {
    text: String,
}

impl Pattern {
    /// The names of the placeholders, in order.
    pub fn placeholders(&self) -> impl Iterator<Item = &Name> {
        self.segments.iter().filter_map(|segment| match segment {
            Segment::Text(_) => None,
            Segment::Placeholder(name) => Some(name),
        })
    }

    /// The address with every placeholder filled in.
    pub fn fill<'v>(&self, value: impl Fn(&str) -> &'v str) -> Name {
        self.fill_in(&mut String::new(), value)
    }

    /// Same, with a buffer that the caller reuses for several patterns.
    pub(crate) fn fill_in<'v>(&self, buffer: &mut String, value: impl Fn(&str) -> &'v str) -> Name {
        buffer.clear();
        for segment in &self.segments {
            if !buffer.is_empty() {
                buffer.push(':');
            }
            buffer.push_str(match segment {
                Segment::Text(text) => text,
                Segment::Placeholder(name) => value(name),
            });
        }
        buffer.as_str().into()
    }

    /// Whether some address would match both patterns.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.segments.len() == other.segments.len()
            && self.segments.iter().zip(&other.segments).all(|pair| match pair {
                (Segment::Text(a), Segment::Text(b)) => a == b,
                (Segment::Placeholder(_), _) | (_, Segment::Placeholder(_)) => true,
            })
    }
}

impl FromStr for Pattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        let error = || PatternError { text: text.chars().take(200).collect() };
        let mut segments = Vec::new();
        for part in text.split(':') {
            let placeholder = part.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
            segments.push(match placeholder {
                Some(name) if is_placeholder(name) => Segment::Placeholder(name.into()),
                None if is_address(part) => Segment::Text(part.into()),
                Some(_) | None => return Err(error()),
            });
        }
        // `@world` is the bridge between the two sides of the books and never an account of the chart.
        if text == "world" || text.len() > 200 {
            return Err(error());
        }
        Ok(Self { segments })
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, segment) in self.segments.iter().enumerate() {
            let colon = if index == 0 { "" } else { ":" };
            match segment {
                Segment::Text(text) => write!(f, "{colon}{text}")?,
                Segment::Placeholder(name) => write!(f, "{colon}{{{name}}}")?,
            }
        }
        Ok(())
    }
}

fn is_placeholder(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
}
