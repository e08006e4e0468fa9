//! `proctor search`.

use std::fs::File;
use std::os::unix::fs::symlink;
use std::path::Path;

use proctor_testkit::{Run, TestContext};
use serde_json::Value;

fn context() -> TestContext {
    let context = TestContext::new(env!("CARGO_BIN_EXE_proctor"));
    for (id, front_matter) in [
        ("deploy", "name: deploy\ndescription: Ships a service.\ntriggers: [roll it out, ship it]"),
        ("notes", "name: release-notes\ndescription: Says what changed in a release of a service."),
        ("plans", "name: plans\ndescription: Use it: always\nkeywords: week, month"),
    ] {
        let text = format!("---\n{front_matter}\n---\n# {id}\n");
        context.write(&format!("skills/{id}/SKILL.md"), text);
    }
    context
}

fn ask(context: &TestContext, queries: impl AsRef<[u8]>, args: &[&str]) -> Run {
    context.write("queries.txt", queries);
    let mut command = context.proctor_cmd();
    command.args(["search", "-"]).args(args);
    command.stdin(File::open(context.project().join("queries.txt")).unwrap());
    context.run_command(&mut command)
}

#[test]
fn skills_are_ranked_with_the_words_that_they_have() {
    let context = context();
    insta::assert_snapshot!(context.run(["search", "ship", "the", "services", "of this release"]));
    insta::assert_snapshot!(context.run(["search", "--limit", "1", "service"]));
}

#[test]
fn the_report_for_programs_names_everything() {
    let context = context();
    let run = context.run(["search", "Weekly releases, each week", "--format", "json"]);
    assert_eq!(run.code, 0, "{run}");
    insta::assert_snapshot!(run.stdout);
}

#[test]
fn finding_nothing_is_an_answer_with_a_code_of_its_own() {
    let context = context();
    for query in ["kubernetes", "how do I use it", ""] {
        let run = context.run(["search", query]);
        assert_eq!((run.code, &*run.stdout), (1, "none of 3 skills has a word of the query\n"));
    }
    let empty = TestContext::new(env!("CARGO_BIN_EXE_proctor"));
    assert_eq!(empty.run(["search", "x"]).code, 2);
    std::fs::create_dir(empty.project().join("skills")).unwrap();
    let run = empty.run(["search", "x"]);
    assert_eq!((run.code, &*run.stdout), (1, "there are no skills\n"));
}

#[test]
fn each_line_of_standard_input_is_a_query() {
    let context = context();
    let run = ask(&context, "ship it\r\n\nrelease notes", &["--format", "json"]);
    assert_eq!(run.code, 0, "{run}");
    let lines: Vec<Value> =
        run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let shown: Vec<_> = lines.iter().map(|line| (&line["query"], &line["hits"][0]["id"])).collect();
    let [ship, blank, release] = shown[..] else { panic!("{run}") };
    assert_eq!((ship.0, ship.1), (&"ship it".into(), &"deploy".into()));
    assert_eq!((blank.0, blank.1), (&"".into(), &Value::Null));
    assert_eq!((release.0, release.1), (&"release notes".into(), &"notes".into()));
    insta::assert_snapshot!(ask(&context, "ship it\nnothing\n", &[]).stdout);

    assert_eq!(ask(&context, "", &[]).code, 1);
    assert_eq!(ask(&context, "x\ny\n", &[]).code, 1);
}

#[test]
fn a_line_that_is_no_query_ends_it_with_its_number() {
    let context = context();
    let run = ask(&context, b"ship it\n\xff\n", &["--format", "json"]);
    assert_eq!((run.code, run.stdout.lines().count()), (2, 1), "{run}");
    assert!(run.stderr.contains("line 2 of standard input is not UTF-8"), "{run}");
    let run = ask(&context, "x".repeat((1 << 20) + 1), &[]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("line 1 of standard input is longer than 1 MiB"));
}

#[test]
fn a_skill_that_cannot_be_read_is_named_and_left_out() {
    let context = context();
    std::fs::create_dir(context.project().join("skills/linked")).unwrap();
    symlink("../deploy/SKILL.md", context.project().join("skills/linked/SKILL.md")).unwrap();
    let run = context.run(["search", "ship", "--format", "json"]);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&report["skills"], &report["unreadable"]), (&3.into(), &["linked"][..].into()));
    insta::assert_snapshot!(run.stderr);
}

/// The example of the documentation, with the answers that stand there.
#[test]
fn the_example_answers_as_its_text_says() {
    let context = TestContext::new(env!("CARGO_BIN_EXE_proctor"));
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/routing");
    for folder in std::fs::read_dir(example.join("skills")).unwrap() {
        let folder = folder.unwrap();
        let text = std::fs::read(folder.path().join("SKILL.md")).unwrap();
        context.write(&format!("skills/{}/SKILL.md", folder.file_name().to_string_lossy()), text);
    }
    context.write("queries.yaml", std::fs::read(example.join("queries.yaml")).unwrap());
    let query = ["search", "the", "certificate", "of", "the", "staging", "service", "expires"];
    insta::assert_snapshot!(context.run(query).stdout);
    let import = context.run(["eval", "import", "--from", "queries", "queries.yaml"]);
    assert_eq!(import.code, 0, "{import}");
    assert_eq!(context.run(["eval", "lint"]).code, 0);
    let measure = ["eval", "run", "--mode", "activation", "--surface", "retrieval"];
    let run = context.run(measure);
    assert_eq!(run.code, 2, "{run}");
    assert!(run.stdout.contains("- `poem`: should stay quiet; write-tests ranked first"), "{run}");
    assert_eq!(run.stdout.matches("| ran, passing |").count(), 3, "{run}");
}
