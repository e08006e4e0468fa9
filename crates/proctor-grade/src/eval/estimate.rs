//! What a run will cost, as a range, before anything is spent.

use proctor_model::eval::{Estimate, EstimateParams, EstimateRecord, ExpandedCase};

use super::round::{MOST_TOKENS, add_tokens, float, round4};
use super::spend::{Rates, Spend};
use super::tokens::count_tokens;

/// Tokens that a grader reads beside the rubric.
const JUDGE_INPUT_TOKENS: u64 = 800;

/// Tokens that a grader writes.
pub const JUDGE_OUTPUT_TOKENS: u64 = 100;

/// Parts of the expected tokens of an agent that low and high assume.
struct Range {
    low_input: f64,
    low_output: f64,
    high_input: f64,
    high_output: f64,
}

const CASE_RANGE: Range =
    Range { low_input: 0.8, low_output: 0.5, high_input: 1.3, high_output: 3.0 };

const ACTIVATION_RANGE: Range =
    Range { low_input: 0.9, low_output: 0.5, high_input: 1.25, high_output: 2.0 };

/// The tokens of a case that one run of it reads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CaseLoad {
    /// Of the prompt.
    pub prompt: u64,
    /// Of all files that lie in the working directory.
    pub files: u64,
    /// Of the rubric, as text; `None` without one.
    pub rubric: Option<u64>,
}

impl CaseLoad {
    /// Counts the tokens of a case. Bytes of a fixture that are not UTF-8 count as U+FFFD.
    pub fn of(case: &ExpandedCase) -> Self {
        let of_file = |content: &Vec<u8>| count_tokens(&String::from_utf8_lossy(content));
        Self {
            prompt: count_tokens(&case.prompt),
            files: case.files.iter().map(|file| of_file(&file.content)).sum(),
            rubric: case.rubric.as_ref().map(|rubric| count_tokens(&rubric.text())),
        }
    }
}

/// How cases are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunPlan {
    /// Repetitions of each case.
    pub runs: u64,
    /// Whether each one is run without the skill too.
    pub ablation: bool,
}

/// The estimate of running cases of a skill whose `SKILL.md` has `skill_tokens` tokens.
///
/// Each run reads what the harness sends, prompt and files, and with the skill its text. A rubric
/// adds a call of its grader. The high figure assumes that everything but the share of the harness
/// is read again, `tool_loop_factor` times.
pub fn estimate_cases(
    cases: &[CaseLoad],
    skill_tokens: u64,
    plan: RunPlan,
    params: &EstimateParams,
    rates: Rates,
) -> Estimate {
    let mut sum = Sum::default();
    let runs = float(plan.runs);
    let arms: &[u64] = if plan.ablation { &[skill_tokens, 0] } else { &[skill_tokens] };
    for (case, skill) in cases.iter().flat_map(|case| arms.iter().map(move |skill| (case, skill))) {
        let judge_input = case.rubric.map_or(0.0, |rubric| float(JUDGE_INPUT_TOKENS + rubric));
        let judge_output = case.rubric.map_or(0.0, |_| float(JUDGE_OUTPUT_TOKENS));
        let own = float(case.prompt + case.files + skill);
        sum.add(
            runs,
            [params.overhead_tokens + own, params.assumed_output_tokens],
            [judge_input, judge_output],
            params.tool_loop_factor * own,
            &CASE_RANGE,
        );
        sum.agent_runs = add_tokens(sum.agent_runs, plan.runs);
    }
    sum.estimate(rates)
}

