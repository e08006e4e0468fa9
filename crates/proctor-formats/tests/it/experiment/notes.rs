//! Notes about what may mislead.

use insta::assert_snapshot;

use super::{AXES, findings, with, with_script};

/// The codes of the notes about a script, one a line.
fn codes(script: &str) -> String {
    let findings = super::reading(&with_script(script)).findings;
    let codes: Vec<&str> = findings.iter().map(|finding| finding.code.code()).collect();
    codes.join(" ")
}

#[test]
fn a_complete_top_level_beside_extensions() {
    let text = with(&format!("{AXES}extensions: [{{id: a}}]"));
    assert_snapshot!(findings(&text), @"6:1: note complete-template: the top level has agents and prompts, and gives no variants of its own: only the extensions do (hint: add an extension without axes to have them as well)");
}

#[test]
fn plan_mode_beside_tests_that_read_the_workspace() {
    let text = with("agents:\n  - name: claude\n    agent_mode: plan\nprompts: [Do it.]");
    assert_snapshot!(findings(&text), @"6:5: note plan-mode: `claude` is in plan mode and writes nothing, but the test `t` reads the workspace (hint: use `agent_mode: build`, or test what the agent said)");
    let asks = text.replace(
        "test -f /workspace/a",
        "ax-run-query \"$AX_RUN_ID\" sql \"SELECT count(*) FROM events\"",
    );
    assert_eq!(findings(&asks), "");
}

