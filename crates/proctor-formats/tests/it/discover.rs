//! Roots as people, accidents and hostile hands leave them.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};

use camino::{Utf8Path, Utf8PathBuf};
use nix::sys::stat::Mode;
use nix::unistd::{Uid, mkfifo};
use proctor_formats::conformance::{Discovery, discover};
use tempfile::TempDir;

struct Root {
    _directory: TempDir,
    path: Utf8PathBuf,
}

impl Root {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = Utf8PathBuf::from_path_buf(directory.path().to_owned()).unwrap();
        Self { _directory: directory, path }
    }

    fn dir(&self, name: &str) -> Utf8PathBuf {
        let path = self.path.join(name);
        fs::create_dir_all(&path).unwrap();
        path
    }

    fn fixture(&self, directory: &str, name: &str) -> Utf8PathBuf {
        let text = format!(
            r#"{{"name": "{name}", "prompt": "p", "checks": [{{"type": "file_exists", "path": "a"}}]}}"#
        );
        let directory = self.dir(directory);
        fs::write(directory.join("fixture.json"), text).unwrap();
        directory
    }

    fn discover(&self) -> Discovery {
        discover(&self.path).unwrap()
    }

    /// Names, whether they are valid, and everything that was said, without the root's path.
    fn report(&self) -> String {
        let found = self.discover();
        let mut text = String::new();
        for entry in &found.fixtures {
            assert_eq!(entry.parsed.fixture.is_none(), entry.parsed.diagnostics.has_errors());
            let verdict = if entry.parsed.fixture.is_some() { "valid" } else { "invalid" };
            writeln!(text, "{}: {verdict}", entry.name).unwrap();
            for line in entry.parsed.diagnostics.to_string().lines() {
                writeln!(text, "  {line}").unwrap();
            }
        }
        for line in found.warnings.to_string().lines() {
            writeln!(text, "warning {line}").unwrap();
        }
        text.replace(self.path.as_str(), "ROOT")
    }
}

#[test]
fn fixtures_come_in_byte_order_with_their_inputs() {
    let root = Root::new();
    for name in ["b", "a", "B", "ä"] {
        root.fixture(name, name);
    }
    root.dir("a/input");
    root.dir("not-a-fixture");
    fs::write(root.path.join("README.md"), "").unwrap();
    let found = root.discover();
    let names: Vec<_> = found.fixtures.iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names, ["B", "a", "b", "ä"]);
    assert!(found.fixtures.iter().all(|entry| entry.parsed.fixture.is_some()));
    assert_eq!(found.fixtures[1].input, Some(root.path.join("a/input")));
    assert_eq!(found.fixtures[1].file, root.path.join("a/fixture.json"));
    assert_eq!(found.fixtures[2].input, None);
    assert_eq!(found.warnings.to_string(), "");
}

#[test]
fn a_root_that_cannot_be_looked_through_says_what_to_do() {
    let root = Root::new();
    let missing = discover(&root.path.join("nowhere")).unwrap_err().to_string();
    assert!(missing.ends_with("/nowhere; name the directory with `--fixtures`"), "{missing}");
    let file = root.path.join("file");
    File::create(&file).unwrap();
    let not_a_directory = discover(&file).unwrap_err().to_string();
    assert!(not_a_directory.contains("/file is not a directory"), "{not_a_directory}");
    symlink("loop", root.path.join("loop")).unwrap();
    assert!(discover(&root.path.join("loop")).unwrap_err().to_string().contains("be listed"));
    assert!(discover(Utf8Path::new("")).is_err());
}

#[test]
fn no_kind_of_file_stops_or_hangs_the_others() {
    let root = Root::new();
    root.fixture("good", "good");
    root.dir("a-directory/fixture.json");
    let fifo = root.dir("a-pipe").join("fixture.json");
    mkfifo(fifo.as_std_path(), Mode::S_IRWXU).unwrap();
    symlink("/dev/zero", root.dir("a-device").join("fixture.json")).unwrap();
    symlink("nowhere", root.dir("broken-link").join("fixture.json")).unwrap();
    symlink("fixture.json", root.dir("link-loop").join("fixture.json")).unwrap();
    symlink("looping-directory", root.path.join("looping-directory")).unwrap();
    symlink("nowhere", root.path.join("broken-directory")).unwrap();
    symlink("user@host.1234", root.path.join(".#editor-lock")).unwrap();
    fs::write(root.dir("not-json").join("fixture.json"), "# hi").unwrap();
    fs::write(root.dir("not-utf8").join("fixture.json"), b"{\"name\": \"\xff\"}").unwrap();
    fs::write(root.dir("empty").join("fixture.json"), "").unwrap();
    let huge = File::create(root.dir("huge").join("fixture.json")).unwrap();
    huge.set_len(100 * 1024 * 1024).unwrap();
    insta::assert_snapshot!(root.report());
}

