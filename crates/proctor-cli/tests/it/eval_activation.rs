//! `proctor eval run --mode activation --surface retrieval`, and descriptions compared.

use proctor_testkit::{Run, TestContext};
use serde_json::{Value, json};

use crate::eval_project::{context, key_file, results, statuses, write_good_skill};

/// Two root skills, and two of a domain; the cases of `deploy` are two positives and three negatives.
fn project() -> TestContext {
    let context = context();
    for (folder, name, description) in [
        ("skills/deploy", "deploy", "Deploy a service to staging or production"),
        ("skills/notes", "release-notes", "Write release notes for a new version"),
        ("domains/web/skills/css", "css", "Style a page: colours, layout, fonts"),
        ("domains/ops/skills/rollout", "roll-out", "Roll out a new release"),
    ] {
        let text = format!("---\nname: {name}\ndescription: \"{description}\"\n---\nBody.\n");
        context.write(&format!(".ai-rulez/{folder}/SKILL.md"), text);
    }
    let cases = "\
cases:
  - id: basic
    prompt: Deploy billing to staging
    expect_trigger: true
    near_miss: [Write the release notes, What is the capital of France?]
    tags: [smoke]
  - id: hard
    prompt: Roll out the new release version
    expect_trigger: true
    rubric: Is it good?
  - id: unrelated
    prompt: Make the page blue
    expect_trigger: false
";
    context.write(".ai-rulez/skills/deploy/evals/a.eval.yaml", cases);
    context
}

fn run(context: &TestContext, args: &[&str]) -> Run {
    let command = ["eval", "run", "--mode", "activation", "--surface", "retrieval"];
    context.run(command.iter().chain(args))
}

fn report(context: &TestContext, args: &[&str]) -> (i32, Value) {
    let run = run(context, &[args, &["--format", "json"]].concat());
    let report = serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}\n{run}"));
    (run.code, report)
}

fn has_results(context: &TestContext) -> bool {
    context.project().join(".ai-rulez/eval-results.json").exists()
}

