//! `claude-native` and `codex-native` with stand-ins for the programs.

use std::num::NonZeroUsize;
use std::time::Duration;

use proctor_model::eval::{ActivationStatus, PromptStatus};
use proctor_runner::eval::Stopped;
use serde_json::{Value, json};

use super::arena::{Arena, auto, counts, fixed, prompt, report};
use crate::scene::SECRET;

/// The prompts tell the stand-in what to do.
const CASES: &str = "
  - {id: fires, prompt: CALL deploy, expect_trigger: true, near_miss: [CALL nothing]}
  - {id: stolen, prompt: CALL notes, expect_trigger: true}
";

/// What the stand-in for Claude Code knows to do.
const CLAUDE: &str = r#"#!/bin/sh
prompt=$(cat); plugin=; before=
for word in "$@"; do [ "$before" = --plugin-dir ] && plugin=$word; before=$word; done
offered=
for skill in "$plugin"/skills/*/; do
  skill=${skill%/}; offered="$offered\"ai-rulez-activation:${skill##*/}\","
done
init() { echo "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s\",\"skills\":[$offered\"doctor\"]}"; }
call() { echo '{"type":"assistant","message":{"content":[{"type":"tool_use","id":"c'$1'","name":"Skill","input":{"skill":"'$1'"}}]}}'; }
turns() { echo '{"type":"result","subtype":"error_max_turns","is_error":true,"num_turns":2,"terminal_reason":"max_turns","total_cost_usd":0.25,"usage":{"input_tokens":100,"cache_creation_input_tokens":20,"cache_read_input_tokens":3,"output_tokens":7}}'; }
says() { echo '{"type":"result","subtype":"success","is_error":false,"num_turns":1,"terminal_reason":"completed","result":"ok","total_cost_usd":0.25,"usage":{"input_tokens":100,"output_tokens":7}}'; }
fails() { echo '{"type":"result","subtype":"success","is_error":true,"terminal_reason":"api_error","api_error_status":'$1',"result":"API Error: '$2'","total_cost_usd":0,"usage":{"input_tokens":0,"output_tokens":0}}'; exit 1; }
canary() { init; call ai-rulez-activation:proctor-canary; turns; exit 1; }
"#;

/// What a good stand-in does.
const GOOD: &str = r#"
case "$prompt" in
zanthorple*) canary;;
"CALL nothing") init; says;;
"CALL "*) init; for skill in ${prompt#CALL }; do call "ai-rulez-activation:$skill"; done; turns; exit 1;;
*) echo "unexpected: $prompt" >&2; exit 2;;
esac
"#;

/// An arena with three skills of which `deploy` has cases, and a stand-in for Claude Code.
fn claude(cases: &str, acts: &str) -> Arena {
    let mut arena = Arena::new("claude");
    arena.scene.skill("deploy", cases);
    for other in ["notes", "layout"] {
        let text = format!("---\nname: {other}\ndescription: Does {other}\n---\n# {other}\n");
        arena.scene.write(&format!("skills/{other}/SKILL.md"), text);
    }
    arena.scene.home.set("ANTHROPIC_API_KEY", "fake-key-of-a-test");
    arena
        .scene
        .home
        .add_script("claude", &format!("{CLAUDE}project={}\n{acts}", arena.scene.project));
    arena
}

#[test]
fn what_fires_is_counted_for_every_skill() {
    let mut arena = claude(CASES, GOOD);
    arena.runs = fixed(5);
    let ran = arena.run("claude-native");
    let skill = report(&ran, "deploy");
    assert_eq!(skill.status, ActivationStatus::Ran, "{ran:#?}");
    assert_eq!(counts(skill, "fires"), "deploy 5");
    assert_eq!(counts(skill, "fires.near-miss-1"), "none 5");
    assert_eq!(counts(skill, "stolen"), "notes 5");
    assert_eq!(prompt(skill, "stolen").status, PromptStatus::Failed);
    assert_eq!(skill.stolen_by[0].skill, "notes");
    assert!(!skill.passing);
    let kept = ran.skills[0].kept.unwrap();
    assert_eq!(kept.runs, 15);
    assert_eq!(kept.spend.input_tokens, 10 * 123 + 5 * 100);
    assert_eq!((skill.cost_usd, ran.cost_usd), (Some(3.75), 4.0));
    let proof = ran.proof.unwrap();
    assert_eq!((proof.runs, proof.broken, proof.warnings), (1, None, vec![]));
    assert_eq!(Some(proof.spend.cost_usd), Some(0.25));
    assert_eq!(arena.begun("proctor-canary"), 1);
    assert!(arena.scene.is_tidy());
}

