//! Small looks into JSON objects whose shape nobody guarantees.

use serde_json::{Map, Value};

/// A JSON object.
pub(crate) type Object = Map<String, Value>;

/// A string member.
pub(crate) fn text<'a>(object: &'a Object, key: &str) -> Option<&'a str> {
    object.get(key)?.as_str()
}

/// A string member, owned.
pub(crate) fn owned(object: &Object, key: &str) -> Option<String> {
    text(object, key).map(str::to_owned)
}

/// A whole number that is not negative. Numbers too large for the type count as absent.
pub(crate) fn number<N: TryFrom<u64>>(object: &Object, key: &str) -> Option<N> {
    N::try_from(object.get(key)?.as_u64()?).ok()
}

/// An object member.
pub(crate) fn object<'a>(object: &'a Object, key: &str) -> Option<&'a Object> {
    object.get(key)?.as_object()
}

/// The elements of an array member; none when it is absent or something else.
pub(crate) fn array<'a>(object: &'a Object, key: &str) -> &'a [Value] {
    object.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The strings of an array member; elements of other types are left out.
pub(crate) fn strings(object: &Object, key: &str) -> Vec<String> {
    array(object, key).iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The start of a text: all of it up to `limit` characters, otherwise whole words and `…`.
///
/// Secrets are found by their whole value later on, so none must be cut in two here.
pub(crate) fn excerpt(text: &str, limit: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(limit) else { return text.to_owned() };
    let start = text.get(..end).unwrap_or_default();
    let words = start.rfind(ends_word).and_then(|last| text.get(..last)).unwrap_or_default();
    format!("{}…", words.trim_end())
}

/// White space, and what stands between the values of JSON and around addresses.
fn ends_word(c: char) -> bool {
    c.is_whitespace()
        || matches!(c, '"' | ',' | ';' | '{' | '}' | '[' | ']' | '(' | ')' | '<' | '>')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn members_of_other_types_count_as_absent() {
        let value = json!({"s": 1, "n": "x", "neg": -1, "big": 70_000, "a": {"b": 1}});
        let map = value.as_object().unwrap();
        assert_eq!(text(map, "s"), None);
        assert_eq!(number::<u64>(map, "n"), None);
        assert_eq!(number::<u64>(map, "neg"), None);
        assert_eq!(number::<u16>(map, "big"), None);
        assert_eq!(number::<u32>(map, "big"), Some(70_000));
        assert!(array(map, "a").is_empty());
        assert!(strings(map, "missing").is_empty());
    }

    #[test]
    fn excerpts_never_cut_inside_a_character_or_a_word() {
        assert_eq!(excerpt("äöü", 3), "äöü");
        assert_eq!(excerpt("äö ü ß", 5), "äö ü…");
        assert_eq!(excerpt("key=abcdef rest", 8), "…");
        assert_eq!(excerpt(r#"{"token":"abcdef"}"#, 13), r#"{"token":…"#);
        assert_eq!(excerpt("", 0), "");
    }
}
