//! Rules about the text of the files in the repository.

use std::path::Path;

use serde::Deserialize;

use crate::Result;
use crate::sh::{Run, program, root};

/// Lines of a Rust file that are no tests.
const MAX_LINES: usize = 600;

/// Files that may be longer, each with the reason.
const LONG_FILES: [(&str, &str); 0] = [];

/// What no Rust file may hold. In pieces, or this file would be the first to break the rule.
const UNFINISHED: [&str; 4] = [
    concat!("todo", "!("),
    concat!("unimplemented", "!("),
    concat!("dbg", "!("),
    concat!("#[", "ignore"),
];

/// The one use of an ignored test: the body of a process that another test starts and kills.
const STARTED_BY_A_TEST: &str = concat!("#[", "ignore = \"started by `");

/// The lint that keeps unsafe code out; whoever turns it off must be listed below.
const UNSAFE: &str = concat!("(unsafe", "_code");

/// Where unsafe code may stand: `ARCHITECTURE.md` says why.
const MAY_BE_UNSAFE: [&str; 2] =
    ["crates/proctor-sandbox/src/sys.rs", "crates/proctor-clickhouse/src/local/ffi.rs"];

/// Hosts of package registries: which one is used is the user's setting.
const HOSTS: [&str; 6] = [
    concat!("registry.", "npmjs"),
    concat!("pypi", ".org"),
    concat!("python", "hosted"),
    concat!("deb.", "debian"),
    concat!("static.", "crates.io"),
    concat!("index.", "crates.io"),
];

/// What lies where on the machines that build this repository.
const MACHINE: [&str; 3] =
    [concat!("/work", "/main"), concat!("/work", "/shared"), concat!("/work", "/.")];

pub(super) fn check(breaches: &mut Vec<String>) -> Result {
    let root = root();
    let here = root.to_string_lossy();
    let listed = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    for path in program("git").args(listed).read()?.split_terminator('\0') {
        let full = root.join(path);
        // Deleted and not committed yet, a link, or no text.
        if !full.is_file() || full.is_symlink() {
            continue;
        }
        let Ok(text) = String::from_utf8(fs_err::read(&full)?) else { continue };
        check_text(path, &text, &here, breaches);
        if path.ends_with("Cargo.toml") {
            check_manifest(path, &text, breaches)?;
        }
    }
    Ok(())
}

fn check_text(path: &str, text: &str, here: &str, breaches: &mut Vec<String>) {
    let rust = Path::new(path).extension().is_some_and(|extension| extension == "rs");
    if rust {
        let lines = lines_without_tests(path, text);
        if lines > MAX_LINES && !LONG_FILES.iter().any(|(long, _)| *long == path) {
            breaches.push(format!("{path}: {lines} lines without tests, more than {MAX_LINES}"));
        }
    }
    // The lock file names where every crate comes from.
    if path.ends_with("Cargo.lock") {
        return;
    }
    for (index, line) in text.lines().enumerate() {
        let code = rust && !line.contains(STARTED_BY_A_TEST);
        let unfinished = UNFINISHED.iter().find(|word| code && line.contains(**word));
        let host = HOSTS.iter().find(|host| line.contains(**host));
        if rust && line.contains(UNSAFE) && !MAY_BE_UNSAFE.contains(&path) {
            breaches.push(format!("{path}:{}: unsafe code has no place here", index + 1));
        }
        let machine = MACHINE.into_iter().chain([here]).find(|path| has_path(line, path));
        for word in unfinished.into_iter().chain(host).copied().chain(machine) {
            breaches.push(format!("{path}:{}: {word}", index + 1));
        }
    }
}

/// Whether `line` holds the absolute path `path`, and not the end of a longer one.
fn has_path(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|char| char.is_alphanumeric() || "_./-]})".contains(char))
    })
}

