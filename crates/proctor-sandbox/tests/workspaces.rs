//! Workspaces: what agents leave, kept, forked and compared.
#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

mod common;
#[path = "common/sandbox.rs"]
mod hall;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use proctor_model::fs_diff::{NodeState, Patch};
use proctor_sandbox::isolation::{RoomLimits, SandboxSpec, User, Wanted};
use proctor_sandbox::workspace::{
    Base, DiffLimits, Manifest, Node, PlaceError, Snapshot, WorkspaceError,
};
use proptest::prelude::*;

use crate::hall::{Hall, bash, hall};

fn usual() -> SandboxSpec {
    SandboxSpec::bubblewrap()
}

fn plain() -> SandboxSpec {
    SandboxSpec { wanted: Wanted::None, ..usual() }
}

/// What an agent's script leaves of some files.
fn left(hall: &Hall, files: &[(&str, &str)], script: &str) -> Arc<Snapshot> {
    let base = hall.base(files);
    let sandbox = hall.open(&usual(), &base);
    bash(&sandbox, User::Agent, script).ok();
    sandbox.close().unwrap()
}

fn shown(manifest: &Manifest) -> Vec<String> {
    manifest.iter().map(|(path, _)| String::from_utf8_lossy(&path).into_owned()).collect()
}

#[test]
fn a_folder_that_was_removed_and_made_again_does_not_get_its_files_back() {
    let Some(hall) = hall() else { return };
    let after = left(&hall, &[("d/old", "x"), ("e/old", "x")], "rm -r d e; mkdir d; touch d/new");
    assert_eq!(shown(&after.manifest().unwrap()), ["d", "d/new"]);
    let fork = after.fork(hall.rooms.create("fork").unwrap());
    let fork = hall.sandboxes.open(&usual(), fork).unwrap();
    assert_eq!(bash(&fork, User::Setup, "find . | sort").ok(), ".\n./d\n./d/new\n");
}

#[test]
fn links_pipes_and_devices_are_told_and_never_followed() {
    let Some(hall) = hall() else { return };
    let base = hall.base(&[("was-file", "x"), ("was-link", "x")]);
    let sandbox = hall.open(&usual(), &base);
    let before = sandbox.baseline().unwrap();
    let script = "ln -s /etc/passwd leads-out; ln -sf ../../../.. up; mkfifo pipe; \
         rm was-file was-link; mkdir was-file; ln -s was-file was-link; chmod 700 was-file; \
         printf 'a\\0b' > binary; printf text > $'odd\\nname\\xff'";
    bash(&sandbox, User::Agent, script).ok();
    let after = sandbox.close().unwrap();
    let diff = before.diff(&after, &DiffLimits::default()).unwrap();
    let added: Vec<(&str, &NodeState, &Patch)> =
        diff.added.iter().map(|it| (it.path.as_str(), &it.after, &it.patch)).collect();
    let names: Vec<&str> = added.iter().map(|it| it.0).collect();
    assert_eq!(names, ["binary", "leads-out", "odd\nname\u{FFFD}", "pipe", "up"]);
    assert_eq!(*added[0].2, Patch::Binary);
    assert_eq!(*added[1].1, NodeState::Link { target: "/etc/passwd".into() });
    assert_eq!(diff.raw_paths["odd\nname\u{FFFD}"], "6f64640a6e616d65ff");
    assert_eq!(*added[3].1, NodeState::Special { what: "fifo".into(), mode: "0644".into() });
    let changed: Vec<_> = diff.changed.iter().map(|it| (it.path.as_str(), &it.after)).collect();
    assert_eq!(changed[0], ("was-file", &NodeState::Folder { mode: "0700".into() }));
    assert_eq!(changed[1], ("was-link", &NodeState::Link { target: "was-file".into() }));
}

