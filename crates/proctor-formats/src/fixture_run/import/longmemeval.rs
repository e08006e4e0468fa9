//! `LongMemEval`: a question file and the hypotheses of a system.
//!
//! | question | category | kind | checks |
//! |---|---|---|---|
//! | type `knowledge-update` | forgetting | positive | `mustContain` the gold answer |
//! | type `temporal-reasoning` | chronology | positive | `mustContain` the gold answer |
//! | type `single-session-preference` | entity-confusion | positive | none: its gold is a rubric |
//! | other types | entity-confusion | positive | `mustContain` the gold answer |
//! | id ends in `_abs` | by its type | missing-data | abstention, see below |
//!
//! An `_abs` question asks for what was never told, and its gold answer explains that. The right
//! answer abstains, in one of many ways, and contract version 1 has no "any of". So the way in which
//! the answer at hand abstains is what `mustContain` lists, or [`ABSTAINS`] when it does not. The
//! gold of the question from which the `_abs` question was made (the same id without the ending) is
//! what it tempts to say: `mustNotContain`, where that question is in the file.

use std::collections::BTreeMap;

use proctor_model::recorded::run::{Category, Kind};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::gold::{abstention, anchor};
use super::{Draft, ImportError, Imported, Importer, Input, answered, json_lines};

const QUESTIONS: &str =
    "a LongMemEval question file, `[{question_id, question_type, question, answer}]`";
const HYPOTHESES: &str = "a LongMemEval hypothesis file, a line `{question_id, hypothesis}` each";

pub(super) const IMPORTER: Importer =
    Importer { name: "longmemeval", reads: QUESTIONS, answers: Some(HYPOTHESES), run };

/// What an answer that does not abstain is held against.
const ABSTAINS: &str = "I don't know";

/// Ending of the ids of questions about what was never told.
const ABSENT: &str = "_abs";

/// The members that matter; sessions are passed over without being kept.
#[derive(Debug, Deserialize)]
struct Question {
    #[serde(rename = "question_id")]
    id: String,
    #[serde(default, rename = "question_type")]
    kind: Option<String>,
    #[serde(default, rename = "question")]
    text: Value,
    #[serde(default)]
    answer: Value,
    #[serde(default, rename = "question_date")]
    date: Value,
    #[serde(default)]
    answer_session_ids: Value,
}

fn run(input: Input<'_>) -> Result<Imported, ImportError> {
    let questions: Vec<Question> = serde_json::from_reader(input.file)
        .map_err(|source| ImportError::File { expected: QUESTIONS, source })?;
    let mut hypotheses: BTreeMap<String, Vec<Map<String, Value>>> = BTreeMap::new();
    let mut imported = Imported::default();
    if let Some(file) = input.answers {
        for line in json_lines(file, HYPOTHESES)? {
            match line.get("question_id").and_then(Value::as_str) {
                Some(id) => hypotheses.entry(id.to_owned()).or_default().push(line),
                None => imported.unmapped("a hypothesis", "it has no `question_id`"),
            }
        }
    }
    let golds: BTreeMap<&str, &Value> =
        questions.iter().map(|question| (question.id.as_str(), &question.answer)).collect();
    for question in &questions {
        let lines = hypotheses.remove(&question.id).unwrap_or_default();
        if lines.is_empty() {
            of_question(question, &golds, None, &mut imported);
        }
        for line in &lines {
            of_question(question, &golds, Some(line), &mut imported);
        }
    }
    for id in hypotheses.keys() {
        imported.unmapped(format!("hypothesis {id}"), "the question file has no such question");
    }
    Ok(imported)
}

fn of_question(
    question: &Question,
    golds: &BTreeMap<&str, &Value>,
    line: Option<&Map<String, Value>>,
    imported: &mut Imported,
) {
    let hypothesis = line.and_then(|line| line.get("hypothesis"));
    let base = question.id.strip_suffix(ABSENT);
    let expected = match base {
        Some(base) => abstains(golds.get(base).copied(), hypothesis),
        None => contains_gold(question, imported),
    };
    imported.runs.push(
        Draft {
            id: &question.id,
            category: match question.kind.as_deref() {
                Some("knowledge-update") => Category::Forgetting,
                Some("temporal-reasoning") => Category::Chronology,
                _ => Category::EntityConfusion,
            },
            kind: if base.is_some() { Kind::MissingData } else { Kind::Positive },
            query: question.text.clone(),
            source: json!({
                "dataset": "LongMemEval",
                "questionType": question.kind,
                "questionDate": question.date,
                "goldAnswer": question.answer,
                "answerSessionIds": question.answer_session_ids,
            }),
            expected,
            actual: line.map(|_| answered(hypothesis)),
        }
        .finish(),
    );
}

fn contains_gold(question: &Question, imported: &mut Imported) -> Map<String, Value> {
    let gold = if question.kind.as_deref() == Some("single-session-preference") {
        Err("its gold answer is a rubric for a judge; without a check the run is `unknown`")
    } else {
        anchor(&question.answer)
    };
    match gold {
        Ok(gold) => Map::from_iter([("mustContain".to_owned(), json!([gold]))]),
        Err(why) => {
            imported.unmapped(format!("question {}", question.id), why);
            Map::new()
        }
    }
}

fn abstains(tempting: Option<&Value>, hypothesis: Option<&Value>) -> Map<String, Value> {
    let phrase = hypothesis.and_then(Value::as_str).and_then(abstention);
    let phrase = phrase.unwrap_or_else(|| ABSTAINS.to_owned());
    let mut expected = Map::from_iter([("mustContain".to_owned(), json!([phrase]))]);
    if let Some(Ok(tempting)) = tempting.map(anchor) {
        expected.insert("mustNotContain".to_owned(), json!([tempting]));
    }
    expected
}
