//! `proctor plugin bundle` and `proctor plugin verify`.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use proctor_testkit::{FakeModel, SealedHome, TestContext, Turn};
use serde_json::Value;

fn write_project(context: &TestContext, include_evals: bool) {
    let settings = format!(
        "[plugin]\nname = \"billing\"\nversion = \"1.2.0\"\ndescription = \"Billing tools\"\n\
         include_evals = {include_evals}\n"
    );
    context.write("proctor.toml", settings);
    let skill = |name: &str| format!("---\nname: {name}\ndescription: Does {name}\n---\nDo it.\n");
    context.write(".ai-rulez/skills/deploy/SKILL.md", skill("deploy"));
    context.write(".ai-rulez/skills/deploy/scripts/run.sh", "#!/bin/sh\n");
    let script = context.project().join(".ai-rulez/skills/deploy/scripts/run.sh");
    std::fs::set_permissions(script, PermissionsExt::from_mode(0o755)).unwrap();
    context.write(".ai-rulez/skills/deploy/.DS_Store", "junk");
    let case = "id: a\nprompt: p\nexpect_trigger: true\n";
    context.write(".ai-rulez/skills/deploy/evals/a.eval.yaml", case);
    context.write(".ai-rulez/skills/deploy/evals/results/old.json", "{}");
    context.write(".ai-rulez/domains/ops/skills/audit/SKILL.md", skill("audit"));
    context.write(".ai-rulez/evals/audit/b.eval.yaml", case);
    context.write(".ai-rulez/evals/README.md", "cases\n");
}

fn context() -> TestContext {
    TestContext::new(env!("CARGO_BIN_EXE_proctor"))
}

/// Every file below a folder, sorted.
fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push(path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    found.sort();
    found
}

