//! A judge beside people: agreement, leniency, bias and flicker, each with its interval.

use proctor_model::judge::{
    Figure, Flicker, HumanLabel, JUDGE_REPORT_SCHEMA_VERSION, JudgeCost, JudgeCounts, JudgeGate,
    JudgeReport, JudgedItem, LabelledAnswer, Share,
};
use proctor_model::recorded::report::Verdict;

use super::super::outcome::Grade;
use super::super::round::{float, round4};
use crate::stats::{Confusion, Interval, Kappa, Label, Z_95, mean_interval, wilson};

/// Below so many graded answers, or so few of one kind, figures say little.
const FEW_ANSWERS: u64 = 30;
const FEW_OF_A_KIND: u64 = 10;

/// What each answer was graded, the first time first; the reason where it was not. An answer that
/// was never shown to the judge has no entries.
pub type Gradings = Vec<Vec<Result<Grade, String>>>;

/// Compares a judge with people. `gradings` has an entry for each of `answers`. Of an answer that was
/// judged several times the first one counts, but for flicker: in a run it is judged once.
///
/// Identity, cost and dry run are left for the caller to fill in.
pub fn compare(
    answers: &[LabelledAnswer],
    gradings: &Gradings,
    repeat: u32,
    min_kappa: Option<f64>,
) -> JudgeReport {
    let items: Vec<JudgedItem> =
        answers.iter().zip(gradings).map(|(answer, times)| item(answer, times)).collect();
    let mut table = Confusion::default();
    for item in &items {
        let verdict = match item.judge_pass {
            Some(true) => Verdict::Pass,
            Some(false) => Verdict::Fail,
            None => Verdict::Error,
        };
        table.add(verdict, if item.people_pass { Label::Pass } else { Label::Fail });
    }
    let counts = counts(&table, items.len() as u64);
    let kappa = table.kappa();
    let biases: Vec<f64> = items.iter().filter_map(bias).collect();
    let mut report = JudgeReport {
        schema_version: JUDGE_REPORT_SCHEMA_VERSION,
        judge: String::new(),
        labels_digest: String::new(),
        repeat,
        dry_run: false,
        stopped: None,
        answers: counts,
        agreement: share(table.agreeing(), table.compared()),
        kappa: kappa.map(|Kappa { value, interval }| figure(value, interval)),
        kappa_undefined: kappa.is_none().then(|| why_no_kappa(&counts).to_owned()),
        leniency: share(counts.false_pass, counts.false_pass + counts.both_fail),
        strictness: share(counts.false_fail, counts.false_fail + counts.both_pass),
        bias: mean_interval(&biases).map(|(mean, interval)| figure(mean, interval)),
        flicker: (repeat > 1).then(|| flicker(answers, gradings)),
        cost: JudgeCost::default(),
        gate: min_kappa.map(|min_kappa| JudgeGate {
            min_kappa,
            passed: kappa.is_some_and(|kappa| kappa.value >= min_kappa),
        }),
        warnings: Vec::new(),
        items,
    };
    report.warnings = warnings(&report);
    report
}

fn item(answer: &LabelledAnswer, times: &[Result<Grade, String>]) -> JudgedItem {
    let first = times.first();
    let grade = first.and_then(|time| time.as_ref().ok());
    let never = || "it was not shown to the judge".to_owned();
    JudgedItem {
        id: answer.id.clone(),
        people_pass: answer.people_pass(),
        people_score: match answer.label {
            HumanLabel::Verdict(_) => None,
            HumanLabel::Score(score) => Some(score),
        },
        judge_pass: grade.map(|grade| answer.passes(round4(grade.score))),
        scores: times.iter().map(|time| time.as_ref().ok().map(|g| round4(g.score))).collect(),
        rationale: grade.map(|grade| grade.rationale.clone()).filter(|text| !text.is_empty()),
        ungraded: match times.iter().find_map(|time| time.as_ref().err()) {
            Some(reason) => Some(reason.clone()),
            None => first.is_none().then(never),
        },
    }
}

fn counts(table: &Confusion, total: u64) -> JudgeCounts {
    JudgeCounts {
        total,
        graded: table.compared(),
        ungraded: table.undecided(),
        both_pass: table.of(Verdict::Pass, Label::Pass),
        both_fail: table.of(Verdict::Fail, Label::Fail),
        false_pass: table.of(Verdict::Pass, Label::Fail),
        false_fail: table.of(Verdict::Fail, Label::Pass),
    }
}

