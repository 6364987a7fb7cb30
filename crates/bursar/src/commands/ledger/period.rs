//! Arguments that select the transactions of a report by time.

use bursar_core::ledger::views::{AsOf, Clock, Period};
use bursar_node::failure::Failure;
use clap::{Args, ValueEnum};
use jiff::Timestamp;
use serde_json::Value;

#[derive(Debug, Args)]
pub(super) struct AsOfArguments {
    /// Balances as of this time (RFC 3339)
    #[arg(long, value_name = "TIME")]
    as_of: Option<Timestamp>,
    /// The time of a transaction that counts
    #[arg(long, value_enum, default_value_t = By::Effective)]
    by: By,
}

#[derive(Debug, Args)]
pub(super) struct PeriodArguments {
    /// Only transactions at or after this time (RFC 3339)
    #[arg(long, value_name = "TIME")]
    from: Option<Timestamp>,
    /// Only transactions before this time (RFC 3339)
    #[arg(long, value_name = "TIME")]
    to: Option<Timestamp>,
    /// The time of a transaction that counts
    #[arg(long, value_enum, default_value_t = By::Effective)]
    by: By,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum By {
    /// When the transaction took effect
    Effective,
    /// When the transaction was saved
    Inserted,
}

impl By {
    const fn clock(self) -> Clock {
        match self {
            Self::Effective => Clock::Effective,
            Self::Inserted => Clock::Inserted,
        }
    }
}

impl AsOfArguments {
    pub(super) fn as_of(&self) -> Option<AsOf> {
        self.as_of.map(|time| AsOf { time, clock: self.by.clock() })
    }

    pub(super) fn fact(&self) -> (&'static str, Value) {
        ("asOf", moment(self.as_of))
    }
}

impl PeriodArguments {
    pub(super) fn period(&self) -> Result<Period, Failure> {
        if let (Some(from), Some(to)) = (self.from, self.to)
            && to <= from
        {
            return Err(Failure::new(format!(
                "nothing can be both from {from} on and before {to}: nothing was read. Give --to a later moment than --from"
            )));
        }
        Ok(Period { from: self.from, to: self.to, clock: self.by.clock() })
    }

    pub(super) fn facts(&self) -> [(&'static str, Value); 2] {
        [("from", moment(self.from)), ("to", moment(self.to))]
    }
}

fn moment(time: Option<Timestamp>) -> Value {
    time.map_or(Value::Null, |time| time.to_string().into())
}
