//! The shapes on the wire, after the GSMA Mobile Money API: transactions, their states, and errors.

use bursar_core::money::Money;
use bursar_core::payouts::Beneficiary;
use bursar_core::payouts::attempt::Reported;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// Names the attempt, in requests and in answers.
pub(crate) const CORRELATION_ID: &str = "x-correlationid";
pub(crate) const CALLBACK_URL: &str = "x-callback-url";

/// The body of `POST /transactions`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Transaction {
    /// A decimal, as text.
    pub(crate) amount: String,
    pub(crate) currency: String,
    pub(crate) r#type: String,
    /// Our reference; the same as the correlation id.
    pub(crate) requesting_organisation_transaction_reference: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) debit_party: Vec<Party>,
    #[serde(default)]
    pub(crate) credit_party: Vec<Party>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) recipient_kyc: Option<Kyc>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Party {
    pub(crate) key: String,
    pub(crate) value: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Kyc {
    pub(crate) subject_name: SubjectName,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SubjectName {
    pub(crate) full_name: String,
}

impl Transaction {
    pub(crate) fn new(
        reference: &str,
        amount: Money,
        beneficiary: &Beneficiary,
        debit_party: Option<&str>,
    ) -> Self {
        let Beneficiary { name, account, msisdn, bank } = beneficiary;
        let credited = [("msisdn", msisdn), ("accountid", account), ("bankcode", bank)];
        let credit_party = credited
            .into_iter()
            .filter_map(|(key, value)| Some(Party::new(key, value.as_deref()?)))
            .collect();
        Self {
            amount: amount.to_string(),
            currency: amount.currency().to_string(),
            r#type: "disbursement".to_owned(),
            requesting_organisation_transaction_reference: reference.to_owned(),
            debit_party: debit_party
                .map(|value| Party::new("accountid", value))
                .into_iter()
                .collect(),
            credit_party,
            recipient_kyc: Some(Kyc { subject_name: SubjectName { full_name: name.clone() } }),
        }
    }
}

impl Party {
    fn new(key: &str, value: &str) -> Self {
        Self { key: key.to_owned(), value: value.to_owned() }
    }
}

/// The state of a transaction: the answer to a submission or a query, and the body of a callback.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct State {
    #[serde(alias = "transactionStatus")]
    pub(crate) status: String,
    /// Our reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) client_correlation_id: Option<String>,
    /// The channel's own name for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) transaction_reference: Option<String>,
    /// The amount of the payment: a decimal as text, or a number.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "as_written")]
    pub(crate) amount: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "as_written")]
    pub(crate) currency: Option<String>,
    /// Why it failed.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "object_or_nothing"
    )]
    pub(crate) error_reference: Option<ErrorBody>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ErrorBody {
    pub(crate) error_code: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error_description: Option<String>,
}

/// Reads a body that is an object. The library would also take a list of the right values, but that is not an answer.
pub(crate) fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, String> {
    if !body.trim_ascii_start().starts_with(b"{") {
        return Err("it is not an object".to_owned());
    }
    serde_json::from_slice(body).map_err(|error| excerpt(&error.to_string()))
}

/// A text or a number as it is written. Any other value is kept as text too, and is no amount.
fn as_written<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let text = match Value::deserialize(deserializer)? {
        Value::Null => return Ok(None),
        Value::String(text) => text,
        other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            other.to_string()
        }
    };
    let mut kept: String = text.chars().filter(|it| !it.is_control()).take(REPORTED_MAX).collect();
    if kept != text {
        // What is cut is no amount, whatever is left of it.
        kept.push('…');
    }
    Ok(Some(kept))
}

/// The longest amount or currency that is kept.
const REPORTED_MAX: usize = 40;

/// Reads an object within another, in the same way.
fn object_or_nothing<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<ErrorBody>, D::Error> {
    let object: Option<serde_json::Map<String, Value>> = Option::deserialize(deserializer)?;
    let error = object.map(|object| serde_json::from_value(Value::Object(object))).transpose();
    error.map_err(D::Error::custom)
}

/// The known words for a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    Pending,
    Completed,
    Failed,
    /// Paid, and the money came back.
    Returned,
}

impl Status {
    pub(crate) fn from_word(word: &str) -> Option<Self> {
        match word {
            "pending" => Some(Self::Pending),
            "completed" => Some(Self::Completed),
            "failed" => Some(Self::Failed),
            "reversed" | "returned" => Some(Self::Returned),
            _ => None,
        }
    }

    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Returned => "returned",
        }
    }
}

impl State {
    /// The channel's own name for it, if it is short and printable.
    pub(crate) fn provider_reference(&self) -> Option<String> {
        self.transaction_reference.clone().filter(|name| is_name(name))
    }

    /// The amount and currency that it names.
    pub(crate) fn reported(&self) -> Option<Reported> {
        let Self { amount, currency, .. } = self;
        let reported = Reported { amount: amount.clone(), currency: currency.clone() };
        (reported != Reported::default()).then_some(reported)
    }
}

impl ErrorBody {
    /// The error as text that can be stored: short, and without control characters.
    pub(crate) fn text(&self) -> String {
        match &self.error_description {
            Some(description) => excerpt(&format!("{}: {description}", self.error_code)),
            None => excerpt(&self.error_code),
        }
    }
}

/// Names are short and printable; other texts are not stored as names.
pub(crate) fn is_name(text: &str) -> bool {
    (1..=128).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

const EXCERPT_MAX: usize = 200;

/// The beginning of a provider's text, fit to be stored: account numbers are masked, because providers repeat them in
/// their messages.
pub(crate) fn excerpt(text: &str) -> String {
    let text = text.chars().filter(|character| !character.is_control()).take(EXCERPT_MAX);
    let (mut kept, mut number) = (String::new(), String::new());
    for character in text {
        let is_inside =
            matches!(character, ' ' | '-') && number.ends_with(|it: char| it.is_ascii_digit());
        if character.is_ascii_digit() || is_inside {
            number.push(character);
            continue;
        }
        keep_number(&mut kept, &number);
        number.clear();
        kept.push(character);
    }
    keep_number(&mut kept, &number);
    kept
}

/// Digits, perhaps in groups: many of them may be an account number, and are masked.
fn keep_number(kept: &mut String, number: &str) {
    let digits = number.bytes().filter(u8::is_ascii_digit).count();
    let longest = number.split([' ', '-']).map(str::len).max().unwrap_or_default();
    if longest < NUMBER_MIN && digits < GROUPS_MIN {
        return kept.push_str(number);
    }
    kept.push_str("******");
    kept.extend(number.chars().next_back().filter(|last| !last.is_ascii_digit()));
}

/// How many digits, in a row or in groups, may be an account number.
const NUMBER_MIN: usize = 6;
const GROUPS_MIN: usize = 9;

#[cfg(test)]
mod tests {
    use super::excerpt;

    #[test]
    fn possible_account_numbers_are_masked() {
        assert_eq!(
            excerpt("AccountClosed: 923001234567 is closed"),
            "AccountClosed: ****** is closed"
        );
        assert_eq!(excerpt("error 50012, retry in 30 s"), "error 50012, retry in 30 s");
        assert_eq!(excerpt("PK36SCBL0000001123456702"), "PK36SCBL******");
        assert_eq!(excerpt("12345\u{7}"), "12345");
        assert_eq!(excerpt("account 9230 0123 4567 is closed"), "account ****** is closed");
        assert_eq!(excerpt("account 92-300-1234567."), "account ******.");
        assert_eq!(excerpt("line 12 34, code 7-8"), "line 12 34, code 7-8");
    }
}
