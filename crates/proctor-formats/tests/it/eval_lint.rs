//! The rules about skills, over projects on disk and records made by hand.

use std::fs;

use camino::Utf8PathBuf;
use proctor_formats::eval::{EvalSettings, Evidence, Recorded, find, inspect, lint, skill_digest};
use proctor_formats::tree::Problems;
use proctor_model::Diagnostic;
use proctor_model::eval::{
    ActivationRecord, Finding, PassMark, Rule, Score, SkillRecord, StolenBy,
};
use tempfile::TempDir;

struct Fixture {
    _folder: TempDir,
    root: Utf8PathBuf,
}

const CASE: &str = "id: a\nprompt: Ship it with deploy now\nexpect_trigger: true\n";

fn fixture(files: &[(&str, &str)]) -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let root = Utf8PathBuf::from_path_buf(folder.path().to_owned()).unwrap();
    for (path, text) in files {
        let file = root.join(".ai-rulez/skills").join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    Fixture { _folder: folder, root }
}

/// One skill `deploy` with one case.
fn deploy() -> Fixture {
    fixture(&[("deploy/SKILL.md", "---\nname: deploy\n---\n"), ("deploy/evals/a.eval.yaml", CASE)])
}

fn settings(text: &str) -> EvalSettings {
    let mut settings = EvalSettings::default();
    let mut problems = Problems::new("config.toml".into());
    settings.read("config.toml".into(), text.as_bytes(), &mut problems);
    assert_eq!(problems.finish().to_string(), "");
    settings
}

fn findings(fixture: &Fixture, toml: &str, recorded: Recorded<'_>) -> Vec<Finding> {
    let project = find(&fixture.root, None).unwrap();
    let skills: Vec<_> = project.skills.iter().collect();
    lint(&project, &inspect(&project, &skills), recorded, &settings(toml))
}

