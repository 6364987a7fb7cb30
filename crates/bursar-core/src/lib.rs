//! Bursar's decisions as pure values.
//!
//! No IO, clock, randomness, async, logging or global state: time, seeds and configuration are arguments. The
//! dependency list is the proof.

#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

pub mod numscript;
