//! What to do with each skill, from its results, its uses and what users say of it.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use proctor_model::eval::advice::{Action, AdviceReport, AdviceRow, FeedbackCounts, Join};
use proctor_model::eval::{Score, SkillRecord};

use super::logs::{FeedbackLog, UsageLog};
use super::results::{Results, Stored};

/// Cases that the figure of an ablation must be over before anything is concluded from it.
const RELIABLE_CASES: u64 = 3;

/// What a skill must add to the rate of passed outcomes to be worth its place.
const WORTHWHILE_DELTA: f64 = 0.05;

/// A skill as it lies on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillFacts {
    /// The skill.
    pub id: String,
    /// Its digest.
    pub digest: String,
    /// Tokens of its `SKILL.md`.
    pub skill_tokens: u64,
}

/// The marks that a skill must reach, 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Marks {
    /// Of the pass rate.
    pub min_pass_rate: f64,
    /// Of precision and recall of its firing.
    pub min_trigger: f64,
}

/// The marks that hold when nobody says otherwise.
impl Default for Marks {
    fn default() -> Self {
        Self { min_pass_rate: 0.8, min_trigger: 0.8 }
    }
}

/// Recommends something for every skill. Without a log of usage nothing is concluded about use, and
/// nothing from a record that is not believed.
pub fn advise(
    skills: &[SkillFacts],
    results: &Results,
    usage: Option<&UsageLog>,
    feedback: Option<&FeedbackLog>,
    marks: Marks,
) -> AdviceReport {
    let mut rows: Vec<AdviceRow> = skills
        .iter()
        .map(|skill| {
            let said = feedback.map(|log| log.of(&skill.id)).unwrap_or_default();
            row(skill, results.get(&skill.id), usage, said, marks)
        })
        .collect();
    rows.sort_by(pressing_first);
    AdviceReport {
        min_pass_rate: marks.min_pass_rate,
        min_trigger: marks.min_trigger,
        logged_uses: usage.map(UsageLog::total),
        skills: rows,
    }
}

fn pressing_first(left: &AdviceRow, right: &AdviceRow) -> Ordering {
    // No rate comes last, and no rate is above 1.
    let rate = |row: &AdviceRow| row.pass_rate.unwrap_or(2.0);
    left.action
        .cmp(&right.action)
        .then(right.reasons.len().cmp(&left.reasons.len()))
        .then(rate(left).total_cmp(&rate(right)))
        .then(right.skill_tokens.cmp(&left.skill_tokens))
        .then_with(|| left.id.cmp(&right.id))
}

fn row(
    skill: &SkillFacts,
    stored: Option<&Stored>,
    usage: Option<&UsageLog>,
    said: FeedbackCounts,
    marks: Marks,
) -> AdviceRow {
    let with_run = stored.filter(|stored| stored.record().has_run());
    let record = with_run.filter(|stored| stored.is_believed()).map(Stored::record);
    let score = record.map(|record| record.score).unwrap_or_default();
    let last_pass = record.and_then(|record| record.last_pass.as_ref());
    let mut row = AdviceRow {
        id: skill.id.clone(),
        action: Action::Keep,
        reasons: Vec::new(),
        uses: usage.map(|log| log.of(&skill.id).map_or(0, super::logs::Uses::total)),
        pass_rate: (score.scored > 0).then_some(score.pass_rate),
        trigger_precision: score.trigger_precision,
        trigger_recall: score.trigger_recall,
        ablation_delta: score.ablation_delta,
        ablation_cases: score.ablation_cases,
        skill_tokens: skill.skill_tokens,
        feedback: (said != FeedbackCounts::default()).then_some(said),
        stale: last_pass.is_some_and(|pass| pass.digest != skill.digest),
        unverified: with_run.is_some() && record.is_none(),
        join: None,
        join_uses: BTreeMap::new(),
        notes: Vec::new(),
    };
    if let Some(log) = usage {
        (row.join, row.join_uses) = join(&skill.id, record, log);
    }
    (row.action, row.reasons) = recommend(&row, &score, usage, said, marks);
    let few = row.ablation_delta.is_some() && score.ablation_cases < RELIABLE_CASES;
    if few {
        row.notes.push(format!(
            "the ablation is over {} of at least {RELIABLE_CASES} cases; nothing is concluded from it",
            score.ablation_cases
        ));
    }
    if row.unverified {
        row.notes.push(
            "its results are not signed with your key and are left out; run `proctor eval run`"
                .to_owned(),
        );
    }
    row
}

