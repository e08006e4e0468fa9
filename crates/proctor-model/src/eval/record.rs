//! The results file `eval-results.json`: one record a skill, signed by the user who made it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::estimate::EstimateRecord;
use super::is_default;

/// The version of the results file.
pub const STORE_SCHEMA_VERSION: i64 = 1;

/// The name of the results file in the configuration folder.
pub const STORE_FILE_NAME: &str = "eval-results.json";

/// The results file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Store {
    /// [`STORE_SCHEMA_VERSION`].
    #[serde(default)]
    pub schema_version: i64,
    /// The records, by id.
    #[serde(default)]
    pub skills: Vec<SkillRecord>,
}

/// An empty file of the current version.
impl Default for Store {
    fn default() -> Self {
        Self { schema_version: STORE_SCHEMA_VERSION, skills: Vec::new() }
    }
}

/// The latest results of one skill. Its signature is over the compact text of all fields but
/// [`SkillRecord::mac`], so order and omissions are part of the format.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SkillRecord {
    /// The skill.
    pub id: String,
    /// The digest of the skill when it ran.
    pub digest: String,
    /// The digest of its eval folders when it ran.
    pub cases_digest: String,
    /// The digest of the skill by the rules of the lock file, on which usage logs join.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub lock_digest: String,
    /// What decided the result; equal keys mean that the run need not be repeated.
    pub cache_key: String,
    /// The runner.
    pub runner: String,
    /// The harness.
    pub harness: String,
    /// The model.
    pub model: String,
    /// Whether the cases were run without the skill too.
    pub ablation: bool,
    /// The day that the user named; never read from a clock.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub date: String,
    /// Whether the score reached the threshold of that run.
    pub passing: bool,
    /// What the cases came to.
    pub score: Score,
    /// What the run was expected to cost and what it cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimate: Option<EstimateRecord>,
    /// The latest measurement of activation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activation: Option<ActivationRecord>,
    /// The last run that passed; later failures keep it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_pass: Option<PassMark>,
    /// `hmac-sha256:` and 64 hexadecimal digits; empty when it is not signed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub mac: String,
}

impl SkillRecord {
    /// Whether cases were run: a record that only an activation run made has no score.
    pub fn has_run(&self) -> bool {
        self.activation.is_none()
            || !self.runner.is_empty()
            || !self.cache_key.is_empty()
            || self.score.cases > 0
    }
}

/// What the cases of one skill came to. Rates are rounded to four decimals.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Score {
    /// Expanded cases.
    pub cases: u64,
    /// Cases that were not skipped.
    pub scored: u64,
    /// Cases that passed.
    pub passed: u64,
    /// Cases that ran and did not pass.
    pub failed: u64,
    /// Cases without a result.
    pub errors: u64,
    /// Cases that the runner could not run.
    pub skipped: u64,
    /// Passed of scored; 0 when nothing was.
    pub pass_rate: f64,
    /// How many of the prompts that fired the skill were meant to.
    pub trigger_precision: Option<f64>,
    /// How many of the prompts that were meant to fire the skill did.
    pub trigger_recall: Option<f64>,
    /// Cases from near-miss prompts.
    pub near_miss_cases: u64,
    /// Those of them that fired the skill.
    pub near_miss_false_positives: u64,
    /// With the skill: how many outcomes passed, of those that ran both ways.
    pub outcome_pass_with: Option<f64>,
    /// Without the skill: the same.
    pub outcome_pass_without: Option<f64>,
    /// The difference of the two.
    pub ablation_delta: Option<f64>,
    /// How many cases the three figures before are over.
    #[serde(skip_serializing_if = "is_default")]
    pub ablation_cases: u64,
    /// Tokens of `SKILL.md` in the encoding `cl100k_base`.
    pub skill_tokens: u64,
    /// Tokens in and out that the runner reported, both ways together.
    pub run_tokens: u64,
    /// Tokens in, as reported.
    #[serde(skip_serializing_if = "is_default")]
    pub run_input_tokens: u64,
    /// Tokens out, as reported.
    #[serde(skip_serializing_if = "is_default")]
    pub run_output_tokens: u64,
    /// US dollars, both ways together.
    pub cost_usd: f64,
}

impl Score {
    /// Whether it says something about the skill rather than its surroundings: only such results
    /// are kept.
    pub fn is_cacheable(&self) -> bool {
        self.errors == 0 && self.scored > 0
    }

    /// Whether it reaches `threshold`, 0 to 1; without one result, because nothing was scored or
    /// every case ended in an error, it never does.
    pub fn passes(&self, threshold: f64) -> bool {
        self.scored > self.errors && self.pass_rate >= threshold
    }
}

