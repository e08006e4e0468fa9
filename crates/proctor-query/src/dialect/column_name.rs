//! What ClickHouse calls a column that has no name of its own: its expression, written in one way.

use sqlparser::ast::{
    AccessExpr, BinaryOperator, CastKind, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArguments, InTarget, OrderByExpr, OrderBySort, Subscript, TrimWhereField,
    UnaryOperator, Value, WindowType,
};

use super::catalogue;

/// What a subquery is called, before a number.
pub(super) const SUBQUERY: &str = "_subquery";

/// The name.
pub(super) fn of(expr: &Expr) -> String {
    match expr {
        Expr::Identifier(name) => name.value.clone(),
        Expr::CompoundIdentifier(names) => {
            names.last().map(|name| name.value.clone()).unwrap_or_default()
        }
        Expr::Nested(inner) => of(inner),
        Expr::Value(value) => literal(&value.value),
        Expr::UnaryOp { op, expr } => unary(*op, expr),
        Expr::BinaryOp { left, op: BinaryOperator::StringConcat, right } => {
            // A chain is one call.
            let left = match &**left {
                Expr::BinaryOp { op: BinaryOperator::StringConcat, .. } => {
                    let name = of(left);
                    let inner =
                        name.strip_prefix("concat(").and_then(|name| name.strip_suffix(')'));
                    inner.map(str::to_owned).unwrap_or(name)
                }
                left => of(left),
            };
            format!("concat({left}, {})", of(right))
        }
        Expr::BinaryOp { left, op, right } => call(operator(op), &[left, right]),
        Expr::IsNull(expr) => call("isNull", &[expr]),
        Expr::IsNotNull(expr) => call("isNotNull", &[expr]),
        Expr::Between { expr, negated, low, high } => {
            let (value, low, high) = (of(expr), of(low), of(high));
            if *negated {
                format!("or(less({value}, {low}), greater({value}, {high}))")
            } else {
                format!("and(greaterOrEquals({value}, {low}), lessOrEquals({value}, {high}))")
            }
        }
        Expr::In { expr, target, negated, .. } => {
            let name = if *negated { "notIn" } else { "in" };
            format!("{name}({}, {})", of(expr), set(target))
        }
        Expr::Like { negated, expr, pattern, .. } => {
            call(if *negated { "notLike" } else { "like" }, &[expr, pattern])
        }
        Expr::ILike { negated, expr, pattern, .. } => {
            call(if *negated { "notILike" } else { "ilike" }, &[expr, pattern])
        }
        Expr::Cast { kind, expr, data_type, .. } => {
            let written = data_type.to_string();
            let ty = crate::types::Type::read(&written).map_or(written, |ty| ty.to_string());
            let value = of(expr);
            // `5::Float64` reads the number as that type.
            let is_read = *kind == CastKind::DoubleColon
                && matches!(&**expr, Expr::Value(value)
                if matches!(value.value, Value::Number(..)));
            let quote = if is_read { "'" } else { "" };
            format!("CAST({quote}{value}{quote}, '{ty}')")
        }
        Expr::Tuple(parts) => format!("({})", all(parts)),
        Expr::Array(array) => {
            let parts: Vec<String> = array.elem.iter().map(of).collect();
            // Numbers are all of one type.
            let has_fractions = parts.iter().any(|part| is_number(part) && part.contains('.'));
            let parts = parts.into_iter().map(|part| match part.as_str() {
                "true" => "1".to_owned(),
                "false" => "0".to_owned(),
                part if has_fractions && is_number(part) && !part.contains('.') => {
                    format!("{part}.")
                }
                _ => part,
            });
            format!("[{}]", parts.collect::<Vec<_>>().join(", "))
        }
        Expr::Case { operand, conditions, else_result, .. } => {
            let mut parts: Vec<String> = operand.iter().map(|operand| of(operand)).collect();
            for case in conditions {
                parts.push(of(&case.condition));
                parts.push(of(&case.result));
            }
            parts.push(else_result.as_ref().map_or("NULL".to_owned(), |otherwise| of(otherwise)));
            let name = if operand.is_some() { "caseWithExpression" } else { "multiIf" };
            format!("{name}({})", parts.join(", "))
        }
        Expr::CompoundFieldAccess { root, access_chain } => {
            let step = |name: String, step: &AccessExpr| match step {
                AccessExpr::Subscript(Subscript::Index { index }) => {
                    format!("arrayElement({name}, {})", of(index))
                }
                AccessExpr::Dot(place) => format!("tupleElement({name}, {})", of(place)),
                AccessExpr::Subscript(_) => name,
            };
            access_chain.iter().fold(of(root), step)
        }
        Expr::Trim { trim_where, trim_what, expr, .. } => {
            let name = match trim_where {
                None | Some(TrimWhereField::Both) => "trimBoth",
                Some(TrimWhereField::Leading) => "trimLeft",
                Some(TrimWhereField::Trailing) => "trimRight",
            };
            let what = trim_what.as_ref().map(|what| format!(", {}", of(what)));
            format!("{name}({}{})", of(expr), what.unwrap_or_default())
        }
        Expr::Function(function) => of_function(function),
        Expr::Interval(interval) => {
            let unit = interval.leading_field.as_ref().map(ToString::to_string).unwrap_or_default();
            let mut unit = unit.to_ascii_lowercase();
            if let Some(first) = unit.get_mut(..1) {
                first.make_ascii_uppercase();
            }
            format!("toInterval{unit}({})", of(&interval.value))
        }
        Expr::Subquery(_) | Expr::Exists { .. } => SUBQUERY.to_owned(),
        other => other.to_string(),
    }
}

