//! Tests and limits.

use std::collections::BTreeMap;

use proctor_model::Location;
use proctor_model::experiment::{Bucket, Era, Limits, Rule, Script, Test, When};

use super::setups::read_files;
use super::values::{count, duplicate, host_path, name, script, words};
use crate::tree::{Field, Kind, Object, Problems, choice, positive_number};

/// The keys of a test.
pub(in crate::experiment) const TEST_KEYS: [&str; 6] =
    ["name", "description", "script", "script_file", "files", "when"];

/// The keys of the two buckets of early files.
pub(in crate::experiment) const BUCKETS: [(&str, Bucket); 2] =
    [("application", Bucket::Application), ("introspection", Bucket::Introspection)];

/// The keys of the limits.
pub(in crate::experiment) const LIMIT_KEYS: [&str; 3] =
    ["max_turns", "max_time_seconds", "max_cost_usd"];

/// Reads a flat list of tests, or the two buckets of early files. Names differ over both.
pub(super) fn read_tests(field: &Field<'_>, problems: &mut Problems) -> Option<(Era, Vec<Test>)> {
    let mut reader = Reader { seen: 0, first: BTreeMap::new(), tests: Vec::new() };
    let era = match &field.node().kind {
        Kind::Array(_) => {
            reader.list(field, None, problems)?;
            Era::Current
        }
        Kind::Object(_) => {
            let object = Object::at(field, "tests", problems)?;
            let keys = BUCKETS.map(|(key, _)| key);
            object.deny_unknown(&keys, problems);
            for (key, bucket) in BUCKETS {
                // A mistake is pushed, and the other bucket is read all the same.
                let _ = object.optional(key, problems, |field, problems| {
                    reader.list(field, Some(bucket), problems)
                });
            }
            Era::Early
        }
        _ => {
            problems.push(field.expected("a list of tests"));
            return None;
        }
    };
    if reader.seen == 0 {
        let hint = "an experiment without tests measures nothing";
        problems.push(field.error("expected at least one test").hint(hint));
        return None;
    }
    Some((era, reader.tests))
}

struct Reader {
    seen: usize,
    first: BTreeMap<String, Location>,
    tests: Vec<Test>,
}

impl Reader {
    fn list(
        &mut self,
        field: &Field<'_>,
        bucket: Option<Bucket>,
        problems: &mut Problems,
    ) -> Option<()> {
        let Kind::Array(items) = &field.node().kind else {
            problems.push(field.expected("a list of tests"));
            return None;
        };
        self.seen += items.len();
        for (index, item) in items.iter().enumerate() {
            let field = field.item(index, item);
            let Some(test) = read_test(&field, bucket, problems) else { continue };
            let name = test.name.to_string();
            if let Some(place) = self.first.get(&name) {
                problems.push_error(|| duplicate(&field, &name, *place));
                continue;
            }
            self.first.insert(name, item.location);
            self.tests.push(test);
        }
        Some(())
    }
}

fn read_test(field: &Field<'_>, bucket: Option<Bucket>, problems: &mut Problems) -> Option<Test> {
    let object = Object::at(field, "a test: an object with `name` and `script`", problems)?;
    object.deny_unknown(&TEST_KEYS, problems);
    let name = object.required("name", problems, name);
    let description = object.optional("description", problems, words);
    let script = read_script(&object, problems);
    let files = object.or("files", Vec::new(), problems, read_files);
    let moments = [("snapshot", When::Snapshot), ("live", When::Live)];
    let when = object.or("when", When::Snapshot, problems, choice(&moments));
    for key in ["script_file", "when"] {
        if let Some(member) = object.get(key) {
            let field = object.field().member(key, &member.value);
            let message = format!("`{key}` is known to Proctor only");
            problems.push(field.warning(message).rule(Rule::ProctorOnly));
        }
    }
    Some(Test {
        name: name?,
        description: description?,
        script: script?,
        files: files?,
        when: when?,
        bucket,
        at: field.node().location,
    })
}

fn read_script(object: &Object<'_>, problems: &mut Problems) -> Option<Script> {
    let inline = object.optional("script", problems, script)?;
    let file = object.optional("script_file", problems, host_path)?;
    match (inline, file) {
        (Some(script), None) => Some(Script::Inline(script)),
        (None, Some(path)) => Some(Script::File(path)),
        (Some(_), Some(_)) => {
            problems.push(object.field().error("has both `script` and `script_file`"));
            None
        }
        (None, None) => {
            problems.push(object.field().error("`script` is missing"));
            None
        }
    }
}

/// Reads the limits.
pub(super) fn read_limits(field: &Field<'_>, problems: &mut Problems) -> Option<Limits> {
    let object = Object::at(field, "an object with `max_time_seconds`", problems)?;
    object.deny_unknown(&LIMIT_KEYS, problems);
    let time = object.required("max_time_seconds", problems, count);
    let turns = object.optional("max_turns", problems, count);
    let cost = object.optional("max_cost_usd", problems, positive_number);
    Some(Limits { max_time_seconds: time?, max_turns: turns?, max_cost_usd: cost? })
}
