//! Texts that are secrets by their look, whoever's they are.
//!
//! Each pattern has an expression of its own and ASCII classes. Within one pattern an attempt that
//! fails fails for every later start in the same run of characters, so a search never goes over a
//! hostile text more than once; joined in one alternation, one pattern's match could cut another's
//! long attempt short and have it start again.

use std::ops::Range;
use std::sync::LazyLock;

use regex::bytes::{Regex, RegexBuilder};

use crate::spans::Spans;

/// Where a token may start when its first characters are common in words (`task-force`).
const BOUNDARY: &str = r"(?:\A|[^A-Za-z0-9]|\\[bfnrt]|\\u[0-9A-Fa-f]{4}|%[0-9A-Fa-f]{2})";

/// The patterns; what their one group matched is the secret. Where the secret begins with the
/// pattern, so that it may stand right behind a mark, its first byte is given. The name is for
/// people.
const PATTERNS: [(&str, Option<u8>, &str); 14] = [
    // OpenAI, Anthropic and those who followed them
    ("an API key (`sk-`)", Some(b's'), r"{BOUNDARY}(sk-[A-Za-z0-9_-]{16,})"),
    ("a GitHub token", Some(b'g'), r"(gh[pousr]_[A-Za-z0-9]{16,})"),
    ("a GitHub token", Some(b'g'), r"(github_pat_[A-Za-z0-9_]{16,})"),
    ("a Slack token", Some(b'x'), r"(xox[abprs]-[A-Za-z0-9-]{10,})"),
    // Long-lived and temporary
    ("an AWS access key id", Some(b'A'), r"(A[KS]IA[0-9A-Z]{16})"),
    ("a Google API key", Some(b'A'), r"(AIza[0-9A-Za-z_-]{20,})"),
    ("a GitLab token", Some(b'g'), r"(glpat-[A-Za-z0-9_-]{16,})"),
    ("an npm token", Some(b'n'), r"(npm_[A-Za-z0-9]{16,})"),
    // RFC 7519, also encrypted (RFC 7516)
    ("a JWT", Some(b'e'), r"(eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*\.[A-Za-z0-9_.-]*)"),
    // RFC 7617 and RFC 6750
    (
        "an `Authorization` header",
        None,
        r#"(?i:authorization)["'\\]{0,4}[ \t]{0,4}[:=][ \t]{0,4}["'\\]{0,4}(?i:basic|bearer|token)[ \t]{1,4}([A-Za-z0-9._~+/=-]{4,})"#,
    ),
    (
        "a bearer token",
        None,
        r#"(?i:bearer)(?:[ \t+]|%20){1,4}["'\\]{0,4}([A-Za-z0-9._~+/=-]{16,}|[A-Za-z._~+/=-]{0,15}[0-9][A-Za-z0-9._~+/=-]*)"#,
    ),
    // RFC 3986, section 3.2.1: any user name on the web, elsewhere only one with a password
    ("a URL with a user name", None, r#"(?i:https?):\\{0,2}/\\{0,2}/([^\s/?#@"'\\<>`]+)@"#),
    ("a URL with a password", None, r#":\\{0,2}/\\{0,2}/([^\s/?#@:"'\\<>`]*:[^\s/?#@"'\\<>`]+)@"#),
    // RFC 7468, and the armour of `OpenPGP`: the header, see `pem_end`
    ("a private key", Some(b'-'), r"(-----BEGIN [A-Z0-9 ]{0,32}PRIVATE KEY(?: BLOCK)?-----)"),
];

const PEM: &[u8] = b"-----BEGIN ";

struct Shape {
    name: &'static str,
    anywhere: Regex,
    /// The first byte, and the same pattern where a text starts.
    at_start: Option<(u8, Regex)>,
}

impl Shape {
    fn new(name: &'static str, first: Option<u8>, pattern: &str) -> Self {
        let pattern = pattern.replace("{BOUNDARY}", BOUNDARY);
        Self {
            name,
            anywhere: compile(&pattern),
            at_start: first.map(|first| (first, compile(&format!(r"\A(?:{pattern})")))),
        }
    }
}

/// The whole secret whose pattern matched `found`.
fn whole(text: &[u8], found: Range<usize>) -> Range<usize> {
    let pem = text.get(found.clone()).is_some_and(|secret| secret.starts_with(PEM));
    found.start..if pem { pem_end(text, found.end) } else { found.end }
}

fn compile(pattern: &str) -> Regex {
    RegexBuilder::new(pattern)
        .unicode(false)
        .build()
        .expect("a constant pattern that tests compile")
}

static SHAPES: LazyLock<Vec<Shape>> = LazyLock::new(|| {
    PATTERNS.iter().map(|(name, first, pattern)| Shape::new(name, *first, pattern)).collect()
});

/// What the first secret-looking stretch of `text` looks like; of several patterns the first counts.
pub(crate) fn name(text: &[u8]) -> Option<&'static str> {
    SHAPES.iter().find(|shape| shape.anywhere.is_match(text)).map(|shape| shape.name)
}

/// Every secret-looking stretch of `text`.
pub(crate) fn find(text: &[u8]) -> impl Iterator<Item = Spans> {
    SHAPES.iter().map(move |shape| {
        let mut spans = Spans::default();
        for captures in shape.anywhere.captures_iter(text) {
            if let Some(secret) = captures.get(1) {
                spans.push(whole(text, secret.range()));
            }
        }
        spans
    })
}

/// The end of a secret-looking stretch that begins exactly where `text` does.
///
/// What stands behind a mark has a new left neighbour: this finds what only now looks like a
/// token, so that redacting twice gives what redacting once gave.
pub(crate) fn at_start(text: &[u8]) -> Option<usize> {
    let next = text.first()?;
    SHAPES.iter().find_map(|shape| {
        let (first, pattern) = shape.at_start.as_ref()?;
        let found = if first == next { pattern.find(text)? } else { return None };
        Some(whole(text, found.range()).end)
    })
}

/// Where the private key whose header ends at `from` ends.
///
/// With a footer, after it. Without one, as in a truncated log, after the lines that look like
/// base64. Line breaks may be escaped, once or more; a quotation mark ends the key, because it
/// ends the JSON string that the key stands in.
fn pem_end(text: &[u8], from: usize) -> usize {
    const DASHES: &[u8] = b"-----";
    let mut at = from;
    while let Some(byte) = text.get(at) {
        match byte {
            b'-' if text[at..].starts_with(DASHES) => {
                return pem_footer(&text[at..])
                    .map_or_else(|| truncated(text, from), |end| at + end);
            }
            b'\\' => match escape(&text[at..]) {
                Some(length) => at += length,
                None => break,
            },
            // Base64 with its line breaks, and the header lines of older keys.
            byte if byte.is_ascii_alphanumeric() || byte.is_ascii_whitespace() => at += 1,
            b'+' | b'/' | b'=' | b':' | b',' | b'-' | b'.' | b'(' | b')' => at += 1,
            _ => break,
        }
    }
    truncated(text, from)
}

fn pem_footer(text: &[u8]) -> Option<usize> {
    static FOOTER: LazyLock<Regex> =
        LazyLock::new(|| compile(r"\A-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"));
    FOOTER.find(text).map(|footer| footer.end())
}

/// A run of backslashes with the character that they escape, unless that is a quotation mark.
fn escape(text: &[u8]) -> Option<usize> {
    let run = text.iter().take_while(|byte| **byte == b'\\').count();
    text.get(run)
        .is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'/')
        .then_some(run + 1)
}

