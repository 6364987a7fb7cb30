//! The machine that makes up inputs for `bodies/callbacks.rs`.
#![no_main]

#[path = "../bodies/callbacks.rs"]
mod callbacks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| callbacks::run(data));