#[test]
fn patches_say_what_changed_since_the_setup_and_limits_count_what_they_leave_out() {
    let Some(hall) = hall() else { return };
    let base = hall.base(&[("base.txt", "one\ntwo\n")]);
    let sandbox = hall.open(&usual(), &base);
    bash(&sandbox, User::Setup, "echo by setup > setup.txt; echo kept > kept.txt").ok();
    sandbox.hand_over().unwrap();
    let before = sandbox.baseline().unwrap();
    bash(&sandbox, User::Agent, "echo three >> base.txt; echo more >> setup.txt; head -c 300000 /dev/zero | tr '\\0' x > big").ok();
    let after = sandbox.close().unwrap();
    let diff = before.diff(&after, &DiffLimits::default()).unwrap();
    let text = |diff: &str| Patch::Text { diff: diff.into() };
    assert_eq!(diff.changed[0].patch, text("@@ -1,2 +1,3 @@\n one\n two\n+three\n"));
    assert_eq!(diff.changed[1].patch, text("@@ -1 +1,2 @@\n by setup\n+more\n"));
    assert_eq!((diff.added.len(), diff.added[0].patch.clone()), (1, Patch::TooLarge));
    assert_eq!(diff.omitted.patches, 1);
    let few = DiffLimits { entries: 1, ..DiffLimits::default() };
    let diff = before.diff(&after, &few).unwrap();
    assert_eq!(diff.changed.len() + diff.added.len() + diff.deleted.len(), 1);
    assert_eq!(diff.omitted.entries, 2);
}

#[test]
fn a_daemon_of_the_setup_serves_the_agent_and_a_live_snapshot_stops_it_for_a_moment() {
    let Some(hall) = hall() else { return };
    let base = hall.base(&[]);
    let sandbox = hall.open(&usual(), &base);
    let daemon = "setsid bash -c 'while :; do echo x >> log; done' </dev/null >/dev/null 2>&1 & \
         while [ ! -s log ]; do :; done";
    bash(&sandbox, User::Setup, daemon).ok();
    let grows = "s=$(stat -c %s log); while [ $(stat -c %s log) = $s ]; do :; done; echo grows";
    assert_eq!(bash(&sandbox, User::Agent, grows).ok(), "grows\n");
    let live = sandbox.snapshot(hall.rooms.create("live").unwrap()).unwrap();
    // It went on, and the copy is none of its business.
    let root = live.manifest().unwrap().root();
    assert_eq!(bash(&sandbox, User::Agent, grows).ok(), "grows\n");
    assert_eq!(live.manifest().unwrap().root(), root);
    let after = sandbox.close().unwrap();
    assert_eq!(shown(&after.manifest().unwrap()), ["log"]);
    assert_ne!(after.manifest().unwrap().root(), root);
}

#[test]
fn files_of_holes_are_not_read_for_ever() {
    let Some(hall) = hall() else { return };
    let base = hall.base(&[]);
    let limits = RoomLimits { file_size: None, ..RoomLimits::usual() };
    let sandbox = hall.open(&SandboxSpec { limits, ..SandboxSpec::bubblewrap() }, &base);
    bash(&sandbox, User::Agent, "truncate -s 17G /workspace/holes").ok();
    let after = sandbox.close().unwrap();
    let file = hall.temp.path().join("saved");
    let error = after.save(&file).unwrap_err().to_string();
    assert!(error.contains("more bytes than a trial may write"), "{error}");
    assert!(!file.exists());
}

