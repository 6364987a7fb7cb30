//! The machine that makes up inputs for `bodies/numscript.rs`.
#![no_main]

#[path = "../bodies/numscript.rs"]
mod numscript;

libfuzzer_sys::fuzz_target!(|data: &[u8]| numscript::run(data));
