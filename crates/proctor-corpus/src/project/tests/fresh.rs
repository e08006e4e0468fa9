//! Installations into workspaces that are thrown away.

use crate::testing::{Bench, assert_same, request};
use crate::{Compat, InstallError, Slice};

fn slice(bench: &Bench, harnesses: &str) -> Slice {
    let selection = request(harnesses, "tea", "csharp").selection;
    bench.corpus().slice(&selection, Compat::Proctor).unwrap()
}

#[test]
fn a_fresh_installation_equals_a_careful_one() {
    let bench = Bench::with_mcp();
    for harness in ["claude", "codex", "copilot", "cursor", "opencode", "pi", "kettle", ""] {
        for path in ["project", "other"] {
            let _ = std::fs::remove_dir_all(bench.at(path));
            std::fs::create_dir(bench.at(path)).unwrap();
            bench.write(&format!("{path}/.cratis/PROJECT.md"), "## One\n");
            bench.write(&format!("{path}/.vscode/mcp.json"), "{\n  // mine\n}\n");
        }
        let careful = bench.install(&request(harness, "tea", "csharp")).unwrap();
        let expected = bench.tree();
        std::fs::remove_dir_all(bench.project()).unwrap();
        std::fs::rename(bench.at("other"), bench.project()).unwrap();
        let fresh = slice(&bench, harness).install_fresh(&bench.project()).unwrap();
        assert_same(&bench.tree(), &expected, harness);
        assert_eq!(fresh.actions, careful.actions);
        std::fs::create_dir(bench.at("other")).unwrap();
    }
}

#[test]
fn one_slice_serves_many_workspaces() {
    let bench = Bench::new();
    let slice = slice(&bench, "claude");
    let mut trees = Vec::new();
    for _ in 0..3 {
        std::fs::remove_dir_all(bench.project()).unwrap();
        std::fs::create_dir(bench.project()).unwrap();
        slice.install_fresh(&bench.project()).unwrap();
        trees.push(bench.tree());
    }
    assert!(trees.windows(2).all(|pair| pair[0] == pair[1]));
    assert_eq!(slice.integrations().len(), 9);
    assert_eq!(slice.files()[0].destination(), "agents/taster.md");
}

#[test]
fn contents_are_read_and_marked_once() {
    let bench = Bench::new();
    let corpus = bench.corpus();
    let selection = request("claude", "tea", "csharp").selection;
    let first = corpus.slice(&selection, Compat::Proctor).unwrap();
    std::fs::remove_dir_all(bench.at("corpus/.cratis/ai/rules")).unwrap();
    let second = corpus.slice(&selection, Compat::Proctor).unwrap();
    let pairs = first.files().iter().zip(second.files());
    assert!(pairs.into_iter().all(|(a, b)| std::sync::Arc::ptr_eq(a.bytes(), b.bytes())));
}

#[test]
fn input_in_the_way_is_refused_and_nothing_is_written() {
    let bench = Bench::new();
    bench.write("project/.claude/settings.json", "{}");
    bench.write("project/CLAUDE.md", "mine\n");
    let before = bench.tree();
    let error = slice(&bench, "claude").install_fresh(&bench.project()).unwrap_err();
    insta::assert_snapshot!(error, @"nothing was installed; in the way: `.claude/settings.json` exists and was not installed");
    assert!(matches!(error, InstallError::Refused(conflicts) if conflicts.len() == 1));
    assert_same(&bench.tree(), &before, "");
    bench.remove("project/.claude/settings.json");
    slice(&bench, "claude").install_fresh(&bench.project()).unwrap();
    assert_eq!(bench.read("project/CLAUDE.md"), "mine\n");
}

#[test]
fn planted_links_are_never_followed() {
    for (path, target) in [
        (".cratis", "../outside"),
        (".cratis/ai", "../../outside"),
        (".cratis/ai/rules", "../../../outside"),
        (".cratis/ai/rules/general.md", "../../../../outside/file"),
        (".claude", "../outside"),
        (".cratis/ai.json", "../../outside/file"),
        (".cratis/ai.manifest.json", "../../outside/file"),
    ] {
        let bench = Bench::new();
        bench.write("outside/file", "{}");
        bench.link(&format!("project/{path}"), target);
        let before = bench.tree();
        slice(&bench, "claude").install_fresh(&bench.project()).unwrap_err();
        assert_same(&bench.tree(), &before, path);
        let outside: Vec<_> = std::fs::read_dir(bench.at("outside")).unwrap().collect();
        assert_eq!((outside.len(), bench.read("outside/file").as_str()), (1, "{}"), "{path}");
    }
}

#[test]
fn input_that_is_an_installed_project_is_brought_up_to_date() {
    let bench = Bench::new();
    bench.install(&request("codex", "tea", "csharp")).unwrap();
    bench.write("corpus/.cratis/ai/rules/general.md", "# Better\n");
    slice(&bench, "claude").install_fresh(&bench.project()).unwrap();
    assert!(bench.read("project/CLAUDE.md").ends_with("# Better\n"));
    assert!(!bench.tree().contains_key("AGENTS.md"));
}
