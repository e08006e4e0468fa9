#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| proctor_fuzz::session_stream("scripted", data));
