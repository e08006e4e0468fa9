//! Metrics and comparisons of trials that are made up.

use proctor_model::Usage;
use proctor_model::measure::{CompareVerdict, IntervalMethod, MetricFigure};
use proctor_model::run::{
    Coordinates, ExitReason, PhaseName, PhaseRecord, PlannedTrial, RunOptions, RunPlan, TestRecord,
    TestStatus, TrialRecord, TrialStatus,
};
use proptest::prelude::*;

use super::*;

/// A trial of an agent with a prompt, with one test that says what it came to.
fn trial(agent: &str, prompt: &str, repeat: u32, status: TrialStatus) -> TrialRecord {
    let test = |name: &str, status| TestRecord {
        name: name.to_owned(),
        status,
        exit_code: None,
        duration_ms: 1,
        reason: None,
        timed_out: false,
        evidence_truncated: false,
        evidence_errors: Vec::new(),
        stdout_tail: String::new(),
        stderr_tail: String::new(),
    };
    let tests = match status {
        TrialStatus::Pass => [TestStatus::Passed, TestStatus::Passed],
        TrialStatus::Fail => [TestStatus::Passed, TestStatus::Failed],
        TrialStatus::Error => [TestStatus::Skipped, TestStatus::Skipped],
    };
    let usage = Usage {
        input_tokens: Some(100),
        output_tokens: Some(10),
        cost_usd: Some(0.5 + 0.1 * f64::from(repeat)),
        ..Usage::default()
    };
    TrialRecord {
        schema_version: 1,
        run_id: format!("{agent}::{prompt}::{repeat:016}"),
        run_group_id: "run".to_owned(),
        scenario_id: "x".to_owned(),
        variant_id: format!("{agent}::{prompt}"),
        fingerprint: "f".to_owned(),
        repeat_idx: repeat,
        coordinates: Coordinates {
            agent: agent.to_owned(),
            prompt_id: prompt.to_owned(),
            ..Coordinates::default()
        },
        status,
        exit_reason: ExitReason::EndTurn,
        reason: None,
        started_at: 1000,
        ended_at: 3500,
        phases: vec![PhaseRecord { phase: PhaseName::Agent, duration_ms: 2000 }],
        outcome: None,
        usage: Some(usage),
        tool_calls: 3,
        tool_calls_failed: 1,
        isolation: None,
        checks: Vec::new(),
        tests: vec![test("made", tests[0]), test("right", tests[1])],
        graded: Vec::new(),
        warnings: Vec::new(),
    }
}

/// Trials of `agent`, prompt by prompt: `+` passed, `-` failed, `!` error.
fn trials(agent: &str, prompts: &[&str]) -> Vec<TrialRecord> {
    let mut records = Vec::new();
    for (number, outcomes) in prompts.iter().enumerate() {
        for (repeat, outcome) in (0..).zip(outcomes.chars()) {
            let status = match outcome {
                '+' => TrialStatus::Pass,
                '-' => TrialStatus::Fail,
                _ => TrialStatus::Error,
            };
            records.push(trial(agent, &format!("p{number}"), repeat, status));
        }
    }
    records
}

fn pool(run: &str, records: Vec<TrialRecord>) -> Pool {
    Pool::of_records(run, records)
}

fn wanted(words: &[&str]) -> Vec<Metric> {
    words.iter().map(|word| word.parse().unwrap()).collect()
}

fn of_all(records: Vec<TrialRecord>, metric: &str) -> MetricFigure {
    let mut report = metrics("run", pool("run", records), &[], &[], &wanted(&[metric]));
    assert_eq!(report.groups.len(), 1);
    report.groups.remove(0).metrics.remove(0)
}

fn gate(margin: Option<f64>) -> Gate {
    Gate { level: 0.05, margin }
}

