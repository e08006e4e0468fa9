//! Rules about the scripts of tests.

use std::sync::LazyLock;

use proctor_model::Diagnostic;
use proctor_model::experiment::{Era, Rule, Test};
use regex::Regex;

use super::shell::{Pieces, pieces};
use super::{Subject, is_snapshot};
use crate::tree::Problems;

/// The command that gives evidence.
const QUERY: &str = "ax-run-query";

/// How long a test may take when nothing else is said, in seconds.
const TEST_TIMEOUT: u64 = 300;

/// A pattern that is known when the program is built; `None` never happens, and then finds nothing.
macro_rules! pattern {
    ($name:ident, $pattern:literal) => {
        static $name: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new($pattern).ok());
    };
}

fn finds(pattern: &LazyLock<Option<Regex>>, text: &str) -> bool {
    pattern.as_ref().is_some_and(|pattern| pattern.is_match(text))
}

pattern!(SHRUGGED, r"\|\|\s*\{?\s*(?:true\b|:(?:\s|$)|exit\s+0\b|echo\b)");
pattern!(
    GUARD,
    r"(?:\btest|\[\[?)\s+-[efsdr]\s[^\n]*\|\|\s*(?:\{\s*)?exit\s+0\b|(?:\btest|\[\[?)\s+!\s+-[efsdr]\s[^\n]*&&\s*(?:\{\s*)?exit\s+0\b"
);
pattern!(ABSENT, r"^if\s+(?:!\s*(?:test|\[\[?)\s+-[efsdr]\b|(?:test|\[\[?)\s+!\s+-[efsdr]\b)");
pattern!(
    PYTHON_SHRUG,
    r"\bif not \w+(?:\[\w*\])?:\s*(?:print\([^\n]*\)\s*;?\s*)?(?:(?:sys\.)?exit\(\s*0?\s*\)|raise SystemExit\(\s*0?\s*\))"
);
pattern!(QUOTED, r"'[^']*'");
pattern!(TEXT_COLUMN, r"(?is)\bselect\b.*\bfrom\s+events\b");
pattern!(TEXT_WORD, r"(?i)(?:^|[^\w.])(?:events\.)?text\b");
pattern!(TEXT_ALIAS, r"(?i)\bas\s+text\b");
pattern!(
    BOUNDED,
    r"(?i)--limit\b|\blimit\s+\d|\b(?:count|uniq|min|max|argmax|any|sum|avg)\w*\s*\("
);
pattern!(
    LIVE,
    r"\blocalhost\b|\b127\.0\.0\.1\b|\bpgrep\b|\bpidof\b|\bdocker\s+(?:ps|exec|inspect)\b|\bpg_isready\b"
);
pattern!(
    STARTS,
    r"(?m)[^&]&\s*$|\b(?:setsid|nohup)\b|\bdocker\s+(?:run|compose)\b|\bdocker-compose\b"
);
pattern!(WAITS, r"\b(?:sleep|timeout(?:\s+-\S+)*|--max-time)\s+(\d{1,9})([smhd]?)\b");
pattern!(
    COMPARED,
    r#"(?:[^=!<>]==?|-x[A-Za-z]*|--line-regexp)\s+(?:--\s+|-\w+\s+)*(?:'([^'$`\\\n]{8,200})'|"([^"$`\\\n]{8,200})")"#
);