fn recommend(
    row: &AdviceRow,
    score: &Score,
    usage: Option<&UsageLog>,
    said: FeedbackCounts,
    marks: Marks,
) -> (Action, Vec<String>) {
    let below = |what: &str, rate: Option<f64>, mark: f64| {
        rate.filter(|rate| *rate < mark)
            .map(|rate| format!("{what} {} is below {}", percent(rate), percent(mark)))
    };
    let reliable = score.ablation_delta.filter(|_| score.ablation_cases >= RELIABLE_CASES);
    let complaints = said.complaints();
    let rewrite: Vec<String> = [
        below("pass rate", row.pass_rate, marks.min_pass_rate),
        below("trigger precision", row.trigger_precision, marks.min_trigger),
        below("trigger recall", row.trigger_recall, marks.min_trigger),
        reliable
            .filter(|delta| *delta < 0.0)
            .map(|delta| format!("outcomes are {} worse with it", points(-delta))),
        row.stale.then(|| "it changed after its last passing run".to_owned()),
        (complaints > said.great)
            .then(|| format!("{complaints} complaints and {} times praise", said.great)),
    ]
    .into_iter()
    .flatten()
    .collect();
    if !rewrite.is_empty() {
        return (Action::Rewrite, rewrite);
    }
    let worthwhile = reliable.filter(|delta| *delta > WORTHWHILE_DELTA);
    let total = usage.map_or(0, UsageLog::total);
    let unused = total > 0 && row.uses == Some(0);
    let no_record = row.pass_rate.is_none();
    let of_uses = format!("none of {total} logged uses");
    match (unused, worthwhile) {
        (true, None) => (Action::Prune, vec![of_uses]),
        (true, Some(delta)) => {
            let reason = format!("{of_uses}, and outcomes are {} better with it", points(delta));
            (Action::Review, vec![reason])
        }
        (false, _) if no_record => (Action::Review, vec!["it has no eval results".to_owned()]),
        (false, _) => (Action::Keep, Vec::new()),
    }
}

/// How far the uses are those of the skill that was evaluated.
fn join(
    skill: &str,
    record: Option<&SkillRecord>,
    log: &UsageLog,
) -> (Option<Join>, BTreeMap<Join, u64>) {
    let (Some(record), Some(uses)) = (record, log.of(skill)) else {
        return (Some(Join::None), BTreeMap::new());
    };
    let lock = record.lock_digest.as_str();
    if lock.is_empty() || !log.has_digests() {
        return (Some(Join::Legacy), BTreeMap::from([(Join::Legacy, uses.total())]));
    }
    let exact = uses.at(lock);
    let legacy = uses.without_digest();
    let stale = uses.total() - exact - legacy;
    let class = match (exact, stale) {
        (1.., _) => Join::Exact,
        (0, 1..) => Join::Stale,
        (0, 0) => Join::Legacy,
    };
    let by_class = [(Join::Legacy, legacy), (Join::Exact, exact), (Join::Stale, stale)];
    (Some(class), by_class.into_iter().filter(|(_, count)| *count > 0).collect())
}

fn percent(rate: f64) -> String {
    format!("{:.0}%", rate * 100.0)
}

fn points(delta: f64) -> String {
    format!("{:.0} points", delta * 100.0)
}

#[cfg(test)]
mod tests {
    use proctor_model::eval::{ActivationRecord, PassMark};
    use proctor_model::json::go;

    use super::super::key::Key;
    use super::*;

