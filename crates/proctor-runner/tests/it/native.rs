//! The runner `native` with the scripted agent, and with stand-ins for agent programs.

use std::num::NonZeroUsize;
use std::time::Duration;

use proctor_model::eval::protocol::Arm;
use proctor_model::eval::{CaseReport, CaseStatus, SkillStatus};
use proctor_runner::eval::{Stopped, Told};
use serde_json::json;

use crate::scene::{SECRET, Scene};

const RUNNER: &str = "native";

const DEPLOY: &str = "
  - id: deploy
    prompt: Deploy the billing service
    expect_trigger: true
    files: [{path: conf/a.yaml, content: 'env: staging'}]
    assertions:
      - {type: contains, value: staging-eu}
      - {type: file_exists, path: deploy.log}
      - {type: regex, value: '^env', path: conf/a.yaml}
";

/// What an agent with the skill does.
const USES_IT: &str = "
  - skill: deploy
  - read: .agents/skills/deploy/SKILL.md
  - write: {path: deploy.log, text: ok}
  - usage: {input_tokens: 90, cache_read_tokens: 10, output_tokens: 20, cost_usd: 0.25}
  - say: deployed to staging-eu
";

/// What an agent without it does.
const HELPLESS: &str = "
  - usage: {input_tokens: 50, output_tokens: 5, cost_usd: 0.125}
  - say: I cannot deploy from here
";

/// A scene in which both arms do what they should.
fn deploy() -> Scene {
    let mut scene = Scene::with_cases(DEPLOY);
    scene.ablation = true;
    scene.script("deploy.agent.yaml", USES_IT);
    scene.script("agent.without.yaml", HELPLESS);
    scene
}

/// The case of a scene with one trigger-only case and one script.
fn one(expect_trigger: bool, steps: &str) -> CaseReport {
    let mut scene = Scene::with_cases(&format!(
        "  - {{id: one, prompt: Deploy, expect_trigger: {expect_trigger}}}\n"
    ));
    scene.script("one.agent.yaml", steps);
    scene.case(RUNNER)
}

/// The step that runs a shell command.
fn sh(command: &str) -> String {
    format!("  - run: [sh, -c, {}]\n", json!(command))
}

#[test]
fn the_skill_makes_the_difference() {
    let mut scene = deploy();
    let ran = scene.run(RUNNER);
    let report = &ran.skills[0].report;
    assert_eq!((report.status, report.passing), (SkillStatus::Ran, true), "{report:#?}");
    let case = &report.cases[0];
    assert_eq!((case.triggered, case.outcome_passed), (Some(true), Some(true)));
    assert_eq!(case.without_passed, Some(false));
    assert_eq!(case.fired, ["deploy"]);
    let score = ran.skills[0].kept.unwrap();
    assert_eq!(score.ablation_delta, Some(1.0));
    assert_eq!((score.run_input_tokens, score.run_output_tokens), (150, 25));
    assert!((score.cost_usd - 0.375).abs() < 1e-9);
    assert_eq!(report.warnings, Vec::<String>::new());
    assert!(scene.is_tidy());
}

#[test]
fn sessions_are_told_as_they_begin_and_end() {
    let mut scene = deploy();
    scene.options.jobs = NonZeroUsize::new(1);
    scene.run(RUNNER);
    let case = || "deploy".to_owned();
    let began = |arm| Told::Session { case: case(), arm, run: 1 };
    let ended = |arm| Told::SessionEnded { case: case(), arm, run: 1 };
    let (with, without) = (Arm::With, Arm::Without);
    assert_eq!(scene.told, [began(with), ended(with), began(without), ended(without)]);
}

