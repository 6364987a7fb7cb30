//! The result of an attempt.

use std::error::Error;
use std::time::Duration;
use std::{fmt, io};

use tokio_rustls::rustls;

const DETAIL_MAX: usize = 300;

/// The result of an attempt, and its duration from the name lookup to the last byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    pub latency: Duration,
    pub result: Result<Answered, NotAnswered>,
}

/// The endpoint has sent a status and all headers. That counts as an answer even if the body never ends or breaks off: an
/// endpoint that answers 200 has received the event, and a retry would only duplicate it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    pub status: u16,
    /// Counted from the attempt; at most 30 days.
    pub retry_after: Option<Duration>,
    /// The first 4 KiB, as they came.
    pub body: Vec<u8>,
    /// Whether there was more, or may have been.
    pub is_cut: bool,
}

/// There is no answer. Unless the class says otherwise, the event may have arrived.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct NotAnswered {
    pub class: Class,
    /// For operators; at most 300 characters, without secrets.
    pub detail: String,
}

/// Where an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// The URL, an address of its host or a header is not allowed; nothing was sent.
    Refused,
    /// The host has no address that can be found; nothing was sent.
    Dns,
    /// No address accepts the connection; nothing was sent.
    Connect,
    /// The server does not prove its name.
    Tls,
    /// No answer before the deadline.
    Timeout,
    /// The server does not speak HTTP, or sends more than the limits.
    Protocol,
    /// The server closed the connection before it answered.
    Closed,
    /// The event cannot be signed or put into headers: a fault of Bursar; nothing was sent.
    Signing,
    /// This machine has no files or ports left: not a fault of the endpoint; nothing was sent.
    LocalResourceExhausted,
}

impl Class {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Dns => "dns",
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::Timeout => "timeout",
            Self::Protocol => "protocol",
            Self::Closed => "closed",
            Self::Signing => "signing",
            Self::LocalResourceExhausted => "no_means",
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The server sends more than the limit before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the server says too much before it has answered")]
pub(crate) struct TooMuch;

impl NotAnswered {
    pub(crate) fn new(class: Class, detail: impl fmt::Display) -> Self {
        // Error texts contain bytes of servers, and not every database stores every character.
        let plain = |letter: char| if letter.is_control() { ' ' } else { letter };
        let detail = detail.to_string().chars().take(DETAIL_MAX).map(plain).collect();
        Self { class, detail }
    }

    /// Classifies an error by its chain of sources: the deepest one counts, unless one of them is a `NotAnswered`.
    pub(crate) fn from_error(error: &(dyn Error + 'static)) -> Self {
        let mut class = Class::Protocol;
        let mut texts: Vec<String> = Vec::new();
        let mut next = Some(error);
        while let Some(cause) = next {
            if let Some(known) = cause.downcast_ref::<Self>() {
                return known.clone();
            }
            class = class_of(cause).unwrap_or(class);
            let text = cause.to_string();
            if texts.last() != Some(&text) {
                texts.push(text);
            }
            next = behind(cause);
        }
        Self::new(class, texts.join(": "))
    }
}

/// The source of an error; an I/O error hides the error that it wraps.
fn behind<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    inner.map_or_else(|| error.source(), |inner| Some(inner))
}

fn class_of(error: &(dyn Error + 'static)) -> Option<Class> {
    if error.is::<rustls::Error>() {
        return Some(Class::Tls);
    }
    if error.is::<TooMuch>() {
        return Some(Class::Protocol);
    }
    if error.is::<io::Error>() {
        return Some(Class::Closed);
    }
    let error = error.downcast_ref::<hyper::Error>()?;
    let is_closed = error.is_incomplete_message()
        || error.is_canceled()
        || error.is_closed()
        || error.is_timeout()
        || error.is_body_write_aborted();
    Some(if is_closed { Class::Closed } else { Class::Protocol })
}
