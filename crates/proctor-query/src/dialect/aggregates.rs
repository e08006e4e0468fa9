//! Calls of functions of many rows and of windows.

use sqlparser::ast::{DuplicateTreatment, Expr, Function, FunctionArguments, Spanned};
use sqlparser::tokenizer::Span;

use super::call::unknown;
use super::catalogue::{Combination, Combined, combination};
use super::expr::arguments_of;
use super::scope::{Place, Scope};
use super::typed::{Constant, Typed, flag, or_default, quoted, unsupported, wrong};
use super::{DialectError, Translator, operators};
use crate::types::Type;

type Result<T> = std::result::Result<T, DialectError>;

/// A call of an aggregate whose arguments are translated.
struct Many {
    name: &'static str,
    parameters: Vec<Typed>,
    arguments: Vec<Typed>,
    /// ` FILTER (WHERE ...)` or nothing.
    filter: String,
    is_distinct: bool,
    or_null: bool,
    /// ` OVER (...)` or nothing.
    over: String,
    span: Span,
}

impl Translator<'_> {
    pub(super) fn aggregate(
        &mut self,
        name: &str,
        function: &Function,
        scope: &mut Scope,
    ) -> Result<Typed> {
        let span = function.name.span();
        let Combination::Known(Combined { entry, is_conditional, is_distinct, or_null }) =
            combination(name)
        else {
            return Err(unknown(name, span));
        };
        let shown = name.trim_end_matches('_');
        if scope.place == Place::Rows || scope.is_inside {
            return Err(wrong(
                format!("the aggregate `{shown}` stands where rows are not grouped yet"),
                span,
            ));
        }
        if !function.within_group.is_empty() || function.null_treatment.is_some() {
            return Err(unsupported(format!("WITHIN GROUP or IGNORE NULLS of `{shown}`"), span));
        }
        let mut parameters = Vec::new();
        for parameter in arguments_of(&function.parameters)?.into_iter().flatten() {
            parameters.push(self.expr(parameter, scope)?);
        }
        let over = function.over.as_ref().map(|over| self.over(over, span, scope)).transpose()?;
        let loose = scope.loose.len();
        // The rows of a window are the groups.
        let place = if over.is_some() { Place::Groups } else { Place::Rows };
        let place = std::mem::replace(&mut scope.place, place);
        let inside = std::mem::replace(&mut scope.is_inside, over.is_none());
        let made = self.arguments(function, is_conditional, shown, scope);
        (scope.place, scope.is_inside) = (place, inside);
        let (arguments, filter) = made?;
        if over.is_some() {
            scope.has_windows = true;
        } else {
            scope.loose.truncate(loose);
            scope.has_aggregates = true;
        }
        let is_distinct = is_distinct || is_written_distinct(&function.args);
        Many {
            name: entry.name.trim_end_matches('_'),
            parameters,
            arguments,
            filter,
            is_distinct,
            or_null,
            over: over.map(|over| over.sql).unwrap_or_default(),
            span,
        }
        .translate()
    }

    /// `max(if(condition, NULL, x))`: ClickHouse makes `maxIf(x, NOT condition)` of it, which is
    /// something else where the condition is NULL.
    fn refuse_null_choice(&mut self, argument: &Expr, name: &str, scope: &mut Scope) -> Result<()> {
        let Expr::Function(choice) = argument else { return Ok(()) };
        if !choice.name.to_string().eq_ignore_ascii_case("if") {
            return Ok(());
        }
        if let [Some(condition), Some(Expr::Value(one)), _] = arguments_of(&choice.args)?.as_slice()
            && one.value == sqlparser::ast::Value::Null
            && self.expr(condition, scope)?.ty.is_nullable()
        {
            let what = format!("`{name}` of `if` with NULL and a condition that may be NULL");
            return Err(unsupported(what, choice.name.span()));
        }
        Ok(())
    }

    /// The arguments, and the condition as SQL.
    fn arguments(
        &mut self,
        function: &Function,
        is_conditional: bool,
        name: &str,
        scope: &mut Scope,
    ) -> Result<(Vec<Typed>, String)> {
        let span = function.name.span();
        let mut arguments = Vec::new();
        for argument in arguments_of(&function.args)? {
            match argument {
                Some(argument) => {
                    self.refuse_null_choice(argument, name, scope)?;
                    arguments.push(self.expr(argument, scope)?);
                }
                None if name.eq_ignore_ascii_case("count") => {}
                None => return Err(wrong(format!("`{name}` of `*`"), span)),
            }
        }
        let mut conditions = Vec::new();
        if is_conditional {
            let condition = arguments.pop();
            let condition =
                condition.ok_or_else(|| wrong(format!("`{name}` without a condition"), span))?;
            conditions.push(operators::condition(&condition)?.sql);
        }
        if let Some(condition) = &function.filter {
            let condition = self.expr(condition, scope)?;
            conditions.push(operators::condition(&condition)?.sql);
        }
        let filter = if conditions.is_empty() {
            String::new()
        } else {
            format!(" FILTER (WHERE {})", conditions.join(" AND "))
        };
        Ok((arguments, filter))
    }
}