#[test]
fn each_arm_has_a_workspace_with_what_belongs_to_it_alone() {
    let mut scene = deploy();
    for name in ["deploy.agent", "agent.without"] {
        let to = scene.project.join(format!("{name}.seen"));
        let look = format!(
            "  - run: [sh, -c, '(find . -path ./.git -prune -o -type f -print | sort; env | sort) \
             >{to}']\n"
        );
        scene.script(&format!("{name}.yaml"), &look);
    }
    scene.run(RUNNER);
    let with = scene.left("deploy.agent.seen");
    let without = scene.left("agent.without.seen");
    assert!(with.starts_with("./.agents/skills/deploy/SKILL.md\n./conf/a.yaml\n"), "{with}");
    assert!(without.starts_with("./conf/a.yaml\n"), "{without}");
    for seen in [&with, &without] {
        assert!(!seen.contains("eval.yaml") && !seen.contains(SECRET), "{seen}");
        let home = seen.lines().find_map(|line| line.strip_prefix("HOME=")).unwrap();
        assert!(home.contains("/rooms/run-") && home.ends_with("/home"), "{home}");
    }
    let own = scene.project.as_str();
    assert!(!without.contains("deploy") && !without.contains(own), "{without}");
}

#[test]
fn no_variable_tells_where_the_project_lies() {
    let mut scene = claude(DEPLOY, &[done()]);
    scene.ablation = true;
    let project = scene.project.to_string();
    let path = &scene.home.environment()["PATH"];
    let path = format!("{project}/bin:{path}:{project}/node_modules/.bin");
    scene.home.set("PATH", &path);
    scene.home.set("ANTHROPIC_CUSTOM_HEADERS_FILE", &format!("{project}/headers"));
    let report = scene.report(RUNNER);
    let env = scene.left("env");
    let path = env.lines().find_map(|line| line.strip_prefix("PATH=")).unwrap();
    assert!(!path.contains(&project), "{path}");
    let warning = "ANTHROPIC_CUSTOM_HEADERS_FILE told where the project lies".to_owned();
    assert_eq!(report.warnings, [warning]);
}

#[test]
fn every_sign_of_a_load_counts_wherever_it_stands() {
    let body = "name: deploy";
    for steps in [
        "  - skill: deploy\n".to_owned(),
        "  - skill: 'plugin:deploy'\n".to_owned(),
        "  - read: .agents/skills/deploy/SKILL.md\n".to_owned(),
        "  - run: [cat, .agents/skills/deploy/SKILL.md]\n".to_owned(),
        "  - run: [sh, -c, 'cat .agents/skills/*/SKILL.md']\n".to_owned(),
        "  - run: [sh, -c, 'cd .agents/skills/deploy && cat SKILL.md']\n".to_owned(),
        "  - skill: using-superpowers\n  - skill: deploy\n".to_owned(),
        "  - tool: {name: Bash, input: {command: ls}}\n  - skill: deploy\n".to_owned(),
        format!("  - say: '{body}'\n  - skill: deploy\n"),
    ] {
        let case = one(true, &steps);
        assert_eq!((case.status, case.triggered), (CaseStatus::Passed, Some(true)), "{steps}");
    }
}

#[test]
fn what_is_no_load_does_not_count() {
    for steps in [
        "  - say: I would use the skill deploy\n",
        "  - skill: deploy-other\n",
        "  - read: .agents/skills/other/SKILL.md\n",
        "  - run: [ls, .agents/skills/deploy]\n",
        "  - run: [cat, other/skills/deploy/SKILL.md]\n",
        "  - tool: {name: Read, input: {file_path: .agents/skills/deploy/SKILL.md}, status: denied}\n",
        "  - tool: {name: Skill, input: {skill: deploy}, status: denied}\n",
    ] {
        let case = one(false, steps);
        assert_eq!((case.status, case.triggered), (CaseStatus::Passed, Some(false)), "{steps}");
    }
}

#[test]
fn a_skill_that_is_read_without_its_path_being_named_fires() {
    for command in [
        "cat $(find . -name SKILL.md)",
        "cat .agents/skills/*/S*",
        "head -50 $(ls -d .agents/*/*)/*",
        "grep -r '' .agents",
        "cd .agents; cd skills; cd *; base64 S*",
        "ln -s .agents/skills/deploy a; cat -n a/S*",
    ] {
        let mut scene = Scene::with_cases(ONE);
        scene.script("one.agent.yaml", &sh(command));
        let report = scene.report(RUNNER);
        let case = &report.cases[0];
        assert_eq!((case.triggered, case.fired.join(" ")), (Some(true), "deploy".to_owned()));
        assert_eq!(
            report.warnings,
            ["one: no call named the skill; it counts as loaded since its text was returned"],
            "{command}"
        );
    }
}

