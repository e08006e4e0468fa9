//! Windows, and calls of their functions.

use sqlparser::ast::{
    Function, Spanned, WindowFrame, WindowFrameBound, WindowFrameUnits, WindowSpec, WindowType,
};
use sqlparser::tokenizer::Span;

use super::expr::arguments_of;
use super::scope::{Place, Scope};
use super::typed::{Typed, default_of, or_default, unsupported, wrong};
use super::{DialectError, Translator};
use crate::types::Type;

type Result<T> = std::result::Result<T, DialectError>;

impl Translator<'_> {
    pub(super) fn window_function(
        &mut self,
        name: &str,
        function: &Function,
        scope: &mut Scope,
    ) -> Result<Typed> {
        let span = function.name.span();
        let lower = name.to_ascii_lowercase();
        let Some(over) = &function.over else {
            return Err(unsupported(format!("`{name}` without OVER"), span));
        };
        if scope.place == Place::Rows || scope.is_inside {
            return Err(wrong(format!("the window `{name}` stands where there is none yet"), span));
        }
        if function.null_treatment.is_some() || function.filter.is_some() {
            return Err(unsupported(format!("FILTER or IGNORE NULLS of `{name}`"), span));
        }
        let over = self.over(over, span, scope)?;
        let mut arguments = Vec::new();
        for argument in arguments_of(&function.args)?.into_iter().flatten() {
            arguments.push(self.expr(argument, scope)?);
        }
        scope.has_windows = true;
        window_call(&lower, name, &arguments, &over, span)
    }

    /// ` OVER (...)`.
    pub(super) fn over(
        &mut self,
        over: &WindowType,
        span: Span,
        scope: &mut Scope,
    ) -> Result<Over> {
        let spec = match over {
            WindowType::WindowSpec(spec) => spec.clone(),
            WindowType::NamedWindow(name) => named_window(&name.value, name.span, scope)?,
        };
        if let Some(name) = &spec.window_name {
            return Err(unsupported("a window that continues another", name.span));
        }
        let mut parts = Vec::new();
        if !spec.partition_by.is_empty() {
            let by = self.exprs(&spec.partition_by, scope)?;
            let by: Vec<&str> = by.iter().map(|by| by.sql.as_str()).collect();
            parts.push(format!("PARTITION BY {}", by.join(", ")));
        }
        if !spec.order_by.is_empty() {
            let mut terms = Vec::new();
            for term in &spec.order_by {
                terms.extend(self.order_term(term, scope)?.into_iter().map(|(sql, _)| sql));
            }
            parts.push(format!("ORDER BY {}", terms.join(", ")));
        }
        if let Some(frame) = &spec.window_frame {
            parts.push(frame_sql(frame, span)?);
        }
        let is_open = |bound: Option<&WindowFrameBound>| {
            use WindowFrameBound::{Following, Preceding};
            matches!(bound, Some(Preceding(None) | Following(None)))
        };
        let frame = spec.window_frame.as_ref();
        Ok(Over {
            sql: format!(" OVER ({})", parts.join(" ")),
            from_start: frame.is_none_or(|frame| is_open(Some(&frame.start_bound))),
            to_end: frame
                .map_or(spec.order_by.is_empty(), |frame| is_open(frame.end_bound.as_ref())),
        })
    }
}

/// A window.
pub(super) struct Over {
    pub(super) sql: String,
    /// Whether the frame begins with the first row.
    from_start: bool,
    /// Whether it ends with the last.
    to_end: bool,
}

fn named_window(name: &str, span: Span, scope: &Scope) -> Result<WindowSpec> {
    use sqlparser::ast::NamedWindowExpr;
    let found = scope.windows.iter().find(|window| window.0.value == name);
    match found.map(|window| &window.1) {
        Some(NamedWindowExpr::WindowSpec(spec)) => Ok(spec.clone()),
        _ => Err(wrong(format!("there is no window `{name}`"), span)),
    }
}