fn is_number(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit() || c == '-') && text.parse::<f64>().is_ok()
}

fn all(exprs: &[Expr]) -> String {
    exprs.iter().map(of).collect::<Vec<_>>().join(", ")
}

fn call(name: &str, arguments: &[&Expr]) -> String {
    let arguments: Vec<String> = arguments.iter().map(|argument| of(argument)).collect();
    format!("{name}({})", arguments.join(", "))
}

fn unary(op: UnaryOperator, expr: &Expr) -> String {
    match (op, expr) {
        (UnaryOperator::Minus, Expr::Value(value)) => format!("-{}", literal(&value.value)),
        (UnaryOperator::Minus, expr) => call("negate", &[expr]),
        (UnaryOperator::Not, expr) => call("not", &[expr]),
        (_, expr) => of(expr),
    }
}

fn operator(op: &BinaryOperator) -> &'static str {
    use BinaryOperator as Op;
    match op {
        Op::Plus => "plus",
        Op::Minus => "minus",
        Op::Multiply => "multiply",
        Op::Divide => "divide",
        Op::Modulo => "modulo",
        Op::And => "and",
        Op::Or => "or",
        Op::Xor => "xor",
        Op::Eq => "equals",
        Op::NotEq => "notEquals",
        Op::Lt => "less",
        Op::LtEq => "lessOrEquals",
        Op::Gt => "greater",
        Op::GtEq => "greaterOrEquals",
        _ => "concat",
    }
}

fn set(target: &InTarget) -> String {
    match target {
        InTarget::List(list) if list.len() == 1 => all(list),
        InTarget::List(list) => format!("({})", all(list)),
        InTarget::Table { name, .. } => name.to_string(),
        _ => SUBQUERY.to_owned(),
    }
}

fn literal(value: &Value) -> String {
    match value {
        Value::SingleQuotedString(text) => {
            let mut out = String::from("'");
            crate::format::escape(text, &mut out);
            out.push('\'');
            out
        }
        Value::Number(number, _) => {
            let plain = number.replace('_', "");
            match (plain.parse::<i64>(), plain.parse::<f64>()) {
                (Err(_), Ok(fraction)) => {
                    let text = crate::format::float_text(fraction);
                    if text.contains(['.', 'e', 'n']) { text } else { format!("{text}.") }
                }
                _ => plain,
            }
        }
        Value::HexStringLiteral(digits) => i64::from_str_radix(digits, 16)
            .map_or_else(|_| value.to_string(), |number| number.to_string()),
        Value::Boolean(value) => value.to_string(),
        Value::Null => "NULL".to_owned(),
        other => other.to_string(),
    }
}

fn of_function(function: &Function) -> String {
    let written = function.name.to_string();
    let name = written.trim_matches(['`', '"']);
    // Names that are syntax elsewhere have one way to be written.
    let name = match name.strip_suffix('_') {
        Some(_) => catalogue::entry(name).map_or(name, |entry| entry.name).trim_end_matches('_'),
        None => name,
    };
    let is_diff = name.eq_ignore_ascii_case("dateDiff") || name == "date_diff";
    let arguments = |arguments: &FunctionArguments| match arguments {
        FunctionArguments::List(list) => {
            let parts = list.args.iter().enumerate().filter_map(|(at, argument)| match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Identifier(unit)))
                    if at == 0 && is_diff =>
                {
                    Some(format!("'{}'", unit.value))
                }
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(of(expr)),
                _ => None,
            });
            let is_distinct =
                list.duplicate_treatment == Some(sqlparser::ast::DuplicateTreatment::Distinct);
            (parts.collect::<Vec<_>>().join(", "), is_distinct)
        }
        _ => (String::new(), false),
    };
    let (parameters, _) = arguments(&function.parameters);
    let (inner, is_distinct) = arguments(&function.args);
    let distinct = if is_distinct { "Distinct" } else { "" };
    let parameters = if parameters.is_empty() { String::new() } else { format!("({parameters})") };
    let over = function.over.as_ref().map(window).unwrap_or_default();
    let plain = match name {
        "array" => return format!("[{inner}]"),
        "tuple" => return format!("({inner})"),
        "substr" | "mid" => "substring",
        "lcase" => "lower",
        "ucase" => "upper",
        "ltrim" => "trimLeft",
        "rtrim" => "trimRight",
        "trim" => "trimBoth",
        "ceiling" => "ceil",
        other => other,
    };
    format!("{plain}{distinct}{parameters}({inner}){over}")
}

/// ` OVER (...)`.
fn window(over: &WindowType) -> String {
    let spec = match over {
        WindowType::NamedWindow(name) => return format!(" OVER {}", name.value),
        WindowType::WindowSpec(spec) => spec,
    };
    let mut parts = Vec::new();
    if !spec.partition_by.is_empty() {
        parts.push(format!("PARTITION BY {}", all(&spec.partition_by)));
    }
    if !spec.order_by.is_empty() {
        let term = |term: &OrderByExpr| {
            let is_down = matches!(term.options.sort, Some(OrderBySort::Desc));
            format!("{} {}", of(&term.expr), if is_down { "DESC" } else { "ASC" })
        };
        let terms: Vec<String> = spec.order_by.iter().map(term).collect();
        parts.push(format!("ORDER BY {}", terms.join(", ")));
    }
    if let Some(frame) = &spec.window_frame {
        let end = frame.end_bound.as_ref().map_or("CURRENT ROW".to_owned(), ToString::to_string);
        parts.push(format!("{} BETWEEN {} AND {end}", frame.units, frame.start_bound));
    }
    format!(" OVER ({})", parts.join(" "))
}
