//! `OpenAI` Responses.

use proctor_model::json::Json;
use proctor_model::recorded::report::Subject;

use super::shape::{Reader, View, concatenated};
use super::{Adapter, Draft};

pub(super) const ADAPTER: Adapter = Adapter {
    name: "openai-responses",
    reads: "a Responses object, `{output: [{type: message, phase, content: [{type, text}]}], \
            status}`: the text parts, only of the final answer where phases are told",
    subject: Subject::Answer,
    orders_rows: false,
    read,
};

fn read<'p>(reader: &mut Reader, payload: &'p Json<'p>, _: Option<&str>) -> Draft<'p> {
    let Some(payload) = reader.payload(payload) else { return Draft::default() };
    let mut messages = payload.required_rows(reader, "output");
    messages.retain(|item| {
        item.get("type").and_then(Json::as_str) == Some("message")
            && matches!(item.get("role").and_then(Json::as_str), None | Some("assistant"))
    });
    let is_final =
        |message: &View<'_>| message.get("phase").and_then(Json::as_str) == Some("final_answer");
    if messages.iter().any(is_final) {
        messages.retain(is_final);
    }
    let mut texts = Vec::new();
    let mut refusal = false;
    for message in &messages {
        for part in message.rows(reader, "content") {
            match part.get("type").and_then(Json::as_str) {
                Some("output_text") => texts.push(part.text(reader, "text")),
                Some("refusal") => {
                    refusal = true;
                    texts.push(part.text(reader, "refusal"));
                }
                _ => {}
            }
        }
    }
    let unfinished = |view: &View<'_>, reader: &mut Reader| {
        view.text(reader, "status").is_some_and(|status| status != "completed")
    };
    let truncated =
        unfinished(&payload, reader) | messages.iter().any(|message| unfinished(message, reader));
    Draft { truncated, refusal, ..Draft::answer(concatenated(texts.into_iter())) }
}
