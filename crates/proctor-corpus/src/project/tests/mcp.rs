//! MCP servers of a corpus in the configuration files of harnesses.

use crate::testing::{Bench, FORCE, assert_same, request};
use crate::{ConflictKind, InstallRequest, Manner, status, uninstall};

fn wanted(harnesses: &str) -> InstallRequest {
    request(harnesses, "tea/green", "csharp")
}

#[test]
fn each_harness_gets_the_member_that_it_reads() {
    let bench = Bench::with_mcp();
    let report = bench.install(&wanted("claude codex copilot cursor opencode")).unwrap();
    let actions: Vec<_> =
        report.actions.iter().filter(|action| action.contains("MCP")).map(String::as_str).collect();
    insta::assert_snapshot!(actions.join("\n"), @r"
    Configured MCP claude/screenplay in .mcp.json
    Configured MCP codex/screenplay in .codex/config.toml
    Configured MCP copilot/screenplay in .vscode/mcp.json
    Configured MCP cursor/screenplay in .cursor/mcp.json
    Configured MCP opencode/screenplay in opencode.json
    ");
    insta::assert_snapshot!(bench.read("project/.mcp.json"), @r#"
    {
      "mcpServers": {
        "screenplay": {
          "type": "stdio",
          "command": "kettle",
          "args": ["boil", "mcp", "--project-root-env", "CLAUDE_PROJECT_DIR"]
        }
      }
    }
    "#);
    assert_eq!(
        bench.read("project/.codex/config.toml"),
        "\n[mcp_servers.screenplay]\ncommand = \"kettle\"\nargs = [\"boil\", \"mcp\", \"--project-root\", \".\"]\n"
    );
    assert!(bench.read("project/.vscode/mcp.json").contains("${workspaceFolder}"));
    assert!(bench.read("project/opencode.json").contains("\"enabled\": true"));
    assert!(bench.paths().contains(".cratis/ai/mcp-servers.json\n"));
    assert!(bench.paths().contains(".cratis/ai/profile-catalog.json\n"));
    let status = status(&bench.project(), None).unwrap();
    assert_eq!(status.modified, []);
    assert_eq!(status.mcp_servers.len(), 5);
    let record = bench.read("project/.cratis/ai.manifest.json");
    assert!(record.contains("      \"Preimage\": null\n"), "{record}");

    uninstall(&bench.project(), Manner::default()).unwrap();
    assert_eq!(bench.read("project/.codex/config.toml"), "");
    assert!(!bench.read("project/.mcp.json").contains("screenplay"));
}

#[test]
fn other_bytes_of_the_users_files_stay() {
    let bench = Bench::with_mcp();
    let json = "\u{feff}{\r\n\t// mine\r\n\t\"mcpServers\": {\r\n\t\t\"other\": {\"command\": \"x\"}, // keep\r\n\t},\r\n}\r\n";
    let toml = "# mine\r\nmodel = 'm' # why\r\n[mcp_servers.other] # keep\r\ncommand = 'x'\r\n";
    bench.write("project/.mcp.json", json);
    bench.write("project/.codex/config.toml", toml);
    bench.install(&wanted("claude codex")).unwrap();
    let installed = bench.read("project/.codex/config.toml");
    assert!(installed.starts_with(toml), "{installed:?}");
    assert!(installed.ends_with("\"]\r\n"), "{installed:?}");
    let installed = bench.read("project/.mcp.json");
    for kept in ["\u{feff}{", "\t// mine\r\n", "\"other\": {\"command\": \"x\"}", "// keep"] {
        assert!(installed.contains(kept), "{kept:?} in {installed:?}");
    }
    uninstall(&bench.project(), Manner::default()).unwrap();
    assert_eq!(bench.read("project/.codex/config.toml"), toml);
    let left = bench.read("project/.mcp.json");
    assert!(left.contains("// keep") && !left.contains("screenplay"), "{left:?}");
}

#[test]
fn entries_of_others_are_conflicts_that_force_does_not_override() {
    let bench = Bench::with_mcp();
    bench.write("project/.mcp.json", r#"{"mcpServers": {"screenplay": {"command": "mine"}}}"#);
    bench.write("project/.codex/config.toml", "mcp_servers = {\"screenplay\" = {command = 'm'}}\n");
    bench.write("project/.cratis/ai/rules/general.md", "mine\n");
    let before = bench.tree();
    for manner in [Manner::default(), FORCE] {
        let report = bench.install(&InstallRequest { manner, ..wanted("claude codex") }).unwrap();
        let kinds: Vec<_> = report.conflicts.iter().map(|conflict| conflict.kind).collect();
        assert_eq!(kinds, [ConflictKind::ForeignMcpEntry; 2], "they come before other conflicts");
        assert_eq!(report.conflicts[0].path, ".mcp.json:mcpServers.screenplay");
        assert_eq!(report.conflicts[1].path, ".codex/config.toml:mcp_servers.screenplay");
        assert_same(&bench.tree(), &before, "");
    }
}

#[test]
fn edited_entries_are_reported_and_kept() {
    let bench = Bench::with_mcp();
    bench.install(&wanted("claude codex")).unwrap();
    let edited = bench.read("project/.mcp.json").replace("kettle", "mine");
    bench.write("project/.mcp.json", edited);
    let status = status(&bench.project(), None).unwrap();
    assert_eq!(
        status.modified[0].to_string(),
        ".mcp.json:mcpServers.screenplay (MCP entry changed)"
    );
    let before = bench.tree();
    for manner in [Manner::default(), FORCE] {
        let report = bench.install(&InstallRequest { manner, ..wanted("claude codex") }).unwrap();
        assert_eq!(report.conflicts[0].kind, ConflictKind::EditedMcpEntry);
        let report = uninstall(&bench.project(), manner).unwrap();
        assert_eq!(report.conflicts[0].kind, ConflictKind::EditedMcpEntry);
    }
    assert_same(&bench.tree(), &before, "");
}

#[test]
fn an_entry_that_was_only_laid_out_anew_is_still_ours() {
    let bench = Bench::with_mcp();
    bench.install(&wanted("claude")).unwrap();
    let json = r#"{"mcpServers":{"screenplay":{"args":["boil","mcp","--project-root-env","CLAUDE_PROJECT_DIR"],"command":"kettle","type":"stdio"}}}"#;
    bench.write("project/.mcp.json", json);
    assert_eq!(status(&bench.project(), None).unwrap().modified, []);
    let report = uninstall(&bench.project(), Manner::default()).unwrap();
    assert_eq!(report.conflicts, []);
    assert_eq!(bench.read("project/.mcp.json"), r#"{"mcpServers":{}}"#);
}

#[test]
fn an_entry_goes_when_its_profile_or_harness_goes() {
    let bench = Bench::with_mcp();
    bench.install(&wanted("claude codex")).unwrap();
    let report = bench.install(&request("codex", "cratis/documentation", "csharp")).unwrap();
    assert!(report.actions.contains(&"Removed MCP claude/screenplay from .mcp.json".to_owned()));
    assert!(!bench.read("project/.mcp.json").contains("screenplay"));
    assert!(!bench.read("project/.codex/config.toml").contains("screenplay"));
}

#[test]
fn changed_arguments_of_the_corpus_are_taken_over() {
    let bench = Bench::with_mcp();
    bench.install(&wanted("claude codex")).unwrap();
    let servers = bench.read("corpus/.cratis/ai/mcp-servers.json").replace("boil", "simmer");
    bench.write("corpus/.cratis/ai/mcp-servers.json", servers);
    let report = bench.install(&wanted("claude codex")).unwrap();
    assert_eq!(report.conflicts, []);
    assert!(bench.read("project/.mcp.json").contains("simmer"));
    let toml = bench.read("project/.codex/config.toml");
    assert!(toml.contains("simmer") && !toml.contains("boil"), "{toml}");
    assert_eq!(toml.matches("[mcp_servers").count(), 1);
}

#[test]
fn what_cannot_be_registered_is_said() {
    let bench = Bench::with_mcp();
    let report = bench.install(&wanted("pi kettle")).unwrap();
    insta::assert_snapshot!(report.unsupported_mcp_servers.join("\n"), @r"
    pi/screenplay: the corpus brings no MCP extension for this harness
    kettle/screenplay: no way to register it is known
    ");
    bench.write("corpus/.cratis/ai/harnesses/pi/extensions/cratis-mcp/index.ts", "export {};\n");
    let report = bench.install(&wanted("pi")).unwrap();
    assert_eq!(report.unsupported_mcp_servers, [""; 0]);
    assert!(report.actions.contains(&"Configured MCP pi/screenplay by its extension".to_owned()));
    assert_eq!(status(&bench.project(), None).unwrap().mcp_extensions, ["pi/screenplay"]);
}

#[test]
fn settings_of_the_project_are_followed() {
    let bench = Bench::with_mcp();
    let settings = |enabled: bool| {
        format!(
            r#"{{"mcpServers": {{"screenplay": {{"enabled": {enabled}, "root": "./model/x"}}}}}}"#
        )
    };
    bench.write("project/.cratis/ai.json", settings(true));
    let report = bench.install(&wanted("claude")).unwrap();
    assert!(report.actions.contains(&"Created MCP directory model/x".to_owned()));
    assert!(bench.at("project/model/x").is_dir());
    std::fs::remove_dir(bench.at("project/model/x")).unwrap();
    let found = status(&bench.project(), None).unwrap().modified;
    assert_eq!(found[0].to_string(), "model/x (MCP setting differs)");
    bench.install(&wanted("claude")).unwrap();
    bench.write("project/.cratis/ai.json", settings(false));
    let found = status(&bench.project(), None).unwrap().modified;
    assert_eq!(found[0].to_string(), "mcpServers.screenplay.enabled (MCP setting differs)");
    bench.install(&wanted("claude")).unwrap();
    assert!(!bench.read("project/.mcp.json").contains("screenplay"));
}

#[test]
fn broken_configuration_files_stop_everything() {
    for (path, text, expected) in [
        (".mcp.json", "{broken", ".mcp.json:1:2: not JSON: expected"),
        (".mcp.json", "[]", ".mcp.json: an array, expected an object"),
        (".mcp.json", r#"{"mcpServers": []}"#, ".mcp.json: mcpServers: an array"),
        (".mcp.json", r#"{"a": 1, "a": 2}"#, ".mcp.json:1:10: `a` stands twice"),
        (".codex/config.toml", "= 1", ".codex/config.toml: not TOML"),
        (
            ".codex/config.toml",
            "mcp_servers = {}\n",
            ".codex/config.toml: `mcp_servers` cannot take",
        ),
        ("opencode.json", "{}", "opencode.json: `opencode.jsonc` exists as well"),
    ] {
        let bench = Bench::with_mcp();
        bench.write(&format!("project/{path}"), text);
        if path == "opencode.json" {
            bench.write("project/opencode.jsonc", "{}");
        }
        let before = bench.tree();
        let error = bench.install(&wanted("claude codex opencode")).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
        assert_same(&bench.tree(), &before, "");
    }
    let bench = Bench::with_mcp();
    bench.write("outside.json", "{}");
    bench.link("project/.mcp.json", "../outside.json");
    bench.install(&wanted("claude")).unwrap_err();
    assert_eq!(bench.read("outside.json"), "{}");
}
