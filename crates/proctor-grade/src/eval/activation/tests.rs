//! The figures, and their way through the results file.

use std::collections::BTreeMap;

use proctor_model::eval::PromptStatus::{Borderline, Failed, Passed};
use proctor_model::eval::activation::{Rate, RateInterval, Scope, Surface};
use proctor_model::eval::protocol::CaseResult;
use proctor_model::eval::{
    ActivationStatus, Assertion, ExpandedCase, PromptStatus, SkillActivation, StolenBy,
};
use proptest::prelude::*;

use super::super::case::tests::case;
use super::*;

fn cases(expectations: &[bool]) -> Vec<ExpandedCase> {
    let numbered = (0..).zip(expectations);
    numbered.map(|(index, expect)| case(&format!("c{index}"), *expect)).collect()
}

fn subject(cases: &[ExpandedCase]) -> Subject<'_> {
    Subject { skill: "s", cases, threshold: 1.0 }
}

fn ranking<'a>(ids: &[&'a str]) -> Vec<(&'a str, f64)> {
    let scores = (0..ids.len()).map(|index| 9.5 - f64::from(u32::try_from(index).unwrap()));
    ids.iter().copied().zip(scores).collect()
}

fn answer(case: &str, runs: i64, counts: &[(&str, i64)]) -> CaseResult {
    CaseResult {
        case: case.to_owned(),
        arm: "with".to_owned(),
        runs: Some(runs),
        fired_counts: Some(counts.iter().map(|(id, n)| ((*id).to_owned(), *n)).collect()),
        ..CaseResult::default()
    }
}

fn reported(figures: Figures) -> SkillActivation {
    let mut report = SkillActivation::new("s", ActivationStatus::DryRun);
    figures.fill(0, &mut report);
    report
}

/// Published vectors of the format.
#[test]
fn intervals_are_those_of_the_format() {
    for (part, whole, low, high) in [
        (1, 2, 0.0945, 0.9055),
        (0, 4, 0.0, 0.4899),
        (4, 4, 0.5101, 1.0),
        (4, 5, 0.3755, 0.9638),
        (5, 5, 0.5655, 1.0),
        (1, 5, 0.0362, 0.6245),
        (0, 1, 0.0, 0.7935),
        (1, 1, 0.2065, 1.0),
        (23, 24, 0.7976, 0.9926),
        (16, 24, 0.4671, 0.8203),
        (96, 100, 0.9016, 0.9843),
    ] {
        let interval = RateInterval { low, high };
        assert_eq!(proportion(part, whole).unwrap().interval, interval, "{part}/{whole}");
    }
    assert_eq!(proportion(0, 0), None);
}

#[test]
fn the_first_of_a_ranking_fires() {
    let cases = cases(&[true, true, true, true, false, false]);
    let rankings = [
        ranking(&["s", "a"]),
        ranking(&["a", "b", "s"]),
        ranking(&["a", "b", "c", "s"]),
        ranking(&[]),
        ranking(&["s"]),
        ranking(&["b"]),
    ];
    let figures = ranked(&subject(&cases), &rankings);
    let ranks: Vec<_> = figures.prompts.iter().map(|prompt| prompt.rank).collect();
    assert_eq!(ranks, [Some(1), Some(3), Some(4), None, Some(1), None]);
    let winners: Vec<_> = figures.prompts.iter().map(|prompt| prompt.winner.as_str()).collect();
    assert_eq!(winners, ["s", "a", "a", "none", "s", "b"]);
    let statuses: Vec<_> = figures.prompts.iter().map(|prompt| prompt.status).collect();
    assert_eq!(statuses, [Passed, Failed, Failed, Failed, Failed, Passed]);
    assert_eq!(figures.prompts[0].top_score.to_bits(), 9.5_f64.to_bits());
    let value = |rate: Option<Rate>| rate.map(|rate| (rate.value, rate.n));
    assert_eq!(value(figures.recall), Some((0.25, 4)));
    assert_eq!(value(figures.precision), Some((0.5, 2)));
    assert_eq!(value(figures.false_activation), Some((0.5, 2)));
    assert_eq!((figures.recall_at_1, figures.recall_at_3), (Some(0.25), Some(0.5)));
    // (1 + 1/3 + 1/4) / 4
    assert_eq!(figures.mrr, Some(0.3958));
    let thief = StolenBy { skill: "a".to_owned(), prompts: 2, share: 0.5 };
    assert_eq!(figures.stolen_by, [thief]);
    assert!(!figures.passing && figures.is_storable());
    assert_eq!((figures.run_recall, figures.run_false_activation), (None, None));
}

