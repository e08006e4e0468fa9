//! The real Claude Code and Codex; only the model is pretended.

use std::fs;
use std::num::NonZeroUsize;

use proctor_model::eval::{ActivationStatus, PromptStatus};
use proctor_runner::eval::Stopped;
use proctor_testkit::{FakeModel, Fault, SealedHome, Turn};
use serde_json::json;

use super::arena::{Arena, auto, counts, fixed, prompt, report};
use crate::scene::Scene;

const CASES: &str = "
  - {id: fires, prompt: Deploy the billing service, expect_trigger: true, near_miss: [Explain it]}
  - {id: stolen, prompt: Write the notes of the release, expect_trigger: true}
";

/// A number that only the commands of these tests have in their arguments.
const MARK: &str = "98765";

/// An arena with three skills and a real program; `None` when it is not installed.
fn arena(harness: &str, cases: &str, turns: Vec<Turn>) -> Option<(Arena, FakeModel)> {
    let model = FakeModel::start(turns);
    let home = SealedHome::with_harness(harness, &model)?;
    let mut arena = Arena::of(Scene::in_home(home), harness);
    arena.scene.skill("deploy", cases);
    for other in ["notes", "layout"] {
        let text = format!("---\nname: {other}\ndescription: Does the {other}\n---\n# {other}\n");
        arena.scene.write(&format!("skills/{other}/SKILL.md"), text);
    }
    arena.scene.options.jobs = NonZeroUsize::new(1);
    Some((arena, model))
}

/// The answer that loads a skill. What Codex runs does not end by itself.
fn loads(harness: &str, skill: &str) -> Turn {
    if harness == "claude" {
        return Turn::tool("Skill", json!({"skill": format!("ai-rulez-activation:{skill}")}));
    }
    let command = format!("cat .agents/skills/{skill}/SKILL.md; sleep {MARK}");
    Turn::tool("exec_command", json!({"cmd": command}))
}

/// The answer to the canary: it must be offered beside every other skill.
fn canary(harness: &str) -> Turn {
    let turn =
        loads(harness, "proctor-canary").needs("Always use this skill when the word zanthorple");
    offers(turn)
}

/// A turn that needs every competing skill to be offered, and none to be there already.
fn offers(turn: Turn) -> Turn {
    let turn = turn.forbids("Ask which cluster is meant");
    turn.needs("Does the deploy of services, carefully")
        .needs("Does the notes")
        .needs("Does the layout")
}

fn name(harness: &str) -> String {
    format!("{harness}-native")
}

/// Whether a command of these tests is alive.
fn anything_left() -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok()).any(|line| {
        let text = String::from_utf8_lossy(&line);
        text.contains(MARK) && text.contains("sleep")
    })
}

const HARNESSES: [&str; 2] = ["claude", "codex"];

#[test]
fn what_the_model_chooses_is_seen() {
    for harness in HARNESSES {
        let turns = vec![
            canary(harness),
            offers(loads(harness, "deploy")).forbids("zanthorple"),
            Turn::text("It is so"),
            loads(harness, "notes"),
            // The second runs.
            loads(harness, "deploy"),
            Turn::text("It is so"),
            loads(harness, "notes"),
        ];
        let Some((mut arena, model)) = arena(harness, CASES, turns) else { continue };
        arena.runs = fixed(2);
        let ran = arena.run(&name(harness));
        let skill = report(&ran, "deploy");
        assert_eq!(skill.status, ActivationStatus::Ran, "{harness}: {ran:#?}");
        assert_eq!(counts(skill, "fires"), "deploy 2", "{harness}");
        assert_eq!(counts(skill, "fires.near-miss-1"), "none 2", "{harness}");
        assert_eq!(counts(skill, "stolen"), "notes 2", "{harness}");
        assert_eq!(skill.stolen_by[0].skill, "notes", "{harness}");
        assert_eq!(skill.warnings, Vec::<String>::new(), "{harness}");
        let kept = ran.skills[0].kept.unwrap();
        assert_eq!(kept.runs, 6, "{harness}");
        let proof = ran.proof.as_ref().unwrap();
        assert_eq!((proof.runs, &proof.broken), (1, &None), "{harness}");
        if harness == "claude" {
            assert!(kept.spend.cost_usd > 0.0 && ran.cost_usd > kept.spend.cost_usd, "{ran:#?}");
            assert_eq!((kept.spend.input_tokens, kept.spend.output_tokens), (600, 120));
        } else {
            assert!(kept.spend.is_unknown(), "{kept:?}");
            assert!(!anything_left());
        }
        assert_eq!(model.model_requests().len(), 7, "{harness}");
        assert!(arena.scene.is_tidy(), "{harness}");
    }
}

