//! Whether a run need not be repeated.

use proctor_model::Digest;
use proctor_model::eval::activation::Surface;

use super::results::Stored;

/// The version of the composition of cache keys.
const VERSION: &str = "v1";

/// Everything that decides the result of a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheInputs<'a> {
    /// The digest of the skill.
    pub digest: &'a str,
    /// The digest of its eval folders.
    pub cases_digest: &'a str,
    /// The name of the runner.
    pub runner: &'a str,
    /// What the runner itself is; see [`super::command_fingerprint`] and its kin.
    pub fingerprint: &'a str,
    /// The harness.
    pub harness: &'a str,
    /// The model; empty for that of the harness.
    pub model: &'a str,
    /// Whether the cases are run without the skill too.
    pub ablation: bool,
    /// Whether commands of cases may be run.
    pub allow_exec: bool,
    /// The version of the program.
    pub version: &'a str,
    /// The built-in grader, when it grades.
    pub grader: Option<&'a str>,
}

impl CacheInputs<'_> {
    /// The key: equal keys mean equal results.
    pub fn key(&self) -> String {
        let model = if self.model.is_empty() { "default" } else { self.model };
        let ablation = self.ablation.to_string();
        let exec = format!("exec={}", self.allow_exec);
        let version = format!("version={}", self.version);
        let mut lines = vec![
            VERSION,
            self.digest,
            self.cases_digest,
            self.runner,
            self.fingerprint,
            self.harness,
            model,
            &ablation,
            &exec,
            &version,
        ];
        let grader = self.grader.map(|grader| format!("grader={grader}"));
        lines.extend(grader.as_deref());
        format!("sha256:{}", Digest::of(lines.join("\n").as_bytes()))
    }
}

/// Everything that decides a measurement of activation by a harness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActivationInputs<'a> {
    /// What decides a run of cases, too.
    pub run: CacheInputs<'a>,
    /// The digest of the skills that compete.
    pub set_digest: &'a str,
    /// `domain` or `all`.
    pub scope: &'a str,
    /// Repetitions of each prompt, at most.
    pub runs: u64,
}

impl ActivationInputs<'_> {
    /// The key: equal keys mean equal measurements. A run is one turn of the model.
    pub fn key(&self) -> String {
        let cases_digest = format!(
            "{}|set={}|runs={}|scope={}|turns=1",
            self.run.cases_digest, self.set_digest, self.runs, self.scope
        );
        CacheInputs { cases_digest: &cases_digest, ..self.run }.key()
    }
}

/// Looks for the measurement of `inputs` in the record of the skill.
pub fn lookup_activation<'a>(
    stored: Option<&'a Stored>,
    inputs: &ActivationInputs<'_>,
) -> Lookup<'a> {
    let Some(stored) = stored else { return Lookup::Miss };
    let holds = stored.record().activation.as_ref().is_some_and(|activation| {
        activation.surface == Surface::Native.as_str()
            && activation.digest == inputs.run.digest
            && activation.set_digest == inputs.set_digest
            && activation.cache_key == inputs.key()
    });
    match (holds, stored.is_believed()) {
        (false, _) => Lookup::Miss,
        (true, false) => Lookup::Unverified,
        (true, true) => Lookup::Hit(stored),
    }
}

/// What the results file says about a run that is due.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Lookup<'a> {
    /// It was made before, and the record is believed.
    Hit(&'a Stored),
    /// A record claims so and is not believed: the run is repeated, with a warning.
    Unverified,
    /// It has to be made.
    Miss,
}

/// Looks for the result of `inputs` in the record of the skill.
///
/// The digest of a skill knows only where a link leads. The lock digest is over what stands there:
/// where both are known, another one means that a linked `SKILL.md` was edited.
pub fn lookup<'a>(
    stored: Option<&'a Stored>,
    inputs: &CacheInputs<'_>,
    lock_digest: &str,
) -> Lookup<'a> {
    let Some(stored) = stored else { return Lookup::Miss };
    let record = stored.record();
    let known = !record.lock_digest.is_empty() && !lock_digest.is_empty();
    let holds = record.score.is_cacheable()
        && (!known || record.lock_digest == lock_digest)
        && record.digest == inputs.digest
        && record.cases_digest == inputs.cases_digest
        && record.cache_key == inputs.key();
    match (holds, stored.is_believed()) {
        (false, _) => Lookup::Miss,
        (true, false) => Lookup::Unverified,
        (true, true) => Lookup::Hit(stored),
    }
}

#[cfg(test)]
mod tests {
    use proctor_model::eval::{ActivationRecord, Score, SkillRecord};

    use super::super::key::Key;
    use super::super::results::Results;
    use super::*;

