//! Letta: the response of an agent.

use proctor_model::json::Json;
use proctor_model::recorded::report::Subject;

use super::shape::Reader;
use super::{Adapter, Draft};

pub(super) const ADAPTER: Adapter = Adapter {
    name: "letta",
    reads: "`{messages: [{message_type: assistant_message, content, name}], stop_reason: \
            {stop_reason}}`: the last message of the assistant, when the agent ended its turn",
    subject: Subject::Answer,
    orders_rows: false,
    read,
};

/// Reasons to stop after which a turn is complete.
const COMPLETE: [&str; 3] = ["end_turn", "tool_rule", "no_tool_call"];

fn read<'p>(reader: &mut Reader, payload: &'p Json<'p>, _: Option<&str>) -> Draft<'p> {
    let Some(payload) = reader.payload(payload) else { return Draft::default() };
    let messages = payload.required_rows(reader, "messages");
    let last = messages.iter().rfind(|message| {
        message.get("message_type").and_then(Json::as_str) == Some("assistant_message")
    });
    let content = last.and_then(|message| message.content(reader, "content"));
    let name = last.and_then(|message| message.text(reader, "name"));
    let stop =
        payload.object(reader, "stop_reason").and_then(|stop| stop.text(reader, "stop_reason"));
    match stop {
        Some(stop) if !COMPLETE.contains(&stop) => Draft::nothing(stopped(stop)),
        _ => Draft { entity: name, ..Draft::answer(content) },
    }
}

/// The note for a turn that was not completed. Only what looks like one of Letta's words is
/// repeated, since notes stand in reports.
fn stopped(reason: &str) -> String {
    let word = reason.len() <= 64 && reason.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    format!("stop_reason:{}", if word { reason } else { "other" })
}
