//! The program of a target: which one, its own name says.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| nicety_hostile::run(env!("CARGO_BIN_NAME"), bytes));
