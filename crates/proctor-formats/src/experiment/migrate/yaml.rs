//! A JSON value as a YAML document in block style.

use serde_json::Value;

use crate::eval::import::yaml_text::scalar;

/// The document; `value` is an object.
pub(super) fn document(value: &Value) -> String {
    let mut out = String::new();
    block(value, 0, &mut out);
    out
}

/// Writes an object or a list, one entry a line, each line indented by `indent`.
fn block(value: &Value, indent: usize, out: &mut String) {
    let space = " ".repeat(indent);
    match value {
        Value::Object(members) => {
            for (index, (key, value)) in members.iter().enumerate() {
                // The first line of an object in a list stands behind its dash.
                if index > 0 || !out.ends_with("- ") {
                    out.push_str(&space);
                }
                out.push_str(&scalar(key, indent));
                out.push(':');
                entry(value, indent + 2, out);
            }
        }
        Value::Array(items) => {
            for item in items {
                out.push_str(&space);
                out.push('-');
                match item {
                    Value::Object(members) if !members.is_empty() => {
                        out.push(' ');
                        block(item, indent + 2, out);
                    }
                    _ => entry(item, indent + 2, out),
                }
            }
        }
        // Scalars are written by `entry`.
        _ => {}
    }
}

/// Writes what follows `key:` or `-`.
fn entry(value: &Value, indent: usize, out: &mut String) {
    match value {
        Value::Object(members) if members.is_empty() => out.push_str(" {}\n"),
        Value::Array(items) if items.is_empty() => out.push_str(" []\n"),
        Value::Object(_) | Value::Array(_) => {
            out.push('\n');
            block(value, indent, out);
        }
        Value::String(text) => {
            let text = scalar(text, indent);
            out.push(' ');
            out.push_str(&text);
            out.push('\n');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {
            out.push(' ');
            out.push_str(&value.to_string());
            out.push('\n');
        }
    }
}
