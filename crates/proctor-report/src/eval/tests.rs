use std::collections::BTreeMap;

use proctor_model::Location;
use proctor_model::eval::advice::{Action, AdviceReport, AdviceRow, FeedbackCounts, Join};
use proctor_model::eval::calibration::{
    Assumptions, Calibration, CalibrationGroup, RunKind, SkippedRecords,
};
use proctor_model::eval::{
    CaseReport, CaseStatus, Estimate, EstimateRecord, Finding, LintReport, LintSeverity,
    ListedResult, ListedSkill, Listing, Problem, ResultState, Rule, Score, SkillReport,
    SkillStatus,
};
use serde_json::Value;

use super::*;
use crate::Styles;

const HOSTILE: &str =
    "x\n::error::owned\x1b[2J ##[add-mask]\u{202e} <img> [a](http://b) @team & \"q\"'|`\u{fffe}";

fn case(id: &str, status: CaseStatus) -> CaseReport {
    CaseReport {
        case: id.to_owned(),
        expect_trigger: true,
        near_miss: false,
        status,
        triggered: None,
        fired: Vec::new(),
        outcome_graded: false,
        outcome_passed: None,
        without_passed: None,
        rubric_score: None,
        rubric_note: None,
        cost_usd: 0.0,
        tokens: 0,
        failures: Vec::new(),
        reason: None,
    }
}

/// The worked example of the format's documentation.
fn example() -> EvalReport {
    let score = Score {
        cases: 3,
        scored: 3,
        passed: 2,
        failed: 1,
        pass_rate: 0.6667,
        trigger_precision: Some(0.5),
        trigger_recall: Some(1.0),
        near_miss_cases: 1,
        near_miss_false_positives: 1,
        outcome_pass_with: Some(1.0),
        outcome_pass_without: Some(0.0),
        ablation_delta: Some(1.0),
        ablation_cases: 1,
        skill_tokens: 120,
        run_tokens: 5610,
        cost_usd: 0.043,
        ..Score::default()
    };
    let near_miss = CaseReport {
        expect_trigger: false,
        near_miss: true,
        triggered: Some(true),
        failures: vec!["fired but must stay quiet".to_owned()],
        ..case("deploy-basic.near-miss-1", CaseStatus::Failed)
    };
    let skill = SkillReport {
        score: Some(score),
        cases: vec![
            case("deploy-basic", CaseStatus::Passed),
            near_miss,
            case("unrelated", CaseStatus::Passed),
        ],
        case_count: 3,
        ..SkillReport::new("deploy-staging", SkillStatus::Ran)
    };
    EvalReport {
        schema_version: 1,
        runner: "command".to_owned(),
        harness: "claude".to_owned(),
        model: "haiku".to_owned(),
        date: Some("2026-10-05".to_owned()),
        ablation: true,
        dry_run: false,
        skills: vec![skill],
        estimate: Estimate::default(),
        cost_usd: 0.043,
        grader: None,
        grader_cost_usd: 0.0,
        price_known: true,
        priced_as: None,
        failed: true,
    }
}

