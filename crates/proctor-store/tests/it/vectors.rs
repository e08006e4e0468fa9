//! The published vectors of the results file.

use std::fs;
use std::path::Path;

use proctor_model::eval::SkillRecord;
use proctor_model::json::go;
use proctor_store::eval::{CacheInputs, Key, Results, Trust};
use serde_json::Value;

fn vectors() -> Option<Value> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = root.join("../../../shared/data/skill-evals/vectors.json");
    if let Ok(text) = fs::read_to_string(path) {
        return Some(serde_json::from_str(&text).unwrap());
    }
    eprintln!("skipped: no reference data");
    None
}

#[test]
fn the_signature_of_a_record() {
    let Some(vectors) = vectors() else { return };
    let example = &vectors["record_mac_example"];
    let text = |name: &str| example[name].as_str().unwrap();
    let mut bytes = [0; 32];
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text("key_hex")[2 * index..2 * index + 2], 16).unwrap();
    }
    let key = Key::of(bytes);
    let record: SkillRecord = serde_json::from_str(text("canonical")).unwrap();
    assert_eq!(go::compact(&record).unwrap(), text("canonical"));
    let mut results = Results::default();
    results.put(record, Some(&key));
    assert_eq!(results.get("deploy-staging").unwrap().record().mac, text("mac"));

    // As it stands in a file, in any layout.
    let file = format!(
        r#"{{"schema_version": 1, "skills": [{}, "mac": "{}"}}]}}"#,
        text("canonical").strip_suffix('}').unwrap(),
        text("mac")
    );
    let read = Results::parse("r.json", file.as_bytes(), Some(&key)).unwrap();
    assert_eq!(read.get("deploy-staging").unwrap().trust(), Trust::Signed);
}

#[test]
fn the_key_of_a_cached_run() {
    let Some(vectors) = vectors() else { return };
    let example = &vectors["cache_key_example"];
    let input = |index: usize| example["inputs"][index].as_str().unwrap();
    let inputs = CacheInputs {
        digest: input(0),
        cases_digest: input(1),
        runner: input(2),
        fingerprint: input(3),
        harness: input(4),
        model: input(5),
        ablation: input(6) == "true",
        allow_exec: input(7) == "true",
        version: input(8),
        grader: None,
    };
    assert_eq!(inputs.key(), example["key"].as_str().unwrap());
    let grader = Some("builtin:openai/gpt-4o-mini:evals-grader/v1");
    let with_grader = CacheInputs { grader, ..inputs };
    assert_eq!(
        with_grader.key(),
        example["with_grader builtin:openai/gpt-4o-mini:evals-grader/v1"].as_str().unwrap()
    );
}
