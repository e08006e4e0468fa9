//! The score of a skill from the reports of its cases.

use proctor_model::eval::{CaseReport, CaseStatus, Score};

use super::round::{add_tokens, rate, round4};
use super::spend::Spend;

/// Counts the cases of a skill. `skill_tokens` are those of its `SKILL.md`.
///
/// Errors count as not passed; skipped cases count as nothing. Precision and recall are over cases
/// with a grade alone. The figures of the ablation are over cases that should fire the skill, ask
/// for an outcome and have one from both arms; each rate is rounded before the difference is taken.
pub fn score(cases: &[CaseReport], spend: &Spend, skill_tokens: u64) -> Score {
    let count = |holds: &dyn Fn(&CaseReport) -> bool| {
        cases.iter().filter(|case| holds(case)).count() as u64
    };
    let status = |status| count(&|case: &CaseReport| case.status == status);
    let (passed, failed, errors, skipped) = (
        status(CaseStatus::Passed),
        status(CaseStatus::Failed),
        status(CaseStatus::Error),
        status(CaseStatus::Skipped),
    );
    let scored = passed + failed + errors;
    let firing = |expected, fired| {
        count(&|case: &CaseReport| case.expect_trigger == expected && case.triggered == Some(fired))
    };
    let (hits, misses, false_alarms) =
        (firing(true, true), firing(true, false), firing(false, true));
    let compared: Vec<(bool, bool)> = cases.iter().filter_map(both_outcomes).collect();
    let compared_cases = compared.len() as u64;
    let passed_with = compared.iter().filter(|(with, _)| *with).count() as u64;
    let passed_without = compared.iter().filter(|(_, without)| *without).count() as u64;
    let outcome_pass_with = rate(passed_with, compared_cases);
    let outcome_pass_without = rate(passed_without, compared_cases);
    Score {
        cases: cases.len() as u64,
        scored,
        passed,
        failed,
        errors,
        skipped,
        pass_rate: rate(passed, scored).unwrap_or(0.0),
        trigger_precision: rate(hits, hits + false_alarms),
        trigger_recall: rate(hits, hits + misses),
        near_miss_cases: count(&|case: &CaseReport| {
            case.near_miss && case.status != CaseStatus::Skipped
        }),
        near_miss_false_positives: count(&|case: &CaseReport| {
            case.near_miss && case.triggered == Some(true)
        }),
        outcome_pass_with,
        outcome_pass_without,
        ablation_delta: outcome_pass_with
            .zip(outcome_pass_without)
            .map(|(with, without)| round4(with - without)),
        ablation_cases: compared_cases,
        skill_tokens,
        run_tokens: add_tokens(spend.input_tokens, spend.output_tokens),
        run_input_tokens: spend.input_tokens,
        run_output_tokens: spend.output_tokens,
        cost_usd: round4(spend.cost_usd),
    }
}

/// The outcome with and without the skill, of a case that is compared.
fn both_outcomes(case: &CaseReport) -> Option<(bool, bool)> {
    let counts = case.expect_trigger && case.outcome_graded;
    counts.then_some(case.outcome_passed.zip(case.without_passed))?
}

/// What a reader should know beside the score, so that no figure is taken for more than it is.
pub fn warnings(cases: &[CaseReport], ablation: bool) -> Vec<String> {
    let mut warnings = Vec::new();
    let scored = cases.iter().filter(|case| case.status != CaseStatus::Skipped).count();
    let errors = cases.iter().filter(|case| case.status == CaseStatus::Error).count();
    if errors > 0 {
        let graded = scored - errors;
        warnings.push(format!(
            "{errors} of {scored} cases have no result and count as not passed ({graded} graded); \
             the result is not kept"
        ));
    }
    if scored == 0 && !cases.is_empty() {
        warnings.push("nothing was scored: the runner skipped every case".to_owned());
    }
    let fired = |case: &&CaseReport| case.expect_trigger && case.triggered.is_some();
    let positives = cases.iter().filter(fired).count();
    if positives > 1 && cases.iter().all(|case| case.triggered != Some(true)) {
        warnings.push(format!(
            "the skill fired for none of {positives} prompts that should fire it: when that \
             surprises you, make sure that the runner can see a skill fire at all"
        ));
    }
    let comparable = |case: &&CaseReport| case.expect_trigger && case.outcome_graded;
    let lost = cases.iter().filter(comparable).filter(|case| case.without_passed.is_none()).count();
    if ablation && lost > 0 {
        warnings.push(format!(
            "{lost} cases have no result without the skill and are left out of the ablation"
        ));
    }
    warnings
}

