#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tcompact_fuzz::run("answers", bytes));
