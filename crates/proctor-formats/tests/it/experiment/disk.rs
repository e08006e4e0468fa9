//! What an experiment names on the disk.

use std::fs;
use std::num::NonZeroU32;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use camino::{Utf8Path, Utf8PathBuf};
use insta::assert_snapshot;
use proctor_formats::experiment::{
    Bindings, ItemKind, Preflight, Purpose, preflight, resolve, survey,
};
use proctor_model::Digest;

use super::{AXES, experiment, lines, with};

struct Folder(tempfile::TempDir);

impl Folder {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    fn path(&self) -> &Utf8Path {
        Utf8Path::from_path(self.0.path()).unwrap()
    }

    fn look(&self, text: &str, purpose: Purpose<'_>) -> Preflight {
        preflight(&experiment(text), "x.yaml".into(), self.path(), purpose)
    }

    /// What is found before a run without `--file`.
    fn findings(&self, text: &str) -> String {
        lines(&self.look(text, Purpose::Validate { repeat: None }).findings)
    }
}

/// An experiment with files at its top level and in its test.
fn files(top: &str, test: &str) -> String {
    format!(
        "schema_version: 2\nid: x\nname: X\n{AXES}files: [{top}]\ntests:\n  - name: t\n    script: diff a b\n    \
         files: [{test}]\nlimits: {{max_time_seconds: 60}}\n"
    )
}