/// A skill in every state, a case of every kind.
fn everything() -> EvalReport {
    let score = |passed, scored| Score {
        cases: scored,
        scored,
        passed,
        pass_rate: 0.5,
        skill_tokens: 90,
        ..Score::default()
    };
    let estimate = Estimate { agent_runs: 2, cost_usd: 0.1234, ..Estimate::default() };
    let ran = SkillReport {
        passing: true,
        score: Some(Score { errors: 1, skipped: 1, failed: 1, ..score(1, 3) }),
        cases: vec![
            CaseReport {
                failures: vec![
                    "did not fire".to_owned(),
                    "contains: the answer does not contain \"eu\"".to_owned(),
                ],
                fired: vec!["other-skill".to_owned()],
                rubric_note: Some("names no cluster".to_owned()),
                ..case("fails", CaseStatus::Failed)
            },
            CaseReport { reason: Some("rate limit".to_owned()), ..case("errs", CaseStatus::Error) },
            CaseReport {
                reason: Some("the runner cannot create files".to_owned()),
                ..case("skips", CaseStatus::Skipped)
            },
            case("passes", CaseStatus::Passed),
        ],
        estimate_vs_actual: Some(EstimateRecord {
            low_usd: 0.01,
            high_usd: 0.02,
            actual_usd: 0.3,
            in_range: Some(false),
            ..EstimateRecord::default()
        }),
        warnings: vec!["1 of 3 cases has no result".to_owned()],
        ..SkillReport::new("a-ran", SkillStatus::Ran)
    };
    let problem = |line, message: &str| Problem {
        file: ".ai-rulez/skills/g/evals/a.eval.yaml".to_owned(),
        line,
        message: message.to_owned(),
    };
    let skills = vec![
        ran,
        SkillReport {
            score: Some(Score { skipped: 1, scored: 0, pass_rate: 0.0, ..score(0, 1) }),
            cases: vec![CaseReport {
                reason: Some("no".to_owned()),
                ..case("skips", CaseStatus::Skipped)
            }],
            ..SkillReport::new("b-nothing-scored", SkillStatus::Ran)
        },
        SkillReport {
            passing: true,
            score: Some(score(1, 1)),
            ..SkillReport::new("c-cached", SkillStatus::Cached)
        },
        SkillReport {
            score: Some(score(1, 2)),
            ..SkillReport::new("d-cached", SkillStatus::Cached)
        },
        SkillReport { estimate: Some(estimate), ..SkillReport::new("e-dry", SkillStatus::DryRun) },
        SkillReport::new("f-none", SkillStatus::NoCases),
        SkillReport {
            problems: vec![
                problem(3, "column 5: cases[0].promt: unknown key"),
                problem(9, "no cases"),
            ],
            ..SkillReport::new("g-invalid", SkillStatus::Invalid)
        },
        SkillReport {
            error: Some("the runner printed no JSON".to_owned()),
            estimate: Some(estimate),
            ..SkillReport::new("h-error", SkillStatus::Error)
        },
        SkillReport::new("i-budget", SkillStatus::SkippedOverBudget),
        SkillReport::new("j-unchanged", SkillStatus::SkippedUnchanged),
    ];
    EvalReport {
        date: None,
        ablation: false,
        skills,
        grader: Some("builtin:m:v1".to_owned()),
        grader_cost_usd: 0.01,
        ..example()
    }
}

fn hostile() -> EvalReport {
    let text = || HOSTILE.to_owned();
    let failed = CaseReport {
        failures: vec![text()],
        fired: vec![text()],
        rubric_note: Some(text()),
        ..case(HOSTILE, CaseStatus::Failed)
    };
    let ran = SkillReport {
        score: Some(Score { scored: 1, ..Score::default() }),
        cases: vec![failed],
        warnings: vec![text()],
        ..SkillReport::new(HOSTILE, SkillStatus::Ran)
    };
    let invalid = SkillReport {
        problems: vec![Problem { file: text(), line: 1, message: text() }],
        ..SkillReport::new("invalid", SkillStatus::Invalid)
    };
    let error =
        SkillReport { error: Some(text()), ..SkillReport::new("error", SkillStatus::Error) };
    EvalReport {
        runner: text(),
        model: text(),
        date: Some(text()),
        skills: vec![ran, invalid, error],
        ..example()
    }
}

fn dry_run() -> EvalReport {
    let estimate = Estimate {
        agent_runs: 6,
        input_tokens: 14044,
        output_tokens: 3800,
        cost_usd: 0.033,
        input_tokens_low: 11560,
        input_tokens_high: 18190,
        output_tokens_low: 2000,
        output_tokens_high: 11000,
        cost_low_usd: 0.0216,
        cost_high_usd: 0.0732,
    };
    let skill =
        SkillReport { estimate: Some(estimate), ..SkillReport::new("a", SkillStatus::DryRun) };
    EvalReport {
        dry_run: true,
        failed: false,
        cost_usd: 0.0,
        priced_as: Some("sonnet".to_owned()),
        estimate,
        skills: vec![skill],
        ..example()
    }
}

fn findings() -> LintReport {
    let finding = |code: Rule, severity, file: &str, message: &str, hint: Option<&str>| Finding {
        code,
        name: code.name().to_owned(),
        severity,
        file: file.into(),
        location: Location { line: 2, column: 3 },
        skill: Some("a".to_owned()),
        message: message.to_owned(),
        hint: hint.map(str::to_owned),
    };
    let findings = vec![
        finding(
            Rule::EvalCaseInvalid,
            LintSeverity::Error,
            "skills/a b/evals/ä.eval.yaml",
            "unknown key",
            Some("did you mean `prompt`?"),
        ),
        finding(Rule::EvalsMissing, LintSeverity::Warning, "/abs/SKILL.md", "no cases", None),
        finding(Rule::EvalImportUnmapped, LintSeverity::Info, "x.json", HOSTILE, None),
    ];
    LintReport::new(2, findings, LintSeverity::Error)
}