/// The judge's score less that of people.
fn bias(item: &JudgedItem) -> Option<f64> {
    let judge = item.scores.first().copied().flatten()?;
    Some(judge - item.people_score?)
}

fn why_no_kappa(counts: &JudgeCounts) -> &'static str {
    if counts.graded == 0 {
        "no answer was graded"
    } else if counts.both_pass == counts.graded {
        "people and judge passed every answer, so that agreeing takes no skill"
    } else {
        "people and judge failed every answer, so that agreeing takes no skill"
    }
}

fn flicker(answers: &[LabelledAnswer], gradings: &Gradings) -> Flicker {
    let (mut changed, mut compared) = (0, 0);
    let mut spreads: Vec<f64> = Vec::new();
    for (answer, times) in answers.iter().zip(gradings) {
        let scores: Vec<f64> =
            times.iter().filter_map(|time| Some(round4(time.as_ref().ok()?.score))).collect();
        if scores.len() < 2 {
            continue;
        }
        compared += 1;
        let passes = scores.iter().filter(|score| answer.passes(**score)).count();
        changed += u64::from(passes != 0 && passes != scores.len());
        let highest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let lowest = scores.iter().copied().fold(f64::INFINITY, f64::min);
        spreads.push(highest - lowest);
    }
    let mean = if spreads.is_empty() { 0.0 } else { spreads.iter().sum::<f64>() / float(compared) };
    Flicker {
        verdicts: share(changed, compared),
        mean_spread: round4(mean),
        max_spread: round4(spreads.into_iter().fold(0.0, f64::max)),
    }
}

fn warnings(report: &JudgeReport) -> Vec<String> {
    let counts = &report.answers;
    let mut warnings = Vec::new();
    if counts.ungraded > 0 {
        warnings.push(format!(
            "{} of {} answers have no grade, and are in no figure",
            counts.ungraded, counts.total
        ));
    }
    let passed = counts.both_pass + counts.false_fail;
    let failed = counts.both_fail + counts.false_pass;
    if counts.graded > 0 && (passed == 0 || failed == 0) {
        let (kind, lost) =
            if failed == 0 { ("passed", "leniency") } else { ("failed", "strictness") };
        warnings.push(format!(
            "people {kind} every graded answer, so that {lost} cannot be measured: label answers of \
             both kinds"
        ));
    } else if counts.graded > 0
        && (counts.graded < FEW_ANSWERS || passed.min(failed) < FEW_OF_A_KIND)
    {
        warnings.push(format!(
            "{} graded answers, {failed} of which people failed, are few: the intervals are wide; \
             label {FEW_ANSWERS} or more, {FEW_OF_A_KIND} or more of each kind",
            counts.graded
        ));
    }
    warnings
}

fn share(count: u64, of: u64) -> Option<Share> {
    let Interval { low, high } = wilson(count, of, Z_95)?;
    let value = float(count) / float(of);
    Some(Share { count, of, value: round4(value), low: round4(low), high: round4(high) })
}

fn figure(value: f64, interval: Interval) -> Figure {
    Figure { value: round4(value), low: round4(interval.low), high: round4(interval.high) }
}

#[cfg(test)]
mod tests {
    use proctor_model::eval::{Criteria, Rubric};

    use super::*;

    fn answer(id: usize, label: HumanLabel) -> LabelledAnswer {
        LabelledAnswer {
            id: id.to_string(),
            rubric: Rubric { criteria: Criteria::Text("r".to_owned()), min_score: None },
            answer: "a".to_owned(),
            label,
        }
    }

    fn grade(score: f64) -> Grade {
        Grade { score, rationale: "why".to_owned() }
    }

    /// Verdicts of people, and scores of the judge, each several times.
    fn report(rows: &[(HumanLabel, &[f64])]) -> JudgeReport {
        let answers: Vec<LabelledAnswer> =
            rows.iter().enumerate().map(|(id, (label, _))| answer(id, *label)).collect();
        let gradings: Gradings =
            rows.iter().map(|(_, scores)| scores.iter().map(|s| Ok(grade(*s))).collect()).collect();
        let repeat = rows.iter().map(|(_, scores)| scores.len()).max().unwrap_or(1);
        compare(&answers, &gradings, u32::try_from(repeat).unwrap(), Some(0.6))
    }

    const PASS: HumanLabel = HumanLabel::Verdict(true);
    const FAIL: HumanLabel = HumanLabel::Verdict(false);