#[test]
fn a_saved_snapshot_is_the_same_when_it_is_loaded() {
    let Some(hall) = hall() else { return };
    let files = [("d/old", "x"), ("gone", "x"), ("kept", "kept")];
    let script = "rm -r d gone; mkdir d; echo new > d/new; ln d/new hard; ln -s d/../kept soft; \
         chmod 4750 d/new; mkfifo pipe; touch -d '2001-02-03 04:05:06.789' kept; \
         n=$(printf 'x%.0s' {1..200}); mkdir -p $n/$n; echo long > $n/$n/$n; ln -s /$n/./$n// l";
    let after = left(&hall, &files, script);
    let file = hall.temp.path().join("saved");
    let size = after.save(&file).unwrap();
    assert_eq!(size, fs::metadata(&file).unwrap().len());
    assert!(matches!(after.save(&file), Err(WorkspaceError::Io { .. })), "nothing is overwritten");

    let base = Base::freeze(hall.temp.path().join("base")).unwrap();
    let loaded = Snapshot::load(&base, &file, hall.rooms.create("loaded").unwrap()).unwrap();
    assert_eq!(loaded.manifest().unwrap(), after.manifest().unwrap());
    let fork = hall.sandboxes.open(&usual(), loaded.fork(hall.rooms.create("f").unwrap())).unwrap();
    let script =
        "find . -path './x*' -prune -o -print | sort; stat -c '%h %a' hard; stat -c %y kept";
    assert_eq!(
        bash(&fork, User::Setup, script).ok(),
        ".\n./d\n./d/new\n./hard\n./kept\n./l\n./pipe\n./soft\n2 4750\n\
         2001-02-03 04:05:06.789000000 +0000\n"
    );
    // GNU tar can read it.
    let listed = Command::new("tar").arg("-tf").arg(&file).arg("--zstd").output();
    if let Ok(listed) = listed.as_ref().map(|it| String::from_utf8_lossy(&it.stdout))
        && listed.contains("./")
    {
        assert!(listed.contains("d/new\n"), "{listed}");
    }

    // Over another base it is nothing.
    fs::write(hall.temp.path().join("base/kept"), "changed").unwrap();
    let other = Base::freeze(hall.temp.path().join("base")).unwrap();
    let error = Snapshot::load(&other, &file, hall.rooms.create("o").unwrap()).unwrap_err();
    assert!(matches!(error, WorkspaceError::OtherBase { .. }), "{error}");
    // Nor when it was cut off or is something else.
    let bytes = fs::read(&file).unwrap();
    for damaged in [&bytes[..bytes.len() / 2], b"nonsense", b""] {
        let file = hall.temp.path().join("damaged");
        fs::write(&file, damaged).unwrap();
        Snapshot::load(&base, &file, hall.rooms.create("d").unwrap()).unwrap_err();
    }
}

#[test]
fn what_an_agent_puts_in_the_way_of_a_test_file_gains_nothing() {
    let Some(hall) = hall() else { return };
    let victim = hall.temp.path().join("victim");
    fs::create_dir(&victim).unwrap();
    let source = hall.temp.path().join("check.sh");
    fs::write(&source, "echo checked\n").unwrap();
    let folder = hall.temp.path().join("folder");
    fs::create_dir_all(folder.join("sub")).unwrap();
    fs::write(folder.join("sub/expected"), "yes").unwrap();
    for hostile in [
        ":".to_owned(),
        "mkdir -p tests; ln -s /etc/passwd tests/check.sh".to_owned(),
        "mkdir -p tests/check.sh/full; touch tests/check.sh/full/x".to_owned(),
        "mkdir -p tests; mkfifo tests/check.sh".to_owned(),
        "ln -s /tmp tests".to_owned(),
        "ln -s . tests".to_owned(),
        "echo mine > tests".to_owned(),
        "mkfifo tests .proctor-aside".to_owned(),
        "ln -s /tmp .proctor-aside; ln -s /tmp tests".to_owned(),
        format!("ln -s {} tests", victim.display()),
        "mkdir tests; echo mine > tests/check.sh; chmod 000 tests/check.sh; chmod 500 tests"
            .to_owned(),
    ] {
        let after = left(&hall, &[("file", "x")], &hostile);
        let fork = after.fork(hall.rooms.create("f").unwrap());
        let fork = hall.sandboxes.open(&usual(), fork).unwrap();
        let placed = fork.place(&source, Path::new("tests/check.sh")).unwrap();
        assert_eq!(
            bash(&fork, User::Setup, "bash tests/check.sh; test -L tests && echo BAD; true").ok(),
            "checked\n",
            "{hostile}"
        );
        let more = fork.place(&folder, Path::new("tests/./more")).unwrap();
        assert_eq!(bash(&fork, User::Setup, "cat tests/more/sub/expected").ok(), "yes");
        fork.unplace(&more).unwrap();
        fork.unplace(&placed).unwrap();
        let left = bash(
            &fork,
            User::Setup,
            "test -e tests/more && echo BAD; test -f tests/check.sh && grep checked tests/check.sh && echo BAD; true",
        );
        assert_eq!(left.ok(), "", "{hostile}");
        assert_eq!(fs::read_dir(&victim).unwrap().count(), 0, "{hostile}");
        // What can be put back is.
        if hostile.starts_with("echo mine") || hostile.contains("mine > tests/check.sh") {
            assert!(placed.displaced());
            assert_eq!(
                bash(&fork, User::Setup, "cat tests/check.sh 2>/dev/null || cat tests").ok(),
                "mine\n"
            );
        }
    }
}

