//! Every rule of a fixture, and the words for breaking it.

use std::time::Duration;

use proctor_formats::conformance::{Parsed, parse_fixture};
use proctor_model::conformance::fixture::{
    Check, CheckKind, Fixture, FixtureBounds, Phase, Target,
};

fn parse(text: &str) -> Parsed {
    parse_fixture("x/fixture.json".into(), text.as_bytes(), "x")
}

/// The diagnostics without the file's name.
fn messages(text: &str) -> String {
    let parsed = parse(text);
    assert_eq!(parsed.fixture.is_none(), parsed.diagnostics.has_errors());
    parsed.diagnostics.to_string().replace("x/fixture.json:", "")
}

/// The diagnostics of a fixture with these checks, each on a line of its own from line 2.
fn check_messages(checks: &[&str]) -> String {
    messages(&format!(
        "{{\"name\": \"x\", \"prompt\": \"p\", \"checks\": [\n{}\n]}}",
        checks.join(",\n")
    ))
}

const EXISTS: &str = r#"{"type": "file_exists", "path": "a"}"#;

#[test]
fn the_example_of_the_format_is_read_whole() {
    let parsed = parse(include_str!("../samples/whole.json"));
    assert_eq!(parsed.diagnostics.to_string(), "");
    let check = |phase, optional, kind| Check { phase, optional, kind };
    let path = |text: &str| Target::Path(text.to_owned());
    let glob = |text: &str| Target::Glob(text.to_owned());
    assert_eq!(
        parsed.fixture.unwrap(),
        Fixture {
            name: "x".into(),
            description: Some("Produce a file using installed guidance".into()),
            prompt: "Create result.txt containing ready.".into(),
            profiles: vec!["p".into()],
            languages: vec![],
            harnesses: vec!["claude".into(), "codex".into()],
            expected_instruction_paths: vec![".cratis/ai/rules/general.md".into()],
            checks: vec![
                check(
                    Phase::Install,
                    false,
                    CheckKind::FileExists(path(".cratis/ai/rules/general.md"))
                ),
                check(
                    Phase::Result,
                    false,
                    CheckKind::FileMatches(glob("**/result.txt"), "ready".into())
                ),
                check(Phase::Result, false, CheckKind::FileNotMatches(path("a"), "b".into())),
                check(Phase::Result, true, CheckKind::FileAbsent(glob("*.tmp"))),
                check(
                    Phase::Result,
                    false,
                    CheckKind::Command {
                        run: vec!["test".into(), "-f".into(), "x".into(), String::new()],
                        exit_code: -1
                    }
                ),
            ],
            bounds: FixtureBounds {
                timeout: Some(Duration::from_mins(2)),
                max_budget_usd: Some(0.5),
                max_turns: Some(5)
            },
        }
    );
}