    #[test]
    fn the_four_fields_come_to_the_figures() {
        let mut rows: Vec<(HumanLabel, &[f64])> = Vec::new();
        rows.extend([(PASS, &[0.9][..]); 26]);
        rows.extend([(PASS, &[0.69][..]); 3]);
        rows.extend([(FAIL, &[0.7][..]); 4]);
        rows.extend([(FAIL, &[0.0][..]); 17]);
        let report = report(&rows);
        let counts = report.answers;
        assert_eq!(
            (counts.both_pass, counts.false_fail, counts.false_pass, counts.both_fail),
            (26, 3, 4, 17)
        );
        let agreement = report.agreement.unwrap();
        assert_eq!((agreement.count, agreement.of, agreement.value), (43, 50, 0.86));
        assert_eq!((agreement.low, agreement.high), (0.7381, 0.9305));
        // By the published formula, worked out apart.
        assert_eq!(report.kappa, Some(Figure { value: 0.7107, low: 0.5125, high: 0.909 }));
        assert_eq!(report.leniency.unwrap().of, 21);
        assert_eq!(report.strictness.unwrap().count, 3);
        assert_eq!((report.bias, report.flicker), (None, None));
        assert!(report.gate.unwrap().passed);
        assert_eq!(report.warnings, [""; 0]);
    }

    #[test]
    fn scores_have_a_bias() {
        let score = HumanLabel::Score;
        let report = report(&[(score(0.2), &[0.5]), (score(0.9), &[1.0]), (score(0.4), &[0.6])]);
        let bias = report.bias.unwrap();
        assert_eq!((bias.value, bias.low, bias.high), (0.2, -0.0484, 0.4484));
        // Nobody says 1 of what only has a verdict.
        let mixed = self::report(&[(PASS, &[0.9]), (score(0.5), &[0.5])]);
        assert_eq!(mixed.bias, None);
    }

    #[test]
    fn flicker_is_about_the_same_answer() {
        let rows: [(HumanLabel, &[f64]); 4] = [
            (PASS, &[0.9, 0.9, 0.9]),
            (PASS, &[0.9, 0.2, 0.9]),
            (FAIL, &[0.1, 0.3, 0.2]),
            (FAIL, &[0.1]),
        ];
        let flicker = report(&rows).flicker.unwrap();
        let verdicts = flicker.verdicts.unwrap();
        assert_eq!((verdicts.count, verdicts.of, verdicts.value), (1, 3, 0.3333));
        assert_eq!((flicker.mean_spread, flicker.max_spread), (0.3, 0.7));
    }

    #[test]
    fn what_has_no_grade_is_no_zero() {
        let answers = [answer(0, PASS), answer(1, FAIL), answer(2, FAIL), answer(3, PASS)];
        let gradings = vec![
            vec![Ok(grade(1.0)), Err("late".to_owned())],
            vec![Err("prose".to_owned()), Ok(grade(0.0))],
            vec![],
            vec![Ok(grade(0.9)), Ok(grade(1.0))],
        ];
        let report = compare(&answers, &gradings, 2, Some(0.0));
        let counts = report.answers;
        assert_eq!((counts.total, counts.graded, counts.ungraded), (4, 2, 2));
        assert_eq!(report.agreement.unwrap().of, 2);
        assert_eq!((report.kappa, report.leniency), (None, None));
        assert_eq!(
            report.kappa_undefined.as_deref(),
            Some("people and judge passed every answer, so that agreeing takes no skill")
        );
        assert!(!report.gate.unwrap().passed, "an undefined kappa reaches no mark");
        assert_eq!(report.items[1].scores, [None, Some(0.0)]);
        assert_eq!(report.items[1].judge_pass, None);
        let reasons: Vec<Option<&str>> =
            report.items.iter().map(|item| item.ungraded.as_deref()).collect();
        assert_eq!(
            reasons,
            [Some("late"), Some("prose"), Some("it was not shown to the judge"), None]
        );
        assert!(report.warnings[0].starts_with("2 of 4 answers have no grade"));
        assert!(report.warnings[1].starts_with("people passed every graded answer"));
    }

    #[test]
    fn nothing_graded_is_nothing_known() {
        let report = compare(&[answer(0, PASS)], &vec![vec![Err("x".to_owned())]], 1, None);
        assert_eq!((report.agreement, report.kappa, report.gate), (None, None, None));
        assert_eq!(report.kappa_undefined.as_deref(), Some("no answer was graded"));
        assert_eq!(report.warnings.len(), 1);
    }
}
