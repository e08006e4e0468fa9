//! Two measurements of a skill on the same prompts.

use std::collections::BTreeMap;

use proctor_model::eval::activation::RateInterval;
use proctor_model::eval::comparison::{
    ComparedPrompt, Comparison, ComparisonVerdict, PairedDifference, PairedOutcome,
};
use proctor_model::eval::{ActivationStatus, PromptActivation, PromptStatus, SkillActivation};

use crate::eval::round::{rate, round4};
use crate::stats::{Pairs, Z_95, least_decisive, sign_test};

/// From which level on a difference is put down to chance.
const LEVEL: f64 = 0.05;

/// Compares two measurements of the same prompts. A difference that chance explains ranks neither.
pub fn compare(new: &SkillActivation, against: &SkillActivation) -> Comparison {
    let measured = |skill: &SkillActivation| skill.status == ActivationStatus::Ran;
    if !measured(new) || !measured(against) {
        return Comparison { needed: least_decisive(0, LEVEL), ..Comparison::default() };
    }
    let other: BTreeMap<&str, &PromptActivation> =
        against.prompts.iter().map(|prompt| (prompt.case.as_str(), prompt)).collect();
    let both = new.prompts.iter().filter_map(|prompt| Some((prompt, *other.get(&*prompt.case)?)));
    let both: Vec<(&PromptActivation, &PromptActivation)> = both.collect();
    let prompts: Vec<ComparedPrompt> = both.iter().map(|(new, old)| compared(new, old)).collect();
    let count = |outcome: PairedOutcome| {
        prompts.iter().filter(|prompt| prompt.outcome == outcome).count() as u64
    };
    let (wins, losses) = (count(PairedOutcome::Win), count(PairedOutcome::Loss));
    let p = sign_test(wins, losses);
    Comparison {
        verdict: match (p <= LEVEL, wins > losses) {
            (false, _) => ComparisonVerdict::NoDifferenceShown,
            (true, true) => ComparisonVerdict::Better,
            (true, false) => ComparisonVerdict::Worse,
        },
        wins,
        losses,
        ties: count(PairedOutcome::Tie),
        p_value: (wins + losses > 0).then(|| round4(p)),
        needed: least_decisive(wins.min(losses), LEVEL),
        recall: difference(&both, true),
        false_activation: difference(&both, false),
        prompts,
    }
}

/// Why a comparison over so many prompts can come to no verdict, whatever they bring; `None` when it
/// can.
pub fn too_few_to_compare(prompts: u64) -> Option<String> {
    let needed = least_decisive(0, LEVEL);
    (prompts < needed).then(|| {
        format!(
            "{prompts} prompts cannot show a difference, even if all of them change: a verdict needs \
             at least {needed}"
        )
    })
}

fn compared(new: &PromptActivation, against: &PromptActivation) -> ComparedPrompt {
    ComparedPrompt {
        case: new.case.clone(),
        expect: new.expect,
        new_rate: new.rate,
        against_rate: against.rate,
        outcome: match (is_good(new), is_good(against)) {
            (true, false) => PairedOutcome::Win,
            (false, true) => PairedOutcome::Loss,
            (true, true) | (false, false) => PairedOutcome::Tie,
        },
    }
}

fn is_good(prompt: &PromptActivation) -> bool {
    matches!(prompt.status, PromptStatus::Passed | PromptStatus::Borderline)
}

/// The difference in how many of the prompts with this expectation fired the skill.
fn difference(
    prompts: &[(&PromptActivation, &PromptActivation)],
    expect: bool,
) -> Option<PairedDifference> {
    let fired = |prompt: &PromptActivation| is_good(prompt) == expect;
    let mut pairs = Pairs::default();
    for (new, against) in prompts.iter().filter(|(new, _)| new.expect == expect) {
        *match (fired(new), fired(against)) {
            (true, true) => &mut pairs.both,
            (true, false) => &mut pairs.first,
            (false, true) => &mut pairs.second,
            (false, false) => &mut pairs.neither,
        } += 1;
    }
    let n = pairs.total();
    let (difference, interval) = pairs.difference(Z_95)?;
    Some(PairedDifference {
        new: rate(pairs.both + pairs.first, n)?,
        against: rate(pairs.both + pairs.second, n)?,
        difference: round4(difference),
        interval: RateInterval { low: round4(interval.low), high: round4(interval.high) },
        n,
    })
}

