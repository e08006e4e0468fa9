//! Version 1 to version 2.

use insta::assert_snapshot;
use proctor_formats::experiment::migrate;

const OLD: &str = "# A comment.
schema_version: 1
id: recall
name: Recall
description: >
  Two lines
  of text.
flow:
  prompt: |
    Do it.
    Then stop.
files:
  - {name: cli, source: ./greet, dest: greet}
matrix:
  variant:
    - id: plain
      tag: a
      overrides:
        setup: &setup |
          install -m 0755 x /usr/bin/x
    - id: other
      overrides:
        setup: *setup
        prompt: Something else.
        model: {name: claude-opus, effort: high}
        files: [{name: extra, dest: extra}]
        secrets: [KEY]
        setup_checks: [{name: own, script: 'true'}]
    - id: bare
model: claude-sonnet-4-6
setup_checks:
  - name: there
    script: command -v x
tests:
  application:
    - name: wrote
      script: test -f a
  introspection:
    - name: by-id
      script: test \"$AXP_VARIANT_ID\" = plain
limits: {max_turns: 12, max_time_seconds: 240, max_cost_usd: 6.00}
";

#[test]
fn variants_become_extensions() {
    let migration = migrate("old.yaml".into(), OLD.as_bytes()).unwrap();
    assert_snapshot!(migration.text, @r#"
    schema_version: 2
    id: recall
    name: Recall
    description: |
      Two lines of text.
    extensions:
      - id: plain
        tags:
          - a
        agents:
          - name: claude
            model: claude-sonnet-4-6
        prompts:
          - id: task
            prompt: |
              Do it.
              Then stop.
        environments:
          - name: sandbox
            setup:
              - name: setup
                script: |
                  install -m 0755 x /usr/bin/x
                setup_checks:
                  - name: there
                    script: command -v x
      - id: other
        agents:
          - name: claude
            model:
              name: claude-opus
              effort: high
        prompts:
          - id: task
            prompt: Something else.
        environments:
          - name: sandbox
            setup:
              - name: setup
                script: |
                  install -m 0755 x /usr/bin/x
                files:
                  - name: extra
                    dest: extra
                secrets:
                  - KEY
                setup_checks:
                  - name: there
                    script: command -v x
                  - name: own
                    script: "true"
      - id: bare
        agents:
          - name: claude
            model: claude-sonnet-4-6
        prompts:
          - id: task
            prompt: |
              Do it.
              Then stop.
        environments:
          - name: sandbox
            setup:
              - name: setup
                setup_checks:
                  - name: there
                    script: command -v x
    files:
      - name: cli
        source: ./greet
        dest: greet
    tests:
      - name: wrote
        script: test -f a
      - name: by-id
        script: test "$AXP_VARIANT_ID" = plain
    limits:
      max_turns: 12
      max_time_seconds: 240
      max_cost_usd: 6.0
    "#);
    assert_snapshot!(migration.notes.join("\n"), @r"
    comments, anchors and aliases of the old file are not in the new one
    the old file names no agent: `claude` was put in
    the test `by-id` reads the variant's id, which now is the whole id: the old one is its last part, `${AXP_VARIANT_ID##*::}`
    ");
    let ids = super::ids(&migration.text);
    assert_eq!(
        ids,
        [
            "claude::anthropic-claude-sonnet-4-6::task::sandbox::plain",
            "claude::anthropic-claude-opus::high::task::sandbox::other",
            "claude::anthropic-claude-sonnet-4-6::task::sandbox::bare",
        ]
    );
}

#[test]
fn tests_that_read_the_trace_keep_their_buckets_and_are_named() {
    let old = OLD.replace("test -f a", "grep -q x \"$AXP_TRACE_PATH\"");
    let migration = migrate("old.yaml".into(), old.as_bytes()).unwrap();
    assert!(migration.text.contains("  introspection:\n"), "{}", migration.text);
    assert!(migration.notes.iter().any(|note| note.contains("`wrote` reads the trace file")));
    assert_eq!(super::ids(&migration.text).len(), 3);
}

#[test]
fn other_files_are_refused() {
    let said = |text: &str| {
        let findings = migrate("x.yaml".into(), text.as_bytes()).unwrap_err();
        super::lines(&findings)
    };
    assert_snapshot!(said("schema_version: 2\n"), @"1:1: error version: is of version 2 already");
    assert_snapshot!(said("a: 1\n"), @"1:1: error version: expected `schema_version: 1`");
    assert_snapshot!(said(&OLD.replace("flow:", "flows:").replace("id: recall", "id: ''")), @r#"
    3:5: error shape: id: expected a string that is not blank, found ""
    8:1: error shape: flows: unknown key (hint: did you mean `flow`?)
    "#);
}

#[test]
fn without_a_matrix_there_is_one_variant() {
    let old = "schema_version: 1\nid: x\nname: X\nflow: {prompt: Do it.}\nagent: codex\n\
               tests: {application: [{name: t, script: test -f a}]}\nlimits: {max_time_seconds: 1}\n";
    let migration = migrate("old.yaml".into(), old.as_bytes()).unwrap();
    assert_eq!(super::ids(&migration.text), ["codex::task::default"]);
}
