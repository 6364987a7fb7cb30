//! Windows: when a channel takes payments, in the time of its own zone.

use jiff::civil::{Date, Time, Weekday};
use jiff::tz::{TimeZone, TimeZoneDatabase};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// A window of every week.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// All days if there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub days: Vec<Day>,
    /// `16:00`, in the time of the zone.
    pub open: String,
    /// On the next day if it is not later than the opening.
    pub close: String,
    /// The IANA name of the zone.
    pub zone: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Day {
    Mon,
    Tue,
    Wed,
    Thu,
    Fri,
    Sat,
    Sun,
}

impl Day {
    const fn weekday(self) -> Weekday {
        match self {
            Self::Mon => Weekday::Monday,
            Self::Tue => Weekday::Tuesday,
            Self::Wed => Weekday::Wednesday,
            Self::Thu => Weekday::Thursday,
            Self::Fri => Weekday::Friday,
            Self::Sat => Weekday::Saturday,
            Self::Sun => Weekday::Sunday,
        }
    }
}

/// What happens to flows that were due in a window and were not sent before it closed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AtCutOff {
    /// They wait for the next window.
    #[default]
    Hold,
    /// They end, and their money is released.
    Expire,
    /// They are sent nevertheless.
    SendAnyway,
}

/// How far a search for an opening goes: a year of holidays.
const DAYS_MAX: i32 = 370;

/// The windows and holidays of a channel, read once.
#[derive(Debug, Clone, Default)]
pub struct Calendar {
    windows: Vec<ReadWindow>,
    holidays: Vec<Date>,
}

#[derive(Debug, Clone)]
struct ReadWindow {
    days: Vec<Weekday>,
    open: Time,
    close: Time,
    zone: TimeZone,
}

/// Whether a channel is open, and until or since when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opening {
    pub is_open: bool,
    /// When it closes if it is open, or opens if it is closed. None if it never does.
    pub changes_at: Option<Timestamp>,
    /// The last time that it closed: flows that were due before have missed their cut-off.
    pub closed_at: Option<Timestamp>,
}

impl Calendar {
    /// Fails with what is wrong.
    pub fn new(windows: &[Window], holidays: &[Date]) -> Result<Self, String> {
        let windows = windows.iter().map(ReadWindow::new).collect::<Result<_, _>>()?;
        Ok(Self { windows, holidays: holidays.to_vec() })
    }

    pub fn at(&self, now: Timestamp) -> Opening {
        if self.windows.is_empty() {
            return Opening { is_open: true, changes_at: None, closed_at: None };
        }
        let until = self.windows.iter().filter_map(|window| self.open_until(window, now)).max();
        let closed = self.windows.iter().filter_map(|window| self.last_close(window, now)).max();
        let opens = || {
            let next = self.windows.iter().filter_map(|window| self.next_open(window, now));
            next.min()
        };
        Opening { is_open: until.is_some(), changes_at: until.or_else(opens), closed_at: closed }
    }

    fn is_open_at(&self, time: Timestamp) -> bool {
        self.windows.iter().any(|window| self.open_until(window, time).is_some())
    }

    /// When the window closes, if it is open.
    fn open_until(&self, window: &ReadWindow, now: Timestamp) -> Option<Timestamp> {
        let today = window.date(now);
        // A window over midnight began yesterday.
        let spans = (-1..=0).filter_map(|days| self.span(window, today, days));
        let spans = spans.filter(|(open, close)| *open <= now && now < *close);
        spans.map(|(_, close)| close).max()
    }

    fn next_open(&self, window: &ReadWindow, now: Timestamp) -> Option<Timestamp> {
        let today = window.date(now);
        let spans = (0..DAYS_MAX).filter_map(|days| self.span(window, today, days));
        spans.map(|(open, _)| open).find(|open| now < *open)
    }

    /// A window that closes while another is open is no cut-off.
    fn last_close(&self, window: &ReadWindow, now: Timestamp) -> Option<Timestamp> {
        let today = window.date(now);
        let spans = (-1..DAYS_MAX).filter_map(|days| self.span(window, today, days.checked_neg()?));
        spans.map(|(_, close)| close).find(|close| *close <= now && !self.is_open_at(*close))
    }

    /// When the window opens and closes on a day, if it does. A time that the zone leaves out is moved to the next one.
    fn span(&self, window: &ReadWindow, from: Date, days: i32) -> Option<(Timestamp, Timestamp)> {
        let date = from.checked_add(SignedDuration::from_hours(i64::from(days).checked_mul(24)?));
        let date = date.ok()?;
        let is_day = window.days.is_empty() || window.days.contains(&date.weekday());
        if !is_day || self.holidays.contains(&date) {
            return None;
        }
        let closing = if window.close > window.open { date } else { date.tomorrow().ok()? };
        let time = |date: Date, time: Time| {
            let zoned = date.to_datetime(time).to_zoned(window.zone.clone());
            zoned.ok().map(|zoned| zoned.timestamp())
        };
        let (open, close) = (time(date, window.open)?, time(closing, window.close)?);
        (open < close).then_some((open, close))
    }
}

impl ReadWindow {
    fn new(window: &Window) -> Result<Self, String> {
        let Window { days, open, close, zone } = window;
        let time = |key: &str, text: &str| {
            let read = Time::strptime("%H:%M", text);
            read.map_err(|_| format!("{key} is `{text}`, but it must be a time such as \"16:00\""))
        };
        // A name without a city is an abbreviation, which means different things in summer and winter.
        let is_place = zone.contains('/') || zone == "UTC";
        let found = TimeZoneDatabase::bundled().get(zone).ok().filter(|_| is_place);
        let hint = if zone == "MST" { " (America/Phoenix or America/Denver?)" } else { "" };
        let found = found.ok_or_else(|| {
            format!("zone is `{zone}`{hint}, but it must be the IANA name of a zone such as \"Asia/Karachi\", or \"UTC\"")
        })?;
        let days = days.iter().map(|day| day.weekday()).collect();
        Ok(Self { days, open: time("open", open)?, close: time("close", close)?, zone: found })
    }

    fn date(&self, now: Timestamp) -> Date {
        now.to_zoned(self.zone.clone()).date()
    }
}