#[test]
fn the_smallest_fixture_has_defaults() {
    let text = format!(r#"{{"name": "x", "prompt": "p", "checks": [{EXISTS}]}}"#);
    let fixture = parse(&text).fixture.unwrap();
    assert_eq!(fixture.bounds, FixtureBounds::default());
    assert_eq!(fixture.checks[0].phase, Phase::Result);
    assert!(!fixture.checks[0].optional);
    assert!(fixture.profiles.is_empty() && fixture.harnesses.is_empty());
}

#[test]
fn every_mistake_is_reported_at_once() {
    insta::assert_snapshot!(messages(include_str!("../samples/mistakes.json")));
}

#[test]
fn shapes_of_the_document() {
    assert_eq!(messages("[]"), "1:1: expected a fixture object, found an empty list");
    assert_eq!(messages("null"), "1:1: expected a fixture object, found null");
    insta::assert_snapshot!(messages("{}"), @r"
    1:1: `name` is missing
    1:1: `prompt` is missing
    1:1: `checks` is missing
    ");
    insta::assert_snapshot!(messages(r#"{"name": 1, "prompt": null, "description": [], "checks": {}, "bounds": []}"#), @r"
    1:10: name: expected a string, found 1
    1:23: prompt: expected a string, found null
    1:44: description: expected a string, found an empty list
    1:58: checks: expected a list of checks, found an object
    1:72: bounds: expected an object of bounds, found an empty list
    ");
}

#[test]
fn the_name_is_the_directory() {
    let text = format!("{{\"name\": \"y\",\n \"prompt\": \"p\", \"checks\": [{EXISTS}]}}");
    assert_eq!(
        messages(&text),
        "1:10: name: expected \"x\", the name of the fixture's directory, found \"y\" \
         (hint: rename one of the two)"
    );
    assert_eq!(parse(&text).declared.unwrap().name, "y");
    let named = parse(r#"{"name": "y", "prompt": 3}"#);
    assert_eq!(named.declared.unwrap().location.column, 10);
}

#[test]
fn files_are_selected_by_exactly_one_of_path_and_glob() {
    insta::assert_snapshot!(check_messages(&[
        r#"{"type": "file_exists"}"#,
        r#"{"type": "file_absent", "glob": "a", "path": "b"}"#,
        r#"{"type": "file_matches", "path": 1}"#,
        r#"{"type": "file_not_matches", "glob": "a", "pattern": ["b"]}"#,
    ]), @r#"
    2:1: checks[0]: a `file_exists` check needs a `path` or a `glob`
    3:25: checks[1].glob: expected either `path` or `glob`, found both (hint: remove one of them)
    4:1: checks[2]: `pattern` is missing
    4:34: checks[2].path: expected a string, found 1
    5:54: checks[3].pattern: expected a string, found a list
    "#);
}

#[test]
fn keys_of_other_types_are_refused_with_the_way_out() {
    let messages = check_messages(&[
        r#"{"type": "file_exists", "path": "a", "pattern": "b", "run": ["c"], "exit_code": 0}"#,
        r#"{"type": "file_matches", "path": "a", "pattern": "b", "run": ["c"]}"#,
        r#"{"type": "command", "run": ["c"], "path": "a", "glob": "a", "pattern": "b"}"#,
    ]);
    insta::assert_snapshot!(messages);
}

#[test]
fn paths_and_globs_stay_in_the_workspace_and_out_of_excluded_directories() {
    let messages = check_messages(&[
        r#"{"type": "file_exists", "path": "/etc/passwd"}"#,
        r#"{"type": "file_exists", "glob": "../*"}"#,
        r#"{"type": "file_exists", "path": "C:\\x"}"#,
        r#"{"type": "file_exists", "path": ""}"#,
        r#"{"type": "file_exists", "path": "a\u0000b"}"#,
        r#"{"type": "file_exists", "path": ".cratis/ai/rules/general.md"}"#,
        r#"{"type": "file_absent", "glob": "web/node_modules/**"}"#,
        r#"{"type": "file_exists", "path": ".cratis/ai", "phase": "install"}"#,
        // The phase is wrong, so that it cannot be known whether `.git` is excluded.
        r#"{"type": "file_exists", "path": ".git/config", "phase": "instal"}"#,
    ]);
    insta::assert_snapshot!(messages);
}

#[test]
fn globs_that_mean_more_elsewhere_get_a_warning() {
    insta::assert_snapshot!(check_messages(&[
        r#"{"type": "file_exists", "path": "src/*.ts"}"#,
        r#"{"type": "file_exists", "glob": "src/**.ts"}"#,
        r#"{"type": "file_absent", "glob": "**/*.{ts,tsx}"}"#,
        r#"{"type": "file_absent", "glob": "app/[id]/{x}.ts"}"#,
        r#"{"type": "file_absent", "glob": "**/.cratis/x", "phase": "install"}"#,
        r#"{"type": "file_matches", "glob": "**/*.md", "pattern": ""}"#,
    ]), @"
    2:33: checks[0].path: `*` stands for itself in a `path` (hint: use `glob` to select by pattern)
    3:33: checks[1].glob: `**` crosses directories only as a whole segment (hint: write `**/*.txt` rather than `**.txt`)
    4:33: checks[2].glob: `?` and `{a,b}` stand for themselves in a glob (hint: write one check for each)
    6:33: checks[4].glob: an install-phase glob looks into `.cratis` only when it starts with it
    7:56: checks[5].pattern: an empty pattern matches every file
    ");
}

#[test]
fn commands() {
    insta::assert_snapshot!(check_messages(&[
        r#"{"type": "command"}"#,
        r#"{"type": "command", "run": []}"#,
        r#"{"type": "command", "run": [""]}"#,
        r#"{"type": "command", "run": [1, "a"]}"#,
        r#"{"type": "command", "run": ["a", "b\u0000"]}"#,
        r#"{"type": "command", "run": ["a"], "exit_code": 1.0}"#,
        r#"{"type": "command", "run": ["a"], "exit_code": 1e2}"#,
        r#"{"type": "command", "run": ["a"], "exit_code": 2147483648}"#,
        r#"{"type": "command", "run": ["a"], "exit_code": -99999999999999999999999}"#,
        r#"{"type": "command", "run": ["a"], "exit_code": -0}"#,
        r#"{"type": "command", "run": ["a"], "phase": "install", "optional": true}"#,
    ]), @r#"
    2:1: checks[0]: `run` is missing
    3:28: checks[1].run: expected the executable and its arguments, found an empty list
    4:29: checks[2].run[0]: expected the name of an executable, found ""
    5:29: checks[3].run[0]: expected a string, found 1
    6:34: checks[4].run[1]: contains a NUL character, which no program can be given
    7:48: checks[5].exit_code: expected a whole number, found 1.0 (hint: write it without a fraction and without an exponent)
    8:48: checks[6].exit_code: expected a whole number, found 1e2 (hint: write it without a fraction and without an exponent)
    9:48: checks[7].exit_code: expected a whole number not above 2147483647, found 2147483648
    10:48: checks[8].exit_code: expected a whole number not below -2147483648, found -99999999999999999999999
    12:44: checks[10].phase: a command cannot run in the install phase
    "#);
}

#[test]
fn bounds() {
    let bounds = |bounds: &str| {
        messages(&format!(
            r#"{{"name": "x", "prompt": "p", "checks": [{EXISTS}], "bounds": {{{bounds}}}}}"#
        ))
    };
    assert_eq!(bounds(""), "");
    assert_eq!(bounds(r#""timeout_seconds": 4294967295, "max_budget_usd": 5e-324"#), "");
    let lines: Vec<String> = [
        r#""timeout_seconds": 0"#,
        r#""timeout_seconds": -3"#,
        r#""timeout_seconds": "ten""#,
        r#""timeout_seconds": 1.5"#,
        r#""timeout_seconds": 4294967296"#,
        r#""max_turns": 123456789012345678901234567890"#,
        r#""max_turns": null"#,
        r#""max_budget_usd": 0.0"#,
        r#""max_budget_usd": 1e-400"#,
        r#""max_budget_usd": 1e400"#,
        r#""max_budget_usd": "1""#,
    ]
    .map(bounds)
    .to_vec();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    1:110: bounds.timeout_seconds: expected a whole number above 0, found 0
    1:110: bounds.timeout_seconds: expected a whole number above 0, found -3
    1:110: bounds.timeout_seconds: expected a whole number above 0, found "ten"
    1:110: bounds.timeout_seconds: expected a whole number above 0, found 1.5 (hint: write it without a fraction and without an exponent)
    1:110: bounds.timeout_seconds: expected a whole number not above 4294967295, found 4294967296
    1:104: bounds.max_turns: expected a whole number not above 4294967295, found 123456789012345678901234567890
    1:104: bounds.max_turns: expected a whole number above 0, found null
    1:109: bounds.max_budget_usd: expected a number above 0, found 0.0
    1:109: bounds.max_budget_usd: expected a number above 0, found 1e-400
    1:109: bounds.max_budget_usd: expected a number below 1.8e308, found 1e400
    1:109: bounds.max_budget_usd: expected a number above 0, found "1"
    "#);
}

#[test]
fn a_fixture_needs_a_check_that_decides() {
    const NONE: &str = "expected at least one check of the result phase that is not optional";
    let optional = r#"{"type": "file_exists", "path": "a", "optional": true}"#;
    let install = r#"{"type": "file_exists", "path": "a", "phase": "install"}"#;
    assert!(check_messages(&[]).contains(NONE));
    assert!(check_messages(&[optional, install]).contains(NONE));
    assert_eq!(check_messages(&[optional, install, EXISTS]), "");
    // Wrong in other ways, but it would decide: one mistake is reported, not two.
    assert!(!check_messages(&[r#"{"type": "file_exists"}"#]).contains(NONE));
    assert!(!check_messages(&[r#"{"type": "x", "phase": 1}"#]).contains(NONE));
    // Wrong in other ways, and it would not decide either.
    assert!(check_messages(&[r#"{"type": "x", "phase": "install"}"#]).contains(NONE));
}

#[test]
fn lists_of_names() {
    let text = format!(
        r#"{{"name": "x", "prompt": "p", "checks": [{EXISTS}],
"harnesses": ["claude", "codex", "claude"], "profiles": [" "],
"expected_instruction_paths": ["/etc/passwd", 3]}}"#
    );
    insta::assert_snapshot!(messages(&text), @r#"
    2:34: harnesses[2]: listed twice
    2:58: profiles[0]: expected a string that is not blank, found " "
    3:32: expected_instruction_paths[0]: can never be observed: the path is absolute; write it relative to the workspace
    3:47: expected_instruction_paths[1]: expected a string, found 3
    "#);
}

#[test]
fn a_second_mention_of_a_name_is_dropped() {
    let text = format!(
        r#"{{"name": "x", "prompt": "p", "checks": [{EXISTS}], "harnesses": ["b", "a", "b"]}}"#
    );
    assert_eq!(parse(&text).fixture.unwrap().harnesses, ["b", "a"]);
}

#[test]
fn a_prompt_that_no_program_can_be_given_is_refused() {
    let text = format!(r#"{{"name": "x", "prompt": "a\u0000b", "checks": [{EXISTS}]}}"#);
    assert_eq!(
        messages(&text),
        "1:25: prompt: contains a NUL character, which no program can be given"
    );
}

#[test]
fn hostile_text_in_a_message_is_short_and_inert() {
    let long = "y".repeat(10_000);
    let text = format!(
        r#"{{"name": "x", "prompt": "p", "checks": [{EXISTS}], "\u001b[2J": 1, "{long}": 2,
"bounds": "\u001b]0;owned\u0007{long}", "harnesses": [{long}"#
    );
    assert!(messages(&text).len() < 300);
    let text = text.replace(&format!("[{long}"), "[]}");
    let messages = messages(&text);
    assert!(messages.chars().all(|c| c == '\n' || !c.is_control()));
    insta::assert_snapshot!(messages, @r#"
    1:80: ["\u{1b}[2J"]: unknown key (hint: known here: `$schema`, `name`, `description`, `prompt`, `profiles`, `languages`, `harnesses`, `expected_instruction_paths`, `checks`, `bounds`, `expected_output`)
    1:96: ["yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy..."]: unknown key (hint: known here: `$schema`, `name`, `description`, `prompt`, `profiles`, `languages`, `harnesses`, `expected_instruction_paths`, `checks`, `bounds`, `expected_output`)
    2:11: bounds: expected an object of bounds, found "\u{1b}]0;owned\u{7}yyyyyyyyyyyyyyyyyyyyyyyyyyyyyy..."
    "#);
}

#[test]
fn hostile_fixtures_take_linear_time() {
    let many = 100_000;
    let keys: Vec<String> = (0..many).map(|n| format!("\"{n}\":0")).collect();
    assert!(messages(&format!("{{{}}}", keys.join(","))).ends_with("are not listed"));
    let checks = vec!["{}"; many].join(",");
    assert!(messages(&format!("{{\"checks\": [{checks}]}}")).ends_with("are not listed"));
    let names = vec!["\"a\""; many].join(",");
    assert!(messages(&format!("{{\"profiles\": [{names}]}}")).ends_with("are not listed"));
}
