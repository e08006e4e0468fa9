//! What is done to the words of a statement before they are parsed, since the grammar lacks it.
//!
//! Places stay those of the statement as it was written.

use sqlparser::tokenizer::{Span, Token, TokenWithSpan};

use super::DialectError;
use super::typed::unsupported;

/// The settings that a `LIMIT` after a `LIMIT n BY` becomes.
pub(super) const LIMIT: &str = "__limit";
pub(super) const OFFSET: &str = "__offset";
/// The setting that the offset of a `LIMIT n BY` becomes.
pub(super) const BY_OFFSET: &str = "__by_offset";
/// The column of the table that a `WITH expression AS name` becomes.
pub(super) const EXPRESSION: &str = "__expression";

/// Words that end what stands after `FROM`.
const AFTER_FROM: [&str; 19] = [
    "PREWHERE",
    "WHERE",
    "GROUP",
    "HAVING",
    "WINDOW",
    "QUALIFY",
    "ORDER",
    "LIMIT",
    "OFFSET",
    "SETTINGS",
    "FORMAT",
    "UNION",
    "INTERSECT",
    "EXCEPT",
    "INNER",
    "LEFT",
    "JOIN",
    "ARRAY",
    "CROSS",
];

/// All of it.
///
/// # Errors
///
/// When a statement is no question, or has something that the grammar would not name.
pub(super) fn prepare(tokens: Vec<TokenWithSpan>) -> Result<Vec<TokenWithSpan>, DialectError> {
    let tokens = tokens.into_iter().filter(|token| !matches!(token.token, Token::Whitespace(_)));
    let tokens = plain_functions(tokens.map(plain_text).collect());
    refuse(&tokens)?;
    let tokens = array_joins(&using(&with_expressions(&tokens)));
    Ok(limits_by(&any_joins(tokens)))
}

/// What is no question, and what the grammar cannot read, by its name.
fn refuse(tokens: &[TokenWithSpan]) -> Result<(), DialectError> {
    const OTHER: [&str; 24] = [
        "INSERT", "DROP", "ALTER", "CREATE", "DELETE", "UPDATE", "ATTACH", "DETACH", "PRAGMA",
        "SET", "USE", "SYSTEM", "OPTIMIZE", "TRUNCATE", "RENAME", "GRANT", "REVOKE", "KILL",
        "EXCHANGE", "BACKUP", "RESTORE", "VACUUM", "REPLACE", "BEGIN",
    ];
    if OTHER.iter().any(|keyword| is_word(tokens.first(), keyword)) {
        return Err(DialectError::NoQuestion);
    }
    for (at, token) in tokens.iter().enumerate() {
        let next = tokens.get(at + 1);
        let what = if is_word(Some(token), "ASOF")
            && (is_word(next, "JOIN") || is_word(next, "LEFT"))
            || is_word(next, "ASOF") && is_word(Some(token), "LEFT")
        {
            "an ASOF JOIN"
        } else if is_word(Some(token), "WITH") && is_word(next, "TIES") {
            "LIMIT WITH TIES"
        } else {
            continue;
        };
        return Err(unsupported(what, token.span));
    }
    Ok(())
}

/// `USING a, b` as `USING (a, b)`.
fn using(tokens: &[TokenWithSpan]) -> Vec<TokenWithSpan> {
    let mut out = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        out.push(token.clone());
        at += 1;
        let is_name =
            |at: usize| matches!(tokens.get(at).map(|token| &token.token), Some(Token::Word(_)));
        if !is_word(Some(token), "USING") || !is_name(at) {
            continue;
        }
        out.push(sign(Token::LParen, token.span));
        out.extend(tokens.get(at).cloned());
        at += 1;
        while is(tokens.get(at), &Token::Comma) && is_name(at + 1) {
            out.extend(tokens.get(at..at + 2).unwrap_or_default().iter().cloned());
            at += 2;
        }
        out.push(sign(Token::RParen, token.span));
    }
    out
}

/// A text or a quoted name without its escapes.
fn plain_text(mut token: TokenWithSpan) -> TokenWithSpan {
    match &mut token.token {
        Token::SingleQuotedString(text) => *text = unescaped(text, '\''),
        Token::Word(word) => {
            if let Some(quote) = word.quote_style {
                word.value = unescaped(&word.value, quote);
            }
        }
        _ => {}
    }
    token
}

