//! A conversation written down as roles and contents, or as speakers and texts.

use proctor_model::json::Json;
use proctor_model::recorded::report::Subject;

use super::shape::{Reader, View};
use super::{Adapter, Draft};

pub(super) const ADAPTER: Adapter = Adapter {
    name: "transcript",
    reads: "`{messages: [{role, content}]}` or `{turns: [{speaker, text}], answer_speaker?}`, and \
            `order?`: the last message of the assistant, or of `answer_speaker`",
    subject: Subject::Answer,
    orders_rows: false,
    read,
};

/// Who answers when `answer_speaker` is not given.
const ASSISTANT: &str = "assistant";

fn read<'p>(reader: &mut Reader, payload: &'p Json<'p>, _: Option<&str>) -> Draft<'p> {
    let Some(payload) = reader.payload(payload) else { return Draft::default() };
    let mut draft = match (payload.get("messages"), payload.get("turns")) {
        (Some(_), None) => of_messages(reader, &payload),
        (None, Some(_)) => of_turns(reader, &payload),
        (Some(_), Some(_)) => {
            reader.foreign("found an object with both `messages` and `turns`");
            Draft::default()
        }
        (None, None) => {
            reader.foreign("found an object with neither `messages` nor `turns`");
            Draft::default()
        }
    };
    draft.order = payload.list(reader, "order").map(<[_]>::to_vec);
    draft
}

fn of_messages<'p>(reader: &mut Reader, payload: &View<'p>) -> Draft<'p> {
    let mut last = None;
    for message in payload.rows(reader, "messages") {
        if message.required_text(reader, "role") == Some(ASSISTANT) {
            last = Some(message);
        }
    }
    Draft::answer(last.and_then(|message| message.content(reader, "content")))
}

fn of_turns<'p>(reader: &mut Reader, payload: &View<'p>) -> Draft<'p> {
    let answering = payload.text(reader, "answer_speaker");
    let mut last = None;
    for turn in payload.rows(reader, "turns") {
        let speaker = turn.required_text(reader, "speaker");
        let answers = speaker.is_some_and(|speaker| match answering {
            Some(answering) => speaker == answering,
            None => speaker.eq_ignore_ascii_case(ASSISTANT),
        });
        if answers {
            last = Some((turn, speaker));
        }
    }
    let Some((turn, speaker)) = last else { return Draft::answer(None) };
    let draft = Draft::answer(turn.content(reader, "text"));
    Draft { entity: speaker.filter(|_| draft.answer.is_some()), ..draft }
}
