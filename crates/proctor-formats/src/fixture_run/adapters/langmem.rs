//! `LangMem`: items of a `LangGraph` store.

use proctor_model::json::Json;
use proctor_model::recorded::report::Subject;

use super::order::by_rank_or_field;
use super::shape::{PAYLOAD, Reader, View, agreed};
use super::{Adapter, Draft};

pub(super) const ADAPTER: Adapter = Adapter {
    name: "langmem",
    reads: "a list of store items, `[{namespace, key, value: {content}}]`: the contents in the \
            order of the list",
    subject: Subject::Retrieval,
    orders_rows: true,
    read,
};

fn read<'p>(reader: &mut Reader, payload: &'p Json<'p>, order_by: Option<&str>) -> Draft<'p> {
    let Json::Array(items) = payload else {
        reader.foreign("found no list");
        return Draft::default();
    };
    let rows = reader.rows(items, PAYLOAD);
    let contents: Vec<_> = rows.iter().map(|row| content(reader, row)).collect();
    let owners: Vec<_> = rows.iter().map(|row| owner(reader, row)).collect();
    let places = by_rank_or_field(&rows, order_by);
    Draft { entity: agreed(owners.into_iter()), ..Draft::retrieved(&contents, places) }
}

/// `value.content` of an item, or `value.content.content` where a schema wraps it.
fn content<'p>(reader: &mut Reader, row: &View<'p>) -> Option<&'p str> {
    let Some(value) = row.object(reader, "value") else {
        if row.get("value").is_none() {
            reader.missing(row, "value", "an object");
        }
        return None;
    };
    match value.get("content") {
        Some(Json::Object(_)) => value.object(reader, "content")?.required_text(reader, "content"),
        _ => value.required_text(reader, "content"),
    }
}

/// The last segment of the namespace.
fn owner<'p>(reader: &mut Reader, row: &View<'p>) -> Option<&'p str> {
    row.list(reader, "namespace")?.last()?.as_str()
}