#[test]
fn a_command_that_names_the_file_and_does_not_show_it_is_no_load() {
    for command in [
        "ls -l .agents/skills/deploy/SKILL.md",
        "wc -l .agents/skills/*/SKILL.md",
        "head -3 .agents/skills/deploy/SKILL.md",
        "cp .agents/skills/deploy/SKILL.md copy",
        "grep -c deploy .agents/skills/deploy/SKILL.md",
    ] {
        let case = one(false, &sh(command));
        assert_eq!((case.status, case.triggered), (CaseStatus::Passed, Some(false)), "{command}");
    }
}

#[test]
fn siblings_that_loaded_are_told_in_order() {
    let steps = "  - skill: b\n  - skill: a\n  - skill: b\n";
    let case = one(true, steps);
    assert_eq!(case.fired, ["b", "a"]);
    assert_eq!(case.failures, ["did not fire", "loaded instead: b, a"]);
    let case = one(true, "  - skill: using\n  - skill: deploy\n");
    assert_eq!(
        (case.status, case.fired.join(" ")),
        (CaseStatus::Passed, "using deploy".to_owned())
    );
}

#[test]
fn a_call_that_failed_counts_and_is_told() {
    let mut scene = Scene::with_cases("  - {id: one, prompt: x, expect_trigger: true}\n");
    scene.script(
        "agent.yaml",
        "  - tool: {name: Skill, input: {skill: deploy}, status: error, text: broken}\n",
    );
    let report = scene.report(RUNNER);
    assert_eq!(report.cases[0].status, CaseStatus::Passed);
    assert_eq!(report.warnings, ["the call of the skill `deploy` failed"]);
}

#[test]
fn a_control_that_saw_the_skill_is_an_error_and_no_figure() {
    for steps in [
        "  - skill: deploy\n",
        "  - run: [sh, -c, 'cat PROJECT/skills/deploy/SKILL.md']\n",
        "  - run: [sh, -c, 'cat PROJECT/skills/*/SKILL.md']\n",
        "  - read: PROJECT/skills/deploy/evals/some.eval.yaml\n",
        "  - run: [sh, -c, 'find PROJECT']\n",
        "  - run: [sh, -c, 'cat PROJECT/sk*/dep*/ev*/some*']\n",
        "  - say: I found it at skills/deploy\n",
        "  - tool: {name: Grep, input: {pattern: x}, text: 'Ask which cluster is meant before anything of the deploy happens.'}\n",
    ] {
        let mut scene = deploy();
        let steps = steps.replace("PROJECT", scene.project.as_str());
        scene.script("agent.without.yaml", &steps);
        let report = scene.report(RUNNER);
        let case = &report.cases[0];
        assert_eq!(case.without_passed, None, "{steps}\n{case:#?}");
        let reason = case.reason.as_deref().unwrap_or_default();
        assert!(reason.contains("contaminated"), "{steps}: {reason}");
        assert_eq!(case.status, CaseStatus::Error, "{steps}");
        let score = report.score.unwrap();
        assert_eq!((score.ablation_delta, score.is_cacheable()), (None, false), "{steps}");
    }
}

/// What a control that runs this command comes to: why it is contaminated, and what the report warns
/// of. `PROJECT` stands for the project, and `TCEJORP` for its path backwards.
fn control(command: &str) -> (Option<String>, Vec<String>) {
    let mut scene = deploy();
    let backwards: String = scene.project.as_str().chars().rev().collect();
    let command = command.replace("PROJECT", scene.project.as_str()).replace("TCEJORP", &backwards);
    scene.script("agent.without.yaml", &sh(&command));
    let report = scene.report(RUNNER);
    let case = &report.cases[0];
    // Contamination leaves no number of the case, in neither arm.
    let (status, triggered) = match &case.reason {
        None => (CaseStatus::Passed, Some(true)),
        Some(_) => (CaseStatus::Error, None),
    };
    assert_eq!((case.status, case.triggered), (status, triggered), "{command}: {case:#?}");
    assert_eq!(case.reason.is_none(), case.without_passed == Some(false), "{command}: {case:#?}");
    (case.reason.clone(), report.warnings)
}