#[test]
fn errors_are_counted_and_in_no_denominator() {
    let report = metrics(
        "run",
        pool("run", [trials("a", &["+-!!"]), trials("b", &["!"])].concat()),
        &[],
        &[GroupKey::Agent],
        &wanted(&["passRate", "testPassRate", "cost", "pass@2"]),
    );
    let [a, b] = &report.groups[..] else { panic!("{report:?}") };
    assert_eq!((a.n, a.errors, a.prompts), (2, 2, 1));
    assert_eq!(a.group["agent"].as_deref(), Some("a"));
    assert_eq!(
        (a.metrics[0].value, a.metrics[0].n, a.metrics[0].successes),
        (Some(0.5), 2, Some(1))
    );
    assert_eq!(
        (a.metrics[1].value, a.metrics[1].n, a.metrics[1].successes),
        (Some(0.75), 4, Some(3))
    );
    assert_eq!(a.metrics[2].value, Some(0.55));
    assert_eq!(a.metrics[3].value, Some(1.0));
    assert_eq!((b.n, b.errors), (0, 1));
    for metric in &b.metrics {
        assert_eq!((metric.value, &metric.interval), (None, &None));
        assert_eq!(metric.undefined.as_deref(), Some("no trial passed or failed"));
    }
}

#[test]
fn a_rate_has_wilson_and_where_prompts_repeat_the_clustered_one() {
    let single = of_all(trials("a", &["+", "-", "+", "+"]), "pass-rate");
    let wilson = single.interval.unwrap();
    assert_eq!((wilson.method, wilson.clusters), (IntervalMethod::Wilson, 4));
    assert!((wilson.low - 0.300_642).abs() < 1e-6 && (wilson.high - 0.954_413).abs() < 1e-6);
    assert_eq!(single.clustered, None);
    let repeated = of_all(trials("a", &["+++", "---", "+++"]), "pass-rate");
    let clustered = repeated.clustered.unwrap();
    assert_eq!((clustered.clusters, clustered.unit.as_str()), (3, "prompts"));
    let wilson = repeated.interval.unwrap();
    assert!(clustered.low < wilson.low && clustered.high > wilson.high);
    // The trials of a single prompt are as independent as can be.
    assert_eq!(of_all(trials("a", &["++-"]), "pass-rate").clustered, None);
    // The tests of one trial go together.
    let tests = of_all(trials("a", &["++-"]), "test-pass-rate").clustered.unwrap();
    assert_eq!((tests.clusters, tests.unit.as_str()), (3, "trials"));
}

#[test]
fn a_mean_says_how_its_interval_was_found_or_why_there_is_none() {
    let one = of_all(trials("a", &["+"]), "cost");
    assert_eq!((one.value, &one.interval), (Some(0.5), &None));
    assert_eq!(one.undefined.as_deref(), Some("an interval needs two trials"));
    let few = of_all(trials("a", &["++-"]), "cost").interval.unwrap();
    assert_eq!((few.method, few.clusters), (IntervalMethod::Student, 3));
    let many = of_all(trials("a", &["++-++-"]), "cost").interval.unwrap();
    assert_eq!((many.method, many.clusters), (IntervalMethod::Bootstrap, 6));
    let clustered = of_all(trials("a", &["++", "+-", "--"]), "cost").interval.unwrap();
    assert_eq!((clustered.clusters, clustered.unit.as_str()), (3, "prompts"));
    let mut silent = trials("a", &["++-"]);
    silent[0].usage = None;
    let figure = of_all(silent.clone(), "cost");
    assert_eq!((figure.n, figure.missing), (2, 1));
    for record in &mut silent {
        record.usage = None;
    }
    let none = of_all(silent, "cost");
    assert_eq!(none.undefined.as_deref(), Some("the agent does not report it"));
}

#[test]
fn other_metrics_are_of_the_records() {
    for (metric, value) in [
        ("wall-clock", 2.5),
        ("agentTime", 2.0),
        ("tokens", 110.0),
        ("input_tokens", 100.0),
        ("output-tokens", 10.0),
        ("tool-calls", 3.0),
        ("toolFailures", 1.0),
        ("tests-failed", 0.5),
    ] {
        assert_eq!(of_all(trials("a", &["+-"]), metric).value, Some(value), "{metric}");
    }
    assert_eq!(of_all(trials("a", &["+-"]), "turns").value, None);
}

