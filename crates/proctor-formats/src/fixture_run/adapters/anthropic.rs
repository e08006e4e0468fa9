//! Anthropic Messages.

use proctor_model::json::Json;
use proctor_model::recorded::report::Subject;

use super::shape::{Reader, concatenated};
use super::{Adapter, Draft};

pub(super) const ADAPTER: Adapter = Adapter {
    name: "anthropic",
    reads: "a Messages response, `{content: [{type: text, text}], stop_reason}`: the text blocks, \
            not thinking or tools",
    subject: Subject::Answer,
    orders_rows: false,
    read,
};

fn read<'p>(reader: &mut Reader, payload: &'p Json<'p>, _: Option<&str>) -> Draft<'p> {
    let Some(payload) = reader.payload(payload) else { return Draft::default() };
    let blocks = payload.required_rows(reader, "content");
    let stop = payload.text(reader, "stop_reason");
    let texts: Vec<_> = blocks
        .iter()
        .filter(|block| block.get("type").and_then(Json::as_str) == Some("text"))
        .map(|block| block.required_text(reader, "text"))
        .collect();
    Draft {
        truncated: matches!(stop, Some("max_tokens" | "model_context_window_exceeded")),
        refusal: stop == Some("refusal"),
        ..Draft::answer(concatenated(texts.into_iter()))
    }
}
