//! Bursar's decisions as pure values.
//!
//! No IO, clock, randomness, async, logging or global state: time, seeds and configuration are arguments. The
//! dependency list of the crate shows it.
//!
//! Reading order: `money`, `ids`, `numscript` (the language), `ledger` (chart, rulebook, postings, verification),
//! `flow` (state machines and their hosts), `dispatch` (what is sent next), `payouts` (the largest flow), `turn` (decides a
//! batch).

#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

pub mod approvals;
pub mod dispatch;
pub mod feed;
pub mod flow;
pub mod four_eyes;
pub mod freezes;
pub mod idempotency;
pub mod ids;
pub mod ledger;
pub mod money;
pub mod numscript;
pub mod payins;
pub mod payouts;
pub mod registry;
pub mod rejection;
pub mod restores;
pub mod rules;
pub mod turn;
pub mod webhooks;