#[test]
fn tries_are_estimated_without_bias_or_not_at_all() {
    let hat = of_all(trials("a", &["++++-"]), "pass^3");
    assert_eq!((hat.value, hat.n, hat.of.as_str()), (Some(0.4), 1, "variants"));
    assert_eq!(hat.undefined.as_deref(), Some("an interval needs two variants"));
    let at = of_all(trials("a", &["+-", "--"]), "pass@2");
    assert_eq!(at.value, Some(0.5));
    assert!(at.interval.is_some_and(|found| found.low >= 0.0 && found.high <= 1.0));
    let same = of_all(trials("a", &["++"; 6]), "pass^2");
    assert_eq!((same.value, &same.interval), (Some(1.0), &None));
    assert!(same.undefined.unwrap().starts_with("all variants come to the same"));
    let few = of_all(trials("a", &["+++", "+!!"]), "pass@2");
    assert_eq!(few.value, None);
    assert_eq!(few.undefined.as_deref(), Some("a::p1: n = 1 is less than k = 2"));
}

#[test]
fn words_for_keys_and_metrics() {
    assert_eq!("promptId".parse(), Ok(GroupKey::Prompt));
    assert_eq!("exit-reason".parse(), Ok(GroupKey::ExitReason));
    let error = "agnet".parse::<GroupKey>().unwrap_err().to_string();
    assert!(error.starts_with("`agnet` is no key of trials; did you mean `agent`?"), "{error}");
    let error = "costs".parse::<Metric>().unwrap_err().to_string();
    assert!(error.contains("did you mean `cost`?"), "{error}");
    let error = "pass^k".parse::<Metric>().unwrap_err().to_string();
    assert_eq!(error, "`pass^k` needs a number of tries above 0 in place of K, such as `pass^3`");
    assert!("pass@0".parse::<Metric>().is_err());
    let filter: Filter = "model=none".parse().unwrap();
    assert_eq!((filter.key, filter.value.as_deref()), (GroupKey::Model, None));
    assert!("agent".parse::<Filter>().is_err());
}

#[test]
fn filters_choose_and_name_what_there_is() {
    let mut pool = pool("run", [trials("a", &["+-"]), trials("b", &["+"])].concat());
    let wrong = pool.narrow(&["agent=c".parse().unwrap()]).unwrap_err();
    assert_eq!(wrong, "no trial has agent `c`; there is `a`, `b`");
    let both: Vec<Filter> =
        ["agent=a", "agent=b", "repeat=0"].map(|text| text.parse().unwrap()).to_vec();
    pool.narrow(&both).unwrap();
    assert_eq!(pool.trials.len(), 2);
}

fn plan(run_id: &str, retest_of: Option<&str>, mock: bool) -> RunPlan {
    RunPlan {
        schema_version: 1,
        run_id: run_id.to_owned(),
        kind: proctor_model::run::RunKind::Experiment,
        experiment_id: "x".to_owned(),
        created_at: 0,
        proctor_version: "0.1.0".to_owned(),
        retest_of: retest_of.map(str::to_owned),
        rerun_of: None,
        experiment_file: String::new(),
        experiment_digest: String::new(),
        options: RunOptions { mock, ..RunOptions::default() },
        trials: Vec::<PlannedTrial>::new(),
    }
}

#[test]
fn runs_of_one_experiment_count_each_agent_once() {
    let pool = Pool::of_experiment(vec![
        (plan("r1", None, false), trials("a", &["+-"])),
        (plan("r2", Some("r1"), false), trials("a", &["+"])),
        (plan("r3", Some("r2"), false), trials("a", &["-"])),
        (plan("r4", None, false), trials("a", &["+"])),
        (plan("r5", None, true), trials("a", &["+++++"])),
    ]);
    let seen: Vec<(&str, u32, TrialStatus)> =
        pool.trials.iter().map(|t| (t.run_id.as_str(), t.repeat, t.record.status)).collect();
    assert_eq!(
        seen,
        [("r1", 0, TrialStatus::Fail), ("r3", 1, TrialStatus::Fail), ("r4", 2, TrialStatus::Pass)]
    );
    assert_eq!(
        pool.notes,
        [
            "run r5 was left out: it was one in which every agent was played",
            "2 trials were tested again later; the later tests count"
        ]
    );
    let mut changed = trials("a", &["+"]);
    changed[0].fingerprint = "other".to_owned();
    let runs =
        vec![(plan("r1", None, false), trials("a", &["+"])), (plan("r2", None, false), changed)];
    assert!(Pool::of_experiment(runs).notes[0].contains("`a::p0` had different prompts"));
}