fn is_written_distinct(arguments: &FunctionArguments) -> bool {
    matches!(arguments, FunctionArguments::List(list)
        if list.duplicate_treatment == Some(DuplicateTreatment::Distinct))
}

impl Many {
    fn wrong(&self, message: &str) -> DialectError {
        wrong(format!("`{}` {message}", self.name), self.span)
    }

    fn unsupported(&self, message: &str) -> DialectError {
        unsupported(format!("`{}` {message}", self.name), self.span)
    }

    fn one(&self) -> Result<&Typed> {
        match self.arguments.as_slice() {
            [one] => Ok(one),
            _ => Err(self.wrong("takes one argument")),
        }
    }

    fn two(&self) -> Result<(&Typed, &Typed)> {
        match self.arguments.as_slice() {
            [one, other] => Ok((one, other)),
            _ => Err(self.wrong("takes two arguments")),
        }
    }

    /// SQL of a call of `function`, with `DISTINCT`, condition and window.
    fn sql(&self, function: &str, arguments: &str) -> String {
        let distinct = if self.is_distinct { "DISTINCT " } else { "" };
        format!("{function}({distinct}{arguments}){}{}", self.filter, self.over)
    }

    /// The answer; `empty` stands where no row was there and ClickHouse has no NULL.
    fn answer(&self, sql: String, ty: Type, is_nullable: bool) -> Typed {
        let ty = ty.nullable_if(is_nullable || self.or_null);
        let sql = if ty == Type::Float { sql } else { or_default(&sql, &ty) };
        Typed::new(sql, ty, self.span)
    }

    fn translate(&self) -> Result<Typed> {
        if self.arguments.iter().any(Typed::is_null) && self.name != "count" {
            return Err(self.unsupported("of NULL"));
        }
        let takes_parameters =
            self.name.starts_with("quantile") || matches!(self.name, "groupArray" | "groupConcat");
        if !takes_parameters && !self.parameters.is_empty() {
            return Err(self.unsupported("with parameters"));
        }
        let in_window = matches!(self.name, "count" | "sum" | "avg" | "min" | "max");
        if !self.over.is_empty() && (!in_window || self.is_distinct) {
            return Err(self.unsupported("of a window"));
        }
        match self.name {
            "count" => self.count(),
            "sum" => self.sum(),
            "avg" => self.avg(),
            "min" | "max" => self.extreme(),
            "any" | "anyLast" => self.any(),
            "argMin" | "argMax" => self.arg_extreme(),
            "uniq" | "uniqExact" => self.uniq(),
            "groupArray" | "groupUniqArray" => self.group_array(),
            "groupConcat" => self.group_concat(),
            "covarPop" | "covarSamp" | "corr" => self.of_pairs(),
            "stddevPop" | "stddevSamp" | "varPop" | "varSamp" => {
                let one = self.number()?;
                let sql = self.sql("ch_moments", &one.sql);
                Ok(self.moments(&sql, one.ty.is_nullable()))
            }
            _ => self.quantile(),
        }
    }

    fn number(&self) -> Result<&Typed> {
        let one = self.one()?;
        if one.ty.plain().is_number() {
            Ok(one)
        } else {
            Err(self.wrong(&format!("does not take {}", one.ty)))
        }
    }

    fn count(&self) -> Result<Typed> {
        if self.is_distinct {
            return self.uniq();
        }
        let argument = match self.arguments.as_slice() {
            [one] if one.ty.is_nullable() => &one.sql,
            [] | [_] => "*",
            _ => return Err(self.wrong("takes one argument")),
        };
        let sql = self.sql("count", argument);
        let sql = if self.or_null { format!("nullif({sql}, 0)") } else { sql };
        Ok(Typed::new(sql, Type::COUNT.nullable_if(self.or_null), self.span))
    }

