//! Reads the body of an answer: up to a limit, as bytes, never decompressed.

use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::header::{HeaderMap, RETRY_AFTER};
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;

const READ_MAX: usize = 64 * 1024;
const PREFIX_MAX: usize = 4 * 1024;
const RETRY_AFTER_MAX: Duration = Duration::from_hours(30 * 24);

/// The beginning of a body.
#[derive(Debug, Default)]
pub(crate) struct BodyPrefix {
    pub(crate) bytes: Vec<u8>,
    read: usize,
    is_whole: bool,
}

impl BodyPrefix {
    /// Reads until the body ends or is too long. The connection of a body that was not read to its end is closed.
    pub(crate) async fn fill(&mut self, mut body: Incoming) {
        while self.read < READ_MAX {
            match body.frame().await {
                // Trailers are ignored.
                Some(Ok(frame)) => frame.data_ref().into_iter().for_each(|data| self.keep(data)),
                // The status is known; the rest of the body does not matter.
                Some(Err(_)) => return,
                None => {
                    self.is_whole = true;
                    return;
                }
            }
        }
    }

    fn keep(&mut self, data: &[u8]) {
        self.read = self.read.saturating_add(data.len());
        let room = PREFIX_MAX.saturating_sub(self.bytes.len());
        self.bytes.extend(data.iter().take(room));
    }

    /// Whether the body was read to its end.
    pub(crate) const fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Whether there was more, or may have been.
    pub(crate) fn is_cut(&self) -> bool {
        !self.is_whole || self.read > self.bytes.len()
    }
}

/// `Retry-After`: in seconds, or until a date. An unreadable value is ignored.
pub(crate) fn retry_after(headers: &HeaderMap, at: Timestamp) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let wait = if is_number {
        text.parse().map_or(RETRY_AFTER_MAX, Duration::from_secs)
    } else {
        let date = DateTimeParser::new().parse_timestamp(text).ok()?;
        // A date in the past is no wait.
        Duration::try_from(date.duration_since(at)).unwrap_or_default()
    };
    Some(wait.min(RETRY_AFTER_MAX))
}
