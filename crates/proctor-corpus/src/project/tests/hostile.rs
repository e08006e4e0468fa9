//! Projects and corpora that mean harm.

use crate::testing::{Bench, FORCE, forced, request};
use crate::{Compat, Corpus, Manner, uninstall, update};

#[test]
fn a_record_cannot_make_us_delete_what_is_not_managed() {
    let bench = Bench::new();
    bench.write("project/src/main.rs", "fn main() {}\n");
    bench.write("project/.cratis/ai.json", "{}");
    bench.write(
        "project/.cratis/ai.manifest.json",
        r#"{"SourceRevision": "x", "Files": [], "Integrations": [
            {"Path": "src/main.rs", "Target": "../.cratis/ai/x"},
            {"Path": "src", "Target": ".cratis/ai/y", "IsDirectory": true}]}"#,
    );
    assert_eq!(uninstall(&bench.project(), Manner::default()).unwrap().conflicts.len(), 2);
    uninstall(&bench.project(), FORCE).unwrap();
    assert_eq!(bench.read("project/src/main.rs"), "fn main() {}\n");
}

#[test]
fn a_record_that_leaves_its_directory_is_refused() {
    let bench = Bench::new();
    bench.write("outside", "keep\n");
    bench.write("project/.cratis/ai.json", "{}");
    bench.write(
        "project/.cratis/ai.manifest.json",
        r#"{"SourceRevision": "x", "Files": [{"Destination": "../../../outside", "Hash": "0"}]}"#,
    );
    for manner in [Manner::default(), FORCE] {
        uninstall(&bench.project(), manner).unwrap_err();
        update(&bench.project(), &bench.corpus(), Compat::Proctor, manner).unwrap_err();
    }
    assert_eq!(bench.read("outside"), "keep\n");
}

#[test]
fn a_managed_directory_that_became_a_link_is_not_written_through() {
    let bench = Bench::new();
    let wanted = request("codex", "tea", "csharp");
    bench.install(&wanted).unwrap();
    std::fs::rename(bench.at("project/.cratis/ai/rules"), bench.at("outside")).unwrap();
    bench.link("project/.cratis/ai/rules", "../../../outside");
    bench.write("corpus/.cratis/ai/rules/general.md", "# Better\n");
    let report = bench.install(&forced(wanted)).unwrap();
    assert_eq!(report.conflicts[0].path, ".cratis/ai/rules");
    let report = uninstall(&bench.project(), FORCE).unwrap();
    assert!(report.notes[0].contains("is no managed file any more"), "{report:?}");
    assert!(bench.read("outside/general.md").ends_with("# General\n"));
}

#[test]
fn a_corpus_cannot_bring_files_from_elsewhere() {
    let bench = Bench::new();
    bench.write("secret", "key\n");
    bench.link("corpus/.cratis/ai/rules/leak.md", "../../../../secret");
    let error = bench.install(&request("codex", "tea", "")).unwrap_err().to_string();
    assert!(
        error.ends_with("it is a link that leaves the corpus; put a file in its place"),
        "{error}"
    );
    bench.remove("corpus/.cratis/ai/rules/leak.md");
    bench.link("corpus/.cratis/ai/rules/same.md", "general.md");
    bench.install(&request("codex", "tea", "")).unwrap();
    assert!(bench.tree()[".cratis/ai/rules/same.md"].ends_with("rules/same.md -->\n# General\n"));
}

#[test]
fn link_loops_pipes_and_linked_directories_in_a_corpus_are_named() {
    let bench = Bench::new();
    bench.link("corpus/.cratis/ai/hooks/loop", "loop");
    assert!(bench.install(&request("", "", "")).unwrap_err().to_string().contains("hooks/loop"));
    bench.remove("corpus/.cratis/ai/hooks/loop");
    bench.link("corpus/.cratis/ai/hooks/dir", "../rules");
    let error = bench.install(&request("", "", "")).unwrap_err().to_string();
    assert!(error.ends_with("it is no regular file; put a file in its place"), "{error}");
    bench.remove("corpus/.cratis/ai/hooks/dir");
    let pipe = bench.at("corpus/.cratis/ai/hooks/pipe");
    nix::unistd::mkfifo(pipe.as_std_path(), nix::sys::stat::Mode::S_IRUSR).unwrap();
    let error = bench.install(&request("", "", "")).unwrap_err().to_string();
    assert!(error.contains("hooks/pipe"), "{error}");
}

#[test]
fn names_that_are_not_portable_are_refused() {
    use std::os::unix::ffi::OsStrExt as _;
    let bench = Bench::new();
    for name in [&b"a\\b"[..], b"a\nb", b"a\xff"] {
        let path = bench.at("corpus/.cratis/ai/rules");
        let path = path.as_std_path().join(std::ffi::OsStr::from_bytes(name));
        std::fs::write(&path, "x").unwrap();
        let error = Corpus::open(&bench.at("corpus")).unwrap_err().to_string();
        assert!(error.contains("cannot be installed: its name"), "{error}");
        std::fs::remove_file(path).unwrap();
    }
}

#[test]
fn skill_names_in_a_catalog_are_no_paths() {
    let bench = Bench::new();
    bench.write(
        "corpus/.cratis/ai/profile-catalog.json",
        r#"{"publicProfiles": [{"id": "tea", "availableTargets": ["..", "../rules", "", "/etc", "brew/.."]}]}"#,
    );
    bench.install(&request("", "tea", "csharp")).unwrap();
    assert!(!bench.paths().contains("skills"), "{}", bench.paths());
}

#[test]
fn binary_files_arrive_as_they_are() {
    let bench = Bench::new();
    bench.write("corpus/.cratis/ai/skills/brew/assets/cup.png", b"\x89PNG\r\n\x1a\n\0\xff");
    bench.install(&request("codex", "tea", "csharp")).unwrap();
    let installed =
        std::fs::read(bench.at("project/.cratis/ai/skills/brew/assets/cup.png")).unwrap();
    assert_eq!(installed, b"\x89PNG\r\n\x1a\n\0\xff");
    assert!(crate::check_clean(&bench.project()).unwrap().is_ok());
}

#[test]
fn huge_files_of_the_project_are_not_read() {
    let bench = Bench::new();
    let file = std::fs::create_dir_all(bench.at("project/.cratis"))
        .and_then(|()| std::fs::File::create(bench.at("project/.cratis/ai.json")))
        .unwrap();
    file.set_len(1 << 40).unwrap();
    let error = bench.install(&request("codex", "tea", "")).unwrap_err();
    insta::assert_snapshot!(error, @".cratis/ai.json: longer than 4194304 bytes");
}
