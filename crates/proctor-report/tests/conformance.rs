//! Every kind of result as people read it.

use proctor_model::conformance::fixture::Phase;
use proctor_model::conformance::report::{
    Bounds, CheckRow, CommandOutput, InstalledInstruction, LoadStatus, Mode, ObservedLoad, Report,
    ResultPhase, Selection, Source, TrialResult, Unknown,
};
use proctor_model::{Bound, CheckStatus, Outcome, OutcomeClass, Usage};
use proctor_report::Styles;
use proctor_report::conformance::{render_json, render_text, schema};

fn result(fixture: &str, status: CheckStatus, reason: &str) -> TrialResult {
    TrialResult {
        fixture: fixture.into(),
        harness: Some("claude".into()),
        status,
        reason: (!reason.is_empty()).then(|| reason.into()),
        result_phase: ResultPhase::Completed,
        selection: Selection::default(),
        installed_instructions: vec![InstalledInstruction {
            path: ".cratis/ai/rules/general.md".into(),
            sha256: "AB".repeat(32),
        }],
        observed_load: vec![],
        checks: vec![],
        bounds: Bounds {
            timeout_seconds: Bound::requested(Some(120), true),
            max_budget_usd: Bound::requested(Some(0.5), true),
            max_turns: Bound::not_requested(),
        },
        user_memory_isolation: Unknown::Unknown,
        outcome: Some(Outcome::new(OutcomeClass::Completed, "")),
        usage: None,
        transcript: None,
    }
}

fn check(index: usize, kind: &str, status: CheckStatus, message: &str) -> CheckRow {
    CheckRow {
        index,
        kind: kind.into(),
        phase: Phase::Result,
        optional: false,
        status,
        message: message.into(),
        files: None,
        output: None,
    }
}

fn report(mode: Mode, results: Vec<TrialResult>) -> Report {
    let source = Source { kind: "path".into(), revision: "58d2365".into() };
    Report::new(mode, source, 0, vec![], results)
}

fn text(results: Vec<TrialResult>) -> String {
    render_text(&report(Mode::Source, results), &Styles::plain())
}

fn passed() -> TrialResult {
    let mut result = result("example", CheckStatus::Passed, "");
    result.checks = vec![check(0, "file_exists", CheckStatus::Passed, "")];
    result.usage = Some(Usage { turns: Some(4), cost_usd: Some(0.012_345), ..Usage::default() });
    result
}

fn failed() -> TrialResult {
    let mut result =
        result("add-reactor", CheckStatus::Failed, "2 required result-phase check(s) failed");
    let mut command = check(2, "command", CheckStatus::Failed, "exit code 1, expected 0");
    command.output = Some(CommandOutput {
        exit_code: Some(1),
        stdout: "one\ntwo\n\nthree\nfour\nfive\nsix\n".into(),
        stderr: "x".repeat(500),
        truncated: true,
    });
    let mut optional = check(3, "file_exists", CheckStatus::Failed, "zero files matched");
    optional.optional = true;
    let mut skipped = check(4, "command", CheckStatus::Skipped, "executable `dotnet` not found");
    skipped.optional = true;
    result.checks = vec![
        check(0, "file_exists", CheckStatus::Passed, ""),
        check(1, "file_matches", CheckStatus::Failed, "src/Reactor.cs does not match"),
        command,
        optional,
        skipped,
    ];
    result
}