#[cfg(test)]
mod tests {
    use proctor_model::json::go;
    use proptest::prelude::*;

    use super::super::case::tests::{arm, case};
    use super::super::case::{CaseUsage, case_report};
    use super::super::outcome::ArmResult;
    use super::*;

    fn report(id: &str, expect: bool, with: &ArmResult, without: Option<&ArmResult>) -> CaseReport {
        case_report(&case(id, expect), with, without, CaseUsage::default())
    }

    fn error() -> ArmResult {
        ArmResult::Error { reason: "e".to_owned() }
    }

    fn skipped() -> ArmResult {
        ArmResult::Skipped { reason: "s".to_owned() }
    }

    /// The worked example of the format's documentation.
    #[test]
    fn the_worked_example() {
        let with = arm(Some(true), true, true);
        let cases = [
            report("deploy-basic", true, &with, Some(&arm(None, true, false))),
            CaseReport {
                near_miss: true,
                ..report("near", false, &arm(Some(true), false, true), None)
            },
            report("unrelated", false, &arm(Some(false), false, true), None),
        ];
        let spend = Spend {
            input_tokens: 5200,
            output_tokens: 410,
            cost_usd: 0.031 + 0.012,
            ..Spend::default()
        };
        assert_eq!(
            go::compact(&score(&cases, &spend, 120)).unwrap(),
            concat!(
                r#"{"cases":3,"scored":3,"passed":2,"failed":1,"errors":0,"skipped":0,"#,
                r#""pass_rate":0.6667,"trigger_precision":0.5,"trigger_recall":1,"#,
                r#""near_miss_cases":1,"near_miss_false_positives":1,"outcome_pass_with":1,"#,
                r#""outcome_pass_without":0,"ablation_delta":1,"ablation_cases":1,"#,
                r#""skill_tokens":120,"run_tokens":5610,"run_input_tokens":5200,"#,
                r#""run_output_tokens":410,"cost_usd":0.043}"#,
            )
        );
    }

    #[test]
    fn errors_lower_the_pass_rate_and_nothing_else() {
        let cases = [
            report("a", true, &arm(Some(true), false, true), None),
            report("b", true, &error(), None),
            report("c", true, &skipped(), None),
        ];
        let score = score(&cases, &Spend::default(), 0);
        assert_eq!((score.cases, score.scored, score.errors, score.skipped), (3, 2, 1, 1));
        assert_eq!((score.pass_rate, score.trigger_recall), (0.5, Some(1.0)));
        assert_eq!(score.trigger_precision, Some(1.0));
        assert!(!score.is_cacheable());
        assert_eq!(
            warnings(&cases, false),
            [
                "1 of 2 cases have no result and count as not passed (1 graded); the result is not kept"
            ]
        );
    }

    #[test]
    fn nothing_scored_passes_no_threshold() {
        let score = score(&[report("a", true, &skipped(), None)], &Spend::default(), 0);
        assert_eq!((score.scored, score.pass_rate, score.trigger_recall), (0, 0.0, None));
        assert!(!score.passes(0.0) && !score.is_cacheable());
    }

    #[test]
    fn an_outage_passes_no_threshold() {
        let cases = ["a", "b"].map(|id| report(id, true, &error(), None));
        let score = score(&cases, &Spend::default(), 0);
        assert_eq!((score.scored, score.errors, score.pass_rate), (2, 2, 0.0));
        assert!(!score.passes(0.0) && !score.is_cacheable());
    }