fn shown(fixture: &Fixture, toml: &str, recorded: Recorded<'_>) -> String {
    let all = findings(fixture, toml, recorded);
    all.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn record() -> SkillRecord {
    SkillRecord {
        id: "deploy".to_owned(),
        digest: "sha256:old".to_owned(),
        runner: "command".to_owned(),
        score: Score { cases: 4, scored: 4, passed: 3, pass_rate: 0.75, ..Score::default() },
        last_pass: Some(PassMark {
            digest: "sha256:old".to_owned(),
            date: "2026-10-05".to_owned(),
        }),
        ..SkillRecord::default()
    }
}

const ALL_ON: &str = "[lint.evals]\nrequire = true\nrequire_fresh = \"warn\"\nmin_pass_rate = 0.8\n\
    min_activation_recall = 0.8\nmin_activation_precision = 0.9\nconfusion_threshold = 0.25\n\
    [lint.severity]\nAR9A4 = \"info\"\n";

const NO_RECORDS: Recorded<'_> = Recorded::Records(&[]);

#[test]
fn a_clean_project_has_no_findings() {
    assert_eq!(shown(&deploy(), "", NO_RECORDS), "");
    assert_eq!(shown(&deploy(), "[lint.evals]\nrequire = true\n", NO_RECORDS), "");
}

#[test]
fn mistakes_in_cases_are_errors_and_warnings_stay_warnings() {
    let fixture = fixture(&[
        ("deploy/SKILL.md", "---\nname: deploy\n---\n"),
        (
            "deploy/evals/a.eval.yaml",
            "tags: [x]\ncases:\n  - {id: A, prompt: p, expect_trigger: true, x: 1}\n",
        ),
        ("lonely/evals/b.eval.yaml", CASE),
    ]);
    insta::assert_snapshot!(shown(&fixture, "", NO_RECORDS), @r#"
    .ai-rulez/skills/deploy/evals/a.eval.yaml:1:1: warning AR996 eval-case-invalid: tags: is ignored beside `cases` (hint: move it into a case)
    .ai-rulez/skills/deploy/evals/a.eval.yaml:3:10: error AR996 eval-case-invalid: cases[0].id: expected an id, found "A" (hint: lower-case letters, digits, `.`, `_` and `-`, first a letter or a digit)
    .ai-rulez/skills/deploy/evals/a.eval.yaml:3:46: error AR996 eval-case-invalid: cases[0].x: unknown key (hint: known here: `id`, `description`, `prompt`, `prompt_file`, `expect_trigger`, `near_miss`, `files`, `assertions`, `rubric`, `rubric_items`, `rubric_min_score`, `model`, `tags`)
    .ai-rulez/skills/lonely:1:1: warning AR996 eval-case-invalid: has eval cases and no SKILL.md, so it is no skill (hint: add SKILL.md, or move the cases to their skill)
    "#);
    assert_eq!(shown(&fixture, "[lint.severity]\neval-case-invalid = \"off\"\n", NO_RECORDS), "");
}

#[test]
fn skills_without_any_file_in_an_eval_folder_are_named() {
    let fixture = fixture(&[
        ("bare/SKILL.md", "# no front matter\n"),
        ("kept/SKILL.md", "---\ndescription: d\nname: kept\n---\n"),
        ("kept/evals/.gitkeep", ""),
        ("other/SKILL.md", ""),
        ("other/evals/case.yaml", "another tool's"),
        ("internal-x/SKILL.md", ""),
    ]);
    let toml = "[lint.evals]\nrequire = true\nallow = [\"internal-*\"]\n";
    insta::assert_snapshot!(shown(&fixture, toml, NO_RECORDS), @r"
    .ai-rulez/skills/bare/SKILL.md:1:1: warning AR962 evals-missing: skill `bare` has no eval cases (hint: add a case file in its `evals` folder, or list the skill in `lint.evals.allow`)
    .ai-rulez/skills/kept/SKILL.md:3:1: warning AR962 evals-missing: skill `kept` has no eval cases (hint: add a case file in its `evals` folder, or list the skill in `lint.evals.allow`)
    ");
    let by_hand = format!("{toml}[lint.severity]\nAR962 = \"error\"\n");
    assert!(shown(&fixture, &by_hand, NO_RECORDS).contains("error AR962"));
    assert_eq!(shown(&fixture, "", NO_RECORDS), "");
}

#[test]
fn verified_records_are_judged() {
    let deploy = deploy();
    let record = record();
    let records = [Evidence { record: &record, is_verified: true }];
    let recorded = Recorded::Records(&records);
    assert_eq!(shown(&deploy, "", recorded), "", "rules are off by default");
    insta::assert_snapshot!(shown(&deploy, ALL_ON, recorded), @r"
    .ai-rulez/skills/deploy/SKILL.md:1:1: warning AR997 eval-stale: skill `deploy` changed after its last passing run, of 2026-10-05 (hint: run `proctor eval run deploy`)
    .ai-rulez/skills/deploy/SKILL.md:1:1: error AR998 eval-score-low: skill `deploy` has a recorded pass rate of 75%, below 80% (hint: mend the skill or its cases)
    .ai-rulez/skills/deploy/evals/a.eval.yaml:1:1: info AR9A4 activation-prompt-names-skill: the prompt of case `a` gives the name `deploy` away (hint: ask as somebody would who does not know the skill)
    ");
}

#[test]
fn what_has_no_evidence_against_it_is_not_reported() {
    let deploy = deploy();
    let digest = skill_digest(&deploy.root.join(".ai-rulez/skills/deploy")).unwrap();
    let on = ALL_ON.replace("AR9A4 = \"info\"", "AR9A4 = \"off\"");
    let fresh = SkillRecord {
        last_pass: Some(PassMark { digest, date: String::new() }),
        score: Score { scored: 4, pass_rate: 0.8, ..Score::default() },
        ..record()
    };
    let never_passed = SkillRecord { last_pass: None, score: Score::default(), ..record() };
    let unknown = SkillRecord { id: "gone".to_owned(), ..record() };
    for record in [fresh, never_passed, unknown] {
        let records = [Evidence { record: &record, is_verified: true }];
        assert_eq!(shown(&deploy, &on, Recorded::Records(&records)), "");
    }
}

#[test]
fn unverified_records_prove_nothing_and_are_named() {
    let deploy = deploy();
    let record = SkillRecord {
        activation: Some(ActivationRecord {
            stolen_by: vec![StolenBy { skill: "x".to_owned(), prompts: 9, share: 0.9 }],
            ..ActivationRecord::default()
        }),
        ..record()
    };
    let records = [Evidence { record: &record, is_verified: false }];
    let all = findings(&deploy, ALL_ON, Recorded::Records(&records));
    let codes: Vec<Rule> = all.iter().map(|finding| finding.code).collect();
    let expected = [
        Rule::EvalStale,
        Rule::EvalScoreLow,
        Rule::ActivationLow,
        Rule::ActivationPromptNamesSkill,
    ];
    assert_eq!(codes, expected);
    assert!(all[..3].iter().all(|finding| finding.message.contains("unverified")));
}

#[test]
fn activation_is_judged_only_for_the_skill_as_it_is() {
    let deploy = deploy();
    let digest = skill_digest(&deploy.root.join(".ai-rulez/skills/deploy")).unwrap();
    let measured = |digest: &str| SkillRecord {
        id: "deploy".to_owned(),
        activation: Some(ActivationRecord {
            digest: digest.to_owned(),
            recall: Some(0.5),
            precision: Some(0.75),
            stolen_by: vec![
                StolenBy { skill: "release".to_owned(), prompts: 1, share: 0.25 },
                StolenBy { skill: "notes".to_owned(), prompts: 1, share: 0.2 },
            ],
            ..ActivationRecord::default()
        }),
        ..SkillRecord::default()
    };
    let on = ALL_ON.replace("AR9A4 = \"info\"", "AR9A4 = \"off\"");
    let current = measured(&digest);
    let records = [Evidence { record: &current, is_verified: true }];
    insta::assert_snapshot!(shown(&deploy, &on, Recorded::Records(&records)), @r"
    .ai-rulez/skills/deploy/SKILL.md:1:1: error AR9A1 activation-low: skill `deploy` has a recorded activation recall of 50%, below 80% (hint: mend the description of the skill)
    .ai-rulez/skills/deploy/SKILL.md:1:1: error AR9A1 activation-low: skill `deploy` has a recorded activation precision of 75%, below 90% (hint: mend the description of the skill)
    .ai-rulez/skills/deploy/SKILL.md:1:1: warning AR9A2 skill-confusable: skill `release` wins 25% of the prompts of skill `deploy` (hint: tell the two apart in their descriptions)
    ");
    let old = measured("sha256:old");
    let records = [Evidence { record: &old, is_verified: true }];
    assert_eq!(shown(&deploy, &on, Recorded::Records(&records)), "");
}

#[test]
fn cases_that_can_never_pass_are_told() {
    let fixture = fixture(&[
        ("deploy/SKILL.md", "---\nname: deploy\ndisable-model-invocation: true\n---\n"),
        ("deploy/evals/a.eval.yaml", CASE),
        ("deploy/evals/b.eval.yaml", "id: b\nprompt: p\nexpect_trigger: false\n"),
    ]);
    insta::assert_snapshot!(
        shown(&fixture, "", NO_RECORDS),
        @".ai-rulez/skills/deploy/evals/a.eval.yaml:1:1: warning AR9A3 activation-policy-conflict: case `a` expects skill `deploy` to fire, and its front matter says `disable-model-invocation: true` (hint: let the model invoke the skill, or drop the case)"
    );
}

#[test]
fn an_unreadable_results_file_is_an_error() {
    let diagnostic = Diagnostic::error("schema version 2 is not supported")
        .in_file(".ai-rulez/eval-results.json");
    assert_eq!(
        shown(&deploy(), "", Recorded::Unreadable(&diagnostic)),
        ".ai-rulez/eval-results.json:1:1: error AR9A0 eval-results-invalid: schema version 2 is \
         not supported (hint: restore it, or delete it and run again)"
    );
}

#[test]
fn settings_come_from_the_configuration_its_overlay_and_proctor_toml() {
    let deploy = deploy();
    let write = |path: &str, text: &str| fs::write(deploy.root.join(path), text).unwrap();
    let load = || EvalSettings::load(&find(&deploy.root, None).unwrap());
    assert_eq!(load().0, EvalSettings::default());
    write(".ai-rulez/config.yaml", "lint:\n  evals: {min_pass_rate: 0.5, require: true}\n");
    write(".ai-rulez/config.local.yaml", "lint: {severity: {AR962: 'off'}}\n");
    write("proctor.toml", "[lint.evals]\nmin_pass_rate = 0.9\n[conformance]\nx = 1\n");
    let (settings, diagnostics) = load();
    assert_eq!(diagnostics.to_string(), "");
    assert_eq!(settings.min_pass_rate, Some(0.9));
    assert!(settings.require);
    assert_eq!(settings.severity(Rule::EvalsMissing), None);
    write(".ai-rulez/config.toml", "[lint.evals]\nmin_pass_rat = 0.9\n");
    let (_, diagnostics) = load();
    assert_eq!(
        diagnostics.to_string(),
        ".ai-rulez/config.toml:2:1: lint.evals.min_pass_rat: unknown key (hint: did you mean \
         `min_pass_rate`?)"
    );
}