#[test]
fn the_worked_example_as_markdown() {
    insta::assert_snapshot!(run_markdown(&example()));
}

#[test]
fn the_worked_example_as_junit_byte_for_byte() {
    insta::assert_snapshot!(run_junit(&example()), @r#"
    <?xml version="1.0" encoding="UTF-8"?>
    <testsuites name="ai-rulez eval" tests="3" failures="1" errors="0" skipped="0">
      <testsuite name="deploy-staging" tests="3" failures="1" errors="0" skipped="0">
        <properties>
          <property name="status" value="ran"></property>
          <property name="pass_rate" value="0.6667"></property>
          <property name="trigger_precision" value="0.5000"></property>
          <property name="trigger_recall" value="1.0000"></property>
          <property name="ablation_delta" value="1.0000"></property>
          <property name="skill_tokens" value="120"></property>
          <property name="cost_usd" value="0.0430"></property>
        </properties>
        <testcase name="deploy-basic" classname="skill.deploy-staging"></testcase>
        <testcase name="deploy-basic.near-miss-1" classname="skill.deploy-staging">
          <failure message="fired but must stay quiet">fired but must stay quiet</failure>
        </testcase>
        <testcase name="unrelated" classname="skill.deploy-staging"></testcase>
      </testsuite>
    </testsuites>
    "#);
    let none = EvalReport { skills: Vec::new(), ..example() };
    let empty =
        r#"<testsuites name="ai-rulez eval" tests="0" failures="0" errors="0" skipped="0">"#;
    assert!(run_junit(&none).ends_with(&format!("{empty}</testsuites>\n")));
}

#[test]
fn the_worked_example_as_text() {
    insta::assert_snapshot!(run_text(&example(), 1.0, &Styles::plain()));
}

#[test]
fn every_state_in_every_format() {
    let report = everything();
    insta::assert_snapshot!("everything_text", run_text(&report, 0.3, &Styles::plain()));
    insta::assert_snapshot!("everything_markdown", run_markdown(&report));
    insta::assert_snapshot!("everything_junit", run_junit(&report));
    insta::assert_snapshot!("everything_annotations", run_annotations(&report));
}

#[test]
fn a_dry_run_says_what_it_would_take() {
    let report = dry_run();
    insta::assert_snapshot!("dry_run_text", run_text(&report, 1.0, &Styles::plain()));
    insta::assert_snapshot!("dry_run_markdown", run_markdown(&report));
    let unknown = EvalReport { price_known: false, ..report };
    assert!(run_markdown(&unknown).contains("the price of model haiku is not known"));
}

#[test]
fn colours_only_repeat_words() {
    let coloured = run_text(&everything(), 1.0, &Styles::coloured());
    assert!(coloured.contains('\x1b'));
    let mut plain = String::new();
    let mut rest = coloured.as_str();
    while let Some((before, after)) = rest.split_once('\x1b') {
        plain.push_str(before);
        rest = after.split_once('m').unwrap().1;
    }
    plain.push_str(rest);
    let trimmed: Vec<&str> = plain.lines().map(str::trim_end).collect();
    assert_eq!(trimmed.join("\n") + "\n", run_text(&everything(), 1.0, &Styles::plain()));
}

#[test]
fn nothing_that_a_stranger_wrote_acts() {
    let report = hostile();
    let texts = [
        run_text(&report, 1.0, &Styles::plain()),
        run_markdown(&report),
        run_junit(&report),
        run_annotations(&report),
        run_json(&report),
        lint_text(&findings(), &Styles::plain()),
        lint_json(&findings()),
        lint_sarif(&findings(), "1.2.3"),
        lint_annotations(&findings().findings),
        calibration_text(&calibration(), &Styles::plain()),
        advice_text(&advice(), &Styles::plain()),
    ];
    for text in &texts {
        let acts = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}' || c == '\u{fffe}';
        let acting = text.chars().find(|c| acts(*c) && *c != '\u{fffe}');
        assert_eq!(acting, None, "{text}");
    }
    let [text, markdown, junit, annotations, ..] = &texts;
    for line in text.lines().chain(markdown.lines()) {
        assert!(!line.trim_start().starts_with("::") && !line.contains("##["), "{line}");
    }
    assert!(
        annotations
            .lines()
            .all(|line| line.starts_with("::error ") || line.starts_with("::warning "))
    );
    assert!(!junit.contains("<img>") && !junit.contains('\u{fffe}'));
    insta::assert_snapshot!("hostile_markdown", markdown);
    insta::assert_snapshot!("hostile_annotations", annotations);
}

