//! What became of an attempt.

use std::error::Error;
use std::fmt;
use std::io;
use std::time::Duration;

use tokio_rustls::rustls;

const DETAIL_MAX: usize = 300;

/// What became of an attempt, and how long it took from the first question to the last byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    pub latency: Duration,
    pub result: Result<Answered, NotAnswered>,
}

/// The endpoint has said something: a status, and all of its headers. From then on it has answered, even if its body
/// never ends or breaks off: whoever says 200 has got the event, and would only get it twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    pub status: u16,
    /// From when the attempt was made; at most 30 days.
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
    /// For people; at most 300 characters, and none of them secret.
    pub detail: String,
}

/// Where an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// The URL, an address of its host or a header is not allowed; nothing was sent.
    Refused,
    /// The host has no address that can be found; nothing was sent.
    Dns,
    /// Nobody takes the connection; nothing was sent.
    Connect,
    /// The server cannot prove who it is.
    Tls,
    /// The time was over before there was an answer.
    Timeout,
    /// The server does not speak HTTP, or too much of it.
    Protocol,
    /// The server hung up before it answered.
    Closed,
    /// The event cannot be signed or put into headers: our mistake; nothing was sent.
    Signing,
    /// This machine has no files or ports left, so nothing was sent: the endpoint has nothing to do with it.
    NoMeans,
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
            Self::NoMeans => "no_means",
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The server says more than anybody would ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the server says too much before it has answered")]
pub(crate) struct TooMuch;

impl NotAnswered {
    pub(crate) fn new(class: Class, detail: impl fmt::Display) -> Self {
        // Servers have a say in what errors look like, and not every database takes every character.
        let plain = |letter: char| if letter.is_control() { ' ' } else { letter };
        let detail = detail.to_string().chars().take(DETAIL_MAX).map(plain).collect();
        Self { class, detail }
    }

    /// What an error is, judged by everything behind it: what lies deepest counts, unless we said it ourselves.
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

/// Whether this machine could not even begin, for want of files, ports or memory.
pub(crate) fn is_ours(error: &io::Error) -> bool {
    // Too many open files, in this process or in all of them; the same number everywhere but not a kind of its own.
    const NO_FILES: [i32; 2] = [24, 23];
    error.raw_os_error().is_some_and(|code| NO_FILES.contains(&code))
        || matches!(
            error.kind(),
            io::ErrorKind::AddrNotAvailable
                | io::ErrorKind::AddrInUse
                | io::ErrorKind::NetworkDown
                | io::ErrorKind::OutOfMemory
        )
}

/// An I/O error hides the error that it was made from.
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