#[test]
fn the_threshold_is_a_share_of_the_prompts() {
    let cases = cases(&[true, true, false]);
    let rankings = [ranking(&["s"]), ranking(&["a"]), ranking(&["a"])];
    for (threshold, passing) in [(1.0, false), (0.67, false), (0.66, true), (0.0, true)] {
        let figures = ranked(&Subject { threshold, ..subject(&cases) }, &rankings);
        assert_eq!(figures.passing, passing, "{threshold}");
    }
    let nothing = ranked(&Subject { threshold: 0.0, ..subject(&[]) }, &[]);
    assert!(!nothing.passing && !nothing.is_storable());
    let lost = ranked(&Subject { threshold: 0.0, ..subject(&cases[1..2]) }, &[Vec::new()]);
    assert!(!lost.passing);
}

#[test]
fn only_negatives_have_no_recall() {
    let cases = cases(&[false, false]);
    let figures = ranked(&subject(&cases), &[ranking(&["a"]), ranking(&[])]);
    assert_eq!((figures.recall, figures.precision, figures.mrr), (None, None, None));
    assert_eq!((figures.recall_at_1, figures.recall_at_3), (None, None));
    assert_eq!(figures.false_activation.unwrap().n, 2);
    assert!(figures.passing);
    assert!(confusion(&[reported(figures)]).is_empty());
}

#[test]
fn what_takes_no_part_is_counted() {
    let mut cases = cases(&[true, true]);
    cases[1].assertions.push(Assertion::FileExists { path: "a".to_owned(), exists: true });
    assert_eq!(ranked(&subject(&cases), &[]).ignored, 1);
}

#[test]
fn runs_of_a_harness_have_thresholds() {
    let cases = cases(&[true, true, true, false]);
    let results = [
        answer("c0", 5, &[("s", 5)]),
        answer("c1", 5, &[("s", 4), ("a", 1)]),
        answer("c2", 5, &[("s", 1), ("a", 2), ("b", 2), ("none", 3)]),
        answer("c3", 5, &[("s", 1), ("none", 4)]),
    ];
    let figures = fired(&subject(&cases), &results);
    let statuses: Vec<_> = figures.prompts.iter().map(|prompt| prompt.status).collect();
    assert_eq!(statuses, [Passed, Borderline, Failed, Borderline]);
    // Runs in which nothing fired do not outvote those in which something did.
    assert_eq!(figures.prompts[2].winner, "a");
    assert_eq!(figures.prompts[1].interval, Some(RateInterval { low: 0.3755, high: 0.9638 }));
    assert_eq!((figures.recall.unwrap().value, figures.recall.unwrap().n), (0.6667, 3));
    assert_eq!((figures.run_recall.unwrap().value, figures.run_recall.unwrap().n), (0.6667, 15));
    assert_eq!(figures.run_false_activation.unwrap().n, 5);
    assert_eq!(figures.stolen_by, [StolenBy { skill: "a".to_owned(), prompts: 1, share: 0.3333 }]);
    assert_eq!((figures.recall_at_1, figures.mrr), (None, None));
    let report = reported(figures);
    let row = |pairs: &[(&str, u64)]| -> BTreeMap<String, u64> {
        pairs.iter().map(|(id, count)| ((*id).to_owned(), *count)).collect()
    };
    let expected = row(&[("s", 10), ("a", 3), ("b", 2), ("none", 3)]);
    assert_eq!(confusion(&[report]), BTreeMap::from([("s".to_owned(), expected)]));
}

#[test]
fn of_equal_winners_the_subject_comes_first() {
    let cases = cases(&[true]);
    let winner = |counts: &[(&str, i64)]| {
        fired(&subject(&cases), &[answer("c0", 4, counts)]).prompts[0].winner.clone()
    };
    assert_eq!(winner(&[("a", 2), ("s", 2), ("z", 2)]), "s");
    assert_eq!(winner(&[("z", 2), ("a", 2), ("s", 1)]), "a");
    assert_eq!(winner(&[("a", 0), ("none", 4)]), "none");
    assert_eq!(winner(&[]), "none");
}