/// The escapes of ClickHouse: those of C, `\\xFF`, the quote twice. Before other characters a
/// backslash stays.
fn unescaped(text: &str, quote: char) -> String {
    let mut out = Vec::with_capacity(text.len());
    let push = |out: &mut Vec<u8>, c: char| out.extend(c.encode_utf8(&mut [0; 4]).bytes());
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        if c == quote && characters.peek() == Some(&quote) {
            characters.next();
        }
        if c != '\\' {
            push(&mut out, c);
            continue;
        }
        match characters.next() {
            Some('b') => out.push(8),
            Some('f') => out.push(12),
            Some('r') => out.push(b'\r'),
            Some('n') => out.push(b'\n'),
            Some('t') => out.push(b'\t'),
            Some('0') => out.push(0),
            Some('a') => out.push(7),
            Some('v') => out.push(11),
            Some('e') => out.push(27),
            Some('N') => {}
            Some('x') => {
                let digits: String = characters.by_ref().take(2).collect();
                out.push(u8::from_str_radix(&digits, 16).unwrap_or(b'?'));
            }
            Some(c @ ('\\' | '\'' | '"' | '`' | '/')) => push(&mut out, c),
            Some(c) => {
                out.push(b'\\');
                push(&mut out, c);
            }
            None => out.push(b'\\'),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn is_word(token: Option<&TokenWithSpan>, text: &str) -> bool {
    matches!(token.map(|token| &token.token), Some(Token::Word(word))
        if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(text))
}

fn is(token: Option<&TokenWithSpan>, wanted: &Token) -> bool {
    token.is_some_and(|token| token.token == *wanted)
}

fn word(text: &str, span: Span) -> TokenWithSpan {
    TokenWithSpan { token: Token::make_word(text, None), span }
}

fn sign(token: Token, span: Span) -> TokenWithSpan {
    TokenWithSpan { token, span }
}

/// How much deeper brackets are after a token.
fn deeper(token: &Token) -> i32 {
    match token {
        Token::LParen | Token::LBracket | Token::LBrace => 1,
        Token::RParen | Token::RBracket | Token::RBrace => -1,
        _ => 0,
    }
}

/// Takes `FORMAT name` off the end. The grammar knows it only after `FROM`, and elsewhere takes it
/// for an alias.
pub(super) fn take_format(tokens: &mut Vec<TokenWithSpan>) -> Option<String> {
    let is_blank = |token: &TokenWithSpan| {
        matches!(token.token, Token::Whitespace(_) | Token::SemiColon | Token::EOF)
    };
    let last = |tokens: &[TokenWithSpan]| tokens.iter().rposition(|token| !is_blank(token));
    let word = |token: Option<&TokenWithSpan>| match token.map(|token| &token.token) {
        Some(Token::Word(word)) if word.quote_style.is_none() => Some(word.value.clone()),
        _ => None,
    };
    let name = last(tokens)?;
    let keyword = last(tokens.get(..name)?)?;
    let format = word(tokens.get(name))?;
    word(tokens.get(keyword)).filter(|word| word.eq_ignore_ascii_case("FORMAT"))?;
    // A column may be called so.
    let before = tokens.get(..keyword).and_then(|before| tokens.get(last(before)?));
    if before.is_none_or(|token| token.token == Token::Comma || token.token == Token::Period) {
        return None;
    }
    tokens.truncate(keyword);
    Some(format)
}

/// Functions whose names are SQL syntax elsewhere get another name, under which they are parsed as
/// the plain calls that they are in ClickHouse.
fn plain_functions(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    const SYNTAX: [&str; 12] = [
        "extract",
        "position",
        "substring",
        "substr",
        "ceil",
        "ceiling",
        "floor",
        "trim",
        "overlay",
        "left",
        "right",
        "any",
    ];
    for at in 0..tokens.len() {
        let opens = is(tokens.get(at + 1), &Token::LParen);
        // `trim(BOTH 'x' FROM y)` stays what it is.
        let is_plain = !["BOTH", "LEADING", "TRAILING"]
            .iter()
            .any(|keyword| is_word(tokens.get(at + 2), keyword));
        let follows_in = at > 0 && is_word(tokens.get(at - 1), "LIKE");
        if let Some(TokenWithSpan { token, .. }) = tokens.get_mut(at)
            && let Token::Word(word) = token
            && opens
            && is_plain
            && !follows_in
            && word.quote_style.is_none()
            && let Some(name) = SYNTAX.iter().find(|name| word.value.eq_ignore_ascii_case(name))
        {
            *token = Token::make_word(&format!("{name}_"), None);
        }
    }
    tokens
}

/// `WITH expression AS name` as a table of one column: the grammar knows tables only.
fn with_expressions(tokens: &[TokenWithSpan]) -> Vec<TokenWithSpan> {
    let mut out = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        out.push(token.clone());
        at += 1;
        let follows_group = |modifier: &str| is_word(tokens.get(at), modifier);
        if !is_word(Some(token), "WITH")
            || ["TOTALS", "ROLLUP", "CUBE", "FILL", "TIES", "RECURSIVE"]
                .into_iter()
                .any(follows_group)
        {
            continue;
        }
        // One item after the other, up to the `SELECT` that they are for.
        while let Some(end) = item_end(tokens, at) {
            item(tokens.get(at..end).unwrap_or_default(), &mut out);
            at = end;
            if !is(tokens.get(at), &Token::Comma) {
                break;
            }
            out.extend(tokens.get(at).cloned());
            at += 1;
        }
    }
    out
}

/// Where an item of `WITH` that begins at `from` ends; `None` when it has no end.
fn item_end(tokens: &[TokenWithSpan], from: usize) -> Option<usize> {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(from) {
        if depth == 0 && (token.token == Token::Comma || is_word(Some(token), "SELECT")) {
            return Some(at);
        }
        depth += deeper(&token.token);
        if depth < 0 {
            return None;
        }
    }
    None
}

fn item(tokens: &[TokenWithSpan], out: &mut Vec<TokenWithSpan>) {
    let is_table = is_word(tokens.get(1), "AS") && is(tokens.get(2), &Token::LParen);
    let (Some([.., keyword, name]), false) =
        (tokens.get(tokens.len().saturating_sub(2)..), is_table)
    else {
        // In here may be more of them.
        out.extend(with_expressions(tokens));
        return;
    };
    if !is_word(Some(keyword), "AS") {
        out.extend(tokens.iter().cloned());
        return;
    }
    let span = keyword.span;
    out.extend([name.clone(), keyword.clone(), sign(Token::LParen, span), word("SELECT", span)]);
    let expression = tokens.get(..tokens.len() - 2).unwrap_or_default();
    out.extend(with_expressions(expression));
    out.extend([word("AS", span), word(EXPRESSION, span), sign(Token::RParen, span)]);
}

/// `ARRAY JOIN a AS x, f(b) AS y` as a join with `(SELECT a AS x, f(b) AS y)`: the grammar takes a
/// table there.
fn array_joins(tokens: &[TokenWithSpan]) -> Vec<TokenWithSpan> {
    let mut out: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    // The depths at which arrays end.
    let mut open: Vec<i32> = Vec::new();
    let mut depth = 0;
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let ends = |depth: i32, change: i32| {
            open.last().is_some_and(|opened| {
                *opened == depth && (change < 0 || is_end(tokens, at)) || depth < *opened
            })
        };
        let change = deeper(&token.token);
        if ends(depth, change) {
            open.pop();
            out.push(sign(Token::RParen, token.span));
        }
        depth += change;
        out.push(token.clone());
        at += 1;
        if is_word(Some(token), "ARRAY") && is_word(tokens.get(at), "JOIN") {
            let Some(join) = tokens.get(at) else { break };
            out.extend([join.clone(), sign(Token::LParen, join.span), word("SELECT", join.span)]);
            at += 1;
            open.push(depth);
        }
    }
    let end = tokens.last().map_or(Span::empty(), |last| last.span);
    out.extend(open.iter().map(|_| sign(Token::RParen, end)));
    out
}

