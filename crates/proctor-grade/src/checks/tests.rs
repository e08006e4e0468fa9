use std::fs;
use std::time::Duration;

use camino::Utf8PathBuf;
use proctor_model::conformance::fixture::{Phase, Target};
use proctor_model::conformance::report::CheckRow;
use proptest::prelude::*;

use super::*;
use crate::workspace::Limits;

struct Files(
    #[expect(dead_code, reason = "deletes the folder at the end")] tempfile::TempDir,
    Utf8PathBuf,
);

fn files(files: &[(&str, &str)]) -> Files {
    let folder = tempfile::tempdir().unwrap();
    let root = Utf8PathBuf::from_path_buf(folder.path().to_owned()).unwrap();
    for (name, text) in files {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    Files(folder, root)
}

impl Files {
    fn check(&self, kind: CheckKind) -> String {
        self.check_with(kind, Limits::default())
    }

    fn check_with(&self, kind: CheckKind, limits: Limits) -> String {
        let check = Check { phase: Phase::Result, optional: false, kind };
        let result = evaluate(&check, &Workspace::with_limits(&self.1, limits));
        let files = result.files.map_or("-".to_owned(), |files| files.to_string());
        format!("{} {files} {}", result.status.as_str(), result.message)
    }
}

fn path(path: &str) -> Target {
    Target::Path(path.to_owned())
}

fn glob(glob: &str) -> Target {
    Target::Glob(glob.to_owned())
}

#[test]
fn presence() {
    let files = files(&[("a.md", ""), ("d/b.md", "")]);
    let exists = |target| files.check(CheckKind::FileExists(target));
    let absent = |target| files.check(CheckKind::FileAbsent(target));
    assert_eq!(exists(path("a.md")), "passed 1 ");
    assert_eq!(exists(glob("**/*.md")), "passed 2 ");
    assert_eq!(exists(path("d")), "failed 0 `d` is a directory");
    assert_eq!(exists(path("x")), "failed 0 `x` does not exist");
    assert_eq!(exists(glob("*.cs")), "failed 0 no file matches `*.cs`");
    assert_eq!(absent(path("x")), "passed 0 ");
    assert_eq!(absent(glob("*.cs")), "passed 0 ");
    assert_eq!(absent(path("d")), "failed 0 `d` exists");
    assert_eq!(absent(glob("**/*.md")), "failed 2 `a.md`, `d/b.md` exist");
}

#[test]
fn contents() {
    let files = files(&[("a", "ready\n"), ("b", "not\nyet ready"), ("c", "no")]);
    let matches =
        |target, pattern: &str| files.check(CheckKind::FileMatches(target, pattern.into()));
    let not =
        |target, pattern: &str| files.check(CheckKind::FileNotMatches(target, pattern.into()));
    assert_eq!(matches(path("a"), "^ready$"), "passed 1 ");
    assert_eq!(matches(glob("*"), "ready"), "failed 3 pattern not found in `c`");
    assert_eq!(matches(glob("*.x"), "ready"), "failed 0 zero files matched");
    assert_eq!(matches(path("x"), "ready"), "failed 0 zero files matched");
    assert_eq!(not(path("c"), "ready"), "passed 1 ");
    assert_eq!(not(glob("*"), "ready"), "failed 3 pattern found in `a:1`, `b:2`");
    assert_eq!(not(glob("*.x"), "ready"), "failed 0 no file to look at: no file matches `*.x`");
    assert_eq!(not(path("x"), "ready"), "failed 0 no file to look at: `x` does not exist");
}

#[test]
fn long_lists_are_cut() {
    let names: Vec<String> = (0..8).map(|number| format!("f{number}")).collect();
    let texts: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();
    assert_eq!(
        files(&texts).check(CheckKind::FileMatches(glob("*"), "x".into())),
        "failed 8 pattern not found in `f0`, `f1`, `f2`, `f3`, `f4` and 3 more"
    );
}

#[test]
fn directory_links_are_explained() {
    let files = files(&[(".cratis/ai/rules/a.md", "x")]);
    fs::create_dir(files.1.join(".claude")).unwrap();
    std::os::unix::fs::symlink("../.cratis/ai/rules", files.1.join(".claude/rules")).unwrap();
    assert_eq!(
        files.check(CheckKind::FileMatches(glob(".claude/rules/*.md"), "x".into())),
        "failed 0 zero files matched; globs do not enter the directory link `.claude/rules`"
    );
    assert_eq!(
        files.check(CheckKind::FileMatches(path(".claude/rules/a.md"), "x".into())),
        "passed 1 "
    );
}

#[test]
fn what_cannot_be_carried_out_is_an_error() {
    let files = files(&[("a", &"a".repeat(100)), ("b", "")]);
    assert_eq!(
        files.check(CheckKind::FileMatches(glob("none"), "[a-z-[b]]".into())),
        "error - unsupported construct: character class subtraction at 4"
    );
    assert_eq!(
        files.check(CheckKind::FileNotMatches(path("a"), "(".into())),
        "error - invalid pattern: a `(` without its `)` at 0"
    );
    assert_eq!(
        files.check(CheckKind::FileExists(path("/etc/passwd"))),
        "error - `/etc/passwd` is absolute; write it relative to the workspace"
    );
    let quick = Limits { pattern_time: Duration::from_millis(20), ..Limits::default() };
    assert_eq!(
        files.check_with(CheckKind::FileMatches(glob("*"), "^(a+)+b".into()), quick),
        "error 2 pattern took longer than 0.02 s on `a`"
    );
    let short = Limits { check_time: Duration::ZERO, ..Limits::default() };
    assert_eq!(
        files.check_with(CheckKind::FileMatches(glob("*"), "a".into()), short),
        "error 2 check took longer than 0 s on its files"
    );
    let small = Limits { file_bytes: 10, ..Limits::default() };
    assert_eq!(
        files.check_with(CheckKind::FileMatches(path("a"), "a".into()), small),
        "error 1 `a` is larger than 10 bytes, the most that a pattern is applied to"
    );
    assert_eq!(
        files.check(CheckKind::Command { run: vec!["true".into()], exit_code: 0 }),
        "error - a command check needs its command run first"
    );
}

#[test]
fn commands() {
    let judge = |optional, end: CommandEnd| {
        let result = judge_command(3, optional, &end);
        format!("{} {}", result.status.as_str(), result.message)
    };
    let missing = || CommandEnd::NotFound { program: "nope".into() };
    assert_eq!(judge(false, CommandEnd::Exited(3)), "passed ");
    assert_eq!(judge(false, CommandEnd::Exited(0)), "failed exit code 0, expected 3");
    assert_eq!(
        judge(false, CommandEnd::Signaled(9)),
        "failed ended by signal 9, expected exit code 3"
    );
    assert_eq!(
        judge(false, CommandEnd::TimedOut),
        "error killed because the time of the trial was up"
    );
    assert_eq!(judge(true, missing()), "skipped executable `nope` not found");
    assert_eq!(judge(false, missing()), "error executable `nope` not found");
    let broken = CommandEnd::NotStarted { reason: "permission denied".into() };
    assert_eq!(judge(true, broken), "error command could not be started: permission denied");
}

const STATUSES: [CheckStatus; 4] =
    [CheckStatus::Passed, CheckStatus::Failed, CheckStatus::Error, CheckStatus::Skipped];

fn row(index: usize, status: CheckStatus, optional: bool, message: &str) -> CheckRow {
    CheckRow {
        index,
        kind: "file_exists".into(),
        phase: Phase::Result,
        optional,
        status,
        message: message.into(),
        files: None,
        output: None,
    }
}

#[test]
fn verdicts_name_the_first_reason() {
    use CheckStatus::{Error, Failed, Passed, Skipped};
    let of = |rows: &[CheckRow]| {
        let verdict = verdict(rows);
        format!("{} {}", verdict.status.as_str(), verdict.reason.unwrap_or_default())
    };
    assert_eq!(of(&[]), "skipped no checks");
    assert_eq!(of(&[row(0, Passed, false, ""), row(1, Failed, true, "x")]), "passed ");
    assert_eq!(
        of(&[row(0, Failed, false, "`a` does not exist"), row(1, Failed, false, "")]),
        "failed check 0 (file_exists) failed: `a` does not exist; and 1 more"
    );
    assert_eq!(
        of(&[row(0, Failed, false, ""), row(1, Error, false, "why")]),
        "error check 1 (file_exists) could not be carried out: why"
    );
    assert_eq!(
        of(&[row(0, Passed, false, ""), row(1, Skipped, false, "")]),
        "error check 1 (file_exists) was not carried out"
    );
}

proptest! {
    #[test]
    fn a_pass_needs_every_required_check_to_pass(
        rows in prop::collection::vec((0..4usize, any::<bool>()), 0..6),
    ) {
        let rows: Vec<CheckRow> = rows
            .into_iter()
            .enumerate()
            .map(|(index, (status, optional))| row(index, STATUSES[status], optional, ""))
            .collect();
        let required: Vec<CheckStatus> =
            rows.iter().filter(|row| !row.optional).map(|row| row.status).collect();
        let has = |status| required.contains(&status);
        let expected = if rows.is_empty() {
            CheckStatus::Skipped
        } else if has(CheckStatus::Error) {
            CheckStatus::Error
        } else if has(CheckStatus::Failed) {
            CheckStatus::Failed
        } else if has(CheckStatus::Skipped) {
            CheckStatus::Error
        } else {
            CheckStatus::Passed
        };
        let verdict = verdict(&rows);
        prop_assert_eq!(verdict.status, expected);
        prop_assert_eq!(verdict.reason.is_none(), expected == CheckStatus::Passed);
    }
}