#[test]
fn command_line_environment_and_plugin_are_what_they_should_be() {
    let acts = format!(
        "case \"$prompt\" in zanthorple*) ;; *) printf '%s\\n' \"$@\" >$project/argv; env >$project/env; \
         ls -A >$project/cwd; (cd $plugin && find . -type f | sort && cat skills/deploy/SKILL.md) \
         >$project/plugin; printf '%s' \"$prompt\" >$project/prompt;; esac\n{GOOD}"
    );
    let mut arena = claude("  - {id: one, prompt: CALL deploy, expect_trigger: true}\n", &acts);
    arena.scene.write(
        "skills/deploy/SKILL.md",
        "---\nname: deploy\ndescription: >-\n  Deploys\n  it\nallowed-tools: Bash\nhooks:\n  x: y\n---\n# Body\n",
    );
    arena.scene.write("skills/deploy/scripts/run.sh", "exit 1\n");
    arena.scene.home.set("GITHUB_TOKEN", "sealed-token-of-a-forge");
    arena.scene.home.set("AWS_SECRET_ACCESS_KEY", "sealed-key-of-a-cloud");
    arena.scene.home.set("ANTHROPIC_MODEL", "some-model");
    arena.scene.model = Some("haiku".to_owned());
    arena.scene.options.args = vec!["--betas".to_owned(), "x".to_owned()];
    let ran = arena.run("claude-native");
    assert_eq!(report(&ran, "deploy").status, ActivationStatus::Ran, "{ran:#?}");
    let argv: Vec<String> = arena.scene.left("argv").split('\n').map(str::to_owned).collect();
    let at = argv.iter().position(|word| word == "--plugin-dir").unwrap();
    assert!(argv[at + 1].starts_with(arena.scene.home.root().to_str().unwrap()), "{argv:?}");
    let shown: Vec<&str> = argv
        .iter()
        .enumerate()
        .map(|(i, word)| if i == at + 1 { "PLUGIN" } else { word })
        .collect();
    assert_eq!(
        shown.join("|"),
        "-p|--output-format|stream-json|--verbose|--max-turns|1|--no-session-persistence|\
         --setting-sources||--permission-mode|dontAsk|--plugin-dir|PLUGIN|--tools|Skill|\
         --allowedTools|Skill|--model|haiku|--betas|x|"
    );
    assert_eq!(arena.scene.left("prompt"), "CALL deploy");
    assert_eq!(arena.scene.left("cwd"), "");
    assert_eq!(
        arena.scene.left("plugin"),
        "./.claude-plugin/plugin.json\n./skills/deploy/SKILL.md\n./skills/layout/SKILL.md\n\
         ./skills/notes/SKILL.md\n---\nname: deploy\ndescription: >-\n  Deploys\n  it\n---\n# Body\n"
    );
    let env = arena.scene.left("env");
    for name in ["HOME=", "PATH=", "CLAUDE_CONFIG_DIR=", "ANTHROPIC_API_KEY=", "ANTHROPIC_MODEL="] {
        assert!(env.lines().any(|line| line.starts_with(name)), "{name}: {env}");
    }
    for word in [SECRET, "sealed-token", "sealed-key", "CODEX_HOME"] {
        assert!(!env.contains(word), "{word}: {env}");
    }
}

#[test]
fn every_call_of_a_run_counts_whoever_came_first() {
    let cases = "  - {id: one, prompt: CALL layout notes deploy, expect_trigger: true}\n";
    let ran = claude(cases, GOOD).run("claude-native");
    let skill = report(&ran, "deploy");
    assert_eq!(counts(skill, "one"), "deploy 1, layout 1, notes 1");
    assert_eq!(prompt(skill, "one").status, PromptStatus::Passed);
}