#[test]
fn a_regression_needs_more_than_chance() {
    let ten = ["+"; 10];
    let mut worse = ten;
    worse[..5].fill("-");
    let compare = |worse: &[&str]| {
        let (a, b) = (pool("A", trials("a", &ten)), pool("B", trials("a", worse)));
        runs_against(("A", &a), ("B", &b), &[], gate(None)).unwrap()
    };
    let report = compare(&worse);
    assert_eq!(report.verdict, CompareVerdict::NoDifferenceShown);
    assert!(report.verdict.holds());
    let one = &report.contrasts[0];
    assert_eq!((one.p_value, one.difference, one.needed), (Some(0.0625), Some(-0.5), 6));
    assert_eq!((one.pairs.pass_to_fail, one.flips.len()), (5, 5));
    assert_eq!(one.flips[0].tests, ["right"]);
    assert_eq!(one.flips[0].cell.to_string(), "a p0 #0");
    insta::assert_snapshot!(report.conclusion, @"No difference between `A` and `B` is shown, so neither ranks above the other: -50.0 points (95 %: -76.3 to -11.7) over 10 pairs, p = 0.062.");
    worse[5] = "-";
    let report = compare(&worse);
    assert_eq!(report.verdict, CompareVerdict::Worse);
    insta::assert_snapshot!(report.conclusion, @"`B` passes less often than `A`: -60.0 points (95 %: -83.2 to -20.1) over 10 pairs, p = 0.031.");
    assert!(report.warnings.is_empty(), "{:?}", report.warnings);
}

