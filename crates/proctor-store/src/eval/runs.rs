//! What the record of a skill becomes after a run.
//!
//! What was not believed is never taken into a record that is signed: else a run would make forged
//! results true.

use proctor_model::eval::{ActivationRecord, PassMark, SkillRecord};

use super::results::Stored;

/// The record after a run of cases, `fresh` being what that run found. Takes over what the run did
/// not measure from a record that is believed: the last pass, unless this run passed, and the
/// measurement of activation.
pub fn after_run(old: Option<&Stored>, fresh: SkillRecord) -> SkillRecord {
    let old = believed(old);
    let last_pass =
        if fresh.passing { Some(pass(&fresh)) } else { old.and_then(|old| old.last_pass.clone()) };
    let activation = old.and_then(|old| old.activation.clone());
    SkillRecord { last_pass, activation, mac: String::new(), ..fresh }
}

/// The record of the skill `id` after a measurement of activation. Keeps the run of cases of a
/// record that is believed.
pub(super) fn after_activation(
    old: Option<&Stored>,
    id: &str,
    measured: ActivationRecord,
) -> SkillRecord {
    let alone = || SkillRecord { digest: measured.digest.clone(), ..SkillRecord::default() };
    let kept = believed(old).filter(|old| old.has_run()).cloned().unwrap_or_else(alone);
    SkillRecord { id: id.to_owned(), activation: Some(measured), mac: String::new(), ..kept }
}

/// The record after its result was replayed from the cache, `passing` against today's threshold;
/// `None` when there is nothing to write. Older records have no lock digest: it is filled in, since
/// the files are those of the run.
pub fn after_replay(old: &SkillRecord, passing: bool, lock_digest: &str) -> Option<SkillRecord> {
    let mut record = old.clone();
    if record.lock_digest.is_empty() {
        lock_digest.clone_into(&mut record.lock_digest);
    }
    let is_newer = |mark: &PassMark| mark.digest != record.digest;
    if passing && record.last_pass.as_ref().is_none_or(is_newer) {
        record.last_pass = Some(pass(&record));
    }
    if record == *old {
        return None;
    }
    record.passing = passing;
    Some(record)
}

fn believed(old: Option<&Stored>) -> Option<&SkillRecord> {
    old.filter(|old| old.is_believed()).map(Stored::record)
}

fn pass(record: &SkillRecord) -> PassMark {
    PassMark { digest: record.digest.clone(), date: record.date.clone() }
}

#[cfg(test)]
mod tests {
    use super::super::key::Key;
    use super::super::results::Results;
    use super::*;

    fn run(digest: &str, passing: bool) -> SkillRecord {
        SkillRecord {
            id: "a".to_owned(),
            digest: digest.to_owned(),
            runner: "command".to_owned(),
            date: format!("day of {digest}"),
            passing,
            ..SkillRecord::default()
        }
    }

    fn activation() -> ActivationRecord {
        ActivationRecord { surface: "retrieval".to_owned(), ..ActivationRecord::default() }
    }

    fn old() -> SkillRecord {
        SkillRecord { activation: Some(activation()), ..after_run(None, run("one", true)) }
    }

    fn stored(record: SkillRecord, key: Option<&Key>) -> Stored {
        let mut results = Results::default();
        results.put(record, key);
        results.get("a").unwrap().clone()
    }

    fn signed() -> Stored {
        stored(old(), Some(&Key::of([1; 32])))
    }

    #[test]
    fn a_failing_run_keeps_the_last_pass() {
        let failed = after_run(Some(&signed()), run("two", false));
        assert_eq!(failed.last_pass.as_ref().unwrap().digest, "one");
        assert_eq!(failed.activation, Some(activation()));
        assert_eq!((failed.digest.as_str(), failed.mac.as_str()), ("two", ""));
        let passed = after_run(Some(&signed()), run("two", true));
        assert_eq!(
            passed.last_pass,
            Some(PassMark { digest: "two".to_owned(), date: "day of two".to_owned() })
        );
    }

    #[test]
    fn nothing_is_taken_from_a_record_that_is_not_believed() {
        let forged = stored(old(), None);
        let failed = after_run(Some(&forged), run("two", false));
        assert_eq!((failed.last_pass, failed.activation), (None, None));
        let measured = after_activation(Some(&forged), "a", activation());
        assert!(!measured.has_run() && measured.last_pass.is_none());
    }

    #[test]
    fn a_measurement_of_activation_does_not_touch_the_run() {
        let newer =
            ActivationRecord { surface: "native".to_owned(), ..ActivationRecord::default() };
        let measured = after_activation(Some(&signed()), "a", newer.clone());
        assert_eq!(measured, SkillRecord { activation: Some(newer), ..old() });
        assert!(!after_activation(None, "a", activation()).has_run());
    }

    #[test]
    fn a_replay_fills_in_and_marks_the_pass() {
        let failed = SkillRecord { lock_digest: "l".to_owned(), ..run("one", false) };
        assert_eq!(after_replay(&failed, false, "l"), None);
        let passed = after_replay(&failed, true, "l").unwrap();
        assert!(passed.passing);
        assert_eq!(passed.last_pass.as_ref().unwrap().date, "day of one");
        assert_eq!(after_replay(&passed, true, "l"), None);
        // A stricter threshold of today says nothing about the day of the run.
        assert_eq!(after_replay(&passed, false, "l"), None);
        let filled = after_replay(&run("one", false), false, "l").unwrap();
        assert_eq!((filled.lock_digest.as_str(), filled.passing), ("l", false));
        assert_eq!(after_replay(&run("one", false), false, ""), None);
    }
}
