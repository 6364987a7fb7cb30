//! What the seeds of CI must have met, or their run fails: arrows of the machines and refusals. Faults are expected all.

use std::collections::BTreeMap;

use super::coverage::Coverage;
use super::fault::Fault;

/// Machine, from, by what, to.
const STEPS: &[&str] = &[
    "attempt accepted -decided.paid-> paid",
    "attempt accepted -queried.not-paid-> not-paid",
    "attempt accepted -queried.paid-> paid",
    "attempt accepted -told.not-paid-> not-paid",
    "attempt accepted -told.paid-> paid",
    "attempt in-flight -due-> unknown",
    "attempt in-flight -submitted.accepted-> accepted",
    "attempt in-flight -submitted.duplicate-> accepted",
    "attempt in-flight -submitted.not-sent-> not-sent",
    "attempt in-flight -submitted.not-sent-> unknown",
    "attempt in-flight -submitted.paid-> paid",
    "attempt in-flight -submitted.rejected-> not-paid",
    "attempt in-flight -submitted.rejected-> unknown",
    "attempt in-flight -submitted.unknown-> unknown",
    "attempt in-flight -told.accepted-> accepted",
    "attempt in-flight -told.not-paid-> not-paid",
    "attempt in-flight -told.paid-> paid",
    "attempt not-paid -told.paid-> conflict",
    "attempt not-sent -due-> in-flight",
    "attempt paid -told.returned-> returned",
    "attempt unknown -decided.not-paid-> not-paid",
    "attempt unknown -decided.paid-> paid",
    "attempt unknown -due-> in-flight",
    "attempt unknown -queried.not-found-> not-sent",
    "attempt unknown -queried.not-paid-> not-paid",
    "attempt unknown -queried.paid-> paid",
    "attempt unknown -queried.pending-> accepted",
    "attempt unknown -told.paid-> paid",
    "payin COLLECTED -failed-> CONTRADICTED",
    "payin FAILED -completed-> COLLECTED",
    "payin PENDING -completed-> COLLECTED",
    "payin PENDING -failed-> FAILED",
    "payin new -created-> COLLECTED",
    "payin new -created-> FAILED",
    "payin new -created-> PENDING",
    "payout FAILED -told.paid-> LATE_SUCCESS",
    "payout PROCESSING -due-> STUCK",
    "payout PROCESSING -queried.failed-> STUCK",
    "payout PROCESSING -queried.not-found-> STUCK",
    "payout PROCESSING -queried.not-paid-> FAILED",
    "payout PROCESSING -queried.paid-> SUCCESS",
    "payout PROCESSING -queried.pending-> STUCK",
    "payout PROCESSING -told.not-paid-> FAILED",
    "payout PROCESSING -told.paid-> SUCCESS",
    "payout READY -cancel-> CANCELLED",
    "payout READY -due-> SUBMITTING",
    "payout SCHEDULED -cancel-> CANCELLED",
    "payout SCHEDULED -due-> READY",
    "payout STUCK -decided.new-attempt-> READY",
    "payout STUCK -decided.not-paid-> FAILED",
    "payout STUCK -decided.paid-> SUCCESS",
    "payout STUCK -queried.not-paid-> FAILED",
    "payout STUCK -queried.paid-> SUCCESS",
    "payout STUCK -told.not-paid-> FAILED",
    "payout STUCK -told.paid-> SUCCESS",
    "payout SUBMITTING -due-> READY",
    "payout SUBMITTING -due-> UNCONFIRMED",
    "payout SUBMITTING -submitted.accepted-> PROCESSING",
    "payout SUBMITTING -submitted.duplicate-> PROCESSING",
    "payout SUBMITTING -submitted.not-sent-> FAILED",
    "payout SUBMITTING -submitted.not-sent-> READY",
    "payout SUBMITTING -submitted.not-sent-> UNCONFIRMED",
    "payout SUBMITTING -submitted.paid-> SUCCESS",
    "payout SUBMITTING -submitted.rejected-> FAILED",
    "payout SUBMITTING -submitted.rejected-> READY",
    "payout SUBMITTING -submitted.rejected-> UNCONFIRMED",
    "payout SUBMITTING -submitted.unknown-> READY",
    "payout SUBMITTING -submitted.unknown-> UNCONFIRMED",
    "payout SUBMITTING -told.accepted-> PROCESSING",
    "payout SUBMITTING -told.not-paid-> FAILED",
    "payout SUBMITTING -told.paid-> SUCCESS",
    "payout SUCCESS -told.returned-> RETURNED",
    "payout UNCONFIRMED -due-> STUCK",
    "payout UNCONFIRMED -queried.failed-> STUCK",
    "payout UNCONFIRMED -queried.not-found-> FAILED",
    "payout UNCONFIRMED -queried.not-found-> READY",
    "payout UNCONFIRMED -queried.not-found-> STUCK",
    "payout UNCONFIRMED -queried.not-paid-> FAILED",
    "payout UNCONFIRMED -queried.paid-> SUCCESS",
    "payout UNCONFIRMED -queried.pending-> PROCESSING",
    "payout new -created-> READY",
    "payout new -created-> SCHEDULED",
];

/// The codes of refusals.
const REFUSALS: &[&str] = &[
    "already_exists",
    "approver_needed",
    "bad_actor",
    "bad_amount",
    "bad_beneficiary",
    "bad_currency",
    "bad_identifier",
    "bad_key",
    "bad_name",
    "bad_note",
    "bad_reference",
    "bad_remarks",
    "bad_scope",
    "balance_too_large",
    "belongs_to_flow",
    "currency_of_channel",
    "epoch_in_reference",
    "hold_ended",
    "hold_mismatch",
    "hold_not_found",
    "hold_of_another",
    "idempotency_mismatch",
    "merchant_closed",
    "missing_funds",
    "missing_variables",
    "negative_amount",
    "not_cancellable",
    "not_found",
    "not_stuck",
    "nothing_moves",
    "nothing_to_pay",
    "parts_exceed_whole",
    "reference_reused",
    "revert_of_revert",
    "same_currency",
    "second_person_needed",
    "stale_version",
    "taken_back",
    "unknown_channel",
    "unknown_event",
    "unknown_flow",
    "unknown_market",
    "unknown_merchant",
    "unknown_reference",
    "unknown_transaction",
    "unknown_variable",
];

/// Refusals that are not expected here, and why.
pub const UNEXPECTED: &[(&str, &str)] = &[
    ("expires_in_the_past", "the API knows no reservations"),
    ("flow_ended", "the API knows no reservations"),
    ("no_new_attempt", "nobody lies, so what is said to be paid hardly ever gets stuck"),
    ("not_double_entry", "the bundled rulebook does not drift"),
    ("template_failed", "the bundled rulebook does not drift"),
    ("unreadable", "nobody writes what this version cannot read"),
];

/// What was expected and not met.
pub fn missing(coverage: &Coverage, faults: &BTreeMap<Fault, u64>) -> Vec<String> {
    let refusals = REFUSALS.iter().map(|code| format!("refused {code}"));
    let names = STEPS.iter().map(|step| (*step).to_owned()).chain(refusals);
    let unmet = names.filter(|name| !coverage.contains_key(name));
    let unstruck = Fault::ALL.iter().filter(|fault| !faults.contains_key(fault));
    unmet.chain(unstruck.map(|fault| format!("fault {}", fault.name()))).collect()
}

/// Whether a refusal is on one of the two lists.
#[cfg(test)]
pub(super) fn is_listed(code: &str) -> bool {
    REFUSALS.contains(&code) || UNEXPECTED.iter().any(|(known, _)| *known == code)
}
