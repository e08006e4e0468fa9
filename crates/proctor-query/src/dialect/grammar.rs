//! ClickHouse's grammar, as `sqlparser` has it, with what that lacks.

use std::any::TypeId;

use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident,
    ObjectName,
};
use sqlparser::dialect::{ClickHouseDialect, Dialect};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

/// How tightly `? :` binds: less than anything else.
const TERNARY: u8 = 1;

/// [`ClickHouseDialect`] with `condition ? one : other`.
#[derive(Debug)]
pub(super) struct Grammar;

macro_rules! as_clickhouse {
    ($($name:ident)*) => {
        $(fn $name(&self) -> bool {
            ClickHouseDialect {}.$name()
        })*
    };
}

impl Dialect for Grammar {
    fn dialect(&self) -> TypeId {
        TypeId::of::<ClickHouseDialect>()
    }

    fn is_identifier_start(&self, c: char) -> bool {
        ClickHouseDialect {}.is_identifier_start(c)
    }

    fn is_identifier_part(&self, c: char) -> bool {
        ClickHouseDialect {}.is_identifier_part(c)
    }

    fn supports_string_literal_column_alias(&self, explicit: bool) -> bool {
        ClickHouseDialect {}.supports_string_literal_column_alias(explicit)
    }

    fn supports_string_literal_table_alias(&self, explicit: bool) -> bool {
        ClickHouseDialect {}.supports_string_literal_table_alias(explicit)
    }

    fn is_table_factor(&self, keyword: &Keyword, parser: &mut Parser) -> bool {
        ClickHouseDialect {}.is_table_factor(keyword, parser)
    }

    as_clickhouse! {
        describe_requires_table_keyword supports_string_literal_backslash_escape supports_select_wildcard_except
        require_interval_qualifier supports_limit_comma
        supports_numeric_literal_underscores supports_partition_by_after_order_by
        supports_array_join_syntax supports_array_typedef_with_parentheses
        supports_map_typedef_with_parentheses supports_dictionary_syntax
        supports_in_unparenthesized_expr supports_global_in supports_lambda_functions
        supports_from_first_select supports_order_by_all supports_group_by_expr
        supports_group_by_with_modifier supports_nested_comments supports_hash_comment
        requires_hash_comment_space supports_prewhere supports_with_fill supports_limit_by
        supports_interpolate supports_settings supports_select_format
        supports_select_wildcard_replace supports_comma_separated_trim
        supports_tuple_element_access
    }

    fn get_next_precedence(&self, parser: &Parser) -> Option<Result<u8, ParserError>> {
        match &parser.peek_token_ref().token {
            token if is_question(token) => Some(Ok(TERNARY)),
            // It ends the first side of `? :`, and is no access to a part, as elsewhere.
            Token::Colon => Some(Ok(self.prec_unknown())),
            _ => None,
        }
    }

    fn parse_infix(
        &self,
        parser: &mut Parser,
        condition: &Expr,
        _precedence: u8,
    ) -> Option<Result<Expr, ParserError>> {
        if !is_question(&parser.peek_token_ref().token) {
            return None;
        }
        Some(ternary(parser, condition))
    }
}

fn is_question(token: &Token) -> bool {
    matches!(token, Token::Question) || matches!(token, Token::Placeholder(mark) if mark == "?")
}

/// `condition ? one : other` is `if(condition, one, other)`.
fn ternary(parser: &mut Parser, condition: &Expr) -> Result<Expr, ParserError> {
    let question = parser.next_token();
    let one = parser.parse_expr()?;
    parser.expect_token(&Token::Colon)?;
    let other = parser.parse_expr()?;
    let argument = |expr| FunctionArg::Unnamed(FunctionArgExpr::Expr(expr));
    let args = [condition.clone(), one, other].map(argument).into();
    Ok(Expr::Function(Function {
        name: ObjectName::from(vec![Ident::with_span(question.span, "if")]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args,
            clauses: Vec::new(),
        }),
        within_group: Vec::new(),
        filter: None,
        null_treatment: None,
        over: None,
    }))
}