/// The lines up to the tests at the end; none for a file of tests or benches.
fn lines_without_tests(path: &str, text: &str) -> usize {
    let in_tests = path.split('/').any(|part| matches!(part, "tests" | "benches" | "tests.rs"));
    if in_tests {
        return 0;
    }
    let lines: Vec<&str> = text.lines().collect();
    let tests = lines.windows(2).position(|pair| {
        pair[0].trim_end() == "#[cfg(test)]"
            && pair[1].starts_with("mod ")
            && pair[1].ends_with('{')
    });
    tests.unwrap_or(lines.len())
}

#[derive(Debug, Deserialize)]
struct Manifest {
    package: Option<toml::Table>,
    lints: Option<toml::Table>,
}

fn check_manifest(path: &str, text: &str, breaches: &mut Vec<String>) -> Result {
    let manifest: Manifest = toml::from_str(text).map_err(|error| format!("{path}: {error}"))?;
    let shared = manifest.lints.is_some_and(|lints| lints.get("workspace") == Some(&true.into()));
    // Targets of fuzzing are a workspace of their own.
    if manifest.package.is_some() && !shared && !path.starts_with("fuzz/") {
        breaches.push(format!("{path}: does not take the workspace's lints"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn breaches(path: &str, text: &str) -> Vec<String> {
        let mut breaches = Vec::new();
        check_text(path, text, "/some/where", &mut breaches);
        breaches
    }

    #[test]
    fn unsafe_code_has_its_places() {
        let text = format!("#![expect{UNSAFE})]\n");
        assert_eq!(breaches(MAY_BE_UNSAFE[1], &text), Vec::<String>::new());
        assert_eq!(breaches("a.rs", &text), ["a.rs:1: unsafe code has no place here"]);
    }

    #[test]
    fn unfinished_code_and_local_names_are_found_with_their_line() {
        let (word, host) = (UNFINISHED[0], HOSTS[1]);
        let text = format!("fine\n{word}x)\nhttps://{host}/\n");
        assert_eq!(breaches("a.rs", &text), [format!("a.rs:2: {word}"), format!("a.rs:3: {host}")]);
        assert_eq!(breaches("a.md", word), Vec::<String>::new());
        let ignored = UNFINISHED[3];
        assert_eq!(breaches("a.rs", &format!("{ignored} = \"slow\"]")).len(), 1);
        assert_eq!(breaches("a.rs", &format!("{STARTED_BY_A_TEST}x`\"]")), Vec::<String>::new());
        assert_eq!(breaches("a.md", "see /some/where/x"), ["a.md:1: /some/where"]);
        assert_eq!(breaches("Cargo.lock", host), Vec::<String>::new());
    }

    #[test]
    fn a_path_is_local_only_at_its_root() {
        for (before, local) in [("cd ", true), ("`", true), ("sealed", false), ("[PROJECT]", false)]
        {
            let line = format!("{before}/some/where/x");
            assert_eq!(has_path(&line, "/some/where"), local, "{line}");
        }
    }

    #[test]
    fn tests_do_not_count_as_lines() {
        let text = "a\nb\n#[cfg(test)]\nmod tests {\n}\n";
        assert_eq!(lines_without_tests("src/a.rs", text), 2);
        assert_eq!(lines_without_tests("tests/a.rs", text), 0);
        assert_eq!(lines_without_tests("src/a.rs", "a\n#[cfg(test)]\nmod tests;\nb\n"), 4);
        let long = "x\n".repeat(MAX_LINES + 1);
        assert_eq!(breaches("a.rs", &long), ["a.rs: 601 lines without tests, more than 600"]);
    }

    #[test]
    fn manifests_take_the_shared_lints() {
        let check = |path: &str, text: &str| {
            let mut breaches = Vec::new();
            check_manifest(path, text, &mut breaches).unwrap();
            breaches.len()
        };
        assert_eq!(check("Cargo.toml", "[workspace]\n"), 0);
        assert_eq!(check("a/Cargo.toml", "[package]\nname = \"a\"\n"), 1);
        assert_eq!(check("a/Cargo.toml", "[package]\n[lints]\nworkspace = true\n"), 0);
        assert_eq!(check("fuzz/Cargo.toml", "[package]\n"), 0);
    }
}