fn warnings(skill: &Value) -> String {
    let warnings = skill["warnings"].as_array().into_iter().flatten();
    warnings.map(|warning| warning.as_str().unwrap()).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_first_of_the_ranking_is_chosen() {
    let context = project();
    let run = run(&context, &["--date", "2026-10-05"]);
    insta::assert_snapshot!(run, @r"
    exit 2
    --- stdout
    # Skill activation results

    Measured: surface `retrieval`, scope `domain`, date 2026-10-05, cost $0.00

    retrieval measures the built-in ranker (BM25 over name, triggers, keywords and description), not which skill a model would choose; a skill fires when it ranks first, and precision is over its own prompts only.

    | Skill | Status | Prompts | Recall | Precision | False activation | recall@1 | recall@3 | MRR |
    | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
    | deploy | ran, failing | 5 | 50% (9-91%) | 100% (21-100%) | 0% (0-56%) | 50% | 50% | 0.50 |

    ### deploy

    - `notes` won 1 of 2 prompts that should fire this skill (50%)
    - `hard`: should fire; notes ranked first (rank of this skill: unranked)

    ### Confusion (prompts that should fire a skill: who ranked first)

    - `deploy`: `deploy` 1, `notes` 1
    --- stderr
    ");
    let (code, report) = report(&context, &[]);
    assert_eq!(code, 2);
    assert_eq!(
        statuses(&report),
        [
            "css no-cases false",
            "deploy ran false",
            "notes no-cases false",
            "rollout no-cases false"
        ]
    );
    let skill = &report["skills"][1];
    assert_eq!(skill["competing"], json!(["deploy", "notes"]));
    assert_eq!((&skill["ignored"], &skill["recall"]["n"]), (&json!(1), &json!(2)));
    assert_eq!(skill["prompts"].as_array().unwrap().len(), 5);
    assert_eq!(skill["prompts"][1]["near_miss"], true);
    assert_eq!(report["confusion"], json!({"deploy": {"deploy": 1, "notes": 1}}));
    assert_eq!(report["cost"], json!({"estimate_usd": 0, "actual_usd": 0}));
    for key in ["runner", "harness", "model", "runs", "estimate", "dry_run"] {
        assert!(report.get(key).is_none(), "{key}");
    }
}

#[test]
fn everything_competes_when_asked() {
    let context = project();
    let skill = |args: &[&str]| report(&context, args).1["skills"][1].clone();
    let (near, far) = (skill(&[]), skill(&["--scope", "all"]));
    assert_eq!(far["competing"], json!(["css", "deploy", "notes", "rollout"]));
    assert_eq!(far["stolen_by"], json!([{"skill": "rollout", "prompts": 1, "share": 0.5}]));
    assert_ne!(near["set_digest"], far["set_digest"]);
    assert_eq!(near["digest"], far["digest"]);
    // Skills of a domain compete with each other and with those of none.
    let case = "cases:\n  - {id: a, prompt: style the page, expect_trigger: true}\n";
    context.write(".ai-rulez/domains/web/skills/css/evals/a.eval.yaml", case);
    assert_eq!(
        report(&context, &[]).1["skills"][0]["competing"],
        json!(["css", "deploy", "notes"])
    );
    // A sibling that says something else is another competition.
    let text = "---\nname: release-notes\ndescription: Write\n---\n";
    context.write(".ai-rulez/skills/notes/SKILL.md", text);
    assert_ne!(skill(&[])["set_digest"], near["set_digest"]);
}

#[test]
fn the_threshold_decides_what_passes() {
    let context = project();
    context.write("proctor.toml", "[lint.evals]\nmin_pass_rate = 0.1\n");
    // Four of five prompts pass; the settings are for cases.
    for (args, code) in
        [(vec![], 2), (vec!["--threshold", "0.8"], 0), (vec!["--threshold", "0.81"], 2)]
    {
        let args: Vec<&str> = args.into_iter().chain(["deploy", "--no-write"]).collect();
        assert_eq!(run(&context, &args).code, code, "{args:?}");
    }
}

#[test]
fn a_measurement_is_kept_beside_the_run_of_cases() {
    let context = project();
    assert_eq!(run(&context, &["--date", "2026-10-05"]).code, 2);
    let alone = results(&context);
    assert_eq!(alone["skills"].as_array().unwrap().len(), 1);
    let record = &alone["skills"][0];
    assert_eq!((&record["runner"], &record["cache_key"]), (&json!(""), &json!("")));
    let mut activation = record["activation"].clone();
    for digest in ["digest", "set_digest"] {
        assert!(activation[digest].as_str().unwrap().starts_with("sha256:"));
        activation.as_object_mut().unwrap().remove(digest);
    }
    assert_eq!(
        activation,
        json!({"surface": "retrieval", "scope": "domain", "date": "2026-10-05", "positives": 2,
            "negatives": 3, "recall": 0.5, "precision": 1,
            "stolen_by": [{"skill": "notes", "prompts": 1, "share": 0.5}]})
    );

    // A run of cases keeps it, and it keeps the run of cases.
    write_good_skill(&context, "other");
    assert_eq!(crate::eval_project::report(&context, &["other"]).0, 0);
    let before = results(&context);
    assert_eq!(run(&context, &["other", "--threshold", "0.5"]).code, 0);
    let after = results(&context);
    let (before, after) = (&before["skills"][1], &after["skills"][1]);
    assert_eq!(after["activation"]["surface"], "retrieval");
    for key in ["cache_key", "score", "last_pass", "runner", "passing", "estimate"] {
        assert_eq!(before[key], after[key], "{key}");
    }
    let (code, replayed) = crate::eval_project::report(&context, &["other"]);
    assert_eq!((code, statuses(&replayed)), (0, vec!["other cached true".to_owned()]));
    assert_eq!(crate::eval_project::report(&context, &["other", "--force"]).0, 0);
    assert_eq!(results(&context)["skills"][1]["activation"], after["activation"]);
}

#[test]
fn a_measurement_makes_no_forged_result_true() {
    let context = project();
    write_good_skill(&context, "other");
    assert_eq!(crate::eval_project::report(&context, &["other"]).0, 0);
    let forged = context.read(".ai-rulez/eval-results.json").replace("\"haiku\"", "\"opus\"");
    let forged = forged.replace("\"pass_rate\": 1", "\"pass_rate\": 0.25");
    context.write(".ai-rulez/eval-results.json", &forged);
    let run = run(&context, &["other", "--threshold", "0.5"]);
    assert!(
        run.stderr.contains("other is not signed") && run.stderr.contains("--results"),
        "{run}"
    );
    let record = results(&context)["skills"][0].clone();
    assert_eq!(
        (&record["score"]["pass_rate"], &record["activation"]["surface"]),
        (&json!(0.25), &json!("retrieval"))
    );
    let list = context.run(["eval", "list"]);
    assert!(list.stdout.contains("unverified"), "{list}");
}

#[test]
fn nothing_is_kept_of_what_is_no_measurement_of_the_skill() {
    let mut context = project();
    context.write("new.txt", "Deploy things");
    for args in [
        vec!["--dry-run"],
        vec!["--estimate"],
        vec!["--no-write"],
        vec!["--tag", "smoke"],
        vec!["deploy", "--description-from", "new.txt"],
        vec!["deploy", "--description-from", "new.txt", "--against", "current"],
    ] {
        let run = run(&context, &args);
        assert!(run.code == 0 || run.code == 2, "{args:?}: {run}");
        assert!(!has_results(&context) && !key_file(&mut context).exists(), "{args:?}");
    }
    // It is free, so a dry run ranks, too, and tells a skill that fails.
    let (code, report) = report(&context, &["--dry-run"]);
    assert_eq!((code, &report["failed"]), (2, &json!(true)));
    assert_eq!(report["skills"][1]["status"], "ran");
}

#[test]
fn a_damaged_results_file_is_left_alone() {
    let context = project();
    for damaged in ["{", r#"{"schema_version":2,"skills":[]}"#] {
        context.write(".ai-rulez/eval-results.json", damaged);
        let run = run(&context, &[]);
        assert_eq!((run.code, run.stdout.as_str()), (1, ""), "{run}");
        assert_eq!(context.read(".ai-rulez/eval-results.json"), damaged);
    }
}

#[test]
fn a_tag_narrows_to_prompts() {
    let context = project();
    let (code, tagged) = report(&context, &["--tag", "smoke"]);
    assert_eq!((code, tagged["skills"][1]["prompts"].as_array().unwrap().len()), (0, 3));
    let none = run(&context, &["--tag", "smoky"]);
    assert_eq!(none.code, 1);
    assert!(none.stderr.contains("no case has the tag `smoky`"), "{none}");
}

#[test]
fn broken_skills_stop_none_of_the_others() {
    let context = project();
    let skill = |id: &str, text: &str| {
        context.write(&format!(".ai-rulez/skills/{id}/SKILL.md"), text);
        let case = "cases:\n  - {id: a, prompt: x, expect_trigger: true}\n";
        context.write(&format!(".ai-rulez/skills/{id}/evals/a.eval.yaml"), case);
    };
    skill("broken", "---\nname: a: b: c\ndescription: [\n---\n");
    skill("huge", &"x".repeat((1 << 20) + 1));
    skill("linked", "");
    let linked = context.project().join(".ai-rulez/skills/linked/SKILL.md");
    std::fs::remove_file(&linked).unwrap();
    std::os::unix::fs::symlink("../deploy/SKILL.md", &linked).unwrap();
    skill("none", "---\nname: none\ndescription: None\n---\n");
    skill("wrong", "---\nname: wrong\n---\n");
    context.write(".ai-rulez/skills/wrong/evals/b.eval.yaml", "cases:\n  - {id: a}\n");
    let run = run(&context, &["--format", "json"]);
    assert_eq!(run.code, 2, "{run}");
    assert!(run.stderr.contains("broken/SKILL.md"), "{run}");
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let skills = report["skills"].as_array().unwrap();
    let of = |id: &str| skills.iter().find(|skill| skill["id"] == id).unwrap();
    assert_eq!(of("broken")["status"], "ran");
    for (id, error) in [("huge", "1 MiB"), ("linked", "is a link"), ("none", "no skill")] {
        assert_eq!(of(id)["status"], "error", "{id}");
        assert!(of(id)["error"].as_str().unwrap().contains(error), "{}", of(id));
        assert!(warnings(of("deploy")).contains(&format!("`{id}` does not compete")));
    }
    assert_eq!(of("wrong")["status"], "invalid");
    assert!(of("wrong")["problems"][0]["line"].is_u64());
    assert_eq!(of("deploy")["competing"], json!(["broken", "deploy", "notes", "wrong"]));
}

#[test]
fn a_skill_alone_wins_nothing() {
    let context = context();
    write_good_skill(&context, "only");
    context.write(
        ".ai-rulez/skills/only/evals/a.eval.yaml",
        "cases:\n  - {id: no, prompt: Paris, expect_trigger: false}\n",
    );
    let (code, report) = report(&context, &[]);
    let skill = &report["skills"][0];
    assert_eq!((code, &skill["status"]), (0, &json!("ran")));
    assert!(warnings(skill).contains("no other skill competes"), "{skill}");
    assert_eq!(
        (&skill["recall"], &skill["precision"], &skill["mrr"]),
        (&json!(null), &json!(null), &json!(null))
    );
    assert_eq!(skill["false_activation"]["value"], 0);
}

#[test]
fn a_report_goes_into_a_folder_and_annotations_into_the_log() {
    let context = project();
    let written = run(&context, &["--output-dir", "out"]);
    assert_eq!(
        written.stdout,
        "4 skills: 1 failing, 3 without cases; verdict: failed; report in out/eval-activation.md\n"
    );
    assert!(context.read("out/eval-activation.md").starts_with("# Skill activation results\n"));
    assert_eq!(run(&context, &["--output-dir", "out", "--format", "json"]).code, 2);
    serde_json::from_str::<Value>(&context.read("out/eval-activation.json")).unwrap();
    let mut command = context.proctor_cmd();
    command.args(["eval", "run", "--mode", "activation", "--surface", "retrieval"]);
    let run = context.run_command(command.env("GITHUB_ACTIONS", "true"));
    assert!(run.stderr.contains("::error title=skill deploy%2C case hard::"), "{run}");
}

#[test]
fn what_does_not_go_together_is_refused() {
    let context = project();
    context.write("new.txt", "Deploy things");
    let activation = ["--mode", "activation"];
    let retrieval = ["--mode", "activation", "--surface", "retrieval"];
    let native = ["--mode", "activation", "--surface", "native"];
    for (mode, args, expected) in [
        (&activation[..], vec![], "--surface retrieval"),
        (&activation, vec!["--surface", "vibes"], "retrieval"),
        (&retrieval, vec!["--scope", "world"], "domain"),
        (&retrieval, vec!["--format", "junit"], "markdown"),
        (&retrieval, vec!["--format", "text"], "markdown"),
        (&retrieval, vec!["--grader", "builtin"], "no rubrics to grade"),
        (&native, vec!["--grader", "builtin"], "no rubrics to grade"),
        (&retrieval, vec!["--ablation"], "cannot be chosen"),
        (&retrieval, vec!["--runs", "3"], "`--runs` does not go"),
        (&retrieval, vec!["--runs", "auto"], "`--runs` does not go"),
        (&retrieval, vec!["--runner", "claude-native"], "`--runner` does not go"),
        (&retrieval, vec!["--runner-command", "true"], "`--runner-command` does not go"),
        (&retrieval, vec!["--threshold", "1.1"], "0 to 1"),
        (&retrieval, vec!["--against", "new.txt"], "--description-from NEW"),
        (&retrieval, vec!["--description-from", "new.txt"], "0 are named"),
        (&retrieval, vec!["deploy", "notes", "--description-from", "new.txt"], "2 are named"),
        (&retrieval, vec!["deplay", "--description-from", "new.txt"], "did you mean `deploy`?"),
        (&retrieval, vec!["deploy", "--description-from", "none.txt"], "none.txt"),
        (
            &retrieval,
            vec!["deploy", "--description-from", "new.txt", "--changed-only"],
            "whether it changed",
        ),
        (
            &retrieval,
            vec!["deploy", "--description-from", "new.txt", "--sign", "ed25519", "--sign-key", "k"],
            "no result is kept",
        ),
        (&native, vec!["--runs=-1"], "number of runs"),
        (&native, vec!["--runs", "-1"], "number of runs"),
        (&native, vec!["--runs", "often"], "number of runs"),
        (&native, vec!["--harness", "gemini"], "--runner-command"),
        (&native, vec!["--runner", "claude-plugin-eval"], "does not support activation mode"),
        (&native, vec!["--runner", "codex-native"], "codex"),
        (&native, vec!["--runner", "claude-native", "--runner-command", "true"], "leave one"),
        (&[], vec!["--surface", "retrieval"], "--mode activation"),
        (&[], vec!["--scope", "all"], "--mode activation"),
        (&[], vec!["--description-from", "new.txt"], "--mode activation"),
        (&[], vec!["--against", "new.txt"], "--mode activation"),
        (&[], vec!["--runs", "auto"], "--mode activation"),
        (&[], vec!["--runner", "claude-native"], "measures activation and runs no cases"),
        (&[], vec!["--runner", "codex-native"], "measures activation and runs no cases"),
    ] {
        let run = context.run(["eval", "run"].iter().chain(mode).chain(&args));
        assert_eq!(run.code, 1, "{args:?}: {run}");
        assert!(run.stderr.contains(expected), "{args:?}: {run}");
        assert_eq!(run.stdout, "", "{args:?}");
    }
    assert!(!has_results(&context));
}

#[test]
fn a_description_is_checked_before_anything_is_measured() {
    let context = project();
    for (bytes, expected) in [
        (b"".to_vec(), "is empty"),
        (b" \n".to_vec(), "is empty"),
        (vec![b'x'; 17 * 1024], "17408 bytes; the limit is 16384"),
        (vec![b'x'; 1 << 20], "longer than 65536 bytes"),
        ("a\nbc\u{200b}".as_bytes().to_vec(), "U+200B in line 2, column 3"),
        (b"a\xff".to_vec(), "no UTF-8"),
    ] {
        context.write("new.txt", bytes);
        let run = run(&context, &["deploy", "--description-from", "new.txt"]);
        assert_eq!(run.code, 1, "{run}");
        assert!(run.stderr.contains(expected) && run.stderr.contains("new.txt"), "{run}");
    }
}

#[test]
fn a_candidate_is_measured_and_the_skill_stays() {
    let context = project();
    let before = context.read(".ai-rulez/skills/deploy/SKILL.md");
    context.write("new.txt", "  Deploy, roll out or ship a release version of a service\n");
    let args = ["deploy", "--description-from", "new.txt"];
    let (code, candidate) = report(&context, &args);
    let skill = &candidate["skills"][0];
    assert_eq!((code, &skill["recall"]["value"]), (0, &json!(1)));
    assert!(warnings(skill).contains("--description-from"), "{skill}");
    let own = report(&context, &["deploy", "--no-write"]).1;
    assert_ne!(skill["digest"], own["skills"][0]["digest"]);
    assert_eq!(context.read(".ai-rulez/skills/deploy/SKILL.md"), before);
    std::os::unix::fs::symlink(
        "../deploy/SKILL.md",
        context.project().join(".ai-rulez/skills/notes/LINK.md"),
    )
    .unwrap();
    assert_eq!(report(&context, &["notes", "--description-from", "new.txt"]).0, 0);
    let broken = "---\n- name\n---\n";
    context.write(".ai-rulez/skills/deploy/SKILL.md", broken);
    let run = run(&context, &args);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("does not take another description"), "{run}");
}

/// A skill with `count` prompts that it wins only when its description has the word `ship`.
fn shipping(count: usize) -> TestContext {
    let context = project();
    let cases = (0..count)
        .map(|n| json!({"id": format!("c{n}"), "prompt": "ship it", "expect_trigger": true}));
    let cases = json!({"cases": cases.collect::<Vec<_>>()});
    context.write(".ai-rulez/skills/deploy/evals/a.eval.yaml", cases.to_string());
    context.write("new.txt", "Deploy or ship a service");
    context.write("old.txt", "Deploy a service");
    context
}

#[test]
fn two_descriptions_are_ranked_only_beyond_noise() {
    let context = shipping(6);
    let args = ["deploy", "--description-from", "new.txt", "--against", "old.txt"];
    let run = run(&context, &args);
    insta::assert_snapshot!(run, @r"
    exit 0
    --- stdout
    # Skill description comparison

    Skill `deploy`: new `new.txt` against `old.txt`; surface `retrieval`, scope `domain`, cost $0.00

    retrieval measures the built-in ranker (BM25 over name, triggers, keywords and description), not which skill a model would choose; a skill fires when it ranks first, and precision is over its own prompts only.

    **better**: 6 wins, 0 losses, 0 ties (p = 0.0313, exact McNemar test)

    | | Prompts | New | Against | Difference | 95% interval |
    | --- | ---: | ---: | ---: | ---: | ---: |
    | Recall | 6 | 100% | 0% | +100 pts | +45 to +100 pts |

    Intervals: Newcombe's score method for paired proportions.

    ### Wins

    - `c0`: should fire; fired 100% with the new description, 0% with the other
    - `c1`: should fire; fired 100% with the new description, 0% with the other
    - `c2`: should fire; fired 100% with the new description, 0% with the other
    - `c3`: should fire; fired 100% with the new description, 0% with the other
    - `c4`: should fire; fired 100% with the new description, 0% with the other
    - `c5`: should fire; fired 100% with the new description, 0% with the other

    ### New: new.txt

    - warning: measured with another description (\`--description-from\`): the skill is unchanged, and nothing is kept

    ### Against: old.txt

    - warning: measured with another description (\`--description-from\`): the skill is unchanged, and nothing is kept
    --- stderr
    ");
    let (code, turned) =
        report(&context, &["deploy", "--description-from", "old.txt", "--against", "new.txt"]);
    assert_eq!((code, &turned["verdict"], &turned["losses"]), (2, &json!("worse"), &json!(6)));
    assert_eq!(turned["against"]["measured"]["recall"]["value"], 1);
    let same =
        report(&context, &["deploy", "--description-from", "old.txt", "--against", "current"]);
    assert_eq!(
        (same.0, &same.1["verdict"], &same.1["ties"]),
        (0, &json!("no-difference-shown"), &json!(6))
    );
}

#[test]
fn too_few_prompts_are_told_of_beforehand() {
    let context = shipping(5);
    let args = ["deploy", "--description-from", "new.txt", "--against", "old.txt"];
    let (code, comparison) = report(&context, &args);
    assert_eq!((code, &comparison["verdict"]), (0, &json!("no-difference-shown")));
    assert_eq!((&comparison["wins"], &comparison["needed"]), (&json!(5), &json!(6)));
    let run = run(&context, &args);
    assert!(run.stderr.contains("5 prompts cannot show a difference"), "{run}");
    assert!(run.stderr.contains("at least 6"), "{run}");
    context.write(".ai-rulez/skills/deploy/evals/b.eval.yaml", "cases: 3\n");
    let (code, comparison) = report(&context, &args);
    assert_eq!((code, &comparison["verdict"]), (2, &json!("not-measured")));
    assert_eq!(comparison["new"]["measured"]["status"], "invalid");
}

#[test]
fn the_rules_judge_what_is_recorded() {
    let mut context = project();
    context.write(
        "proctor.toml",
        "[lint.evals]\nmin_activation_recall = 0.8\nmin_activation_precision = 0.8\n\
         confusion_threshold = 0.25\n",
    );
    assert_eq!(run(&context, &["deploy"]).code, 2);
    let lint = context.run(["eval", "lint"]);
    insta::assert_snapshot!(lint, @r"
    exit 2
    --- stdout
    .ai-rulez/skills/deploy/SKILL.md:1:1: error AR9A1 activation-low: skill `deploy` has a recorded activation recall of 50%, below 80%
      hint: mend the description of the skill
    .ai-rulez/skills/deploy/SKILL.md:1:1: warning AR9A2 skill-confusable: skill `notes` wins 50% of the prompts of skill `deploy`
      hint: tell the two apart in their descriptions
    4 skills: 1 error, 1 warning; failed (fails from severity error)
    --- stderr
    ");
    // One of another state of the skill is not judged, and neither is one that nobody signed.
    std::fs::remove_file(key_file(&mut context)).unwrap();
    let unsigned = context.run(["eval", "lint"]);
    assert!(
        unsigned.stdout.contains("AR9A1") && unsigned.stdout.contains("unverified"),
        "{unsigned}"
    );
    assert!(!unsigned.stdout.contains("AR9A2"), "{unsigned}");
    assert_eq!(run(&context, &["deploy"]).code, 2);
    let other = "---\nname: deploy\ndescription: Other\n---\n";
    context.write(".ai-rulez/skills/deploy/SKILL.md", other);
    assert_eq!(context.run(["eval", "lint"]).code, 0);
}

#[test]
fn only_what_changed_is_measured() {
    let context = project();
    let git = |args: &[&str]| {
        let mut command = std::process::Command::new("git");
        command.current_dir(context.project()).args(["-c", "user.name=x", "-c", "user.email=x@x"]);
        assert!(command.args(args).output().unwrap().status.success(), "{args:?}");
    };
    git(&["init", "-q"]);
    git(&["add", "-A"]);
    git(&["commit", "-qm", "x"]);
    let (code, unchanged) = report(&context, &["--changed-only", "--no-write"]);
    assert_eq!((code, &unchanged["skills"][1]["status"]), (0, &json!("skipped-unchanged")));
    context.write(
        ".ai-rulez/skills/deploy/evals/b.eval.yaml",
        "cases:\n  - {id: x, prompt: deploy, expect_trigger: true}\n",
    );
    assert_eq!(report(&context, &["--changed-only"]).1["skills"][1]["status"], "ran");
}

/// The labelled queries of a real set of skills, and what ai-rulez publishes of its formats; neither
/// is part of this repository.
#[test]
#[expect(clippy::print_stderr, reason = "says that it proves nothing")]
fn a_real_set_is_imported_and_measured() {
    let data =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/skill-evals/routing-buildkite");
    if !std::path::Path::new(data).exists() {
        eprintln!("skipped: {data} is not there");
        return;
    }
    let context = TestContext::new(env!("CARGO_BIN_EXE_proctor"));
    let copied =
        std::process::Command::new("cp").args(["-R", data]).arg(context.project()).output();
    assert!(copied.unwrap().status.success());
    let root = context.project().join("routing-buildkite");
    let in_root = |args: &[&str]| {
        let mut command = context.proctor_cmd();
        context.run_command(command.current_dir(&root).args(args))
    };
    let imported = in_root(&["eval", "import", "--from", "queries", "trigger_dataset.yaml"]);
    assert_eq!(imported.code, 0, "{imported}");
    let run = in_root(&[
        "eval",
        "run",
        "--mode",
        "activation",
        "--surface",
        "retrieval",
        "--format",
        "json",
    ]);
    assert_eq!(run.code, 2, "{run}");
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let sum = |figure: &str, expect: bool| -> u64 {
        let skills = report["skills"].as_array().unwrap().iter();
        let prompts = skills.flat_map(|skill| skill["prompts"].as_array().unwrap().clone());
        let prompts = prompts.filter(|prompt| prompt["expect"] == expect);
        prompts.filter(|prompt| figure.is_empty() || prompt["status"] == figure).count() as u64
    };
    assert_eq!((sum("", true), sum("passed", true)), (121, 97));
    assert_eq!(sum("failed", false), 6);
}
