//! The meanings of a provider's errors, as data. An error that is not in the map is reported as unmapped.

use std::collections::BTreeMap;
use std::str::FromStr;

use crate::gsma::excerpt;

/// The meaning of a provider's error code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// It was refused and will not be paid. Another attempt may succeed if it is retryable.
    Rejected { is_retryable: bool },
    /// The provider already has this reference.
    Duplicate,
    /// The provider does not know this reference.
    NotFound,
    /// Mapped as proof of nothing.
    Unknown,
}

/// A word of the configuration that is no meaning.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{word:?} is not what an error can mean. Nothing will be sent; choose one of {known}")]
pub struct UnknownMeaning {
    word: String,
    known: &'static str,
}

impl FromStr for Meaning {
    type Err = UnknownMeaning;

    /// The words of the configuration.
    fn from_str(word: &str) -> Result<Self, UnknownMeaning> {
        match word {
            "rejected" => Ok(Self::Rejected { is_retryable: false }),
            "rejected_for_now" => Ok(Self::Rejected { is_retryable: true }),
            "duplicate" => Ok(Self::Duplicate),
            "not_found" => Ok(Self::NotFound),
            "unknown" => Ok(Self::Unknown),
            _ => {
                let known = "rejected, rejected_for_now, duplicate, not_found, unknown";
                Err(UnknownMeaning { word: excerpt(word), known })
            }
        }
    }
}

/// The meaning of an HTTP status alone. Never a refusal: a proxy on the way can make a status, but not one of the
/// provider's error codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusMeaning {
    Duplicate,
    Unknown,
}

impl FromStr for StatusMeaning {
    type Err = UnknownMeaning;

    fn from_str(word: &str) -> Result<Self, UnknownMeaning> {
        match word {
            "duplicate" => Ok(Self::Duplicate),
            "unknown" => Ok(Self::Unknown),
            _ => Err(UnknownMeaning { word: excerpt(word), known: "duplicate, unknown" }),
        }
    }
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

#[cfg(test)]
mod tests {
    use super::{Meaning, StatusMeaning};

    #[test]
    fn a_status_alone_is_never_a_refusal() {
        let passing = "rejected_for_now".parse();
        assert_eq!(passing, Ok(Meaning::Rejected { is_retryable: true }));
        assert_eq!("duplicate".parse(), Ok(StatusMeaning::Duplicate));
        let error = "rejected".parse::<StatusMeaning>().unwrap_err();
        assert!(error.to_string().ends_with("choose one of duplicate, unknown"), "{error}");
        assert!("paid".parse::<Meaning>().is_err(), "no error means that it was paid");
    }
}
