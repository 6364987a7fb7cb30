//! What a provider's errors mean, as data. What is not in the map means nothing, and says so.

use std::collections::BTreeMap;

/// A detail that begins with this is about something the map does not have: somebody should look, and extend the map.
pub const UNMAPPED: &str = "unmapped ";

/// What a provider's error code proves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// It was refused and will not be paid. Another attempt may do better, or not.
    Rejected { is_retryable: bool },
    /// The provider already has this reference.
    Duplicate,
    /// The provider does not know this reference.
    NotFound,
    /// It proves nothing, and that is known.
    Unknown,
}

/// What an HTTP status proves by itself. Never a refusal: whatever stands between us and the provider makes statuses, but
/// not the provider's error codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusMeaning {
    Duplicate,
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorMap {
    pub codes: BTreeMap<String, Meaning>,
    pub statuses: BTreeMap<u16, StatusMeaning>,
}

impl Default for ErrorMap {
    /// The codes that the simulator uses, and the usual meaning of two statuses. A provider's own list is configuration.
    fn default() -> Self {
        let permanent = Meaning::Rejected { is_retryable: false };
        let retryable = Meaning::Rejected { is_retryable: true };
        let codes = [
            ("AccountClosed", permanent),
            ("AccountNotFound", permanent),
            ("FormatError", permanent),
            ("LimitExceeded", permanent),
            ("NameMismatch", permanent),
            ("InsufficientFloat", retryable),
            ("PayeeUnavailable", retryable),
            ("SystemBusy", retryable),
            ("DuplicateRequest", Meaning::Duplicate),
            ("TransactionNotFound", Meaning::NotFound),
            ("InternalError", Meaning::Unknown),
        ];
        let statuses = [(409, StatusMeaning::Duplicate), (429, StatusMeaning::Unknown)];
        Self {
            codes: codes.into_iter().map(|(code, meaning)| (code.to_owned(), meaning)).collect(),
            statuses: statuses.into_iter().collect(),
        }
    }
}
