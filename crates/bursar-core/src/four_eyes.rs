//! Four eyes: what one person may not do alone, and when two signatures are those of two people.

use serde::{Deserialize, Serialize};

use crate::money::Money;
use crate::rejection::Rejection;
use crate::rules::Rules;

/// A person under a decision that needs two.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signature {
    /// The person and, behind a slash, the API key used.
    pub actor: String,
    /// Whether the role of the key may approve.
    pub is_approver: bool,
    /// The people who made the key alone: its creator, and the creator of the creator's key. Empty for a key that two people
    /// made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub made_by: Vec<String>,
    /// The id of the API key, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

impl Signature {
    /// A person whose key two people made.
    pub fn new(actor: &str, is_approver: bool) -> Self {
        Self { actor: actor.to_owned(), is_approver, made_by: Vec::new(), key: None }
    }

    pub fn person(&self) -> String {
        person_of(&self.actor)
    }

    /// Whether it is the admin key of the environment.
    fn is_environment(&self) -> bool {
        self.person() == ENVIRONMENT
    }

    /// Whether one of the two made the key of the other: both keys may be in one hand.
    fn is_related_to(&self, other: &Self) -> bool {
        self.made_by.contains(&other.person()) || other.made_by.contains(&self.person())
    }
}

/// The actor of the admin key of the environment. Actors with API keys have a slash.
pub const BOOTSTRAP: &str = "admin";
/// Its person, which is the name of no key: the people who can read the environment share it.
const ENVIRONMENT: &str = "/admin";

/// The person of an actor: two keys of one person are one, in whatever case the name is written.
pub fn person_of(actor: &str) -> String {
    if actor == BOOTSTRAP {
        return ENVIRONMENT.to_owned();
    }
    person_named(actor.rsplit_once('/').map_or(actor, |(person, _)| person))
}

/// The person with this name: lower case, one space between words.
pub fn person_named(name: &str) -> String {
    let words: Vec<&str> = name.split_whitespace().collect();
    words.join(" ").to_lowercase()
}

/// Checks a new name of a person: letters that look alike would make one person two.
pub(crate) fn check_person(name: &str) -> Result<(), Rejection> {
    let length = name.len();
    let is_plain = name.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ');
    if (1..=48).contains(&length) && is_plain && name.trim() == name && !name.contains('/') {
        return Ok(());
    }
    Err(Rejection::BadPerson { name: name.chars().take(80).collect() })
}

/// The second person is another one, neither made the key of the other, one of the two is an approver, and neither uses the
/// admin key of the environment.
pub(crate) fn check_second(first: &Signature, second: &Signature) -> Result<(), Rejection> {
    let actor = || second.actor.clone();
    if first.person() == second.person() {
        return Err(Rejection::SecondPersonNeeded { actor: actor() });
    }
    if first.is_environment() || second.is_environment() {
        return Err(Rejection::BootstrapInvolved);
    }
    if first.is_related_to(second) {
        let other = first.actor.clone();
        return Err(Rejection::CreatorInvolved { actor: actor(), other });
    }
    if !first.is_approver && !second.is_approver {
        return Err(Rejection::ApproverNeeded { actor: actor() });
    }
    Ok(())
}

/// Whether the second of two people completes what the first began. What the admin key of the environment began is begun anew by a
/// person: otherwise no two people could complete it.
pub(crate) fn completes(first: &Signature, second: &Signature) -> Result<bool, Rejection> {
    if first.is_environment() && !second.is_environment() {
        return Ok(false);
    }
    check_second(first, second).map(|()| true)
}

/// What one person may not do alone. Decisions about stuck payouts, freezes and restores take two people by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    /// A payout that staff makes for a merchant, or that is made with a merchant's key that one person made alone.
    CreatePayout,
    /// A pay-in that staff records by hand.
    RecordPayIn,
    /// The case of a pay-in is closed.
    CloseCase,
    /// An event that staff posts by hand: an adjustment, a write-off, a revert, or any other.
    Post,
    /// A key whose role may approve.
    IssueKey,
    /// A key of a merchant. Usually one person makes it; payouts above the limit then need an approval.
    IssueMerchantKey,
    /// The key of another person whose role may approve.
    RevokeKey,
}

impl Action {
    pub const ALL: [Self; 7] = [
        Self::CreatePayout,
        Self::RecordPayIn,
        Self::CloseCase,
        Self::Post,
        Self::IssueKey,
        Self::IssueMerchantKey,
        Self::RevokeKey,
    ];

    /// The name in stores, the configuration and the audit log.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CreatePayout => "payout.create",
            Self::RecordPayIn => "payin.record",
            Self::CloseCase => "payin.close_case",
            Self::Post => "ledger.post",
            Self::IssueKey => "key.issue",
            Self::IssueMerchantKey => "key.issue_merchant",
            Self::RevokeKey => "key.revoke",
        }
    }

    /// Whether a limit of its amount decides how many people it needs.
    pub const fn has_amount(self) -> bool {
        match self {
            Self::CreatePayout | Self::RecordPayIn | Self::CloseCase => true,
            Self::Post | Self::IssueKey | Self::IssueMerchantKey | Self::RevokeKey => false,
        }
    }

    /// The rule where the configuration names none.
    pub const fn usual(self) -> ApprovalRule {
        match self {
            Self::CreatePayout
            | Self::RecordPayIn
            | Self::CloseCase
            | Self::Post
            | Self::IssueKey => ApprovalRule { above: None, quorum: 2, break_glass: false },
            Self::IssueMerchantKey => ApprovalRule::ALONE,
            // A stolen key must be stopped, also at night.
            Self::RevokeKey => ApprovalRule { above: None, quorum: 2, break_glass: true },
        }
    }
}

