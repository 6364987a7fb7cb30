//! What is known about an attempt: everything that was said, and what follows from it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::event::{Evidence, Verdict};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// Counts from 1 within its payout.
    pub number: u32,
    /// What goes to the channel, and what stands in its books. Saved before the first byte is sent.
    pub reference: String,
    /// How often it was sent, or was about to be; each try is saved before its first byte.
    pub tries: u32,
    /// When the last try was planned.
    pub sent_at: Option<Timestamp>,
    /// Everything that was said, and when it was first said.
    #[serde(with = "pairs")]
    pub(super) evidence: BTreeMap<Evidence, Timestamp>,
}

/// What follows from the evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Knowledge {
    /// No try is out: none was made, or all are proven not to have been sent.
    NotSent,
    /// A try is out and its answer may still come.
    InFlight,
    /// A try is out and its answer will not come.
    Unknown,
    Accepted,
    NotPaid {
        is_retryable: bool,
    },
    Paid,
    Returned,
    /// Both paid and not paid: only a person can tell.
    Conflict,
}

impl Attempt {
    pub fn new(number: u32, reference: String) -> Self {
        Self { number, reference, tries: 0, sent_at: None, evidence: BTreeMap::new() }
    }

    pub fn evidence(&self) -> impl Iterator<Item = (&Evidence, &Timestamp)> {
        self.evidence.iter()
    }

    pub fn knowledge(&self) -> Knowledge {
        let has = |wanted: Verdict| self.evidence.keys().any(|known| known.verdict == wanted);
        let may_retry = has(Verdict::NotPaid { is_retryable: true });
        let must_not_retry = has(Verdict::NotPaid { is_retryable: false });
        let is_paid = has(Verdict::Paid);
        if has(Verdict::Returned) {
            // Only what was paid can come back.
            return Knowledge::Returned;
        }
        match (is_paid, may_retry || must_not_retry) {
            (true, true) => return Knowledge::Conflict,
            (true, false) => return Knowledge::Paid,
            (false, true) => return Knowledge::NotPaid { is_retryable: !must_not_retry },
            (false, false) => {}
        }
        if has(Verdict::Accepted) {
            return Knowledge::Accepted;
        }
        let mut out = (1..=self.tries).filter(|number| !has(Verdict::NotSent { r#try: *number }));
        match out.clone().next() {
            None => Knowledge::NotSent,
            Some(_) if out.all(|number| has(Verdict::Unknown { r#try: number })) => {
                Knowledge::Unknown
            }
            Some(_) => Knowledge::InFlight,
        }
    }

    /// Whether the channel may still pay it. While it may, there is no other attempt.
    pub fn is_live(&self) -> bool {
        match self.knowledge() {
            Knowledge::InFlight
            | Knowledge::Unknown
            | Knowledge::Accepted
            | Knowledge::Conflict => true,
            Knowledge::NotSent
            | Knowledge::NotPaid { .. }
            | Knowledge::Paid
            | Knowledge::Returned => false,
        }
    }

    /// Whether anybody said that it was paid, whatever else was said.
    pub fn was_paid(&self) -> bool {
        let says_paid =
            |evidence: &Evidence| matches!(evidence.verdict, Verdict::Paid | Verdict::Returned);
        self.evidence.keys().any(says_paid)
    }

    /// The channel's own name for the payment; the first in order if there were several.
    pub fn provider_reference(&self) -> Option<&str> {
        self.evidence.keys().find_map(|evidence| evidence.provider_reference.as_deref())
    }

    /// Why it was not paid, in the channel's words.
    pub fn refusal(&self) -> Option<&str> {
        let is_refusal = |evidence: &&Evidence| matches!(evidence.verdict, Verdict::NotPaid { .. });
        let mut refusals = self.evidence.keys().filter(is_refusal);
        refusals.find_map(|evidence| evidence.detail.as_deref())
    }
}

/// JSON has no maps whose keys are values.
mod pairs {
    use std::collections::BTreeMap;

    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    use super::{Evidence, Timestamp};

    pub(super) fn serialize<S: Serializer>(
        evidence: &BTreeMap<Evidence, Timestamp>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        evidence.iter().collect::<Vec<_>>().serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<Evidence, Timestamp>, D::Error> {
        Ok(Vec::deserialize(deserializer)?.into_iter().collect())
    }
}
