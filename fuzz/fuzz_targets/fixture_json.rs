#![no_main]

use proctor_formats::conformance::parse_fixture;
use proctor_formats::tree::{MAX_LISTED, Problems, json};
use proctor_model::conformance::fixture::Phase;

// Whatever the bytes are: JSON is taken or refused as `serde_json` does it, a fixture stands
// exactly when there is no error, it has a check that decides, and every mistake lies in the text
// and can be printed.
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let node = json(data, &mut Problems::new("f".into()));
    if !data.starts_with("\u{feff}".as_bytes()) {
        match (serde_json::from_slice::<serde_json::Value>(data), &node) {
            (Ok(_), Some(_)) | (Err(_), None) => {}
            // A double cannot hold it, which is no matter of syntax.
            (Err(error), Some(_)) if error.to_string().starts_with("number out of range") => {}
            // One level of difference in the depth limit.
            (Err(error), Some(_)) if error.to_string().starts_with("recursion limit") => {}
            (oracle, _) => panic!("{oracle:?} against {node:?}"),
        }
    }

    let parsed = parse_fixture("f".into(), data, "x");
    assert_eq!(parsed.fixture.is_none(), parsed.diagnostics.has_errors());
    assert!(parsed.diagnostics.0.len() <= MAX_LISTED + 1);
    if let Some(fixture) = &parsed.fixture {
        assert_eq!(fixture.name, "x");
        let decides = |phase, optional: bool| phase == Phase::Result && !optional;
        assert!(fixture.checks.iter().any(|check| decides(check.phase, check.optional)));
    }
    let lines = data.iter().filter(|byte| **byte == b'\n').count() + 1;
    for diagnostic in &parsed.diagnostics.0 {
        let shown = diagnostic.to_string();
        assert!(!shown.chars().any(char::is_control), "{shown:?}");
        assert!(shown.len() < 2_000, "{shown}");
        if let Some(location) = diagnostic.location {
            assert!(location.line as usize <= lines && location.column as usize <= data.len() + 1);
        }
    }
});