fn is_end(tokens: &[TokenWithSpan], at: usize) -> bool {
    let token = tokens.get(at);
    // `left(...)` is a function and has another name by now.
    is(token, &Token::SemiColon)
        || is(token, &Token::EOF)
        || AFTER_FROM.iter().any(|keyword| is_word(token, keyword))
            && !is(tokens.get(at + 1), &Token::LParen)
}

/// `ANY JOIN` is handed through as `GLOBAL JOIN`, which the grammar knows and which means nothing
/// where there is one machine.
fn any_joins(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    const KINDS: [&str; 5] = ["LEFT", "RIGHT", "INNER", "FULL", "OUTER"];
    // `GLOBAL IN` and `GLOBAL JOIN` are `IN` and `JOIN`.
    tokens.retain(|token| !is_word(Some(token), "GLOBAL"));
    let mut out: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    for (at, token) in tokens.iter().enumerate() {
        let next = tokens.get(at + 1);
        let is_kind = |token: Option<&TokenWithSpan>| KINDS.iter().any(|kind| is_word(token, kind));
        if is_word(Some(token), "ANY") && (is_kind(next) || is_word(next, "JOIN")) {
            let global =
                TokenWithSpan { token: Token::make_word("GLOBAL", None), span: token.span };
            let before = out.iter().rposition(|token| !is_kind(Some(token))).map_or(0, |at| at + 1);
            out.insert(before, global);
        } else if is_word(Some(token), "ALL") && (is_kind(next) || is_word(next, "JOIN")) {
            // The plain kind.
        } else {
            out.push(token.clone());
        }
    }
    out
}

