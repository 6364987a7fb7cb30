//! Proof. `verify` explores every small world around one flow; `simulate` lives through long random ones with the real
//! engine and stores. Both keep books of their own and say what must never happen.

pub mod simulate;
mod truth;
pub mod verify;