#[test]
fn an_instrument_that_never_shows_a_skill_gives_an_error_and_no_recall_of_0() {
    let acts = "echo \"$prompt\" >>$project/prompts; init; says";
    let mut arena = claude(CASES, acts);
    arena.scene.skill("another", CASES);
    let ran = arena.run("claude-native");
    for id in ["another", "deploy"] {
        let skill = report(&ran, id);
        assert_eq!(
            (skill.status, skill.recall, skill.passing),
            (ActivationStatus::Error, None, false)
        );
        assert!(skill.prompts.is_empty());
        let error = skill.error.as_ref().unwrap();
        assert!(
            error.starts_with("instrument broken: the canary did not fire: in 2 runs"),
            "{error}"
        );
    }
    assert_eq!(ran.stopped, None);
    // Only the canary was run, and what it cost is told.
    let prompts = arena.scene.left("prompts");
    assert!(prompts.lines().count() == 2 && prompts.contains("zanthorple"), "{prompts}");
    assert_eq!(ran.proof.as_ref().map(|proof| proof.runs), Some(2));
    assert_eq!(Some(ran.cost_usd), Some(0.5));
    assert!(ran.skills.iter().all(|run| run.kept.is_none()));
}

#[test]
fn a_harness_that_ignores_the_plugin_is_ended_before_the_model_answers() {
    let acts = "echo run >>$project/runs; offered=; init; exec tail -f /dev/null";
    let mut arena = claude(CASES, acts);
    let ran = arena.run("claude-native");
    let error = report(&ran, "deploy").error.clone().unwrap();
    assert!(
        error.starts_with("instrument broken: claude does not offer `proctor-canary` to the model"),
        "{error}"
    );
    assert_eq!(arena.scene.left("runs").lines().count(), 1);
}

#[test]
fn a_harness_without_the_tool_that_loads_skills_is_broken() {
    let acts = r#"echo '{"type":"system","subtype":"init","tools":["Bash"],"skills":[]}'; says"#;
    let ran = claude(CASES, acts).run("claude-native");
    let error = report(&ran, "deploy").error.clone().unwrap();
    assert!(error.contains("claude does not offer `proctor-canary` to the model"), "{error}");
}

#[test]
fn a_competing_skill_that_is_not_offered_is_an_error_of_its_set_alone() {
    let acts = format!(
        "case \"$prompt\" in zanthorple*) ;; *) offered=$(echo \"$offered\" | sed \
         's/\"ai-rulez-activation:notes\",//');; esac\n{GOOD}"
    );
    let ran = claude(CASES, &acts).run("claude-native");
    let error = report(&ran, "deploy").error.clone().unwrap();
    assert!(error.contains("does not offer `notes` to the model"), "{error}");
    assert_eq!(ran.proof.unwrap().broken, None);
}

#[test]
fn any_skill_that_fires_for_the_canary_proves_that_firing_is_seen() {
    let acts = format!("case \"$prompt\" in zanthorple*) prompt='CALL notes';; esac\n{GOOD}");
    let ran = claude(CASES, &acts).run("claude-native");
    let skill = report(&ran, "deploy");
    assert_eq!(skill.status, ActivationStatus::Ran);
    assert_eq!(
        skill.warnings,
        ["the canary did not fire, but `notes` did for its prompt: what fires is seen"]
    );
}

#[test]
fn a_run_that_failed_is_no_miss() {
    let one = "  - {id: one, prompt: CALL deploy, expect_trigger: true}\n";
    for (fault, expected) in [
        ("init; fails 529 Overloaded", "overloaded: API Error: Overloaded"),
        ("init; fails 429 slow", "rate_limited: API Error: slow"),
        ("init; call deploy", "cut_short: the stream ended without its last line"),
        (
            "echo 'error: unknown option' >&2",
            "usage_error: the stream is empty: error: unknown option",
        ),
        ("init; head -c 17000000 /dev/zero; says", "it printed more than 16 MiB"),
        ("init; call deploy; fails 400 bad", "api_error: API Error: bad"),
    ] {
        let acts = format!("case \"$prompt\" in zanthorple*) canary;; esac\n{fault}");
        let ran = claude(one, &acts).run("claude-native");
        let skill = report(&ran, "deploy");
        assert_eq!((skill.status, skill.recall), (ActivationStatus::Error, None), "{fault}");
        assert_eq!(prompt(skill, "one").error.as_deref(), Some(expected), "{fault}");
        assert_eq!(ran.skills[0].kept, None);
    }
}

