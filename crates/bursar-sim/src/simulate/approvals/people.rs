//! The staff of this world: the keys, and the human beings who have them.

use bursar_core::four_eyes::Signature;

/// A key: the actor, whether its role may approve, the person who made it alone, and the human being who has it.
type StaffKey = (&'static str, bool, &'static [&'static str], &'static str);

pub(super) const MIA: usize = 0;
pub(super) const MIA_AGAIN: usize = 1;
/// A key that mia made alone, under another name.
pub(super) const PUPPET: usize = 2;
/// An operator.
pub(super) const OTTO: usize = 3;
pub(super) const OTTO_AGAIN: usize = 4;
pub(super) const ANNA: usize = 5;
pub(super) const ANNA_AGAIN: usize = 6;
pub(super) const BEN: usize = 7;
pub(super) const CLEO: usize = 8;
/// An operator who closes cases.
const HAL: usize = 9;

/// The part behind the slash names the key.
const KEYS: [StaffKey; 10] = [
    ("mia/k1", true, &[], "mia"),
    ("MIA/k2", true, &[], "mia"),
    ("puppet/k3", true, &["mia"], "mia"),
    ("otto/k4", false, &[], "otto"),
    ("Otto/k5", true, &[], "otto"),
    ("anna/k6", true, &[], "anna"),
    ("Anna/k7", true, &[], "anna"),
    ("ben/k8", true, &[], "ben"),
    ("cleo/k9", true, &[], "cleo"),
    ("hal/k10", false, &[], "hal"),
];

pub(super) fn signature(key: usize) -> Signature {
    let (actor, is_approver, made_by, _) = KEYS.get(key).copied().unwrap_or_default();
    let made_by = made_by.iter().map(|person| (*person).to_owned()).collect();
    Signature { made_by, ..Signature::new(actor, is_approver) }
}

/// The operator who closes cases.
pub(crate) fn closer() -> Signature {
    signature(HAL)
}

/// The human being behind an actor, whatever the host calls it: the key tells.
pub(super) fn human(actor: &str) -> Option<&'static str> {
    let key_of = |actor: &'_ str| actor.rsplit_once('/').map(|(_, key)| key.to_owned());
    let key = key_of(actor)?;
    let known = KEYS.iter().find(|(known, ..)| key_of(known).as_ref() == Some(&key));
    known.map(|(_, _, _, human)| *human)
}

pub(super) fn is_same(actor: &str, other: &str) -> bool {
    human(actor).is_some() && human(actor) == human(other)
}

/// A second key of the same human being.
pub(super) fn again(actor: &str) -> usize {
    match human(actor) {
        Some("mia") => MIA_AGAIN,
        Some("anna") => ANNA_AGAIN,
        _ => OTTO_AGAIN,
    }
}
