//! Checks that every domain makes before the turn reads any record.

use crate::rejection::Rejection;

/// Maximum length of a note in characters.
const NOTE_MAX: usize = 1_000;

/// Checks that every store can keep the id.
pub(crate) fn check_id(id: &str) -> Result<(), Rejection> {
    let is_good = (1..=128).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic());
    if is_good {
        return Ok(());
    }
    let value = id.chars().filter(|letter| !letter.is_control()).take(80).collect();
    Err(Rejection::BadIdentifier { name: "id".into(), value, hyphen: true })
}

pub(crate) fn check_actor(actor: &str) -> Result<(), Rejection> {
    let length = actor.chars().take(65).count();
    let is_named = (1..=64).contains(&length) && actor.trim() == actor;
    if is_named && !actor.contains(char::is_control) { Ok(()) } else { Err(Rejection::BadActor) }
}

pub(crate) fn check_note(note: &str) -> Result<(), Rejection> {
    if note.chars().count() > NOTE_MAX || note.contains('\0') {
        return Err(Rejection::BadNote { most: NOTE_MAX });
    }
    Ok(())
}