/// The end of the base64 lines after `from`: full ones, and one more that may be shorter.
fn truncated(text: &[u8], from: usize) -> usize {
    const FULL_LINE: usize = 16;
    let mut end = from;
    loop {
        let mut at = end;
        while let Some(rest) = text.get(at..) {
            match rest {
                [b'\\', ..] if let Some(length) = escape(rest) => at += length,
                [byte, ..] if byte.is_ascii_whitespace() => at += 1,
                _ => break,
            }
        }
        let line = text.iter().skip(at).take_while(|byte| is_base64(**byte)).count();
        if line == 0 {
            return end;
        }
        end = at + line;
        if line < FULL_LINE {
            return end;
        }
    }
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<&str> {
        let spans = Spans::merged(find(text.as_bytes()));
        spans.iter().map(|range| &text[range.clone()]).collect()
    }

    #[test]
    fn known_tokens_are_found() {
        let a16 = "aB3aB3aB3aB3aB3a";
        for token in [
            format!("sk-{a16}"),
            format!("sk-ant-api03-{a16}-_{a16}"),
            format!("ghp_{a16}{a16}"),
            format!("ghs_{a16}"),
            format!("github_pat_{a16}_{a16}"),
            "xoxb-1234567890-abc".to_owned(),
            "AKIAIOSFODNN7EXAMPLE".to_owned(),
            "ASIAIOSFODNN7EXAMPLE".to_owned(),
            format!("AIza{a16}{a16}-_a"),
            format!("glpat-{a16}abcd"),
            format!("npm_{a16}"),
            format!("eyJ{a16}.eyJ{a16}.{a16}-_"),
            format!("eyJ{a16}.eyJ{a16}."),
        ] {
            for text in [
                token.clone(),
                format!("x={token} y"),
                format!("\"line\\n{token}\""),
                format!("a%20{token}&b"),
            ] {
                assert_eq!(found(&text), [token.as_str()], "{text}");
            }
        }
    }

    #[test]
    fn ordinary_words_stay() {
        for text in [
            "task-force-number-seventeen-is-here",
            "npm_config_user_agent npm_lifecycle_event",
            "the bearer of this letter, a bearer token, Bearer authentication",
            "git@github.com:a/b.git ssh://git@host/x https://host/a@b mailto:a@b.c",
            "std::env::args() a://b",
            "sk-short eyJhbGciOi",
            "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
            "-----BEGIN PUBLIC KEY-----",
        ] {
            assert_eq!(found(text), [] as [&str; 0], "{text}");
        }
    }

    #[test]
    fn headers_and_urls_lose_only_the_secret() {
        for (text, secret) in [
            ("Authorization: Bearer abcdefgh1", "abcdefgh1"),
            ("\"authorization\":\"Basic dTpw\"", "dTpw"),
            ("bearer%20abcdefghijklmnop", "abcdefghijklmnop"),
            ("https://user:pass@host/p", "user:pass"),
            ("https://pass@host/p", "pass"),
            ("https:\\/\\/u:p@host", "u:p"),
            ("postgres://me:p:w@db/x", "me:p:w"),
            ("redis://:pw@cache", ":pw"),
        ] {
            assert_eq!(found(text), [secret], "{text}");
        }
    }

    #[test]
    fn a_private_key_ends_with_its_footer_or_its_string() {
        let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC";
        let key = format!(
            "-----BEGIN RSA PRIVATE KEY-----\nDEK-Info: AES-256-CBC,0A\n\n{line}\n-----END RSA PRIVATE KEY-----"
        );
        assert_eq!(found(&format!("a {key} b")), [key.as_str()]);
        for newline in ["\\n", "\\\\n", "\\r\\n"] {
            let key = key.replace('\n', newline);
            assert_eq!(found(&format!("{{\"k\":\"{key}{newline}\"}}")), [key.as_str()]);
        }
        let cut = format!("-----BEGIN PRIVATE KEY-----\\n{line}\\n{line}\\nMII");
        assert_eq!(found(&format!("{{\"k\":\"{cut}\",\"l\":\"END\"}}")), [cut.as_str()]);
        let inner = format!("-----BEGIN PRIVATE KEY-----\\\\n{line}");
        assert_eq!(found(&format!("\"{{\\\"k\\\":\\\"{inner}\\\"}}\"")), [inner.as_str()]);
        assert_eq!(
            found("-----BEGIN PRIVATE KEY----- -----BEGIN PRIVATE KEY-----"),
            ["-----BEGIN PRIVATE KEY-----"; 2]
        );
    }

    #[test]
    fn every_pattern_has_exactly_one_group() {
        for shape in SHAPES.iter() {
            assert_eq!(shape.anywhere.captures_len(), 2, "{}", shape.anywhere);
        }
    }
}