#[test]
fn a_test_file_goes_below_the_workspace_or_nowhere() {
    let Some(hall) = hall() else { return };
    let source = hall.temp.path().join("check.sh");
    fs::write(&source, "x").unwrap();
    let base = hall.base(&[]);
    let sandbox = hall.open(&usual(), &base);
    for dest in ["../x", "/etc/x", "a/../../x", "", "."] {
        let error = sandbox.place(&source, Path::new(dest)).unwrap_err();
        assert!(matches!(error, PlaceError::Outside { .. }), "{dest}: {error}");
    }
    let pipe = hall.temp.path().join("pipe");
    mkfifo(&pipe, Mode::S_IRWXU).unwrap();
    let error = sandbox.place(&pipe, Path::new("x")).unwrap_err();
    assert!(matches!(error, PlaceError::Source { .. }), "{error}");
    let folder = hall.temp.path().join("links");
    fs::create_dir(&folder).unwrap();
    symlink("/etc/passwd", folder.join("link")).unwrap();
    let placed = sandbox.place(&folder, Path::new("x")).unwrap();
    assert_eq!(bash(&sandbox, User::Setup, "readlink x/link").ok(), "/etc/passwd\n");
    sandbox.unplace(&placed).unwrap();
    assert_eq!(bash(&sandbox, User::Setup, "ls -A").ok(), "");
}

#[test]
fn what_setups_made_is_handed_over_and_nothing_of_the_base_is_copied_for_it() {
    let Some(hall) = hall() else { return };
    let base = hall.base(&[("d/base", "x")]);
    let sandbox = hall.open(&usual(), &base);
    if !sandbox.isolation().users.holds() {
        return;
    }
    bash(&sandbox, User::Setup, "mkdir d/made; echo x > d/made/f; ln -s /etc/passwd d/l").ok();
    let try_it = "echo y >> d/made/f";
    assert_ne!(bash(&sandbox, User::Agent, try_it).err, "");
    sandbox.hand_over().unwrap();
    bash(&sandbox, User::Agent, "echo y >> d/made/f; echo y >> d/base").ok();
    assert_eq!(fs::symlink_metadata("/etc/passwd").unwrap().uid(), 0);
}

