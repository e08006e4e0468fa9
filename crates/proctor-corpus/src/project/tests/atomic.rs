//! All or nothing, at every point where it can stop.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::project::plan::Project;
use crate::project::transaction::{self, DIRECTORY, apply_gated};
use crate::testing::{Bench, DRY_RUN, assert_same, forced, request};
use crate::tree::Tree;
use crate::{InstallError, Slice, check_clean, status};

/// A project with an older installation, edited here and there, and the slice that replaces it.
fn prepared() -> (Bench, Slice) {
    let bench = Bench::with_mcp();
    bench.write("project/.mcp.json", "{\n  \"mine\": 1\n}\n");
    bench.install(&request("claude codex", "tea", "csharp")).unwrap();
    bench.write("project/.cratis/ai/rules/general.md", "edited\n");
    bench.remove("project/.claude/rules");
    bench.link("project/.claude/rules", "elsewhere");
    bench.write("corpus/.cratis/ai/rules/deep/er/new.md", "# New\n");
    bench.write("corpus/.cratis/ai/hooks/check.sh", "#!/bin/sh\nexit 1\n");
    bench.remove("corpus/.cratis/ai/prompts/brew.prompt.md");
    let wanted = forced(request("claude pi", "tea cratis/application/x", "csharp"));
    let slice = bench.corpus().slice(&wanted.selection, wanted.compat).unwrap();
    (bench, slice)
}

fn apply(
    bench: &Bench,
    slice: &Slice,
    gate: &mut dyn FnMut() -> io::Result<()>,
) -> Result<(), InstallError> {
    let tree = Tree::new(&bench.project());
    let plan = Project::read(&tree)?.plan_install(slice, true)?;
    assert_eq!(plan.conflicts, []);
    apply_gated(&tree, &plan.steps, gate)
}

/// How many changes there are, and what they lead to.
fn whole() -> (usize, std::collections::BTreeMap<String, String>) {
    let (bench, slice) = prepared();
    let mut count = 0;
    let mut gate = || {
        count += 1;
        Ok(())
    };
    apply(&bench, &slice, &mut gate).unwrap();
    (count, bench.tree())
}

#[test]
fn a_failure_at_any_point_changes_nothing() {
    let (count, after) = whole();
    assert!(count > 20, "the example has many kinds of changes: {count}");
    for stop in 1..=count {
        let (bench, slice) = prepared();
        let before = bench.tree();
        let mut left = stop;
        let mut gate = || {
            left -= 1;
            if left == 0 { Err(io::Error::from(io::ErrorKind::StorageFull)) } else { Ok(()) }
        };
        let error = apply(&bench, &slice, &mut gate).unwrap_err();
        assert!(matches!(error, InstallError::Io { .. }), "{error}");
        assert_same(&bench.tree(), &before, &format!("stopped at {stop}"));
        apply(&bench, &slice, &mut || Ok(())).unwrap();
        assert_same(&bench.tree(), &after, "");
    }
}

#[test]
fn a_kill_at_any_point_is_rolled_back_at_the_next_start() {
    let (count, _) = whole();
    for stop in 1..=count {
        let (bench, slice) = prepared();
        let before = bench.tree();
        let mut left = stop;
        let mut gate = || {
            left -= 1;
            assert!(left > 0, "killed");
            Ok(())
        };
        let killed = catch_unwind(AssertUnwindSafe(|| apply(&bench, &slice, &mut gate)));
        assert!(killed.is_err());
        let project = bench.project();
        assert!(matches!(status(&project, None), Err(InstallError::CutOff { .. })));
        assert!(matches!(check_clean(&project), Err(InstallError::CutOff { .. })));
        assert!(transaction::recover(&Tree::new(&project)).unwrap());
        assert_same(&bench.tree(), &before, &format!("killed at {stop}"));
        assert!(!transaction::recover(&Tree::new(&project)).unwrap());
    }
}