#[test]
fn agents_and_models_that_never_meet() {
    let text = with("agents: [claude, codex]\nmodels: [claude-a, grok-b]\nprompts: [Do it.]");
    assert_snapshot!(findings(&text), @r"
    1:1: note pair-never-runs: `codex` can drive none of the models beside it, so it is in no variant
    1:1: note pair-never-runs: no agent beside the model `grok-b` can drive it, so it is in no variant
    ");
    let text =
        with("agents: [{name: claude, model: claude-b}]\nmodels: [claude-a]\nprompts: [Do it.]");
    assert_snapshot!(findings(&text), @r"
    1:1: note pair-never-runs: no agent beside the model `claude-a` can drive it, so it is in no variant
    1:1: note model-twice: `claude` has a model of its own, and meets none of the list `models`
    ");
}

#[test]
fn answers_where_the_agent_sees_them() {
    let text = with(&format!(
        "{AXES}files:
  - {{name: a, source: fixtures/expected.json, dest: data/x.json}}
  - {{name: b, source: b, dest: grading/b}}
  - {{name: solution, source: c, dest: c}}
  - {{name: d, source: upgrade.py, dest: unexpected.txt}}"
    ));
    assert_snapshot!(findings(&text), @r"
    7:5: note visible-answer: the agent sees `data/x.json`, whose name says `expected` (hint: stage what only a test needs in the `files` of that test)
    8:5: note visible-answer: the agent sees `grading/b`, whose name says `grading` (hint: stage what only a test needs in the `files` of that test)
    9:5: note visible-answer: the agent sees `c`, whose name says `solution` (hint: stage what only a test needs in the `files` of that test)
    ");
}

#[test]
fn trace_files() {
    assert_snapshot!(findings(&with_script("grep -q x \"$AXP_TRACE_PATH\"")), @"7:5: note trace-read: the test `t` reads a trace file, and none is staged (hint: query `events` with `ax-run-query`)");
    let early = with_script("grep -q x \"$AXP_TRACE_PATH\"").replace(
        "tests:\n  - name: t\n    script: |\n      ",
        "tests:\n  application:\n  - name: t\n    script: ",
    );
    assert_snapshot!(findings(&early), @"8:5: note trace-read: the test `t` reads the trace file, which is staged for files of this dialect only (hint: query `events` with `ax-run-query`)");
    assert_eq!(codes("# not $AX_TRACE_PATH\ntest -f a"), "");
}

#[test]
fn missing_evidence_must_fail() {
    for script in [
        "ax-run-query \"$AX_RUN_ID\" sql \"SELECT count(*)\n FROM events\" || true",
        "ax-run-query \"$AX_RUN_ID\" sql \"SELECT count(*) FROM events\" > x || exit 0\ngrep y x",
        "! ax-run-query \"$AX_RUN_ID\" sql \"SELECT count(*) FROM events\" | grep -q bad",
        "test -f /workspace/x || exit 0\ngrep y /workspace/x",
        "[ ! -s x ] && exit 0\ngrep y x",
        "if [ ! -f x ]; then exit 0; fi\ngrep y x",
        "if ! test -e x; then\n  echo none\n  exit 0\nfi\ngrep y x",
        "python3 - <<'PY'\nimport sys\nrows = []\nif not rows:\n    sys.exit(0)\nPY",
        "python3 - <<'PY'\nif not rows:\n    print('none')\n    sys.exit()\nPY",
    ] {
        assert_eq!(codes(script), "missing-evidence-passes", "{script}");
    }
    for script in [
        "test -f x || exit 1",
        "if grep -qi freeq x; then echo ok; exit 0; fi\ngrep z x",
        "case \"$AX_VARIANT_ID\" in negative) exit 0 ;; *) grep y x ;; esac",
        "python3 - <<'PY'\nif not rows:\n    sys.exit(1)\nPY",
        "python3 - <<'PY'\nif not rows:\n    sys.exit('none')\nPY",
        "grep -c y x || true\ntest -f z",
    ] {
        assert_eq!(codes(script), "", "{script}");
    }
}

#[test]
fn queries_that_mislead() {
    let query = |sql: &str| format!("ax-run-query \"$AX_RUN_ID\" sql \"{sql}\" | grep -q x");
    assert_eq!(codes(&query("SELECT payload FROM events")), "row-limit");
    assert_eq!(codes(&query("SELECT payload FROM events LIMIT 5")), "");
    assert_eq!(codes(&(query("SELECT payload FROM events").replace(" |", " --limit 10000 |"))), "");
    assert_eq!(codes(&query("SELECT count(*) FROM events WHERE text ILIKE '%a%'")), "text-column");
    assert_eq!(codes(&query("SELECT text FROM events LIMIT 1")), "text-column");
    assert_eq!(
        codes(&query("SELECT count(*) FROM events WHERE JSONExtractString(payload,'text') = 'a'")),
        ""
    );
    assert_eq!(codes(&query("SELECT text FROM agent_timeline_entries LIMIT 9")), "");
    assert_eq!(codes("jq '._meta.claudeCode.toolName' x"), "one-agent-evidence");
}

#[test]
fn listed_is_not_used() {
    assert_eq!(codes("grep -q available_commands_update x"), "listed-not-used");
    let text = with_script(
        "ax-run-query \"$AX_RUN_ID\" sql \"SELECT count(*) FROM events WHERE payload ILIKE '%Freeq%'\"",
    )
    .replace(AXES, &format!("{AXES}products: [{{name: p, setup: {{skills: [{{name: freeq, source: s}}]}}}}]\n"));
    assert_snapshot!(findings(&text), @"8:5: note listed-not-used: the test `t` takes the mention of `freeq` for its use: it is also announced and asked for (hint: look for its tool call: `kind = 'tool_call'`)");
    let used = text.replace("WHERE payload", "WHERE kind = 'tool_call' AND payload");
    assert_eq!(findings(&used), "");
}

#[test]
fn tests_that_decide_nothing_or_cannot_pass() {
    assert_eq!(codes("true"), "vacuous-test");
    assert_eq!(codes("set -e\necho hello # yes\nexit 0"), "vacuous-test");
    assert_eq!(codes("exit 1"), "vacuous-test");
    assert_eq!(codes("curl -fs http://localhost:8080/health"), "unreachable-gate");
    assert_eq!(codes("node server.js &\ncurl -fs http://localhost:8080/health"), "");
    assert_eq!(codes("timeout 20m ./suite"), "test-timeout");
    assert_eq!(codes("sleep 299; test -f a"), "");
}

#[test]
fn gates_that_too_few_trials_cannot_pass() {
    let said = |description: &str| findings(&with(&format!("description: {description}\n{AXES}")));
    assert_snapshot!(said("Bet - treatment wins with p < 0.05 at 3 trials each."), @"4:1: note unreachable-gate: the gate p = 0.05 cannot be passed with 3 trials of a variant: even all against none gives p = 0.100 (hint: run it with `--repeat 4` or more)");
    assert_snapshot!(said("Sign test, p <= .05, 5 trials each."), @"4:1: note unreachable-gate: the gate p = 0.05 cannot be passed with 5 pairs of trials: even all pairs one way gives p = 0.062 (hint: run it with `--repeat 6` or more)");
    assert_snapshot!(said("We ask for p < 0.01."), @"4:1: note unreachable-gate: the gate p = 0.01 cannot be passed with fewer than 5 trials of a variant (hint: run it with `--repeat 5` or more)");
    assert_eq!(said("p < 0.05 with 10 trials each"), "");
    assert_eq!(said("control 0/3, treatment 2/3"), "");
}
