//! Proof. `verify` searches every small world around one flow; `simulate` runs long random ones with the real engine
//! and stores. Both keep books of their own and check what must never happen.

pub mod simulate;
mod truth;
pub mod verify;