    fn sum(&self) -> Result<Typed> {
        let one = self.number()?;
        let ty = match one.ty.plain() {
            Type::Float => Type::Float,
            Type::Int(_) => Type::Int(64),
            _ => Type::UInt(64),
        };
        if ty == Type::Float {
            if !self.over.is_empty() {
                return Err(self.unsupported("of fractions of a window"));
            }
            let sql = self.sql("ch_sum", &one.sql);
            let sql = if one.ty.is_nullable() { sql } else { self.unless_empty(&sql, "0.0") };
            return Ok(Typed::new(
                sql,
                ty.nullable_if(one.ty.is_nullable() || self.or_null),
                self.span,
            ));
        }
        Ok(self.answer(self.sql("sum", &one.sql), ty, one.ty.is_nullable()))
    }

    /// Of fractions: what stands for no row must not be taken for "not a number". Both are NULL, so
    /// rows are counted.
    fn unless_empty(&self, sql: &str, empty: &str) -> String {
        let empty = if self.or_null { "NULL" } else { empty };
        format!("iif(count(*){}{} = 0, {empty}, {sql})", self.filter, self.over)
    }

    fn avg(&self) -> Result<Typed> {
        let one = self.number()?;
        let sql = if self.over.is_empty() {
            let poison = if one.may_be_nan() { "ch_avg_number" } else { "ch_avg" };
            self.sql(poison, &one.sql)
        } else if one.may_be_nan() {
            return Err(self.unsupported("of fractions of a window"));
        } else {
            self.sql("avg", &one.sql)
        };
        Ok(self.answer(sql, Type::Float, one.ty.is_nullable()))
    }

    fn extreme(&self) -> Result<Typed> {
        let one = self.one()?;
        if one.ty.is_compound() {
            return Err(self.unsupported(&format!("of {}", one.ty)));
        }
        let sql = self.sql(self.name, &one.sql);
        if one.ty == Type::Float {
            let sql = self.unless_empty(&sql, "0.0");
            return Ok(Typed::new(sql, Type::Float.nullable_if(self.or_null), self.span));
        }
        Ok(self.answer(sql, one.ty.plain().clone(), one.ty.is_nullable()))
    }

    fn any(&self) -> Result<Typed> {
        let one = self.one()?;
        let function = if self.name == "any" { "ch_any" } else { "ch_any_last" };
        if one.ty == Type::Float {
            let sql = self.sql(function, &format!("{}, 1", one.sql));
            let sql = self.unless_empty(&sql, "0.0");
            return Ok(Typed::new(sql, Type::Float.nullable_if(self.or_null), self.span));
        }
        Ok(self.answer(self.sql(function, &one.sql), one.ty.plain().clone(), one.ty.is_nullable()))
    }

    fn arg_extreme(&self) -> Result<Typed> {
        let (value, by) = self.two()?;
        if by.ty.is_compound() {
            return Err(self.unsupported(&format!("by {}", by.ty)));
        }
        if self.is_distinct {
            return Err(self.unsupported("of different values"));
        }
        let function = if self.name == "argMin" { "ch_arg_min" } else { "ch_arg_max" };
        let flags = format!(
            "'{}{}'",
            if value.ty == Type::Float { "v" } else { "" },
            if by.ty == Type::Float { "b" } else { "" }
        );
        let sql = self.sql(function, &format!("{}, {}, {flags}", value.sql, by.sql));
        let is_nullable = value.ty.is_nullable() || by.ty.is_nullable();
        if value.ty == Type::Float && !is_nullable {
            let sql = self.unless_empty(&sql, "0.0");
            return Ok(Typed::new(sql, Type::Float.nullable_if(self.or_null), self.span));
        }
        Ok(self.answer(sql, value.ty.plain().clone(), is_nullable))
    }