    fn good() -> SkillRecord {
        SkillRecord {
            id: "a".to_owned(),
            digest: "d".to_owned(),
            lock_digest: "l".to_owned(),
            runner: "command".to_owned(),
            passing: true,
            score: Score {
                cases: 4,
                scored: 4,
                pass_rate: 1.0,
                trigger_precision: Some(1.0),
                trigger_recall: Some(1.0),
                ..Score::default()
            },
            last_pass: Some(PassMark { digest: "d".to_owned(), date: String::new() }),
            ..SkillRecord::default()
        }
    }

    fn facts(id: &str, skill_tokens: u64) -> SkillFacts {
        SkillFacts { id: id.to_owned(), digest: "d".to_owned(), skill_tokens }
    }

    fn results(records: &[SkillRecord], key: Option<&Key>) -> Results {
        let mut results = Results::default();
        for record in records {
            results.put(record.clone(), key);
        }
        results
    }

    fn usage(lines: &[&str]) -> UsageLog {
        let mut log = UsageLog::default();
        for line in lines {
            log.add(line.as_bytes());
        }
        log
    }

    fn advice(
        record: SkillRecord,
        log: Option<&UsageLog>,
        feedback: Option<&FeedbackLog>,
    ) -> String {
        let results = results(&[record], Some(&Key::of([1; 32])));
        let report = advise(&[facts("a", 10)], &results, log, feedback, Marks::default());
        let row = &report.skills[0];
        format!("{}: {}", row.action, row.reasons.join("; "))
    }

    fn scored(change: impl FnOnce(&mut Score)) -> SkillRecord {
        let mut record = good();
        change(&mut record.score);
        record
    }

    #[test]
    fn what_does_not_do_its_job_is_rewritten() {
        let alone = |record| advice(record, None, None);
        assert_eq!(alone(good()), "keep: ");
        let low = scored(|score| score.pass_rate = 0.5);
        assert_eq!(alone(low), "rewrite: pass rate 50% is below 80%");
        let both = scored(|score| {
            score.trigger_precision = Some(0.75);
            score.trigger_recall = Some(0.0);
        });
        assert_eq!(
            alone(both),
            "rewrite: trigger precision 75% is below 80%; trigger recall 0% is below 80%"
        );
        let mut edited = good();
        edited.last_pass.as_mut().unwrap().digest = "old".to_owned();
        assert_eq!(alone(edited), "rewrite: it changed after its last passing run");
        // A skill that never passed did not change since.
        assert_eq!(alone(SkillRecord { last_pass: None, ..good() }), "keep: ");
    }

