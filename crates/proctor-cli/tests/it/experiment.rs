//! `proctor experiment create`, `schema`, `validate`, `variants` and `migrate`.

use proctor_testkit::TestContext;
use serde_json::Value;

const RIGHT: &str = "schema_version: 2
id: right
name: Right
agents: [claude, codex]
models: [claude-sonnet-5, gpt-5.6]
prompts: [{id: cold, prompt: x}, {id: warm, prompt: y}]
files: [{name: data, source: data.txt, dest: data.txt}]
tests: [{name: t, script: test -f /workspace/a}]
limits: {max_time_seconds: 60}
";

fn context() -> TestContext {
    let context = TestContext::new(env!("CARGO_BIN_EXE_proctor"));
    context.write("right.yaml", RIGHT);
    context.write("data.txt", "x");
    context
}

#[test]
fn findings_decide_the_exit_code() {
    let context = context();
    let right = context.run(["experiment", "validate", "right.yaml"]);
    insta::assert_snapshot!(right, @r"
    exit 0
    --- stdout
    --- stderr
    right.yaml: valid; variants: 4, tests: 1
    ");
    context.write(
        "wrong.yaml",
        RIGHT.replace("tests:", "test:").replace("data.txt, dest", "none, dest"),
    );
    let both = context.run(["experiment", "validate", "right.yaml", "wrong.yaml"]);
    insta::assert_snapshot!(both, @r"
    exit 2
    --- stdout
    wrong.yaml:1:1: error shape: `tests` is missing
    wrong.yaml:2:5: note file-name: id: the id is not the file's name, `wrong`
    wrong.yaml:8:1: error shape: test: unknown key (hint: did you mean `tests`?)
    --- stderr
    right.yaml: valid; variants: 4, tests: 1
    ");
    let json = context.run(["experiment", "validate", "wrong.yaml", "--format", "json"]);
    assert_eq!(json.code, 2);
    let findings: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(findings[0]["file"], "wrong.yaml");
    assert_eq!(findings[0]["severity"], "error");
    assert_eq!(findings[0]["code"], "shape");
    let none = context.run(["experiment", "validate", "right.yaml", "--format", "json"]);
    assert_eq!((none.code, none.stdout.as_str()), (0, "[]\n"));
    assert_eq!(context.run(["experiment", "validate", "none.yaml"]).code, 2);
    assert_eq!(context.run(["experiment", "validate", "."]).code, 2);
    assert_eq!(context.run(["experiment", "validate"]).code, 2);
    let few = context.run(["experiment", "validate", "right.yaml", "--repeat", "3"]);
    assert!(few.stdout.contains("note unreachable-gate"), "{few}");
}

#[test]
fn variants_are_listed_and_narrowed() {
    let context = context();
    let variants =
        |args: &[&str]| context.run(["experiment", "variants", "right.yaml"].iter().chain(args));
    insta::assert_snapshot!(variants(&[]), @r"
    exit 0
    --- stdout
    claude::anthropic-claude-sonnet-5::cold
    claude::anthropic-claude-sonnet-5::warm
    codex::openai-gpt-5.6::cold
    codex::openai-gpt-5.6::warm
    --- stderr
    ");
    let narrowed = variants(&["--model", "gpt-5.6", "--prompt", "warm", "--format", "json"]);
    let rows: Value = serde_json::from_str(&narrowed.stdout).unwrap();
    let fingerprint = rows[0]["fingerprint"].as_str().unwrap().to_owned();
    assert!(fingerprint.starts_with("sha256:"));
    assert_eq!(
        rows,
        serde_json::json!([{
            "id": "codex::openai-gpt-5.6::warm",
            "agent": "codex",
            "model": "gpt-5.6",
            "effort": null,
            "prompt": "warm",
            "environment": null,
            "product": null,
            "extension": null,
            "fingerprint": fingerprint,
        }])
    );
    context.write("data.txt", "y");
    let again = variants(&["--variant", "codex::openai-gpt-5.6::warm", "--format", "json"]);
    let rows: Value = serde_json::from_str(&again.stdout).unwrap();
    assert_ne!(rows[0]["fingerprint"], fingerprint.as_str());
    insta::assert_snapshot!(variants(&["--agent", "claud"]), @r"
    exit 2
    --- stdout
    --- stderr
    error: no variant has the agent `claud`; did you mean `claude`?
    ");
    let resolved = context.run(["experiment", "resolve", "right.yaml"]);
    assert_eq!(resolved.stdout, variants(&[]).stdout);
}

#[test]
fn new_experiments_are_valid_and_replace_nothing() {
    let context = context();
    let create = |args: &[&str]| context.run(["experiment", "create"].iter().chain(args));
    assert_eq!(create(&["fresh"]).code, 0);
    let again = create(&["fresh"]);
    assert_eq!(again.code, 2);
    assert!(again.stderr.contains("is there already"), "{again}");
    let inputs = [
        "install",
        "--template",
        "cli-install",
        "--cli",
        "greet",
        "--target-description",
        "it greets",
        "--install-docs",
        "https://example.com",
        "--install-command",
        "npm i -g greet",
        "--smoke-command",
        "greet --version",
        "--output",
        "made/install.yaml",
    ];
    assert_eq!(create(&inputs).code, 0);
    let valid = context.run(["experiment", "validate", "fresh.yaml", "made/install.yaml"]);
    assert_eq!(valid.code, 0, "{valid}");
    assert_eq!(create(&["other", "--template", "cli-install", "--cli", "x"]).code, 2);
    assert_eq!(create(&["other", "--cli", "x"]).code, 2);
    assert_eq!(create(&["No"]).code, 2);
}

#[test]
fn the_schema_is_json_schema() {
    let schema = context().run(["experiment", "schema"]);
    let schema: Value = serde_json::from_str(&schema.stdout).unwrap();
    assert_eq!(schema["properties"]["schema_version"]["const"], 2);
}

#[test]
fn version_1_is_migrated() {
    let context = context();
    let old = "schema_version: 1
id: old
name: Old
flow: {prompt: Do it.}
matrix: {variant: [{id: a}, {id: b, overrides: {prompt: Do that., setup: 'true'}}]}
tests: {application: [{name: t, script: test -f a}]}
limits: {max_time_seconds: 60}
";
    context.write("old.yaml", old);
    let refused = context.run(["experiment", "variants", "old.yaml"]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("proctor experiment migrate"), "{refused}");
    let migrated = context.run(["experiment", "migrate", "old.yaml", "-o", "new.yaml"]);
    insta::assert_snapshot!(migrated, @r"
    exit 0
    --- stdout
    --- stderr
    warning: comments, anchors and aliases of the old file are not in the new one
    warning: the old file names no agent: `claude` was put in
    ");
    let variants = context.run(["experiment", "variants", "new.yaml"]);
    assert_eq!(variants.stdout, "claude::task::a\nclaude::task::sandbox::b\n");
    assert_eq!(context.run(["experiment", "migrate", "old.yaml", "-o", "new.yaml"]).code, 2);
    assert_eq!(context.run(["experiment", "migrate", "right.yaml"]).code, 2);
}

#[test]
fn the_examples_are_valid() {
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/experiments");
    let context = context();
    let files = ["greetings.yaml", "docs-or-skill/docs-or-skill.yaml"];
    for file in files.map(|file| format!("{examples}/{file}")) {
        let run = context.run(["experiment", "validate", file.as_str()]);
        assert_eq!((run.code, run.stdout.as_str()), (0, ""), "{run}");
    }
}