    #[test]
    fn rates_are_rounded_before_their_difference() {
        let pair = |with, without| {
            let control = arm(None, true, without);
            report("a", true, &arm(Some(true), true, with), Some(&control))
        };
        // 2/3 - 1/3: 0.6667 - 0.3333.
        let cases = [pair(true, true), pair(true, false), pair(false, false)];
        let score = score(&cases, &Spend::default(), 0);
        assert_eq!(score.outcome_pass_with, Some(0.6667));
        assert_eq!(score.ablation_delta, Some(0.3334));
        assert_eq!(score.ablation_cases, 3);
    }

    #[test]
    fn a_skill_that_harms_has_a_negative_delta() {
        let cases =
            [report("a", true, &arm(Some(true), true, false), Some(&arm(None, true, true)))];
        assert_eq!(score(&cases, &Spend::default(), 0).ablation_delta, Some(-1.0));
    }

    #[test]
    fn only_what_can_be_compared_is() {
        let control = arm(None, true, false);
        let with = arm(Some(true), true, true);
        let cases = [
            report("negative", false, &arm(Some(false), true, true), Some(&control)),
            report("error", true, &with, Some(&error())),
            report("skipped", true, &with, Some(&skipped())),
            report("trigger-only", true, &arm(Some(true), false, true), Some(&control)),
            report("broken", true, &error(), Some(&control)),
            report("alone", true, &with, None),
        ];
        let score = score(&cases, &Spend::default(), 0);
        assert_eq!((score.ablation_delta, score.outcome_pass_with), (None, None));
        assert_eq!(score.ablation_cases, 0);
        assert!(
            warnings(&cases, true).iter().any(|text| text.starts_with("3 cases have no result"))
        );
    }

    #[test]
    fn a_constant_silence_is_pointed_at() {
        let silent = |id: &str| report(id, true, &arm(Some(false), false, true), None);
        let quiet = warnings(&[silent("a"), silent("b")], false);
        assert!(quiet[0].starts_with("the skill fired for none of 2 prompts"), "{quiet:?}");
        assert!(warnings(&[silent("a")], false).is_empty());
    }

    fn any_arm(with: bool) -> impl Strategy<Value = ArmResult> {
        let triggered =
            if with { any::<bool>().prop_map(Some).boxed() } else { Just(None).boxed() };
        prop_oneof![
            1 => Just(error()),
            1 => Just(skipped()),
            6 => (triggered, any::<bool>(), any::<bool>())
                .prop_map(|(triggered, graded, passed)| arm(triggered, graded, passed)),
        ]
    }

    fn any_report() -> impl Strategy<Value = CaseReport> {
        (any::<bool>(), any_arm(true), proptest::option::of(any_arm(false)), any::<bool>())
            .prop_map(|(expect, with, without, near_miss)| CaseReport {
                near_miss: near_miss && !expect,
                ..report("a", expect, &with, without.as_ref())
            })
    }

    proptest! {
        #[test]
        fn counts_add_up(cases in proptest::collection::vec(any_report(), 0..20)) {
            let score = score(&cases, &Spend::default(), 0);
            prop_assert_eq!(score.cases, score.scored + score.skipped);
            prop_assert_eq!(score.scored, score.passed + score.failed + score.errors);
            prop_assert!(score.near_miss_false_positives <= score.near_miss_cases);
            prop_assert!(score.ablation_cases <= score.scored);
            prop_assert_eq!(score.ablation_delta.is_some(), score.ablation_cases > 0);
            for rate in [Some(score.pass_rate), score.trigger_precision, score.trigger_recall,
                         score.outcome_pass_with, score.outcome_pass_without].into_iter().flatten() {
                prop_assert!((0.0..=1.0).contains(&rate));
                prop_assert_eq!(round4(rate).to_bits(), rate.to_bits());
            }
        }

        #[test]
        fn the_order_of_cases_changes_nothing(mut cases in proptest::collection::vec(any_report(), 0..20)) {
            let forward = score(&cases, &Spend::default(), 7);
            cases.reverse();
            prop_assert_eq!(score(&cases, &Spend::default(), 7), forward);
        }
    }
}