/// Pushes the notes about one script.
pub(super) fn lint(subject: &Subject<'_>, test: &Test, script: &str, problems: &mut Problems) {
    let pieces = pieces(script);
    let mut push = |rule: Rule, message: String, hint: &str| {
        let message = format!("the test `{}` {message}", test.name);
        let note = Diagnostic::warning(message).at(test.at).rule(rule);
        problems.push(if hint.is_empty() { note } else { note.hint(hint) });
    };
    trace(subject, &pieces, &mut push);
    missing_evidence(&pieces, &mut push);
    queries(subject, &pieces, &mut push);
    if any(&pieces, |text| text.contains("claudeCode")) {
        push(
            Rule::OneAgentEvidence,
            "reads a field that Claude's adapter alone writes".to_owned(),
            "query `sd_current_tool_calls`, which is the same for every agent",
        );
    }
    if let Some(answer) = constant(&pieces) {
        push(Rule::VacuousTest, format!("always {answer}"), "");
    }
    if is_snapshot(test)
        && any(&pieces, |text| finds(&LIVE, text))
        && !any(&pieces, |text| finds(&STARTS, text))
    {
        push(
            Rule::UnreachableGate,
            "asks for something that runs, and what the agent started is gone by then".to_owned(),
            "start it in the test, or use `when: live`, which Proctor alone knows",
        );
    }
    if let Some(seconds) = longest_wait(&pieces).filter(|seconds| *seconds >= TEST_TIMEOUT) {
        push(
            Rule::TestTimeout,
            format!("may wait for {seconds} s, and a test is ended after {TEST_TIMEOUT} s"),
            "give tests more time with `--test-timeout`",
        );
    }
}

/// The texts with which a script compares something as a whole: `= "..."` and `grep -x '...'`.
pub(in crate::experiment) fn compared_literals(script: &str) -> Vec<String> {
    let Some(compared) = COMPARED.as_ref() else { return Vec::new() };
    let pieces = pieces(script);
    let found = pieces.statements.iter().flat_map(|text| compared.captures_iter(text));
    let mut literals: Vec<String> = found
        .filter_map(|found| Some(found.get(1).or_else(|| found.get(2))?.as_str().trim().to_owned()))
        .filter(|literal| literal.len() >= 8)
        .collect();
    literals.sort_unstable();
    literals.dedup();
    literals
}

fn any(pieces: &Pieces, holds: impl Fn(&str) -> bool) -> bool {
    pieces.statements.iter().chain(&pieces.documents).any(|text| holds(text))
}

fn trace(subject: &Subject<'_>, pieces: &Pieces, push: &mut impl FnMut(Rule, String, &str)) {
    let reads = |text: &str| text.contains("AX_TRACE_PATH") || text.contains("AXP_TRACE_PATH");
    if any(pieces, reads) {
        let message = match subject.era {
            Era::Current => "reads a trace file, and none is staged",
            Era::Early => "reads the trace file, which is staged for files of this dialect only",
        };
        push(Rule::TraceRead, message.to_owned(), "query `events` with `ax-run-query`");
    }
}

/// Missing evidence must fail a test.
fn missing_evidence(pieces: &Pieces, push: &mut impl FnMut(Rule, String, &str)) {
    const HINT: &str = "let the script fail when its evidence is missing";
    let statements = &pieces.statements;
    let query = statements.iter().find_map(|text| {
        let (_, after) = text.split_once(QUERY)?;
        if finds(&SHRUGGED, after) {
            Some("goes on after a query that failed")
        } else if text.starts_with('!') || text.starts_with("if !") {
            Some("takes a query that failed for one that found nothing")
        } else {
            None
        }
    });
    let absent = statements.iter().enumerate().find_map(|(at, condition)| {
        let leaves = finds(&ABSENT, condition) && leaves_well(statements.get(at + 1..)?);
        leaves.then_some("passes when a file is missing")
    });
    let guard = || {
        let passes = statements.iter().any(|text| finds(&GUARD, text));
        passes.then_some("passes when a file is missing")
    };
    let python = || {
        let passes = pieces.documents.iter().any(|text| finds(&PYTHON_SHRUG, text));
        passes.then_some("passes when it has no rows")
    };
    if let Some(message) = query.or(absent).or_else(guard).or_else(python) {
        push(Rule::MissingEvidencePasses, message.to_owned(), HINT);
    }
}

