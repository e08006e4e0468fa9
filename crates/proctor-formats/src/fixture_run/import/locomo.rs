//! `LoCoMo`: question files, with the answers of a system beside them or in them.
//!
//! Three shapes are read: the question file itself (`[{sample_id, qa: [...]}]`) with answers from a
//! second file; the same with the predictions that the set's own scripts write into each question
//! (`NAME_prediction`); and lists of answered questions (`{question, answer, golden_answer,
//! category}`), bare or under a name.
//!
//! | category number | category | kind | checks |
//! |---|---|---|---|
//! | 2 | chronology | positive | `mustContain` the gold answer |
//! | 5 | entity-confusion | adversarial | `mustNotContain` the adversarial answer, and `mustContain` the gold answer of those that have one |
//! | others | entity-confusion | positive | `mustContain` the gold answer |
//!
//! The file never says what the numbers mean, and sources disagree. The number is kept, the name
//! stands beside it as reported.

use std::collections::BTreeMap;

use proctor_model::recorded::run::{Category, Kind};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};

use super::gold::anchor;
use super::{Draft, ImportError, Imported, Importer, Input, answered, json_lines};

const QUESTIONS: &str = "a LoCoMo question file, `[{sample_id, qa: [{question, answer, \
                         adversarial_answer, category}]}]`, or answered questions, `[{question, \
                         answer, golden_answer, category}]`";
const ANSWERS: &str = "answers, a line `{question, answer, sample_id?}` each";

pub(super) const IMPORTER: Importer =
    Importer { name: "locomo", reads: QUESTIONS, answers: Some(ANSWERS), run };

/// Ending of the keys under which the set's own scripts write what a system said.
const PREDICTION: &str = "_prediction";

const ADVERSARIAL: u64 = 5;

/// A conversation with its questions, or an answered question. Conversations themselves are passed
/// over without being kept.
#[derive(Debug, Deserialize)]
struct Element {
    #[serde(default)]
    sample_id: Option<String>,
    #[serde(default)]
    qa: Option<Vec<Map<String, Value>>>,
    #[serde(default)]
    question: Value,
    #[serde(default)]
    answer: Value,
    #[serde(default)]
    golden_answer: Value,
    #[serde(default)]
    adversarial_answer: Value,
    #[serde(default)]
    category: Value,
}

/// The elements of a list, or of the lists under the keys of an object.
struct Elements(Vec<(Option<String>, Element)>);

impl<'de> Deserialize<'de> for Elements {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Lists;
        impl<'de> Visitor<'de> for Lists {
            type Value = Elements;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a list, or an object of lists")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Elements, A::Error> {
                let mut elements = Vec::new();
                while let Some(element) = list.next_element()? {
                    elements.push((None, element));
                }
                Ok(Elements(elements))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Elements, A::Error> {
                let mut elements = Vec::new();
                while let Some((name, list)) = map.next_entry::<String, Vec<Element>>()? {
                    elements.extend(list.into_iter().map(|element| (Some(name.clone()), element)));
                }
                Ok(Elements(elements))
            }
        }
        deserializer.deserialize_any(Lists)
    }
}

/// A question, whatever shape it came in.
struct Question {
    id: String,
    sample: Option<String>,
    text: Value,
    gold: Value,
    adversarial: Value,
    category: Value,
    evidence: Value,
    /// What systems said, by the name of the system if it is told.
    answers: Vec<(Option<String>, Value)>,
}

fn run(input: Input<'_>) -> Result<Imported, ImportError> {
    let Elements(elements) = serde_json::from_reader(input.file)
        .map_err(|source| ImportError::File { expected: QUESTIONS, source })?;
    let mut questions = questions(elements);
    let mut imported = Imported::default();
    if let Some(file) = input.answers {
        join(&mut questions, json_lines(file, ANSWERS)?, &mut imported);
    }
    for question in &questions {
        if reported(&question.category).is_none() {
            let what = format!(
                "its category is {}, and not a number from 1 to 5; taken as entity-confusion",
                question.category
            );
            imported.unmapped(&question.id, what);
        }
        let expected = expected(question, &mut imported);
        if question.answers.is_empty() {
            imported.runs.push(draft(question, expected.clone(), None));
        }
        for answer in &question.answers {
            imported.runs.push(draft(question, expected.clone(), Some(answer)));
        }
    }
    Ok(imported)
}