#[test]
fn a_prompt_without_a_result_leaves_the_skill_unscored() {
    let two = cases(&[true, true]);
    let good = answer("c0", 5, &[("s", 5)]);
    let broken = [
        None,
        Some(CaseResult { error: Some("rate limit".to_owned()), ..answer("c1", 5, &[("s", 5)]) }),
        Some(CaseResult { skipped: Some(true), ..answer("c1", 5, &[]) }),
        Some(CaseResult { errored_runs: Some(3), ..answer("c1", 2, &[("s", 2)]) }),
        Some(answer("c1", 0, &[])),
    ];
    let mut errors = Vec::new();
    for result in broken {
        let results: Vec<CaseResult> = [Some(good.clone()), result].into_iter().flatten().collect();
        let figures = fired(&subject(&two), &results);
        assert!(!figures.passing && !figures.is_storable());
        assert_eq!((figures.recall, figures.precision, figures.run_recall), (None, None, None));
        assert_eq!(figures.prompts[1].status, PromptStatus::Error);
        errors.extend(figures.prompts[1].error.clone());
        let report = reported(figures);
        assert_eq!(report.status, ActivationStatus::Error);
        assert!(report.failed() && report.error.is_some() && confusion(&[report]).is_empty());
    }
    assert_eq!(
        errors,
        [
            "the runner gave no result",
            "rate limit",
            "the runner skipped it: it says no reason",
            "3 of 5 runs failed",
            "0 of 0 runs failed",
        ]
    );
    let flaky = CaseResult { errored_runs: Some(2), ..answer("c1", 2, &[("s", 2)]) };
    assert!(fired(&subject(&two), &[good, flaky]).passing);
}

#[test]
fn rates_over_runs_need_all_runs() {
    let cases = cases(&[true]);
    let results = [answer("c0", 2, &[])];
    let mut report = SkillActivation::new("s", ActivationStatus::DryRun);
    fired(&subject(&cases), &results).fill(3, &mut report);
    assert_eq!((report.run_recall, report.saved_runs, report.warnings.len()), (None, 3, 1));
    assert_eq!(report.recall.unwrap().n, 1);
}

#[test]
fn a_record_holds_rates_and_ids() {
    let cases = cases(&[true, true, false]);
    let rankings = [ranking(&["s"]), ranking(&["a"]), ranking(&["a"])];
    let mut report = reported(ranked(&subject(&cases), &rankings));
    report.digest = Some("sha256:d".to_owned());
    let record = record(&report, Surface::Retrieval, Scope::All, "2026-10-05");
    assert_eq!((record.positives, record.negatives), (2, 1));
    assert_eq!((record.recall, record.precision), (Some(0.5), Some(1.0)));
    assert_eq!((record.surface.as_str(), record.scope.as_str()), ("retrieval", "all"));
    assert_eq!((record.digest.as_str(), record.date.as_str()), ("sha256:d", "2026-10-05"));
    assert_eq!(record.stolen_by[0].skill, "a");
    assert!(!record.passing);
}

proptest! {
    /// A replay shows what the run showed, or nothing; never another figure.
    #[test]
    fn a_replay_invents_nothing(
        hits in 0u64..40, misses in 0u64..40, alarms in 0u64..40, quiet in 0u64..40,
    ) {
        let expectations: Vec<bool> =
            (0..hits + misses + alarms + quiet).map(|index| index < hits + misses).collect();
        let cases = cases(&expectations);
        let rankings: Vec<_> = (0..cases.len() as u64).map(|index| {
            let fires = index < hits || (hits + misses..hits + misses + alarms).contains(&index);
            ranking(if fires { &["s"] } else { &["a"] })
        }).collect();
        let measured = reported(ranked(&subject(&cases), &rankings));
        let mut replayed = SkillActivation::new("s", ActivationStatus::DryRun);
        replay(&record(&measured, Surface::Native, Scope::Domain, ""), &mut replayed);
        prop_assert_eq!(replayed.recall, measured.recall);
        for (replayed, measured) in [
            (replayed.precision, measured.precision),
            (replayed.false_activation, measured.false_activation),
        ] {
            prop_assert!(replayed.is_none() || replayed == measured);
        }
        if hits > 0 || alarms == 0 {
            prop_assert_eq!(replayed.precision, measured.precision);
            prop_assert_eq!(replayed.false_activation, measured.false_activation);
        }
        prop_assert_eq!(replayed.stolen_by, measured.stolen_by);
    }
}
