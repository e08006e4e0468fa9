//! Experiments in containers. Skipped without podman and static programs for an image, which
//! `cargo xtask test` installs.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use proctor_testkit::TestContext;
use proctor_testkit::harness::REQUIRE_VARIABLE;
use serde_json::Value;

const PROCTOR: &str = env!("CARGO_BIN_EXE_proctor");

/// An image that is removed in the end.
struct Image(String);

impl Drop for Image {
    fn drop(&mut self) {
        let _ = Command::new("podman").args(["rmi", "--force", &self.0]).output();
    }
}

/// An image of static programs and of the libraries that `proctor` needs.
#[expect(clippy::print_stderr, reason = "the note of a skipped test belongs to its output")]
fn image(folder: &Path) -> Option<Image> {
    let programs = ["/bin/busybox", "/bin/bash-static"].map(Path::new);
    let podman = Command::new("podman").arg("--version").output();
    if podman.is_err() || !programs.iter().all(|program| program.exists()) {
        let reason = "no podman, or no static busybox and bash for an image";
        let required = std::env::var_os(REQUIRE_VARIABLE).is_some_and(|value| value == "1");
        assert!(!required, "{reason}");
        eprintln!("skipped: {reason}");
        return None;
    }
    let root = folder.join("image");
    for made in ["bin", "tmp", "etc", "home", "workspace"] {
        fs::create_dir_all(root.join(made)).unwrap();
    }
    fs::copy(programs[0], root.join("bin/busybox")).unwrap();
    fs::copy(programs[1], root.join("bin/bash")).unwrap();
    for tool in ["sh", "sleep", "ls", "cat", "grep", "test", "mkdir", "head", "id", "kill"] {
        symlink("busybox", root.join("bin").join(tool)).unwrap();
    }
    let libraries = Command::new("ldd").arg(PROCTOR).output().unwrap();
    for word in String::from_utf8(libraries.stdout).unwrap().split_whitespace() {
        if let Some(inside) = word.strip_prefix('/') {
            let to = root.join(inside);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(word, to).unwrap();
        }
    }
    let name = format!("localhost/proctor-cli-test:{}", std::process::id());
    let archive = folder.join("image.tar");
    let tar = Command::new("tar").arg("-C").arg(&root).arg("-cf").arg(&archive).arg(".").status();
    assert!(tar.unwrap().success());
    let import = Command::new("podman").arg("import").arg(&archive).arg(&name).output().unwrap();
    assert!(import.status.success(), "{}", String::from_utf8_lossy(&import.stderr));
    Some(Image(name))
}

#[test]
fn a_trial_in_a_container() {
    let temp = tempfile::tempdir().unwrap();
    let Some(image) = image(temp.path()) else { return };
    let mut context = TestContext::new(PROCTOR);
    // Images are those of this user.
    for name in ["HOME", "XDG_RUNTIME_DIR", "XDG_DATA_HOME"] {
        if let Some(value) = std::env::var_os(name) {
            context.home().set(name, value.to_str().unwrap());
        }
    }
    context.write("data.txt", "data\n");
    context.write("key.txt", "42\n");
    context.write(
        "boxed.yaml",
        "schema_version: 2\nid: boxed\nname: Boxed\nagents: [x]\nprompts: [{id: p, prompt: Hi.}]\n\
         files: [{name: d, source: data.txt, dest: data.txt}]\n\
         environments: [{name: e, setup: 'cat /workspace/data.txt > /workspace/copy.txt'}]\n\
         tests:\n  - name: made\n    files: [{name: k, source: key.txt, dest: key.txt}]\n\
         \x20   script: grep data /workspace/copy.txt && grep Hi /workspace/mock.txt && grep 42 /workspace/key.txt\n\
         \x20 - {name: apart, script: test ! -e /workspace/key.txt}\n\
         \x20 - name: asks\n    script: ax-run-query \"$AX_RUN_ID\" sql \"SELECT payload FROM events WHERE kind = 'message'\" | grep Hi\n\
         limits: {max_time_seconds: 60}\n",
    );
    let args = ["experiment", "run", "boxed.yaml", "--mock", "--format", "json"];
    let flags = ["--sandbox", "container", "--network", "none", "--image"];
    let missing = context.run(args.iter().chain(&flags).chain(&["localhost/none:0"]));
    assert_eq!(missing.code, 2, "{missing}");
    assert!(missing.stderr.contains("has no image `localhost/none:0`"), "{missing}");
    let ended = context.run(args.iter().chain(&flags).chain(&[image.0.as_str()]));
    assert_eq!(ended.code, 0, "{ended}");
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(report["trials"][0]["isolation"]["level"], "container");
    assert_eq!(report["trials"][0]["isolation"]["network"]["status"], "enforced");
    let left = Command::new("podman").args(["ps", "--all", "--format", "{{.Image}}"]).output();
    let left = String::from_utf8(left.unwrap().stdout).unwrap();
    assert!(!left.contains(&image.0), "{left}");
}
