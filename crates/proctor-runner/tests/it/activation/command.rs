//! The activator `command`: the handshake, the request, and everything that can be wrong with an
//! answer.

use std::time::Duration;

use proctor_model::eval::{ActivationStatus, PromptStatus};
use proctor_runner::eval::Stopped;
use serde_json::{Value, json};

use super::arena::{Arena, counts, fixed, prompt, report};

const ABLE: &str = r#"{"version": 1, "capabilities": ["activation"], "surfaces": ["native"]}"#;

const CASES: &str = "
  - id: basic
    prompt: Deploy it
    expect_trigger: true
    near_miss: [Explain deployments]
    files: [{path: a.txt, content: x}]
    assertions: [{type: contains, value: x}]
    rubric: it deploys
    tags: [smoke]
";

/// An arena with the skills `deploy`, which has cases, and `notes`, and this command.
fn arena(probe: &str, answer: &str) -> Arena {
    let mut arena = Arena::new("some-harness");
    arena.scene.skill("deploy", CASES);
    arena.scene.write(
        "skills/notes/SKILL.md",
        "---\nname: notes\ndescription: Writes release notes\n---\n",
    );
    arena.runs = fixed(5);
    let script = format!(
        "input=$(cat)\necho x >>calls\nif [ \"$AI_RULEZ_EVAL_MODE\" = capabilities ]; then\n\
         printf '%s' \"$input\" >probe.json; env >probe.env; {probe}\nelse\n\
         printf '%s' \"$input\" >request.json; env >request.env; {answer}\nfi\n"
    );
    arena.scene.command(&script);
    arena
}

fn prints(text: impl std::fmt::Display) -> String {
    format!("cat <<'END'\n{text}\nEND")
}

fn good() -> Value {
    json!({"version": 1, "results": [
        {"case": "basic", "arm": "with", "runs": 5, "fired_counts": {"deploy": 4, "notes": 1},
         "input_tokens": 20500, "output_tokens": 600, "cost_usd": 0.0071},
        {"case": "basic.near-miss-1", "arm": "with", "runs": 5, "fired_counts": {"none": 5}},
    ]})
}

#[test]
fn a_capable_command_is_asked_for_all_prompts_at_once_and_scored() {
    let mut arena = arena(&prints(ABLE), &prints(good()));
    arena.scene.model = Some("haiku".to_owned());
    arena.scene.max_cost_usd = 0.5;
    let ran = arena.run("command");
    let skill = report(&ran, "deploy");
    assert_eq!(skill.status, ActivationStatus::Ran, "{ran:#?}");
    assert_eq!(prompt(skill, "basic").status, PromptStatus::Borderline);
    assert_eq!(prompt(skill, "basic.near-miss-1").status, PromptStatus::Passed);
    assert_eq!(skill.recall.unwrap().value.to_string(), "1");
    assert_eq!(skill.run_recall.unwrap().value.to_string(), "0.8");
    assert_eq!(skill.ignored, 1);
    assert_eq!(skill.cost_usd, Some(0.0071));
    let kept = ran.skills[0].kept.unwrap();
    assert_eq!((kept.runs, kept.spend.input_tokens), (10, 20500));
    assert_eq!(report(&ran, "notes").status, ActivationStatus::NoCases);
    assert_eq!(arena.scene.left("calls").lines().count(), 2);

    let folder = arena.scene.project.join("skills/deploy");
    let mut request: Value = serde_json::from_str(&arena.scene.left("request.json")).unwrap();
    assert_eq!(request["skill"]["dir"], folder.as_str());
    for skill in request["skills"].as_array_mut().unwrap() {
        let digest = skill["digest"].take();
        assert!(digest.as_str().unwrap().starts_with("sha256:"), "{digest}");
        skill["dir"].take();
    }
    assert_eq!(
        request["skills"],
        json!([
            {"id": "deploy", "dir": null, "digest": null,
             "description": "Does the deploy of services, carefully"},
            {"id": "notes", "dir": null, "digest": null, "description": "Writes release notes"},
        ])
    );
    assert_eq!(request["skill"]["description"], "Does the deploy of services, carefully");
    for key in ["skill", "skills"] {
        request.as_object_mut().unwrap().remove(key);
    }
    assert_eq!(
        request,
        json!({
            "version": 1, "mode": "activation", "surface": "native", "harness": "some-harness",
            "model": "haiku", "runs": 5, "max_turns": 1, "ablation": false, "max_cost_usd": 0.5,
            "cases": [
                {"id": "basic", "prompt": "Deploy it", "expect_trigger": true, "tags": ["smoke"],
                 "target": "deploy", "runs": 5},
                {"id": "basic.near-miss-1", "prompt": "Explain deployments",
                 "expect_trigger": false, "tags": ["smoke", "near-miss"], "near_miss_of": "basic",
                 "target": "deploy", "runs": 5},
            ]
        })
    );
    let env = arena.scene.left("request.env");
    for line in
        ["AI_RULEZ_EVAL_PROTOCOL=1", "AI_RULEZ_EVAL_SKILL=deploy", "AI_RULEZ_EVAL_MODE=activation"]
    {
        assert!(env.lines().any(|found| found == line), "{line}: {env}");
    }
}