/// Commands on few names, so that they meet.
fn command() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec!["a", "b", "d", "d/x", "d/y", "d/e", "d/e/z", "n", "n/m"]);
    (0..11_u8, name.clone(), name).prop_map(|(kind, one, two)| match kind {
        // To write to a pipe would be to wait for a reader.
        0 | 1 => format!("[ -p {one} ] || echo {one}-{two} > {one}"),
        2 => format!("rm -rf {one}"),
        3 => format!("mkdir -p {one}"),
        4 => format!("rm -rf {one}; mkdir {one}"),
        5 => format!("ln -sfn {two} {one}"),
        6 => format!("mv -T {one} {two}"),
        7 => format!("ln -f {one} {two}"),
        8 => format!("chmod 750 {one}"),
        9 => format!("[ -p {one} ] || echo more >> {one}"),
        _ => format!("mkfifo {one}"),
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Whatever is done through an overlay, what its upper folder says is what the same commands
    /// do to a plain copy; and it stays so when it is kept, loaded and copied.
    #[test]
    fn an_overlay_says_the_same_as_a_plain_tree(
        first in prop::collection::vec(command(), 0..6),
        second in prop::collection::vec(command(), 0..14),
    ) {
        let Some(hall) = hall() else { return Ok(()) };
        let files = [("a", "a\n"), ("b", "b\n"), ("d/x", "x\n"), ("d/e/z", "z\n")];
        let base = hall.base(&files);
        let copy = hall.temp.path().join("copy");
        let done = Command::new("cp").arg("-a").arg(base.folder()).arg(&copy).status().unwrap();
        prop_assert!(done.success());
        let quiet = |commands: &[String]| {
            let commands = [commands.join("; "), "true".into()];
            let lines: Vec<&str> =
                commands.iter().map(String::as_str).filter(|it| !it.is_empty()).collect();
            format!("{{ {}; }} 2>/dev/null </dev/null", lines.join("; "))
        };
        let plainly = |script: &str| {
            Command::new("bash").args(["-c", &format!("umask 022; {script}")]).current_dir(&copy).status().unwrap();
            Base::freeze(copy.clone()).unwrap().manifest().unwrap().clone()
        };
        let sandbox = hall.open(&usual(), &base);
        bash(&sandbox, User::Setup, &quiet(&first)).ok();
        let expected_before = plainly(&quiet(&first));
        let before = sandbox.baseline().unwrap();
        prop_assert_eq!(before.manifest(), &expected_before);
        bash(&sandbox, User::Setup, &quiet(&second)).ok();
        let expected = plainly(&quiet(&second));
        let after = sandbox.close().unwrap();
        prop_assert_eq!(&after.manifest().unwrap(), &expected);

        let diff = before.diff(&after, &DiffLimits::default()).unwrap();
        let told: BTreeSet<&str> = diff.added.iter().map(|it| it.path.as_str())
            .chain(diff.changed.iter().map(|it| it.path.as_str()))
            .chain(diff.deleted.iter().map(|it| it.path.as_str()))
            .collect();
        let (old, new) = (before.manifest(), &expected);
        // A folder is the same when its mode is; what is in it has its own say.
        let alone = |node: Option<&Node>| match node {
            Some(Node::Folder(folder)) => format!("folder {:o}", folder.mode()),
            other => format!("{other:?}"),
        };
        let differing: BTreeSet<String> = old
            .iter()
            .chain(new.iter())
            .map(|(path, _)| path)
            .filter(|path| alone(old.get(path)) != alone(new.get(path)))
            .map(|path| String::from_utf8(path).unwrap())
            .collect();
        let told: BTreeSet<String> = told.into_iter().map(str::to_owned).collect();
        prop_assert_eq!(told, differing);
        prop_assert_eq!(diff.is_empty(), old == new);
        prop_assert!(diff.changed.iter().all(|it| it.patch != Patch::Unknown), "{:?}", diff.changed);

        let file = hall.temp.path().join("saved");
        after.save(&file).unwrap();
        let loaded = Snapshot::load(&base, &file, hall.rooms.create("l").unwrap()).unwrap();
        prop_assert_eq!(&loaded.manifest().unwrap(), &expected);
        // As plain files.
        let fork = loaded.fork(hall.rooms.create("c").unwrap());
        let fork = hall.sandboxes.open(&plain(), fork).unwrap();
        let copied = Base::freeze(fork.workspace()).unwrap();
        prop_assert_eq!(copied.manifest().unwrap(), &expected);
    }
}

#[test]
fn a_tree_that_is_very_deep_is_told_as_far_as_it_goes() {
    let Some(hall) = hall() else { return };
    let base = hall.base(&[]);
    let sandbox = hall.open(&usual(), &base);
    let before = sandbox.baseline().unwrap();
    let dig = "mkdir -p $(printf 'd/%.0s' {1..600})";
    bash(&sandbox, User::Agent, dig).ok();
    let after = sandbox.close().unwrap();
    let diff = before.diff(&after, &DiffLimits::default()).unwrap();
    assert_eq!((diff.added.len(), diff.omitted.entries), (500, 1));
    let file = hall.temp.path().join("saved");
    after.save(&file).unwrap();
    let loaded = Snapshot::load(&base, &file, hall.rooms.create("l").unwrap()).unwrap();
    assert_eq!(loaded.manifest().unwrap(), after.manifest().unwrap());
}
