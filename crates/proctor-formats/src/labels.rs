//! Files of answers that people labelled, for checking a judge: JSON Lines, or a list in JSON or
//! YAML.
//!
//! ```json
//! {"id": "a1", "rubric": "names the cluster", "answer": "deployed to staging-eu", "label": true}
//! ```
//!
//! A label is a verdict (`true`, `false`) or a score from 0 to 1.

use std::collections::BTreeMap;

use camino::Utf8Path;
use proctor_model::judge::{HumanLabel, LabelledAnswer};
use proctor_model::{Diagnostic, Diagnostics, Digest, Location};

use crate::eval::{read_rubric, read_score};
use crate::read_file::read_file;
use crate::tree::{
    Field, Kind, MAX_LISTED, Member, Node, Object, Problems, json, non_blank, text, yaml,
};

/// The most answers that a file may hold.
pub const MAX_ANSWERS: usize = 10_000;

const KEYS: [&str; 7] =
    ["id", "rubric", "rubric_items", "rubric_min_score", "answer", "transcript", "label"];

/// A file of labelled answers.
#[derive(Debug, Clone, PartialEq)]
pub struct Labels {
    /// The answers, in the order of the file.
    pub answers: Vec<LabelledAnswer>,
    /// The SHA-256 digest of the file.
    pub digest: Digest,
}

/// Reads the file at `path`; `shown` is its name for people. Every mistake is told at once.
pub fn load(path: &Utf8Path, shown: &Utf8Path) -> Result<Labels, Diagnostics> {
    let mut problems = Problems::new(shown);
    match read_file(path.as_std_path()) {
        Ok(bytes) => read(&bytes, shown, problems),
        Err(problem) => {
            problems.push(problem);
            Err(problems.finish())
        }
    }
}

fn read(bytes: &[u8], shown: &Utf8Path, mut problems: Problems) -> Result<Labels, Diagnostics> {
    let elements = match shown.extension().map(str::to_ascii_lowercase).as_deref() {
        Some("jsonl" | "ndjson") => lines(bytes, &mut problems),
        Some("json") => elements(json(bytes, &mut problems), &mut problems),
        Some("yaml" | "yml") => elements(yaml(bytes, &mut problems), &mut problems),
        _ => {
            let message = "is of no kind that is known by its ending";
            let hint = "write the labels as .jsonl, .json, .yaml or .yml";
            problems.push(Diagnostic::error(message).hint(hint));
            Vec::new()
        }
    };
    let mut answers = Vec::with_capacity(elements.len().min(MAX_ANSWERS));
    let mut first: BTreeMap<String, Location> = BTreeMap::new();
    for (index, element) in elements.iter().enumerate() {
        if index == MAX_ANSWERS {
            let message = format!("more than {MAX_ANSWERS} answers; split the file");
            problems.push(Diagnostic::error(message).at(element.location));
            break;
        }
        let Some(answer) = answer(&Field::root(element), index, &mut problems) else { continue };
        if let Some(Location { line, .. }) = first.get(&answer.id) {
            let id = &answer.id;
            let message = format!("an earlier answer, at line {line}, has the id `{id}`");
            problems.push(Diagnostic::error(message).at(element.location));
        } else {
            first.insert(answer.id.clone(), element.location);
        }
        answers.push(answer);
    }
    if answers.is_empty() && !problems.has_errors() {
        problems.push(Diagnostic::error("there are no answers in it"));
    }
    if problems.has_errors() {
        return Err(problems.finish());
    }
    Ok(Labels { answers, digest: Digest::of(bytes) })
}

/// The elements of a list.
fn elements(root: Option<Node>, problems: &mut Problems) -> Vec<Node> {
    let Some(root) = root else { return Vec::new() };
    if let Kind::Array(elements) = root.kind {
        return elements;
    }
    problems.push(Field::root(&root).expected("a list of answers"));
    Vec::new()
}

/// One element a line; blank lines are none.
fn lines(bytes: &[u8], problems: &mut Problems) -> Vec<Node> {
    let mut elements = Vec::new();
    let mut faulty = 0;
    for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let above = u32::try_from(index).unwrap_or(u32::MAX);
        let mut of_line = Problems::new(Utf8Path::new(""));
        match json(line, &mut of_line) {
            Some(mut node) if !of_line.has_errors() => {
                move_down(&mut node, above);
                elements.push(node);
            }
            _ => {
                // Once more where it stands, for the places in messages.
                let padded = [&b"\n".repeat(index), line].concat();
                elements.extend(json(&padded, problems));
                faulty += 1;
            }
        }
        // Reading on would take time and memory for nothing that anybody gets to see.
        if elements.len() > MAX_ANSWERS || faulty == MAX_LISTED {
            break;
        }
    }
    elements
}

/// Puts a value of one line where the line stands in the file.
fn move_down(node: &mut Node, lines: u32) {
    node.location.line = node.location.line.saturating_add(lines);
    match &mut node.kind {
        Kind::Array(elements) => elements.iter_mut().for_each(|node| move_down(node, lines)),
        Kind::Object(members) => {
            for Member { key_location, value, .. } in members {
                key_location.line = key_location.line.saturating_add(lines);
                move_down(value, lines);
            }
        }
        Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::String(_) => {}
    }
}

