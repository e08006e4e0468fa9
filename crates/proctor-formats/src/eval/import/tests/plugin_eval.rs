//! Suites of `claude plugin eval`.

use super::{import_as, shown};
use crate::eval::import::*;

fn plugin_eval(files: &[(&str, &str)], named: &str) -> Result<Imported, ImportError> {
    import_as("plugin-eval", files, named, Options::default())
}

const PROMPT: &str = "---\nname: commit-message\ntags: [smoke, Not OK]\nmodel: haiku\nruns: 3\n\
    max_turns: 10\nallowed_tools: [Read, Skill]\n---\n\nWrite me a commit message.\n";

#[test]
fn a_case_with_graders_becomes_a_case() {
    let files = [
        (".claude-plugin/plugin.json", r#"{"name": "p", "experimental": {"evals": "qa"}}"#),
        ("qa/group/first/prompt.md", PROMPT),
        (
            "qa/group/first/graders/a-criteria.md",
            "---\ntype: llm\nweight: 2\n---\n\nPASS if short.\n",
        ),
        (
            "qa/group/first/graders/b-fired.md",
            "---\ntype: tool_used\ntool: Skill\ninput_match: 'commit'\narm: both\n---\n",
        ),
        ("qa/group/first/graders/c-regex.md", "---\ntype: regex\nflags: i\n---\n^fix(?:es)?: .+\n"),
        (
            "qa/group/first/graders/d-file.md",
            "---\ntype: regex\ntarget: {source: file, path: out.txt}\nmatch: not_contains\nweight: 3\n---\nTODO\n",
        ),
        ("qa/group/first/graders/e-exists.md", "---\ntype: file_exists\npath: out.txt\n---\n"),
        ("qa/group/first/graders/f-trace.md", "---\ntype: regex\ntarget: trace\npattern: x\n---\n"),
        ("qa/group/first/graders/g-look.md", "---\ntype: regex\npattern: '(?=x)y'\n---\n"),
        (
            "qa/group/first/graders/h-order.md",
            "---\ntype: tool_order\nbefore: Read\nafter: Edit\n---\n",
        ),
        (
            "qa/group/first/graders/i-bash.md",
            "---\ntype: tool_used\ntool: Bash\nmax: 0\nmin: 0\n---\n",
        ),
        ("qa/group/first/mocks/tracker/create.md", "x"),
        ("qa/results/1/prompt.md", "x"),
    ];
    let imported = plugin_eval(&files, "").unwrap();
    insta::assert_snapshot!(shown(&imported));
}

#[test]
fn a_case_may_be_one_file() {
    let case = r#"schema_version: "1.1"
name: no-skill
description: Another skill must not fire
context: {scaffold_script: x.sh, add_dirs: [d]}
execution: {prompt: "Just say hello", max_turns: 5, model: opus, zzz: 1}
graders:
  - {name: quiet, type: tool_used, tool: Skill, min: 0, max: 0, arm: both}
  - {name: good, type: llm, criteria: Says hello, focus: last_message}
  - {name: also, type: llm, criteria: Is short, weight: 0.5}
  - {name: same, type: baseline, baseline_file: b.jsonl, criteria: x}
  - {name: pngs, type: file_exists, path: "*.png"}
"#;
    let imported = plugin_eval(&[("case.yaml", case)], "case.yaml").unwrap();
    insta::assert_snapshot!(shown(&imported));
}

#[test]
fn the_prompt_file_wins_over_the_case_file() {
    let case = "schema_version: '1.0'\nname: b\ndescription: kept\ngraders: \
        [{name: g, type: llm, criteria: c}]\nexecution: {prompt: lost}\n";
    let files = [("prompt.md", "---\nname: a\n---\nasked\n"), ("case.yaml", case)];
    let imported = plugin_eval(&files, "").unwrap();
    let text = shown(&imported);
    assert!(text.contains("id: a\n    description: kept\n"), "{text}");
    assert!(text.contains("case.yaml: $.execution.prompt"), "{text}");
    assert_eq!(imported.files[1].content, b"asked\n");
}

#[test]
fn broken_cases_are_refused() {
    let grader = ("graders/g.md", "---\ntype: llm\n---\nx\n");
    for (files, expected) in [
        (&[("prompt.md", "hello\n")][..], "has no grader"),
        (&[("prompt.md", "---\nname: x\n---\n"), grader], "has no prompt"),
        (&[("prompt.md", "---\n{\n---\nx\n"), grader], "prompt.md: is not valid YAML"),
        (&[("prompt.md", "x\n"), ("graders/g.md", "no front matter")], "has no front matter"),
        (&[("prompt.md@", "")], "reads a case folder"),
        (&[("README.md", "")], "reads a case folder"),
    ] {
        let error = plugin_eval(files, "").unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
