//! `proctor eval run` with a runner that is a shell script.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::{Value, json};

use crate::eval_project::{
    asked, context, key_file, report, results, run, statuses, write_answer, write_good_skill,
    write_raw_answer, write_runner, write_skill, write_skill_file,
};

#[test]
fn every_state_of_a_skill() {
    let context = context();
    write_good_skill(&context, "a-good");
    write_skill(&context, "b-bad");
    write_answer(&context, "b-bad", "no idea", 0.01);
    write_skill(&context, "c-garbage");
    write_raw_answer(&context, "c-garbage", "Sure! Here are the results.");
    write_skill(&context, "d-half");
    let half = json!({"version": 1, "results": [
        {"case": "yes", "arm": "with", "error": "rate limit"},
        {"case": "no", "arm": "with", "triggered": false},
    ]});
    write_raw_answer(&context, "d-half", &half.to_string());
    write_skill(&context, "e-invalid");
    context
        .write(".ai-rulez/skills/e-invalid/evals/b.eval.yaml", "cases:\n  - id: x\n    promt: y\n");
    write_skill_file(&context, "f-none", "No cases");

    let (code, report) = report(&context, &["--date", "2026-10-05"]);
    assert_eq!(code, 2);
    assert_eq!(
        statuses(&report),
        [
            "a-good ran true",
            "b-bad ran false",
            "c-garbage error false",
            "d-half ran false",
            "e-invalid invalid false",
            "f-none no-cases false",
        ]
    );
    assert_eq!(report["failed"], true);
    assert_eq!(report["date"], "2026-10-05");
    let skills = report["skills"].as_array().unwrap();
    assert_eq!(skills[0]["score"]["pass_rate"], 1.0);
    assert_eq!(skills[0]["estimate_vs_actual"]["actual_usd"], 0.03);
    let failure = &skills[1]["cases"][0]["failures"][0];
    assert!(failure.as_str().unwrap().contains("staging-eu"), "{failure}");
    assert!(skills[2]["error"].as_str().unwrap().contains("JSON"), "{}", skills[2]);
    assert_eq!(skills[3]["cases"][0]["status"], "error");
    let mut problems = skills[4]["problems"].as_array().unwrap().iter();
    let problem = problems.find(|problem| problem["line"] == 3).unwrap();
    assert_eq!(problem["file"], ".ai-rulez/skills/e-invalid/evals/b.eval.yaml");
    assert!(problem["message"].as_str().unwrap().contains("`prompt`"), "{problem}");
    assert_eq!(asked(&context), ["a-good", "b-bad", "c-garbage", "d-half"]);

    // Only what says something about the skill is kept.
    let results = results(&context);
    let kept: Vec<&Value> =
        results["skills"].as_array().unwrap().iter().map(|s| &s["id"]).collect();
    assert_eq!(kept, ["a-good", "b-bad"]);
    assert_eq!(results["skills"][0]["last_pass"]["date"], "2026-10-05");
    assert!(results["skills"][1].get("last_pass").is_none());
}

