//! The trace: one line for each event. The digest is always kept, the lines only on request.

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Microseconds since the world began.
    pub at: u64,
    /// The short name of its flow; empty for everything else.
    pub about: String,
    pub text: String,
}

#[derive(Debug, Default)]
pub(crate) struct Trace {
    pub(crate) lines: Vec<Line>,
    pub(crate) digest: u64,
    pub(crate) steps: u64,
    is_kept: bool,
}

impl Trace {
    pub(crate) fn new(is_kept: bool) -> Self {
        Self { is_kept, digest: 0xcbf2_9ce4_8422_2325, ..Self::default() }
    }

    pub(crate) fn add(&mut self, at: u64, about: &str, text: String) {
        self.steps = self.steps.saturating_add(1);
        let bytes = at.to_be_bytes().into_iter().chain(about.bytes()).chain(text.bytes());
        for byte in bytes {
            self.digest = (self.digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        if self.is_kept {
            self.lines.push(Line { at, about: about.to_owned(), text });
        }
    }
}

impl std::fmt::Display for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let part = |unit: u64| self.at.checked_div(unit).unwrap_or_default();
        let rest = |value: u64, by: u64| value.checked_rem(by).unwrap_or_default();
        let (days, hours) = (part(86_400_000_000), rest(part(3_600_000_000), 24));
        let (minutes, seconds) = (rest(part(60_000_000), 60), rest(part(1_000_000), 60));
        let micros = rest(self.at, 1_000_000);
        write!(f, "{days}d {hours:02}:{minutes:02}:{seconds:02}.{micros:06} ")?;
        write!(f, "{:<4} {}", self.about, self.text)
    }
}