#[test]
fn one_run_the_other_way_is_borderline_and_a_failed_one_is_no_miss() {
    let one = "  - {id: one, prompt: Deploy the billing service, expect_trigger: true}\n";
    for harness in HARNESSES {
        let turns = vec![
            canary(harness),
            loads(harness, "deploy"),
            Turn::text("No"),
            loads(harness, "deploy"),
            loads(harness, "deploy"),
            loads(harness, "deploy"),
            Turn::fault(Fault::status(400).forever()),
        ];
        let Some((mut arena, _model)) = arena(harness, one, turns) else { continue };
        arena.runs = fixed(6);
        let ran = arena.run(&name(harness));
        let one = prompt(report(&ran, "deploy"), "one").clone();
        assert_eq!(one.status, PromptStatus::Borderline, "{harness}: {ran:#?}");
        assert_eq!((one.runs, one.errored_runs), (5, 1), "{harness}");
    }
}

#[test]
fn a_model_that_never_calls_the_canary_measures_nothing() {
    for harness in HARNESSES {
        let Some((mut arena, model)) = arena(harness, CASES, vec![Turn::text("No")]) else {
            continue;
        };
        let ran = arena.run(&name(harness));
        let skill = report(&ran, "deploy");
        assert_eq!((skill.status, skill.recall), (ActivationStatus::Error, None), "{harness}");
        let error = skill.error.as_ref().unwrap();
        assert!(
            error.starts_with("instrument broken: the canary did not fire"),
            "{harness}: {error}"
        );
        assert_eq!(model.model_requests().len(), 2, "{harness}");
    }
}

#[test]
fn a_harness_without_skills_is_known_without_an_answer_of_the_model() {
    // Claude Code without skills, by an argument of the user's.
    let Some((mut arena, _model)) = arena("claude", CASES, vec![canary("claude")]) else { return };
    arena.scene.options.args = vec!["--disable-slash-commands".to_owned()];
    let ran = arena.run("claude-native");
    let error = report(&ran, "deploy").error.clone().unwrap();
    assert!(error.starts_with("instrument broken: "), "{error}");
}

#[test]
fn outages_and_refused_keys_are_told_apart_from_silence() {
    for harness in HARNESSES {
        let turns = vec![Turn::fault(Fault::status(401).forever())];
        let Some((mut arena, _model)) = arena(harness, CASES, turns) else { continue };
        match arena.run(&name(harness)).stopped {
            Some(Stopped::CannotRun(why)) => {
                assert!(why.contains("credentials"), "{harness}: {why}");
            }
            other => panic!("{harness}: {other:?}"),
        }
        let turns = vec![canary(harness), Turn::fault(Fault::status(529).forever())];
        let (mut arena, _model) = self::arena(harness, CASES, turns).unwrap();
        let ran = arena.run(&name(harness));
        let skill = report(&ran, "deploy");
        assert_eq!((skill.status, skill.recall), (ActivationStatus::Error, None), "{harness}");
        let error = prompt(skill, "fires").error.clone().unwrap();
        assert!(error.starts_with("overloaded"), "{harness}: {error}");
    }
}

#[test]
fn runs_that_settle_a_prompt_are_the_last() {
    let Some((mut arena, model)) = arena(
        "claude",
        "  - {id: one, prompt: Deploy the billing service, expect_trigger: true}\n",
        vec![canary("claude"), Turn::text("No"), Turn::text("No")],
    ) else {
        return;
    };
    arena.runs = auto(5);
    let ran = arena.run("claude-native");
    let skill = report(&ran, "deploy");
    assert_eq!((counts(skill, "one").as_str(), skill.saved_runs), ("none 2", 3));
    assert_eq!(prompt(skill, "one").status, PromptStatus::Failed);
    assert_eq!(model.model_requests().len(), 3);
}

#[test]
fn skills_that_the_programs_leave_out_are_left_out_here_and_odd_names_are_found() {
    for harness in HARNESSES {
        let one = "  - {id: one, prompt: Deploy the billing service, expect_trigger: true}\n";
        let cut = if harness == "claude" { "of it. W\u{2026}" } else { "of it. Words o..." };
        let turns = vec![loads(harness, "proctor-canary").needs(cut), loads(harness, "odd")];
        let Some((mut arena, _model)) = arena(harness, one, turns) else { continue };
        arena.scene.write("skills/layout/SKILL.md", "---\nname: layout\n---\n# Layout\n");
        arena.scene.write(
            "skills/odd/SKILL.md",
            "---\nname: Odd Name\ndescription: Use when: it is odd\nlicense: x\n---\n# Odd\n",
        );
        let long = format!("---\nname: notes\ndescription: {}\n---\n", "Words of it. ".repeat(900));
        arena.scene.write("skills/notes/SKILL.md", long);
        let ran = arena.run(&name(harness));
        let skill = report(&ran, "deploy");
        assert_eq!(skill.status, ActivationStatus::Ran, "{harness}: {ran:#?}");
        assert_eq!(counts(skill, "one"), "odd 1", "{harness}");
        assert!(skill.warnings[0].starts_with("`layout` takes no part"), "{harness}: {skill:#?}");
        let shown = if harness == "claude" { 1536 } else { 1024 };
        assert_eq!(
            skill.warnings[1],
            format!(
                "the description of `notes` has 11699 characters, of which {harness} shows its model \
                 {shown}"
            )
        );
    }
}