/// A run that passed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PassMark {
    /// The digest of the skill then.
    pub digest: String,
    /// The day that the user named.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub date: String,
}

/// The latest measurement of which skill fires for the prompts of a skill.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ActivationRecord {
    /// `retrieval` or `native`.
    pub surface: String,
    /// `domain` or `all`.
    pub scope: String,
    /// The digest of the skill then.
    pub digest: String,
    /// The digest of the skills that competed.
    pub set_digest: String,
    /// The day that the user named.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub date: String,
    /// Prompts that should fire the skill.
    pub positives: u64,
    /// Prompts that should not.
    pub negatives: u64,
    /// How many of the positives fired it; null without positives.
    pub recall: Option<f64>,
    /// How many of those that fired it should; null when none did.
    pub precision: Option<f64>,
    /// The skills that fired instead.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stolen_by: Vec<StolenBy>,
    /// The runner; empty for `retrieval`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub runner: String,
    /// The harness.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub harness: String,
    /// The model.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// Repetitions of each prompt.
    #[serde(skip_serializing_if = "is_default")]
    pub runs: u64,
    /// Whether the measurement passed.
    #[serde(skip_serializing_if = "is_default")]
    pub passing: bool,
    /// What decided the result.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cache_key: String,
    /// What the run was expected to cost and what it cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimate: Option<EstimateRecord>,
}

/// A skill that won prompts of another.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct StolenBy {
    /// The winner.
    pub skill: String,
    /// How many positive prompts it won.
    pub prompts: u64,
    /// Their share of the positive prompts.
    pub share: f64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::go;

    /// Worked out from the documented rules; its HMAC under a known key is a published vector.
    const CANONICAL: &str = concat!(
        r#"{"id":"deploy-staging","digest":"sha256:aa","cases_digest":"sha256:bb","#,
        r#""lock_digest":"sha256:cc","cache_key":"sha256:dd","runner":"command","#,
        r#""harness":"claude","model":"haiku","ablation":false,"date":"2026-10-05","#,
        r#""passing":true,"score":{"cases":3,"scored":3,"passed":3,"failed":0,"errors":0,"#,
        r#""skipped":0,"pass_rate":1,"trigger_precision":1,"trigger_recall":1,"#,
        r#""near_miss_cases":1,"near_miss_false_positives":0,"outcome_pass_with":null,"#,
        r#""outcome_pass_without":null,"ablation_delta":null,"skill_tokens":120,"#,
        r#""run_tokens":900,"run_input_tokens":700,"run_output_tokens":200,"#,
        r#""cost_usd":0.0125},"last_pass":{"digest":"sha256:aa","date":"2026-10-05"}}"#,
    );

    #[test]
    fn a_record_is_read_and_written_byte_for_byte() {
        let record: SkillRecord = serde_json::from_str(CANONICAL).unwrap();
        assert_eq!(go::compact(&record).unwrap(), CANONICAL);
        assert!(record.has_run() && record.score.is_cacheable());
        assert!(record.score.passes(1.0));
    }

    #[test]
    fn the_store_is_written_as_the_owner_of_the_format_writes_it() {
        let mut store = Store::default();
        assert_eq!(
            go::pretty(&store).unwrap(),
            "{\n  \"schema_version\": 1,\n  \"skills\": []\n}\n"
        );
        let activation = ActivationRecord {
            surface: "retrieval".to_owned(),
            scope: "domain".to_owned(),
            recall: Some(0.5),
            positives: 2,
            stolen_by: vec![StolenBy { skill: "b".to_owned(), prompts: 1, share: 0.5 }],
            ..ActivationRecord::default()
        };
        store.skills.push(SkillRecord {
            id: "a".to_owned(),
            activation: Some(activation),
            ..SkillRecord::default()
        });
        assert!(!store.skills[0].has_run());
        let text = go::compact(&store).unwrap();
        assert!(text.contains(
            r#""activation":{"surface":"retrieval","scope":"domain","digest":"","set_digest":"","positives":2,"negatives":0,"recall":0.5,"precision":null,"stolen_by":[{"skill":"b","prompts":1,"share":0.5}]}"#
        ));
        assert_eq!(serde_json::from_str::<Store>(&text).unwrap(), store);
    }

    #[test]
    fn unknown_and_missing_fields_of_other_versions_are_no_mistake() {
        let store: Store =
            serde_json::from_str(r#"{"schema_version":1,"skills":[{"id":"a","new":[1]}]}"#)
                .unwrap();
        assert_eq!(store.skills[0].id, "a");
        assert!(!store.skills[0].score.passes(0.0));
    }
}
