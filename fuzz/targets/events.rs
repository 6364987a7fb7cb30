//! The machine that makes up inputs for `bodies/events.rs`.
#![no_main]

#[path = "../bodies/events.rs"]
mod events;

libfuzzer_sys::fuzz_target!(|data: &[u8]| events::run(data));
