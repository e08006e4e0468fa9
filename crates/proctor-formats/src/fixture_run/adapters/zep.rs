//! Zep: the context of a thread, or edges of the graph.

use std::borrow::Cow;

use proctor_model::json::Json;
use proctor_model::recorded::report::Subject;

use super::order::by_field;
use super::shape::{Reader, View, agreed};
use super::{Adapter, Draft, note};

pub(super) const ADAPTER: Adapter = Adapter {
    name: "zep",
    reads: "`{context}` as it is, or `{edges: [{fact, valid_at, invalid_at, expired_at, \
            source_node_name}]}`: the facts that have not ended; `order` has all by `valid_at`",
    subject: Subject::Retrieval,
    orders_rows: true,
    read,
};

fn read<'p>(reader: &mut Reader, payload: &'p Json<'p>, order_by: Option<&str>) -> Draft<'p> {
    let Some(payload) = reader.payload(payload) else { return Draft::default() };
    match (payload.get("context"), payload.get("edges")) {
        (Some(_), None) => of_context(payload.text(reader, "context").unwrap_or_default()),
        (None, Some(_)) => of_edges(reader, &payload, order_by),
        (Some(_), Some(_)) => {
            reader.foreign("found an object with both `context` and `edges`");
            Draft::default()
        }
        (None, None) => {
            reader.foreign("found an object with neither `context` nor `edges`");
            Draft::default()
        }
    }
}

fn of_context(context: &str) -> Draft<'_> {
    if context.trim().is_empty() {
        return Draft::nothing(note::NOTHING_RETRIEVED);
    }
    let mut draft = Draft::answer(Some(Cow::Borrowed(context)));
    if context.lines().any(has_ended) {
        draft.notes.push(note::CONTAINS_ENDED_FACTS.into());
    }
    draft
}

/// Whether a line ends in a range of dates of which the second is a date and not `present`.
fn has_ended(line: &str) -> bool {
    let Some(range) = line.trim_end().strip_suffix(')').and_then(|line| line.rsplit_once('('))
    else {
        return false;
    };
    range
        .1
        .rsplit_once(" - ")
        .is_some_and(|(_, end)| end.trim().starts_with(|c: char| c.is_ascii_digit()))
}

fn of_edges<'p>(reader: &mut Reader, payload: &View<'p>, order_by: Option<&str>) -> Draft<'p> {
    let edges = payload.rows(reader, "edges");
    if edges.is_empty() {
        return Draft::nothing(note::NOTHING_RETRIEVED);
    }
    let names: Vec<_> = edges.iter().map(|edge| edge.text(reader, "source_node_name")).collect();
    let facts: Vec<_> = edges.iter().map(|edge| edge.required_text(reader, "fact")).collect();
    let places = by_field(&edges, order_by.unwrap_or("valid_at"), Some("uuid"));
    let current: Vec<&str> = edges
        .iter()
        .zip(&facts)
        .filter(|(edge, _)| edge.get("invalid_at").is_none() && edge.get("expired_at").is_none())
        .filter_map(|(_, fact)| *fact)
        .collect();
    let all = Draft::retrieved(&facts, places);
    let mut draft = Draft { entity: agreed(names.into_iter()), answer: None, ..all };
    if current.is_empty() {
        draft.notes.push(note::NO_CURRENT_FACTS.into());
    } else {
        draft.answer = Some(Json::String(current.join("\n").into()));
    }
    draft
}