/// The estimate of asking which skills load, for prompts of so many tokens each, `runs` times each.
/// `installed_tokens` are those of all names and descriptions that the harness lists; see
/// [`listing_tokens`].
pub fn estimate_activation(
    prompts: &[u64],
    installed_tokens: u64,
    runs: u64,
    params: &EstimateParams,
    rates: Rates,
) -> Estimate {
    let mut sum = Sum::default();
    for prompt in prompts {
        let input = params.overhead_tokens + float(installed_tokens + prompt);
        let agent = [input, params.activation_output_tokens];
        sum.add(float(runs), agent, [0.0; 2], 0.0, &ACTIVATION_RANGE);
        sum.agent_runs = add_tokens(sum.agent_runs, runs);
    }
    sum.estimate(rates)
}

/// The tokens of a skill in the list that a harness gives its model.
pub fn listing_tokens(id: &str, description: &str) -> u64 {
    count_tokens(&format!("{id}: {description}"))
}

/// Estimates of several skills together.
pub fn total(estimates: impl IntoIterator<Item = Estimate>) -> Estimate {
    let mut sum = Estimate::default();
    for estimate in estimates {
        sum.agent_runs = add_tokens(sum.agent_runs, estimate.agent_runs);
        sum.input_tokens = add_tokens(sum.input_tokens, estimate.input_tokens);
        sum.output_tokens = add_tokens(sum.output_tokens, estimate.output_tokens);
        sum.cost_usd += estimate.cost_usd;
        sum.input_tokens_low = add_tokens(sum.input_tokens_low, estimate.input_tokens_low);
        sum.input_tokens_high = add_tokens(sum.input_tokens_high, estimate.input_tokens_high);
        sum.output_tokens_low = add_tokens(sum.output_tokens_low, estimate.output_tokens_low);
        sum.output_tokens_high = add_tokens(sum.output_tokens_high, estimate.output_tokens_high);
        sum.cost_low_usd += estimate.cost_low_usd;
        sum.cost_high_usd += estimate.cost_high_usd;
    }
    sum.cost_usd = round4(sum.cost_usd);
    sum.cost_low_usd = round4(sum.cost_low_usd);
    sum.cost_high_usd = round4(sum.cost_high_usd);
    sum
}

/// The estimate beside what was spent. Without a cost, what was spent stays out.
pub fn estimate_record(
    estimate: &Estimate,
    params: &EstimateParams,
    actual: &Spend,
) -> EstimateRecord {
    let record = EstimateRecord {
        low_usd: estimate.cost_low_usd,
        expected_usd: estimate.cost_usd,
        high_usd: estimate.cost_high_usd,
        expected_tokens: add_tokens(estimate.input_tokens, estimate.output_tokens),
        agent_runs: estimate.agent_runs,
        expected_input_tokens: estimate.input_tokens,
        expected_output_tokens: estimate.output_tokens,
        params: Some(*params),
        ..EstimateRecord::default()
    };
    if actual.cost_usd <= 0.0 {
        return record;
    }
    let expected = estimate.cost_usd;
    EstimateRecord {
        actual_input_tokens: actual.input_tokens,
        actual_output_tokens: actual.output_tokens,
        actual_tokens: add_tokens(actual.input_tokens, actual.output_tokens),
        actual_usd: round4(actual.cost_usd),
        error: Some(round4(actual.cost_usd / expected - 1.0)).filter(|error| error.is_finite()),
        in_range: Some(
            estimate.cost_low_usd <= actual.cost_usd && actual.cost_usd <= estimate.cost_high_usd,
        ),
        ..record
    }
}

/// Tokens in and out of the three figures, before they are rounded.
#[derive(Default)]
struct Sum {
    agent_runs: u64,
    low: [f64; 2],
    expected: [f64; 2],
    high: [f64; 2],
}

impl Sum {
    /// Adds `runs` runs of an agent, each with a call of a grader, tokens in and out. `again` is
    /// what the high figure reads once more.
    fn add(&mut self, runs: f64, agent: [f64; 2], judge: [f64; 2], again: f64, range: &Range) {
        let factors = [
            (&mut self.low, range.low_input, range.low_output, 0.0),
            (&mut self.expected, 1.0, 1.0, 0.0),
            (&mut self.high, range.high_input, range.high_output, again),
        ];
        for ([input, output], input_factor, output_factor, again) in factors {
            *input += runs * (input_factor * agent[0] + again + judge[0]);
            *output += runs * (output_factor * agent[1] + judge[1]);
        }
    }

