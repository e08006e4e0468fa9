//! Calls of functions of arrays, tuples and maps.

use super::DialectError;
use super::call::Call;
use super::operators;
use super::typed::{Typed, call as sql, flag, or_default, quoted, unsupported};
use crate::types::Type;

type Result = std::result::Result<Typed, DialectError>;

/// The calls that are translated here.
pub(super) fn special(call: &Call) -> Option<Result> {
    Some(match call.name {
        "array" => operators::array(&call.arguments, call.span),
        "tuple" => Ok(operators::tuple(call.arguments.clone(), call.span)),
        "map" => map(call),
        "mapKeys" => part_of_map(call, "ch_map_keys"),
        "mapValues" => part_of_map(call, "ch_map_values"),
        "mapContains" => map_contains(call),
        "tupleElement" => call.exactly::<2>().and_then(|[tuple, place]| {
            let place = place.constant_whole();
            let place = place.ok_or_else(|| call.wrong("takes the place as a constant"))?;
            operators::tuple_element(tuple, place, call.span)
        }),
        "arrayElement" => {
            call.exactly::<2>().and_then(|[array, index]| operators::element(array, index))
        }
        "has" => look_up(call, "ch_has", Type::TRUTH),
        "indexOf" => look_up(call, "ch_index_of", Type::COUNT),
        "countEqual" => look_up(call, "ch_count_equal", Type::COUNT),
        "hasAny" => both(call, "ch_has_any", Some(Type::TRUTH)),
        "hasAll" => both(call, "ch_has_all", Some(Type::TRUTH)),
        "arrayConcat" => both(call, "ch_array_concat", None),
        "arrayPushBack" => push(call, "ch_array_push_back"),
        "arrayPushFront" => push(call, "ch_array_push_front"),
        "arraySum" | "arrayAvg" | "arrayMin" | "arrayMax" => folded(call),
        "arrayDistinct" => call.exactly::<1>().and_then(|[array]| {
            // NULLs are left out.
            let ty = element(call, array)?.plain().clone();
            call.gives("ch_array_distinct", Type::array(ty))
        }),
        "arraySort" => sorted(call, "ch_array_sort"),
        "arrayReverseSort" => sorted(call, "ch_array_reverse_sort"),
        "arrayStringConcat" => string_concat(call),
        "range" => range(call),
        _ => return None,
    })
}

fn element<'a>(call: &Call, array: &'a Typed) -> std::result::Result<&'a Type, DialectError> {
    match &array.ty {
        Type::Array(element) => Ok(element),
        other => Err(call.wrong(&format!("takes an array and not {other}"))),
    }
}

fn map(call: &Call) -> Result {
    let pairs = call.arguments.chunks(2).map(|pair| match pair {
        [key, value] => Ok((key, value)),
        _ => Err(call.wrong("takes keys and values in turn")),
    });
    let pairs = pairs.collect::<std::result::Result<Vec<_>, _>>()?;
    let Some((first_key, first_value)) = pairs.first() else {
        return Err(unsupported("an empty map", call.span));
    };
    let (mut key, mut value) = (first_key.ty.clone(), first_value.ty.clone());
    for (next_key, next_value) in &pairs {
        let none = || unsupported("a map of values of different types", call.span);
        key = key.common(&next_key.ty).ok_or_else(none)?;
        value = value.common(&next_value.ty).ok_or_else(none)?;
    }
    if key.is_nullable() || key.is_compound() {
        return Err(call.wrong(&format!("does not take keys of {key}")));
    }
    let flags = format!("v{}", flag(&value));
    let pairs: Vec<String> = pairs
        .iter()
        .map(|(k, v)| format!("ch_tuple('{flags}', {}, {})", k.to(&key).sql, v.to(&value).sql))
        .collect();
    let array = format!("ch_array('j', {})", pairs.join(", "));
    Ok(Typed::new(array, Type::Map(Box::new(key), Box::new(value)), call.span))
}

fn part_of_map(call: &Call, name: &str) -> Result {
    let [value] = call.exactly::<1>()?;
    match &value.ty {
        Type::Map(key, kept) => {
            let ty = if name.ends_with("keys") { key } else { kept };
            call.gives(name, Type::array((**ty).clone()))
        }
        other => Err(call.wrong(&format!("takes a map and not {other}"))),
    }
}

fn map_contains(call: &Call) -> Result {
    let [map, key] = call.exactly::<2>()?;
    match &map.ty {
        Type::Map(kept, _) if kept.common(&key.ty).is_some() => {
            let keys = format!("ch_map_keys({})", map.sql);
            let text = sql("ch_has", &[&keys, "'v'", &key.to(kept).sql]);
            Ok(Typed::new(text, Type::TRUTH, call.span))
        }
        other => Err(call.wrong(&format!("does not take {other} and {}", key.ty))),
    }
}

