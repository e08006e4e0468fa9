//! `LongMemEval`: a line of a hypothesis file.

use std::borrow::Cow;

use proctor_model::json::Json;
use proctor_model::recorded::report::Subject;

use super::shape::Reader;
use super::{Adapter, Draft};

pub(super) const ADAPTER: Adapter = Adapter {
    name: "longmemeval",
    reads: "a line of a hypothesis file, `{question_id, hypothesis}`",
    subject: Subject::Answer,
    orders_rows: false,
    read,
};

fn read<'p>(reader: &mut Reader, payload: &'p Json<'p>, _: Option<&str>) -> Draft<'p> {
    let Some(payload) = reader.payload(payload) else { return Draft::default() };
    if payload.get("question_id").is_none() && payload.get("hypothesis").is_none() {
        reader.foreign("found an object with neither `question_id` nor `hypothesis`");
    }
    Draft::answer(payload.text(reader, "hypothesis").map(Cow::Borrowed))
}