fn answer(field: &Field<'_>, index: usize, problems: &mut Problems) -> Option<LabelledAnswer> {
    let object = Object::at(field, "an answer object", problems)?;
    object.deny_unknown(&KEYS, problems);
    let id = object.or("id", format!("#{}", index + 1), problems, non_blank);
    let rubric = read_rubric(&object, problems);
    if matches!(rubric, Some(None)) {
        problems.push(field.error("`rubric` is missing"));
    }
    let key = match (object.get("answer"), object.get("transcript")) {
        (Some(_), Some(both)) => {
            let message = "stands beside `answer`, which is the same thing";
            problems.push(object.key_error(both, message).hint("remove one of them"));
            return None;
        }
        (None, Some(_)) => "transcript",
        _ => "answer",
    };
    let answer = object.required(key, problems, |field, problems| {
        let text = text(field, problems)?;
        if text.trim().is_empty() {
            problems.push(field.error("is blank, so that there is nothing to judge"));
            return None;
        }
        Some(text)
    });
    let label = object.required("label", problems, label);
    Some(LabelledAnswer { id: id?, rubric: rubric??, answer: answer?, label: label? })
}

fn label(field: &Field<'_>, problems: &mut Problems) -> Option<HumanLabel> {
    match &field.node().kind {
        Kind::Bool(passes) => Some(HumanLabel::Verdict(*passes)),
        Kind::Number(_) => read_score(field, problems).map(HumanLabel::Score),
        _ => {
            problems.push(field.expected("`true`, `false` or a number from 0 to 1"));
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(name: &str, text: &str) -> Result<Vec<LabelledAnswer>, String> {
        let shown = Utf8Path::new(name);
        read(text.as_bytes(), shown, Problems::new(shown))
            .map(|labels| labels.answers)
            .map_err(|problems| problems.to_string())
    }

    #[test]
    fn every_format_says_the_same() {
        let lines = "{\"rubric\": \"r\", \"answer\": \"a\", \"label\": true}\r\n\n\
                     {\"id\": \"x\", \"rubric_items\": [{\"text\": \"t\"}], \"transcript\": \"b\", \
                     \"label\": 0.5, \"rubric_min_score\": 0.4}\n";
        let list = "- {rubric: r, answer: a, label: true}\n\
                    - {id: x, rubric_items: [{text: t}], transcript: b, label: 0.5, \
                    rubric_min_score: 0.4}\n";
        let read = parse("l.jsonl", lines).expect("sound");
        assert_eq!(parse("l.YML", list).expect("sound"), read);
        let array = format!("[{}]", lines.trim().replace("\r\n\n", ","));
        assert_eq!(parse("l.json", &array).expect("sound"), read);
        assert_eq!((read[0].id.as_str(), read[1].id.as_str()), ("#1", "x"));
        assert!(read[0].people_pass() && read[1].people_pass() && !read[1].passes(0.3));
        assert_eq!(read[1].label, HumanLabel::Score(0.5));
    }

    #[test]
    fn every_mistake_is_told_with_its_place() {
        let lines = r#"{"rubric": "r", "answer": "a", "label": "yes"}
{"rubric": "r", "anwser": "a", "label": true}
not json
{"id": "same", "rubric": "r", "answer": " ", "label": 1.5}
{"id": "same", "answer": "a", "transcript": "a", "label": true}
[1]
{"id": "twice", "rubric": "r", "answer": "a", "label": true}
{"id": "twice", "rubric": "r", "answer": "a", "label": false, "label": true}
"#;
        insta::assert_snapshot!(parse("l.jsonl", lines).unwrap_err(), @r#"
        l.jsonl:1:41: label: expected `true`, `false` or a number from 0 to 1, found "yes"
        l.jsonl:2:1: `answer` is missing
        l.jsonl:2:17: anwser: unknown key (hint: did you mean `answer`?)
        l.jsonl:3:1: expected a value, found `not` (hint: put strings in double quotes)
        l.jsonl:4:41: answer: is blank, so that there is nothing to judge
        l.jsonl:4:55: label: expected a number from 0 to 1, found 1.5
        l.jsonl:5:1: `rubric` is missing
        l.jsonl:5:31: transcript: stands beside `answer`, which is the same thing (hint: remove one of them)
        l.jsonl:6:1: expected an answer object, found a list
        l.jsonl:8:1: an earlier answer, at line 7, has the id `twice`
        l.jsonl:8:63: label: duplicate key; the first one is at 8:47 (hint: remove one of them)
        "#);
    }

    #[test]
    fn what_is_no_list_of_answers() {
        for (name, text, fault) in [
            ("l.json", "{}", "expected a list of answers"),
            ("l.json", "[]", "there are no answers"),
            ("l.jsonl", "\n\n", "there are no answers"),
            ("l.yaml", "", "found an empty file"),
            ("l.csv", "a,b", "write the labels as"),
            ("labels", "[]", "write the labels as"),
        ] {
            let error = parse(name, text).expect_err(name);
            assert!(error.contains(fault), "{name}: {error}");
        }
        let missing = load("/nonexistent/l.json".into(), "l.json".into()).expect_err("no file");
        assert_eq!(missing.to_string(), "l.json: does not exist");
        let many = "{\"rubric\":\"r\",\"answer\":\"a\",\"label\":true}\n".repeat(MAX_ANSWERS + 2);
        let error = parse("l.jsonl", &many).expect_err("too many");
        assert_eq!(error, "l.jsonl:10001:1: more than 10000 answers; split the file");
    }
}