#[test]
fn the_next_installation_says_that_it_rolled_back() {
    let (bench, slice) = prepared();
    let mut left = 9;
    let mut gate = || {
        left -= 1;
        assert!(left > 0, "killed");
        Ok(())
    };
    let _ = catch_unwind(AssertUnwindSafe(|| apply(&bench, &slice, &mut gate)));
    let wanted = request("claude codex", "tea", "csharp");
    let dry = crate::InstallRequest { manner: DRY_RUN, ..wanted.clone() };
    assert!(
        matches!(bench.install(&dry), Err(InstallError::CutOff { .. })),
        "a dry run only looks"
    );
    let report = bench.install(&forced(wanted)).unwrap();
    insta::assert_snapshot!(report.notes.join("\n"), @"an earlier installation that was cut off has been rolled back");
    assert!(check_clean(&bench.project()).unwrap().is_ok());
    assert!(!bench.at("project").join(DIRECTORY).exists());
}

#[test]
fn a_first_installation_that_fails_leaves_no_trace() {
    let bench = Bench::new();
    let wanted = request("claude", "tea", "csharp");
    let slice = bench.corpus().slice(&wanted.selection, wanted.compat).unwrap();
    for stop in 1..30 {
        let mut left = stop;
        let mut gate = || {
            left -= 1;
            if left == 0 { Err(io::Error::from(io::ErrorKind::StorageFull)) } else { Ok(()) }
        };
        apply(&bench, &slice, &mut gate).unwrap_err();
        assert!(bench.tree().is_empty(), "stopped at {stop}: {}", bench.paths());
    }
}

#[test]
fn what_was_staged_before_the_journal_is_rubbish() {
    let bench = Bench::new();
    bench.write(&format!("project/{DIRECTORY}/new-0"), "half a fi");
    bench.write(&format!("project/{DIRECTORY}/journal.draft"), "{");
    let report = bench.install(&request("codex", "tea", "csharp")).unwrap();
    assert_eq!(report.notes.len(), 1);
    assert!(check_clean(&bench.project()).unwrap().is_ok());
}

#[test]
fn a_journal_that_was_not_made_here_moves_nothing() {
    let bench = Bench::new();
    bench.write("project/keep", "mine\n");
    for journal in [
        r#"{"inode": 1, "directories": [], "moves": [{"path": "keep", "staged": 0, "replaced": true}]}"#,
        "garbage",
    ] {
        bench.write(&format!("project/{DIRECTORY}/journal.json"), journal);
        bench.write(&format!("project/{DIRECTORY}/old-0"), "planted\n");
        let before = bench.tree();
        let error = bench.install(&request("codex", "tea", "csharp")).unwrap_err();
        assert!(matches!(error, InstallError::ForeignLeftover { .. }), "{error}");
        assert_same(&bench.tree(), &before, "");
    }
}

#[test]
fn what_somebody_put_in_place_after_a_kill_is_kept() {
    let (bench, slice) = prepared();
    let mut left = whole().0;
    let mut gate = || {
        left -= 1;
        assert!(left > 0, "killed");
        Ok(())
    };
    let _ = catch_unwind(AssertUnwindSafe(|| apply(&bench, &slice, &mut gate)));
    bench.write("project/draft", "mine\n");
    let path = "project/.cratis/ai/rules/general.md";
    std::fs::rename(bench.at("project/draft"), bench.at(path)).unwrap();
    let error = transaction::recover(&Tree::new(&bench.project())).unwrap_err();
    let InstallError::RollBack { kept, .. } = error else { panic!("{error}") };
    assert_eq!(bench.read(path), "mine\n");
    assert_eq!(std::fs::read_to_string(kept).unwrap(), "edited\n");
}

#[test]
fn only_one_installation_runs_at_a_time() {
    let bench = Bench::new();
    let other = std::fs::File::open(bench.project()).unwrap();
    other.try_lock().unwrap();
    let error = bench.install(&request("codex", "tea", "csharp")).unwrap_err();
    assert!(matches!(error, InstallError::Busy { .. }), "{error}");
    assert!(bench.tree().is_empty());
    drop(other);
    bench.install(&request("codex", "tea", "csharp")).unwrap();
}

#[test]
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn a_directory_without_write_permission_changes_nothing() {
    use std::os::unix::fs::PermissionsExt as _;
    if nix::unistd::geteuid().is_root() {
        eprintln!("skipped: root may write everywhere");
        return;
    }
    let bench = Bench::new();
    bench.write("project/.claude/mine", "mine\n");
    let directory = bench.at("project/.claude");
    let set = |mode| {
        std::fs::set_permissions(&directory, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    set(0o555);
    let before = bench.tree();
    bench.install(&request("claude", "tea", "csharp")).unwrap_err();
    assert_same(&bench.tree(), &before, "");
    set(0o755);
}