/// A value that is looked for in an array.
fn look_up(call: &Call, name: &str, ty: Type) -> Result {
    let [array, value] = call.exactly::<2>()?;
    let kept = element(call, array)?;
    let common = kept
        .common(&value.ty)
        .ok_or_else(|| call.wrong(&format!("does not find {} in {}", value.ty, array.ty)))?;
    let array = array.to(&Type::array(common.clone()));
    let value = value.to(&common);
    let text = format!("{name}({}, '{}', {})", array.sql, flag(&common), value.sql);
    Ok(Typed::new(text, ty, call.span))
}

/// Arrays of one type.
fn both(call: &Call, name: &str, gives: Option<Type>) -> Result {
    let mut common = Type::Nothing;
    for (at, array) in call.arguments.iter().enumerate() {
        let kept = element(call, array)?;
        common = if at == 0 {
            kept.clone()
        } else {
            Type::array(common.clone())
                .common(&array.ty)
                .and_then(|ty| match ty {
                    Type::Array(element) => Some(*element),
                    _ => None,
                })
                .ok_or_else(|| {
                    call.wrong(&format!("does not take {} beside the others", array.ty))
                })?
        };
    }
    if gives.is_some() {
        call.exactly::<2>()?;
    }
    let ty = Type::array(common);
    let arrays: Vec<String> = call.arguments.iter().map(|array| array.to(&ty).sql).collect();
    let arrays: Vec<&str> = arrays.iter().map(String::as_str).collect();
    Ok(Typed::new(sql(name, &arrays), gives.unwrap_or(ty), call.span))
}

fn push(call: &Call, name: &str) -> Result {
    let [array, value] = call.exactly::<2>()?;
    let common = Type::array(value.ty.clone()).common(&array.ty);
    let Some(Type::Array(common)) = common else {
        return Err(call.wrong(&format!("does not take {} and {}", array.ty, value.ty)));
    };
    let ty = Type::Array(common.clone());
    let text =
        format!("{name}({}, '{}', {})", array.to(&ty).sql, flag(&common), value.to(&common).sql);
    Ok(Typed::new(text, ty, call.span))
}

fn folded(call: &Call) -> Result {
    let [array] = call.exactly::<1>()?;
    let kept = element(call, array)?;
    if kept.is_nullable() || !kept.is_number() {
        return Err(unsupported(format!("`{}` of {}", call.name, array.ty), call.span));
    }
    let (name, ty) = match (call.name, kept) {
        ("arraySum", Type::Float) => ("sum", Type::Float),
        ("arraySum", Type::Int(_)) => ("sum", Type::Int(64)),
        ("arraySum", _) => ("sum", Type::UInt(64)),
        ("arrayAvg", _) => ("avg", Type::Float),
        ("arrayMin", ty) => ("min", ty.clone()),
        (_, ty) => ("max", ty.clone()),
    };
    let text = sql("ch_array_fold", &[&quoted(name), &array.sql]);
    let text = if name == "avg" { text } else { or_default(&text, &ty) };
    Ok(Typed::new(text, ty, call.span))
}

fn sorted(call: &Call, name: &str) -> Result {
    let [array] = call.exactly::<1>()?;
    let kept = element(call, array)?;
    if kept.is_compound() {
        return Err(unsupported(format!("the order of {kept}"), call.span));
    }
    call.gives(name, array.ty.clone())
}

fn string_concat(call: &Call) -> Result {
    let (array, between) = match call.arguments.as_slice() {
        [array] => (array, "''".to_owned()),
        [array, between] if *between.ty.plain() == Type::String => (array, between.sql.clone()),
        _ => return Err(call.wrong("takes an array, and what stands between")),
    };
    let kept = element(call, array)?;
    let text = sql("ch_array_string_concat", &[&quoted(&kept.to_string()), &array.sql, &between]);
    let is_nullable = call.arguments.get(1).is_some_and(|between| between.ty.is_nullable());
    Ok(Typed::new(text, Type::String.nullable_if(is_nullable), call.span))
}

fn range(call: &Call) -> Result {
    let ty = call.arguments.iter().try_fold(Type::UInt(8), |ty, part| ty.common(&part.ty));
    let Some(ty) = ty.filter(|ty| ty.is_whole() && !ty.is_nullable()) else {
        return Err(call.wrong("takes whole numbers"));
    };
    if call.arguments.is_empty() || call.arguments.len() > 3 {
        return Err(call.wrong("takes one to three numbers"));
    }
    call.gives("ch_range", Type::array(ty))
}
