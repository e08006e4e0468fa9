//! `proctor conformance install`, `update`, `status` and `uninstall`.

use proctor_testkit::{Run, TestContext};
use serde_json::{Value, json};

use crate::corpus::context;

const CHOICE: [&str; 4] = ["--profiles", "p/one", "--harnesses", "codex"];

fn run(context: &TestContext, command: &str, args: &[&str]) -> Run {
    context.run([&["conformance", command], args].concat())
}

fn install(context: &TestContext, args: &[&str]) -> Run {
    run(context, "install", &[&["--source", "corpus"], &CHOICE[..], args].concat())
}

fn json(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}\n{run}"))
}

/// A context whose output does not show the revision: that of an enclosing checkout, or a time.
fn fixed() -> TestContext {
    let mut context = context();
    context.add_filter(r"\d{4}-\d\d-\d\dT[\d:.]+Z|[0-9a-f]{40}", "[REVISION]");
    context
}

#[test]
fn a_slice_is_installed_looked_at_brought_up_to_date_and_removed() {
    let context = fixed();
    insta::assert_snapshot!(install(&context, &[]), @r"
    exit 0
    --- stdout
    Added hooks/settings.template.json
    Added rules/extra.md
    Added rules/general.md
    Added skills/a-skill/SKILL.md
    Configured .agents/skills
    Configured AGENTS.md
    --- stderr
    ");
    insta::assert_snapshot!(run(&context, "status", &["--source", "corpus"]), @r"
    exit 0
    --- stdout
    revision   [REVISION] (the same as the corpus)
    profiles   p/one
    harnesses  codex
    languages  any
    changed    nothing
    --- stderr
    ");
    context.write("corpus/.cratis/ai/rules/general.md", "# General\n\nBe brief.\n");
    let update = run(&context, "update", &["--source", "corpus"]);
    assert_eq!(update.code, 0, "{update}");
    assert!(context.read("AGENTS.md").ends_with("Be brief.\n"));
    insta::assert_snapshot!(run(&context, "uninstall", &[]), @r"
    exit 0
    --- stdout
    Removed hooks/settings.template.json
    Removed rules/extra.md
    Removed rules/general.md
    Removed skills/a-skill/SKILL.md
    Removed .agents/skills
    Removed AGENTS.md
    --- stderr
    ");
    assert!(context.project().join(".cratis/ai.json").exists());
}

#[test]
fn the_json_of_an_installation_has_the_shape_of_the_format() {
    let context = fixed();
    let dry = install(&context, &["--dry-run", "-o", "json"]);
    let mut expected = json!({
        "actions": [
            "Added hooks/settings.template.json", "Added rules/extra.md", "Added rules/general.md",
            "Added skills/a-skill/SKILL.md", "Configured .agents/skills", "Configured AGENTS.md"
        ],
        "conflicts": [],
        "unsupportedMcpServers": [],
        "dryRun": true,
    });
    assert_eq!(json(&dry), expected);
    assert_eq!(dry.stderr, "dry run: nothing was changed\n");
    assert!(!context.project().join(".cratis").exists());
    expected["dryRun"] = json!(false);
    assert_eq!(json(&install(&context, &["-o", "json"])), expected);
}

#[test]
fn changes_are_listed_and_refused() {
    let context = fixed();
    assert_eq!(install(&context, &[]).code, 0);
    context.write(".cratis/ai/rules/general.md", "mine\n");
    let text = context.read(".cratis/ai/rules/extra.md").replace('\n', "\r\n");
    context.write(".cratis/ai/rules/extra.md", text);
    insta::assert_snapshot!(run(&context, "status", &[]), @r"
    exit 1
    --- stdout
    revision   [REVISION]
    profiles   p/one
    harnesses  codex
    languages  any
    changed    2
      .cratis/ai/rules/extra.md: line endings only
      .cratis/ai/rules/general.md: modified
    --- stderr
    git writes `\r\n` when `core.autocrlf` is set; the line `.cratis/ai/** -text` in .gitattributes stops it
    ");
    let status = json(&run(&context, "status", &["-o", "json"]));
    assert_eq!(status["modifiedFiles"], json!(["rules/extra.md", "rules/general.md"]));
    assert_eq!(status["changes"][0]["kind"], "lineEndingsOnly");
    assert_eq!(status["updateAvailable"], Value::Null);
    insta::assert_snapshot!(install(&context, &[]), @r"
    exit 2
    --- stdout
    --- stderr
    error: nothing was changed, because of
      `rules/extra.md` was changed after it was installed
      `rules/general.md` was changed after it was installed
    hint: `--force` replaces them; `proctor conformance status` says how they differ
    ");
    let refused = install(&context, &["-o", "json"]);
    assert_eq!(refused.code, 2);
    assert_eq!(json(&refused)["conflicts"], json!(["rules/extra.md", "rules/general.md"]));
    assert_eq!(json(&refused)["actions"], json!([]));
    assert_eq!(run(&context, "uninstall", &[]).code, 2);
    assert_eq!(install(&context, &["-f"]).code, 0);
    assert_eq!(run(&context, "status", &[]).code, 0);
}

#[test]
fn what_is_the_users_is_named_and_kept() {
    let context = fixed();
    context.write(".agents/skills/mine/SKILL.md", "mine\n");
    insta::assert_snapshot!(install(&context, &["--force"]), @r"
    exit 2
    --- stdout
    --- stderr
    error: nothing was changed, because of
      `.agents/skills` exists and was not installed
    hint: move them away; `--force` never replaces what no installation made
    ");
    assert!(!context.project().join(".cratis").exists());
}

#[test]
fn wrong_usage_is_exit_2_and_says_what_there_is() {
    let context = fixed();
    insta::assert_snapshot!(run(&context, "install", &["--source", "corpus", "--profiles", " , "]), @r"
    exit 2
    --- stdout
    --- stderr
    error: `--profiles` and `--harnesses` must be given
    hint: profiles of this corpus: p/one
    hint: harnesses of this corpus: claude, codex
    ");
    insta::assert_snapshot!(run(&context, "install", &["--source", "corpus", "--profiles", "p/two,p/on", "--harnesses", "cloude"]), @r"
    exit 2
    --- stdout
    --- stderr
    error: the corpus offers no harness `cloude` (did you mean `claude`?)
    the corpus offers no profile `p/two`
    the corpus offers no profile `p/on` (did you mean `p/one`?)
    ");
    insta::assert_snapshot!(run(&context, "install", &CHOICE), @r"
    exit 2
    --- stdout
    --- stderr
    error: no corpus is named
    hint: name the corpus with `--source DIR`, the variable CRATIS_AI_SOURCE, or `source` under `[conformance]` in proctor.toml
    ");
    insta::assert_snapshot!(run(&context, "install", &["--source", "nowhere"]), @r"
    exit 2
    --- stdout
    --- stderr
    error: `nowhere` is not a guidance corpus: `.cratis/ai/manifest.json` is missing
    hint: name the root of a corpus checkout
    ");
    insta::assert_snapshot!(run(&context, "status", &[]), @r"
    exit 2
    --- stdout
    --- stderr
    error: `.cratis/ai.json` does not exist: no guidance has been installed here
    hint: install a slice first: `proctor conformance install --help`
    ");
    assert_eq!(run(&context, "update", &["--source", "corpus"]).code, 2);
    assert_eq!(run(&context, "uninstall", &[]).code, 0);
}

#[test]
fn the_corpus_may_come_from_the_environment_or_the_settings() {
    let mut context = fixed();
    context.home().set("CRATIS_AI_SOURCE", "corpus");
    assert_eq!(run(&context, "install", &CHOICE).code, 0);
    context.home().set("CRATIS_AI_SOURCE", "");
    assert_eq!(run(&context, "update", &[]).code, 2, "empty counts as unset");
    context.write("proctor.toml", "[conformance]\nsource = \"corpus\"\n");
    assert_eq!(run(&context, "update", &[]).code, 0);
}

#[test]
fn mistakes_in_the_choice_are_all_named() {
    let context = fixed();
    context.write(".cratis/ai.json", "{\"harnesses\": \"codex\", \"profiles\": [1]}");
    insta::assert_snapshot!(run(&context, "update", &["--source", "corpus"]), @r"
    exit 2
    --- stdout
    --- stderr
    error: .cratis/ai.json: harnesses: a string, expected an array of strings
    .cratis/ai.json: profiles[0]: a number, expected a string
    ");
}

#[test]
fn compatibility_leaves_rules_out() {
    let context = fixed();
    context.write("corpus/.cratis/ai/rules/cs.md", "---\napplyTo: \"**/*.cs\"\n---\n# C#\n");
    let run = install(&context, &[]);
    assert!(run.stdout.contains("rules/cs.md") && run.stderr.contains("--compat"), "{run}");
    let run = install(&context, &["--compat"]);
    assert!(run.stdout.contains("Removed rules/cs.md"), "{run}");
    assert_eq!(run.stderr, "");
}