fn frame_sql(frame: &WindowFrame, span: Span) -> Result<String> {
    let bound = |bound: &WindowFrameBound| match bound {
        WindowFrameBound::CurrentRow => Ok("CURRENT ROW".to_owned()),
        WindowFrameBound::Preceding(None) => Ok("UNBOUNDED PRECEDING".to_owned()),
        WindowFrameBound::Following(None) => Ok("UNBOUNDED FOLLOWING".to_owned()),
        WindowFrameBound::Preceding(Some(count)) | WindowFrameBound::Following(Some(count)) => {
            let number: u32 = count
                .to_string()
                .parse()
                .map_err(|_| unsupported("a frame whose size is no whole number", span))?;
            let side = match bound {
                WindowFrameBound::Preceding(_) => "PRECEDING",
                _ => "FOLLOWING",
            };
            Ok(format!("{number} {side}"))
        }
    };
    let units = match frame.units {
        WindowFrameUnits::Rows => "ROWS",
        WindowFrameUnits::Range => "RANGE",
        WindowFrameUnits::Groups => return Err(unsupported("a frame of GROUPS", span)),
    };
    let start = bound(&frame.start_bound)?;
    Ok(match &frame.end_bound {
        Some(end) => format!("{units} BETWEEN {start} AND {}", bound(end)?),
        None => format!("{units} {start}"),
    })
}

fn window_call(
    lower: &str,
    name: &str,
    arguments: &[Typed],
    over: &Over,
    span: Span,
) -> Result<Typed> {
    let none = || wrong(format!("`{name}` has too many or too few arguments"), span);
    let plain = |sql: String, ty| Ok(Typed::new(format!("{sql}{}", over.sql), ty, span));
    match (lower, arguments) {
        ("row_number" | "rank" | "dense_rank", []) => plain(format!("{lower}()"), Type::COUNT),
        ("percent_rank", []) => plain("percent_rank()".to_owned(), Type::Float),
        ("ntile", [count]) => plain(format!("ntile({})", count.sql), Type::COUNT),
        ("lag" | "lead" | "laginframe" | "leadinframe", [value, rest @ ..]) if rest.len() <= 2 => {
            // SQLite looks beyond the frame.
            let is_in_frame = match lower {
                "laginframe" => over.from_start,
                "leadinframe" => over.to_end,
                _ => true,
            };
            if !is_in_frame {
                return Err(unsupported(
                    format!("`{name}` with a frame that ends before the row that it looks at"),
                    span,
                ));
            }
            if value.ty.is_compound() {
                return Err(unsupported(format!("`{name}` of {}", value.ty), span));
            }
            let offset = rest.first().map_or("1", |offset| offset.sql.as_str());
            let ty = match rest.get(1) {
                Some(default) => value.ty.common(&default.ty).filter(|ty| *ty == value.ty),
                None => Some(value.ty.clone()),
            };
            let ty = ty.ok_or_else(none)?;
            let default =
                rest.get(1).map_or_else(|| default_of(&ty), |default| default.to(&ty).sql);
            let function = if lower.starts_with("lag") { "lag" } else { "lead" };
            plain(format!("{function}({}, {offset}, {default})", value.to(&ty).sql), ty)
        }
        ("first_value" | "last_value", [value])
            if !value.ty.is_nullable() && !value.may_be_nan() =>
        {
            let sql = format!("{lower}({}){}", value.sql, over.sql);
            Ok(Typed::new(or_default(&sql, &value.ty), value.ty.clone(), span))
        }
        ("nth_value", [value, place]) if !value.ty.is_nullable() && !value.may_be_nan() => {
            let sql = format!("nth_value({}, {}){}", value.sql, place.sql, over.sql);
            Ok(Typed::new(or_default(&sql, &value.ty), value.ty.clone(), span))
        }
        ("first_value" | "last_value" | "nth_value", [value, ..]) => {
            Err(unsupported(format!("`{name}` of {}", value.ty), span))
        }
        _ => Err(none()),
    }
}