#[test]
fn a_control_that_reads_a_copy_in_any_encoding_is_contaminated() {
    for command in [
        "cd PROJECT/sk*; base64 de*/SK*",
        "base64 PROJECT/sk*/d*/S*",
        "cat PROJECT/s*/*/*.md | tr a-z n-za-m",
        "cat $(echo TCEJORP | rev)/s*/d*/S* | gzip | base64",
        // The path is put together, and the text cannot be recognised: the kernel knows.
        "p=$(echo TCEJORP | rev); cd $p; cd s*; cd d*; gzip -c S* | base64",
        "p=$(echo TCEJORP | rev); find $p -name 'S*' -exec tr a-z b-za {} +",
        "p=$(echo TCEJORP | rev); cat $p/s*/d*/e*/some* | gzip | base64",
        "python3 -c 'p = \"TCEJORP\"[::-1]; print(len(open(p + \"/ski\" + \"lls/deploy/SKI\" + \"LL.md\").read()))'",
    ] {
        let (reason, _) = control(command);
        let reason = reason.unwrap_or_else(|| panic!("{command}: not seen"));
        assert!(reason.contains("contaminated, the run without the skill saw it"), "{reason}");
    }
}

#[test]
fn what_the_kernel_saw_is_told_with_the_file() {
    let (reason, _) = control("cd $(echo TCEJORP | rev); cd s*; cd d*; wc -c S*");
    let reason = reason.unwrap();
    assert!(reason.contains("/skills/deploy/SKILL.md` was opened meanwhile: by the"), "{reason}");
}

#[test]
fn an_honest_control_is_not_contaminated() {
    for command in [
        "ls / ~ .. /tmp",
        "env; pwd; id; uname -a",
        "git status; git log; git config --list",
        "find . -type f; ls -laR .",
        "cat .agents/skills/*/SKILL.md .claude/skills/*/SKILL.md; true",
        "cat conf/a.yaml /etc/hostname; true",
        "cd ..; ls; cd /; ls",
        "echo Ask which cluster",
    ] {
        assert_eq!(control(command), (None, Vec::new()), "{command}");
    }
}

#[test]
fn a_control_that_looks_around_above_its_workspace_is_told_of() {
    let mut scene = deploy();
    let above = scene.project.parent().unwrap().to_owned();
    scene.script("agent.without.yaml", &sh(&format!("find {above} -maxdepth 1 -name nothing")));
    let report = scene.report(RUNNER);
    assert_eq!(report.cases[0].reason, None);
    assert!(report.warnings[0].contains("looked around above the workspace"), "{report:#?}");
}

#[test]
fn rooms_in_the_project_make_no_control() {
    let mut scene = deploy();
    scene.rooms = scene.project.join("tmp");
    match scene.run(RUNNER).stopped {
        Some(Stopped::CannotRun(why)) => assert!(why.contains("would lie in the project"), "{why}"),
        other => panic!("{other:?}"),
    }
    scene.ablation = false;
    assert_eq!(scene.case(RUNNER).status, CaseStatus::Passed);
}

#[test]
fn a_control_that_calls_no_tool_is_clean_whoever_opens_the_skill() {
    let mut scene = deploy();
    scene.script("agent.without.yaml", "  - spawn: {run: [cat, PROJECT/skills/deploy/SKILL.md]}\n");
    let script = scene.left("skills/deploy/evals/agent.without.yaml");
    let script = script.replace("PROJECT", scene.project.as_str());
    scene.write("skills/deploy/evals/agent.without.yaml", script);
    assert_eq!(scene.case(RUNNER).reason, None);
}

#[test]
fn what_the_case_itself_says_contaminates_nothing() {
    let mut scene = Scene::with_cases(
        "
  - id: one
    prompt: Look into skills/deploy
    expect_trigger: true
    files: [{path: docs/skills/deploy/README.md, content: hello}]
    assertions: [{type: contains, value: no}]
",
    );
    scene.ablation = true;
    scene.script("agent.yaml", "  - skill: deploy\n  - say: no\n");
    scene.script(
        "agent.without.yaml",
        "  - run: [ls, docs/skills/deploy]\n  - say: no skills/deploy here\n",
    );
    let case = scene.case(RUNNER);
    assert_eq!((case.status, case.without_passed), (CaseStatus::Passed, Some(true)), "{case:#?}");
}

