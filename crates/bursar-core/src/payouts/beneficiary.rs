//! The receiver of a payout.

use serde::{Deserialize, Serialize};

use crate::rejection::Rejection;

/// The receiver of the money, in the form that the channel needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Beneficiary {
    pub name: String,
    /// A bank account; otherwise `msisdn` is the telephone number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub msisdn: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bank: Option<String>,
}

impl Beneficiary {
    /// The same with its telephone number as digits: E.164 begins with a plus sign.
    #[must_use]
    pub fn normalised(mut self) -> Self {
        if let Some(digits) = self.msisdn.as_ref().and_then(|msisdn| msisdn.strip_prefix('+')) {
            self.msisdn = Some(digits.to_owned());
        }
        self
    }

    pub(crate) fn check(&self) -> Result<(), Rejection> {
        let is_good = |text: &String| {
            let length = text.chars().take(129).count();
            (1..=128).contains(&length) && !text.contains(char::is_control)
        };
        let is_digits = |text: &String| text.bytes().all(|byte| byte.is_ascii_digit());
        let has_one = self.account.is_some() != self.msisdn.is_some();
        let texts =
            [Some(&self.name), self.account.as_ref(), self.msisdn.as_ref(), self.bank.as_ref()];
        let is_number = self
            .msisdn
            .as_ref()
            .is_none_or(|msisdn| (6..=15).contains(&msisdn.len()) && is_digits(msisdn));
        if has_one && is_number && texts.into_iter().flatten().all(is_good) {
            return Ok(());
        }
        Err(Rejection::BadBeneficiary)
    }
}