    fn inputs() -> CacheInputs<'static> {
        CacheInputs {
            digest: "sha256:aa",
            cases_digest: "sha256:bb",
            runner: "command",
            fingerprint: "command=./run.sh program=",
            harness: "claude",
            model: "",
            ablation: false,
            allow_exec: false,
            version: "5.0.0",
            grader: None,
        }
    }

    /// Published vectors of the format.
    #[test]
    fn the_worked_vectors() {
        assert_eq!(
            inputs().key(),
            "sha256:41dc42e0d9ea44fe782c3e163b649769f4ce5018dd3f718b2913641ac47d9621"
        );
        let grader = Some("builtin:openai/gpt-4o-mini:evals-grader/v1");
        assert_eq!(
            CacheInputs { grader, ..inputs() }.key(),
            "sha256:e095173965eebe3dd53e20cfe07101fcab5f0423a79605dca28fcc31c50d064d"
        );
    }

    #[test]
    fn each_input_makes_another_key() {
        let mut keys = vec![
            inputs().key(),
            CacheInputs { digest: "x", ..inputs() }.key(),
            CacheInputs { cases_digest: "x", ..inputs() }.key(),
            CacheInputs { runner: "x", ..inputs() }.key(),
            CacheInputs { fingerprint: "x", ..inputs() }.key(),
            CacheInputs { harness: "x", ..inputs() }.key(),
            CacheInputs { model: "x", ..inputs() }.key(),
            CacheInputs { ablation: true, ..inputs() }.key(),
            CacheInputs { allow_exec: true, ..inputs() }.key(),
            CacheInputs { version: "x", ..inputs() }.key(),
            CacheInputs { grader: Some("x"), ..inputs() }.key(),
        ];
        assert_eq!(CacheInputs { model: "default", ..inputs() }.key(), keys[0]);
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), 11);
    }

    fn stored(change: impl FnOnce(&mut SkillRecord), key: Option<&Key>) -> Stored {
        let mut record = SkillRecord {
            id: "a".to_owned(),
            digest: "sha256:aa".to_owned(),
            cases_digest: "sha256:bb".to_owned(),
            cache_key: inputs().key(),
            score: Score { scored: 2, ..Score::default() },
            ..SkillRecord::default()
        };
        change(&mut record);
        let mut results = Results::default();
        results.put(record, key);
        results.get("a").unwrap().clone()
    }

    #[test]
    fn a_hit_needs_everything() {
        let key = Key::of([1; 32]);
        let found = |change: fn(&mut SkillRecord)| {
            matches!(
                lookup(Some(&stored(change, Some(&key))), &inputs(), "sha256:cc"),
                Lookup::Hit(_)
            )
        };
        assert!(found(|_| {}));
        assert!(found(|record| record.lock_digest = "sha256:cc".to_owned()));
        assert!(!found(|record| record.lock_digest = "sha256:dd".to_owned()));
        assert!(!found(|record| record.digest.push('x')));
        assert!(!found(|record| record.cases_digest.push('x')));
        assert!(!found(|record| record.cache_key.push('x')));
        // An outage is no result, and neither is nothing.
        assert!(!found(|record| record.score.errors = 1));
        assert!(!found(|record| record.score.scored = 0));
        assert_eq!(lookup(None, &inputs(), "sha256:cc"), Lookup::Miss);
        assert_eq!(lookup(Some(&stored(|_| {}, None)), &inputs(), "sha256:cc"), Lookup::Unverified);
        let other = stored(|record| record.cache_key.push('x'), None);
        assert_eq!(lookup(Some(&other), &inputs(), "sha256:cc"), Lookup::Miss);
    }

    fn measurement() -> ActivationInputs<'static> {
        ActivationInputs { run: inputs(), set_digest: "sha256:ss", scope: "domain", runs: 5 }
    }

    #[test]
    fn the_key_of_a_measurement_knows_the_competition() {
        let cases_digest = "sha256:bb|set=sha256:ss|runs=5|scope=domain|turns=1";
        assert_eq!(measurement().key(), CacheInputs { cases_digest, ..inputs() }.key());
        let others = [
            ActivationInputs { set_digest: "x", ..measurement() },
            ActivationInputs { scope: "all", ..measurement() },
            ActivationInputs { runs: 4, ..measurement() },
            ActivationInputs { run: CacheInputs { model: "x", ..inputs() }, ..measurement() },
        ];
        assert!(others.iter().all(|other| other.key() != measurement().key()));
    }

    #[test]
    fn a_measurement_is_replayed_only_when_it_holds() {
        let key = Key::of([1; 32]);
        let stored = |change: fn(&mut ActivationRecord), key: Option<&Key>| {
            let mut activation = ActivationRecord {
                surface: "native".to_owned(),
                digest: "sha256:aa".to_owned(),
                set_digest: "sha256:ss".to_owned(),
                cache_key: measurement().key(),
                ..ActivationRecord::default()
            };
            change(&mut activation);
            stored(|record| record.activation = Some(activation), key)
        };
        let found = |change| {
            let stored = stored(change, Some(&key));
            matches!(lookup_activation(Some(&stored), &measurement()), Lookup::Hit(_))
        };
        assert!(found(|_| {}));
        assert!(!found(|activation| activation.surface = "retrieval".to_owned()));
        assert!(!found(|activation| activation.digest.push('x')));
        assert!(!found(|activation| activation.set_digest.push('x')));
        assert!(!found(|activation| activation.cache_key.push('x')));
        let forged = stored(|_| {}, None);
        assert_eq!(lookup_activation(Some(&forged), &measurement()), Lookup::Unverified);
        assert_eq!(lookup_activation(None, &measurement()), Lookup::Miss);
    }
}