#[test]
fn fewer_failures_than_results_are_counted_and_borne() {
    let acts = format!(
        "case \"$prompt\" in zanthorple*) canary;; esac\necho x >>$project/count\n\
         if [ $(wc -l <$project/count) = 2 ]; then init; fails 529 Overloaded; fi\n{GOOD}"
    );
    let mut arena = claude("  - {id: one, prompt: CALL deploy, expect_trigger: true}\n", &acts);
    arena.runs = fixed(3);
    arena.scene.options.jobs = NonZeroUsize::new(1);
    let ran = arena.run("claude-native");
    let skill = report(&ran, "deploy");
    assert_eq!(skill.status, ActivationStatus::Ran, "{ran:#?}");
    let one = prompt(skill, "one");
    assert_eq!((one.runs, one.errored_runs, one.status), (2, 1, PromptStatus::Passed));
}

#[test]
fn runs_that_all_fail_alike_are_not_repeated_for_every_prompt() {
    let cases: String = (0..20)
        .map(|n| format!("  - {{id: case-{n}, prompt: CALL deploy, expect_trigger: true}}\n"))
        .collect::<Vec<_>>()
        .concat();
    let acts = "case \"$prompt\" in zanthorple*) canary;; esac\necho x >>$project/count; init; fails 429 slow";
    let mut arena = claude(&cases, acts);
    arena.runs = fixed(5);
    arena.scene.options.jobs = NonZeroUsize::new(2);
    let ran = arena.run("claude-native");
    let skill = report(&ran, "deploy");
    assert_eq!(skill.status, ActivationStatus::Error);
    let error = prompt(skill, "case-19").error.clone().unwrap();
    assert!(
        error.contains("runs in a row failed, the last: rate_limited: API Error: slow"),
        "{error}"
    );
    let count = arena.scene.left("count").lines().count();
    assert!((5..=7).contains(&count), "{count}");
}