#[test]
fn sources_that_are_not_there() {
    let folder = Folder::new(&[("a", "x")]);
    symlink("nowhere", folder.path().join("link")).unwrap();
    let text = files(
        "{name: a, source: a, dest: a}, {name: b, source: ../none/b, dest: b}, {name: s, dest: s}",
        "{name: c, source: link, dest: c}",
    );
    assert_snapshot!(folder.findings(&text), @r"
    6:40: error missing-source: `../none/b` does not exist
    10:13: error missing-source: `link` is a link to nothing (hint: mend the link)
    ");
    let text = with(&format!(
        "{AXES}products: [{{name: p, setup: {{skills: [{{name: s, source: skills/s}}, {{name: f, source: a}}]}}}}]"
    ));
    assert_snapshot!(folder.findings(&text), @r"
    6:39: error missing-source: `skills/s` does not exist
    6:68: error missing-source: `a` is no folder
    ");
}

#[test]
fn pins() {
    let folder = Folder::new(&[("a", "abc")]);
    let right = Digest::of(b"abc");
    let pinned =
        |pin: &str| files(&format!("{{name: a, source: a, dest: a, sha256: '{pin}'}}"), "");
    assert_eq!(folder.findings(&pinned(&right.upper_hex())), "");
    assert_snapshot!(folder.findings(&pinned(&"0".repeat(64))), @"6:9: error pin: `a` has the SHA-256 ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad, not 0000000000000000000000000000000000000000000000000000000000000000");
}

#[test]
fn slots() {
    let folder = Folder::new(&[("a", "abc"), ("dir/b", "x")]);
    let pin = Digest::of(b"other");
    let text = files(
        &format!("{{name: cli, dest: bin/cli}}, {{name: pinned, dest: p, sha256: {pin}}}"),
        "{name: grader, dest: g}",
    );
    assert_eq!(folder.findings(&text), "");
    let run = |flags: &[&str]| {
        let mut bindings = Bindings::default();
        for flag in flags {
            bindings.add(flag, folder.path()).unwrap();
        }
        folder.look(&text, Purpose::Run { bindings: &bindings })
    };
    assert_snapshot!(lines(&run(&[]).findings), @r"
    6:9: error unbound-slot: the file `cli` has no `source`, and nothing binds it (hint: pass `--file cli=PATH`)
    6:37: error unbound-slot: the file `pinned` has no `source`, and nothing binds it (hint: pass `--file pinned=PATH`)
    10:13: error unbound-slot: the file `grader` has no `source`, and nothing binds it (hint: pass `--file grader=PATH`)
    ");
    let folder_name = folder.path().as_str();
    let shown = |flags: &[&str]| lines(&run(flags).findings).replace(folder_name, "FOLDER");
    assert_snapshot!(shown(&["cli=a", "pinned=a", "grader=none", "clo=a", "y::z"]), @r"
    1:1: error missing-source: `FOLDER/none` does not exist
    1:1: error missing-source: `FOLDER/y` does not exist
    1:1: error unbound-slot: `--file` binds `clo`, which is no file without `source`
    6:37: error pin: `FOLDER/a` has the SHA-256 ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad, not d9298a10d1b0735837dc4bd85dac641b0f3cef27a47e5d53a54f2f3f5b2fcffa
    ");
    let looked = run(&["cli=a", "claude::prompt-1:cli=dir", "pinned=a", "grader=a", "dir::extra"]);
    let one = experiment(&text);
    let variant = resolve(&one, &looked.contents()).remove(0);
    let bound = looked.source_of(&variant, &one.files[0]).unwrap();
    assert!(bound.is_folder);
    assert_eq!(looked.extra[0].0.as_str(), "extra");
}

#[test]
fn slots_of_variants_that_do_not_run_need_not_be_bound() {
    let folder = Folder::new(&[("a", "abc")]);
    let text = with(&format!(
        "{AXES}products:
  - {{name: p, setup: {{files: [{{name: of-p, dest: p}}]}}}}
  - {{name: q, setup: {{files: [{{name: of-q, dest: q}}]}}}}"
    ));
    let said = |flag: &str| {
        let mut bindings = Bindings::default();
        bindings.selection.products.push("p".to_owned());
        bindings.add(flag, folder.path()).unwrap();
        lines(&folder.look(&text, Purpose::Run { bindings: &bindings }).findings)
    };
    assert_eq!(said("of-p=a"), "");
    assert!(said("of-q=a").contains("`of-p` has no `source`"));
    assert!(!said("of-q=a").contains("`--file` binds"));
}

#[test]
fn folders_are_taken_whole_but_for_git_and_what_is_ignored() {
    let folder = Folder::new(&[
        ("src/.git/config", "x"),
        ("src/sub/.git", "gitdir: elsewhere"),
        ("src/.axpignore", "*.log\n/secret\n!keep.log\n"),
        ("src/a.log", "x"),
        ("src/keep.log", "x"),
        ("src/secret/x", "x"),
        ("src/.hidden", "x"),
        ("src/.gitignore", "run\n"),
        ("src/run", "#!/bin/sh"),
    ]);
    let src = folder.path().join("src");
    fs::create_dir_all(src.join("empty/inner")).unwrap();
    symlink("/etc/passwd", src.join("link")).unwrap();
    fs::set_permissions(src.join("run"), fs::Permissions::from_mode(0o755)).unwrap();
    let source = survey(&src, &mut 100).unwrap();
    let items: Vec<String> = source
        .items
        .iter()
        .map(|item| match &item.kind {
            ItemKind::File { is_executable: true, .. } => format!("{}*", item.path),
            ItemKind::File { .. } => item.path.clone(),
            ItemKind::Link { target } => format!("{} -> {target}", item.path),
            ItemKind::EmptyFolder => format!("{}/", item.path),
        })
        .collect();
    assert_eq!(
        items,
        [
            ".gitignore",
            ".hidden",
            "empty/inner/",
            "keep.log",
            "link -> /etc/passwd",
            "run*",
            "sub/"
        ]
    );
    let before = source.digest;
    fs::set_permissions(src.join("run"), fs::Permissions::from_mode(0o644)).unwrap();
    assert_ne!(survey(&src, &mut 100).unwrap().digest, before);
    let few = survey(&src, &mut 3).unwrap_err().to_string();
    assert!(few.contains("more than 200000 files"), "{few}");
}

#[test]
fn strange_things_in_folders_are_errors() {
    use std::os::unix::ffi::OsStrExt as _;
    let folder = Folder::new(&[("src/a", "x")]);
    let odd = folder.path().as_std_path().join("src").join(std::ffi::OsStr::from_bytes(b"\xff"));
    fs::write(odd, "x").unwrap();
    let error = survey(&folder.path().join("src"), &mut 100).unwrap_err().to_string();
    assert!(error.contains("not UTF-8"), "{error}");
}

#[test]
fn places_are_compared_once_folders_are_unpacked() {
    let folder = Folder::new(&[("fx/a", "1"), ("fx/b/c", "2"), ("one", "3"), ("two", "4")]);
    let text = files(
        "{name: fx, source: fx, dest: data}, {name: one, source: one, dest: data/a}",
        "{name: two, source: two, dest: data/b}, {name: three, source: two, dest: data/a/x}, {name: four, source: two, dest: data/d}",
    );
    assert_snapshot!(folder.findings(&text), @r"
    6:45: error dest-collision: `data/a` would lie at `data/a`, which stands at 6:9
    10:13: error dest-collision: `data/b` would lie inside or around `data/b/c`, which stands at 6:9
    10:53: error dest-collision: `data/a/x` would lie inside or around `data/a`, which stands at 6:9
    ");
    let text =
        files("{name: fx, source: fx, dest: data}", "{name: fx, source: fx, dest: data/own}");
    // The same content: that is another matter.
    assert!(!folder.findings(&text).contains("dest-collision"));
}

#[test]
fn answers_in_what_the_agent_sees() {
    let folder = Folder::new(&[
        ("docs/guide.md", "Run it. The result is 7f3a9c01 in the end.\n"),
        ("docs/expected/out.json", "{\"sum\": 1234567}\n"),
        ("expected.txt", "7f3a9c01\n"),
        ("input.json", "{\"sum\": 1234567}\n"),
        ("other.txt", "something else\n"),
    ]);
    let text = files(
        "{name: docs, source: docs, dest: docs}",
        "{name: e, source: expected.txt, dest: t/expected.txt}, {name: i, source: input.json, dest: t/i}, {name: o, source: other.txt, dest: t/o}",
    )
    .replace("script: diff a b", "script: '[ \"$(cat a)\" = \"The result is 7f3a9c01\" ]'");
    assert_snapshot!(folder.findings(&text), @r#"
    6:9: note visible-answer: the agent sees `docs/expected/out.json`, whose name says `expected` (hint: stage what only a test needs in the `files` of that test)
    8:5: note answer-in-view: the test `t` expects "The result is 7f3a9c01", which the agent can read in `docs/guide.md`
    10:13: error answer-leaked: the agent can read what is in `t/expected.txt`, a file of the test `t`, in `docs/guide.md`
    10:68: note answer-in-view: the agent can read what is in `t/i`, a file of the test `t`, in `docs/expected/out.json`
    "#);
}

#[test]
fn scripts_in_files() {
    let folder = Folder::new(&[
        ("ok.sh", "test -f \"$AX_TRACE_PATH\"\n"),
        ("tests/seen.sh", "test -f a\n"),
        ("empty.sh", " \n"),
        ("marked.sh", "\u{feff}test -f a\n"),
        ("windows.sh", "test -f a\r\ntest -f b\r\n"),
        ("mixed.sh", "test -f a\ngrep -q 'x\r\n' a\n"),
    ]);
    let text = "schema_version: 2
id: x
name: X
agents: claude
prompts: [Do it.]
files: [{name: a, source: tests, dest: tests}]
tests:
  - {name: ok, script_file: ok.sh}
  - {name: seen, script_file: tests/seen.sh}
  - {name: empty, script_file: empty.sh}
  - {name: none, script_file: none.sh}
  - {name: folder, script_file: tests}
  - {name: marked, script_file: marked.sh}
  - {name: windows, script_file: windows.sh}
  - {name: mixed, script_file: mixed.sh}
limits: {max_time_seconds: 60}
";
    assert_snapshot!(folder.findings(text), @r"
    8:5: note trace-read: the test `ok` reads a trace file, and none is staged (hint: query `events` with `ax-run-query`)
    9:5: error answer-leaked: the agent sees the script of the test `seen`, as `tests/seen.sh` (hint: move it out of what is staged)
    10:5: error missing-source: `empty.sh` is an empty script
    11:5: error missing-source: `none.sh` does not exist
    12:5: error missing-source: `tests` is a folder, not a script
    13:5: error missing-source: `marked.sh` begins with a byte order mark, which bash takes for part of a command (hint: save it as UTF-8 without one)
    14:5: error missing-source: `windows.sh` has lines that end in CR LF, and bash takes the CR for part of a command (hint: save it with the line ends of Unix)
    ");
}

#[test]
fn trials_that_are_too_few() {
    let folder = Folder::new(&[]);
    let repeat = |text: &str, n: u32| {
        let repeat = NonZeroU32::new(n);
        lines(&folder.look(text, Purpose::Validate { repeat }).findings)
    };
    let two = with("agents: claude\nprompts: [a, b]");
    assert_snapshot!(repeat(&two, 3), @"1:1: note unreachable-gate: the gate p = 0.05 cannot be passed with 3 trials of a variant: even all against none gives p = 0.100 (hint: run it with `--repeat 4` or more)");
    assert_eq!(repeat(&two, 4), "");
    let stated = format!("description: We ask for p < 0.01.\n{two}");
    assert!(repeat(&stated, 4).contains(
        "error gate-cannot-pass: the gate p = 0.01 cannot be passed with 4 trials of a variant"
    ));
    assert!(!repeat(&stated, 5).contains("error"));
    assert_eq!(repeat(&with(AXES), 1), "");
}

#[test]
fn the_digest_of_a_file_is_that_of_sha256sum() {
    let folder = Folder::new(&[("a", "abc")]);
    let path: Utf8PathBuf = folder.path().join("a");
    assert_eq!(survey(&path, &mut 1).unwrap().digest, Digest::of(b"abc"));
}