/// The offset of a `LIMIT n BY`, and the `LIMIT` that may follow it, as settings: the grammar takes
/// neither.
fn limits_by(tokens: &[TokenWithSpan]) -> Vec<TokenWithSpan> {
    let mut out: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    // The depth at which a `BY` of a limit stands, and the settings that are to follow its keys.
    let mut by: Option<(i32, Vec<TokenWithSpan>)> = None;
    let mut depth = 0;
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let change = deeper(&token.token);
        let is_last = matches!(token.token, Token::SemiColon | Token::EOF)
            || ["SETTINGS", "UNION", "INTERSECT", "EXCEPT"]
                .iter()
                .any(|word| is_word(Some(token), word));
        if let Some((opened, _)) = &by
            && *opened == depth
            && (change < 0 || is_last)
        {
            at += flush(by.take().map(|(_, settings)| settings), token, &mut out);
            if is_word(Some(token), "SETTINGS") {
                continue;
            }
        }
        depth += change;
        let limit = is_word(Some(token), "LIMIT").then(|| limit(tokens, at)).flatten();
        let Some(Limit { rows, offset, end }) = limit else {
            out.push(token.clone());
            at += 1;
            continue;
        };
        let span = token.span;
        match &mut by {
            Some((opened, settings)) if *opened == depth => {
                settings.extend(setting(LIMIT, rows, span));
                settings.extend(offset.iter().flat_map(|offset| setting(OFFSET, offset, span)));
            }
            _ if is_word(tokens.get(end), "BY") => {
                out.extend([token.clone(), rows.clone()]);
                let settings = offset.map(|offset| setting(BY_OFFSET, offset, span).into());
                by = Some((depth, settings.unwrap_or_default()));
            }
            _ => {
                out.push(token.clone());
                at += 1;
                continue;
            }
        }
        at = end;
    }
    let end = tokens.last().cloned();
    if let (Some((_, settings)), Some(end)) = (by, end) {
        flush(Some(settings), &end, &mut out);
    }
    out
}

/// The numbers of a `LIMIT`, and where they end.
struct Limit<'a> {
    rows: &'a TokenWithSpan,
    offset: Option<&'a TokenWithSpan>,
    end: usize,
}

fn limit(tokens: &[TokenWithSpan], at: usize) -> Option<Limit<'_>> {
    let number =
        |at: usize| tokens.get(at).filter(|token| matches!(token.token, Token::Number(..)));
    let (first, second) = (number(at + 1)?, number(at + 3));
    match second {
        Some(rows) if is(tokens.get(at + 2), &Token::Comma) => {
            Some(Limit { rows, offset: Some(first), end: at + 4 })
        }
        Some(offset) if is_word(tokens.get(at + 2), "OFFSET") => {
            Some(Limit { rows: first, offset: Some(offset), end: at + 4 })
        }
        _ => Some(Limit { rows: first, offset: None, end: at + 2 }),
    }
}

/// `, name = number`.
fn setting(name: &str, number: &TokenWithSpan, span: Span) -> [TokenWithSpan; 4] {
    [sign(Token::Comma, span), word(name, span), sign(Token::Eq, span), number.clone()]
}

/// Writes settings, and says how many words are taken of what follows.
fn flush(
    settings: Option<Vec<TokenWithSpan>>,
    next: &TokenWithSpan,
    out: &mut Vec<TokenWithSpan>,
) -> usize {
    let Some(settings) = settings.filter(|settings| !settings.is_empty()) else { return 0 };
    out.push(word("SETTINGS", next.span));
    out.extend(settings.into_iter().skip(1));
    if is_word(Some(next), "SETTINGS") {
        out.push(sign(Token::Comma, next.span));
        return 1;
    }
    0
}