#[test]
fn a_name_that_is_not_utf8_is_an_invalid_fixture() {
    let root = Root::new();
    let directory = root.path.as_std_path().join(OsStr::from_bytes(b"caf\xe9"));
    fs::create_dir(&directory).unwrap();
    fs::write(directory.join("fixture.json"), "{}").unwrap();
    insta::assert_snapshot!(root.report(), @"
    caf�: invalid
      ROOT/caf�/fixture.json: the name of the fixture's directory is not UTF-8 (hint: rename the directory)
    ");
}

#[test]
fn links_to_fixtures_are_followed() {
    let root = Root::new();
    let elsewhere = Root::new();
    let real = elsewhere.fixture("real", "linked");
    elsewhere.dir("real/input");
    symlink(&real, root.path.join("linked")).unwrap();
    let found = root.discover();
    assert!(found.fixtures[0].parsed.fixture.is_some());
    assert_eq!(found.fixtures[0].input, Some(root.path.join("linked/input")));
}

#[test]
fn an_input_that_is_no_directory_is_a_mistake() {
    let root = Root::new();
    fs::write(root.fixture("file", "file").join("input"), "").unwrap();
    symlink("nowhere", root.fixture("broken", "broken").join("input")).unwrap();
    symlink("input", root.fixture("loop", "loop").join("input")).unwrap();
    insta::assert_snapshot!(root.report(), @"
    broken: invalid
      ROOT/broken/input: is a link to nothing (hint: mend the link)
    file: invalid
      ROOT/file/input: expected a directory with the files that the agent starts from
    loop: invalid
      ROOT/loop/input: is a link that leads back to itself (hint: mend the link)
    ");
}

#[test]
fn likely_slips_are_warned_about() {
    let root = Root::new();
    for name in ["Fixture.json", "fixtures.json", "fixture.yaml", "fixture.json.txt"] {
        fs::write(root.dir(&format!("dir-{name}")).join(name), "{}").unwrap();
    }
    root.fixture("group/nested", "nested");
    fs::write(root.path.join("fixture.json"), "{}").unwrap();
    fs::write(root.dir("unrelated").join("package.json"), "{}").unwrap();
    insta::assert_snapshot!(root.report(), @"
    warning ROOT/dir-Fixture.json/Fixture.json: is not read: a fixture is in fixture.json
    warning ROOT/dir-fixture.json.txt/fixture.json.txt: is not read: a fixture is in fixture.json
    warning ROOT/dir-fixture.yaml/fixture.yaml: is not read: a fixture is in fixture.json
    warning ROOT/dir-fixtures.json/fixtures.json: is not read: a fixture is in fixture.json
    warning ROOT/fixture.json: lies in the fixtures root itself and is not read (hint: a fixture has a directory of its own name in the root)
    warning ROOT/group/nested/fixture.json: is not read: it lies one directory too deep (hint: name ROOT/group with `--fixtures`)
    ");
}

#[test]
fn shared_names_are_mistakes_of_all_who_share() {
    let root = Root::new();
    root.fixture("a", "a");
    root.fixture("b", "a");
    root.fixture("c", "a");
    root.fixture("d", "d");
    insta::assert_snapshot!(root.report(), @r#"
    a: invalid
      ROOT/a/fixture.json:1:10: name: ROOT/b/fixture.json has the same name (hint: rename one of them)
    b: invalid
      ROOT/b/fixture.json:1:10: name: expected "b", the name of the fixture's directory, found "a" (hint: rename one of the two)
      ROOT/b/fixture.json:1:10: name: ROOT/a/fixture.json has the same name (hint: rename one of them)
    c: invalid
      ROOT/c/fixture.json:1:10: name: expected "c", the name of the fixture's directory, found "a" (hint: rename one of the two)
      ROOT/c/fixture.json:1:10: name: ROOT/a/fixture.json has the same name (hint: rename one of them)
    d: valid
    "#);
}

#[test]
fn permissions_are_named() {
    if Uid::effective().is_root() {
        eprintln!("skipped: root may read everything");
        return;
    }
    let root = Root::new();
    let file = root.fixture("file", "file").join("fixture.json");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o0)).unwrap();
    let directory = root.fixture("directory", "directory");
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o0)).unwrap();
    let report = root.report();
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(report.matches("may not be read: permission denied").count(), 2, "{report}");
}
