//! Mem0: search results, listings and the events of `add`.

use proctor_model::json::Json;
use proctor_model::recorded::report::Subject;

use super::order::by_rank_or_field;
use super::shape::{PAYLOAD, Reader, agreed};
use super::{Adapter, Draft};

pub(super) const ADAPTER: Adapter = Adapter {
    name: "mem0",
    reads: "`{results: [{memory, user_id, event}]}` or a bare list: the memories in the order of \
            their rank, without those that an event deleted",
    subject: Subject::Retrieval,
    orders_rows: true,
    read,
};

fn read<'p>(reader: &mut Reader, payload: &'p Json<'p>, order_by: Option<&str>) -> Draft<'p> {
    let mut rows = match payload {
        Json::Array(list) => reader.rows(list, PAYLOAD),
        other => match reader.payload(other) {
            Some(payload) => payload.required_rows(reader, "results"),
            None => return Draft::default(),
        },
    };
    rows.retain(|row| !matches!(row.text(reader, "event"), Some("DELETE" | "NONE")));
    let users: Vec<_> = rows.iter().map(|row| row.text(reader, "user_id")).collect();
    let memories: Vec<_> = rows.iter().map(|row| row.required_text(reader, "memory")).collect();
    let places = by_rank_or_field(&rows, order_by);
    Draft { entity: agreed(users.into_iter()), ..Draft::retrieved(&memories, places) }
}
