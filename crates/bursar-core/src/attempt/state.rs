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
    /// The last moment at which the last try may have been sent.
    pub sent_by: Option<Timestamp>,
    /// The latest try whose call has ended, whatever it said: “accepted” does not name the try that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<u32>,
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

/// What is known about all tries together: the least certain of them counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Tries {
    NotSent,
    /// One final refusal is enough.
    Refused {
        is_final: bool,
    },
    Unknown,
    InFlight,
}

impl Attempt {
    pub fn new(number: u32, reference: String) -> Self {
        Self { number, reference, tries: 0, sent_by: None, ended: None, evidence: BTreeMap::new() }
    }

    pub fn evidence(&self) -> impl Iterator<Item = (&Evidence, &Timestamp)> {
        self.evidence.iter()
    }

    pub fn knowledge(&self) -> Knowledge {
        let has = |wanted: Verdict| self.has(wanted);
        if has(Verdict::Returned) {
            // Only what was paid can come back.
            return Knowledge::Returned;
        }
        let tries = self.tries();
        let may_retry = has(Verdict::NotPaid { is_retryable: true });
        let must_not_retry = has(Verdict::NotPaid { is_retryable: false });
        let is_not_paid = may_retry || must_not_retry;
        if has(Verdict::Paid) {
            let is_contradicted = is_not_paid || matches!(tries, Tries::Refused { .. });
            return if is_contradicted { Knowledge::Conflict } else { Knowledge::Paid };
        }
        if is_not_paid {
            return Knowledge::NotPaid { is_retryable: !must_not_retry };
        }
        if has(Verdict::Accepted) {
            return Knowledge::Accepted;
        }
        match tries {
            Tries::NotSent => Knowledge::NotSent,
            Tries::Refused { is_final } => Knowledge::NotPaid { is_retryable: !is_final },
            Tries::Unknown => Knowledge::Unknown,
            Tries::InFlight => Knowledge::InFlight,
        }
    }

    /// What is known about the tries, if nothing is known about the whole. As long as one of them may have arrived, the
    /// refusal of another proves nothing.
    fn tries(&self) -> Tries {
        let tries = (1..=self.tries).map(|number| self.known_of_try(number));
        tries.max().unwrap_or(Tries::NotSent)
    }

    fn known_of_try(&self, r#try: u32) -> Tries {
        let is_refused = |is_retryable| self.has(Verdict::Refused { r#try, is_retryable });
        if self.has(Verdict::NotSent { r#try }) {
            Tries::NotSent
        } else if is_refused(false) {
            Tries::Refused { is_final: true }
        } else if is_refused(true) {
            Tries::Refused { is_final: false }
        } else if self.has(Verdict::Unknown { r#try }) {
            Tries::Unknown
        } else {
            Tries::InFlight
        }
    }

    /// Whether the last try has neither come back nor been given up: it may not even be sent yet.
    pub fn is_last_try_out(&self) -> bool {
        let has_ended = self.ended >= Some(self.tries);
        self.tries > 0 && !has_ended && self.known_of_try(self.tries) == Tries::InFlight
    }

    fn has(&self, verdict: Verdict) -> bool {
        self.evidence.keys().any(|known| known.verdict == verdict)
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
        let is_refusal = |evidence: &&Evidence| {
            matches!(evidence.verdict, Verdict::NotPaid { .. } | Verdict::Refused { .. })
        };
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
