//! Payloads of vendors: whatever an adapter makes of one keeps the contract.

#![no_main]

use libfuzzer_sys::fuzz_target;
use proctor_formats::fixture_run::adapters::ADAPTERS;
use proctor_formats::fixture_run::{ActualSource, Document};

const ENVELOPE: &[u8] = br#"{"contractVersion": "1", "payload": 0, "fixture": {"id": "x",
    "category": "forgetting", "kind": "positive", "expected": {"mustContain": ["x"]}}}"#;

fuzz_target!(|data: &[u8]| {
    let Some((&choice, payload)) = data.split_first() else { return };
    let adapter = &ADAPTERS[usize::from(choice) % ADAPTERS.len()];
    let order_by = (choice >= 128).then_some("created_at");
    let Ok(payload) = Document::parse(payload) else { return };
    match adapter.adapt(payload.root(), order_by) {
        Ok(adapted) => {
            let envelope = Document::parse(ENVELOPE).expect("JSON");
            assert!(envelope.run(ActualSource::Adapter(Some(&adapted.actual))).is_ok());
        }
        Err(violations) => {
            assert!(!violations.is_empty() && violations.is_sorted());
            assert!(violations.iter().all(|violation| violation.pointer.starts_with("/payload")));
        }
    }
});