#[test]
fn refused_credentials_end_the_run_with_what_was_looked_for() {
    for acts in [
        "init; fails 401 unauthorized".to_owned(),
        "case \"$prompt\" in zanthorple*) canary;; esac\necho x >>$project/count; init; fails 401 unauthorized".to_owned(),
    ] {
        let mut arena = claude(CASES, &acts);
        arena.scene.skill("later", CASES);
        arena.scene.options.jobs = NonZeroUsize::new(1);
        arena.scene.home.unset("ANTHROPIC_API_KEY");
        let ran = arena.run("claude-native");
        match &ran.stopped {
            Some(Stopped::CannotRun(why)) => {
                assert!(
                    why.starts_with("claude has no credentials: looked for ANTHROPIC_API_KEY"),
                    "{why}"
                );
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(report(&ran, "later").error.as_deref(), Some("not run: the runner cannot run"));
    }
}

#[test]
fn what_was_spent_before_the_end_is_told() {
    let acts = format!(
        "case \"$prompt\" in zanthorple*) canary;; esac\necho x >>$project/count\n\
         if [ $(wc -l <$project/count) = 3 ]; then init; fails 401 unauthorized; fi\n{GOOD}"
    );
    let mut arena = claude(CASES, &acts);
    arena.scene.options.jobs = NonZeroUsize::new(1);
    let ran = arena.run("claude-native");
    assert!(matches!(ran.stopped, Some(Stopped::CannotRun(_))), "{ran:#?}");
    let skill = report(&ran, "deploy");
    assert_eq!((skill.status, skill.cost_usd), (ActivationStatus::Error, Some(0.5)));
    assert_eq!(Some(ran.cost_usd), Some(0.75));
    assert_eq!(ran.skills[0].kept, None);
}

#[test]
fn a_program_that_is_not_there_ends_the_run() {
    let mut arena = claude(CASES, GOOD);
    arena.scene.options.claude_bin = Some("./no/claude".to_owned());
    match arena.run("claude-native").stopped {
        Some(Stopped::CannotRun(why)) => {
            assert!(
                why.contains("no/claude` was not found") && why.contains("--claude-bin"),
                "{why}"
            );
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_budget_that_is_spent_begins_no_more_runs() {
    let mut arena = claude(CASES, GOOD);
    arena.scene.skill("later", CASES);
    arena.runs = fixed(3);
    arena.scene.options.jobs = NonZeroUsize::new(1);
    // The canary and seven runs.
    arena.scene.max_cost_usd = 2.0;
    let ran = arena.run("claude-native");
    let skill = report(&ran, "deploy");
    // Every prompt had two runs, the first also a third.
    assert_eq!(skill.status, ActivationStatus::Ran, "{ran:#?}");
    let runs = |case: &str| (prompt(skill, case).runs, prompt(skill, case).errored_runs);
    assert_eq!(
        [runs("fires"), runs("fires.near-miss-1"), runs("stolen")],
        [(3, 0), (2, 1), (2, 1)]
    );
    assert_eq!(Some(ran.cost_usd), Some(2.0));
    assert_eq!(report(&ran, "later").status, ActivationStatus::SkippedOverBudget);
}

#[test]
fn runs_of_a_prompt_end_when_its_verdict_is_settled() {
    let mut arena = claude(CASES, GOOD);
    arena.runs = auto(5);
    let ran = arena.run("claude-native");
    let skill = report(&ran, "deploy");
    assert_eq!(counts(skill, "fires"), "deploy 5");
    assert_eq!(counts(skill, "fires.near-miss-1"), "none 5");
    // Two misses of five cannot become a pass.
    assert_eq!(counts(skill, "stolen"), "notes 2");
    assert_eq!((skill.saved_runs, ran.skills[0].kept.unwrap().runs), (3, 12));
    assert_eq!(arena.begun("stolen"), 2);
}

#[test]
fn a_prompt_that_loads_a_skill_itself_is_not_run() {
    let cases = "  - {id: one, prompt: /deploy now, expect_trigger: true}\n";
    let mut arena = claude(cases, GOOD);
    let ran = arena.run("claude-native");
    let error = prompt(report(&ran, "deploy"), "one").error.clone().unwrap();
    assert!(error.contains("the prompt itself loads `deploy`"), "{error}");
    assert_eq!(arena.begun("one"), 0);
}

#[test]
fn skills_that_no_harness_loads_take_no_part_and_hidden_characters_are_refused() {
    let mut arena = claude(CASES, GOOD);
    arena.scene.write("skills/layout/SKILL.md", "# Layout\n\nNo front matter.\n");
    let ran = arena.run("claude-native");
    let skill = report(&ran, "deploy");
    assert_eq!(skill.status, ActivationStatus::Ran, "{ran:#?}");
    assert_eq!(
        skill.warnings,
        [
            "`layout` takes no part: its SKILL.md has no `description`, without which none is offered"
        ]
    );
    for (path, text, expected) in [
        (
            "skills/layout/SKILL.md",
            "---\nname: layout\ndescription: Lays\u{202e} out\n---\n",
            "`layout`: its description holds the hidden character U+202E, which no person sees and \
             every model reads; take it out",
        ),
        (
            "skills/deploy/SKILL.md",
            "---\nname: deploy\n---\n",
            "`deploy`: its SKILL.md has no `description`, without which none is offered",
        ),
    ] {
        arena.scene.write(path, text);
        arena.scene.told.clear();
        let ran = arena.run("claude-native");
        let skill = report(&ran, "deploy");
        assert_eq!(
            (skill.status, skill.error.as_deref()),
            (ActivationStatus::Error, Some(expected))
        );
        assert_eq!((arena.begun("proctor-canary"), arena.begun("fires")), (0, 0));
        arena.scene.write(path, "---\ndescription: plain\n---\n");
    }
}

#[test]
fn a_silent_harness_is_ended_with_the_time_of_its_skill() {
    let acts = "case \"$prompt\" in zanthorple*) canary;; esac\ninit; exec tail -f /dev/null";
    let mut arena = claude("  - {id: one, prompt: x, expect_trigger: true}\n", acts);
    arena.scene.timeout = Duration::from_secs(2);
    let ran = arena.run("claude-native");
    let error = prompt(report(&ran, "deploy"), "one").error.clone().unwrap();
    assert!(error.starts_with("timeout: the time limit ended the session"), "{error}");
    assert!(arena.scene.is_tidy());
}

#[test]
fn an_interrupt_ends_everything_and_leaves_nothing() {
    let acts = "case \"$prompt\" in zanthorple*) canary;; esac\ninit; touch $project/at-work; exec tail -f /dev/null";
    let mut arena = claude(CASES, acts);
    arena.scene.skill("later", CASES);
    let (cancel, at_work) = (arena.scene.cancel.clone(), arena.scene.project.join("at-work"));
    let watcher = std::thread::spawn(move || {
        while !at_work.exists() {
            std::thread::yield_now();
        }
        cancel.cancel();
    });
    let ran = arena.run("claude-native");
    watcher.join().unwrap();
    assert_eq!(ran.stopped, Some(Stopped::Interrupted));
    assert_eq!(report(&ran, "later").error.as_deref(), Some("not run: the run was interrupted"));
    assert!(arena.scene.is_tidy());
}

#[test]
fn skills_are_told_of_one_by_one_and_the_rest_can_be_left_out() {
    let mut arena = claude(CASES, GOOD);
    arena.scene.skill("later", CASES);
    arena.scene.stop_after = Some("deploy");
    let ran = arena.run("claude-native");
    assert_eq!(ran.stopped, Some(Stopped::Asked));
    assert_eq!(arena.scene.finished, ["deploy", "later", "layout", "notes"]);
    assert_eq!(report(&ran, "later").error.as_deref(), Some("not run: the run was stopped"));
}

#[test]
fn secrets_are_redacted_in_what_is_reported() {
    let acts =
        format!("case \"$prompt\" in zanthorple*) canary;; esac\necho 'key {SECRET}' >&2; exit 3");
    let ran =
        claude("  - {id: one, prompt: x, expect_trigger: true}\n", &acts).run("claude-native");
    let error = prompt(report(&ran, "deploy"), "one").error.clone().unwrap();
    assert!(error.contains("key [redacted]"), "{error}");
}

/// A stand-in for Codex.
const CODEX: &str = r#"#!/bin/sh
case "$1" in debug) echo '[]' | sed 's/x/x/' >/dev/null; LISTING; exit 0;; esac
prompt=$(cat)
begins() { echo '{"type":"thread.started","thread_id":"t"}'; echo '{"type":"turn.started"}'; }
runs() { echo '{"type":"item.started","item":{"id":"'$1'","type":"command_execution","command":"/bin/bash -lc '"'cat $2'"'","status":"in_progress"}}'; }
ends() { echo '{"type":"turn.completed","usage":{"input_tokens":100,"cached_input_tokens":0,"output_tokens":5}}'; }
stays() { exec tail -f /dev/null; }
"#;

/// What a good one does.
const GOOD_CODEX: &str = r#"
case "$prompt" in
zanthorple*) begins; runs 1 /w/.agents/skills/proctor-canary/SKILL.md; stays;;
"CALL nothing") begins; ends;;
"CALL other") begins; runs 1 README.md; runs 2 Makefile; runs 3 src/main.rs; stays;;
"CALL "*) begins; runs 1 README.md; runs 2 .agents/skills/${prompt#CALL }/SKILL.md; stays;;
esac
"#;

fn codex(cases: &str, listing: &str, acts: &str) -> Arena {
    let mut arena = claude(cases, "");
    "codex".clone_into(&mut arena.scene.options.harness);
    let script =
        format!("{}project={}\n{acts}", CODEX.replace("LISTING", listing), arena.scene.project);
    arena.scene.home.add_script("codex", &script);
    arena
}

/// A listing that offers every skill of the folder that it is asked in.
const LISTS: &str = r#"printf '[{"content":[{"text":"'; for s in .agents/skills/*/; do s=${s%/}; printf ' (file: r1/%s/SKILL.md)' ${s##*/}; done; printf '"}]}]\n'"#;

const CODEX_CASES: &str = "
  - {id: fires, prompt: CALL deploy, expect_trigger: true, near_miss: [CALL nothing, CALL other]}
  - {id: stolen, prompt: CALL notes, expect_trigger: true}
";

#[test]
fn codex_is_ended_as_soon_as_a_skill_is_read() {
    let mut arena = codex(CODEX_CASES, LISTS, GOOD_CODEX);
    arena.runs = fixed(2);
    let ran = arena.run("codex-native");
    let skill = report(&ran, "deploy");
    assert_eq!(skill.status, ActivationStatus::Ran, "{ran:#?}");
    assert_eq!(counts(skill, "fires"), "deploy 2");
    assert_eq!(counts(skill, "fires.near-miss-1"), "none 2");
    assert_eq!(counts(skill, "fires.near-miss-2"), "none 2");
    assert_eq!(counts(skill, "stolen"), "notes 2");
    assert_eq!(skill.warnings, Vec::<String>::new());
    // It says nothing of costs, and nothing is made up.
    let kept = ran.skills[0].kept.unwrap();
    assert!(kept.spend.is_unknown() && kept.runs == 8, "{kept:?}");
    assert_eq!(Some(ran.cost_usd), Some(0.0));
    assert!(arena.scene.is_tidy());
}

#[test]
fn a_budget_is_refused_where_none_can_be_kept() {
    let mut arena = codex(CODEX_CASES, LISTS, GOOD_CODEX);
    arena.scene.max_cost_usd = 1.0;
    match arena.run("codex-native").stopped {
        Some(Stopped::CannotRun(why)) => {
            assert!(why.contains("`codex-native` reports no cost"), "{why}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(arena.begun("proctor-canary"), 0);
}

#[test]
fn codex_gets_every_skill_whole_and_an_empty_home() {
    let acts = format!(
        "case \"$prompt\" in zanthorple*) ;; *) printf '%s\\n' \"$@\" >$project/argv; env >$project/env; \
         ls -A $HOME >$project/home; find . -type f | sort >$project/work;; esac\n{GOOD_CODEX}"
    );
    let mut arena =
        codex("  - {id: one, prompt: CALL deploy, expect_trigger: true}\n", LISTS, &acts);
    arena.scene.write("skills/deploy/references/a.md", "x");
    arena.scene.home.set("GITHUB_TOKEN", "sealed-token-of-a-forge");
    arena.scene.model = Some("gpt-5.5".to_owned());
    arena.scene.options.args = vec!["-c".to_owned(), "x=1".to_owned()];
    let ran = arena.run("codex-native");
    assert_eq!(report(&ran, "deploy").status, ActivationStatus::Ran, "{ran:#?}");
    let argv = arena.scene.left("argv").replace('\n', "|");
    assert!(
        argv.starts_with(
            "exec|--json|--skip-git-repo-check|--ephemeral|--ignore-user-config|--ignore-rules|-s|\
             read-only|-C|"
        ) && argv.ends_with("|-m|gpt-5.5|-c|x=1|-|"),
        "{argv}"
    );
    assert_eq!(
        arena.scene.left("work"),
        "./.agents/skills/deploy/SKILL.md\n./.agents/skills/deploy/references/a.md\n\
         ./.agents/skills/layout/SKILL.md\n./.agents/skills/notes/SKILL.md\n"
    );
    assert_eq!(arena.scene.left("home"), "");
    let env = arena.scene.left("env");
    let own = &arena.scene.home.environment()["CODEX_HOME"];
    assert!(env.lines().any(|line| line == format!("CODEX_HOME={own}")), "{env}");
    assert!(!env.contains("sealed-") && !env.contains("ANTHROPIC"), "{env}");
}

#[test]
fn what_codex_does_not_list_is_known_before_anything_is_spent() {
    let nothing = r#"echo '[{"content":[{"text":"r0/imagegen/SKILL.md)"}]}]'"#;
    let mut arena = codex(CODEX_CASES, nothing, GOOD_CODEX);
    let ran = arena.run("codex-native");
    let error = report(&ran, "deploy").error.clone().unwrap();
    assert!(
        error.starts_with("instrument broken: codex does not offer `proctor-canary`"),
        "{error}"
    );
    assert_eq!((arena.begun("proctor-canary"), ran.proof.unwrap().runs), (0, 0));

    let mut arena = codex(CODEX_CASES, "echo 'unknown command' >&2; exit 2", GOOD_CODEX);
    let ran = arena.run("codex-native");
    let skill = report(&ran, "deploy");
    assert_eq!(skill.status, ActivationStatus::Ran, "{ran:#?}");
    assert!(skill.warnings[0].starts_with("this codex does not list the skills"), "{skill:#?}");
}

#[test]
fn a_codex_run_that_failed_is_no_miss() {
    let one = "  - {id: one, prompt: x, expect_trigger: true}\n";
    for (fault, expected) in [
        ("true", "usage_error: the stream is empty"),
        (
            "begins; echo '{\"type\":\"turn.failed\",\"error\":{\"message\":\"exceeded retry limit, last status: 429 Too Many Requests\"}}'",
            "rate_limited: exceeded retry limit, last status: 429 Too Many Requests",
        ),
        ("begins", "cut_short: the stream ended without its last line"),
        ("begins; runs 1 README.md", "cut_short: the stream ended without its last line"),
        (
            "echo 'WARNING: could not create PATH aliases' >&2; begins; ends",
            "usage_error: the sandbox of codex did not work, so its commands died at once: \
             CODEX_HOME must exist and must not lie under the temporary directory",
        ),
    ] {
        let acts = format!(
            "case \"$prompt\" in zanthorple*) {};; esac\n{fault}",
            "begins; runs 1 skills/proctor-canary/SKILL.md; stays"
        );
        let ran = codex(one, LISTS, &acts).run("codex-native");
        let skill = report(&ran, "deploy");
        assert_eq!((skill.status, skill.recall), (ActivationStatus::Error, None), "{fault}");
        assert_eq!(prompt(skill, "one").error.as_deref(), Some(expected), "{fault}");
    }
}

#[test]
fn own_skills_of_codex_are_told_and_a_copy_is_refused() {
    let mut arena = codex(CODEX_CASES, LISTS, GOOD_CODEX);
    let own = arena.scene.home.environment()["CODEX_HOME"].clone();
    let add = |id: &str| {
        std::fs::create_dir_all(format!("{own}/skills/{id}")).unwrap();
        std::fs::write(format!("{own}/skills/{id}/SKILL.md"), "x").unwrap();
    };
    add("mine");
    let ran = arena.run("codex-native");
    let skill = report(&ran, "deploy");
    assert!(
        skill.warnings[0].contains("skills of your own compete, too: codex finds mine"),
        "{skill:#?}"
    );
    add("notes");
    let ran = arena.run("codex-native");
    let error = report(&ran, "deploy").error.clone().unwrap();
    assert!(error.contains("a copy of `notes` in"), "{error}");
}

#[test]
fn another_skill_that_fires_is_no_recorded_shape_but_its_own() {
    // A call in a subagent, a call without its input, and one of a skill that is not installed.
    let lines = [
        json!({"type": "assistant", "parent_tool_use_id": "x", "message": {"content": [
            {"type": "tool_use", "id": "1", "name": "Skill", "input": {"skill": "layout"}}]}}),
        json!({"type": "assistant", "message": {"content": [
            {"type": "tool_use", "id": "2", "name": "Skill", "input": {}}]}}),
        json!({"type": "assistant", "message": {"content": [
            {"type": "tool_use", "id": "3", "name": "Skill", "input": {"skill": "other:deep-research"}}]}}),
        json!({"type": "assistant", "message": {"content": [
            {"type": "text", "text": "I use ai-rulez-activation:deploy"},
            {"type": "tool_use", "id": "4", "name": "Read", "input": {"file_path": "skills/deploy/SKILL.md"}},
            {"type": "tool_use", "id": "5", "name": "Skill", "input": {"skill": "x:y:notes"}}]}}),
        Value::from("no event"),
    ];
    let prints: Vec<String> = lines.iter().map(|line| format!("echo '{line}'\n")).collect();
    let prints = prints.concat();
    let acts = format!(
        "case \"$prompt\" in zanthorple*) canary;; esac\ninit\n{prints}echo 'no json'\nturns"
    );
    let one = "  - {id: one, prompt: x, expect_trigger: true}\n";
    let ran = claude(one, &acts).run("claude-native");
    assert_eq!(counts(report(&ran, "deploy"), "one"), "layout 1, notes 1");
}
