//! A small corpus beside the sealed project.

use proctor_testkit::TestContext;
use serde_json::{Value, json};

/// A context whose project holds a corpus under `corpus/`.
pub(crate) fn context() -> TestContext {
    let mut context = TestContext::new(env!("CARGO_BIN_EXE_proctor"));
    // The corpus lies in whatever checkout these tests run in.
    context.add_filter(r"\b[0-9a-f]{40}\b|\b\d{4}-\d\d-\d\dT[0-9:.]+Z", "[REVISION]");
    context.add_filter("conformance-[0-9A-Z]{26}", "conformance-[RUN]");
    write_corpus(&context);
    context
}

/// Writes a corpus with one profile, one skill and two rules.
pub(crate) fn write_corpus(context: &TestContext) {
    let write = |path: &str, text: &str| context.write(&format!("corpus/.cratis/ai/{path}"), text);
    write(
        "manifest.json",
        &json!({"schemaVersion": "1.0", "harnesses": ["claude", "codex"], "profiles": ["p/one"],
                "languages": ["markdown"], "profileCatalog": "profile-catalog.json"})
        .to_string(),
    );
    let profile = json!({"id": "p/one", "availableTargets": ["a-skill"]});
    let catalog = json!({"schemaVersion": "1.0", "publicProfiles": [profile],
                         "engineeringProfiles": []});
    write("profile-catalog.json", &catalog.to_string());
    write("rules/general.md", "# General\n\nBe exact.\n");
    write("rules/extra.md", "# Extra\n");
    write("skills/a-skill/SKILL.md", "---\nname: a-skill\ndescription: d\n---\n# Skill\n");
    write("hooks/settings.template.json", "{}\n");
}

/// Writes a fixture; `rest` is laid over the smallest valid one.
pub(crate) fn write_fixture(context: &TestContext, name: &str, rest: Value) {
    let mut fixture = json!({
        "name": name,
        "prompt": "Write out.txt.",
        "checks": [{"type": "file_exists", "path": "out.txt"}],
    });
    if let (Some(fixture), Value::Object(rest)) = (fixture.as_object_mut(), rest) {
        fixture.extend(rest);
    }
    write_file(context, name, "fixture.json", &fixture.to_string());
}

/// Writes a file of a fixture's directory.
pub(crate) fn write_file(context: &TestContext, fixture: &str, file: &str, text: &str) {
    context.write(&format!("corpus/Evaluations/conformance/{fixture}/{file}"), text);
}