#[test]
fn json_is_the_report() {
    let report = hostile();
    let read: EvalReport = serde_json::from_str(&run_json(&report)).unwrap();
    assert_eq!(read, report);
}

#[test]
fn findings_in_every_format() {
    let report = findings();
    insta::assert_snapshot!("lint_text", lint_text(&report, &Styles::plain()));
    insta::assert_snapshot!("lint_json", lint_json(&report));
    insta::assert_snapshot!("lint_annotations", lint_annotations(&report.findings));
    insta::assert_snapshot!(
        lint_text(&LintReport::new(1, Vec::new(), LintSeverity::Error), &Styles::plain()),
        @"1 skill, no findings"
    );
}

#[test]
fn sarif_has_what_the_standard_asks_for() {
    let log: Value = serde_json::from_str(&lint_sarif(&findings(), "1.2.3")).unwrap();
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    assert_eq!(rules.len(), Rule::ALL.len());
    for (result, finding) in run["results"].as_array().unwrap().iter().zip(findings().findings) {
        let rule = &rules[usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap()];
        assert_eq!(rule["id"], result["ruleId"]);
        assert_eq!(result["ruleId"], finding.code.code());
    }
    insta::assert_json_snapshot!("sarif_results", run["results"]);
    let evals_missing = rules.iter().find(|rule| rule["id"] == "AR962").unwrap();
    assert_eq!(evals_missing["defaultConfiguration"]["enabled"], false);
    let empty = LintReport::new(0, Vec::new(), LintSeverity::Error);
    let log: Value = serde_json::from_str(&lint_sarif(&empty, "1.2.3")).unwrap();
    assert_eq!(log["runs"][0]["results"], serde_json::json!([]));
}

#[test]
fn a_listing_in_both_formats() {
    let skill = |id: &str, result| ListedSkill {
        id: id.to_owned(),
        domain: None,
        path: format!(".ai-rulez/skills/{id}"),
        cases: 2,
        near_misses: 1,
        problems: 0,
        tags: vec!["smoke".to_owned()],
        result,
    };
    let states =
        [ResultState::Passing, ResultState::Failing, ResultState::Stale, ResultState::Unverified];
    let mut skills: Vec<ListedSkill> = states
        .into_iter()
        .map(|state| skill(state.as_str(), Some(ListedResult { state, pass_rate: 0.5 })))
        .collect();
    skills.push(ListedSkill { domain: Some("d".to_owned()), ..skill(HOSTILE, None) });
    let listing = Listing { schema_version: 1, skills };
    let validator = jsonschema::draft202012::new(&listing_schema()).unwrap();
    assert!(validator.is_valid(&serde_json::from_str(&listing_json(&listing)).unwrap()));
    insta::assert_snapshot!("listing_text", listing_text(&listing, &Styles::plain()));
    insta::assert_snapshot!("listing_json", listing_json(&listing));
    let none = Listing { schema_version: 1, skills: Vec::new() };
    assert_eq!(listing_text(&none, &Styles::plain()), "no skills\n");
}

fn calibration() -> Calibration {
    let assumptions = |overhead, output, price| Assumptions {
        overhead_tokens: overhead,
        activation_output_tokens: Some(output),
        price_in_per_mtok: price,
        ..Assumptions::default()
    };
    let group = CalibrationGroup {
        harness: "claude".to_owned(),
        model: "haiku".to_owned(),
        kind: RunKind::Activation,
        samples: 6,
        low_confidence: false,
        current: assumptions(2000, 150, None),
        proposed: assumptions(23875, 307, Some(0.3209)),
        token_error_before: 7.18,
        token_error_after: -0.0001,
        cost_error_median: 1.61,
        cost_error_p90: 2.04,
        list_price_in_per_mtok: Some(1.0),
        effective_price_in_per_mtok: Some(0.3209),
    };
    let other = CalibrationGroup {
        model: HOSTILE.to_owned(),
        samples: 1,
        low_confidence: true,
        proposed: assumptions(2100, 150, None),
        effective_price_in_per_mtok: Some(1.01),
        ..group.clone()
    };
    let skipped = SkippedRecords { no_usage: 2, unverified: 1, filtered: 0 };
    Calibration { groups: vec![other, group], skipped }
}

