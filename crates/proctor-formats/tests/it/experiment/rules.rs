//! Each rule of the format.

use std::fmt::Write as _;

use insta::assert_snapshot;

use super::{AXES, findings, reading, with};

/// A file with the axes it needs, and `rest` from line 6 on.
fn rest(rest: &str) -> String {
    with(&format!("{AXES}{rest}"))
}

#[test]
fn a_right_file_has_no_findings() {
    assert_eq!(findings(&with(AXES)), "");
}

#[test]
fn every_mistake_of_a_file_is_said_at_once() {
    let text = "schema_version: 2
id: Not Kebab
name: ''
agnets: claude
agents: [claude, {name: codex, modle: gpt-5}]
prompts: []
tests:
  - name: t
    script: ''
  - name: t
  - name: T
    script: true
limits: {max_turns: 0}
";
    assert_snapshot!(findings(text), @r#"
    2:5: error name: id: expected a kebab-case name of at most 100 characters: a-z, 0-9 and single `-` between them, found "Not Kebab"
    3:7: error empty: name: expected some text, found none
    4:1: error shape: agnets: unknown key (hint: known here: `$schema`, `schema_version`, `id`, `name`, `description`, `agents`, `models`, `prompts`, `environments`, `products`, `extensions`, `environment_variables`, `secrets`, `files`, `tests`, `limits`)
    5:32: error shape: agents[1].modle: unknown key (hint: did you mean `model`?)
    6:10: error shape: prompts: expected at least one of prompts, found an empty list (hint: leave the key out to have no such axis)
    9:13: error empty: tests[0].script: the script is empty (hint: write `"true"` for a script that does nothing)
    10:5: error shape: tests[1]: `script` is missing
    11:11: error name: tests[2].name: expected a kebab-case name of at most 100 characters: a-z, 0-9 and single `-` between them, found "T"
    12:13: error shape: tests[2].script: expected a string, found true
    13:9: error shape: limits: `max_time_seconds` is missing
    13:21: error shape: limits.max_turns: expected a whole number above 0, found 0
    "#);
}

#[test]
fn versions() {
    let other = |version: &str| with(AXES).replace("schema_version: 2", version);
    assert_snapshot!(findings(&other("schema_version: 3")), @"1:17: error version: schema_version: expected the whole number 2, found 3");
    assert_snapshot!(findings(&other("schema_version: '2'")), @r#"1:17: error version: schema_version: expected the whole number 2, found "2""#);
    assert_snapshot!(findings(&other("schema_version: 1")), @"1:17: error version: schema_version: version 1 of the format is not run any more (hint: `proctor experiment migrate` converts it)");
    assert_snapshot!(findings(&other("")), @"2:1: error version: `schema_version` is missing (hint: write `schema_version: 2`)");
    assert_snapshot!(findings("matrix: {}\n"), @"1:1: error version: `schema_version` is missing (hint: this looks like version 1: write `schema_version: 1`, then `proctor experiment migrate` converts it)");
}

#[test]
fn what_is_no_document() {
    assert_snapshot!(findings(""), @"1:1: error yaml: expected a YAML document, found an empty file");
    assert_snapshot!(findings("a: b: c"), @"1:5: error yaml: invalid YAML: mapping values are not allowed in this context (hint: put text that holds `: ` in quotes)");
    assert_snapshot!(findings("[]"), @"1:1: error shape: expected an experiment: an object with `schema_version: 2`, found an empty list");
    let twice = format!("{}id: y\n", with(AXES));
    assert!(findings(&twice).contains("id"), "{}", findings(&twice));
}

#[test]
fn names_on_an_axis_differ() {
    let text = with(
        "agents: [claude, claude]
models: [a, {name: a, effort: low}, a]
prompts:
  - One.
  - {id: prompt-1, prompt: Two.}
environments: [{name: e}, {name: e}]
products: [{name: p}, {name: p}]
",
    );
    assert_snapshot!(findings(&text), @r"
    4:18: error duplicate-name: agents[1]: `claude` stands here already, at 4:10
    5:37: error duplicate-name: models[2]: `a` stands here already, at 5:10
    8:5: error duplicate-name: prompts[1]: `prompt-1` stands here already, at 7:5
    9:27: error duplicate-name: environments[1]: `e` stands here already, at 9:16
    10:23: error duplicate-name: products[1]: `p` stands here already, at 10:12
    ");
}

#[test]
fn the_same_agent_with_other_models_and_the_same_model_with_other_efforts_differ() {
    let text = with(
        "agents:
  - {name: claude, model: claude-sonnet-5}
  - {name: claude, model: {name: claude-sonnet-5, effort: low}}
prompts: [Do it.]
",
    );
    assert_eq!(findings(&text), "");
}

#[test]
fn variants_need_an_agent_and_a_prompt() {
    assert_snapshot!(findings(&with("prompts: [Do it.]")), @"1:1: error incomplete-variant: the variants have no agent (hint: declare `agents` here or above)");
    let text = with(
        "agents: claude
extensions:
  - id: a
    prompts: [Do it.]
  - id: b
    extensions: [{id: c}]
",
    );
    assert_snapshot!(findings(&text), @"9:18: error incomplete-variant: the variants of extension `b/c` have no prompt (hint: declare `prompts` here or above)");
    let text = with("agents: claude\nmodels: [gpt-5]\nprompts: [Do it.]");
    assert_snapshot!(findings(&text), @"1:1: error no-variants: no variant is left: no agent can drive any of the models (hint: claude drives models of Anthropic, codex those of OpenAI)");
}

#[test]
fn variants_with_one_id() {
    let text = with(
        "agents: claude
models: [claude-a, {name: claude-a, fast: true}]
prompts: [Do it.]
",
    );
    assert_snapshot!(findings(&text), @"5:20: error duplicate-name: models[1]: `claude-a` stands here already, at 5:10");
    let text = with(
        "agents: [claude, {name: claude, model: claude-a}]
models: [claude-a]
prompts: [Do it.]
",
    );
    assert_snapshot!(findings(&text), @r"
    1:1: error duplicate-variant: two variants have the id `claude::anthropic-claude-a::prompt-1`
    1:1: note model-twice: `claude` has a model of its own, and meets none of the list `models`
    ");
    // An effort that reads like a prompt, a prompt that reads like an environment.
    let text = with(
        "agents: claude
models: [m, {name: m, effort: p}]
prompts: [{id: p, prompt: x}]
environments: [{name: p}, {name: q}]
",
    );
    assert_eq!(findings(&text), "");
}

#[test]
fn too_many_variants() {
    let many = |start: &str, end: &str| {
        (0..50).map(|n| format!("{start}{n}{end}")).collect::<Vec<_>>().join(", ")
    };
    let text = with(&format!(
        "agents: claude\nprompts: [{}]\nenvironments: [{}]\nproducts: [{}]",
        many("P", ""),
        many("{name: n", "}"),
        many("{name: n", "}")
    ));
    assert_snapshot!(findings(&text), @"1:1: error too-large: more than 100000 variants");
    // A pair that is looked at, and never a variant.
    let text = with(&format!(
        "agents: [{}]\nmodels: [{}]\nprompts: [x]\nextensions: [{}]",
        (0..500)
            .map(|n| format!("{{name: claude, model: {{name: m, effort: e{n}}}}}"))
            .collect::<Vec<_>>()
            .join(", "),
        many("claude-", ""),
        (0..3000).map(|n| format!("{{id: e{n}, agents: [codex]}}")).collect::<Vec<_>>().join(", "),
    ));
    assert!(!findings(&text).contains("too-large"));
    let long = "x".repeat(100_000);
    let text = with(&format!(
        "agents: claude\nprompts: [{}]\nenvironments: [{}]\nproducts: [{}]",
        (0..20).map(|n| format!("{n}-{long}")).collect::<Vec<_>>().join(", "),
        many("{name: n", "}"),
        many("{name: n", "}")
    ));
    assert!(findings(&text).contains("repeat more than 2147483648 bytes"), "{}", findings(&text));
    let deep = "{id: a, extensions: [".repeat(9) + &"]}".repeat(9);
    let text = rest(&format!("extensions: [{deep}]"));
    assert!(findings(&text).contains("error too-large: extensions[0]"), "{}", findings(&text));
}

#[test]
fn references() {
    let text = rest(
        "environment_variables:
  - {name: A, value: axp://secrets/team-key}
  - {name: B, value: axp://secrets/}
  - {name: C, value: axp://vault/x}
  - {name: D, value: axp://secrets/a/b}
  - {name: E, value: see axp://secrets/x}
  - {name: 1F, value: x}
  - {name: AX_RUN_ID, value: x}
  - {name: A, value: y}
  - {name: G, value: 1}
",
    );
    assert_snapshot!(findings(&text), @r#"
    8:22: error reference: environment_variables[1].value: expected `axp://secrets/<slug>`: `axp://` begins nothing else, found "axp://secrets/"
    9:22: error reference: environment_variables[2].value: expected `axp://secrets/<slug>`: `axp://` begins nothing else, found "axp://vault/x"
    10:22: error reference: environment_variables[3].value: expected `axp://secrets/<slug>`: `axp://` begins nothing else, found "axp://secrets/a/b"
    12:12: error name: environment_variables[5].name: expected a variable's name: letters, digits and `_`, at most 100, the first no digit, found "1F"
    13:12: note reserved-variable: environment_variables[6].name: `AX_RUN_ID` belongs to the run, which may set it to something else
    14:5: error duplicate-name: environment_variables[7]: `A` stands here already, at 7:5
    15:22: error shape: environment_variables[8].value: expected a string, found 1
    "#);
}

#[test]
fn destinations() {
    let text = rest(
        "files:
  - {name: a, source: a, dest: /workspace/bin/a}
  - {name: b, source: b, dest: ../b}
  - {name: c, source: c}
  - {name: 'd=d', dest: d}
  - {name: e, source: e, dest: e, sha256: abc}
",
    );
    assert_snapshot!(findings(&text), @r#"
    7:32: error dest: files[0].dest: expected a path below the workspace, at most 1024 bytes: relative, without `..`, found "/workspace/bin/a" (hint: write `bin/a`)
    8:32: error dest: files[1].dest: expected a path below the workspace, at most 1024 bytes: relative, without `..`, found "../b"
    9:5: error shape: files[2]: `dest` is missing
    10:5: error name: files[3]: the name of a file without `source` holds `=` or `:` (hint: `--file NAME=PATH` could not name it)
    11:43: error shape: files[4].sha256: expected a SHA-256 digest: 64 hexadecimal digits, found "abc"
    "#);
}

#[test]
fn files_that_meet() {
    let text = "schema_version: 2
id: x
name: X
agents: claude
prompts: [Do it.]
files:
  - {name: a, source: a, dest: data/a}
  - {name: b, source: b, dest: ./data//a}
environments:
  - name: e
    setup:
      - files: [{name: c, source: c, dest: c}]
      - files: [{name: d, source: d, dest: c}, {name: over, source: o, dest: data/a}]
products:
  - name: p
    setup: {files: [{name: e, source: e, dest: c}]}
tests:
  - name: t
    script: diff c data/a
    files:
      - {name: f, source: f, dest: data/a}
      - {name: g, source: g, dest: c}
      - {name: h, source: h, dest: own}
      - {name: i, source: i, dest: own}
  - name: u
    script: diff c data/a
    files: [{name: h, source: i, dest: own}]
limits: {max_time_seconds: 1}
";
    assert_snapshot!(findings(text), @r"
    8:5: error dest-collision: two files would lie at one place, `data/a`: the other stands at 7:5
    13:17: error dest-collision: two files would lie at one place, `c`: the other stands at 12:17
    16:21: error dest-collision: environment and product of one variant stage two files at one place, `c`: the other stands at 12:17
    21:9: error dest-collision: a test's file would lie where a file lies that the agent sees, `data/a`: the other stands at 7:5
    22:9: error dest-collision: a test's file would lie where a file lies that the agent sees, `c`: the other stands at 12:17
    24:9: error dest-collision: two files would lie at one place, `own`: the other stands at 23:9
    ");
}

#[test]
fn servers() {
    let text = rest("products:
  - name: p
    setup:
      mcp_servers:
        - {name: a, type: stdio, command: npx, args: [-y], env: [{name: A, from: B}]}
        - {name: b, type: stdio, command: npx, url: 'https://x'}
        - {name: c, type: http, url: ftp://x, headers: [{name: 'a b', value: x}]}
        - {name: d, type: sse, url: 'https://x', args: []}
        - {name: e, type: websocket}
        - {name: f, type: stdio, command: x, env: [{name: A, value: secret}]}
        - {name: g, type: http}
        - {name: a, type: http, url: 'https://x/mcp', headers: [{name: Authorization, value: axp://secrets/k}]}
");
    assert_snapshot!(findings(&text), @r#"
    10:11: error undeclared-variable: the server takes `B`, which its variants do not declare (hint: declare it in `environment_variables`)
    11:48: error mcp: products[0].setup.mcp_servers[1].url: does not belong to a server of type `stdio`
    12:38: error mcp: products[0].setup.mcp_servers[2].url: expected an `http://` or `https://` address, found "ftp://x"
    12:64: error mcp: products[0].setup.mcp_servers[2].headers[0].name: expected the name of a header, found "a b"
    13:50: error mcp: products[0].setup.mcp_servers[3].args: does not belong to a server of type `sse`
    14:27: error shape: products[0].setup.mcp_servers[4].type: expected `stdio`, `http` or `sse`, found "websocket"
    15:62: error mcp: products[0].setup.mcp_servers[5].env[0].value: values do not stand at a server (hint: declare it in `environment_variables`, and name it in `from`)
    16:11: error shape: products[0].setup.mcp_servers[6]: `url` is missing
    17:11: error duplicate-name: products[0].setup.mcp_servers[7]: `a` stands here already, at 10:11
    "#);
}

#[test]
fn skills_and_checks() {
    let text = rest(
        "environments:
  - name: e
    setup:
      - name: one
        setup_checks: [{name: c, script: 'true'}, {name: c, script: 'true'}]
        skills: [{name: s, source: s}, {name: ../s, source: s}, {name: u}]
      - skills: [{name: s, source: other}]
",
    );
    assert_snapshot!(findings(&text), @r#"
    10:51: error duplicate-name: environments[0].setup[0].setup_checks[1]: `c` stands here already, at 10:24
    11:47: error name: environments[0].setup[0].skills[1].name: expected the name of a folder, found "../s"
    11:65: error shape: environments[0].setup[0].skills[2]: `source` is missing
    12:18: error duplicate-name: the skill `s` stands at 11:18 already
    "#);
}

#[test]
fn scripts_in_files_and_live_tests_are_noted() {
    let text = "schema_version: 2
id: y
name: X
agents: [{name: gemini, acp: [gemini, --acp]}, {name: other}]
prompts: [Do it.]
tests:
  - {name: a, script_file: a.sh}
  - {name: b, script: test -f a, when: live}
  - {name: c, script: test -f a, script_file: a.sh}
  - {name: d, script: test -f a, when: later}
limits: {max_time_seconds: 1}
";
    assert_snapshot!(findings(text), @r#"
    2:5: note file-name: id: the id is not the file's name, `x`
    4:30: note proctor-only: agents[0].acp: `acp` is known to Proctor only
    4:48: note unknown-agent: agents[1]: nothing here knows how to start `other` (hint: give the command that speaks the Agent Client Protocol: `acp: [command]`)
    7:28: note proctor-only: tests[0].script_file: `script_file` is known to Proctor only
    8:40: note proctor-only: tests[1].when: `when` is known to Proctor only
    9:5: error shape: tests[2]: has both `script` and `script_file`
    9:47: note proctor-only: tests[2].script_file: `script_file` is known to Proctor only
    10:40: error shape: tests[3].when: expected `snapshot` or `live`, found "later"
    10:40: note proctor-only: tests[3].when: `when` is known to Proctor only
    "#);
}

#[test]
fn the_two_buckets_are_read_as_one_list() {
    let text = "schema_version: 2
id: x
name: X
agents: [{name: claude, model: claude-sonnet-5}]
prompts: [Do it.]
secrets: [KEY, OTHER]
environment_variables: [{name: OTHER, value: literal}]
tests:
  introspection: [{name: b, script: 'grep x y'}]
  application: [{name: a, script: 'grep x y'}, {name: b, script: 'grep x y'}]
limits: {max_turns: 1, max_time_seconds: 2, max_cost_usd: 0.5}
";
    assert_snapshot!(findings(text), @"9:19: error duplicate-name: tests.introspection[0]: `b` stands here already, at 10:48");
    let experiment = super::experiment(&text.replace(
        "{name: b, script: 'grep x y'}]\nlimits",
        "{name: c, script: 'grep x y'}]\nlimits",
    ));
    let names: Vec<String> = experiment.tests.iter().map(|test| test.name.to_string()).collect();
    assert_eq!(names, ["a", "c", "b"]);
    let variables: Vec<_> = experiment
        .variables
        .iter()
        .map(|one| (one.name.as_str(), one.value.as_written()))
        .collect();
    let expected = [("OTHER", "literal".to_owned()), ("KEY", "axp://secrets/KEY".to_owned())];
    assert_eq!(variables, expected);
    let none = text.replace("introspection: [{name: b, script: 'grep x y'}]", "introspection: []");
    let none = none.replace(
        "application: [{name: a, script: 'grep x y'}, {name: b, script: 'grep x y'}]",
        "application: []",
    );
    assert_snapshot!(findings(&none), @"9:3: error shape: tests: expected at least one test (hint: an experiment without tests measures nothing)");
}

#[test]
fn anchors_and_aliases_are_copies() {
    let text = with(
        "agents: claude
prompts: [Do it.]
environments:
  - name: a
    setup: &install |
      cat > /tmp/x <<'EOF'
      key: value
      EOF
  - name: b
    setup: *install
",
    );
    assert_eq!(findings(&text), "");
    assert_eq!(super::variants(&text).len(), 2);
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for n in 1..9 {
        let below = format!("*a{}, ", n - 1).repeat(10);
        writeln!(bomb, "a{n}: &a{n} [{below}]").unwrap();
    }
    let said = findings(&bomb);
    assert!(said.contains("error yaml: more than 1000000 values"), "{said}");
    assert!(findings("<<: {a: 1}\n").contains("merge keys are not part of YAML 1.2"));
}

#[test]
fn shorthands() {
    let text = with(
        "agents: {name: claude, agent_mode: build}
models:
  - name: claude-opus
    effort: high
    context_window_size: 200000
    thinking: extended
    fast: false
  - claude-sonnet-5
prompts:
  - Only text.
  - id: named
    prompt: Text.
    description: d
    tags: [a:b]
environments:
  - {name: none}
products:
  - {name: script, type: docs, setup: ':', version: '1', commit: abc, tags: [x], description: d}
  - {name: lone, type: Gadget, setup: {script: ':'}}
  - {name: list, setup: [{name: a, script: ':', description: d, tags: [x]}, {}]}
",
    );
    assert_snapshot!(findings(&text), @r#"22:24: note product-type: products[1].type: "Gadget" is none of CLI, SDK, MCP, Skill, Docs, API"#);
    let variants = super::variants(&text);
    assert_eq!(variants.len(), 2 * 2 * 3);
    assert_eq!(
        variants[0].id.as_str(),
        "claude::anthropic-claude-opus::high::prompt-1::none::script"
    );
    assert_eq!(variants[11].setups().count(), 2);
}

#[test]
fn hostile_names_do_not_reach_a_terminal_as_they_are() {
    let reading = reading(&with("agents: [\"\\e[2J\"]\nprompts: [x]\n\"\\e[31m\": 1"));
    for finding in reading.findings {
        assert!(!finding.message.contains('\u{1b}'), "{finding:?}");
    }
}
