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

/// A beneficiary as replies, events and reports show it: enough to recognise it, not enough to pay it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MaskedBeneficiary {
    /// The id of the registered beneficiary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub msisdn: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bank: Option<String>,
}

impl Beneficiary {
    pub fn masked(&self, id: Option<&str>) -> MaskedBeneficiary {
        MaskedBeneficiary {
            id: id.map(str::to_owned),
            name: mask_name(&self.name),
            account: self.account.as_deref().map(mask_number),
            msisdn: self.msisdn.as_deref().map(mask_number),
            bank: self.bank.clone(),
        }
    }

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

/// Keeps the first letter of each word.
fn mask_name(name: &str) -> String {
    let words = name.split_whitespace().filter_map(|word| word.chars().next());
    words.map(|first| format!("{first}***")).collect::<Vec<_>>().join(" ")
}

/// Keeps the last four characters; of a number with fewer than eight the last two, of one with at most two none. The
/// length is not shown.
fn mask_number(number: &str) -> String {
    let length = number.chars().count();
    let kept = match length {
        0..=2 => 0,
        3..=7 => 2,
        _ => 4,
    };
    let end = number.chars().skip(length.saturating_sub(kept));
    "****".chars().chain(end).collect()
}

#[cfg(test)]
mod tests {
    use super::{mask_name, mask_number};

    #[test]
    fn a_masked_name_has_the_first_letter_of_each_word() {
        for (name, masked) in [
            ("A. Khan", "A*** K***"),
            ("Ali", "A***"),
            ("  Zoë   \"Z\"\tKhan ", "Z*** \"*** K***"),
            ("Łukasz Żak", "Ł*** Ż***"),
            ("علی خان", "ع*** خ***"),
            ("王小明", "王***"),
            ("Jean-Luc", "J***"),
            ("923001234567", "9***"),
            ("A", "A***"),
            (" ", ""),
            ("", ""),
        ] {
            assert_eq!(mask_name(name), masked, "{name}");
        }
    }

    #[test]
    fn a_masked_number_has_its_end_and_not_its_length() {
        for (number, masked) in [
            ("923001234567", "****4567"),
            ("PK36SCBL0000001123456702", "****6702"),
            ("12345678", "****5678"),
            ("1234567", "****67"),
            ("123456", "****56"),
            ("123", "****23"),
            ("12", "****"),
            ("1", "****"),
            ("", "****"),
            ("١٢٣٤٥٦٧٨", "****٥٦٧٨"),
            ("ééééééé", "****éé"),
        ] {
            assert_eq!(mask_number(number), masked, "{number}");
        }
    }
}