#[test]
fn the_text_says_what_to_look_at() {
    let context = context();
    write_good_skill(&context, "good");
    write_skill(&context, "poor");
    write_answer(&context, "poor", "no idea", 0.01);
    let run = run(&context, &["--model", "haiku"]);
    insta::assert_snapshot!(run, @r"
    exit 2
    --- stdout
    runner command, harness claude, model haiku

    SKILL  STATUS        CASES  PASS  PRECISION  RECALL  ABLATION  TOKENS   COST
    good   ran, passing      2  100%       100%    100%       n/a      17  $0.03
    poor   ran, failing      2   50%       100%    100%       n/a      17  $0.01

    good: 2 of 2 passed; the mark is 100%
      warning: cost $0.0300, estimated $0.0062 to $0.0233; `proctor eval calibrate-estimate` proposes better assumptions

    poor: 1 of 2 passed, 1 failed; the mark is 100%
      failed yes: contains: the answer does not contain `staging-eu`; it begins `no idea`

    2 skills: 1 passing, 1 failing; cost $0.0400
    verdict: failed
    --- stderr
    on good
    on poor
    ");
}

#[test]
fn a_second_run_starts_nothing_until_something_changes() {
    let context = context();
    write_good_skill(&context, "a");
    write_good_skill(&context, "b");
    assert_eq!(report(&context, &[]).0, 0);
    assert_eq!(asked(&context), ["a", "b"]);
    let before = context.read(".ai-rulez/eval-results.json");

    let (code, second) = report(&context, &[]);
    assert_eq!((code, asked(&context)), (0, vec![]));
    assert_eq!(statuses(&second), ["a cached true", "b cached true"]);
    assert_eq!(second["cost_usd"], 0);
    assert_eq!(context.read(".ai-rulez/eval-results.json"), before);

    write_skill_file(&context, "b", "Deploy it well");
    assert_eq!(statuses(&report(&context, &[]).1), ["a cached true", "b ran true"]);
    context.write(".ai-rulez/skills/a/evals/fixtures/note.txt", "beside the cases");
    assert_eq!(statuses(&report(&context, &[]).1), ["a ran true", "b cached true"]);
    for (args, expected) in [
        (vec!["--model", "haiku"], "a ran true"),
        (vec!["--model", "haiku", "--allow-exec"], "a ran true"),
        (vec!["--model", "haiku", "--allow-exec", "--ablation"], "a ran true"),
        (vec!["--model", "haiku", "--allow-exec", "--ablation"], "a cached true"),
        (vec!["--model", "haiku", "--allow-exec", "--ablation", "--force"], "a ran true"),
    ] {
        let (_, report) = report(&context, &[&["a"], args.as_slice()].concat());
        assert_eq!(statuses(&report), [expected], "{args:?}");
    }
    // The script of the runner counts, too.
    let script = context.read("runner.sh");
    write_runner(&context, &format!("{script}# changed\n"));
    assert_eq!(statuses(&report(&context, &["b"]).1), ["b ran true"]);
}

#[test]
fn a_forged_record_satisfies_nothing() {
    let context = context();
    write_skill(&context, "a");
    write_answer(&context, "a", "no idea", 0.01);
    assert_eq!(report(&context, &[]).0, 2);
    asked(&context);
    let mut forged = results(&context);
    let record = &mut forged["skills"][0];
    record["passing"] = true.into();
    record["score"]["passed"] = 2.into();
    record["score"]["failed"] = 0.into();
    record["score"]["pass_rate"] = 1.into();
    record["last_pass"] = json!({"digest": record["digest"]});
    context.write(".ai-rulez/eval-results.json", forged.to_string());

    let (code, report) = report(&context, &[]);
    assert_eq!(code, 2);
    assert_eq!(statuses(&report), ["a ran false"]);
    assert_eq!(asked(&context), ["a"]);
    let warning = &report["skills"][0]["warnings"][0];
    assert!(warning.as_str().unwrap().contains("unverified"), "{warning}");
    // Nothing of what was forged is signed now.
    let record = &results(&context)["skills"][0];
    assert!(record.get("last_pass").is_none() && record["mac"].is_string(), "{record}");
}

#[test]
fn the_verdict_is_that_of_todays_threshold() {
    let context = context();
    write_skill(&context, "a");
    write_answer(&context, "a", "no idea", 0.01);
    assert_eq!(statuses(&report(&context, &[]).1), ["a ran false"]);
    let (code, cached) = report(&context, &["--threshold", "0.5"]);
    assert_eq!((code, statuses(&cached)), (0, vec!["a cached true".to_owned()]));
    assert_eq!(asked(&context), ["a"]);
    let record = &results(&context)["skills"][0];
    assert_eq!(record["last_pass"]["digest"], record["digest"]);
    // The settings have one, too, and the command line wins over it.
    context.write("proctor.toml", "[lint.evals]\nmin_pass_rate = 0.5\n");
    assert_eq!(report(&context, &[]).0, 0);
    assert_eq!(report(&context, &["--threshold", "0.6"]).0, 2);
    assert_eq!(asked(&context), [""; 0]);
}

#[test]
fn an_outage_is_never_kept_and_costs_no_record() {
    let context = context();
    write_good_skill(&context, "a");
    assert_eq!(report(&context, &[]).0, 0);
    let before = context.read(".ai-rulez/eval-results.json");
    let whole = context.read("answers/a.json");
    let edit = |pointer: &str, value: Value| {
        let mut answer: Value = serde_json::from_str(&whole).unwrap();
        *answer.pointer_mut(pointer).unwrap() = value;
        answer.to_string()
    };
    let mut seen = std::collections::BTreeSet::new();
    for answer in [
        String::new(),
        "no JSON".to_owned(),
        whole.chars().take(whole.len() / 2).collect(),
        edit("/version", 2.into()),
        edit("/results/0/case", "other".into()),
        edit("/results/0/arm", "beside".into()),
        edit("/results/0/cost_usd", (-1).into()),
    ] {
        write_raw_answer(&context, "a", &answer);
        let (code, report) = report(&context, &["--force"]);
        let error = report["skills"][0]["error"].as_str().unwrap_or_default().to_owned();
        assert_eq!((code, statuses(&report)), (2, vec!["a error false".to_owned()]), "{answer}");
        assert!(seen.insert(error.clone()), "said twice: {error}");
    }
    write_raw_answer(&context, "a", &whole);
    let script = context.read("runner.sh").replace("exec cat", "cat") + "exit 3\n";
    write_runner(&context, &script);
    let (_, died) = report(&context, &["--force"]);
    let error = died["skills"][0]["error"].as_str().unwrap();
    assert!(error.contains("code 3") && error.contains("whole answer"), "{error}");
    assert_eq!(context.read(".ai-rulez/eval-results.json"), before);
}

#[test]
fn a_budget_refuses_or_skips_the_rest() {
    let mut context = context();
    write_good_skill(&context, "a");
    write_good_skill(&context, "b");
    let refused = run(&context, &["--max-cost", "0.01"]);
    assert_eq!(refused.code, 1, "{refused}");
    assert!(refused.stderr.contains("nothing was started"), "{refused}");
    assert_eq!(asked(&context), [""; 0]);
    let unpriced = run(&context, &["--max-cost", "9", "--model", "mystery"]);
    assert_eq!(unpriced.code, 1, "{unpriced}");
    assert!(unpriced.stderr.contains("--price-in"), "{unpriced}");
    assert!(!context.project().join(".ai-rulez/eval-results.json").exists());

    write_answer(&context, "a", "on staging-eu", 0.5);
    let (code, report_) = report(&context, &["--max-cost", "0.4"]);
    assert_eq!(code, 2);
    assert_eq!(statuses(&report_), ["a ran true", "b skipped-over-budget false"]);
    let warning = &report_["skills"][0]["warnings"][0];
    assert!(warning.as_str().unwrap().contains("more than"), "{warning}");
    assert_eq!(asked(&context), ["a"]);
    let request: Value = serde_json::from_str(&context.read("request-a")).unwrap();
    assert_eq!(request["max_cost_usd"], 0.4);
    // What is replayed costs nothing, and the cap does not concern it.
    let (code, rest) = report(&context, &["a", "--max-cost", "0.000001"]);
    assert_eq!((code, statuses(&rest)), (0, vec!["a cached true".to_owned()]));
    assert!(key_file(&mut context).exists());
}

#[test]
fn a_dry_run_touches_nothing() {
    let mut context = context();
    write_good_skill(&context, "a");
    for flag in ["--dry-run", "--estimate"] {
        let (code, report) = report(&context, &[flag, "--ablation"]);
        assert_eq!((code, statuses(&report)), (0, vec!["a dry-run false".to_owned()]));
        assert_eq!(report["estimate"]["agent_runs"], 4);
        assert_eq!((&report["dry_run"], &report["failed"]), (&json!(true), &json!(false)));
    }
    assert_eq!(asked(&context), [""; 0]);
    assert!(!context.project().join(".ai-rulez/eval-results.json").exists());
    assert!(!key_file(&mut context).exists());
    context.write(".ai-rulez/skills/a/evals/b.eval.json", "{}");
    assert_eq!(report(&context, &["--dry-run"]).0, 2);
}

#[test]
fn wrong_usage_is_refused_before_anything_runs() {
    let context = context();
    write_good_skill(&context, "deploy");
    for (args, expected) in [
        (vec!["--format", "html"], "html"),
        (vec!["--max-cost", "NaN"], "US dollars"),
        (vec!["--max-cost=-1"], "US dollars"),
        (vec!["--price-in", "inf"], "US dollars"),
        (vec!["--threshold", "1.5"], "0 to 1"),
        (vec!["--runs=-1"], "runs"),
        (vec!["-j", "0"], "at least 1"),
        (vec!["--timeout", "soon"], "30m"),
        (vec!["--date", "today"], "2026-10-05"),
        (vec!["--nonsense"], "--nonsense"),
        (vec!["--mode", "activation"], "activation"),
        (vec!["--grader", "builtin"], "no model is named"),
        (vec!["--sign", "ed25519"], "--sign-key"),
        (vec!["deplay"], "did you mean `deploy`?"),
        (vec!["--tag", "smoky"], "no case has the tag `smoky`"),
        (vec!["--root", "nowhere"], "nowhere"),
        (vec!["--runner", "native"], "--runner-command"),
    ] {
        let run = run(&context, &args);
        assert_eq!(run.code, 1, "{args:?}: {run}");
        assert!(run.stderr.contains(expected), "{args:?}: {run}");
        assert_eq!(run.stdout, "", "{args:?}");
    }
    let unnamed = context.run(["eval", "run", "--harness", "gemini"]);
    assert_eq!(unnamed.code, 1);
    assert!(unnamed.stderr.contains("`--runner native`"), "{unnamed}");
    let unknown = context.run(["eval", "run", "--runner", "comand"]);
    assert!(unknown.stderr.contains("did you mean `command`?"), "{unknown}");
    context.write("proctor.toml", "[lint.evals]\nmin_pass_rat = 0.5\n");
    let settings = run(&context, &[]);
    assert_eq!(settings.code, 1);
    assert!(settings.stderr.contains("proctor.toml:2:1"), "{settings}");
    assert_eq!(asked(&context), [""; 0]);
}

#[test]
fn a_damaged_results_file_is_never_overwritten() {
    let context = context();
    write_good_skill(&context, "a");
    for damaged in ["{", "[]", r#"{"schema_version":2,"skills":[]}"#] {
        context.write(".ai-rulez/eval-results.json", damaged);
        let run = run(&context, &["--force"]);
        assert_eq!(run.code, 1, "{run}");
        assert_eq!(context.read(".ai-rulez/eval-results.json"), damaged);
    }
    assert_eq!(asked(&context), [""; 0]);
}

#[test]
fn records_of_others_keep_what_they_hold() {
    let context = context();
    write_good_skill(&context, "a");
    let other = r#"{"schema_version":1,"skills":[{"id":"z","digest":"sha256:1","passing":true,
        "score":{"cases":1,"scored":1,"passed":1,"pass_rate":1},"mac":"hmac-sha256:00","new":[1]}]}"#;
    context.write(".ai-rulez/eval-results.json", other);
    assert_eq!(report(&context, &[]).0, 0);
    let after = results(&context);
    assert_eq!(after["skills"][0]["id"], "a");
    let before: Value = serde_json::from_str(other).unwrap();
    assert_eq!(after["skills"][1], before["skills"][0]);
}