#[cfg(test)]
mod tests {
    use proctor_model::eval::comparison::PairedOutcome::{Loss, Tie, Win};

    use super::super::figures::{Subject, ranked};
    use super::*;
    use crate::eval::case::tests::case;

    /// A measurement in which the given of so many positives and negatives fired.
    fn measured(expectations: &[bool], fired: &[bool]) -> SkillActivation {
        let numbered = (0..).zip(expectations);
        let cases: Vec<_> =
            numbered.map(|(index, expect)| case(&format!("c{index}"), *expect)).collect();
        let rankings: Vec<_> =
            fired.iter().map(|fires| vec![(if *fires { "s" } else { "a" }, 1.0)]).collect();
        let subject = Subject { skill: "s", cases: &cases, threshold: 1.0 };
        let mut report = SkillActivation::new("s", ActivationStatus::DryRun);
        ranked(&subject, &rankings).fill(0, &mut report);
        report
    }

    #[test]
    fn six_of_six_decide_and_five_of_five_do_not() {
        for (count, verdict, p) in [
            (5, ComparisonVerdict::NoDifferenceShown, 0.0625),
            (6, ComparisonVerdict::Better, 0.0313),
        ] {
            let (new, old) = (
                measured(&vec![true; count], &vec![true; count]),
                measured(&vec![true; count], &vec![false; count]),
            );
            let comparison = compare(&new, &old);
            assert_eq!((comparison.verdict, comparison.p_value), (verdict, Some(p)));
            assert_eq!(
                (comparison.wins, comparison.losses, comparison.needed),
                (count as u64, 0, 6)
            );
            let turned = compare(&old, &new);
            assert_eq!(turned.verdict == ComparisonVerdict::Worse, count == 6);
        }
    }

    #[test]
    fn wins_and_losses_are_of_prompts_of_both_kinds() {
        let expectations = [true, true, true, false, false];
        let new = measured(&expectations, &[true, true, false, false, true]);
        let old = measured(&expectations, &[true, false, true, true, true]);
        let comparison = compare(&new, &old);
        assert_eq!((comparison.wins, comparison.losses, comparison.ties), (2, 1, 2));
        assert_eq!(
            (comparison.verdict, comparison.p_value),
            (ComparisonVerdict::NoDifferenceShown, Some(1.0))
        );
        assert_eq!(comparison.needed, 9);
        let recall = comparison.recall.unwrap();
        assert_eq!(
            (recall.new, recall.against, recall.difference, recall.n),
            (0.6667, 0.6667, 0.0, 3)
        );
        let alarms = comparison.false_activation.unwrap();
        assert_eq!((alarms.new, alarms.against, alarms.difference, alarms.n), (0.5, 1.0, -0.5, 2));
        assert!(alarms.interval.low < -0.5 && alarms.interval.high > 0.0);
        let outcomes: Vec<_> = comparison.prompts.iter().map(|prompt| prompt.outcome).collect();
        assert_eq!(outcomes, [Tie, Win, Loss, Win, Tie]);
    }

    #[test]
    fn without_two_measurements_there_is_no_verdict() {
        let new = measured(&[true], &[true]);
        let none = SkillActivation::new("s", ActivationStatus::Error);
        let comparison = compare(&new, &none);
        assert_eq!(
            (comparison.verdict, comparison.p_value),
            (ComparisonVerdict::NotMeasured, None)
        );
        let same = compare(&new, &new);
        assert_eq!(
            (same.verdict, same.p_value, same.ties),
            (ComparisonVerdict::NoDifferenceShown, None, 1)
        );
    }

    #[test]
    fn too_few_prompts_are_known_beforehand() {
        assert_eq!(
            too_few_to_compare(5).unwrap(),
            "5 prompts cannot show a difference, even if all of them change: a verdict needs at least 6"
        );
        assert_eq!(too_few_to_compare(6), None);
    }
}
