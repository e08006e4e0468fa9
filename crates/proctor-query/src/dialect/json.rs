//! Calls of functions of JSON.

use super::DialectError;
use super::call::Call;
use super::typed::{Typed, call as sql_call, quoted, unsupported};
use crate::types::Type;

type Result<T> = std::result::Result<T, DialectError>;

/// Functions of JSON: the text, a path of keys and places, and for some a type.
pub(super) fn call(call: &Call) -> Result<Typed> {
    let (path, last) = match call.name {
        "JSONExtract" | "JSONExtractKeysAndValues" => match call.arguments.split_last() {
            Some((last, path)) => (path, Some(last)),
            None => return Err(call.wrong("has too few arguments")),
        },
        _ => (call.arguments.as_slice(), None),
    };
    let Some((text, path)) = path.split_first() else {
        return Err(call.wrong("takes a text of JSON"));
    };
    let wanted = last
        .map(|last| {
            let name = last
                .constant_text()
                .ok_or_else(|| call.wrong("takes a type as a constant text"))?;
            Type::read(name).ok_or_else(|| unsupported(format!("`{name}` out of JSON"), last.span))
        })
        .transpose()?;
    if text.is_null() {
        return Ok(Typed::null(call.span));
    }
    if *text.ty.plain() != Type::String {
        return Err(call.wrong(&format!("takes a text and not {}", text.ty)));
    }
    for step in path {
        if *step.ty.plain() != Type::String && !step.ty.plain().is_whole() || step.ty.is_nullable()
        {
            return Err(call.wrong(&format!("does not take {} as part of a path", step.ty)));
        }
    }
    let (sql, ty) = match call.name {
        "JSONExtractString" => ("ch_json_string", Type::String),
        "JSONExtractInt" => ("ch_json_int", Type::Int(64)),
        "JSONExtractUInt" => ("ch_json_uint", Type::UInt(64)),
        "JSONExtractFloat" => ("ch_json_float", Type::Float),
        "JSONExtractBool" => ("ch_json_bool", Type::UInt(8)),
        "JSONExtractRaw" => ("ch_json_raw", Type::String),
        "JSONHas" => ("ch_json_has", Type::TRUTH),
        "JSONLength" => ("ch_json_length", Type::COUNT),
        "JSONType" => ("ch_json_type", Type::String),
        "JSONExtractArrayRaw" => ("ch_json_array_raw", Type::array(Type::String)),
        "JSONExtractKeys" => ("ch_json_keys", Type::array(Type::String)),
        "JSONExtractKeysAndValuesRaw" => {
            ("ch_json_pairs_raw", Type::array(Type::Tuple(vec![Type::String, Type::String])))
        }
        "JSONExtractKeysAndValues" => {
            let value = wanted.clone().unwrap_or(Type::String);
            ("ch_json_pairs", Type::array(Type::Tuple(vec![Type::String, value])))
        }
        _ => ("ch_json_extract", wanted.clone().unwrap_or(Type::String)),
    };
    let mut arguments: Vec<String> = Vec::new();
    arguments.extend(wanted.map(|wanted| quoted(&wanted.to_string())));
    arguments.push(text.sql.clone());
    arguments.extend(path.iter().map(|step| step.sql.clone()));
    if text.ty.is_nullable() && ty.is_compound() {
        return Err(call.wrong(&format!(
            "gives {ty}, which cannot be NULL: put `assumeNotNull` or `ifNull` around what may be"
        )));
    }
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let ty = ty.nullable_if(text.ty.is_nullable());
    Ok(Typed::new(sql_call(sql, &arguments), ty, call.span))
}