#[test]
fn a_tag_narrows_to_cases_and_keeps_nothing() {
    let context = context();
    write_skill(&context, "a");
    let answer = json!({"version": 1, "results": [
        {"case": "yes", "arm": "with", "triggered": true, "output": "staging-eu"},
    ]});
    write_raw_answer(&context, "a", &answer.to_string());
    let (code, report) = report(&context, &["--tag", "smoke"]);
    assert_eq!(code, 0);
    assert_eq!(report["skills"][0]["case_count"], 1);
    let request: Value = serde_json::from_str(&context.read("request-a")).unwrap();
    let asked: Vec<&Value> =
        request["cases"].as_array().unwrap().iter().map(|c| &c["id"]).collect();
    assert_eq!(asked, ["yes"]);
    assert!(!context.project().join(".ai-rulez/eval-results.json").exists());
}

#[test]
fn no_write_and_results_choose_the_file() {
    let context = context();
    write_good_skill(&context, "a");
    assert_eq!(report(&context, &["--no-write"]).0, 0);
    assert!(!context.project().join(".ai-rulez/eval-results.json").exists());
    assert_eq!(report(&context, &["--results", "kept/here.json"]).0, 0);
    assert!(context.read("kept/here.json").contains("\"id\": \"a\""));
    assert!(!context.project().join(".ai-rulez/eval-results.json").exists());
    let (_, again) = report(&context, &["--results", "kept/here.json"]);
    assert_eq!(statuses(&again), ["a cached true"]);
}

