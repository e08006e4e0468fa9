//! A look at JSON before it is read: how much memory it would take, and what Python writes that is none.

use std::ops::Range;

/// The most values of a document or line. Each takes some 100 bytes when it is held.
pub(super) const MOST: usize = 4_000_000;

/// What Python writes for numbers that are none.
const WORDS: [&[u8]; 3] = [b"NaN", b"Infinity", b"-Infinity"];

/// What was seen.
pub(super) struct Scan {
    /// Values at most: keys do not count.
    pub(super) count: usize,
    /// Where [`WORDS`] stand.
    words: Vec<Range<usize>>,
}

/// Looks at a text that should be JSON, until there are too many values.
pub(super) fn values(json: &[u8]) -> Scan {
    let mut scan = Scan { count: 1, words: Vec::new() };
    let (mut at, mut is_text) = (0, false);
    while let Some(byte) = json.get(at)
        && scan.count.max(scan.words.len()) <= MOST
    {
        match byte {
            b'\\' if is_text => at += 1,
            b'"' => is_text = !is_text,
            b',' | b'[' | b'{' if !is_text => scan.count += 1,
            b'N' | b'I' | b'-' if !is_text => {
                let rest = json.get(at..).unwrap_or_default();
                if let Some(word) = WORDS.iter().find(|word| rest.starts_with(word)) {
                    scan.words.push(at..at + word.len());
                    at += word.len() - 1;
                }
            }
            _ => {}
        }
        at += 1;
    }
    scan
}

impl Scan {
    /// The text that was looked at, with the words of Python as texts.
    pub(super) fn plain(&self, json: Vec<u8>) -> Vec<u8> {
        if self.words.is_empty() {
            return json;
        }
        let mut plain = Vec::with_capacity(json.len() + 2 * self.words.len());
        let mut done = 0;
        for word in &self.words {
            plain.extend_from_slice(json.get(done..word.start).unwrap_or_default());
            plain.push(b'"');
            plain.extend_from_slice(json.get(word.clone()).unwrap_or_default());
            plain.push(b'"');
            done = word.end;
        }
        plain.extend_from_slice(json.get(done..).unwrap_or_default());
        plain
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    #[test]
    fn numbers_that_are_none_become_texts_and_texts_stay() {
        let json = br#"{"a":NaN,"b":[-Infinity,Infinity,-1],"NaN":"\"NaN, [{","c":null}"#;
        let scan = values(json);
        let plain = scan.plain(json.to_vec());
        let expected = r#"{"a":"NaN","b":["-Infinity","Infinity",-1],"NaN":"\"NaN, [{","c":null}"#;
        assert_eq!(String::from_utf8(plain).unwrap(), expected);
        assert_eq!(scan.count, 8);
    }

    fn count(value: &Value) -> usize {
        match value {
            Value::Array(items) => 1 + items.iter().map(count).sum::<usize>(),
            Value::Object(members) => 1 + members.values().map(count).sum::<usize>(),
            _ => 1,
        }
    }

    proptest! {
        #[test]
        fn no_document_has_more_values_than_are_counted(
            texts in prop::collection::vec(any::<String>(), 0..8),
            numbers in prop::collection::vec(any::<i32>(), 0..8),
        ) {
            let value = serde_json::json!({"a": texts, "b": [numbers, {}, []], "c": texts.first()});
            let json = value.to_string().into_bytes();
            let scan = values(&json);
            prop_assert!(count(&value) <= scan.count);
            prop_assert_eq!(scan.plain(json.clone()), json);
        }

        #[test]
        fn any_bytes_are_looked_at(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let scan = values(&bytes);
            prop_assert!(scan.plain(bytes.clone()).len() >= bytes.len());
        }
    }
}