#[test]
fn proposals_in_both_formats() {
    insta::assert_snapshot!("calibration_text", calibration_text(&calibration(), &Styles::plain()));
    insta::assert_snapshot!("calibration_json", calibration_json(&calibration()));
    insta::assert_snapshot!(
        calibration_text(&Calibration::default(), &Styles::plain()),
        @"no recorded run to learn from"
    );
}

fn advice() -> AdviceReport {
    let row = |id: &str, action, reasons: &[&str]| AdviceRow {
        id: id.to_owned(),
        action,
        reasons: reasons.iter().map(|reason| (*reason).to_owned()).collect(),
        uses: Some(3),
        pass_rate: Some(0.5),
        trigger_precision: None,
        trigger_recall: Some(1.0),
        ablation_delta: Some(-0.25),
        ablation_cases: 4,
        skill_tokens: 120,
        feedback: None,
        stale: false,
        unverified: false,
        join: None,
        join_uses: BTreeMap::new(),
        notes: Vec::new(),
    };
    let rewrite = AdviceRow {
        feedback: Some(FeedbackCounts { misled: 1, stale: 0, wrong: 2, great: 1 }),
        join: Some(Join::Exact),
        join_uses: BTreeMap::from([(Join::Exact, 2), (Join::Stale, 1)]),
        stale: true,
        ..row("a", Action::Rewrite, &["pass rate 50% is below 80%", "3 complaints"])
    };
    let review = AdviceRow {
        pass_rate: None,
        unverified: true,
        notes: vec!["its results are not signed".to_owned()],
        ..row(HOSTILE, Action::Review, &[HOSTILE])
    };
    AdviceReport {
        min_pass_rate: 0.8,
        min_trigger: 0.8,
        logged_uses: Some(9),
        skills: vec![
            rewrite,
            row("b", Action::Prune, &["none of 9 logged uses"]),
            review,
            row("d", Action::Keep, &[]),
        ],
    }
}

#[test]
fn recommendations_in_both_formats() {
    insta::assert_snapshot!("advice_text", advice_text(&advice(), &Styles::plain()));
    insta::assert_snapshot!("advice_json", advice_json(&advice()));
}

#[test]
fn one_line_says_how_it_ended() {
    assert_eq!(run_summary(&example()), "1 skill: 1 failing; cost $0.0430; verdict: failed");
    let nothing = EvalReport { skills: Vec::new(), failed: false, cost_usd: 0.0, ..example() };
    assert_eq!(run_summary(&nothing), "0 skills: nothing to run; verdict: nothing was evaluated");
}

/// The published schema of the report: what other readers of it rely on.
const PUBLISHED: [(&str, &str); 10] = [
    ("schema_version", "number"),
    ("runner", "string"),
    ("harness", "string"),
    ("model", "string"),
    ("ablation", "boolean"),
    ("dry_run", "boolean"),
    ("skills", "array"),
    ("estimate", "object"),
    ("cost_usd", "number"),
    ("failed", "boolean"),
];

#[test]
fn the_schemas_accept_what_is_printed() {
    for (schema, texts) in [
        (run_schema(), vec![run_json(&example()), run_json(&everything()), run_json(&dry_run())]),
        (lint_schema(), vec![lint_json(&findings())]),
        (calibration_schema(), vec![calibration_json(&calibration())]),
        (advice_schema(), vec![advice_json(&advice())]),
    ] {
        let validator = jsonschema::draft202012::new(&schema).unwrap();
        for text in texts {
            let value: Value = serde_json::from_str(&text).unwrap();
            let errors: Vec<String> =
                validator.iter_errors(&value).map(|error| error.to_string()).collect();
            assert!(errors.is_empty(), "{errors:?}\n{text}");
        }
        assert!(!validator.is_valid(&serde_json::json!({})));
    }
    let report: Value = serde_json::from_str(&run_json(&everything())).unwrap();
    for (key, kind) in PUBLISHED {
        let found = match &report[key] {
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Bool(_) => "boolean",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
            Value::Null => "missing",
        };
        assert_eq!(found, kind, "{key}");
    }
}
