#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| proctor_fuzz::import("codex", data));
