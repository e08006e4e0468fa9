//! The first installation into a project.

use crate::testing::{Bench, DRY_RUN, FORCE, assert_same, request};
use crate::{Compat, CorpusError, InstallError, InstallRequest, Manner, Selection};

#[test]
fn files_and_links_of_the_selection_are_installed() {
    let bench = Bench::new();
    let report = bench.install(&request("Claude", "tea", "csharp")).unwrap();
    assert_eq!(report.conflicts, []);
    insta::assert_snapshot!(report.actions.join("\n"), @r"
    Added agents/taster.md
    Added hooks/check.sh
    Added hooks/settings.template.json
    Added prompts/brew.prompt.md
    Added rules/csharp.md
    Added rules/general.md
    Added skills/brew/SKILL.md
    Added skills/steep/references/time.md
    Configured .claude/CLAUDE.md
    Configured .claude/agents
    Configured .claude/commands/brew.md
    Configured .claude/hooks
    Configured .claude/prompts
    Configured .claude/rules
    Configured .claude/settings.json
    Configured .claude/skills
    Configured CLAUDE.md
    ");
    insta::assert_snapshot!(bench.paths(), @r"
    .claude/CLAUDE.md -> ../.cratis/ai/rules/general.md
    .claude/agents -> ../.cratis/ai/agents
    .claude/commands/brew.md -> ../../.cratis/ai/prompts/brew.prompt.md
    .claude/hooks -> ../.cratis/ai/hooks
    .claude/prompts -> ../.cratis/ai/prompts
    .claude/rules -> ../.cratis/ai/rules
    .claude/settings.json -> ../.cratis/ai/hooks/settings.template.json
    .claude/skills -> ../.cratis/ai/skills
    .cratis/ai.json
    .cratis/ai.manifest.json
    .cratis/ai/agents/taster.md
    .cratis/ai/hooks/check.sh
    .cratis/ai/hooks/settings.template.json
    .cratis/ai/prompts/brew.prompt.md
    .cratis/ai/rules/csharp.md
    .cratis/ai/rules/general.md
    .cratis/ai/skills/brew/SKILL.md
    .cratis/ai/skills/steep/references/time.md
    CLAUDE.md -> .cratis/ai/rules/general.md
    ");
    assert_eq!(
        bench.read("project/.claude/rules/general.md"),
        "<!-- cratis-ai-managed: rules/general.md -->\n# General\n"
    );
    insta::assert_snapshot!(bench.read("project/.cratis/ai.json"), @r#"
    {
      "schemaVersion": "1.0",
      "harnesses": [
        "Claude"
      ],
      "profiles": [
        "tea"
      ],
      "languages": [
        "csharp"
      ]
    }
    "#);
}

#[test]
fn the_record_is_that_of_the_format() {
    let bench = Bench::new();
    bench.install(&request("codex", "", "")).unwrap();
    let record = bench.read("project/.cratis/ai.manifest.json");
    let revision = bench.corpus().revision();
    let record = record.replace(&revision, "REVISION");
    let tail = record.split_once("  \"Integrations\"").unwrap().1;
    assert!(record.starts_with(
        "{\n  \"SourceRevision\": \"REVISION\",\n  \"Files\": [\n    {\n      \"Source\": \"agents/taster.md\",\n      \"Destination\": \"agents/taster.md\",\n      \"Hash\": \""
    ));
    assert_eq!(
        tail,
        ": [\n    {\n      \"Path\": \".agents/skills\",\n      \"Target\": \"../.cratis/ai/skills\",\n      \"IsDirectory\": true,\n      \"PreserveExisting\": false\n    },\n    {\n      \"Path\": \"AGENTS.md\",\n      \"Target\": \".cratis/ai/rules/general.md\",\n      \"IsDirectory\": false,\n      \"PreserveExisting\": true\n    }\n  ],\n  \"McpServers\": [],\n  \"UnsupportedMcpServers\": [],\n  \"McpExtensions\": []\n}"
    );
}

#[test]
fn scripts_are_executable_and_nothing_else_is() {
    use std::os::unix::fs::PermissionsExt as _;
    let bench = Bench::new();
    let tool = bench.at("corpus/.cratis/ai/hooks/tool.py");
    std::fs::write(&tool, "print()\n").unwrap();
    std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o744)).unwrap();
    bench.install(&request("", "", "")).unwrap();
    let mode = |path: &str| {
        let metadata = std::fs::metadata(bench.project().join(".cratis/ai").join(path)).unwrap();
        metadata.permissions().mode() & 0o111 != 0
    };
    assert!(mode("hooks/check.sh"), "a shebang makes a script");
    assert!(mode("hooks/tool.py"), "so does the corpus's own bit");
    assert!(!mode("rules/general.md"));
}

#[test]
fn no_language_means_any_language_unless_compatibility_is_asked_for() {
    let bench = Bench::new();
    let report = bench.install(&request("codex", "cratis/application/x", "")).unwrap();
    assert!(bench.paths().contains("rules/csharp.md") && bench.paths().contains("rules/app.md"));
    insta::assert_snapshot!(report.notes.join("\n"), @"no language is selected, so 1 rule for C# or TypeScript came along; `--compat` leaves such rules out, as the Cratis CLI does");
    let strict = InstallRequest { compat: Compat::Reference, ..request("codex", "tea", "") };
    let report = bench.install(&strict).unwrap();
    assert!(report.notes.is_empty());
    assert!(!bench.paths().contains("rules/csharp.md"));
}

#[test]
fn a_harness_without_known_links_gets_its_files() {
    let bench = Bench::new();
    let report = bench.install(&request("kettle", "", "csharp")).unwrap();
    assert!(bench.paths().contains("harnesses/kettle/on.txt"));
    insta::assert_snapshot!(report.notes.join("\n"), @"no links are known for harness `kettle`; only its files are installed");
    let report = bench.install(&request("", "", "csharp")).unwrap();
    insta::assert_snapshot!(report.notes.join("\n"), @"no harness is selected, so no links are made");
}

#[test]
fn everything_that_is_not_offered_is_named_at_once() {
    let bench = Bench::new();
    let error = bench.install(&request("cloude", "tee", "cobol")).unwrap_err();
    insta::assert_snapshot!(error, @r"
    the corpus offers no harness `cloude` (did you mean `claude`?)
    the corpus offers no profile `tee` (did you mean `tea`?)
    the corpus offers no language `cobol`
    ");
    let error = bench.install(&request("claude", "tea/forgotten", "")).unwrap_err();
    insta::assert_snapshot!(error, @"unknown profile `tea/forgotten`: the corpus offers it without describing it (did you mean `tea/green`?)");
    assert!(matches!(error, InstallError::Corpus(CorpusError::Selection(_))));
    assert_eq!(bench.paths(), "");
}

#[test]
fn a_dry_run_says_the_same_and_changes_nothing() {
    let bench = Bench::with_mcp();
    bench.write("project/.cratis/PROJECT.md", "## One\n");
    let before = bench.tree();
    let dry = InstallRequest { manner: DRY_RUN, ..request("claude pi", "tea", "csharp") };
    let planned = bench.install(&dry).unwrap();
    assert!(planned.dry_run);
    assert_same(&bench.tree(), &before, "");
    let done = bench.install(&InstallRequest { manner: Manner::default(), ..dry }).unwrap();
    assert_eq!(planned.actions, done.actions);
    assert_eq!(planned.unsupported_mcp_servers, done.unsupported_mcp_servers);
}

#[test]
fn what_is_the_users_is_never_replaced() {
    let bench = Bench::new();
    bench.write("project/.cratis/ai/rules/general.md", "mine\n");
    bench.write("project/.claude/settings.json", "{}");
    bench.write("project/.claude/rules/mine.md", "mine\n");
    bench.link("project/.claude/hooks", "../elsewhere");
    let before = bench.tree();
    for manner in [Manner::default(), FORCE] {
        let report = bench
            .install(&InstallRequest { manner, ..request("claude", "tea", "csharp") })
            .unwrap();
        let conflicts: Vec<_> = report.conflicts.iter().map(ToString::to_string).collect();
        insta::allow_duplicates! {
            insta::assert_snapshot!(conflicts.join("\n"), @r"
            `.claude/hooks` exists and was not installed
            `.claude/rules` exists and was not installed
            `.claude/settings.json` exists and was not installed
            `rules/general.md` exists and was not installed
            ");
        }
        assert_eq!(report.actions, [""; 0]);
        assert_same(&bench.tree(), &before, "");
    }
}

#[test]
fn a_link_that_leads_where_ours_would_is_left_and_not_claimed() {
    let bench = Bench::new();
    bench.link("project/.agents/skills", "../.cratis/ai/skills");
    let report = bench.install(&request("codex", "tea", "csharp")).unwrap();
    assert!(!report.actions.contains(&"Configured .agents/skills".to_owned()));
    assert!(!bench.read("project/.cratis/ai.manifest.json").contains(".agents/skills"));
    crate::uninstall(&bench.project(), Manner::default()).unwrap();
    assert_eq!(bench.tree()[".agents/skills"], "link ../.cratis/ai/skills");
}

#[test]
fn instructions_of_the_users_are_left_and_not_claimed() {
    let bench = Bench::new();
    bench.write("project/AGENTS.md", "mine\n");
    let report = bench.install(&request("codex", "tea", "csharp")).unwrap();
    assert!(!report.actions.contains(&"Configured AGENTS.md".to_owned()));
    assert_eq!(bench.read("project/AGENTS.md"), "mine\n");
    assert!(!bench.read("project/.cratis/ai.manifest.json").contains("AGENTS.md"));
}

#[test]
fn the_projects_own_instructions_are_taken_over_once() {
    let bench = Bench::new();
    bench.write("project/.cratis/PROJECT.md", "# Mine\r\n\r\n## Build\r\nmake\r\n");
    let report = bench.install(&request("codex", "tea", "csharp")).unwrap();
    insta::assert_snapshot!(report.actions[0], @"Split .cratis/PROJECT.md into .cratis/ai/rules/project.md and .cratis/ai/rules/project/");
    assert_eq!(bench.tree()["AGENTS.md"], "link .cratis/ai/rules/project.md");
    assert_eq!(
        bench.read("project/.cratis/ai/rules/project/build.md"),
        "---\napplyTo: \"**/*\"\n---\n\n## Build\nmake\n"
    );
    assert!(!bench.read("project/.cratis/ai.manifest.json").contains("\"rules/project"));
    bench.write("project/.cratis/ai/rules/project/build.md", "edited\n");
    let again = bench.install(&request("codex", "tea", "csharp")).unwrap();
    assert!(again.actions.iter().all(|action| action.starts_with("Updated")), "{again:?}");
    assert_eq!(bench.read("project/.cratis/ai/rules/project/build.md"), "edited\n");
    crate::uninstall(&bench.project(), Manner::default()).unwrap();
    assert_eq!(bench.read("project/.cratis/ai/rules/project/build.md"), "edited\n");
}

#[test]
fn instructions_without_headings_are_copied() {
    let bench = Bench::new();
    bench.write("project/.agents/PROJECT.md", "Be kind.\n");
    bench.install(&request("claude", "tea", "csharp")).unwrap();
    assert_eq!(bench.read("project/CLAUDE.md"), "Be kind.\n");
    assert_eq!(bench.tree()[".claude/CLAUDE.md"], "link ../.cratis/ai/rules/project.md");
}

#[test]
fn mistakes_in_the_projects_files_stop_everything() {
    let bench = Bench::new();
    bench.write("project/.cratis/ai.json", "{\"harnesses\": {}, \"profiles\": 1}");
    let error = bench.install(&request("codex", "tea", "")).unwrap_err();
    insta::assert_snapshot!(error, @r"
    .cratis/ai.json: harnesses: an object, expected an array of strings
    .cratis/ai.json: profiles: a number, expected an array of strings
    ");
    assert_eq!(bench.paths(), ".cratis/ai.json\n");
}

#[test]
fn a_directory_without_a_manifest_is_no_corpus() {
    let bench = Bench::new();
    let open = |path: &str| crate::Corpus::open(&bench.at(path)).unwrap_err().to_string();
    assert!(
        open("project")
            .ends_with("is not a guidance corpus: `.cratis/ai/manifest.json` is missing")
    );
    bench.remove("corpus/.cratis/ai/profile-catalog.json");
    assert!(open("corpus").ends_with("`.cratis/ai/profile-catalog.json` is missing"));
    bench.write("corpus/.cratis/ai/profile-catalog.json", "{}");
    bench.write("corpus/.cratis/ai/manifest.json", "{}");
    let corpus = bench.corpus();
    let slice = corpus.slice(&Selection::default(), Compat::Proctor).unwrap();
    assert_eq!(slice.files().len(), 6, "a corpus that offers nothing still has common files");
}