#[test]
fn the_key_is_for_its_user_alone() {
    let mut context = context();
    write_good_skill(&context, "a");
    assert_eq!(report(&context, &[]).0, 0);
    let key = key_file(&mut context);
    let metadata = std::fs::metadata(&key).unwrap();
    assert_eq!((metadata.len(), metadata.permissions().mode() & 0o777), (32, 0o600));
    // Another machine has another key, and believes nothing.
    std::fs::remove_file(&key).unwrap();
    assert_eq!(statuses(&report(&context, &[]).1), ["a ran true"]);
    // A key that cannot be made is told, and results count as unverified.
    std::fs::remove_file(&key).unwrap();
    std::fs::create_dir(&key).unwrap();
    let run = run(&context, &["--force"]);
    assert_eq!(run.code, 0, "{run}");
    assert!(run.stderr.contains("eval-results.key"), "{run}");
    assert!(results(&context)["skills"][0].get("mac").is_none());
}

#[test]
fn junit_is_the_same_bytes_every_time() {
    let context = context();
    write_good_skill(&context, "a-good");
    write_skill(&context, "b-bad");
    write_answer(&context, "b-bad", "no idea", 0.01);
    let args = ["--format", "junit", "--output-dir", "out"];
    let first = run(&context, &args);
    assert_eq!(first.code, 2, "{first}");
    assert_eq!(
        first.stdout,
        "2 skills: 1 passing, 1 failing; cost $0.0400; verdict: failed; report in \
         out/eval-report.xml\n"
    );
    let written = context.read("out/eval-report.xml");
    insta::assert_snapshot!("junit", written);
    let again = run(&context, &[&args[..], &["--force"]].concat());
    assert_eq!(again.code, 2);
    assert_eq!(context.read("out/eval-report.xml"), written);
    for (format, name) in [("text", "txt"), ("json", "json"), ("markdown", "md")] {
        let run = run(&context, &["--format", format, "--out", "out"]);
        assert!(run.stdout.contains(&format!("out/eval-report.{name}")), "{run}");
        assert!(!context.read(&format!("out/eval-report.{name}")).is_empty());
    }
}