    fn estimate(&self, rates: Rates) -> Estimate {
        let [low, expected, high] = [self.low, self.expected, self.high].map(|[input, output]| {
            let (input, output) = (whole(input), whole(output));
            (input, output, round4(rates.cost(input, output)))
        });
        Estimate {
            agent_runs: self.agent_runs,
            input_tokens: expected.0,
            output_tokens: expected.1,
            cost_usd: expected.2,
            input_tokens_low: low.0,
            input_tokens_high: high.0,
            output_tokens_low: low.1,
            output_tokens_high: high.1,
            cost_low_usd: low.2,
            cost_high_usd: high.2,
        }
    }
}

/// The nearest count, at most [`MOST_TOKENS`].
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a conversion that saturates is right for counts"
)]
fn whole(tokens: f64) -> u64 {
    (tokens.round() as u64).min(MOST_TOKENS)
}

#[cfg(test)]
mod tests {
    use proctor_model::eval::{Criteria, FixtureFile, Rubric};
    use proctor_model::json::go;
    use proptest::prelude::*;

    use super::super::case::tests::case;
    use super::*;

    const HAIKU: Rates = Rates { input: 1.0, output: 5.0 };

    fn example() -> Estimate {
        let load = |rubric| CaseLoad { prompt: 10, files: 0, rubric };
        let cases = [load(Some(12)), load(None), load(None)];
        let plan = RunPlan { runs: 1, ablation: true };
        estimate_cases(&cases, 120, plan, &EstimateParams::default(), HAIKU)
    }

    /// The worked example of the format's documentation.
    #[test]
    fn the_worked_example() {
        assert_eq!(
            go::compact(&example()).unwrap(),
            concat!(
                r#"{"agent_runs":6,"input_tokens":14044,"output_tokens":3800,"cost_usd":0.033,"#,
                r#""input_tokens_low":11560,"input_tokens_high":18190,"output_tokens_low":2000,"#,
                r#""output_tokens_high":11000,"cost_low_usd":0.0216,"cost_high_usd":0.0732}"#,
            )
        );
        let actual =
            Spend { input_tokens: 5200, output_tokens: 410, cost_usd: 0.043, priced: false };
        let record = estimate_record(&example(), &EstimateParams::default(), &actual);
        assert_eq!(
            go::compact(&record).unwrap(),
            concat!(
                r#"{"low_usd":0.0216,"expected_usd":0.033,"high_usd":0.0732,"#,
                r#""expected_tokens":17844,"agent_runs":6,"expected_input_tokens":14044,"#,
                r#""expected_output_tokens":3800,"actual_input_tokens":5200,"#,
                r#""actual_output_tokens":410,"params":{"overhead_tokens":2000,"#,
                r#""assumed_output_tokens":600,"tool_loop_factor":1,"#,
                r#""activation_output_tokens":150},"actual_usd":0.043,"actual_tokens":5610,"#,
                r#""error":0.303,"in_range":true}"#,
            )
        );
    }

    #[test]
    fn without_a_cost_nothing_actual_is_recorded() {
        let silent = Spend { input_tokens: 5, ..Spend::default() };
        let record = estimate_record(&example(), &EstimateParams::default(), &silent);
        let text = go::compact(&record).unwrap();
        assert!(!text.contains("actual") && !text.contains("in_range"), "{text}");
        let free = estimate_record(
            &Estimate::default(),
            &EstimateParams::default(),
            &Spend { cost_usd: 1.0, ..Spend::default() },
        );
        assert_eq!((free.error, free.in_range), (None, Some(false)));
    }

