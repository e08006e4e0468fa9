//! The run loop: order, budget, interruption.

use proctor_model::eval::{SkillReport, SkillStatus};
use proctor_runner::eval::{Answer, Call, CallError, Job, Runner, Stopped, Told};

use crate::scene::Scene;

const ONE: &str = "  - {id: one, prompt: x, expect_trigger: true}\n";

/// A scene with the skills `a`, `b` and `c`.
fn three_skills() -> Scene {
    let scene = Scene::new();
    for id in ["a", "b", "c"] {
        scene.skill(id, ONE);
    }
    scene
}

/// A command whose only result carries `more`.
fn answer(more: &str) -> String {
    format!(
        r#"echo '{{"version": 1, "results": [{{"case": "one", "arm": "with", "triggered": true{more}}}]}}'"#
    )
}

#[test]
fn skills_run_in_order_and_each_is_told_when_it_is_finished() {
    let mut scene = three_skills();
    scene.command(&answer(r#", "cost_usd": 0.25"#));
    let ran = scene.run("command");
    assert_eq!(scene.finished, ["a", "b", "c"]);
    assert_eq!(ran.stopped, None);
    assert!((ran.cost_usd - 0.75).abs() < 1e-9);
    assert!(ran.skills.iter().all(|skill| skill.report.passing && skill.kept.is_some()));
}

#[test]
fn what_the_plan_has_settled_passes_through() {
    let mut scene = three_skills();
    scene.command(&answer(""));
    let mut jobs = scene.jobs();
    let cached = SkillReport { passing: true, ..SkillReport::new("b", SkillStatus::Cached) };
    jobs[1] = Job { report: cached, task: None };
    let runner = proctor_runner::eval::runner("command", &scene.options).unwrap();
    let ran = scene.run_jobs(runner.as_ref(), jobs);
    let statuses: Vec<SkillStatus> = ran.skills.iter().map(|skill| skill.report.status).collect();
    assert_eq!(statuses, [SkillStatus::Ran, SkillStatus::Cached, SkillStatus::Ran]);
    assert_eq!(scene.finished, ["a", "b", "c"]);
}

#[test]
fn what_is_left_of_the_budget_is_handed_on_and_then_nothing_is_run() {
    let mut scene = three_skills();
    scene.max_cost_usd = 1.0;
    scene.command(&format!(
        "cat | grep -o 'max_cost_usd\":[^,]*' >>budgets\n{}",
        answer(r#", "cost_usd": 0.6"#)
    ));
    let ran = scene.run("command");
    assert_eq!(scene.left("budgets"), "max_cost_usd\":1\nmax_cost_usd\":0.4\n");
    let statuses: Vec<SkillStatus> = ran.skills.iter().map(|skill| skill.report.status).collect();
    assert_eq!(statuses, [SkillStatus::Ran, SkillStatus::Ran, SkillStatus::SkippedOverBudget]);
    let warnings = &ran.skills[1].report.warnings;
    assert!(warnings[0].contains("spent $0.6, more than the $0.4"), "{warnings:?}");
}

#[test]
fn an_error_and_silence_about_money_count_as_everything_that_was_left() {
    for (command, second) in [("exit 1".to_owned(), "error"), (answer(""), "ran")] {
        let mut scene = three_skills();
        scene.max_cost_usd = 5.0;
        scene.command(&command);
        let ran = scene.run("command");
        assert_eq!(ran.skills[0].report.status.as_str(), second);
        assert_eq!(ran.skills[1].report.status, SkillStatus::SkippedOverBudget);
        assert!((ran.cost_usd - 5.0).abs() < 1e-9);
        if let Some(kept) = ran.skills[0].kept {
            // A record keeps what was reported, the report shows what was charged.
            assert!(kept.cost_usd.abs() < 1e-9);
            assert!((ran.skills[0].report.score.unwrap().cost_usd - 5.0).abs() < 1e-9);
        }
    }
}

#[test]
fn tokens_are_priced_when_no_cost_is_reported() {
    let mut scene = three_skills();
    scene.max_cost_usd = 5.0;
    scene.command(&answer(r#", "input_tokens": 100000, "output_tokens": 20000"#));
    let ran = scene.run("command");
    assert!((ran.cost_usd - 0.6).abs() < 1e-9);
    assert_eq!(ran.skills[2].kept.unwrap().run_tokens, 120_000);
}

#[test]
fn a_failing_score_is_kept_and_one_with_errors_is_not() {
    let mut scene = Scene::with_cases(ONE);
    scene.command(&answer(r#", "triggered": false"#).replace(r#""triggered": true, "#, ""));
    let ran = scene.run("command");
    assert!(!ran.skills[0].report.passing && ran.skills[0].kept.is_some());
    assert_eq!(ran.skills[0].report.cases[0].failures, ["did not fire"]);
    let mut scene = Scene::with_cases(ONE);
    scene.command(&answer(r#", "error": "outage""#));
    let ran = scene.run("command");
    assert_eq!((ran.skills[0].report.status, ran.skills[0].kept), (SkillStatus::Ran, None));
}

#[test]
fn an_interrupt_keeps_what_is_finished() {
    let mut scene = three_skills();
    scene.cancel_after = Some("a");
    scene.command(&answer(""));
    let ran = scene.run("command");
    assert_eq!(ran.stopped, Some(Stopped::Interrupted));
    assert!(ran.skills[0].kept.is_some());
    for skill in &ran.skills[1..] {
        let error = skill.report.error.as_deref().unwrap();
        assert_eq!(error, "not run: the run was interrupted");
        assert_eq!(skill.kept, None);
    }
}

#[test]
fn an_interrupt_ends_the_runner_at_work() {
    let mut scene = three_skills();
    scene.command("echo at work >&2; sleep 600");
    let cancel = scene.cancel.clone();
    let at_work = scene.project.join("at-work");
    scene.command(&format!("touch {at_work}; sleep 600"));
    let watcher = std::thread::spawn(move || {
        while !at_work.exists() {
            std::thread::yield_now();
        }
        cancel.cancel();
    });
    let ran = scene.run("command");
    watcher.join().unwrap();
    assert_eq!(ran.stopped, Some(Stopped::Interrupted));
    let errors: Vec<&str> =
        ran.skills.iter().map(|skill| skill.report.error.as_deref().unwrap()).collect();
    assert_eq!(errors[0], "interrupted before the runner was done");
    assert_eq!(errors[1..], ["not run: the run was interrupted"; 2]);
}

#[test]
fn whoever_is_told_of_a_skill_can_stop_the_run() {
    let mut scene = three_skills();
    scene.stop_after = Some("b");
    scene.command(&answer(""));
    let ran = scene.run("command");
    assert_eq!(ran.stopped, Some(Stopped::Asked));
    let statuses: Vec<SkillStatus> = ran.skills.iter().map(|skill| skill.report.status).collect();
    assert_eq!(statuses, [SkillStatus::Ran, SkillStatus::Ran, SkillStatus::Error]);
}

/// A runner that cannot run.
struct Unfit;

impl Runner for Unfit {
    fn name(&self) -> &'static str {
        "unfit"
    }

    fn runs_per_case(&self) -> u64 {
        1
    }

    fn run(&self, _: &Call<'_>, _: &mut dyn FnMut(Told)) -> Result<Answer, CallError> {
        Err(CallError::CannotRun("too old".to_owned()))
    }
}

#[test]
fn a_runner_that_cannot_run_ends_the_run_and_costs_nothing() {
    let mut scene = three_skills();
    scene.max_cost_usd = 1.0;
    let jobs = scene.jobs();
    let ran = scene.run_jobs(&Unfit, jobs);
    assert_eq!(ran.stopped, Some(Stopped::CannotRun("too old".to_owned())));
    assert_eq!(ran.skills[0].report.error.as_deref(), Some("too old"));
    let rest = ran.skills[2].report.error.as_deref();
    assert_eq!(rest, Some("not run: the runner cannot run"));
    assert!(ran.cost_usd.abs() < 1e-9);
}