#[test]
fn a_case_file_of_somebody_else_contaminates_nothing() {
    let mut scene = Scene::with_cases(ONE);
    scene.script("agent.yaml", "  - write: {path: other.eval.yaml, text: x}\n  - skill: deploy\n");
    assert_eq!(scene.case(RUNNER).status, CaseStatus::Passed);
}

#[test]
fn a_run_with_the_skill_that_read_the_cases_is_an_error() {
    let mut scene = deploy();
    let read = format!("  - read: {}/skills/deploy/evals/some.eval.yaml\n", scene.project);
    scene.script("deploy.agent.yaml", &read);
    let case = scene.case(RUNNER);
    assert_eq!(case.status, CaseStatus::Error);
    assert!(case.reason.unwrap().contains("the run saw the answers"));
}

#[test]
fn a_run_with_the_skill_that_opened_the_cases_is_an_error_in_any_encoding() {
    let mut scene = deploy();
    let backwards: String = scene.project.as_str().chars().rev().collect();
    let command = format!("cat $(echo {backwards} | rev)/s*/d*/e*/some* | gzip | base64");
    scene.script("deploy.agent.yaml", &sh(&command));
    let case = scene.case(RUNNER);
    assert_eq!(case.status, CaseStatus::Error);
    let reason = case.reason.unwrap();
    assert!(reason.contains("the run saw the answers"), "{reason}");
    assert!(reason.contains("some.eval.yaml` was opened meanwhile"), "{reason}");
}

#[test]
fn a_session_that_did_not_complete_is_an_error_and_never_a_miss() {
    for (steps, expected) in [
        ("  - end: {outcome: rate_limited, message: slow down}\n", "rate_limited: slow down"),
        ("  - end: {outcome: refused}\n", "the session ended: refused"),
        ("  - end: {outcome: max_turns}\n", "max_turns"),
        ("  - skill: deploy\n  - end: {outcome: overloaded}\n", "overloaded"),
        ("  - crash: {exit: 3}\n", "cut_short"),
        ("  - crash: {signal: KILL}\n", "cut_short"),
    ] {
        let case = one(true, steps);
        assert_eq!((case.status, case.triggered), (CaseStatus::Error, None), "{case:#?}");
        assert!(case.reason.as_ref().unwrap().contains(expected), "{case:#?}");
    }
}

#[test]
fn a_timeout_is_an_error_of_its_case() {
    let mut scene = Scene::with_cases(
        "
  - {id: one, prompt: x, expect_trigger: true}
  - {id: two, prompt: x, expect_trigger: true}
",
    );
    scene.timeout = Duration::from_secs(2);
    scene.script("one.agent.yaml", "  - skill: deploy\n");
    scene.script("two.agent.yaml", "  - skill: deploy\n  - stall\n");
    let report = scene.report(RUNNER);
    assert_eq!(report.cases[0].status, CaseStatus::Passed);
    assert_eq!(report.cases[1].status, CaseStatus::Error);
    assert!(report.cases[1].reason.as_ref().unwrap().contains("timeout"));
    assert_eq!(report.score.unwrap().trigger_recall, Some(1.0));
}

