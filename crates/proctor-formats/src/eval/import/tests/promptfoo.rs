//! Configurations of promptfoo.

use super::{import_as, shown};
use crate::eval::import::*;

fn promptfoo(files: &[(&str, &str)]) -> Result<Imported, ImportError> {
    import_as("promptfoo", files, "", Options::default())
}

const CONFIG: &str = r#"
description: Deploys
providers: [anthropic:claude-agent-sdk]
prompts:
  - "{{request}}"
  - {label: polite, raw: "Please: {{request}}"}
  - file://prompts/p.py
defaultTest:
  assert:
    - {type: skill-used, value: deploy}
    - {type: cost, threshold: 0.1}
tests:
  - description: to staging
    vars: {request: Deploy {{x}} to staging, region: eu}
  - description: to the region
    vars: {request: Deploy to eu, region: eu.1}
    threshold: 0.8
    metadata: {owner: us}
    assert:
      - {type: contains, value: "staging-{{region}}", weight: 2}
      - {type: icontains, value: "{{region}}"}
      - {type: contains-any, value: [a.b, c]}
      - {type: not-contains, value: production}
      - {type: regex, value: '\d+ services?'}
      - {type: not-regex, value: 'x+'}
      - {type: equals, value: done}
      - {type: starts-with, value: d}
      - {type: llm-rubric, value: "Names {{region}}", threshold: 0.9}
      - {type: javascript, value: "output.length > 5"}
  - {vars: {request: Explain it}, assert: [{type: llm-rubric, value: Explains}], threshold: 0.6}
"#;

#[test]
fn tests_become_cases_for_each_prompt() {
    let config = CONFIG.replace("Deploy {{x}} to staging", "'Deploy {{x}} to staging'");
    insta::assert_snapshot!(shown(&promptfoo(&[("promptfooconfig.yaml", &config)]).unwrap()));
}

#[test]
fn prompts_and_tests_may_stand_in_files() {
    let config = "prompts: file://prompts/p.txt\ntests: file://tests.yaml\n";
    let files = [
        ("promptfooconfig.yml", config),
        ("prompts/p.txt", "Do {{what}}\n"),
        (
            "tests.yaml",
            "- {vars: {what: it}, assert: [{type: contains, value: ok}], options: {x: 1}}",
        ),
    ];
    insta::assert_snapshot!(shown(&promptfoo(&files).unwrap()));
}

#[test]
fn broken_configurations_are_refused() {
    for (text, expected) in [
        ("5", "must hold an object"),
        ("tests: []", "has no prompts"),
        ("prompts: [a]", "has no tests"),
        ("prompts: [a]\ntests: []", "none of its tests maps"),
        ("prompts: ['{{a|b}}']\ntests: [{vars: {a: 1}}]", "its prompt needs a template"),
        ("prompts: [a]\ntests: file://tests.csv", "none of its tests maps"),
        ("prompts: [file://../x.txt]\ntests: [{}]", "must stay inside"),
        ("prompts: [file://x.txt]\ntests: [{}]", "x.txt: cannot be read"),
    ] {
        let error = promptfoo(&[("promptfooconfig.yaml", text)]).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
    assert!(promptfoo(&[("config.yaml", "")]).is_err());
}

#[test]
fn a_small_configuration_cannot_become_a_large_case_file() {
    let long = "x".repeat(100_000);
    let config = format!("prompts: ['{}']\ntests: [{{vars: {{a: {long}}}}}]", "{{a}}".repeat(11));
    let error = promptfoo(&[("promptfooconfig.yaml", &config)]).unwrap_err().to_string();
    assert!(error.contains("more than 1 MiB"), "{error}");
    let assertions = "{type: llm-rubric, value: x},".repeat(10_000);
    let tests = "{},".repeat(1000);
    let config = format!("prompts: [p]\ndefaultTest: {{assert: [{assertions}]}}\ntests: [{tests}]");
    let error = promptfoo(&[("promptfooconfig.yaml", &config)]).unwrap_err().to_string();
    assert!(error.contains("more than 1 MiB"), "{error}");
}