/// How many people an action needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApprovalRule {
    /// Up to this many units of a currency one person suffices. None for the limit of reviews where the action has an
    /// amount, and for always where it has none.
    pub above: Option<i64>,
    /// How many people, with the one who proposes.
    pub quorum: u32,
    /// Whether an admin may do it alone in an emergency, and the approval is given afterwards.
    pub break_glass: bool,
}

impl ApprovalRule {
    /// One person suffices.
    pub const ALONE: Self = Self { above: None, quorum: 1, break_glass: false };
}

impl Rules {
    pub(crate) fn approval_rule(&self, action: Action) -> ApprovalRule {
        self.approvals.get(&action).copied().unwrap_or_else(|| action.usual())
    }

    /// Whether one person may not do this alone.
    pub fn needs_approval(&self, action: Action, amount: Option<Money>) -> bool {
        let rule = self.approval_rule(action);
        let limit = rule.above.unwrap_or(self.four_eyes_above);
        let is_large = amount.is_none_or(|amount| is_above(amount, limit));
        rule.quorum > 1 && is_large
    }

    /// Whether two people decide about a stuck payout of this amount.
    pub(crate) fn needs_two_people(&self, amount: Money) -> bool {
        is_above(amount, self.four_eyes_above)
    }

    /// Whether no payment is large enough to need a second person.
    pub fn is_never_above(&self, action: Action) -> bool {
        let rule = self.approval_rule(action);
        let limit = rule.above.unwrap_or(self.four_eyes_above);
        let mut largest = self.largest.values();
        action.has_amount() && rule.quorum > 1 && !largest.any(|amount| is_above(*amount, limit))
    }
}

/// Whether an amount is above this many units of its currency.
fn is_above(amount: Money, units: i64) -> bool {
    let unit = 10_i64.saturating_pow(u32::from(amount.currency().decimals()));
    amount.minor() > units.saturating_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signature(actor: &str, is_approver: bool, made_by: &[&str]) -> Signature {
        let made_by = made_by.iter().map(|name| (*name).to_owned()).collect();
        Signature { made_by, ..Signature::new(actor, is_approver) }
    }

    #[test]
    fn two_keys_or_cases_of_one_name_are_one_person() {
        let first = signature("anna/0011", true, &[]);
        for same in ["anna/0011", "anna/2233", "Anna/2233", "ANNA", "  anna /44"] {
            let second = check_second(&first, &signature(same, true, &[]));
            let refused = matches!(second, Err(Rejection::SecondPersonNeeded { .. }));
            assert!(refused, "{same}: {second:?}");
        }
        assert_eq!(check_second(&first, &signature("ben/2", false, &[])), Ok(()));
    }

    #[test]
    fn a_key_and_its_creator_are_not_two_people() {
        let maker = signature("anna/1", true, &[]);
        let minted = signature("ben/2", true, &["anna"]);
        let of_minted = signature("cleo/3", true, &["ben", "anna"]);
        let stranger = signature("dora/4", true, &["ben"]);
        for (first, second) in [(&maker, &minted), (&minted, &maker), (&maker, &of_minted)] {
            let second = check_second(first, second);
            assert!(matches!(second, Err(Rejection::CreatorInvolved { .. })), "{second:?}");
        }
        assert_eq!(check_second(&maker, &stranger), Ok(()));
    }

    #[test]
    fn the_admin_key_of_the_environment_is_neither_of_two_people() {
        let (environment, other) = (signature("admin", true, &[]), signature("ben/2", true, &[]));
        for (first, second) in [(&environment, &other), (&other, &environment)] {
            assert_eq!(check_second(first, second), Err(Rejection::BootstrapInvolved));
        }
        assert_eq!(completes(&environment, &other), Ok(false), "a person begins anew");
        assert_eq!(completes(&other, &environment), Err(Rejection::BootstrapInvolved));
        let again = completes(&environment, &environment);
        assert!(matches!(again, Err(Rejection::SecondPersonNeeded { .. })), "{again:?}");
        // A person may be named like its actor.
        assert_eq!(check_second(&signature("admin/1", true, &["/admin"]), &other), Ok(()));
    }

    #[test]
    fn one_of_the_two_is_an_approver() {
        let second = check_second(&signature("a/1", false, &[]), &signature("b/2", false, &[]));
        assert!(matches!(second, Err(Rejection::ApproverNeeded { .. })));
    }

    #[test]
    fn a_person_is_named_in_plain_letters() {
        for good in ["anna", "Anna Meier", "a.meier@example.com"] {
            assert_eq!(check_person(good), Ok(()), "{good}");
        }
        for bad in ["", "аnna", "anna\u{200b}", "ａnna", "anna/1", " anna", "anna\t", "jürgen"] {
            assert!(check_person(bad).is_err(), "{bad}");
        }
    }
}