fn questions(elements: Vec<(Option<String>, Element)>) -> Vec<Question> {
    let mut questions = Vec::new();
    // Places count within a conversation, and over the file for questions that name none.
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for (name, element) in elements {
        let sample = element.sample_id.or(name);
        let prefix = sample.clone().unwrap_or_else(|| "locomo".to_owned());
        let mut id = || {
            let place = places.entry(prefix.clone()).or_default();
            *place += 1;
            format!("{prefix}-q{place}")
        };
        match element.qa {
            Some(qa) => questions.extend(qa.iter().map(|qa| {
                let member = |key: &str| qa.get(key).cloned().unwrap_or_default();
                let predictions = qa.iter().filter_map(|(key, said)| {
                    Some((Some(key.strip_suffix(PREDICTION)?.to_owned()), said.clone()))
                });
                Question {
                    id: id(),
                    sample: sample.clone(),
                    text: member("question"),
                    gold: member("answer"),
                    adversarial: member("adversarial_answer"),
                    category: member("category"),
                    evidence: member("evidence"),
                    answers: predictions.collect(),
                }
            })),
            None => questions.push(Question {
                id: id(),
                sample,
                text: element.question,
                gold: element.golden_answer,
                adversarial: element.adversarial_answer,
                category: element.category,
                evidence: Value::Null,
                answers: if element.answer.is_null() {
                    Vec::new()
                } else {
                    vec![(None, element.answer)]
                },
            }),
        }
    }
    questions
}

/// Gives each answer to the question with the same text, in the same conversation if one is named.
fn join(questions: &mut [Question], answers: Vec<Map<String, Value>>, imported: &mut Imported) {
    let mut by_text: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, question) in questions.iter().enumerate() {
        if let Some(text) = question.text.as_str() {
            by_text.entry(text.to_owned()).or_default().push(at);
        }
    }
    for mut line in answers {
        let text = line.get("question").and_then(Value::as_str).unwrap_or_default();
        let sample = line.get("sample_id").and_then(Value::as_str);
        let candidates: Vec<usize> = by_text
            .get(text)
            .into_iter()
            .flatten()
            .copied()
            .filter(|at| sample.is_none() || questions[*at].sample.as_deref() == sample)
            .collect();
        let place = format!("the answer to {text:?}");
        match candidates[..] {
            [at] => {
                let said = line.remove("answer").unwrap_or_default();
                questions[at].answers.push((None, said));
            }
            [] => imported.unmapped(place, "the question file has no such question"),
            _ => imported.unmapped(
                place,
                "several conversations have this question; name one with `sample_id`",
            ),
        }
    }
}

fn expected(question: &Question, imported: &mut Imported) -> Map<String, Value> {
    let mut expected = Map::new();
    let adversarial = question.category.as_u64() == Some(ADVERSARIAL);
    let (gold, tempting) = (anchor(&question.gold), anchor(&question.adversarial));
    if adversarial && gold.is_ok() && gold == tempting {
        imported.unmapped(
            &question.id,
            "the gold answer is the adversarial answer too; without a check the run is `unknown`",
        );
        return expected;
    }
    match tempting {
        Ok(value) if adversarial => {
            expected.insert("mustNotContain".to_owned(), json!([value]));
        }
        Err(_) if adversarial => imported.unmapped(
            &question.id,
            "the adversarial answer is missing or a sentence, so that nothing can be looked for",
        ),
        _ => {}
    }
    match gold {
        Ok(gold) => {
            expected.insert("mustContain".to_owned(), json!([gold]));
        }
        Err(_) if adversarial && question.gold.is_null() => {}
        Err(why) => imported.unmapped(&question.id, why),
    }
    expected
}

/// What most sources call the category with this number.
fn reported(category: &Value) -> Option<&'static str> {
    match category.as_u64()? {
        1 => Some("multi-hop"),
        2 => Some("temporal"),
        3 => Some("open-domain"),
        4 => Some("single-hop"),
        ADVERSARIAL => Some("adversarial"),
        _ => None,
    }
}

fn draft(
    question: &Question,
    expected: Map<String, Value>,
    answer: Option<&(Option<String>, Value)>,
) -> Value {
    let (category, kind) = match question.category.as_u64() {
        Some(2) => (Category::Chronology, Kind::Positive),
        Some(ADVERSARIAL) => (Category::EntityConfusion, Kind::Adversarial),
        _ => (Category::EntityConfusion, Kind::Positive),
    };
    Draft {
        id: &question.id,
        category,
        kind,
        query: question.text.clone(),
        source: json!({
            "dataset": "LoCoMo",
            "sampleId": question.sample,
            "category": question.category,
            "categoryNameAsReported": reported(&question.category),
            "goldAnswer": question.gold,
            "evidence": question.evidence,
            "system": answer.and_then(|(system, _)| system.as_ref()),
        }),
        expected,
        actual: answer.map(|(_, said)| answered(Some(said))),
    }
    .finish()
}