#[test]
fn passes_take_one_line() {
    insta::assert_snapshot!(text(vec![passed()]), @"
    passed   example (claude, 4 turns, $0.0123)

    1 passed, 0 failed, 0 errors, 0 skipped (corpus 58d2365)
    ");
}

#[test]
fn failures_show_checks_output_and_the_next_step() {
    insta::assert_snapshot!(text(vec![failed(), passed()]));
}

#[test]
fn a_kept_transcript_is_the_next_step() {
    let mut result = failed();
    result.checks.truncate(2);
    result.transcript = Some("/tmp/proctor-transcripts/add reactor.jsonl".into());
    insta::assert_snapshot!(text(vec![result]), @"
    failed   add-reactor (claude): 2 required result-phase check(s) failed
             failed   checks[1] file_matches (result phase): src/Reactor.cs does not match
             next: `proctor transcript show --harness claude '/tmp/proctor-transcripts/add reactor.jsonl'` shows what the agent did
             transcript: /tmp/proctor-transcripts/add reactor.jsonl

    warning: no fixtures ran successfully
    0 passed, 1 failed, 0 errors, 0 skipped (corpus 58d2365)
    ");
}

#[test]
fn a_failed_installation_is_repeated_without_an_agent() {
    let mut result =
        result("example", CheckStatus::Failed, "1 required install-phase check(s) failed");
    let mut install = check(0, "file_exists", CheckStatus::Failed, "zero files matched");
    install.phase = Phase::Install;
    let never = check(1, "file_exists", CheckStatus::Skipped, "not run");
    result.checks = vec![install, never];
    result.result_phase = ResultPhase::NotRun;
    result.outcome = None;
    insta::assert_snapshot!(text(vec![result]), @"
    failed   example (claude): 1 required install-phase check(s) failed
             failed   checks[0] file_exists (install phase): zero files matched
             next: run it with `--install-only --fixture example` to repeat this without an agent

    warning: no fixtures ran successfully
    0 passed, 1 failed, 0 errors, 0 skipped (corpus 58d2365)
    ");
}

#[test]
fn an_agent_that_did_not_complete() {
    let results = OutcomeClass::ALL.into_iter().filter(|class| *class != OutcomeClass::Completed);
    let results = results.map(|class| {
        let infrastructure = class.is_infrastructure();
        let status = if infrastructure { CheckStatus::Error } else { CheckStatus::Failed };
        let mut result = result("example", status, &format!("harness ended with {class}: words"));
        result.result_phase = ResultPhase::NotRun;
        result.outcome = Some(Outcome::new(class, "words"));
        result
    });
    let text = text(results.collect());
    insta::assert_snapshot!(text);
}

#[test]
fn an_invalid_fixture_shows_every_mistake() {
    let reason = "invalid fixture\nx/fixture.json:2:3: nam: unknown key (hint: did you mean `name`?)\n\
                  x/fixture.json:3:3: prompt: expected a string, found 1";
    let mut result = result("x", CheckStatus::Error, reason);
    result.harness = None;
    result.installed_instructions = vec![];
    result.outcome = None;
    insta::assert_snapshot!(text(vec![result]), @"
    error    x: invalid fixture
             x/fixture.json:2:3: nam: unknown key (hint: did you mean `name`?)
             x/fixture.json:3:3: prompt: expected a string, found 1
             next: correct the fixture; the other fixtures are not touched by it

    warning: no fixtures ran successfully
    0 passed, 0 failed, 1 error, 0 skipped (corpus 58d2365)
    ");
}

#[test]
fn a_check_that_could_not_be_carried_out() {
    let reason = "1 required result-phase check(s) could not be carried out";
    let mut result = result("example", CheckStatus::Error, reason);
    result.checks = vec![check(0, "command", CheckStatus::Error, "executable `dotnet` not found")];
    insta::assert_snapshot!(text(vec![result]), @"
    error    example (claude): 1 required result-phase check(s) could not be carried out
             error    checks[0] command (result phase): executable `dotnet` not found
             next: mend what kept the check from being carried out; it says nothing about the agent

    warning: no fixtures ran successfully
    0 passed, 0 failed, 1 error, 0 skipped (corpus 58d2365)
    ");
}

#[test]
fn a_skip_says_what_the_installation_proved() {
    let mut result = result("example", CheckStatus::Skipped, "executable `codex` not found");
    result.harness = Some("codex".into());
    let mut install = check(0, "file_exists", CheckStatus::Passed, "");
    install.phase = Phase::Install;
    let never = check(1, "file_exists", CheckStatus::Skipped, "not run");
    result.checks = vec![install, never];
    result.result_phase = ResultPhase::NotRun;
    result.outcome = None;
    insta::assert_snapshot!(text(vec![result]), @"
    skipped  example (codex): executable `codex` not found
             1 install-phase check passed

    warning: no fixtures ran successfully
    0 passed, 0 failed, 0 errors, 1 skipped (corpus 58d2365)
    ");
}

#[test]
fn install_only_claims_nothing_about_agents() {
    let mut result = passed();
    result.result_phase = ResultPhase::NotRun;
    result.outcome = None;
    result.usage = None;
    result.observed_load =
        vec![ObservedLoad { path: "a.md".into(), installed: false, status: LoadStatus::Unknown }];
    let report = report(Mode::InstallOnly, vec![result]);
    insta::assert_snapshot!(render_text(&report, &Styles::plain()), @"
    passed   example (claude)
             not installed: a.md

    result-phase checks were not run: nothing is claimed about what an agent does
    1 passed, 0 failed, 0 errors, 0 skipped (corpus 58d2365)
    ");
}

#[test]
fn loads_and_unenforced_bounds_are_explained_once() {
    let mut first = passed();
    let load = |path: &str, status| ObservedLoad { path: path.into(), installed: true, status };
    first.observed_load =
        vec![load("a.md", LoadStatus::Observed), load("b.md", LoadStatus::Unknown)];
    let mut second = first.clone();
    second.harness = Some("codex".into());
    second.usage = None;
    second.observed_load[0].status = LoadStatus::Unknown;
    second.bounds.max_budget_usd = Bound::requested(Some(0.5), false);
    second.bounds.max_turns = Bound::requested(Some(5), false);
    let third = TrialResult { fixture: "other".into(), ..second.clone() };
    let mut report = report(Mode::Source, vec![first, second, third]);
    report.redaction.skipped = 2;
    insta::assert_snapshot!(render_text(&report, &Styles::plain()), @"
    passed   example (claude, 4 turns, $0.0123)
             instruction files read: 1 observed, 1 unknown
    passed   example (codex)
             instruction files read: 0 observed, 2 unknown
    passed   other (codex)
             instruction files read: 0 observed, 2 unknown

    unknown: no explicit read names the file; a harness loads some guidance by itself, so it may have been read or not
    not enforced by codex: max_budget_usd, max_turns
    2 values of secret-looking variables not redacted: plain words or paths
    3 passed, 0 failed, 0 errors, 0 skipped (corpus 58d2365)
    ");
}

#[test]
fn nothing_selected() {
    insta::assert_snapshot!(text(vec![]), @"
    warning: no fixtures ran successfully
    no selected runs
    ");
}

#[test]
fn hostile_text_moves_no_cursor_and_begins_no_line() {
    let mut result = failed();
    result.fixture = "a\npassed   all\x1b[2J; rm -rf ~".into();
    result.harness = Some("clau\rde".into());
    result.reason = Some("\x1b]0;owned\x07\nsecond\u{202e}line".into());
    result.checks.truncate(3);
    result.checks[1].message = "\u{9b}2J".into();
    result.checks[2].output = Some(CommandOutput {
        exit_code: None,
        stdout: "\x1b[1A\x1b[2K\n".into(),
        stderr: "\r".into(),
        truncated: false,
    });
    let text = text(vec![result.clone()]);
    assert!(!text.chars().any(|c| c.is_control() && c != '\n'));
    insta::assert_snapshot!(text);
    let json = render_json(&report(Mode::Source, vec![result.clone()]));
    assert!(!json.chars().any(|c| c.is_control() && c != '\n'));
    assert!(!json.contains('\u{202e}'));
    let back: Report = serde_json::from_str(&json).unwrap();
    assert_eq!(back.results, [result]);
}

#[test]
fn endless_words_are_cut() {
    let reason = "word ".repeat(10_000) + &"\nline".repeat(10_000);
    let text = text(vec![result("example", CheckStatus::Error, &reason)]);
    assert!(text.len() < 5_000, "{}", text.len());
    assert!(text.contains("(9881 lines not shown)"), "{text}");
}

#[test]
fn colours_only_repeat_the_words() {
    let report = report(Mode::Source, vec![failed(), passed()]);
    let coloured = render_text(&report, &Styles::coloured());
    assert!(coloured.contains("\x1b["));
    let mut plain = String::new();
    let mut rest = coloured.as_str();
    while let Some((before, after)) = rest.split_once("\x1b[") {
        plain.push_str(before);
        rest = after.split_once('m').unwrap().1;
    }
    plain.push_str(rest);
    assert_eq!(plain, render_text(&report, &Styles::plain()));
}

#[test]
fn json_is_indented_and_ends_with_a_line_feed() {
    insta::assert_snapshot!(render_json(&report(Mode::Source, vec![passed()])));
}

#[test]
fn reports_keep_their_schema() {
    let validator = jsonschema::draft202012::new(&schema()).unwrap();
    for results in [vec![], vec![passed(), failed()]] {
        let json = render_json(&report(Mode::Source, results));
        let value = serde_json::from_str(&json).unwrap();
        validator.validate(&value).unwrap();
    }
    assert!(!validator.is_valid(&serde_json::json!({"schema_version": 1})));
}

#[test]
fn the_schema_file_is_what_the_code_says() {
    const FILE: &str =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas/conformance-report.schema.json");
    let text = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    if std::env::var_os("PROCTOR_BLESS").is_some() {
        std::fs::write(FILE, &text).unwrap();
    }
    let hint = "write it with `PROCTOR_BLESS=1 cargo test -p proctor-report`";
    assert_eq!(std::fs::read_to_string(FILE).unwrap_or_default(), text, "{hint}");
}