#[test]
fn annotations_are_for_github_actions_alone() {
    let mut context = context();
    write_skill(&context, "a");
    write_answer(&context, "a", "no idea", 0.01);
    let quiet = run(&context, &[]);
    assert!(!quiet.stderr.contains("::"), "{quiet}");
    context.home().set("GITHUB_ACTIONS", "true");
    let run = run(&context, &["--format", "json"]);
    assert!(run.stderr.contains("::error title=skill a"), "{run}");
    assert!(serde_json::from_str::<Value>(&run.stdout).is_ok(), "{run}");
}

#[test]
fn secrets_stay_out_of_reports() {
    let mut context = context();
    write_skill(&context, "a");
    context.home().set("STAGING_TOKEN", "sealed-value-of-a-test");
    let answer = json!({"version": 1, "results": [
        {"case": "yes", "arm": "with", "error": "denied for sealed-value-of-a-test"},
        {"case": "no", "arm": "with", "triggered": false},
    ]});
    write_raw_answer(&context, "a", &answer.to_string());
    let script = context.read("runner.sh").replace("on $AI", "$STAGING_TOKEN on $AI");
    write_runner(&context, &script);
    let run = run(&context, &[]);
    assert!(!run.to_string().contains("sealed-value"), "{run}");
    assert!(run.stdout.contains("denied for"), "{run}");
}

