//! `proctor eval import --from queries`.

use std::path::Path;

use proctor_testkit::TestContext;
use serde_json::Value;

const IMPORT: [&str; 4] = ["eval", "import", "--from", "queries"];

const LIST: &str = "\
- {id: ship, query: Roll it out, expected_skill: deploy, forbidden: [notes]}
- {query: What changed?, expected_skill: notes, level: 2}
";

fn context() -> TestContext {
    let context = TestContext::new(env!("CARGO_BIN_EXE_proctor"));
    for id in ["deploy", "notes"] {
        let text = format!("---\nname: {id}\ndescription: x\n---\nx\n");
        context.write(&format!(".claude/skills/{id}/SKILL.md"), text);
    }
    context.write("triggers.yaml", LIST);
    context
}

fn import<'a>(rest: &[&'a str]) -> Vec<&'a str> {
    IMPORT.iter().chain(rest).copied().collect()
}

#[test]
fn cases_are_filed_under_the_skills_that_they_name() {
    let context = context();
    let dry = context.run(import(&["triggers.yaml", "--dry-run"]));
    assert!(dry.stdout.starts_with("would write skills/deploy/evals/triggers.eval.yaml"), "{dry}");
    assert!(!context.project().join(".claude/skills/deploy/evals").exists());
    insta::assert_snapshot!(context.run(import(&["triggers.yaml"])));
    insta::assert_snapshot!(context.read(".claude/skills/notes/evals/triggers.eval.yaml"));
    let lint = context.run(["eval", "lint"]);
    assert_eq!(lint.code, 0, "{lint}");

    let again = context.run(import(&["triggers.yaml"]));
    assert_eq!(again.code, 1, "{again}");
    insta::assert_snapshot!(again.stderr);
    assert_eq!(context.run(import(&["triggers.yaml", "--force"])).code, 0);
    context.write("other.yaml", LIST);
    let clash = context.run(import(&["other.yaml"]));
    assert_eq!(clash.code, 1, "{clash}");
    assert!(clash.stderr.contains("has a case with the id `ship`"), "{clash}");
}

#[test]
fn one_skill_or_a_folder_can_be_named_instead() {
    let context = context();
    let run = context.run(import(&["triggers.yaml", "--skill", "notes"]));
    assert_eq!(run.code, 0, "{run}");
    assert!(context.project().join(".claude/skills/notes/evals/triggers.eval.yaml").exists());
    assert!(!context.project().join(".claude/skills/deploy/evals").exists());
    let run = context.run(import(&["triggers.yaml", "--output-dir", "out", "--format", "json"]));
    assert_eq!(run.code, 0, "{run}");
    assert!(context.project().join("out/deploy/triggers.eval.yaml").exists());
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(report["scenarios"][0]["unmapped"][0]["path"], "$[*].level");

    let run = context.run(["eval", "import", "--from", "tessl", "triggers.yaml"]);
    assert_eq!(run.code, 1);
    insta::assert_snapshot!(run.stderr);
}

#[test]
fn a_list_with_mistakes_writes_nothing() {
    let context = context();
    context.write("bad.csv", "query,expected_skill\na,depoy\nb\nc,notes\n");
    let run = context.run(import(&["bad.csv"]));
    insta::assert_snapshot!(run);
    assert!(!context.project().join(".claude/skills/notes/evals").exists());
}

/// The labelled queries of a real set, which are not part of this repository.
#[test]
#[expect(clippy::print_stderr, reason = "the note of a skipped test belongs to its output")]
fn a_real_list_becomes_cases_of_its_skills() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/data/skill-evals/routing-buildkite");
    let Ok(folders) = std::fs::read_dir(data.join("skills")) else {
        eprintln!("skipped: {} is not there", data.display());
        return;
    };
    let context = TestContext::new(env!("CARGO_BIN_EXE_proctor"));
    for folder in folders {
        let folder = folder.unwrap();
        let text = std::fs::read(folder.path().join("SKILL.md")).unwrap();
        context.write(&format!("skills/{}/SKILL.md", folder.file_name().to_string_lossy()), text);
    }
    context.write("list.yaml", std::fs::read(data.join("trigger_dataset.yaml")).unwrap());
    let run = context.run(import(&["list.yaml"]));
    assert_eq!(run.code, 0, "{run}");
    assert!(!run.stdout.contains("unmapped"), "{run}");
    let lint = context.run(["eval", "lint"]);
    assert_eq!((lint.code, &*lint.stdout), (0, "8 skills, no findings\n"), "{lint}");
    let list = context.run(["eval", "list", "--format", "json"]);
    let list: Value = serde_json::from_str(&list.stdout).unwrap();
    let cases = list["skills"].as_array().unwrap().iter();
    // 121 that should fire the expected skill, and 53 that must not fire another.
    assert_eq!(cases.map(|skill| skill["cases"].as_u64().unwrap()).sum::<u64>(), 174);
}