#[test]
fn a_bundle_leaves_cases_out_unless_they_are_wanted() {
    let context = context();
    write_project(&context, false);
    let run = context.run(["plugin", "bundle"]);
    insta::assert_snapshot!(run, @r"
    exit 0
    --- stdout
    plugins/billing: plugin billing with 2 skill(s), 4 files
    --- stderr
    ");
    let folder = context.project().join("plugins/billing");
    let without = [
        ".ai-rulez-generated.json",
        ".claude-plugin/plugin.json",
        "skills/audit/SKILL.md",
        "skills/deploy/SKILL.md",
        "skills/deploy/scripts/run.sh",
    ];
    assert_eq!(files(&folder), without);
    let mode = std::fs::metadata(folder.join("skills/deploy/scripts/run.sh")).unwrap();
    assert_eq!(mode.permissions().mode() & 0o777, 0o755);
    insta::assert_snapshot!(context.read("plugins/billing/.claude-plugin/plugin.json"));
    insta::assert_snapshot!(context.read("plugins/billing/.ai-rulez-generated.json"));

    // The bundle that is there is replaced as a whole.
    write_project(&context, true);
    let run = context.run(["plugin", "bundle"]);
    assert!(run.stdout.contains("7 files, 3 of them eval material"), "{run}");
    let evals = ["evals/README.md", "evals/audit/b.eval.yaml", "skills/deploy/evals/a.eval.yaml"];
    let mut all: Vec<&str> = without.iter().chain(&evals).copied().collect();
    all.sort_unstable();
    assert_eq!(files(&folder), all);
    assert_eq!(files(&context.project().join("plugins")).len(), all.len());
    let verified = context.run(["plugin", "verify", "plugins/billing"]);
    assert_eq!(verified.code, 0);
    assert_eq!(verified.stdout, "plugins/billing: 7 files are what was bundled\n");
}

#[test]
fn the_cases_of_the_project_may_lie_elsewhere() {
    let context = context();
    write_project(&context, true);
    let settings = context.read("proctor.toml");
    let point_to = |folder: &str| {
        context.write("proctor.toml", format!("{settings}content_root = \"{folder}\"\n"));
        context.run(["plugin", "bundle"])
    };
    context.write("content/evals/audit/c.eval.yaml", "x");
    assert_eq!(point_to("content").code, 0);
    let evals = files(&context.project().join("plugins/billing/evals"));
    assert_eq!(evals, ["audit/c.eval.yaml"]);
    std::fs::create_dir(context.project().join("../evals")).unwrap();
    let outside = point_to("..");
    assert_eq!(outside.code, 2);
    assert!(outside.stderr.contains("leads out of the project"), "{outside}");
}

#[test]
fn every_change_to_a_bundle_is_found() {
    let context = context();
    write_project(&context, true);
    assert_eq!(context.run(["plugin", "bundle", "--output", "b"]).code, 0);
    let folder = context.project().join("b");
    context.write("b/skills/deploy/evals/a.eval.yaml", "id: b\n");
    context.write("b/skills/deploy/evil\u{1b}[2J.md", "x");
    std::fs::remove_file(folder.join("evals/README.md")).unwrap();
    let skill = folder.join("skills/audit/SKILL.md");
    std::fs::rename(&skill, context.project().join("copy.md")).unwrap();
    symlink("../../../copy.md", &skill).unwrap();
    let verified = context.run(["plugin", "verify", "b"]);
    insta::assert_snapshot!(verified, @r"
    exit 1
    --- stdout
    edited: skills/deploy/evals/a.eval.yaml
    missing: evals/README.md
    not recorded: skills/deploy/evil\u{1b}[2J.md
    a link in place of the file: skills/audit/SKILL.md
    b: 4 difference(s) to the 7 files recorded
    --- stderr
    ");
    let again = context.run(["plugin", "bundle", "--output", "b"]);
    assert_eq!(again.code, 2);
    assert!(again.stderr.contains("a bundle that somebody changed"), "{again}");
    assert!(folder.join("skills/deploy/evals/a.eval.yaml").exists());
}

#[test]
fn a_sidecar_that_cannot_be_believed_is_an_error() {
    let context = context();
    let sidecar = |outputs: &str| {
        format!("{{\"schema_version\": \"v1\", \"source_hash\": \"x\", \"outputs\": {outputs}}}")
    };
    for (text, expected) in [
        (None, "does not exist"),
        (Some("{}".to_owned()), "is no sidecar of a bundle"),
        (Some(sidecar("{}").replace("v1", "v2")), "schema version \"v2\""),
        (Some(sidecar(r#"{"../x": {"content_hash": "sha256:0"}}"#)), "no path inside a bundle"),
        (Some(sidecar(r#"{"/etc/passwd": {"content_hash": "sha256:0"}}"#)), "no path inside"),
        (Some(sidecar(r#"{"x": {"content_hash": "blake3:0"}}"#)), "other than SHA-256"),
    ] {
        if let Some(text) = text {
            context.write("b/.ai-rulez-generated.json", text);
        }
        let run = context.run(["plugin", "verify", "b"]);
        assert_eq!(run.code, 2, "{run}");
        assert!(run.stderr.contains(expected), "{expected}: {run}");
    }
}

#[test]
fn links_are_copied_or_refused() {
    let context = context();
    write_project(&context, true);
    let skill = context.project().join(".ai-rulez/skills/deploy");
    context.write("shared/notes.md", "shared\n");
    symlink("../../../shared/notes.md", skill.join("notes.md")).unwrap();
    assert_eq!(context.run(["plugin", "bundle"]).code, 0);
    assert_eq!(context.read("plugins/billing/skills/deploy/notes.md"), "shared\n");
    assert!(!context.project().join("plugins/billing/skills/deploy/notes.md").is_symlink());
    let outside = context.project().parent().unwrap().join("outside");
    std::fs::write(&outside, "secret").unwrap();
    for (link, target, expected) in [
        ("a", "../../../../outside", "leads out of the project"),
        ("b", "../../../shared", "something other than a file"),
        ("c", "nowhere", "cannot be read"),
        ("evals/d", "../../../../../outside", "leads out of the project"),
    ] {
        symlink(target, skill.join(link)).unwrap();
        let run = context.run(["plugin", "bundle", "--output", "other"]);
        assert_eq!(run.code, 2, "{run}");
        assert!(run.stderr.contains(expected), "{link}: {run}");
        assert!(!context.project().join("other").exists());
        std::fs::remove_file(skill.join(link)).unwrap();
    }
}

#[test]
fn what_cannot_be_bundled_is_said() {
    let context = context();
    let run = context.run(["plugin", "bundle"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("no skills in"), "{run}");
    context.write(".ai-rulez/skills/a/SKILL.md", "x");
    let run = context.run(["plugin", "bundle"]);
    assert!(run.stderr.contains("the plugin has no name"), "{run}");
    context.write(".ai-rulez/config.toml", "[plugin]\nname = \"My Plugin\"\n");
    let run = context.run(["plugin", "bundle"]);
    assert!(run.stderr.contains("\"My Plugin\" is no name for a plugin"), "{run}");
    context.write(".ai-rulez/config.toml", "[plugin]\nname = \"mine\"\n");
    context.write("taken/file", "x");
    for (output, expected) in [
        ("taken", "holds no bundle"),
        ("taken/file", "is no folder"),
        (".ai-rulez/skills/a/b", "lies inside the skill `a`"),
    ] {
        let run = context.run(["plugin", "bundle", "--output", output]);
        assert_eq!(run.code, 2, "{run}");
        assert!(run.stderr.contains(expected), "{run}");
    }
    assert_eq!(context.run(["plugin", "bundle"]).code, 0);
    assert!(context.project().join("plugins/mine/.claude-plugin/plugin.json").exists());
}

/// Claude Code itself takes the bundle, and offers its skills in a session.
#[test]
fn claude_code_loads_the_bundle() {
    let model = FakeModel::start(vec![Turn::text("hello")]);
    let Some(home) = SealedHome::with_harness("claude", &model) else { return };
    let context = TestContext::in_home(env!("CARGO_BIN_EXE_proctor"), home);
    write_project(&context, true);
    assert_eq!(context.run(["plugin", "bundle"]).code, 0);
    let claude = |args: &[&str]| {
        let mut command = context.proctor_cmd();
        let program = context.project().parent().unwrap().join("bin/claude");
        let mut real = std::process::Command::new(program);
        real.current_dir(context.project()).env_clear().args(args);
        for (name, value) in command.get_envs() {
            real.env(name, value.unwrap_or_default());
        }
        command = real;
        context.run_command(&mut command)
    };
    let validated = claude(&["plugin", "validate", "--json", "plugins/billing"]);
    assert_eq!(validated.code, 0, "{validated}");
    let report: Value = serde_json::from_str(&validated.stdout).unwrap();
    assert_eq!(report["success"], true, "{report:#}");
    assert_eq!(report["manifest"]["errors"], serde_json::json!([]), "{report:#}");
    assert_eq!(
        report["provides"]["skills"],
        serde_json::json!(["billing:audit", "billing:deploy"]),
        "{report:#}"
    );
    let session = claude(&[
        "-p",
        "--output-format",
        "stream-json",
        "--verbose",
        "--max-turns",
        "1",
        "--no-session-persistence",
        "--setting-sources",
        "",
        "--plugin-dir",
        "plugins/billing",
        "hi",
    ]);
    let init = session.stdout.lines().filter_map(|line| serde_json::from_str(line).ok());
    let init = init.into_iter().find(|event: &Value| event["subtype"] == "init").unwrap();
    let skills: Vec<&str> =
        init["skills"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(skills.contains(&"billing:deploy") && skills.contains(&"billing:audit"), "{init:#}");
    assert!(init["plugin_errors"].as_array().is_none_or(Vec::is_empty), "{init:#}");
}
