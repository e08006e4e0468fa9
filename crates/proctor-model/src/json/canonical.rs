//! The canonical form of RFC 8785.

use super::Json;

/// Appends the canonical form of RFC 8785: no white space, keys in the order of their UTF-16 code
/// units, numbers as ECMAScript writes doubles, only mandatory escapes.
///
/// Two texts of the same value have the same canonical form. Numbers must be finite.
pub fn canonical(value: &Json<'_>, out: &mut Vec<u8>) {
    match value {
        Json::Null => out.extend_from_slice(b"null"),
        Json::Bool(true) => out.extend_from_slice(b"true"),
        Json::Bool(false) => out.extend_from_slice(b"false"),
        Json::Number(number) => out.extend_from_slice(number.text().as_bytes()),
        Json::String(text) => string(text, out),
        Json::Array(items) => {
            out.push(b'[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                canonical(item, out);
            }
            out.push(b']');
        }
        Json::Object(object) => {
            out.push(b'{');
            for (index, (key, value)) in object.members().iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                string(key, out);
                out.push(b':');
                canonical(value, out);
            }
            out.push(b'}');
        }
    }
}

fn string(text: &str, out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    out.push(b'"');
    let mut rest = text.as_bytes();
    while let Some(at) = rest.iter().position(|b| matches!(b, b'"' | b'\\' | 0..=0x1f)) {
        let (plain, special) = rest.split_at(at);
        out.extend_from_slice(plain);
        let Some((byte, after)) = special.split_first() else { break };
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', *byte]),
            0x08 => out.extend_from_slice(b"\\b"),
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\n' => out.extend_from_slice(b"\\n"),
            0x0c => out.extend_from_slice(b"\\f"),
            b'\r' => out.extend_from_slice(b"\\r"),
            _ => {
                let digits = [HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]];
                out.extend_from_slice(b"\\u00");
                out.extend_from_slice(&digits);
            }
        }
        rest = after;
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}