/// Whether what stands behind a condition ends the script with 0, and does nothing before it but
/// speak.
fn leaves_well(statements: &[String]) -> bool {
    statements
        .iter()
        .map(|text| text.strip_prefix("then").unwrap_or(text).trim())
        .find(|text| !text.is_empty() && !text.starts_with("echo"))
        == Some("exit 0")
}

/// Rules about what is asked of `ax-run-query`.
fn queries(subject: &Subject<'_>, pieces: &Pieces, push: &mut impl FnMut(Rule, String, &str)) {
    let asked: Vec<&str> = pieces
        .statements
        .iter()
        .filter_map(|text| text.split_once(QUERY).map(|(_, after)| after))
        .collect();
    if asked.iter().any(|query| has_text_column(query)) {
        push(
            Rule::TextColumn,
            "asks `events` for the column `text`, which it does not have".to_owned(),
            "what was said stands in `payload`",
        );
    }
    if asked.iter().any(|query| query.contains("sql") && !finds(&BOUNDED, query)) {
        push(
            Rule::RowLimit,
            "queries without a limit, and gets the first 100 rows".to_owned(),
            "pass `--limit 10000`, or count in the query",
        );
    }
    let used = |text: &str| {
        ["tool_call", "tool_name", "rawInput", "SKILL.md"].iter().any(|proof| text.contains(proof))
    };
    if any(pieces, |text| text.contains("available_commands")) {
        push(
            Rule::ListedNotUsed,
            "looks at what was announced: a skill that is listed was not used by that".to_owned(),
            "look for its tool call",
        );
        return;
    }
    let lower: Vec<String> = asked.iter().map(|query| query.to_lowercase()).collect();
    let unproven = asked.iter().zip(&lower).filter(|(query, _)| !used(query));
    let offered = |query: &str| subject.offered.iter().find(|name| mentions(query, name));
    if let Some(name) = unproven.map(|(_, lower)| lower).find_map(|query| offered(query)) {
        push(
            Rule::ListedNotUsed,
            format!(
                "takes the mention of `{name}` for its use: it is also announced and asked for"
            ),
            "look for its tool call: `kind = 'tool_call'`",
        );
    }
}

/// Whether a query, in lower case, looks for the name anywhere in a payload, as `'%name%'` or by position.
fn mentions(query: &str, name: &str) -> bool {
    let name = name.to_lowercase();
    query.contains(&format!("%{name}%")) || query.contains(&format!("'{name}'"))
}

fn has_text_column(query: &str) -> bool {
    let Some(quoted) = QUOTED.as_ref() else { return false };
    let plain = quoted.replace_all(query, "''");
    finds(&TEXT_COLUMN, &plain) && finds(&TEXT_WORD, &plain) && !finds(&TEXT_ALIAS, &plain)
}

/// The answer of a script that looks at nothing.
fn constant(pieces: &Pieces) -> Option<&'static str> {
    let mut deciding =
        pieces.statements.iter().map(String::as_str).filter(|text| {
            !(text.starts_with("set ") || text.starts_with("echo ") || *text == "echo")
        });
    let only = match (deciding.next(), deciding.next()) {
        (None, _) => return Some("passes"),
        (Some(only), None) => only,
        (Some(_), Some(_)) => return None,
    };
    match only {
        "true" | ":" | "exit 0" | "exit" => Some("passes"),
        "false" | "exit 1" => Some("fails"),
        _ => None,
    }
}

/// The longest time that a script itself speaks of, in seconds.
fn longest_wait(pieces: &Pieces) -> Option<u64> {
    let waits = WAITS.as_ref()?;
    let texts = pieces.statements.iter().flat_map(|text| waits.captures_iter(text));
    texts
        .filter_map(|found| {
            let number: u64 = found.get(1)?.as_str().parse().ok()?;
            let unit = match found.get(2)?.as_str() {
                "m" => 60,
                "h" => 3600,
                "d" => 86_400,
                _ => 1,
            };
            Some(number.saturating_mul(unit))
        })
        .max()
}
