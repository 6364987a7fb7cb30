//! The state of an attempt: all evidence, and the knowledge that follows from it.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::event::{Evidence, Verdict};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// Counts from 1 within its payout.
    pub number: u32,
    /// The reference at the channel, saved before the first byte is sent.
    pub reference: String,
    /// Number of tries; each try is saved before its first byte is sent.
    pub tries: u32,
    /// The last moment at which the last try may have been sent.
    pub sent_by: Option<Timestamp>,
    /// The latest try whose call has ended, with any outcome: “accepted” does not name the try that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<u32>,
    /// The tries that this machine could not send: proven, and no reason to give up.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub ours: BTreeSet<u32>,
    /// All evidence, each with the time of its first arrival.
    #[serde(with = "pairs")]
    pub(super) evidence: BTreeMap<Evidence, Timestamp>,
}

/// The conclusion from the evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Knowledge {
    /// No try is out: there was none, or all are proven not to have been sent.
    NotSent,
    /// A try is out and its answer may still arrive.
    InFlight,
    /// A try is out and its answer will not arrive.
    Unknown,
    Accepted,
    NotPaid {
        is_retryable: bool,
    },
    Paid,
    Returned,
    /// Both paid and not paid: only an operator can decide.
    Conflict,
    /// Paid, and the channel must still name the amount.
    AmountMissing,
    /// Paid or accepted with another amount: only an operator can decide.
    AmountDiffers,
}

/// The knowledge about all tries together: the least certain one counts.
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
        Self {
            number,
            reference,
            tries: 0,
            sent_by: None,
            ended: None,
            ours: BTreeSet::new(),
            evidence: BTreeMap::new(),
        }
    }

    pub fn evidence(&self) -> impl Iterator<Item = (&Evidence, &Timestamp)> {
        self.evidence.iter()
    }

    pub fn knowledge(&self) -> Knowledge {
        let has = |wanted: Verdict| self.has(wanted);
        if self.reports_other_amount() {
            return Knowledge::AmountDiffers;
        }
        if has(Verdict::Returned) {
            // Only a paid attempt can be returned.
            return Knowledge::Returned;
        }
        if self.is_contradicted() {
            return Knowledge::Conflict;
        }
        if has(Verdict::Paid) {
            return Knowledge::Paid;
        }
        if has(Verdict::AmountMissing) {
            return Knowledge::AmountMissing;
        }
        if self.is_not_paid() {
            return Knowledge::NotPaid {
                is_retryable: !has(Verdict::NotPaid { is_retryable: false }),
            };
        }
        if has(Verdict::Accepted) {
            return Knowledge::Accepted;
        }
        match self.tries() {
            Tries::NotSent => Knowledge::NotSent,
            Tries::Refused { is_final } => Knowledge::NotPaid { is_retryable: !is_final },
            Tries::Unknown => Knowledge::Unknown,
            Tries::InFlight => Knowledge::InFlight,
        }
    }

    fn is_not_paid(&self) -> bool {
        [true, false].iter().any(|it| self.has(Verdict::NotPaid { is_retryable: *it }))
    }

    /// Whether there is evidence that it was paid and evidence that it was not.
    pub fn is_contradicted(&self) -> bool {
        let is_refused = || matches!(self.tries(), Tries::Refused { .. });
        let is_paid = self.has(Verdict::Paid) || self.has(Verdict::AmountMissing);
        // Only a paid attempt can be returned.
        is_paid && !self.was_returned() && (self.is_not_paid() || is_refused())
    }

    /// Whether the channel reports a payment without the amount that it must name.
    pub fn misses_amount(&self) -> bool {
        self.has(Verdict::AmountMissing)
    }

    /// Whether all of the money came back.
    pub fn was_returned(&self) -> bool {
        self.has(Verdict::Returned)
    }

    /// The knowledge from the tries alone. As long as one of them may have arrived, the refusal of another proves
    /// nothing.
    fn tries(&self) -> Tries {
        let tries = (1..=self.tries).map(|number| self.known_of_try(number));
        tries.max().unwrap_or(Tries::NotSent)
    }

    fn known_of_try(&self, r#try: u32) -> Tries {
        let is_refused = |is_retryable| self.has(Verdict::Refused { r#try, is_retryable });
        if self.ours.contains(&r#try) || self.has(Verdict::NotSent { r#try }) {
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

    /// The number of tries that count against the maximum.
    pub fn counted_tries(&self) -> u32 {
        self.tries.saturating_sub(u32::try_from(self.ours.len()).unwrap_or(u32::MAX))
    }

    /// Whether this machine could not send the last try.
    pub fn was_last_try_ours(&self) -> bool {
        self.ours.contains(&self.tries)
    }

    /// Whether the last try has neither an outcome nor an expired lease: it may not even be sent yet.
    pub fn is_last_try_out(&self) -> bool {
        let has_ended = self.ended >= Some(self.tries);
        self.tries > 0 && !has_ended && self.known_of_try(self.tries) == Tries::InFlight
    }

    fn has(&self, verdict: Verdict) -> bool {
        self.evidence.keys().any(|known| known.verdict == verdict)
    }

    /// Whether the channel may still pay the attempt. While it may, there is no other attempt.
    pub fn is_live(&self) -> bool {
        match self.knowledge() {
            Knowledge::InFlight
            | Knowledge::Unknown
            | Knowledge::Accepted
            | Knowledge::Conflict
            | Knowledge::AmountMissing
            | Knowledge::AmountDiffers => true,
            Knowledge::NotSent
            | Knowledge::NotPaid { .. }
            | Knowledge::Paid
            | Knowledge::Returned => false,
        }
    }

    /// Whether any evidence says that it was paid, in any amount and whatever other evidence says.
    pub fn was_paid(&self) -> bool {
        self.evidence.keys().any(|evidence| match evidence.verdict {
            Verdict::Paid | Verdict::Returned | Verdict::AmountDiffers | Verdict::AmountMissing => {
                true
            }
            Verdict::NotSent { .. }
            | Verdict::Unknown { .. }
            | Verdict::Refused { .. }
            | Verdict::Accepted
            | Verdict::NotPaid { .. } => false,
        })
    }

    /// Whether the channel reported another amount than was asked for.
    pub fn reports_other_amount(&self) -> bool {
        self.has(Verdict::AmountDiffers)
    }

    /// The channel's own reference of the payment; the first in order if there are several.
    pub fn provider_reference(&self) -> Option<&str> {
        self.evidence.keys().find_map(|evidence| evidence.provider_reference.as_deref())
    }

    /// The channel's message of why it did not pay.
    pub fn refusal(&self) -> Option<&str> {
        let is_refusal = |evidence: &&Evidence| {
            matches!(evidence.verdict, Verdict::NotPaid { .. } | Verdict::Refused { .. })
        };
        let mut refusals = self.evidence.keys().filter(is_refusal);
        refusals.find_map(|evidence| evidence.detail.as_deref())
    }
}

/// JSON maps cannot have structured keys, so the pairs are stored as a list.
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
