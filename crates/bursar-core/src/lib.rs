//! Bursar's decisions as pure values.
//!
//! No IO, clock, randomness, async, logging or global state: time, seeds and configuration are arguments. The
//! dependency list is the proof.
//!
//! Reading order: `money`, `ids`, `numscript` (the language), `rulebook` (chart, mappings, templates, drift),
//! `ledger` (what happens to an event that is posted), `reservation` (a flow), `apply` (a batch is decided).

#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

mod admit;
pub mod apply;
pub mod attempt;
pub mod channel;
pub mod chart;
pub mod commit;
pub mod control;
pub mod delivery;
pub mod drive;
pub mod effect;
pub mod feed;
pub mod flow;
pub mod funds;
pub mod host;
pub mod idempotency;
pub mod ids;
pub mod journal;
pub mod ledger;
pub mod money;
pub mod numscript;
pub mod payin;
pub mod payout;
pub mod plan;
pub mod pricing;
pub mod records;
pub mod registry;
pub mod rejection;
pub mod request;
pub mod reservation;
pub mod rulebook;
pub mod rules;
mod tracked;
pub mod verify;
pub mod views;