    #[test]
    fn an_ablation_counts_from_three_cases_on() {
        let with = |delta, cases| {
            scored(|score| (score.ablation_delta, score.ablation_cases) = (Some(delta), cases))
        };
        assert_eq!(
            advice(with(-0.5, 3), None, None),
            "rewrite: outcomes are 50 points worse with it"
        );
        assert_eq!(advice(with(-0.5, 2), None, None), "keep: ");
        let log = usage(&[r#"{"id":"other"}"#]);
        assert_eq!(advice(with(0.05, 3), Some(&log), None), "prune: none of 1 logged uses");
        assert_eq!(advice(with(0.5, 2), Some(&log), None), "prune: none of 1 logged uses");
        assert_eq!(
            advice(with(0.06, 3), Some(&log), None),
            "review: none of 1 logged uses, and outcomes are 6 points better with it"
        );
    }

    #[test]
    fn nothing_is_pruned_without_a_log_that_holds_something() {
        let empty = UsageLog::default();
        assert_eq!(advice(good(), None, None), "keep: ");
        assert_eq!(advice(good(), Some(&empty), None), "keep: ");
        assert_eq!(advice(good(), Some(&usage(&[r#"{"id":"a"}"#])), None), "keep: ");
    }

    #[test]
    fn complaints_must_outweigh_praise() {
        let feedback = |kinds: &[&str]| {
            let mut log = FeedbackLog::default();
            for kind in kinds {
                log.add(format!(r#"{{"skill":"a","kind":"{kind}"}}"#).as_bytes());
            }
            advice(good(), None, Some(&log))
        };
        assert_eq!(feedback(&["misled", "great"]), "keep: ");
        assert_eq!(
            feedback(&["misled", "stale", "great"]),
            "rewrite: 2 complaints and 1 times praise"
        );
    }

    #[test]
    fn what_is_not_believed_is_no_record() {
        let low = scored(|score| score.pass_rate = 0.1);
        let report =
            advise(&[facts("a", 10)], &results(&[low], None), None, None, Marks::default());
        assert_eq!(
            go::compact(&report.skills[0]).unwrap(),
            concat!(
                r#"{"id":"a","action":"review","reasons":["it has no eval results"],"uses":null,"#,
                r#""pass_rate":null,"trigger_precision":null,"trigger_recall":null,"#,
                r#""ablation_delta":null,"skill_tokens":10,"unverified":true,"notes":["its results "#,
                r#"are not signed with your key and are left out; run `proctor eval run`"]}"#,
            )
        );
    }

    #[test]
    fn a_measurement_of_activation_alone_is_no_run() {
        let record = SkillRecord {
            id: "a".to_owned(),
            activation: Some(ActivationRecord::default()),
            ..SkillRecord::default()
        };
        let results = results(&[record], None);
        let report = advise(&[facts("a", 10)], &results, None, None, Marks::default());
        assert!(!report.skills[0].unverified);
        assert_eq!(report.skills[0].action, Action::Review);
    }

    #[test]
    fn uses_are_tied_to_what_was_evaluated() {
        let joined = |record: SkillRecord, lines: &[&str]| {
            let (class, uses) = join("a", Some(&record), &usage(lines));
            format!("{} {uses:?}", class.unwrap())
        };
        let (exact, stale, plain, other) = (
            r#"{"id":"a","digest":"l"}"#,
            r#"{"id":"a","digest":"m"}"#,
            r#"{"id":"a"}"#,
            r#"{"id":"b","digest":"x"}"#,
        );
        assert_eq!(
            joined(good(), &[exact, stale, plain, exact]),
            "exact {Legacy: 1, Exact: 2, Stale: 1}"
        );
        assert_eq!(joined(good(), &[stale, plain]), "stale {Legacy: 1, Stale: 1}");
        assert_eq!(joined(good(), &[plain, other]), "legacy {Legacy: 1}");
        assert_eq!(joined(good(), &[plain]), "legacy {Legacy: 1}");
        let old = SkillRecord { lock_digest: String::new(), ..good() };
        assert_eq!(joined(old, &[exact, stale]), "legacy {Legacy: 2}");
        assert_eq!(joined(good(), &[other]), "none {}");
        assert_eq!(join("a", None, &usage(&[exact])), (Some(Join::None), BTreeMap::new()));
    }

    #[test]
    fn the_most_pressing_comes_first() {
        let named = |id: &str, record: SkillRecord| SkillRecord { id: id.to_owned(), ..record };
        let records = [
            named("two-reasons", scored(|s| (s.pass_rate, s.trigger_recall) = (0.7, Some(0.0)))),
            named("worse", scored(|s| s.pass_rate = 0.1)),
            named("bad", scored(|s| s.pass_rate = 0.5)),
            named("bad-and-large", scored(|s| s.pass_rate = 0.5)),
            named("fine", good()),
            named("also-fine", good()),
            named("unused", good()),
        ];
        let uses: Vec<String> = records
            .iter()
            .filter(|record| record.id != "unused")
            .map(|record| format!(r#"{{"id":"{}"}}"#, record.id))
            .chain([r#"{"id":"unknown"}"#.to_owned()])
            .collect();
        let lines: Vec<&str> = uses.iter().map(String::as_str).collect();
        let skills: Vec<SkillFacts> = records
            .iter()
            .map(|record| facts(&record.id, if record.id == "bad-and-large" { 99 } else { 10 }))
            .chain([facts("unknown", 10)])
            .collect();
        let results = results(&records, Some(&Key::of([1; 32])));
        let report = advise(&skills, &results, Some(&usage(&lines)), None, Marks::default());
        let order: Vec<&str> = report.skills.iter().map(|row| row.id.as_str()).collect();
        assert_eq!(
            order,
            [
                "two-reasons",
                "worse",
                "bad-and-large",
                "bad",
                "unused",
                "unknown",
                "also-fine",
                "fine"
            ]
        );
    }
}