    fn uniq(&self) -> Result<Typed> {
        let counted = |value: &Typed| {
            if value.may_be_nan() {
                format!("coalesce({}, 'nan')", value.sql)
            } else {
                value.sql.clone()
            }
        };
        let value = match self.arguments.as_slice() {
            [] => return Err(self.wrong("takes an argument")),
            [one] => counted(one),
            many => {
                let flags: String = many.iter().map(|part| flag(&part.ty)).collect();
                let values: Vec<String> = many.iter().map(counted).collect();
                let nulls: Vec<String> = many
                    .iter()
                    .filter(|part| part.ty.is_nullable())
                    .map(|part| format!("{} IS NULL", part.sql))
                    .collect();
                let tuple = format!("ch_tuple('{flags}', {})", values.join(", "));
                // A row with a NULL counts for nothing.
                if nulls.is_empty() {
                    tuple
                } else {
                    format!("iif({}, NULL, {tuple})", nulls.join(" OR "))
                }
            }
        };
        let sql = format!("count(DISTINCT {value}){}", self.filter);
        let sql = if self.or_null { format!("nullif({sql}, 0)") } else { sql };
        Ok(Typed::new(sql, Type::COUNT.nullable_if(self.or_null), self.span))
    }

    fn group_array(&self) -> Result<Typed> {
        let one = self.one()?;
        let is_unique = self.name == "groupUniqArray" || self.is_distinct;
        let function = if is_unique { "ch_group_uniq_array" } else { "ch_group_array" };
        let size = match self.parameters.as_slice() {
            [] => "-1".to_owned(),
            [size] if size.constant_whole().is_some_and(|size| size > 0) => size.sql.clone(),
            _ => return Err(self.wrong("takes how many values to keep as a parameter")),
        };
        let kind = flag(&one.ty);
        let arguments = format!("{}, '{kind}', {size}", one.sql);
        let sql = format!("{function}({arguments}){}", self.filter);
        let ty = Type::array(one.ty.plain().clone());
        Ok(Typed::new(or_default(&sql, &ty), ty, self.span))
    }

    fn group_concat(&self) -> Result<Typed> {
        let one = self.one()?;
        if *one.ty.plain() != Type::String || self.is_distinct {
            return Err(self.unsupported(&format!("of {} or of different values", one.ty)));
        }
        let between = match self.parameters.as_slice() {
            [] => "",
            [between] => {
                between.constant_text().ok_or_else(|| self.wrong("takes what stands between"))?
            }
            _ => return Err(self.unsupported("with a limit")),
        };
        let sql = self.sql("group_concat", &format!("{}, {}", one.sql, quoted(between)));
        Ok(self.answer(sql, Type::String, one.ty.is_nullable()))
    }

    fn moments(&self, sql: &str, is_nullable: bool) -> Typed {
        let sql = format!("ch_moment({}, {sql})", quoted(self.name));
        self.answer(sql, Type::Float, is_nullable)
    }

    fn of_pairs(&self) -> Result<Typed> {
        let (one, other) = self.two()?;
        if !one.ty.plain().is_number() || !other.ty.plain().is_number() || self.is_distinct {
            return Err(self.wrong(&format!("does not take {} and {}", one.ty, other.ty)));
        }
        let sql = self.sql("ch_pairs", &format!("{}, {}", one.sql, other.sql));
        Ok(self.moments(&sql, one.ty.is_nullable() || other.ty.is_nullable()))
    }

    fn quantile(&self) -> Result<Typed> {
        let one = self.number()?;
        if self.is_distinct {
            return Err(self.unsupported("of different values"));
        }
        let levels = self.parameters.iter().map(|level| match level.constant {
            Some(Constant::Float(level)) if (0.0..=1.0).contains(&level) => Ok(level),
            Some(Constant::Whole(0)) => Ok(0.0),
            Some(Constant::Whole(1)) => Ok(1.0),
            _ => Err(self.wrong("takes levels from 0 to 1, as constants")),
        });
        let mut levels = levels.collect::<Result<Vec<f64>>>()?;
        if levels.is_empty() {
            levels.push(0.5);
        }
        let is_exact = self.name.ends_with("Exact");
        let is_many = self.name.starts_with("quantiles");
        if !is_many && levels.len() > 1 {
            return Err(self.wrong("takes one level"));
        }
        let levels = quoted(&format!("{levels:?}"));
        let function = match (is_exact, is_many) {
            (false, false) => "ch_quantile",
            (false, true) => "ch_quantiles",
            (true, false) => "ch_quantile_exact",
            (true, true) => "ch_quantiles_exact",
        };
        let sql = self.sql(function, &format!("{}, {levels}", one.sql));
        let ty = if is_exact { one.ty.plain().clone() } else { Type::Float };
        if is_many {
            let ty = Type::array(ty.clone());
            return Ok(Typed::new(sql, ty, self.span));
        }
        Ok(self.answer(sql, ty, one.ty.is_nullable()))
    }
}
