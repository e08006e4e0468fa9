//! `LoCoMo`: an answered question, as the Zep papers' result files have it.

use proctor_model::json::Json;
use proctor_model::recorded::report::Subject;

use super::shape::Reader;
use super::{Adapter, Draft, note};

pub(super) const ADAPTER: Adapter = Adapter {
    name: "locomo",
    reads: "an answered question, `{question, answer, golden_answer, category}`: `answer`",
    subject: Subject::Answer,
    orders_rows: false,
    read,
};

fn read<'p>(reader: &mut Reader, payload: &'p Json<'p>, _: Option<&str>) -> Draft<'p> {
    let Some(payload) = reader.payload(payload) else { return Draft::default() };
    if payload.get("question").is_none() && payload.get("answer").is_none() {
        reader.foreign("found an object with neither `question` nor `answer`");
    }
    match payload.scalar(reader, "answer") {
        Some(answer) => Draft { answer: Some(answer.clone()), ..Draft::default() },
        None => Draft::nothing(note::NO_ANSWER_TEXT),
    }
}
