//! Measurements as readers see them.

use std::collections::BTreeMap;

use proctor_model::eval::activation::{
    ACTIVATION_SCHEMA_VERSION, ActivationCost, ActivationMode, NO_WINNER, Rate, RateInterval,
    Scope, Surface,
};
use proctor_model::eval::comparison::{
    COMPARISON_SCHEMA_VERSION, Candidate, ComparedPrompt, Comparison, ComparisonMode,
    ComparisonVerdict, PairedDifference, PairedOutcome,
};
use proctor_model::eval::{
    ActivationStatus, Estimate, Problem, PromptActivation, PromptStatus, SkillActivation, StolenBy,
};

use super::*;

const HOSTILE: &str =
    "x\n::error::owned\x1b[2J ##[add-mask]\u{202e} <img> [a](http://b) @team & \"q\"'|`";

#[expect(clippy::unnecessary_wraps, reason = "what the fields of a report hold")]
fn rate(value: f64, n: u64) -> Option<Rate> {
    Some(Rate { value, n, interval: RateInterval { low: value / 2.0, high: 1.0 } })
}

fn prompt(case: &str, expect: bool, winner: &str, status: PromptStatus) -> PromptActivation {
    PromptActivation {
        case: case.to_owned(),
        expect,
        near_miss: false,
        rate: f64::from(u8::from(winner == "deploy")),
        runs: 1,
        errored_runs: 0,
        rank: Some(2),
        winner: winner.to_owned(),
        top_score: 3.25,
        status,
        interval: None,
        fired_counts: None,
        error: None,
    }
}

fn skill() -> SkillActivation {
    SkillActivation {
        recall: rate(0.5, 2),
        precision: rate(1.0, 1),
        false_activation: rate(0.0, 1),
        recall_at_1: Some(0.5),
        recall_at_3: Some(1.0),
        mrr: Some(0.75),
        prompts: vec![
            prompt("basic", true, "deploy", PromptStatus::Passed),
            prompt("again", true, "notes", PromptStatus::Failed),
            prompt("unrelated", false, "notes", PromptStatus::Passed),
        ],
        stolen_by: vec![StolenBy { skill: "notes".to_owned(), prompts: 1, share: 0.5 }],
        ..SkillActivation::new("deploy", ActivationStatus::Ran)
    }
}

fn report(surface: Surface, skills: Vec<SkillActivation>) -> ActivationReport {
    ActivationReport {
        schema_version: ACTIVATION_SCHEMA_VERSION,
        mode: ActivationMode::Activation,
        surface,
        scope: Scope::Domain,
        note: "a note".to_owned(),
        date: None,
        runner: None,
        harness: None,
        model: None,
        runs: None,
        dry_run: false,
        estimate: None,
        cost: ActivationCost::default(),
        failed: skills.iter().any(SkillActivation::failed),
        skills,
        confusion: BTreeMap::from([(
            "deploy".to_owned(),
            BTreeMap::from([("deploy".to_owned(), 1), ("notes".to_owned(), 1)]),
        )]),
    }
}