#[test]
fn an_interrupt_keeps_what_finished() {
    for signal in ["-INT", "-TERM"] {
        let context = context();
        for id in ["a-fast", "b-slow", "c-never"] {
            write_good_skill(&context, id);
        }
        let script = context.read("runner.sh").replace(
            "exec cat",
            "[ \"$AI_RULEZ_EVAL_SKILL\" != b-slow ] || { echo > started; sleep 600; }\nexec cat",
        );
        write_runner(&context, &script);
        let fifo = context.project().join("started");
        nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let child = context
            .proctor_cmd()
            .args(["eval", "run", "--runner-command", "./runner.sh", "--format", "json"])
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        // Opening the pipe waits for the slow runner.
        std::fs::read(&fifo).unwrap();
        let pid = child.id().to_string();
        std::process::Command::new("kill").current_dir("/").args([signal, &pid]).status().unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(
            statuses(&report),
            ["a-fast ran true", "b-slow error false", "c-never error false"]
        );
        let kept = results(&context);
        assert_eq!(kept["skills"].as_array().unwrap().len(), 1);
        assert_eq!(kept["skills"][0]["id"], "a-fast");
        assert!(!is_alive(&fifo), "the runner is alive");
    }
}

/// Whether a process works in the folder of this file.
fn is_alive(file: &Path) -> bool {
    let folder = file.parent().unwrap().canonicalize().unwrap();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .into_iter()
        .any(|entry| std::fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd == folder))
}

#[test]
fn only_what_changed_is_run() {
    let context = context();
    write_good_skill(&context, "a");
    write_good_skill(&context, "b");
    let git = |args: &[&str]| {
        let identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"];
        let done = std::process::Command::new("git")
            .args(identity)
            .args(args)
            .current_dir(context.project())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .unwrap();
        assert!(done.status.success(), "{done:?}");
    };
    git(&["init", "-q"]);
    git(&["add", ".ai-rulez"]);
    git(&["commit", "-qm", "skills"]);
    let (code, nothing) = report(&context, &["--changed-only"]);
    assert_eq!(code, 0);
    assert_eq!(statuses(&nothing), ["a skipped-unchanged false", "b skipped-unchanged false"]);
    context.write(".ai-rulez/evals/b/notes.txt", "new, and below an eval folder of b");
    let (_, one) = report(&context, &["--changed-only", "--base", "HEAD"]);
    assert_eq!(statuses(&one), ["a skipped-unchanged false", "b ran true"]);
    let unknown = run(&context, &["--changed-only", "--base", "nowhere"]);
    assert_eq!(unknown.code, 1);
    assert!(unknown.stderr.contains("`nowhere` is no commit here"), "{unknown}");
}

