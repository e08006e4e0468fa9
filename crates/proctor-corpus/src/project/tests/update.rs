//! Later installations, status and removal.

use crate::testing::{Bench, FORCE, assert_same, forced, lines, request};
use crate::{Change, Compat, InstallError, Manner, check_clean, status, uninstall, update};

fn listed(bench: &Bench) -> String {
    let status = status(&bench.project(), None).unwrap();
    lines(status.modified)
}

fn conflicts(report: &crate::InstallReport) -> String {
    lines(&report.conflicts)
}

#[test]
fn a_second_installation_changes_what_the_corpus_changed() {
    let bench = Bench::new();
    bench.install(&request("claude", "tea", "csharp")).unwrap();
    bench.write("corpus/.cratis/ai/rules/general.md", "# Better\n");
    bench.write("corpus/.cratis/ai/rules/new.md", "# New\n");
    bench.remove("corpus/.cratis/ai/rules/csharp.md");
    bench.remove("corpus/.cratis/ai/prompts/brew.prompt.md");
    let report =
        update(&bench.project(), &bench.corpus(), Compat::Proctor, Manner::default()).unwrap();
    insta::assert_snapshot!(report.actions.join("\n"), @r"
    Updated agents/taster.md
    Updated hooks/check.sh
    Updated hooks/settings.template.json
    Updated rules/general.md
    Added rules/new.md
    Updated skills/brew/SKILL.md
    Updated skills/steep/references/time.md
    Removed prompts/brew.prompt.md
    Removed rules/csharp.md
    Removed .claude/commands/brew.md
    ");
    assert!(bench.read("project/.cratis/ai/rules/general.md").ends_with("# Better\n"));
    assert_eq!(listed(&bench), "");
    assert_eq!(bench.tree()[".claude/commands"], "directory 755", "empty directories stay");
}

#[test]
fn installing_again_is_a_quiet_no_op() {
    let bench = Bench::new();
    bench.install(&request("pi cursor", "tea", "csharp")).unwrap();
    let before = bench.tree();
    let modified = |path: &str| std::fs::metadata(bench.at(path)).unwrap().modified().unwrap();
    let time = modified("project/.cratis/ai/rules/general.md");
    bench.install(&request("pi cursor", "tea", "csharp")).unwrap();
    assert_same(&bench.tree(), &before, "");
    assert_eq!(modified("project/.cratis/ai/rules/general.md"), time);
}

#[test]
fn another_harness_takes_the_place_of_the_first() {
    let bench = Bench::new();
    bench.install(&request("codex", "tea", "csharp")).unwrap();
    bench.install(&request("copilot", "tea", "csharp")).unwrap();
    let paths = bench.paths();
    let links = lines(paths.lines().filter(|line| line.contains("->")));
    insta::assert_snapshot!(links, @r"
    .github/agents/taster.agent.md -> ../../.cratis/ai/agents/taster.md
    .github/copilot-instructions.md -> ../.cratis/ai/rules/general.md
    .github/instructions -> ../.cratis/ai/rules
    .github/prompts -> ../.cratis/ai/prompts
    .github/skills -> ../.cratis/ai/skills
    ");
}

#[test]
fn every_kind_of_change_is_told_apart() {
    let bench = Bench::new();
    bench.install(&request("claude", "tea", "csharp")).unwrap();
    bench.write("project/.cratis/ai/rules/general.md", "edited\n");
    bench.remove("project/.cratis/ai/rules/csharp.md");
    let text = bench.read("project/.cratis/ai/prompts/brew.prompt.md").replace('\n', "\r\n");
    bench.write("project/.cratis/ai/prompts/brew.prompt.md", text);
    let bom = "\u{feff}".to_owned() + &bench.read("project/.cratis/ai/agents/taster.md");
    bench.write("project/.cratis/ai/agents/taster.md", bom);
    bench.remove("project/.claude/skills");
    bench.write("project/.claude/skills/mine/SKILL.md", "mine\n");
    bench.remove("project/CLAUDE.md");
    bench.link("project/CLAUDE.md", "README.md");
    bench.remove("project/.claude/rules");
    insta::assert_snapshot!(listed(&bench), @r"
    .claude/rules (missing)
    .claude/skills (link changed)
    .cratis/ai/agents/taster.md (modified)
    .cratis/ai/prompts/brew.prompt.md (line endings only)
    .cratis/ai/rules/csharp.md (missing)
    .cratis/ai/rules/general.md (modified)
    CLAUDE.md (link changed)
    ");
    let changed = check_clean(&bench.project()).unwrap().unwrap_err();
    assert_eq!(changed.len(), 7);
    assert_eq!(changed[3].kind, Change::LineEndingsOnly);
}

#[test]
fn changed_files_are_refused_without_force_and_replaced_with_it() {
    let bench = Bench::new();
    let wanted = request("claude", "tea", "csharp");
    bench.install(&wanted).unwrap();
    bench.write("project/.cratis/ai/rules/general.md", "edited\n");
    bench.remove("project/.claude/settings.json");
    bench.write("project/.claude/settings.json", "{\"mine\": 1}");
    bench.remove("project/.claude/rules");
    bench.link("project/.claude/rules", "elsewhere");
    let before = bench.tree();
    let report = bench.install(&wanted).unwrap();
    insta::assert_snapshot!(conflicts(&report), @r"
    `.claude/rules` was changed after it was installed
    `.claude/settings.json` was changed after it was installed
    `rules/general.md` was changed after it was installed
    ");
    assert_same(&bench.tree(), &before, "");
    let report = bench.install(&forced(wanted)).unwrap();
    assert_eq!(conflicts(&report), "");
    assert_eq!(listed(&bench), "");
}

#[test]
fn force_leaves_what_cannot_be_ours() {
    let bench = Bench::new();
    let wanted = request("claude", "tea", "csharp");
    bench.install(&wanted).unwrap();
    bench.remove("project/CLAUDE.md");
    bench.write("project/CLAUDE.md", "mine\n");
    let report = bench.install(&forced(wanted.clone())).unwrap();
    insta::assert_snapshot!(report.notes.join("\n"), @"`CLAUDE.md` is yours now and was left");
    assert_eq!(bench.read("project/CLAUDE.md"), "mine\n");
    assert_eq!(listed(&bench), "", "it is not claimed any more");
    bench.remove("project/.claude/skills");
    bench.write("project/.claude/skills/mine/SKILL.md", "mine\n");
    bench.remove("project/.cratis/ai/rules/general.md");
    bench.write("project/.cratis/ai/rules/general.md/inside", "mine\n");
    let before = bench.tree();
    let report = bench.install(&forced(wanted)).unwrap();
    insta::assert_snapshot!(conflicts(&report), @r"
    `.claude/skills` exists and was not installed
    `rules/general.md` exists and was not installed
    ");
    assert_same(&bench.tree(), &before, "");
}

#[test]
fn removing_leaves_the_choice_and_everything_of_the_users() {
    let bench = Bench::new();
    bench.write("project/README.md", "mine\n");
    bench.install(&request("claude codex", "tea", "csharp")).unwrap();
    bench.write("project/.cratis/ai/rules/mine.md", "mine\n");
    let report = uninstall(&bench.project(), Manner::default()).unwrap();
    insta::assert_snapshot!(report.actions[..3].join("\n"), @r"
    Removed agents/taster.md
    Removed hooks/check.sh
    Removed hooks/settings.template.json
    ");
    insta::assert_snapshot!(bench.paths(), @r"
    .cratis/ai.json
    .cratis/ai/rules/mine.md
    README.md
    ");
    assert_eq!(uninstall(&bench.project(), Manner::default()).unwrap().actions, [""; 0]);
}

#[test]
fn removing_respects_changes() {
    let bench = Bench::new();
    bench.install(&request("claude", "tea", "csharp")).unwrap();
    bench.write("project/.cratis/ai/rules/general.md", "edited\n");
    bench.remove("project/.claude/settings.json");
    bench.write("project/.claude/settings.json", "{\"mine\": 1}");
    let before = bench.tree();
    let report = uninstall(&bench.project(), Manner::default()).unwrap();
    assert_eq!(report.conflicts.len(), 2);
    let report = uninstall(&bench.project(), Manner { dry_run: true, ..FORCE }).unwrap();
    assert!(report.dry_run && !report.actions.is_empty());
    assert_same(&bench.tree(), &before, "");
    let report = uninstall(&bench.project(), FORCE).unwrap();
    insta::assert_snapshot!(report.notes.join("\n"), @"`.claude/settings.json` is no link any more and was left");
    insta::assert_snapshot!(bench.paths(), @r"
    .claude/settings.json
    .cratis/ai.json
    ");
}

#[test]
fn a_project_without_a_choice_is_not_installed() {
    let bench = Bench::new();
    let missing = |error| matches!(error, InstallError::NotInstalled { .. });
    assert!(missing(status(&bench.project(), None).unwrap_err()));
    assert!(missing(check_clean(&bench.project()).unwrap_err()));
    let corpus = bench.corpus();
    assert!(missing(
        update(&bench.project(), &corpus, Compat::Proctor, Manner::default()).unwrap_err()
    ));
    bench.write("project/.cratis/ai.json", "{}");
    assert_eq!(status(&bench.project(), None).unwrap().revision, "unknown");
    insta::assert_snapshot!(check_clean(&bench.project()).unwrap_err(), @"`.cratis/ai.manifest.json` does not exist: no guidance has been installed here");
    assert!(uninstall(&bench.project(), Manner::default()).unwrap().actions.is_empty());
}

#[test]
fn status_compares_revisions() {
    let bench = Bench::new();
    bench.install(&request("codex", "tea", "csharp")).unwrap();
    let now = status(&bench.project(), Some(&bench.corpus())).unwrap();
    assert_eq!(now.update_available, Some(false));
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1);
    std::fs::File::open(bench.at("corpus")).unwrap().set_modified(time).unwrap();
    let later = status(&bench.project(), Some(&bench.corpus())).unwrap();
    assert_eq!(later.update_available, Some(true));
    assert_eq!(later.available_revision.as_deref(), Some("1970-01-01T00:00:01.0000000Z"));
    assert_eq!(status(&bench.project(), None).unwrap().update_available, None);
}

#[test]
fn permissions_of_a_replaced_file_stay() {
    use std::os::unix::fs::PermissionsExt as _;
    let bench = Bench::new();
    let wanted = request("codex", "tea", "csharp");
    bench.install(&wanted).unwrap();
    let set = |path: &str, mode| {
        let path = bench.project().join(".cratis/ai").join(path);
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    set("rules/general.md", 0o640);
    set("hooks/check.sh", 0o640);
    set("agents/taster.md", 0o755);
    bench.write("corpus/.cratis/ai/rules/general.md", "# Better\n");
    bench.install(&wanted).unwrap();
    let tree = bench.tree();
    let mode = |path: &str| tree[&format!(".cratis/ai/{path}")][5..8].to_owned();
    assert_eq!(mode("rules/general.md"), "640");
    assert_eq!(mode("hooks/check.sh"), "750", "whoever can read a script may run it");
    assert_eq!(mode("agents/taster.md"), "644", "a stale bit is taken away");
}