#[test]
fn the_table_and_what_lies_behind_it() {
    let invalid = SkillActivation {
        problems: vec![Problem {
            file: "a.eval.yaml".to_owned(),
            line: 3,
            message: "no `prompt`".to_owned(),
        }],
        ..SkillActivation::new("broken", ActivationStatus::Invalid)
    };
    let none = SkillActivation::new("empty", ActivationStatus::NoCases);
    let report = report(Surface::Retrieval, vec![invalid, skill(), none]);
    insta::assert_snapshot!(activation_markdown(&report), @r"
    # Skill activation results

    Measured: surface `retrieval`, scope `domain`, cost $0.00

    a note.

    | Skill | Status | Prompts | Recall | Precision | False activation | recall@1 | recall@3 | MRR |
    | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
    | broken | invalid | 0 | n/a | n/a | n/a | n/a | n/a | n/a |
    | deploy | ran, failing | 3 | 50% (25-100%) | 100% (50-100%) | 0% (0-100%) | 50% | 100% | 0.75 |

    ### broken

    - `a.eval.yaml:3`: `` no `prompt` ``

    ### deploy

    - `notes` won 1 of 2 prompts that should fire this skill (50%)
    - `again`: should fire; notes ranked first (rank of this skill: 2)

    ### Confusion (prompts that should fire a skill: who ranked first)

    - `deploy`: `deploy` 1, `notes` 1
    ");
    assert_eq!(
        activation_summary(&report),
        "3 skills: 2 failing, 1 without cases; verdict: failed"
    );
    insta::assert_snapshot!(activation_annotations(&report), @r"
    ::error file=a.eval.yaml,line=3,title=skill broken::no `prompt`
    ::error title=skill deploy%2C case again::should fire; notes ranked first (rank of this skill: 2)
    ");
}

fn native() -> ActivationReport {
    let interval = Some(RateInterval { low: 0.3755, high: 0.9638 });
    let border = PromptActivation {
        rate: 0.8,
        runs: 5,
        rank: None,
        interval,
        fired_counts: Some(BTreeMap::from([("deploy".to_owned(), 4), (NO_WINNER.to_owned(), 1)])),
        ..prompt("border", true, "deploy", PromptStatus::Borderline)
    };
    let lost = PromptActivation {
        rate: 0.0,
        runs: 2,
        ..PromptActivation { interval, ..prompt("lost", true, NO_WINNER, PromptStatus::Failed) }
    };
    let measured = SkillActivation {
        recall: rate(0.5, 2),
        prompts: vec![border, lost],
        cost_usd: Some(0.0123),
        saved_runs: 3,
        warnings: vec!["beware".to_owned()],
        ..SkillActivation::new("deploy", ActivationStatus::Ran)
    };
    let unknown = PromptActivation {
        error: Some("rate limit".to_owned()),
        ..prompt("gone", true, NO_WINNER, PromptStatus::Error)
    };
    let broken = SkillActivation {
        prompts: vec![unknown],
        error: Some("1 of 1 prompt have no result".to_owned()),
        ..SkillActivation::new("notes", ActivationStatus::Error)
    };
    let cached = SkillActivation {
        recall: rate(0.5, 2),
        stolen_by: vec![StolenBy { skill: "deploy".to_owned(), prompts: 1, share: 0.5 }],
        ..SkillActivation::new("old", ActivationStatus::Cached)
    };
    let poor = SkillActivation::new("poor", ActivationStatus::SkippedOverBudget);
    ActivationReport {
        runner: Some("claude-native".to_owned()),
        harness: Some("claude".to_owned()),
        model: Some("haiku".to_owned()),
        runs: Some(5),
        date: Some("2026-10-05".to_owned()),
        cost: ActivationCost { estimate_usd: 0.02, actual_usd: 0.0123, canary_usd: None },
        ..report(Surface::Native, vec![measured, broken, cached, poor])
    }
}

#[test]
fn runs_of_a_harness_have_counts_and_costs() {
    let report = native();
    insta::assert_snapshot!(activation_markdown(&report), @r"
    # Skill activation results

    Measured: surface `native`, scope `domain`, runner `claude-native`, harness `claude`, model `haiku`, up to 5 runs a prompt, date 2026-10-05, cost $0.01

    a note.

    | Skill | Status | Prompts | Recall | Precision | False activation | Run recall | Cost |
    | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |
    | deploy | ran, failing | 2 | 50% (25-100%) | n/a | n/a | n/a | $0.0123 |
    | notes | error | 1 | n/a | n/a | n/a | n/a | - |
    | old | cached, failing | 0 | 50% (25-100%) | n/a | n/a | n/a | - |
    | poor | skipped-over-budget | 0 | n/a | n/a | n/a | n/a | - |

    ### deploy

    - warning: beware
    - 3 of 10 planned runs were not needed: no result of them could have changed a verdict
    - `border`: borderline: should fire; fired in 4 of 5 runs (38-96%); fired most: deploy
    - `lost`: failed: should fire; fired in 0 of 2 runs (38-96%); fired most: no skill

    ### notes

    - error: `1 of 1 prompt have no result`
    - `gone`: no result: rate limit

    ### old

    - `deploy` won 1 prompts that should fire this skill (50%)

    ### poor

    - error: `not measured: the budget was spent before its turn`

    ### Confusion (runs of prompts that should fire a skill: who fired)

    - `deploy`: `deploy` 1, `notes` 1
    ");
    insta::assert_snapshot!(activation_annotations(&report), @r"
    ::error title=skill deploy%2C case lost::failed: should fire; fired in 0 of 2 runs (38-96%25); fired most: no skill
    ::warning title=skill deploy::beware
    ::error title=skill notes::1 of 1 prompt have no result
    ::error title=skill notes%2C case gone::no result: rate limit
    ::error title=skill old::cached, failing
    ::error title=skill poor::not measured: the budget was spent before its turn
    ");
    insta::assert_snapshot!(activation_summary(&report), @"4 skills: 4 failing; cost $0.0123; verdict: failed");
}

#[test]
fn a_dry_run_says_what_it_would_take() {
    let skill = SkillActivation::new("deploy", ActivationStatus::DryRun);
    let report = ActivationReport {
        dry_run: true,
        estimate: Some(Estimate { agent_runs: 5, cost_usd: 0.25, ..Estimate::default() }),
        confusion: BTreeMap::new(),
        ..report(Surface::Native, vec![skill])
    };
    let text = activation_markdown(&report);
    assert!(text.contains("Estimate: 5 agent runs") && text.contains("**$0.2500**"), "{text}");
    assert!(text.contains("| deploy | dry-run | 0 | n/a |") && !text.contains("###"), "{text}");
    assert!(
        activation_summary(&report).ends_with("1 not run (dry run); verdict: nothing was measured")
    );
}

fn comparison() -> ComparisonReport {
    let candidate = |file: &str| Candidate { file: file.to_owned(), measured: skill() };
    let compared = |case: &str, expect, new_rate, against_rate, outcome| ComparedPrompt {
        case: case.to_owned(),
        expect,
        new_rate,
        against_rate,
        outcome,
    };
    let difference = PairedDifference {
        new: 0.75,
        against: 0.5,
        difference: 0.25,
        interval: RateInterval { low: -0.1, high: 0.55 },
        n: 4,
    };
    ComparisonReport {
        schema_version: COMPARISON_SCHEMA_VERSION,
        mode: ComparisonMode::ActivationComparison,
        surface: Surface::Retrieval,
        scope: Scope::All,
        note: "a note".to_owned(),
        date: None,
        runner: None,
        harness: None,
        model: None,
        runs: None,
        dry_run: false,
        estimate: None,
        cost: ActivationCost::default(),
        skill: "deploy".to_owned(),
        new: candidate("new.txt"),
        against: candidate("old.txt"),
        comparison: Comparison {
            verdict: ComparisonVerdict::NoDifferenceShown,
            wins: 2,
            losses: 1,
            ties: 1,
            p_value: Some(1.0),
            needed: 9,
            recall: Some(difference),
            false_activation: None,
            prompts: vec![
                compared("a", true, 1.0, 0.0, PairedOutcome::Win),
                compared("b", false, 0.0, 1.0, PairedOutcome::Win),
                compared("c", true, 0.2, 1.0, PairedOutcome::Loss),
                compared("again", true, 0.0, 0.0, PairedOutcome::Tie),
            ],
        },
        warnings: vec!["nothing is recorded".to_owned()],
        failed: false,
    }
}

#[test]
fn a_comparison_ranks_nothing_on_noise() {
    let report = comparison();
    insta::assert_snapshot!(comparison_markdown(&report), @r"
    # Skill description comparison

    Skill `deploy`: new `new.txt` against `old.txt`; surface `retrieval`, scope `all`, cost $0.00

    a note.

    Warning: nothing is recorded

    **no difference shown**: 2 wins, 1 loss, 1 tie (p = 1.0000, exact McNemar test). A verdict needs at least 9 prompts that change, 1 of them the other way

    | | Prompts | New | Against | Difference | 95% interval |
    | --- | ---: | ---: | ---: | ---: | ---: |
    | Recall | 4 | 75% | 50% | +25 pts | -10 to +55 pts |

    Intervals: Newcombe's score method for paired proportions.

    ### Wins

    - `a`: should fire; fired 100% with the new description, 0% with the other
    - `b`: should stay quiet; fired 0% with the new description, 100% with the other

    ### Losses

    - `c`: should fire; fired 20% with the new description, 100% with the other

    ### Fail with both

    - `again`: should fire; fired 0% with the new description, 0% with the other

    ### New: new.txt

    - `notes` won 1 of 2 prompts that should fire this skill (50%)

    ### Against: old.txt

    - `notes` won 1 of 2 prompts that should fire this skill (50%)
    ");
    let verdict = |verdict, p_value, wins, losses, needed| {
        let comparison =
            Comparison { verdict, p_value, wins, losses, needed, ..Comparison::default() };
        comparison_summary(&ComparisonReport { comparison, ..report.clone() })
    };
    let lines = [
        verdict(ComparisonVerdict::Better, Some(0.0313), 6, 0, 6),
        verdict(ComparisonVerdict::Worse, Some(0.0313), 0, 6, 6),
        verdict(ComparisonVerdict::NoDifferenceShown, Some(0.0625), 5, 0, 6),
        verdict(ComparisonVerdict::NoDifferenceShown, None, 0, 0, 6),
        verdict(ComparisonVerdict::NotMeasured, None, 0, 0, 6),
    ];
    insta::assert_snapshot!(lines.join("\n"), @r"
    better: 6 wins, 0 losses, 0 ties (p = 0.0313, exact McNemar test)
    worse: 0 wins, 6 losses, 0 ties (p = 0.0313, exact McNemar test)
    no difference shown: 5 wins, 0 losses, 0 ties (p = 0.0625, exact McNemar test). A verdict needs at least 6 prompts that change, all the same way
    no difference shown: 0 wins, 0 losses, 0 ties. A verdict needs at least 6 prompts that change
    not measured
    ");
}

/// Text of strangers in every place that takes some.
fn hostile() -> ActivationReport {
    let mut report = native();
    report.note = HOSTILE.to_owned();
    report.runner = Some(HOSTILE.to_owned());
    report.date = Some(HOSTILE.to_owned());
    for skill in &mut report.skills {
        skill.id = HOSTILE.to_owned();
        skill.error = Some(HOSTILE.to_owned());
        skill.warnings = vec![HOSTILE.to_owned()];
        skill.stolen_by = vec![StolenBy { skill: HOSTILE.to_owned(), prompts: 1, share: 0.5 }];
        skill.problems =
            vec![Problem { file: HOSTILE.to_owned(), line: 1, message: HOSTILE.to_owned() }];
        for prompt in &mut skill.prompts {
            prompt.case = HOSTILE.to_owned();
            prompt.winner = HOSTILE.to_owned();
            prompt.error = Some(HOSTILE.to_owned());
        }
    }
    let row = BTreeMap::from([(HOSTILE.to_owned(), 1)]);
    report.confusion = BTreeMap::from([(HOSTILE.to_owned(), row)]);
    report
}

#[test]
fn foreign_text_stays_text() {
    let report = hostile();
    let mut compared = comparison();
    compared.skill = HOSTILE.to_owned();
    compared.new = Candidate { file: HOSTILE.to_owned(), measured: report.skills[0].clone() };
    compared.warnings = vec![HOSTILE.to_owned()];
    compared.comparison.prompts[0].case = HOSTILE.to_owned();
    compared.comparison.verdict = ComparisonVerdict::Worse;
    for text in [
        activation_markdown(&report),
        activation_annotations(&report),
        comparison_markdown(&compared),
        comparison_annotations(&compared),
    ] {
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text}");
        assert!(!text.contains("##["), "{text}");
        assert!(!text.lines().any(|line| line.starts_with("::error::")), "{text}");
    }
    for text in [activation_markdown(&report), comparison_markdown(&compared)] {
        // Outside code spans nothing is markup; a table has as many cells as it has headings.
        for line in text.lines() {
            let outside: String = line.split("``").step_by(2).collect();
            assert!(!outside.contains("<img>") && !outside.contains(" @team"), "{line}");
        }
        let cells = |line: &str| line.replace("\\|", "").matches('|').count();
        let rows: Vec<usize> =
            text.lines().filter(|line| line.starts_with("| ")).map(cells).collect();
        assert!(rows.windows(2).all(|pair| pair[0] == pair[1]), "{text}");
    }
    for json in [activation_json(&report), comparison_json(&compared)] {
        assert!(!json.contains(['\u{1b}', '\u{202e}']), "{json}");
    }
}

#[test]
fn json_is_what_the_schemas_say() {
    for (schema, texts) in [
        (
            activation_schema(),
            vec![
                activation_json(&report(Surface::Retrieval, vec![skill()])),
                activation_json(&native()),
                activation_json(&hostile()),
            ],
        ),
        (comparison_schema(), vec![comparison_json(&comparison())]),
    ] {
        let validator = jsonschema::validator_for(&schema).unwrap();
        for text in texts {
            let value = serde_json::from_str(&text).unwrap();
            let errors: Vec<String> =
                validator.iter_errors(&value).map(|error| error.to_string()).collect();
            assert!(errors.is_empty(), "{errors:?}");
        }
    }
}

/// What the owner of the format publishes; not part of this repository.
#[test]
#[expect(clippy::print_stderr, reason = "says that it proves nothing")]
fn a_retrieval_report_is_what_the_published_schema_says() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../shared/data/skill-evals/schema/eval-activation.v1.schema.json"
    );
    let Ok(text) = std::fs::read_to_string(path) else {
        eprintln!("skipped: {path} is not there");
        return;
    };
    let schema: Value = serde_json::from_str(&text).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let statuses = [
        SkillActivation::new("a", ActivationStatus::NoCases),
        SkillActivation {
            error: Some("x".to_owned()),
            ..SkillActivation::new("b", ActivationStatus::Error)
        },
        skill(),
        SkillActivation::new("z", ActivationStatus::SkippedUnchanged),
    ];
    let report = ActivationReport {
        date: Some("2026-10-05".to_owned()),
        ..report(Surface::Retrieval, statuses.to_vec())
    };
    let value = serde_json::from_str(&activation_json(&report)).unwrap();
    let errors: Vec<String> = validator.iter_errors(&value).map(|e| e.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
}