#[test]
fn a_signature_for_others_is_over_believed_records_only() {
    let mut context = context();
    write_good_skill(&context, "a");
    let made = context.run(["eval", "keygen", "ci.pem"]);
    assert_eq!(made.code, 0, "{made}");
    let again = context.run(["eval", "keygen", "ci.pem"]);
    assert_eq!(again.code, 1);
    assert!(again.stderr.contains("is there already"), "{again}");
    let mode = std::fs::metadata(context.project().join("ci.pem")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let sign = ["--sign", "ed25519", "--sign-key", "ci.pem"];
    let signed = run(&context, &sign);
    assert_eq!(signed.code, 0, "{signed}");
    assert!(context.project().join(".ai-rulez/eval-results.json.dsse.json").exists());

    // Elsewhere, without the user's key.
    std::fs::remove_file(key_file(&mut context)).unwrap();
    context.write("proctor.toml", "[lint.evals]\nrequire_fresh = \"error\"\n");
    let lint = |args: &[&str]| context.run(["eval", "lint"].iter().chain(args));
    assert_eq!(lint(&[]).code, 2, "unverified");
    assert_eq!(lint(&["--trust", "ci.pem.pub"]).code, 0);
    assert_eq!(statuses(&report(&context, &["--trust", "ci.pem.pub"]).1), ["a cached true"]);
    let elsewhere = context.run(["eval", "keygen", "other.pem"]);
    assert_eq!(elsewhere.code, 0);
    let other = lint(&["--trust", "other.pem.pub"]);
    assert_eq!(other.code, 2);
    assert!(other.stdout.contains("AR9A0") && other.stdout.contains("does not count"), "{other}");

    // Without any rule that looks at records, a signature that was asked for still has to count.
    context.write("proctor.toml", "");
    assert_eq!(lint(&["--trust", "ci.pem.pub"]).code, 0);
    let path = ".ai-rulez/eval-results.json";
    let kept = context.read(path);
    context.write(path, kept.replace("\"pass_rate\": 1", "\"pass_rate\": 0.5"));
    assert_eq!(lint(&["--trust", "ci.pem.pub"]).code, 2);
    context.write(path, kept);

    // A record that nobody believes here is not signed for others.
    let mut forged = results(&context);
    forged["skills"][0]["id"] = "z".into();
    context.write(".ai-rulez/eval-results.json", forged.to_string());
    let refused = run(&context, &sign);
    assert_eq!(refused.code, 1, "{refused}");
    assert!(refused.stderr.contains("the records of z are unverified"), "{refused}");
}

#[test]
fn a_result_that_cannot_be_kept_stops_the_spending() {
    let context = context();
    write_good_skill(&context, "a");
    write_good_skill(&context, "b");
    let script = context.read("runner.sh");
    write_runner(&context, &script.replace("exec cat", "rm -rf kept; touch kept\nexec cat"));
    std::fs::create_dir(context.project().join("kept")).unwrap();
    let run = run(&context, &["--results", "kept/results.json", "--format", "json"]);
    assert_eq!(run.code, 1, "{run}");
    assert!(run.stderr.contains("kept/results.json cannot be"), "{run}");
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(statuses(&report), ["a ran true", "b error false"]);
    assert_eq!(asked(&context), ["a"]);
}

#[test]
fn a_runner_that_cannot_run_at_all_is_no_failing_skill() {
    let mut context = context();
    write_good_skill(&context, "a");
    write_good_skill(&context, "b");
    let missing = context.run(["eval", "run", "--claude-bin", "./no-such-program"]);
    assert_eq!(missing.code, 1, "{missing}");
    let script = "#!/bin/sh\necho 'plugin eval is in early access' >&2\nexit 1\n";
    context.home().add_script("claude", script);
    let early = context.run(["eval", "run"]);
    assert_eq!(early.code, 1, "{early}");
    assert!(early.stderr.contains("2.1.269"), "{early}");
    assert!(early.stdout.contains("not run: the runner cannot run"), "{early}");
}