    #[test]
    fn repetitions_multiply_everything() {
        let cases = [CaseLoad { prompt: 10, files: 5, rubric: Some(12) }];
        let of = |runs| {
            let plan = RunPlan { runs, ablation: false };
            estimate_cases(&cases, 120, plan, &EstimateParams::default(), HAIKU)
        };
        assert_eq!(of(3).input_tokens, 3 * of(1).input_tokens);
        assert_eq!(of(3).output_tokens_high, 3 * of(1).output_tokens_high);
        assert_eq!((of(1).agent_runs, of(3).agent_runs), (1, 3));
        assert_eq!(of(1).input_tokens, 2000 + 10 + 5 + 120 + 800 + 12);
    }

    #[test]
    fn an_activation_run_is_one_turn() {
        let params = EstimateParams::default();
        let estimate = estimate_activation(&[10, 30], 60, 5, &params, HAIKU);
        // 5 x (2000 + 60 + 10) + 5 x (2000 + 60 + 30)
        assert_eq!((estimate.agent_runs, estimate.input_tokens), (10, 20_800));
        assert_eq!((estimate.input_tokens_low, estimate.input_tokens_high), (18_720, 26_000));
        assert_eq!(estimate.output_tokens, 1500);
        assert_eq!((estimate.output_tokens_low, estimate.output_tokens_high), (750, 3000));
        assert_eq!(listing_tokens("hello", "world"), count_tokens("hello: world"));
    }

    #[test]
    fn the_load_of_a_case_is_counted_on_its_text() {
        let items = vec![];
        let heavy = ExpandedCase {
            prompt: "hello world".to_owned(),
            files: vec![
                FixtureFile { path: "a".to_owned(), content: b"hello world".to_vec() },
                FixtureFile { path: "b".to_owned(), content: vec![0xFF] },
            ],
            rubric: Some(Rubric { criteria: Criteria::Items(items), min_score: None }),
            ..case("a", true)
        };
        let load = CaseLoad::of(&heavy);
        assert_eq!((load.prompt, load.files), (2, 2 + count_tokens("\u{FFFD}")));
        assert_eq!(load.rubric, Some(count_tokens(&heavy.rubric.unwrap().text())));
    }

    #[test]
    fn estimates_add_up() {
        let sum = total([example(), example()]);
        assert_eq!((sum.agent_runs, sum.input_tokens_high), (12, 36_380));
        assert!((sum.cost_usd - 0.066).abs() < 1e-12);
        assert_eq!(total([]), Estimate::default());
        let plan = RunPlan { runs: u64::MAX, ablation: true };
        let params = EstimateParams::default();
        let endless = estimate_cases(&[CaseLoad::default()], 1, plan, &params, HAIKU);
        assert_eq!(total([endless, endless]).input_tokens, MOST_TOKENS);
    }

    proptest! {
        #[test]
        fn low_expected_and_high_are_in_order(
            cases in proptest::collection::vec((0_u64..5000, 0_u64..5000, proptest::option::of(0_u64..500)), 0..8),
            skill in 0_u64..10_000,
            runs in 1_u64..6,
            ablation: bool,
        ) {
            let cases: Vec<CaseLoad> =
                cases.into_iter().map(|(prompt, files, rubric)| CaseLoad { prompt, files, rubric }).collect();
            let plan = RunPlan { runs, ablation };
            let e = estimate_cases(&cases, skill, plan, &EstimateParams::default(), HAIKU);
            prop_assert!(e.input_tokens_low <= e.input_tokens && e.input_tokens <= e.input_tokens_high);
            prop_assert!(e.output_tokens_low <= e.output_tokens && e.output_tokens <= e.output_tokens_high);
            prop_assert!(e.cost_low_usd <= e.cost_usd && e.cost_usd <= e.cost_high_usd);
            let arms = if ablation { 2 } else { 1 };
            prop_assert_eq!(e.agent_runs, cases.len() as u64 * runs * arms);
        }
    }
}