#[test]
fn the_probe_is_asked_without_a_skill_and_once_for_all_skills() {
    let mut arena = arena(&prints(ABLE), &prints(good()));
    arena.scene.skill("again", CASES);
    let ran = arena.run("command");
    assert_eq!(ran.stopped, None);
    assert_eq!(arena.scene.left("calls").lines().count(), 3);
    let probe: Value = serde_json::from_str(&arena.scene.left("probe.json")).unwrap();
    assert_eq!(
        probe,
        json!({"version": 1, "mode": "capabilities", "harness": "some-harness", "ablation": false,
               "skill": {"id": "", "dir": "", "digest": ""}, "cases": []})
    );
    let env = arena.scene.left("probe.env");
    assert!(env.contains("AI_RULEZ_EVAL_MODE=capabilities\n"), "{env}");
    assert!(env.contains("AI_RULEZ_EVAL_SKILL=\n"), "{env}");
}

#[test]
fn a_command_that_does_not_say_that_it_can_is_refused_before_anything_runs() {
    for (probe, why) in [
        (prints(r#"{"version": 1, "results": []}"#), "its `capabilities` do not hold `activation`"),
        (
            prints(r#"{"version": 1, "capabilities": ["activation"]}"#),
            "its `surfaces` do not hold `native`",
        ),
        (
            prints(r#"{"version": 1, "capabilities": ["activation"], "surfaces": ["retrieval"]}"#),
            "its `surfaces` do not hold `native`",
        ),
        (
            prints(r#"{"version": 2, "capabilities": ["activation"], "surfaces": ["native"]}"#),
            "it answers in version 2 of the protocol; this is version 1",
        ),
        (
            prints(
                r#"{"version": 1, "capabilities": ["activation"], "surfaces": ["native"],
                    "results": [{"case": "a", "arm": "with"}]}"#,
            ),
            "asked for its capabilities, it answered with results: it ran something",
        ),
        (
            "echo unknown mode >&2; exit 3".to_owned(),
            "asked for its capabilities, it failed: the runner exited with code 3; its last words: \
             unknown mode",
        ),
        ("true".to_owned(), "it failed: the runner printed nothing"),
    ] {
        let mut arena = arena(&probe, &prints(good()));
        let ran = arena.run("command");
        match &ran.stopped {
            Some(Stopped::CannotRun(reason)) => {
                assert!(
                    reason.starts_with("runner `command` does not support activation mode: "),
                    "{reason}"
                );
                assert!(reason.contains(why), "{why}: {reason}");
            }
            other => panic!("{why}: {other:?}"),
        }
        assert_eq!(arena.scene.left("calls").lines().count(), 1, "{why}");
        assert_eq!(report(&ran, "deploy").status, ActivationStatus::Error);
    }
}

#[test]
fn a_probe_has_no_more_time_than_a_skill() {
    let mut arena = arena("exec tail -f /dev/null", &prints(good()));
    arena.scene.timeout = Duration::from_millis(300);
    match arena.run("command").stopped {
        Some(Stopped::CannotRun(why)) => assert!(why.contains("after 0.3 s"), "{why}"),
        other => panic!("{other:?}"),
    }
}

/// The error of the skill for an answer with this one result.
fn refused(result: &Value) -> String {
    let answer = json!({"version": 1, "results": [result]});
    let ran = arena(&prints(ABLE), &prints(answer)).run("command");
    let skill = report(&ran, "deploy");
    assert_eq!(skill.status, ActivationStatus::Error, "{result}");
    assert!(skill.prompts.is_empty() && skill.recall.is_none() && !skill.passing);
    assert_eq!((ran.skills[0].kept, ran.stopped.clone()), (None, None));
    skill.error.clone().unwrap()
}

#[test]
fn an_answer_that_cannot_be_is_no_answer() {
    let result = |changes: Value| {
        let mut result = json!({"case": "basic", "arm": "with", "runs": 5,
                                "fired_counts": {"deploy": 4, "none": 1}});
        for (key, value) in changes.as_object().unwrap() {
            if value.is_null() {
                result.as_object_mut().unwrap().remove(key);
            } else {
                result[key] = value.clone();
            }
        }
        result
    };
    for (changes, expected) in [
        (
            json!({"arm": "without"}),
            "results[0].arm is `without`; it must be `with`, the only arm of activation",
        ),
        (json!({"arm": "both"}), "results[0]: there is no arm `both`, only `with` and `without`"),
        (json!({"case": "other"}), "results[0]: there is no case `other`"),
        (json!({"runs": 0}), "results[0].runs is 0; it must be 1 or more"),
        (json!({"runs": null}), "results[0].runs is absent; it must be 1 or more"),
        (json!({"errored_runs": -1}), "results[0].errored_runs is -1; it must be 0 or more"),
        (
            json!({"fired_counts": null}),
            "results[0].fired_counts is absent; it must be the runs in which each skill loaded, and `none`",
        ),
        (
            json!({"fired_counts": {"ghost": 1}}),
            "a key of results[0].fired_counts is `ghost`; it must be the id of a skill of the request, or `none`",
        ),
        (
            json!({"fired_counts": {"deploy": 6}}),
            "results[0].fired_counts.deploy is 6; it must be from 0 to `runs`",
        ),
        (
            json!({"fired_counts": {"deploy": -1}}),
            "results[0].fired_counts.deploy is -1; it must be from 0 to `runs`",
        ),
        (
            json!({"fired_counts": {"deploy": 5, "notes": 5, "none": 1}}),
            "the sum of results[0].fired_counts is 11; it must be at most `runs` times the number of skills",
        ),
        (json!({"cost_usd": -1}), "results[0].cost_usd is -1; it must be 0 or more US dollars"),
        (json!({"input_tokens": -1}), "results[0].input_tokens is -1; it must be 0 or more"),
    ] {
        assert_eq!(refused(&result(changes)), expected);
    }
}

#[test]
fn a_prompt_without_a_result_leaves_the_skill_unscored() {
    for (second, expected) in [
        (json!([]), "the runner gave no result"),
        (
            json!([{"case": "basic.near-miss-1", "arm": "with", "skipped": true, "reason": "no tty"}]),
            "the runner skipped it: no tty",
        ),
        (
            json!([{"case": "basic.near-miss-1", "arm": "with", "error": "rate limit"}]),
            "rate limit",
        ),
        (
            json!([{"case": "basic.near-miss-1", "arm": "with", "runs": 2, "errored_runs": 3,
                    "fired_counts": {}}]),
            "3 of 5 runs failed",
        ),
    ] {
        let mut answer = good();
        answer["results"].as_array_mut().unwrap().truncate(1);
        let more = second.as_array().unwrap().clone();
        answer["results"].as_array_mut().unwrap().extend(more);
        let ran = arena(&prints(ABLE), &prints(answer)).run("command");
        let skill = report(&ran, "deploy");
        assert_eq!(skill.status, ActivationStatus::Error, "{expected}");
        assert!(skill.recall.is_none() && !skill.passing);
        assert_eq!(prompt(skill, "basic.near-miss-1").error.as_deref(), Some(expected));
        assert_eq!(ran.skills[0].kept, None);
        assert_eq!(counts(skill, "basic"), "deploy 4, notes 1");
    }
}
