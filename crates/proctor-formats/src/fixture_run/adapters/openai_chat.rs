//! `OpenAI` Chat Completions.

use std::borrow::Cow;

use proctor_model::json::Json;
use proctor_model::recorded::report::Subject;

use super::shape::Reader;
use super::{Adapter, Draft};

pub(super) const ADAPTER: Adapter = Adapter {
    name: "openai-chat",
    reads: "a Chat Completions response, `{choices: [{message: {content, refusal, tool_calls}, \
            finish_reason}]}`: the text of the first choice",
    subject: Subject::Answer,
    orders_rows: false,
    read,
};

fn read<'p>(reader: &mut Reader, payload: &'p Json<'p>, _: Option<&str>) -> Draft<'p> {
    let Some(payload) = reader.payload(payload) else { return Draft::default() };
    let choices = payload.required_rows(reader, "choices");
    let Some(choice) = choices.first() else { return Draft::answer(None) };
    let finish = choice.text(reader, "finish_reason");
    let Some(message) = choice.object(reader, "message") else { return Draft::answer(None) };
    let content = message.content(reader, "content");
    let refusal = message.text(reader, "refusal");
    let calls = message.list(reader, "tool_calls").is_some_and(|calls| !calls.is_empty());
    // Vendors write an empty text beside calls where the API itself writes null.
    let content = content.filter(|text| !(calls && text.is_empty()));
    let refused = content.is_none() && refusal.is_some();
    Draft {
        truncated: matches!(finish, Some("length" | "content_filter")),
        refusal: refused,
        ..Draft::answer(content.or(refusal.map(Cow::Borrowed)))
    }
}