#[test]
fn cells_without_a_partner_are_listed() {
    let a = pool("A", trials("a", &["+", "!", "+", "-", "+"]));
    let b = pool("B", trials("a", &["+", "+", "!", "-", "!", "+"]));
    let report = runs_against(("A", &a), ("B", &b), &[], gate(None)).unwrap();
    let one = &report.contrasts[0];
    assert_eq!(one.pairs.n, 2);
    let names = |cells: &[proctor_model::measure::Cell]| {
        cells.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(names(&one.unpaired.baseline_errors), ["a p1 #0"]);
    assert_eq!(names(&one.unpaired.candidate_errors), ["a p2 #0", "a p4 #0"]);
    assert_eq!(names(&one.unpaired.candidate_only), ["a p5 #0"]);
    assert!(one.unpaired.baseline_only.is_empty());
    assert_eq!(report.verdict, CompareVerdict::NoDifferenceShown);

    let broken = pool("B", trials("a", &["+", "+", "!", "!", "!"]));
    let report = runs_against(("A", &a), ("B", &broken), &[], gate(None)).unwrap();
    assert_eq!(report.verdict, CompareVerdict::Incomplete);
    assert!(!report.verdict.holds());
    insta::assert_snapshot!(report.conclusion, @"Fewer than half of the cells with a result in `A` have one in `B` too (pairs: 1): too little to compare.");
    // What is missing cannot undo what was seen.
    let (long, worse) = (["+"; 20], [["-"; 7].as_slice(), &["!"; 13]].concat());
    let (long, worse) = (pool("A", trials("a", &long)), pool("B", trials("a", &worse)));
    let report = runs_against(("A", &long), ("B", &worse), &[], gate(None)).unwrap();
    assert_eq!(report.verdict, CompareVerdict::Worse);
    let none = pool("B", trials("a", &["!", "!", "!", "!", "!"]));
    let error = runs_against(("A", &a), ("B", &none), &[], gate(None)).unwrap_err();
    assert!(matches!(error, CompareError::NoPairs { .. }), "{error}");
}

#[test]
fn a_margin_must_be_shown() {
    let same = vec!["+"; 60];
    let compare = |n: usize, margin| {
        let (a, b) = (pool("A", trials("a", &same[..n])), pool("B", trials("a", &same[..n])));
        runs_against(("A", &a), ("B", &b), &[], gate(Some(margin))).unwrap()
    };
    let few = compare(20, 0.05);
    assert_eq!(few.verdict, CompareVerdict::NotShown);
    insta::assert_snapshot!(few.conclusion, @"It is not shown that `B` is at most 5 points worse than `A`: +0.0 points (95 %: -16.1 to +16.1) over 20 pairs, no pair differs; two equal sides need 73 pairs to show it.");
    let many = compare(60, 0.1);
    assert_eq!(many.verdict, CompareVerdict::NotInferior);
    insta::assert_snapshot!(many.conclusion, @"`B` is not worse than `A` by more than 10 points: +0.0 points (95 %: -6.0 to +6.0) over 60 pairs, no pair differs.");
}

#[test]
fn values_of_a_key_are_corrected_together() {
    let records = [
        trials("a", &["+"; 8]),
        trials("b", &["-", "-", "-", "-", "-", "-", "-", "+"]),
        trials("c", &["+", "+", "+", "+", "-", "+", "+", "+"]),
    ]
    .concat();
    let pool = pool("run", records);
    let report =
        against_values(("run", &pool), &[], GroupKey::Agent, None, &[], gate(None)).unwrap();
    assert_eq!((report.baseline.as_str(), report.candidate.as_str()), ("a", "b, c"));
    let [b, c] = &report.contrasts[..] else { panic!("{report:?}") };
    assert_eq!((b.p_value, b.adjusted_p), (Some(0.015_625), Some(0.031_25)));
    assert_eq!((c.p_value, c.adjusted_p), (Some(1.0), Some(1.0)));
    assert_eq!(report.verdict, CompareVerdict::Worse);
    insta::assert_snapshot!(report.conclusion, @"Compared with `a`, `b` is worse (-87.5 points (95 %: -97.8 to -40.1), adjusted p = 0.031); 1 of 2 cannot be ranked.");
    let from_b = against_values(
        ("run", &pool),
        &[],
        GroupKey::Agent,
        Some("agent=b".parse().unwrap()),
        &["agent=c".parse().unwrap()],
        gate(None),
    )
    .unwrap();
    assert_eq!(from_b.contrasts.len(), 1);
    assert_eq!(from_b.verdict, CompareVerdict::Better);
    assert_eq!(from_b.contrasts[0].adjusted_p, None);
    let error = against_values(("run", &pool), &[], GroupKey::Status, None, &[], gate(None));
    assert!(matches!(error, Err(CompareError::NotAWay(_))));
    let error = against_values(("run", &pool), &[], GroupKey::Model, None, &[], gate(None));
    assert!(matches!(error, Err(CompareError::OneValue { .. })));
}

#[test]
fn sides_with_other_models_are_compared_with_a_warning() {
    let mut records = [trials("a", &["+", "+"]), trials("b", &["-", "+"])].concat();
    for record in &mut records {
        record.coordinates.model = Some(format!("model of {}", record.coordinates.agent));
    }
    let run = pool("run", records.clone());
    let report =
        against_values(("run", &run), &[], GroupKey::Agent, None, &[], gate(None)).unwrap();
    assert_eq!(report.contrasts[0].pairs.n, 2);
    assert_eq!(
        report.warnings,
        ["`a` and `b` also differ in model: `model of a` and `model of b`"]
    );
    // A second model of one side falls into the same cells.
    let mut more = records[..2].to_vec();
    for record in &mut more {
        record.coordinates.model = Some("another".to_owned());
    }
    let run = pool("run", [records, more].concat());
    let error = against_values(("run", &run), &[], GroupKey::Agent, None, &[], gate(None));
    assert_eq!(
        error.unwrap_err().to_string(),
        "a has several trials for p0 #0; they differ in model"
    );
}

#[test]
fn repeats_of_prompts_give_the_interval_by_prompt() {
    let (a, b) = (["+++", "+++", "---", "+++"], ["---", "+++", "---", "--+"]);
    let (a, b) = (pool("A", trials("a", &a)), pool("B", trials("a", &b)));
    let report = runs_against(("A", &a), ("B", &b), &[], gate(None)).unwrap();
    let one = &report.contrasts[0];
    let (plain, clustered) = (one.interval.clone().unwrap(), one.clustered.clone().unwrap());
    assert_eq!((one.prompts, clustered.clusters), (4, 4));
    assert!(clustered.high > plain.high && clustered.low < plain.low);
    let cost = &one.metrics[0];
    assert_eq!((cost.metric.as_str(), cost.n, cost.difference), ("cost", 12, Some(0.0)));
}

#[test]
fn plans_that_cannot_decide_say_so() {
    let plan = PowerPlan {
        n: 5,
        prompts: Some((5, 1)),
        comparisons: 1,
        rate: 0.5,
        level: 0.05,
        power: 0.8,
        effect: Some(0.2),
        gate: Some(0.9),
        margin: Some(0.1),
    };
    let report = power(&plan);
    assert!(!report.can_decide);
    assert_eq!((report.least_flips, report.paired.detectable_rise), (6, None));
    assert_eq!(report.unpaired.needed, Some(93));
    let gate = report.gate.unwrap();
    assert_eq!((gate.can_pass, gate.passes_needed, gate.least_n), (false, None, Some(35)));
    assert!(!report.margin.unwrap().can_pass);
    let three = power(&PowerPlan { n: 6, comparisons: 3, ..plan });
    assert!(!three.can_decide, "each of three comparisons has a third of the level");
    assert!(power(&PowerPlan { n: 6, ..plan }).can_decide);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn turning_a_comparison_round_turns_its_figures(
        one in proptest::collection::vec("[+!-]{1,3}", 1..6),
        other in proptest::collection::vec("[+!-]{1,3}", 1..6),
    ) {
        let side = |outcomes: &[String]| {
            let words: Vec<&str> = outcomes.iter().map(String::as_str).collect();
            pool("run", trials("a", &words))
        };
        let (a, b) = (side(&one), side(&other));
        let there = runs_against(("A", &a), ("B", &b), &[], gate(None));
        let back = runs_against(("B", &b), ("A", &a), &[], gate(None));
        prop_assert_eq!(there.is_ok(), back.is_ok());
        if let (Ok(there), Ok(back)) = (there, back) {
            let (there, back) = (&there.contrasts[0], &back.contrasts[0]);
            prop_assert_eq!(there.p_value, back.p_value);
            prop_assert_eq!(there.pairs.pass_to_fail, back.pairs.fail_to_pass);
            let (low, high) = (there.interval.clone().unwrap(), back.interval.clone().unwrap());
            prop_assert!((low.low + high.high).abs() < 1e-9);
            // Every cell of either side is somewhere.
            let unpaired = &there.unpaired;
            let beside = unpaired.baseline_only.len()
                + unpaired.baseline_errors.len() + unpaired.candidate_errors.len();
            prop_assert_eq!(there.pairs.n + beside as u64, a.trials.len() as u64);
        }
    }

    #[test]
    fn the_order_of_trials_does_not_matter(
        outcomes in proptest::collection::vec("[+!-]{1,4}", 1..6), turn in 0usize..20,
    ) {
        let words: Vec<&str> = outcomes.iter().map(String::as_str).collect();
        let records = trials("a", &words);
        let mut turned = records.clone();
        turned.rotate_left(turn % records.len());
        let report = |records| metrics(
            "run", pool("run", records), &[], &[GroupKey::Prompt],
            &wanted(&["pass-rate", "test-pass-rate", "cost", "tokens", "pass@1", "pass^2"]),
        );
        prop_assert_eq!(report(records), report(turned));
    }
}