#[test]
fn refused_credentials_end_the_run() {
    let mut scene = deploy();
    scene.script("deploy.agent.yaml", "  - end: {outcome: auth_failed, message: bad key}\n");
    let ran = scene.run(RUNNER);
    match ran.stopped {
        Some(Stopped::CannotRun(why)) => assert!(why.contains("bad key"), "{why}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_case_without_a_script_says_where_one_could_be() {
    let case = Scene::with_cases("  - {id: one, prompt: x, expect_trigger: true}\n").case(RUNNER);
    assert_eq!(case.status, CaseStatus::Error);
    assert_eq!(
        case.reason.unwrap(),
        "the scripted agent has no script: put one of one.agent.yaml, agent.yaml into \
         skills/deploy/evals"
    );
}

#[test]
fn a_rubric_without_a_grader_is_skipped_with_a_reason() {
    let mut scene = Scene::with_cases(
        "
  - {id: one, prompt: x, expect_trigger: true, rubric: names the cluster}
",
    );
    scene.script("agent.yaml", "  - skill: deploy\n");
    let case = scene.case(RUNNER);
    assert_eq!(case.status, CaseStatus::Skipped);
    assert!(case.reason.unwrap().contains("rubric"));
    assert_eq!(scene.told, []);
}

#[test]
fn files_that_would_replace_the_skill_are_refused() {
    let mut scene = Scene::with_cases(
        "
  - {id: one, prompt: x, expect_trigger: true, files: [{path: .agents/skills/deploy/SKILL.md}]}
",
    );
    scene.script("agent.yaml", "  - skill: deploy\n");
    let case = scene.case(RUNNER);
    assert!(case.reason.unwrap().contains("would replace the skill"));
}

#[test]
fn the_majority_of_the_runs_counts() {
    for (pattern, expected) in [("1 1 0", CaseStatus::Passed), ("1 0 0", CaseStatus::Failed)] {
        let mut scene = Scene::with_cases("  - {id: one, prompt: x, expect_trigger: true}\n");
        "claude".clone_into(&mut scene.options.harness);
        scene.options.runs = Some(3);
        scene.options.jobs = NonZeroUsize::new(1);
        scene.home.set("ANTHROPIC_API_KEY", "fake-key-of-a-test");
        let counter = scene.project.join("counter");
        let fire = claude_line(&json!({"type": "assistant", "message": {"content": [
            {"type": "tool_use", "id": "1", "name": "Skill", "input": {"skill": "deploy"}}]}}));
        scene.home.add_script(
            "claude",
            &format!(
                "#!/bin/sh\necho x >>{counter}\nset -- {pattern}\nshift $(($(wc -l <{counter}) - 1))\n\
                 if [ $1 = 1 ]; then {fire}; fi\n{}\n",
                claude_line(&done())
            ),
        );
        let report = scene.report(RUNNER);
        assert_eq!(report.cases[0].status, expected, "{report:#?}");
        assert_eq!(scene.left("counter").lines().count(), 3);
    }
}

fn claude_line(line: &serde_json::Value) -> String {
    format!("echo '{line}'")
}

/// The last line of Claude Code.
fn done() -> serde_json::Value {
    json!({"type": "result", "subtype": "success", "is_error": false, "num_turns": 1,
           "terminal_reason": "completed", "result": "done", "total_cost_usd": 0.5})
}

/// A scene whose `claude` prints these lines.
fn claude(cases: &str, lines: &[serde_json::Value]) -> Scene {
    let mut scene = Scene::with_cases(cases);
    "claude".clone_into(&mut scene.options.harness);
    scene.home.set("ANTHROPIC_API_KEY", "fake-key-of-a-test");
    let lines: Vec<String> = lines.iter().map(claude_line).collect();
    let project = scene.project.clone();
    scene.home.add_script(
        "claude",
        &format!(
            "#!/bin/sh\nprintf '%s\\n' \"$@\" >{project}/argv\nenv >{project}/env\n{}\n",
            lines.join("\n")
        ),
    );
    scene
}

const ONE: &str = "  - {id: one, prompt: x, expect_trigger: true}\n";

fn init(skills: &[&str]) -> serde_json::Value {
    json!({"type": "system", "subtype": "init", "session_id": "s", "skills": skills})
}

#[test]
fn a_skill_that_the_harness_did_not_announce_could_not_fire() {
    let case = claude(ONE, &[init(&["doctor", "other:x"]), done()]).case(RUNNER);
    assert_eq!(case.status, CaseStatus::Error);
    assert!(case.reason.unwrap().contains("did not announce the skill"));
    for name in ["deploy", "plugin:deploy"] {
        let case = claude(ONE, &[init(&["doctor", name]), done()]).case(RUNNER);
        assert_eq!((case.status, case.triggered), (CaseStatus::Failed, Some(false)), "{name}");
    }
}

#[test]
fn a_control_in_which_the_skill_is_announced_has_another_copy() {
    let mut scene = claude(DEPLOY, &[init(&["deploy"]), done()]);
    scene.ablation = true;
    let case = scene.case(RUNNER);
    assert!(case.reason.as_ref().unwrap().contains("another copy is installed"), "{case:#?}");
}

#[test]
fn a_prompt_that_loads_the_skill_itself_proves_nothing() {
    let cases = "  - {id: one, prompt: /deploy now, expect_trigger: true}\n";
    let case = claude(cases, &[init(&["deploy"]), done()]).case(RUNNER);
    assert_eq!(case.status, CaseStatus::Error);
    assert!(case.reason.unwrap().contains("the prompt itself loads it"));
}

#[test]
fn model_budget_and_arguments_are_handed_on() {
    let mut scene = claude(ONE, &[done()]);
    scene.model = Some("haiku".to_owned());
    scene.max_cost_usd = 2.0;
    scene.options.args = vec!["--allowedTools".to_owned(), "Bash(ls:*)".to_owned()];
    scene.run(RUNNER);
    let argv = scene.left("argv").replace('\n', " ");
    assert!(argv.contains("--model=haiku --max-budget-usd 2 "), "{argv}");
    assert!(argv.ends_with("--allowedTools Bash(ls:*) -- x "), "{argv}");
    let env = scene.left("env");
    assert!(env.contains("CLAUDE_CONFIG_DIR=") && env.contains("/home/.claude"), "{env}");
    assert!(!env.contains(SECRET), "{env}");
}

#[test]
fn a_budget_that_is_spent_starts_no_more_sessions() {
    let cases = "
  - {id: one, prompt: x, expect_trigger: false}
  - {id: two, prompt: x, expect_trigger: false}
  - {id: three, prompt: x, expect_trigger: false}
";
    let mut scene = claude(cases, &[done()]);
    scene.max_cost_usd = 0.8;
    scene.options.jobs = NonZeroUsize::new(1);
    let report = scene.report(RUNNER);
    let statuses: Vec<CaseStatus> = report.cases.iter().map(|case| case.status).collect();
    assert_eq!(statuses, [CaseStatus::Passed, CaseStatus::Passed, CaseStatus::Error]);
    assert!(report.cases[2].reason.as_ref().unwrap().contains("the budget of $0.8 was spent"));
    assert!(report.warnings.iter().any(|warning| warning.contains("spent $1")), "{report:#?}");
}

#[test]
fn a_login_is_used_in_the_users_home_and_the_report_says_so() {
    let mut scene = claude(ONE, &[done()]);
    scene.home.unset("ANTHROPIC_API_KEY");
    let report = scene.report(RUNNER);
    assert!(report.warnings[0].contains("with your own login"), "{report:#?}");
    let home = scene.home.environment()["HOME"].clone();
    assert!(scene.left("env").contains(&format!("HOME={home}\n")));
}

#[test]
fn a_copy_of_the_skill_beside_a_login_would_answer_for_it() {
    let mut scene = Scene::with_cases(ONE);
    "codex".clone_into(&mut scene.options.harness);
    let done = json!({"type": "turn.completed", "usage": {"input_tokens": 1, "output_tokens": 1}});
    scene.home.add_script("codex", &format!("#!/bin/sh\n{}\n", claude_line(&done)));
    let case = scene.case(RUNNER);
    assert_eq!((case.status, case.triggered), (CaseStatus::Failed, Some(false)), "{case:#?}");
    let own = scene.home.environment()["CODEX_HOME"].clone();
    std::fs::create_dir_all(format!("{own}/skills/deploy")).unwrap();
    let case = scene.case(RUNNER);
    assert_eq!(case.status, CaseStatus::Error);
    assert!(case.reason.unwrap().contains("would answer for it"));
}

#[test]
fn a_program_that_is_not_there_ends_the_run() {
    let mut scene = claude(ONE, &[done()]);
    scene.options.claude_bin = Some("./no/claude".to_owned());
    match scene.run(RUNNER).stopped {
        Some(Stopped::CannotRun(why)) => assert!(why.contains("no/claude"), "{why}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_interrupt_leaves_nothing_behind() {
    let mut scene = deploy();
    let at_work = scene.project.join("at-work");
    let stall = format!("  - run: [touch, '{at_work}']\n  - stall\n");
    scene.script("deploy.agent.yaml", &stall);
    let cancel = scene.cancel.clone();
    let watcher = std::thread::spawn(move || {
        while !at_work.exists() {
            std::thread::yield_now();
        }
        cancel.cancel();
    });
    let ran = scene.run(RUNNER);
    watcher.join().unwrap();
    assert_eq!(ran.stopped, Some(Stopped::Interrupted));
    assert!(scene.is_tidy());
}
